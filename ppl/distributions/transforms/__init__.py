"""Transforms between a support and unconstrained numbers, by PyMC's names.

`forward` leads to the unconstrained value, `backward` back, and `log_jac_det(value)` is log |d backward / d value|, one
number for each value. All take the parameters of the distribution after the value, since bounds may depend on them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.domains import Domain, between, circle, open_unit, positive, real
from ppl.distributions.declaration.domains import ordered as increasing
from ppl.distributions.declaration.domains import simplex as probabilities
from ppl.distributions.draws.operation import own_parameters
from ppl.distributions.transforms.multivariate import CholeskyCovPacked as CholeskyCovPacked
from ppl.distributions.transforms.multivariate import ZeroSumTransform as ZeroSumTransform
from ppl.distributions.transforms.transform import Transform
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


class LogTransform(Transform):
    """Positive numbers by their logarithm."""

    name = "log"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.log(value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.exp(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return as_tensor(value)

    def image(self, *inputs: Any) -> Domain:
        return positive


class LogExpM1(Transform):
    """Positive numbers x by log(exp(x) - 1), which is nearly x for large x."""

    name = "log_exp_m1"

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        return value + tt.log(-tt.expm1(-as_tensor(value)))

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        return tt.softplus(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return -tt.softplus(-as_tensor(value))

    def image(self, *inputs: Any) -> Domain:
        return positive


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

    def image(self, *inputs: Any) -> Domain:
        return open_unit


Bounds = Callable[..., tuple[Any, Any]]


class IntervalTransform(Transform):
    """Numbers between bounds, one of which may be None; bounds may depend on the parameters of the distribution.

    `Interval(lower, upper)`, or `Interval(bounds_fn=...)` of a function from the parameters to the two bounds: either
    of the parameters alone, or, as in PyMC, of two arguments before them, which are None here, as in
    `lambda rng, size, mu, sigma: (mu, None)`. One that takes `*args` is given the latter.
    """

    name = "interval"

    def __init__(self, lower: Any = None, upper: Any = None, *, bounds_fn: Bounds | None = None) -> None:
        if callable(lower) and upper is None and not isinstance(lower, Tensor):
            bounds_fn = lower
        self.args_fn: Bounds
        self._of_parameters = bounds_fn is None  # whether the function is given these alone
        if bounds_fn is not None:
            self.args_fn = bounds_fn
            return
        lower, upper = _finite(lower), _finite(upper)
        if lower is None and upper is None:
            raise ValueError("Interval needs a lower or an upper bound that is finite")
        if isinstance(lower, float) and isinstance(upper, float) and lower >= upper:
            raise ValueError(f"Interval: the lower bound {lower} is not below the upper bound {upper}")
        self.args_fn = functools.partial(_given, (lower, upper))

    @classmethod
    def of_parameters(cls, bounds: Bounds) -> Self:
        """The transform between bounds that a function of the parameters alone gives."""
        made = cls(bounds_fn=bounds)
        made._of_parameters = True
        return made

    def bounds(self, *inputs: Any) -> tuple[Any, Any]:
        """The bounds for these parameters; None for one that is known to be infinite."""
        inputs = own_parameters(inputs)
        alone = self._of_parameters or _takes(self.args_fn) == len(inputs)
        try:
            lower, upper = self.args_fn(*inputs) if alone else self.args_fn(None, None, *inputs)
        except TypeError as error:
            raise TypeError(
                f"Interval: bounds_fn is called with the {len(inputs)} parameters of the law, or with two arguments "
                f"before them, and gives a lower and an upper bound: {error}"
            ) from error
        return _unless_infinite(lower), _unless_infinite(upper)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self.bounds(*inputs)
        value = as_tensor(value)
        if high is None and low is None:
            return value
        if high is None:
            return tt.log(value - low)
        if low is None:
            return tt.log(high - value)
        both, (is_low, low), (is_high, high) = _some_infinite(low, high, value - 1.0, value + 1.0)
        left, right = tt.log(value - low), tt.log(high - value)
        inner = left - right
        return (
            inner if both is True else tt.switch(both, inner, tt.switch(is_low, left, tt.switch(is_high, right, value)))
        )

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self.bounds(*inputs)
        value = as_tensor(value)
        if high is None and low is None:
            return value
        if high is None:
            return tt.exp(value) + low
        if low is None:
            return high - tt.exp(value)
        both, (is_low, low), (is_high, high) = _some_infinite(low, high, 0.0, 0.0)
        share = tt.sigmoid(value)
        inner = share * high + (1 - share) * low
        if both is True:
            return inner
        width = tt.exp(tt.switch(np.logical_xor(is_low, is_high), value, 0.0))
        return tt.switch(both, inner, tt.switch(is_low, low + width, tt.switch(is_high, high - width, value)))

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        low, high = self.bounds(*inputs)
        value = as_tensor(value)
        if high is None and low is None:
            return tt.zeros_like(value)
        if high is None or low is None:
            return value
        both, (is_low, low), (is_high, high) = _some_infinite(low, high, 0.0, 1.0)
        if both is True:
            return tt.log(high - low) - 2 * tt.softplus(-value) - value
        inner = tt.log(tt.switch(both, high - low, 1.0)) - 2 * tt.softplus(-value) - value
        return tt.switch(both, inner, tt.switch(np.logical_xor(is_low, is_high), value, tt.zeros_like(value)))

    def image(self, *inputs: Any) -> Domain:
        return between(*self.bounds(*inputs))


Interval = IntervalTransform


def _finite(bound: Any) -> Any:
    """A constant bound as a float, None for an infinite one."""
    if bound is None or isinstance(bound, Tensor) or np.ndim(bound) > 0:
        return bound
    return None if np.isinf(bound) else float(bound)


def _takes(function: Bounds) -> int | None:
    """How many arguments a function must be given; None where it takes any number, or does not tell."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(a.kind is a.VAR_POSITIONAL for a in arguments):
        return None
    return sum(a.default is a.empty and a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD) for a in arguments)


