"""Measures of entries taken out of arrays, by an index that may be random."""

from __future__ import annotations

import math

import numpy as np

import ppl.tensor as tt
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.distributions.log_probability.measure import (
    Measure,
    NoDensityError,
    known_shape,
    measure,
    measures,
    shown,
    sources,
)
from ppl.distributions.log_probability.of_choices import mixed_by_index
from ppl.distributions.log_probability.of_extremes import order_statistic
from ppl.distributions.log_probability.of_maps import vars_of
from ppl.graph import Node
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor, is_constant


@measures("getitem")
def indexed(node: Tensor) -> Measure:
    """Some entries; where the index is random, a mixture of the entries."""
    x: Tensor = node.inputs[0]  # type: ignore[assignment]
    plan, arrays = node.attrs["plan"], node.inputs[1:]
    if sources(arrays):
        return mixed_by_index(node)
    if x.op.name == "sort":
        return order_statistic(node, x)
    law = measure(x)
    if not law.independent:
        raise NoDensityError(
            f"No density for {shown(node)}: entries of {shown(x)} depend on each other. Take all of them."
        )
    if (
        law.ndim
        and len(plan) > x.ndim - law.ndim
        and any(p != ("slice", None, None, None) for p in plan[x.ndim - law.ndim :])
    ):
        raise NoDensityError(
            f"No density for {shown(node)}: the last {law.ndim} axes of {shown(x)} belong together. "
            "Write the marginal distribution of the entries."
        )
    require_distinct(node, x)
    entries = pushed(x, node)
    return Measure(**{**vars_of(measure(entries)), "node": node})


def require_distinct(node: Tensor, x: Tensor) -> None:
    """Refuse an index that takes an entry twice."""
    arrays = node.inputs[1:]
    if not arrays or all(a.ndim == 0 for a in arrays):  # type: ignore[attr-defined]
        return
    if not all(is_constant(a) for a in arrays):
        raise NoDensityError(
            f"No density for {shown(node)}: whether the index takes an entry twice is not known. Use a constant "
            "index, or "
            "give the draw one entry for each place."
        )
    numbers = as_tensor(np.arange(math.prod(known_shape(x))).reshape(x.type.shape))
    taken = np.asarray(Node(GETITEM, (numbers, *arrays), node.attrs).eval())  # type: ignore[attr-defined]
    if len(np.unique(taken)) < taken.size:
        raise NoDensityError(
            f"No density for {shown(node)}: the index takes an entry of {shown(x)} more than once, so entries of "
            "the result "
            "are one and the same number. Condition on the entries by giving the draw a value."
        )


def pushed(x: Tensor, node: Tensor) -> Tensor:
    """x[index] with the index moved to the draws: the same law, and the parameters are indexed."""
    take = lambda v: Node(GETITEM, (tt.broadcast_to(v, x.shape), *node.inputs[1:]), node.attrs)
    if isinstance(x, RandomVariable):
        event = x.event_ndim
        batch = tuple(x.shape)[: x.ndim - event]
        plan = node.attrs["plan"][: len(node.attrs["plan"]) - event] if event else node.attrs["plan"]
        parameters = []
        for p, param in zip(x.parameters, x.family.params.values(), strict=False):
            own = tuple(p.shape)[p.ndim - param.domain.ndim :] if param.domain.ndim else ()
            whole = plan + (("slice", None, None, None),) * param.domain.ndim
            parameters.append(
                Node(GETITEM, (tt.broadcast_to(p, (*batch, *own)), *node.inputs[1:]), node.attrs.but(plan=whole))
            )
        if len(parameters) < len(x.parameters):
            raise NoDensityError(f"No density for {shown(node)}: index the parameters of {x.family.__name__} instead.")
        return draw(x.family, parameters)
    if isinstance(x.op, Elementwise) or x.op.name == "named":
        parts = [pushed(p, node) if sources(p) and p.type.shape == x.type.shape else take(p) for p in x.inputs]  # type: ignore[arg-type]
        if any(sources(p) and p.type.shape != x.type.shape for p in x.inputs):
            measure(x)  # says why
        return Node(x.op, tuple(parts), x.attrs)  # type: ignore[return-value]
    raise NoDensityError(
        f"No density for {shown(node)}: no rule takes entries out of {x.op.name!r}. Index its operands instead."
    )
