"""Gaussian blocks given discrete latents: levels between change points, spikes and slabs, a few rows with discrete
latents of their own.

While the block is integrated out, something stands for each discrete latent that is data but cannot be read, so that
statistics and factorizations of the block are functions of the discrete latents and of data. What is left depends on
discrete latents and scales only, and the discrete latents are summed out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, rebuilt, substitute, topological
from ppl.rewrites.marginalization.discrete.branches import picked
from ppl.rewrites.marginalization.expressions.data import NotAffine, steering
from ppl.rewrites.marginalization.gaussian.marginal import matches
from ppl.rewrites.marginalization.gaussian.residuals import is_flat, is_normal
from ppl.rewrites.marginalization.program import Factor, Observation, Program, Recovery, parts, shortened
from ppl.rewrites.marginalization.theorem import Match, Search


def matches_given(program: Program, labels: Sequence[RandomVariable], kept: frozenset[RandomVariable]) -> list[Match]:
    """The Gaussian blocks that some discrete latents steer, given these; none where they steer none."""
    normal = {rv for rv in program.free if is_normal(rv) and rv not in kept}
    together = _connected(program, normal, [rv for rv in normal if _steered(program, rv, labels)])
    if not together:
        return []
    given = _Given(program, labels)
    stay = [rv for rv in program.free if is_flat(rv) or rv in normal - together or rv in kept]
    search = Search(given.program, frozenset(map(given.rv, stay)))
    try:
        found = search.taken(matches(search, ", ".join(shortened([z.name or "" for z in labels]))))
    except NotAffine:  # something has to be read that a label steers
        return []
    return list(map(given.back, found))


def _steered(program: Program, rv: RandomVariable, labels: Sequence[RandomVariable]) -> bool:
    """Whether discrete latents enter the law of a variable or those of its children."""
    made_of = [*rv.inputs, *(n for f in program.dependents[rv] for n in parts(f))]
    return not ancestors(made_of, blockers=program.free).isdisjoint(labels)


def _connected(program: Program, normal: set[RandomVariable], start: Sequence[RandomVariable]) -> set[RandomVariable]:
    """Some variables, and all normal ones that meet them in a factor, directly or through others."""
    found, pending = set(start), list(start)
    while pending:
        rv = pending.pop()
        for factor in (rv, *program.dependents[rv]):
            near: set[Any] = {factor, *program.parents(factor)} & normal - found
            found |= near
            pending += near
    return found


class _Given:
    """A program in which something stands for each discrete latent, and the way back from it."""

    def __init__(self, program: Program, labels: Sequence[RandomVariable]) -> None:
        self.written = program
        self.there: dict[Node, Node] = {z: steering(z) for z in labels}
        roots = [n for f in program.factors for n in parts(f)]
        for node in topological([*program.free, *(o.variable for o in program.observed), *roots]):
            self._rewrite(node)
        self.old: dict[int, Factor] = {}
        taken = set(labels)
        batch = lambda z: z.type.shape[: z.ndim - z.event_ndim]
        law = lambda z: draw(z.family, tuple(self.at(p) for p in z.parameters), batch(z), z.name)
        self.program = Program(
            tuple(self._known(self.rv(rv), rv) for rv in program.free if rv not in taken),
            (
                *(self._known(Observation(law(z), self.at(z)), z) for z in labels),
                *(self._known(self._observation(o), o) for o in program.observed),
            ),
            tuple(self._known(t.but(self.at(t.density)), t) for t in program.terms),
        )

    def at(self, x: Node) -> Any:
        """An expression given the discrete latents."""
        return self.there.get(x, x)

    def rv(self, rv: RandomVariable) -> RandomVariable:
        """A variable, the law of which discrete latents may steer."""
        found: RandomVariable = self.at(rv)
        return found

    def _rewrite(self, node: Node) -> None:
        if node in self.there or all(self.at(i) is i for i in node.inputs):
            return
        choice = picked(node) if node.op.name == "getitem" and self.at(node.inputs[-1]) is not node.inputs[-1] else None
        if choice is not None:  # an entry that a label picks, as a switch, of which maps are known
            self.there[node] = substitute(tt.switch(*choice), self.there)
        else:
            self.there[node] = rebuilt(node, tuple(self.at(i) for i in node.inputs))

    def _observation(self, o: Observation) -> Observation:
        return Observation(self.rv(o.variable), self.at(o.value), None if o.rows is None else self.at(o.rows))

    def _known(self, new: Factor, old: Factor) -> Any:
        self.old[id(new)] = old
        return new

    def back(self, found: Match) -> Match:
        """What was found, with the discrete latents as they were."""
        home = {stand: node for node, stand in self.there.items() if isinstance(node, RandomVariable)}
        beside = [x for r in found.recoveries for pair in r.beside for x in pair]
        made = [*(t.density for t in found.terms), *(r.draw for r in found.recoveries), *beside]
        at: Any = {**home, **dict(zip(made, substitute(made, home), strict=True))}
        recoveries = [
            Recovery(home.get(r.variable, r.variable), at[r.draw], tuple((at[x], at[law]) for x, law in r.beside))
            for r in found.recoveries
        ]
        return replace(
            found,
            variables=tuple(r.variable for r in recoveries),
            factors=tuple(self.old[id(f)] for f in found.factors),
            terms=tuple(t.but(at[t.density]) for t in found.terms),
            recoveries=tuple(recoveries),
        )
