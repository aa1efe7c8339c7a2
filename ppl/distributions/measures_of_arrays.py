"""Measures of arrays: parts put together, parts taken out, other shapes, running sums, largest and smallest entries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.bounds import log_difference
from ppl.distributions.draw import RandomVariable, draw
from ppl.distributions.joint import joint_factors
from ppl.distributions.measure import (
    Measure,
    NoDensityError,
    measure,
    measures,
    only_random_input,
    point_mass,
    require_disjoint,
    require_same_shape,
    shown,
    sources,
)
from ppl.distributions.measures_of_maps import vars_of
from ppl.distributions.normal import Normal
from ppl.graph import Node
from ppl.tensor.indexing import GETITEM
from ppl.tensor.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def known_shape(node: Node) -> tuple[int, ...]:
    """The shape, which must be known."""
    shape = node.type.shape
    if None in shape:
        raise NoDensityError(
            f"No density for an operation on {shown(node)}: its shape {shape} must be known. Give a shape."
        )
    return shape


# --- the same entries in another shape
@measures("reshape", "transpose", "expand_dims", "squeeze")
def rearranged(node: Tensor) -> Measure:
    """Entries keep their densities, in other places."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law = measure(y)
    if law.ndim:
        return rearranged_batch(node, y, law)
    back = _undo(node, y)
    through = lambda f: None if f is None else lambda x: _apply(node, tt.broadcast_to(f(back(as_tensor(x))), y.shape))
    changed = {name: through(getattr(law, name)) for name in ("logp", "logcdf", "logccdf", "icdf")}
    return Measure(**{**vars_of(law), **changed, "node": node})


def _apply(node: Tensor, v: Tensor) -> Tensor:
    """The node's rearrangement of other entries of the same shape."""
    return Node(node.op, (v, *node.inputs[1:]), node.attrs)  # type: ignore[return-value]


def _undo(node: Tensor, y: Tensor) -> Callable[[Tensor], Tensor]:
    """The rearrangement back to the shape of y."""
    if node.op.name == "transpose":
        order = list(np.argsort(node.attrs["axes"]))
        return lambda x: tt.transpose(x, [int(a) for a in order])
    return lambda x: tt.reshape(tt.broadcast_to(x, node.shape), y.shape)


def rearranged_batch(node: Tensor, y: Tensor, law: Measure) -> Measure:
    """All axes belong together, or only axes of independent values are moved."""
    if law.ndim == y.ndim:
        back = _undo(node, y)
        return Measure(
            node, lambda x: law.logp(back(as_tensor(x))), ndim=node.ndim, discrete=law.discrete, independent=False
        )
    if node.op.name == "expand_dims" and all(a < node.ndim - law.ndim for a in node.attrs["axis"]):
        axes = node.attrs["axis"]
        return Measure(
            node,
            lambda x: tt.expand_dims(law.logp(tt.squeeze(x, axes)), axes),
            ndim=law.ndim,
            discrete=law.discrete,
            independent=law.independent,
        )
    raise NoDensityError(
        f"No density for {shown(node)}: the last {law.ndim} axes of {shown(y)} belong together and cannot be moved."
    )


@measures("broadcast_to")
def broadcast(node: Tensor) -> Measure:
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    require_same_shape(node, y)
    law = measure(y)
    return Measure(**{**vars_of(law), "node": node})


