"""Transforms between a support and unconstrained numbers, by PyMC's names.

`forward` leads to the unconstrained value, `backward` back, and `log_jac_det(value)` is log |d backward / d value|, one
number for each value. All take the parameters of the distribution after the value, since bounds may depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.domains import Domain
from ppl.distributions.transform import Transform
from ppl.distributions.transforms_multivariate import CholeskyCovPacked as CholeskyCovPacked
from ppl.distributions.transforms_multivariate import ZeroSumTransform as ZeroSumTransform
from ppl.tensor.tensor import Tensor, as_tensor


class LogTransform(Transform):
    """Positive numbers by their logarithm."""

    name = "log"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.log(value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.exp(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value)


class LogExpM1(Transform):
    """Positive numbers x by log(exp(x) - 1), which is nearly x for large x."""

    name = "log_exp_m1"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return value + tt.log(-tt.expm1(-as_tensor(value)))

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.softplus(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return -tt.softplus(-as_tensor(value))


class LogOddsTransform(Transform):
    """Probabilities by their log odds."""

    name = "logodds"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.logit(value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.sigmoid(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        return -tt.softplus(value) - tt.softplus(-value)


Bounds = Callable[..., tuple[Any, Any]]


class IntervalTransform(Transform):
    """Numbers between bounds, one of which may be None; bounds may depend on the parameters of the distribution.

    `Interval(lower, upper)`, or `Interval(lambda *parameters: (lower, upper))`.
    """

    name = "interval"

    def __init__(self, lower: Any = None, upper: Any = None, *, bounds_fn: Bounds | None = None) -> None:
        self._bounds: Bounds
        if callable(lower) and upper is None and not isinstance(lower, Tensor):
            bounds_fn = lower
        if bounds_fn is not None:
            self._bounds = bounds_fn
            return
        lower, upper = _finite(lower), _finite(upper)
        if lower is None and upper is None:
            raise ValueError("Interval needs a lower or an upper bound that is finite")
        if isinstance(lower, float) and isinstance(upper, float) and lower >= upper:
            raise ValueError(f"Interval: the lower bound {lower} is not below the upper bound {upper}")
        self._bounds = lambda *inputs: (lower, upper)

    def _ends(self, inputs: Any) -> tuple[Any, Any]:
        return self._bounds(*inputs)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self._ends(inputs)
        if high is None and low is None:
            return as_tensor(value)
        if high is None:
            return tt.log(value - low)
        if low is None:
            return tt.log(high - value)
        return tt.log(value - low) - tt.log(high - value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self._ends(inputs)
        value = as_tensor(value)
        if high is None and low is None:
            return value
        if high is None:
            return tt.exp(value) + low
        if low is None:
            return high - tt.exp(value)
        share = tt.sigmoid(value)
        return share * high + (1 - share) * low

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self._ends(inputs)
        value = as_tensor(value)
        if high is None and low is None:
            return tt.zeros_like(value)
        if high is None or low is None:
            return value
        return tt.log(high - low) - 2 * tt.softplus(-value) - value


Interval = IntervalTransform


def _finite(bound: Any) -> Any:
    """A constant bound as a float, None for an infinite one."""
    if bound is None or isinstance(bound, Tensor) or np.ndim(bound) > 0:
        return bound
    return None if np.isinf(bound) else float(bound)


class SimplexTransform(Transform):
    """Probabilities by their centred log ratios, without the last."""

    name = "simplex"
    ndim_supp = 1

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        logs = tt.log(value)
        return logs[..., :-1] - tt.mean(logs, axis=-1, keepdims=True)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        return tt.softmax(tt.concatenate([value, -tt.sum(value, axis=-1, keepdims=True)], axis=-1), axis=-1)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        n = value.shape[-1] + 1
        total = tt.sum(value, axis=-1)
        centred = tt.concatenate([value + tt.expand_dims(total, -1), tt.zeros_like(value[..., :1])], axis=-1)
        return tt.log(tt.cast(n, "floatX")) + n * total - n * tt.logsumexp(centred, axis=-1)


class Ordered(Transform):
    """Increasing vectors by the first entry and the logarithms of the steps; `positive` keeps the first positive."""

    name = "ordered"
    ndim_supp = 1

    def __init__(self, positive: bool = False, ascending: bool = True, *, ndim_supp: int | None = 1) -> None:
        self.ndim_supp = 1 if ndim_supp is None else ndim_supp
        self.positive, self.ascending = positive, ascending

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        if not self.ascending:
            value = value[..., ::-1]
        first = tt.log(value[..., :1]) if self.positive else value[..., :1]
        return tt.concatenate([first, tt.log(value[..., 1:] - value[..., :-1])], axis=-1)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        first = tt.exp(value[..., :1]) if self.positive else value[..., :1]
        result = tt.cumsum(tt.concatenate([first, tt.exp(value[..., 1:])], axis=-1), axis=-1)
        return result if self.ascending else result[..., ::-1]

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        return tt.sum(value if self.positive else value[..., 1:], axis=-1)


class SumTo1(Transform):
    """Vectors that sum to one, without the last entry."""

    name = "sumto1"
    ndim_supp = 1

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value)[..., :-1]

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        return tt.concatenate([value, 1 - tt.sum(value, axis=-1, keepdims=True)], axis=-1)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return tt.zeros_like(tt.sum(as_tensor(value), axis=-1))


class CircularTransform(Transform):
    """Angles, wrapped to between -π and π."""

    name = "circular"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.arctan2(tt.sin(value), tt.cos(value))

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return tt.zeros_like(as_tensor(value))


class Chain(Transform):
    """Several transforms, the first applied first."""

    name = "chain"

    def __init__(self, transform_list: Any) -> None:
        self.transform_list = list(transform_list)
        if not self.transform_list:
            raise ValueError("Chain needs at least one transform")
        self.ndim_supp = max(t.ndim_supp for t in self.transform_list)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        for t in self.transform_list:
            value = t.forward(value, *inputs)
        return value

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        for t in reversed(self.transform_list):
            value = t.backward(value, *inputs)
        return value

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        total: Any = None
        for t in reversed(self.transform_list):
            part = t.log_jac_det(value, *inputs)
            lost = self.ndim_supp - t.ndim_supp
            part = tt.sum(part, axis=tuple(range(-lost, 0))) if lost else part
            total = part if total is None else total + part
            value = t.backward(value, *inputs)
        return total


ChainedTransform = Chain
log, logodds, log_exp_m1 = LogTransform(), LogOddsTransform(), LogExpM1()
simplex, ordered, sum_to_1, circular = SimplexTransform(), Ordered(), SumTo1(), CircularTransform()
univariate_ordered = multivariate_ordered = ordered

BY_NAME: dict[str, Transform] = {
    "log": log,
    "logodds": logodds,
    "simplex": simplex,
    "ordered": ordered,
    "circular": circular,
}


def default_transform(family: Any, parameters: Any) -> Transform | None:
    """The transform that follows from the support; None for the whole line and for counts."""
    domain: Domain = family.support_for(parameters)
    if domain.discrete or domain.transform is None:
        return None
    if isinstance(domain.transform, Transform):
        return domain.transform
    if domain.transform != "interval":
        return BY_NAME[domain.transform]
    return Interval(bounds_fn=lambda *inputs: _bounds_of(family.support_for(inputs)))


def _bounds_of(domain: Domain) -> tuple[Any, Any]:
    return domain.lower, domain.upper
