"""Transforms of PyMC as ppl's, by their names; those that a user wrote in PyTensor are read for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.bridge.reading import Reader, as_tensor
from ppl.distributions import transforms as own
from ppl.distributions.families.lkj_corr import VectorInterval
from ppl.distributions.transforms import Transform, default_transform
from ppl.distributions.transforms.images import same_transform
from ppl.distributions.transforms.multivariate import CholeskyCovPacked, ZeroSumTransform
from ppl.graph import substitute
from ppl.tensor.tensor import Tensor

TRANSFORMS: dict[str, Callable[[Any], Transform]] = {
    "LogTransform": lambda t: own.log,
    "LogExpM1": lambda t: own.log_exp_m1,
    "LogOddsTransform": lambda t: own.logodds,
    "SimplexTransform": lambda t: own.simplex,
    "CircularTransform": lambda t: own.circular,
    "SumTo1": lambda t: own.sum_to_1,
    "Ordered": lambda t: own.Ordered(t.positive, t.ascending),
    "ZeroSumTransform": lambda t: ZeroSumTransform(tuple(t.zerosum_axes)),
}


class Read(Transform):
    """A transform whose methods are functions of PyTensor's variables."""

    def __init__(self, reader: Reader, given: Any, node: Any) -> None:
        self.reader, self.given, self.node, self.name = reader, given, node, given.name
        self.ndim_supp = int(getattr(given, "ndim_supp", 0) or 0)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return self._read("forward", value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return self._read("backward", value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return self._read("log_jac_det", value)

    def _read(self, method: str, value: Any) -> Tensor:
        x = as_tensor(value)
        stand_in = self.node.outputs[-1].type.clone(shape=(None,) * x.ndim)()
        result = getattr(self.given, method)(stand_in, *self.node.inputs)
        known = {**self.reader.known, stand_in: x}
        return self.reader.inner(known).tensor(result)


def transform_for(reader: Reader, given: Any, variable: Any, rv: Any) -> Transform | None:
    """The transform of a free variable: ppl's own where it is the one of the family."""
    if given is None:
        return None
    made = _made(reader, given, variable.owner, rv)
    usual = default_transform(rv.family, rv.parameters)
    return usual if same_transform(made, usual, rv.parameters) else made


def _made(reader: Reader, given: Any, node: Any, rv: Any) -> Transform:
    if hasattr(given, "transform_list"):
        return own.Chain([_made(reader, t, node, rv) for t in given.transform_list])
    names = [cls.__name__ for cls in type(given).__mro__]
    if "IntervalTransform" in names:
        ends = _ends(reader, given, node)
        return VectorInterval(*ends) if "MultivariateIntervalTransform" in names else _between(ends, rv)
    if "CholeskyCovPacked" in names:
        return CholeskyCovPacked(int(np.asarray(reader.read(node.inputs[1]))))
    known = next((name for name in names[:1] if name in TRANSFORMS), None)
    return TRANSFORMS[known](given) if known else Read(reader, given, node)


def _ends(reader: Reader, given: Any, node: Any) -> list[Any]:
    """The bounds, which follow from the inputs of the variable."""
    return [_end(reader, end) for end in given.args_fn(*node.inputs)]


def _between(ends: list[Any], rv: Any) -> Transform:
    """The transform between bounds, which depend on what the parameters of the variable are taken to be."""

    def bounds(*parameters: Any) -> tuple[Any, Any]:
        given = {old: new for old, new in zip(rv.parameters, parameters, strict=True) if old is not new}
        symbols = [end for end in ends if isinstance(end, Tensor)]
        found = iter(substitute(symbols, given) if symbols and given else symbols)
        lower, upper = (next(found) if isinstance(end, Tensor) else end for end in ends)
        return lower, upper

    return own.Interval.of_parameters(bounds)


def _end(reader: Reader, end: Any) -> Any:
    if end is None or not hasattr(end, "owner"):
        return None if end is None else float(end) if np.ndim(end) == 0 else np.asarray(end)
    value = reader.read(end)
    if isinstance(value, np.ndarray):
        return float(value) if value.ndim == 0 else value
    return value
