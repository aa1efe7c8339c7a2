"""Transforms of PyMC as ppl's, by their names; those that a user wrote in PyTensor are read for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.bridge.labelled import lowered
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
    "ZeroSumTransform": lambda t: ZeroSumTransform(
        tuple(t.zerosum_axes) if hasattr(t, "zerosum_axes") else _last(t.dims)
    ),
}


def _last(dims: Any) -> tuple[int, ...]:
    """As many of the last axes as there are dims of one value, which stand there."""
    return tuple(range(-len(dims), 0))


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
        result = lowered([result]).get(result, result)
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
    if "IntervalTransform" in names and not hasattr(given, "args_fn"):
        return _between_labelled(given, node.outputs[-1].type.dims)
    if "IntervalTransform" in names:
        ends = _ends(reader, given, node)
        return VectorInterval(*ends) if "MultivariateIntervalTransform" in names else _between(ends, rv)
    if "CholeskyCovPacked" in names:
        return CholeskyCovPacked(int(np.asarray(reader.read(node.inputs[1]))))
    known = next((name for name in names[:1] if name in TRANSFORMS), None)
    return TRANSFORMS[known](given) if known else Read(reader, given, node)


def _between_labelled(given: Any, dims: Any) -> Transform:
    """Between the constant bounds that `pymc.dims` gives, with axes in the order of the variable's."""
    ends = [x if x is None else _aligned(x, dims) for x in (given.lower, given.upper)]
    if all(np.all(np.isinf(end)) for end in ends):
        return own.Interval.of_parameters(lambda *parameters: (None, None))
    return own.Interval(*ends)


def _aligned(bound: Any, dims: Any) -> Any:
    array = np.asarray(bound.data)
    if not array.ndim:
        return float(array)
    own_dims = [dim for dim in dims if dim in bound.type.dims]
    array = array.transpose([bound.type.dims.index(dim) for dim in own_dims])
    return array.reshape([array.shape[own_dims.index(dim)] if dim in own_dims else 1 for dim in dims])


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
