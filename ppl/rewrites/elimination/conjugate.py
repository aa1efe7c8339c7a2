r"""Conjugate families: one theorem for all pairs.

A pair is stated by its update alone: `Gamma(α, β)` with `Poisson(c θ)` becomes `Gamma(α + y, β + c)` (`pairs`).
Everything else is derived. The marginal is the candidate's identity, true for any point θ₀ of the support,

.. math:: \log m(y) = \sum_i \log p(y_i \mid θ_0) + \log p(θ_0 \mid η) - \log p(θ_0 \mid η^+),

the recovery is the prior's family at the updated parameters η⁺, and where children pick entries of a vector θ by an
index, the increments of each entry are those of its own children, added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.domains import Domain
from ppl.distributions.draw import draw
from ppl.graph import ancestors, substitute
from ppl.rewrites.elimination.affine import NotAffine, Select, affine, is_always, is_data, known_shape
from ppl.rewrites.elimination.branches import branches
from ppl.rewrites.elimination.monomials import Monomial, complement, monomial
from ppl.rewrites.elimination.pairs import PAIRS, PRIORS, Pair, prior_of
from ppl.rewrites.elimination.positive import known_positive
from ppl.rewrites.elimination.program import (
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
from ppl.rewrites.elimination.rising import NotRising, once
from ppl.tensor.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass(frozen=True)
class Match:
    """One child: the pair, the entries of θ its rows pick, the coefficient, what is
    added, and whether 1 - θ stands for θ."""

    pair: Pair
    child: Observation
    positions: np.ndarray
    coefficient: Tensor
    offset: Tensor
    reflected: bool

    def increments(self) -> Mapping[str, Any]:
        """What each row adds to the parameters of the entry it picks."""
        child = self.child.variable
        others = {name: p for name, p in _parameters(child).items() if name != self.pair.slot}
        if self.pair.scaled:
            others["c"] = self.coefficient
        if self.pair.location:
            others["b"] = self.offset
        if child.family.params[self.pair.slot].domain.ndim:
            others["categories"] = self.positions.shape[-1]
        y = self.child.value
        found = self.pair.update(y=tt.cast(y, "floatX") if y.dtype[0] != "f" else y, **others)
        counted = {key: self._counted(value) for key, value in found.items()}
        return {"alpha": counted["beta"], "beta": counted["alpha"]} if self.reflected else counted

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


def match(variable: RandomVariable, factor: Any) -> Match:
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
    slot = parameters[pair.slot]
    reflected = complement(slot, variable) if pair.prior == "Beta" else None
    return _fitted(variable, factor, pair, slot if reflected is None else reflected, reflected is not None)


def _fitted(variable: RandomVariable, child: Observation, pair: Pair, slot: Tensor, reflected: bool) -> Match:
    """A child whose slot is, or is not, the power of a multiple of one entry of the variable."""
    label, rv = f'"{child.variable.name}"', child.variable
    found = Monomial(None, slot) if pair.location else monomial(slot, variable)
    if abs(found.power - pair.power) > 1e-12:
        wanted = "a multiple" if pair.power == 1.0 else f"the power {pair.power:g} of a multiple"
        raise NoMatch(f"{pair.slot} of {label} is not {wanted} of it")
    width = rv.family.params[pair.slot].domain.ndim
    event = slot.type.shape[slot.ndim - width :]
    shape = (*known_shape(rv)[: rv.ndim - rv.event_ndim], *(n or 0 for n in event))
    try:
        form = affine(tt.broadcast_to(found.base, shape), {variable})
    except NotAffine as why:
        raise NoMatch(f"{pair.slot} of {label} is not a multiple of it: {why}") from why
    part = form.parts[0]
    if len(form.parts) != 1 or not isinstance(part, Select):
        raise NoMatch(f"{pair.slot} of {label} is not a multiple of one entry of it")
    if not pair.location and not is_always(form.offset, 0.0):
        raise NoMatch(f"{pair.slot} of {label} is not a multiple of one entry of it")
    factor = part.coefficient
    if found.coefficient is not None:
        factor = factor * (found.coefficient if pair.power == 1.0 else found.coefficient ** (1.0 / pair.power))
    if not pair.scaled and not is_always(factor, 1.0):
        raise NoMatch(
            f"{pair.slot} of {label} is a multiple of it, and {variable.family.__name__} is not closed under that"
        )
    signs = [part.coefficient, *([] if found.coefficient is None else [found.coefficient])]
    if pair.scaled and not pair.location and not all(map(known_positive, signs)):
        raise NoMatch(f"the factor beside it in {pair.slot} of {label} is not known to be positive")
    positions = np.broadcast_to(part.positions, shape)
    if width and not _whole(positions, known_shape(variable)[-1]):
        raise NoMatch(f"{pair.slot} of {label} does not take its entries in their order")
    return Match(pair, child, positions, factor, form.offset, reflected)


def _whole(positions: np.ndarray, length: int) -> bool:
    """Whether each row picks one vector as a whole."""
    first = positions[..., :1]
    in_order = (positions - first == np.arange(length)) & (first % length == 0)
    return positions.shape[-1] == length and bool(in_order.all())


def pieces(variable: RandomVariable, factor: Any) -> tuple[list[Match], list[Observation]]:
    """The matches that a child makes with a variable, branch by branch of its switches, and the branches without it."""
    try:
        return [match(variable, factor)], []
    except NoMatch:
        halves = branches(factor, variable) if isinstance(factor, Observation) else None
        if halves is None:
            raise
    matches: list[Match] = []
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


def eliminate_one(program: Program, variable: RandomVariable) -> Program:
    """The program with a conjugate variable integrated out; raises `NoMatch` where it is not conjugate."""
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
    updated = tuple(tt.broadcast_to(as_tensor(p), shape) for p in prior.law(**total))
    point = prior.point(*updated)
    conditions = [_valid(variable), *(_valid(m.child.variable, {variable: point}, m.child.rows) for m in matches)]
    density: Any = 0.0
    for m in matches:
        density = density + tt.sum(log_density(m.child, {variable: point}))
    family = FAMILIES[prior.family]
    try:
        if prior.ratio is None:
            raise NotRising
        density = density + prior.ratio(**{key: (start[key], tt.broadcast_to(added[key], shape)) for key in start})
    except NotRising:
        before = tt.broadcast_to(variable.family.log_density(point, *variable.parameters, checked=False), batch)
        density = density + tt.sum(before) - tt.sum(family.log_density(point, *updated, checked=False))
    recovery = Recovery(variable, draw(family, updated, batch))
    valid = where_valid(density, [c for c in conditions if c is not None])
    marginal = Term(f"marginal of {variable.name}", valid, without=(variable.name or "",))
    return program.without([variable, *used]).plus(observed=rest, terms=[marginal], recoveries=[recovery])


def _valid(law: Any, at: Mapping[Any, Any] | None = None, rows: Tensor | None = None) -> Tensor | None:
    """Whether the parameters of a law lie in their domains, in the rows that count; None where that is proved."""
    if all(map(known_positive, law.parameters)) and law.family.__name__ in PRIORS:  # all of them have positive ones
        return None
    found: Tensor | None = law.family.in_domains(substitute(list(law.parameters), at or {}))
    return found if found is None or rows is None else tt.logical_not(rows) | found
