r"""Variables of a block in other coordinates, in which its precision matrix is sparse and no two large numbers cancel.

A variable with a mean in the block is measured from it: d ~ N(0, scale). A variable of which running totals are taken
(the slopes of a trend) becomes its running total c, of order k where totals of totals are taken:

.. math:: x = Δ^k c, \qquad x_t = \sum_{j=0}^{k} (-1)^j \binom{k}{j} c_{t-j}

so that rows reach k steps back, not to the beginning. Both maps keep volumes. A vector that adds up to zero becomes one
of independent entries, of which it is the deviation from the mean; on the mean itself nothing depends. A vector with a
covariance LL' of parameters is x = m + Lz with z standard normal: neither L⁻¹ nor its determinant is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, prod
from typing import Any

import ppl.tensor as tt
from ppl.distributions import MvNormal, Normal, RandomVariable, ZeroSumNormal
from ppl.distributions.draws.draw import draw
from ppl.distributions.transforms import ZeroSumTransform
from ppl.graph import Node, ancestors, substitute, topological
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import is_data, known_shape
from ppl.rewrites.marginalization.gaussian.residuals import Residual, residuals_of
from ppl.rewrites.marginalization.gaussian.spectrum import known_factor
from ppl.rewrites.marginalization.program import Factor, parts
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Inner:
    """A variable as an expression of the one that stands for it in the block."""

    symbol: RandomVariable
    own: RandomVariable  # has the law of the variable, measured from its mean
    own_value: Tensor  # in the symbol
    value: Tensor  # of the variable itself
    scale: Tensor | None = None  # that has to be positive, where the law of the symbol has none
    beside: tuple[tuple[Tensor, RandomVariable], ...] = ()  # numbers in the symbol that the value forgets; their laws


def inner_coordinates(members: Sequence[RandomVariable], rows: Sequence[Residual]) -> dict[RandomVariable, Inner]:
    """The variables of a block that have other coordinates there."""
    block = set(members)
    orders = orders_of_totals(members, [r.factor for r in rows])
    found: dict[RandomVariable, Inner] = {}
    for rv in sorted(members, key=lambda rv: rv.serial):
        mean = _mean_in(rv, block)
        own = rv if mean is None else draw(rv.family, (tt.zeros_like(mean), rv.parameters[1]), rv.attrs["size"])
        if rv.family is ZeroSumNormal:
            found[rv] = _free_of_sums(rv)
            continue
        if _has_a_factor(rv) and _few_touch(rv, rows):
            z, (m, factor) = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), known_shape(rv)), rv.parameters
            found[rv] = Inner(z, z, z, _from_mean(m, rv, tt.dot(factor, z), members, found), tt.diagonal(factor))
            continue
        order = orders.get(rv, 0)
        symbol = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), known_shape(rv)) if order else own
        if symbol is rv:
            continue
        own_value: Any = differences(symbol, order) if order else own
        value = own_value
        if mean is not None:
            value = _from_mean(mean, rv, own_value, members, found)
        found[rv] = Inner(symbol, own, own_value, value)
    return found


def _from_mean(
    mean: Tensor, rv: RandomVariable, by: Tensor, members: Sequence[RandomVariable], found: Mapping[Any, Inner]
) -> Any:
    """The mean of a variable, in the coordinates of those before it, and by how much it is more."""
    known: dict[Node, Node] = {x: found[x].value if x in found else x for x in members}
    return substitute(tt.broadcast_to(mean, rv.type.shape), known) + by


def _has_a_factor(rv: RandomVariable) -> bool:
    """Whether a variable is one vector, of more than a few numbers, whose covariance is not known up to a number."""
    if (
        rv.family is not MvNormal
        or rv.ndim != 1
        or rv.parameters[1].ndim != 2
        or known_shape(rv)[0] < LIMITS.fewest_standard_normal
    ):
        return False
    return not is_data(known_factor(rv.parameters[1])[1])


def _few_touch(rv: RandomVariable, rows: Sequence[Residual]) -> bool:
    """Whether so few rows depend on a vector that their design may depend on parameters: it has no sums then that are
    worked out once."""
    mine = [prod(r.map.shape) for r in rows if r.factor is not rv and any(p.variable is rv for p in r.map.parts)]
    return all(count <= 2 * known_shape(rv)[0] + LIMITS.few_rows for count in mine)


def _free_of_sums(rv: RandomVariable) -> Inner:
    axes = tuple(range(-known_shape(rv.parameters[1])[0], 0))
    sigma = tt.expand_dims(rv.parameters[0], axes)
    free = draw(Normal, (as_tensor(0.0), sigma), known_shape(rv))
    value: Any = free
    means: list[tuple[Tensor, RandomVariable]] = []
    for axis in axes:
        mean = tt.mean(value, axis=axis, keepdims=True)
        whole = ZeroSumTransform(axes[: axes.index(axis)]).forward(mean * float(known_shape(rv)[axis]) ** 0.5)
        means.append((whole, draw(Normal, (as_tensor(0.0), sigma), known_shape(whole))))
        value = value - mean
    return Inner(free, free, free, value, beside=tuple(means))


def _mean_in(rv: RandomVariable, block: set[RandomVariable]) -> Tensor | None:
    """The mean of a variable, if it is one of few numbers of the block."""
    if rv.family not in (Normal, MvNormal) or not rv.ndim:
        return None
    mean = rv.parameters[0]
    parents = block & ancestors(mean)
    return mean if parents and sum(prod(known_shape(p)) for p in parents) <= LIMITS.few_parents else None


def orders_of_totals(members: Sequence[RandomVariable], factors: Sequence[Factor]) -> dict[RandomVariable, int]:
    """How often running totals are taken of vectors of the block, one of the other, on the way to the factors."""
    series = {rv for rv in members if rv.ndim == 1}
    nodes = topological([n for f in factors for n in parts(f)])
    if not any(node.op is tt.cumsum for node in nodes):
        return {}
    order: dict[Node, dict[RandomVariable, int]] = {}  # of the variables behind each node
    most: dict[RandomVariable, int] = {}
    for node in nodes:
        mine: dict[RandomVariable, int] = {}
        if isinstance(node, RandomVariable):
            mine = {node: 0} if node in series else {}
        else:
            for x in node.inputs:
                for rv, n in order[x].items():
                    mine[rv] = max(mine.get(rv, 0), n + (node.op is tt.cumsum))
        order[node] = mine
        for rv, n in mine.items():
            most[rv] = max(most.get(rv, 0), n)
    return {rv: n for rv, n in most.items() if n}


def differences(c: Tensor, order: int) -> Tensor:
    """The k-th differences of a series; what is before its beginning counts as zero."""
    total: Any = c
    for j in range(1, order + 1):
        before = tt.concatenate([tt.zeros((j,)), c[:-j]])
        total = total + (-1.0) ** j * comb(order, j) * before
    return total


def residuals_in(
    members: Sequence[RandomVariable], rows: Sequence[Residual], inner: Mapping[RandomVariable, Inner]
) -> tuple[list[RandomVariable], list[Residual]]:
    """The variables and residuals of a block in its inner coordinates."""
    if not inner:
        return list(members), list(rows)
    moved: dict[Node, Node] = {rv: i.value for rv, i in inner.items()}
    moved |= {i.own: i.own_value for i in inner.values() if i.own is not i.symbol}
    variables = [inner[rv].symbol if rv in inner else rv for rv in members]
    factors: dict[int, Factor] = {id(r.factor): r.factor for r in rows}
    found: list[Residual] = []
    for factor in factors.values():
        own = inner[factor].own if isinstance(factor, RandomVariable) and factor in inner else factor
        found += residuals_of(own, set(variables), moved)
    return variables, found