# --- several parts in one array
@measures("concatenate")
def joined(node: Tensor) -> Measure:
    """The density of each part at its share of the value; a part may have other parts as parameters."""
    axis, parts = node.attrs["axis"], node.inputs
    fixed = [part for part in parts if not sources(part)]
    if fixed:
        raise NoDensityError(
            f"No density for {shown(node)}: {shown(fixed[0])} is not random, so the values fill no volume. "
            "Leave it out of the joined array."
        )
    ends = np.cumsum([0, *[known_shape(part)[axis] for part in parts]])
    laws = [measure(part) for part in parts]  # type: ignore[arg-type]
    ndim = max(law.ndim for law in laws)
    if ndim and axis >= node.ndim - ndim:
        raise NoDensityError(f"No density for {shown(node)}: it joins along an axis whose entries belong together.")
    where = (slice(None),) * axis

    def shares(x: Any) -> list[Tensor]:
        x = tt.broadcast_to(as_tensor(x), node.shape)
        return [x[(*where, slice(int(a), int(b)))] for a, b in itertools.pairwise(ends)]

    def logp(x: Any) -> Tensor:
        values = shares(x)
        factors = joint_factors(list(zip(parts, values, strict=True)), node)
        return tt.concatenate(
            [tt.broadcast_to(f, v.shape[: v.ndim - ndim]) for f, v in zip(factors, values, strict=True)], axis
        )

    try:
        require_disjoint(node, parts)
        independent = all(law.independent for law in laws)
    except NoDensityError:
        independent = False

    def each(fact: str) -> Callable[[Any], Tensor] | None:
        if ndim or not independent or any(getattr(law, fact) is None for law in laws):
            return None
        return lambda x: tt.concatenate(
            [tt.broadcast_to(getattr(law, fact)(v), v.shape) for law, v in zip(laws, shares(x), strict=True)], axis
        )

    return Measure(
        node,
        logp,
        each("logcdf"),
        each("logccdf"),
        each("icdf"),
        ndim=ndim,
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=independent,
    )


# --- some entries of an array
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


def mixed_by_index(node: Tensor) -> Measure:
    """components[k] with k random: for one k, a mixture of whole components."""
    table: Tensor = node.inputs[0]  # type: ignore[assignment]
    plan, arrays = node.attrs["plan"], node.inputs[1:]
    whole = all(p == ("slice", None, None, None) for p in plan[1:])
    if len(arrays) != 1 or plan[0] != ("array",) or not whole or arrays[0].type.shape != ():
        raise NoDensityError(
            f"No density for {shown(node)}: a random index is understood for one index into the first axis. With "
            "one index "
            "for each place the places share components: write a Mixture."
        )
    index: Tensor = arrays[0]  # type: ignore[assignment]
    require_disjoint(node, (table, index))
    count = known_shape(table)[0]
    chosen, components = measure(index), components_of(table, count)
    laws = [measure(c) for c in components]
    log_w = [chosen.logp(as_tensor(k)) for k in range(count)]

    def mixed(fact: str) -> Callable[[Any], Tensor] | None:
        if any(getattr(law, fact) is None for law in laws) or (fact != "logp" and node.ndim):
            return None

        def f(x: Any) -> Tensor:
            terms = [
                w + whole_sum(getattr(law, fact)(x), node.ndim - law.ndim) for w, law in zip(log_w, laws, strict=True)
            ]
            return tt.logsumexp(tt.stack(terms), axis=0)

        return f

    atoms(node, laws)
    return Measure(
        node,
        mixed("logp"),  # type: ignore[arg-type]
        mixed("logcdf"),
        mixed("logccdf"),
        ndim=node.ndim,
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=node.ndim == 0,
    )


def components_of(table: Tensor, count: int) -> list[Tensor]:
    """The entries along the first axis: the parts that were stacked, or entries of one array of draws."""
    if table.op.name == "concatenate" and table.attrs["axis"] == 0 and len(table.inputs) == count:
        return [part.inputs[0] if part.op.name == "expand_dims" else part[0] for part in table.inputs]  # type: ignore[misc]
    return [table[k] for k in range(count)]


def whole_sum(terms: Tensor, axes: int) -> Tensor:
    """The sum over the last axes."""
    return tt.sum(terms, axis=tuple(range(-axes, 0))) if axes else terms


def atoms(node: Tensor, laws: list[Measure]) -> None:
    """Refuse mixtures of counts with continuous numbers."""
    if len({law.discrete for law in laws}) > 1:
        raise NoDensityError(
            f"No density for {shown(node)}: some components are continuous and some are not. A hurdle family has a "
            "probability at one value and a density elsewhere."
        )


