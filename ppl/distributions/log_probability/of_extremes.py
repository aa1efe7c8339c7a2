"""Measures of largest, smallest and sorted entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.draws.draw import RandomVariable
from ppl.distributions.formulas.bounds import log_difference
from ppl.distributions.log_probability.measure import (
    Measure,
    NoDensityError,
    known_shape,
    measure,
    measures,
    shown,
    sources,
)
from ppl.graph import Node
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


@measures("max", "min")
def extreme(node: Tensor) -> Measure:
    r"""The largest of independent entries: P(max ≤ x) = ∏ Fᵢ(x). The smallest alike, by the other tail."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law = independent_entries(node, y)
    axes, keep = node.attrs["axis"], node.attrs["keepdims"]
    largest = node.op.name == "max"
    tail = law.below if largest else law.above

    def spread(x: Any) -> Tensor:
        x = as_tensor(x)
        x = x if keep else tt.expand_dims(tt.broadcast_to(x, node.shape), axes)
        return tt.broadcast_to(x, y.shape)

    def log_tail(x: Any) -> Tensor:
        return tt.sum(tail(spread(x)), axis=axes, keepdims=keep)

    def logp(x: Any) -> Tensor:
        if law.discrete:
            before = as_tensor(x) - 1
            return (
                log_difference(log_tail(x), log_tail(before))
                if largest
                else log_difference(log_tail(before), log_tail(x))
            )
        at, density = tail(spread(x)), law.logp(spread(x))
        some = at > -np.inf
        ratio = tt.logsumexp(tt.switch(some, density - tt.switch(some, at, 0.0), -np.inf), axis=axes, keepdims=keep)
        return ratio + tt.sum(at, axis=axes, keepdims=keep)

    other = lambda x: tt.log1mexp(log_tail(x))
    return Measure(
        node,
        logp,
        log_tail if largest else other,
        other if largest else log_tail,
        discrete=law.discrete,
        positive=law.positive,
    )


def independent_entries(node: Tensor, y: Tensor) -> Measure:
    """The law of entries that must be independent numbers with a distribution function."""
    law = measure(y)
    if law.ndim or not law.independent:
        raise NoDensityError(
            f"No density for {shown(node)}: the entries of {shown(y)} are not independent of each other."
        )
    if law.logcdf is None:
        raise NoDensityError(f"No density for {shown(node)}: {shown(y)} has no distribution function in closed form.")
    return law


def alike(law: Measure, y: Tensor, axis: int) -> bool:
    """Whether the entries along an axis have one law: no parameter varies along it."""
    stack: list[Node] = [y]
    while stack:
        node = stack.pop()
        for parent in node.inputs:
            at = axis - y.ndim + parent.type.ndim
            if not isinstance(node, RandomVariable) and sources(parent):
                stack.append(parent)
            elif at >= 0 and parent.type.shape[at] != 1 and not constant_along(parent, at):
                return False
    return True


def constant_along(node: Node, axis: int) -> bool:
    """Whether a node is a constant whose entries along an axis are equal."""
    return is_constant(node) and bool(np.all(value_of(node) == np.take(value_of(node), [0], axis=axis)))


@measures("sort")
def in_order(node: Tensor) -> Measure:
    """All values of independent entries with one law, in increasing order: n! times the product of the densities."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law, axis = measure(y), sorted_axis(node)
    if law.ndim or not law.independent or axis != y.ndim - 1 or not alike(law, y, axis) or law.discrete:
        raise NoDensityError(
            f"No density for {shown(node)}: the entries must be independent continuous numbers with one law, "
            "along the last "
            "axis."
        )
    n = known_shape(y)[axis]

    def logp(x: Any) -> Tensor:
        x = as_tensor(x)
        rising = tt.all(x[..., 1:] >= x[..., :-1], axis=-1)
        return tt.switch(rising, math.lgamma(n + 1) + tt.sum(law.logp(x), axis=-1), -np.inf)

    return Measure(node, logp, ndim=1, positive=law.positive, independent=False)


def sorted_axis(node: Tensor) -> int:
    axis = node.attrs.get("axis", -1)
    return (node.ndim - 1) if axis is None else axis % node.ndim


def order_statistic(node: Tensor, ordered: Tensor) -> Measure:
    """Entry k of sorted entries with one law: n!/(k!(n-1-k)!) F^k (1-F)^(n-1-k) f."""
    y: Tensor = ordered.inputs[0]  # type: ignore[assignment]
    law, plan = independent_entries(node, y), node.attrs["plan"]
    n = known_shape(y)[-1]
    if (
        plan[-1][0] != "int"
        or any(p != ("slice", None, None, None) for p in plan[:-1])
        or not alike(law, y, y.ndim - 1)
    ):
        raise NoDensityError(
            f"No density for {shown(node)}: take one place of sorted entries with one law, or all of them."
        )
    if law.discrete or sorted_axis(ordered) != y.ndim - 1:
        raise NoDensityError(
            f"No density for {shown(node)}: the entries must be continuous, sorted along the last axis."
        )
    k = plan[-1][1] % n
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k)

    def logp(x: Any) -> Tensor:
        lower, upper = law.below(x), law.above(x)
        return ways + (k * lower if k else 0.0) + ((n - 1 - k) * upper if n - 1 - k else 0.0) + law.logp(x)

    def logcdf(x: Any) -> Tensor:
        return tt.log(tt.betainc(k + 1.0, float(n - k), tt.exp(law.below(x))))

    return Measure(node, logp, logcdf, positive=law.positive)
