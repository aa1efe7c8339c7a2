r"""Conjugate families: one theorem for all pairs.

A pair is stated by its update alone: `Gamma(α, β)` with `Poisson(c θ)` becomes `Gamma(α + y, β + c)` (`pairs`).
Everything else is derived. With a prior :math:`h(θ) e^{⟨η, T(θ)⟩ - A(η)}` and updates Δ, rows are :math:`g_i e^{⟨Δ_i,
T(θ)⟩}`, whatever θ is, so that the marginal is

.. math:: \log m(y) = \sum_i \big[\log p(y_i \mid θ_0) - ⟨Δ_i, T(θ_0)⟩\big] + A(η + \sum_i Δ_i) - A(η)

for any point θ₀ of the support. The recovery is the prior's family at the updated parameters, and where children pick
entries of a vector θ by an index, the increments of each entry are those of its own children, added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable, Uniform
from ppl.distributions.declaration.domains import Domain
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, substitute
from ppl.graph.records import record
from ppl.rewrites.marginalization.conjugate.gamma_ratios import once
from ppl.rewrites.marginalization.conjugate.pairs import PAIRS, PRIORS, Pair, Prior, prior_of
from ppl.rewrites.marginalization.discrete.branches import branches, without_zeros
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import NotAffine, is_always, is_data, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.expressions.positive import known_positive
from ppl.rewrites.marginalization.program import (
    NoMatch,
    Observation,
    Program,
    Recovery,
    Term,
    children,
    in_the_way,
    log_density,
    parts,
    where_valid,
)
from ppl.rewrites.marginalization.theorem import Match, Theorem
from ppl.rewrites.marginalization.words import CONJUGATE
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Child:
    """One child: the pair, the entries of θ its rows pick, the coefficient, and whether 1 - θ stands for θ."""

    pair: Pair
    child: Observation
    positions: np.ndarray
    coefficient: Tensor
    reflected: bool

    def increments(self) -> Mapping[str, Any]:
        """What each row adds to the parameters of the entry it picks."""
        counted = {key: self._counted(value) for key, value in self._update(self.coefficient).items()}
        return {"alpha": counted["beta"], "beta": counted["alpha"]} if self.reflected else counted

    def remainder(self, prior: Prior) -> Tensor:
        """log g of the rows: their density at the point of the prior, without the factor that the updates tell of."""
        update = self._update(1.0)
        factor = prior.free_of_point(**update)
        if self.pair.scaled:
            factor = factor + prior.by_scale * next(iter(update.values())) * tt.log(self.coefficient)
        return tt.sum(log_density(self.child, self.at(prior)) + self._counted(factor))

    def at(self, prior: Prior) -> Mapping[Node, Tensor]:
        """The slot of the child at the point of the prior."""
        slot = _parameters(self.child.variable)[self.pair.slot]
        point = 1.0 / self.positions.shape[-1] if prior.point is None else prior.point**self.pair.power
        return {slot: tt.broadcast_to(as_tensor(point), known_shape(slot))}

    def _update(self, c: Any) -> Mapping[str, Any]:
        child = self.child.variable
        given = {name: p for name, p in _parameters(child).items() if name != self.pair.slot}
        if self.pair.scaled:
            given["c"] = c
        if child.family.params[self.pair.slot].domain.ndim:
            given["categories"] = self.positions.shape[-1]
        y = self.child.value
        return self.pair.update(y=tt.cast(y, "floatX") if y.dtype[0] != "f" else y, **given)

    def _counted(self, increment: Any) -> Any:
        """The increments of the rows that count, and whose values can be: what is added by a count beyond its end, say,
        would leave the parameters without a law. The density of such a row is 0 beside any."""
        for rows in (self.child.rows, self._possible()):
            if rows is not None:
                rows = rows if as_tensor(increment).ndim <= rows.ndim else tt.expand_dims(rows, -1)
                increment = tt.switch(rows, increment, 0.0)
        return increment

    def _possible(self) -> Tensor | None:
        """Which rows have values in their support; None where no variable has a say in it."""
        law, value = self.child.variable, self.child.value
        fixed = isinstance(law.family.support, Domain) or all(map(is_data, law.parameters))
        return None if fixed and is_data(value) else law.family.support_for(law.parameters).contains(value)


def _parameters(rv: RandomVariable) -> dict[str, Tensor]:
    return dict(zip(rv.family.params, rv.parameters, strict=True))


def child_of(variable: RandomVariable, factor: Any) -> Child:
    """The pair that a child makes with a variable; raises `NoMatch` with the reason."""
    if not isinstance(factor, Observation):
        raise NoMatch(in_the_way(factor))
    child = factor.variable
    label = f'"{child.name}"'
    prior = prior_of(variable)
    assert prior is not None
    pair = next((p for p in PAIRS if p.prior == prior.family and p.child == child.family.__name__), None)
    if pair is None:
        raise NoMatch(f"{label} is {child.family.__name__}, which is not conjugate to {variable.family.__name__}")
    if variable in ancestors(factor.value):
        raise NoMatch(f"the observed value of {label} depends on it")
    parameters = _parameters(child)
    others = [p for name, p in parameters.items() if name != pair.slot]
    if others and variable in ancestors(others):
        raise NoMatch(f"another parameter of {label} than {pair.slot} depends on it")
    if None in child.type.shape:
        raise NoMatch(f"the shape of {label} is only known when the program runs")
    return _fitted(variable, factor, pair, parameters[pair.slot])


def _fitted(variable: RandomVariable, child: Observation, pair: Pair, slot: Tensor) -> Child:
    """A child whose slot is, or is not, the power of a multiple of one entry of the variable."""
    label, rv = f'"{child.variable.name}"', child.variable
    width = rv.family.params[pair.slot].domain.ndim
    event = slot.type.shape[slot.ndim - width :]
    shape = (*known_shape(rv)[: rv.ndim - rv.event_ndim], *(n or 0 for n in event))
    of = "a multiple of" if pair.power == 1.0 else f"the power {pair.power:g} of a multiple of"
    try:
        found = picks(slot, variable, shape)
    except NotAffine as why:
        raise NoMatch(f"{pair.slot} of {label} is not {of} it: {why}") from why
    reflected = pair.prior == "Beta" and found.power == 1.0 and found.are(-1.0, 1.0)
    if abs(found.power - pair.power) > 1e-12:
        raise NoMatch(f"{pair.slot} of {label} is not {of} it")
    if not (reflected or is_always(found.offset, 0.0)):
        raise NoMatch(f"{pair.slot} of {label} is not {of} one entry of it")
    factor = found.coefficient if pair.power == 1.0 else found.coefficient ** (1.0 / pair.power)
    if not (pair.scaled or reflected or is_always(factor, 1.0)):
        raise NoMatch(
            f"{pair.slot} of {label} is a multiple of it, and {variable.family.__name__} is not closed under that"
        )
    if pair.scaled and not known_positive(found.coefficient):
        raise NoMatch(f"the factor beside it in {pair.slot} of {label} is not known to be positive")
    if width and not _whole(found.positions, known_shape(variable)[-1]):
        raise NoMatch(f"{pair.slot} of {label} does not take its entries in their order")
    return Child(pair, child, found.positions, factor, reflected)


def _whole(positions: np.ndarray, length: int) -> bool:
    """Whether each row picks one vector as a whole."""
    first = positions[..., :1]
    in_order = (positions - first == np.arange(length)) & (first % length == 0)
    return positions.shape[-1] == length and bool(in_order.all())


def pieces(variable: RandomVariable, factor: Any) -> tuple[list[Child], list[Observation]]:
    """The pairs that a child makes with a variable, branch by branch of its switches, and the branches without it."""
    try:
        return [child_of(variable, factor)], []
    except NoMatch:
        if not isinstance(factor, Observation):
            raise
        halves = branches(factor, variable) or without_zeros(factor, variable)
        if halves is None:
            raise
    matches: list[Child] = []
    rest: list[Observation] = []
    for half in halves:
        if variable not in ancestors(parts(half)):
            rest.append(half)
            continue
        found, without = pieces(variable, half)
        matches += found
        rest += without
    return matches, rest


def gathered(values: Any, positions: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """Values of children added up over the entries of the variable that they belong to."""
    spread = tt.broadcast_to(tt.cast(as_tensor(values), "floatX"), positions.shape)
    size = prod(shape)
    if size == 1:
        return tt.sum(spread).reshape(shape)
    flat = positions.ravel()
    if flat.size == size and np.array_equal(flat, np.arange(size)):
        return spread.reshape(shape)
    return segment_sum(spread.reshape((flat.size,)), flat, size).reshape(shape)


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A conjugate variable, with its children; raises `NoMatch` where it is not conjugate."""
    prior = prior_of(variable)
    if prior is None:
        raise NoMatch(f"{variable.family.__name__} is no conjugate prior")
    if None in variable.type.shape:
        raise NoMatch("its shape is only known when the program runs")
    shape = known_shape(variable)
    batch = shape[: len(shape) - variable.event_ndim]
    used = children(program, variable)
    found = [pieces(variable, factor) for factor in used]
    matches = [m for here, _ in found for m in here]
    rest = [o for _, others in found for o in others]
    start = {key: once(as_tensor(p)) for key, p in prior.parameters(**_parameters(variable)).items()}
    added: dict[str, Any] = dict.fromkeys(start, 0.0)
    for m in matches:
        for key, value in m.increments().items():
            added[key] = added[key] + gathered(value, m.positions, shape)
    total = {key: start[key] + added[key] for key in start}
    updated = tuple(tt.broadcast_to(as_tensor(p), shape) for p in total.values())
    growth = prior.growth(**{key: (start[key], tt.broadcast_to(added[key], shape)) for key in start})
    density = sum([m.remainder(prior) for m in matches], start=growth)
    conditions = [_valid(variable), *(_valid(m.child.variable, m.at(prior), m.child.rows) for m in matches)]
    family = FAMILIES[prior.family]
    recovery = Recovery(variable, draw(family, updated, batch))
    valid = where_valid(density, [c for c in conditions if c is not None])
    marginal = Term(f"marginal of {variable.name}", valid, without=(variable.name or "",))
    return Match((variable,), tuple(used), tuple(rest), (marginal,), (recovery,))