def _known(bound: Any) -> Any:
    """A bound as an array where it is a constant, as it is otherwise."""
    if isinstance(bound, Tensor):
        return value_of(bound) if is_constant(bound) else bound
    return np.asarray(bound)


def _unless_infinite(bound: Any) -> Any:
    """A bound, None for one that is known to be infinite everywhere."""
    known = None if bound is None else _known(bound)
    return None if known is None or (isinstance(known, np.ndarray) and np.all(np.isinf(known))) else bound


def _some_infinite(low: Any, high: Any, no_low: Any, no_high: Any) -> tuple[Any, tuple[Any, Any], tuple[Any, Any]]:
    """Which entries of two bounds are both finite (True for all), and of each bound which are and what it is, with
    another number in the place of infinite ones."""
    known = [_known(low), _known(high)]
    finite = [np.isfinite(k) if isinstance(k, np.ndarray) else np.True_ for k in known]
    if all(np.all(f) for f in finite):
        return True, (True, low), (True, high)
    ends = [
        x if np.all(f) else tt.switch(f, np.where(f, k, 0.0), other)
        for x, k, f, other in zip((low, high), known, finite, (no_low, no_high), strict=True)
    ]
    return finite[0] & finite[1], (finite[0], ends[0]), (finite[1], ends[1])


class SimplexTransform(Transform):
    """Probabilities by their centered log ratios, without the last."""

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
        centered = tt.concatenate([value + tt.expand_dims(total, -1), tt.zeros_like(value[..., :1])], axis=-1)
        return tt.log(tt.cast(n, "floatX")) + n * total - n * tt.logsumexp(centered, axis=-1)

    def image(self, *inputs: Any) -> Domain:
        return probabilities


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

    def image(self, *inputs: Any) -> Domain:
        return replace(increasing, entry=positive if self.positive else real)


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

    def image(self, *inputs: Any) -> Domain:
        return circle


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

    def image(self, *inputs: Any) -> Domain | None:
        return self.transform_list[0].image(*inputs)


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
    return between_ends(family)


def between_ends(family: Any) -> IntervalTransform:
    """The transform between the ends of a family's support."""

    return Interval.of_parameters(functools.partial(_ends, family))


# Functions of the module with arguments, and no closures, since models are pickled.
def _ends(family: Any, *parameters: Any) -> tuple[Any, Any]:
    domain: Domain = family.support_for(parameters)
    return domain.lower, domain.upper


def _given(bounds: tuple[Any, Any], *inputs: Any) -> tuple[Any, Any]:
    return bounds