# --- a choice between two
@measures("switch")
def choice(node: Tensor) -> Measure:
    """a where the condition holds, else b: entry by entry a mixture if the condition is random."""
    condition, a, b = node.inputs
    for part in (condition, a, b):
        if sources(part):
            require_same_shape(node, part)
    require_disjoint(node, (condition, a, b))
    laws = [measure(a) if sources(a) else point_mass(a), measure(b) if sources(b) else point_mass(b)]  # type: ignore[arg-type]
    if any(law.ndim or not law.independent for law in laws):
        raise NoDensityError(f"No density for {shown(node)}: its branches hold entries that belong together.")
    if sources(condition):
        law = measure(condition)  # type: ignore[arg-type]
        weights = law.logp(1), law.logp(0)
    else:
        weights = tt.switch(condition, 0.0, -np.inf), tt.switch(condition, -np.inf, 0.0)
    hits = [l for l in laws if not sources(l.node)]

    def logp(x: Any) -> Tensor:
        first, second = weights[0] + laws[0].logp(x), weights[1] + laws[1].logp(x)
        mixture = tt.logaddexp(first, second)
        if len(hits) == 1 and not all(law.discrete for law in laws):  # a probability at one value, a density elsewhere
            alone = first if laws[0] is hits[0] else second
            return tt.switch(tt.equal(x, hits[0].node), alone, mixture)
        return mixture

    def mixed(fact: str) -> Callable[[Any], Tensor] | None:
        if any(getattr(law, fact) is None for law in laws):
            return None
        return lambda x: tt.logaddexp(weights[0] + getattr(laws[0], fact)(x), weights[1] + getattr(laws[1], fact)(x))

    return Measure(
        node,
        logp,
        mixed("logcdf"),
        mixed("logccdf"),
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=not sources(condition) or measure(condition).independent,  # type: ignore[arg-type]
    )


# --- along an axis
@measures("cumsum")
def running_sum(node: Tensor) -> Measure:
    """The steps y have the density of the differences."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law, axis = measure(y), node.attrs["axis"]

    def steps(x: Any) -> Tensor:
        x = as_tensor(x)
        where = (slice(None),) * axis
        return tt.concatenate([x[(*where, slice(None, 1))], tt.diff(x, axis=axis)], axis)

    fields = {"logp": lambda x: law.logp(steps(x)), "logcdf": None, "logccdf": None, "icdf": None}
    return Measure(**{**vars_of(law), **fields, "node": node, "independent": False})


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


@measures("sum")
def sum_of_normals(node: Tensor) -> Measure:
    """A sum of independent normal numbers is normal."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    if not (isinstance(y, RandomVariable) and y.family is Normal):
        raise NoDensityError(
            f"No density for {shown(node)}: the law of a sum of {shown(y)} has no rule here. Write the "
            "distribution of the sum."
        )
    axes, keep = node.attrs["axis"], node.attrs["keepdims"]
    mu, sigma = (tt.broadcast_to(p, y.shape) for p in y.parameters)
    law = measure(
        Normal.dist(tt.sum(mu, axis=axes, keepdims=keep), tt.sqrt(tt.sum(sigma**2, axis=axes, keepdims=keep)))
    )
    return Measure(**{**vars_of(law), "node": node})


@measures("matmul", "dot")
def mapped(node: Tensor) -> Measure:
    """A y with a square matrix A that is not random: |det A|⁻¹ times the density at A⁻¹ x."""
    at = only_random_input(node)
    y: Tensor = node.inputs[at]  # type: ignore[assignment]
    a = as_tensor(node.inputs[1 - at])
    law = measure(y)
    columns = y.type.shape[1:]
    if at != 1 or a.ndim != 2 or columns not in ((), (1,)) or a.type.shape[0] != a.type.shape[1]:
        raise NoDensityError(
            f"No density for {shown(node)}: a rule needs a square matrix times a random vector. Write an MvNormal "
            "for other "
            "linear maps of normal vectors."
        )
    log_det = tt.log(tt.abs(tt.det(a)))
    solved = lambda x: tt.solve(a, as_tensor(x))
    return Measure(
        node,
        lambda x: whole_sum(law.logp(solved(x)), y.ndim - law.ndim) - log_det,
        ndim=y.ndim,
        discrete=law.discrete,
        independent=False,
    )