def _valid(law: Any, at: Mapping[Any, Any] | None = None, rows: Tensor | None = None) -> Tensor | None:
    """Whether the parameters of a law lie in their domains, in the rows that count; None where that is proved."""
    if all(map(known_positive, law.parameters)) and law.family.__name__ in PRIORS:  # all of them have positive ones
        return None
    found: Tensor | None = law.family.in_domains(substitute(list(law.parameters), at or {}))
    return found if found is None or rows is None else tt.logical_not(rows) | found


def _example(family: Any, pair: Pair) -> Program:
    """A variable of a prior family with the rows of a pair, two of which see the same entry."""
    x = latent(family, **({"lower": 0.0, "upper": 1.0} if family is Uniform else {}))
    child = FAMILIES[pair.child]
    others = {name: p.domain.examples[-1] for name, p in child.params.items() if name != pair.slot}

    def rows(x: Any) -> Any:
        slot = x[np.array([0, 2, 2])]
        slot = 1.7 * slot if pair.scaled else slot
        return child.dist(**{pair.slot: slot if pair.power == 1.0 else slot**pair.power}, **others, name="y")

    return example(x, rows)


def _examples() -> list[Program]:
    return [_example(FAMILIES[n], p) for n, prior in PRIORS.items() for p in PAIRS if p.prior == prior.family]


THEOREM = Theorem(CONJUGATE, integrated_out, lambda rv: prior_of(rv) is not None, examples=_examples)
