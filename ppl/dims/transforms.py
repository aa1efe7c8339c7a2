"""Transforms of variables with named dims: PyMC's `pymc.dims.distributions.transforms`.

Those of PyMC stand for the transforms by position of the same name, so that rewriting knows them. One of a user's own
derives from `DimTransform`, and its methods are given labelled tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.distributions.transforms as of_tensors
from ppl.distributions.transforms.transform import Transform
from ppl.tensor.tensor import Tensor, as_tensor, value_of
from ppl.xtensor.alignment import aligned, moved
from ppl.xtensor.type import XTensorConstant, XTensorVariable, as_xtensor


class DimTransform:
    """A map between a support and unconstrained numbers, of labelled tensors: `forward`, `backward`, `log_jac_det`."""

    name: str
    core_dims: tuple[str, ...] = ()

    def forward(self, value: Any, *inputs: Any) -> XTensorVariable:
        """The unconstrained value."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, value: Any, *inputs: Any) -> XTensorVariable:
        """The value in the support."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")

    def log_jac_det(self, value: Any, *inputs: Any) -> XTensorVariable:
        """log |d backward / d value|, without the dims of one value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_jac_det")

    def by_position(self, dims: Sequence[str], core: Sequence[str]) -> Transform:
        """The transform of the plain tensor behind a variable with these dims, of which `core` are of one value."""
        return _OfTensors(self, tuple(dims), len(core))


class _OfTensors(Transform):
    """A transform of labelled tensors for the plain ones behind them."""

    def __init__(self, labelled: DimTransform, dims: tuple[str, ...], ndim_supp: int) -> None:
        self.labelled, self.dims, self.ndim_supp, self.name = labelled, dims, ndim_supp, labelled.name

    def _of(self, value: Any) -> XTensorVariable:
        return XTensorVariable(as_tensor(value), self.dims)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return moved(self.labelled.forward(self._of(value), *inputs), self.dims)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return moved(self.labelled.backward(self._of(value), *inputs), self.dims)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        change = as_xtensor(self.labelled.log_jac_det(self._of(value), *inputs))
        return aligned(change, [d for d in self.dims if d in change.dims])


class Known(DimTransform):
    """A transform of PyMC's, by the one of plain tensors."""

    def own(self, dims: Sequence[str]) -> Transform:
        """The transform of tensors, whose last axes are the core dims."""
        raise NotImplementedError

    def by_position(self, dims: Sequence[str], core: Sequence[str]) -> Transform:
        if self.core_dims and tuple(dims[len(dims) - len(self.core_dims) :]) != self.core_dims:
            return super().by_position(dims, core)
        return self.own(dims)

    def _applied(self, method: str, value: Any) -> XTensorVariable:
        x = as_xtensor(value)
        dims = (*(d for d in x.dims if d not in self.core_dims), *self.core_dims)
        node = getattr(self.own(dims), method)(moved(x, dims))
        result = XTensorVariable(node, dims[: node.ndim])
        return result.transpose(*(d for d in x.dims if d in result.dims))

    def forward(self, value: Any, *inputs: Any) -> XTensorVariable:
        return self._applied("forward", value)

    def backward(self, value: Any, *inputs: Any) -> XTensorVariable:
        return self._applied("backward", value)

    def log_jac_det(self, value: Any, *inputs: Any) -> XTensorVariable:
        return self._applied("log_jac_det", value)

    def __repr__(self) -> str:
        return self.name


class LogTransform(Known):
    """Positive numbers by their logarithm."""

    name = "log"

    def own(self, dims: Sequence[str]) -> Transform:
        return of_tensors.log


class LogOddsTransform(Known):
    """Numbers between 0 and 1 by their log odds."""

    name = "logodds"

    def own(self, dims: Sequence[str]) -> Transform:
        return of_tensors.logodds


class IntervalTransform(Known):
    """Numbers between constant bounds, labelled where they are several; infinite ones are none."""

    name = "interval"

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower, self.upper = as_xtensor(lower), as_xtensor(upper)
        for end, bound in (("lower", self.lower), ("upper", self.upper)):
            if not isinstance(bound, XTensorConstant):
                raise NotImplementedError(
                    f"{end} bound of IntervalTransform {bound!r} must be a constant. Leave the transform out: the "
                    "family has one whose bounds follow from its parameters."
                )

    def own(self, dims: Sequence[str]) -> Transform:
        if all(np.all(np.isinf(value_of(x.node))) for x in (self.lower, self.upper)):
            return _Nothing()
        return of_tensors.Interval(*(_bound(x, dims) for x in (self.lower, self.upper)))


def _bound(x: XTensorVariable, dims: Sequence[str]) -> Any:
    node = aligned(x, dims)
    return node if node.ndim else float(value_of(node))


class _Nothing(Transform):
    """Numbers as they are."""

    name = "interval"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value)

    backward = forward

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value) * 0.0


class SimplexTransform(Known):
    """Probabilities along a dim, which sum to one, by numbers along it, one fewer."""

    name = "simplex"

    def __init__(self, dim: str) -> None:
        self.core_dim, self.core_dims = dim, (dim,)

    def own(self, dims: Sequence[str]) -> Transform:
        return of_tensors.simplex


class ZeroSumTransform(Known):
    """Numbers whose sums along dims are zero, by numbers along these, one fewer each."""

    name = "zerosum"

    def __init__(self, dims: Sequence[str]) -> None:
        self.dims = self.core_dims = (dims,) if isinstance(dims, str) else tuple(dims)

    def own(self, dims: Sequence[str]) -> Transform:
        return of_tensors.ZeroSumTransform(tuple(range(-len(self.core_dims), 0)))


log_transform, log_odds_transform = LogTransform(), LogOddsTransform()
