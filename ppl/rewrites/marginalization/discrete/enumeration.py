r"""Finite discrete variables summed out, all those of a model at once.

Discrete latents z that meet in a factor are summed together: the factors become tables over their values (`tables`),
and the sum over all values goes by variable elimination or, along a chain, by the forward algorithm (`sum_product`).
One discrete latent per row is the plain mixture

.. math:: \sum_j \operatorname{logsumexp}_k\Big[\log p(z_j = k) + \sum_{i \to j} \log p(y_i \mid z_j = k)\Big].

The discrete latents come back by a joint draw from the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Categorical, RandomVariable, StudentT
from ppl.rewrites.factorization.supports import Sites
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.costs import evaluation
from ppl.rewrites.marginalization.discrete.latent_values import values_of
from ppl.rewrites.marginalization.discrete.latents import Labels, Table, name_of
from ppl.rewrites.marginalization.discrete.sum_product import sum_product
from ppl.rewrites.marginalization.discrete.tables import Templates, own_tables, tables
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.program import Factor, NoMatch, Program, Recovery, Term, in_the_way, reaches
from ppl.rewrites.marginalization.theorem import JointTheorem, Match, Refusal, Search
from ppl.rewrites.marginalization.words import ENUMERATION
from ppl.tensor.tensor import Tensor, as_tensor


def candidates(program: Program, kept: frozenset[RandomVariable]) -> tuple[dict[Any, np.ndarray], list[Refusal]]:
    """The discrete latents that can be summed out, with their values; and those that cannot, with reasons."""
    chosen: dict[Any, np.ndarray] = {}
    declined: list[Refusal] = []
    for rv in program.free:
        if rv.dtype[0] == "f" or rv in kept:
            continue
        try:
            chosen[rv] = values_of(rv)
            if None in rv.type.shape:
                raise NoMatch("its shape is only known when the program runs")
        except NoMatch as why:
            chosen.pop(rv, None)
            declined.append(Refusal(rv, str(why)))
    symbols = set(program.free)
    staying = [rv for rv in program.free if rv not in chosen]
    while staying:  # a label that stays is itself a variable that other labels must not steer
        factor = staying.pop()
        for rv in _labels_in(factor, chosen, symbols):
            declined.append(Refusal(rv, in_the_way(factor)))
            del chosen[rv]
            staying.append(rv)
    return chosen, declined


def _labels_in(factor: Factor, chosen: Any, symbols: set[Any]) -> list[Any]:
    """The discrete latents that a factor depends on, its own variable apart."""
    seen = reaches(factor, symbols)
    return sorted((rv for rv in seen if rv in chosen and rv is not factor), key=lambda rv: rv.serial)


def components(program: Program, chosen: Sequence[Any]) -> list[tuple[list[Any], list[Factor]]]:
    """Discrete latents that meet in a factor, and the factors they meet in."""
    leader: dict[Any, Any] = {rv: rv for rv in chosen}

    def find(x: Any) -> Any:
        while leader[x] is not x:
            x = leader[x]
        return x

    met: list[tuple[Any, Factor]] = []
    symbols = set(program.free)
    for factor in program.factors:
        labels = _labels_in(factor, leader, symbols) + ([factor] if factor in leader else [])
        for other in labels[1:]:
            leader[find(other)] = find(labels[0])
        if labels:
            met.append((labels[0], factor))
    groups: dict[Any, tuple[list[Any], list[Factor]]] = {}
    for rv in chosen:
        groups.setdefault(find(rv), ([], []))[0].append(rv)
    for rv, factor in met:
        groups[find(rv)][1].append(factor)
    return list(groups.values())


def matches(search: Search) -> Iterator[Match | Refusal]:
    """The discrete latents summed out group by group, those that the user has asked to eliminate at any cost."""
    chosen, declined = candidates(search.program, search.kept)
    yield from declined
    for members, factors in components(search.program, list(chosen)):
        try:
            found = _summed({rv: chosen[rv] for rv in members}, factors)
            if search.asked.isdisjoint(members):
                _require_little_work(found)
            yield found
        except NoMatch as why:
            yield from (Refusal(rv, str(why)) for rv in members)


def _require_little_work(found: Match) -> None:
    before = evaluation(found.factors)
    if found.operations > LIMITS.work_of_a_sum and found.operations > LIMITS.times_one_state * before:
        times = found.operations / before
        raise NoMatch(f"enumerating its values would take {times:,.0f} times the arithmetic of the rows as written")


def _summed(values: dict[Any, np.ndarray], factors: Sequence[Factor]) -> Match:
    """Discrete latents with all factors that they meet in."""
    labels = Labels(values, Sites(list(values)))
    templates = Templates()
    parts: list[Table] = []
    for factor in factors:
        own = isinstance(factor, RandomVariable) and factor in values
        parts += own_tables(factor, labels, templates) if own else tables(factor, labels)
    summed = sum_product(parts, labels.counts)
    names = tuple(map(name_of, values))
    term = Term(f"sum over {', '.join(names)}", summed.log_total, without=names)
    return Match(tuple(values), tuple(factors), (), (term,), tuple(_recovered(labels, summed.draws)), rule=ENUMERATION)


def _recovered(labels: Labels, draws: Sequence[tuple[np.ndarray, Tensor]]) -> list[Recovery]:
    """The discrete latents from the draws of their sites."""
    drawn_by, place = np.zeros(labels.sites.count, dtype=int), np.zeros(labels.sites.count, dtype=int)
    for i, (sites, _) in enumerate(draws):
        drawn_by[sites.ravel()] = i
        place[sites.ravel()] = np.arange(sites.size)
    found: list[Recovery] = []
    for rv, values in labels.values.items():
        wanted = labels.sites.of[rv].ravel()
        mine = np.unique(drawn_by[wanted])
        sizes = [draws[i][0].size for i in mine]
        pieces = [
            draws[i][1].reshape((n,)) if draws[i][1].ndim > 1 else draws[i][1] for i, n in zip(mine, sizes, strict=True)
        ]
        flat = tt.concatenate(pieces) if len(pieces) > 1 else pieces[0]
        starts = np.cumsum([0, *sizes])
        at = starts[np.searchsorted(mine, drawn_by[wanted])] + place[wanted]
        chosen = flat if np.array_equal(at, np.arange(starts[-1])) else flat[at]
        found.append(Recovery(rv, tt.cast((chosen + int(values[0])).reshape(known_shape(rv)), rv.dtype)))
    return found


def _examples() -> list[Program]:
    rows = lambda x: StudentT.dist(4.0, as_tensor([1.0, -0.5, 2.0])[x], 0.7, name="y")
    return [example(latent(Categorical, p=[0.2, 0.5, 0.3]), rows)]


THEOREM = JointTheorem(ENUMERATION, matches, examples=_examples)
