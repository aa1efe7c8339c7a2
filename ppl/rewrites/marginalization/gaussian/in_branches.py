"""Gaussian blocks given labels: levels between change points, spikes and slabs, a few rows with labels of their own.

While the block is integrated out, something stands for each label that is data but cannot be read, so that statistics
and factorisations of the block are functions of the labels and of data. What is left depends on labels and scales only,
and the labels are summed out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, rebuilt, substitute, topological
from ppl.rewrites.marginalization.expressions.affine import NotAffine, steering
from ppl.rewrites.marginalization.expressions.branches import picked
from ppl.rewrites.marginalization.gaussian.marginal import Eliminated, eliminate
from ppl.rewrites.marginalization.gaussian.residuals import is_flat, is_normal
from ppl.rewrites.marginalization.program import Factor, Observation, Program, Recovery, parts


def eliminate_given(
    program: Program, labels: Sequence[RandomVariable], kept: frozenset[RandomVariable]
) -> tuple[Program, list[Eliminated]] | None:
    """The program without the Gaussian blocks that the labels steer, given these; None where they steer none."""
    normal = {rv for rv in program.free if is_normal(rv) and rv not in kept}
    together = _connected(program, normal, [rv for rv in normal if _steered(program, rv, labels)])
    if not together:
        return None
    given = _Given(program, labels)
    stay = [rv for rv in program.free if is_flat(rv) or rv in normal - together or rv in kept]
    try:
        after, blocks, _ = eliminate(given.program, frozenset(map(given.rv, stay)), at_any_cost=True)
    except NotAffine:  # something has to be read that a label steers
        return None
    return (given.back(after), blocks) if blocks else None


def _steered(program: Program, rv: RandomVariable, labels: Sequence[RandomVariable]) -> bool:
    """Whether labels enter the law of a variable or those of its children."""
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
    """A program in which something stands for each label, and the way back from it."""

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
        """An expression given the labels."""
        return self.there.get(x, x)

    def rv(self, rv: RandomVariable) -> RandomVariable:
        """A variable, the law of which labels may steer."""
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

    def back(self, after: Program) -> Program:
        """What became of the program, with the labels as they were."""
        left = {id(f) for f in after.factors}
        new = [t for t in after.terms if id(t) not in self.old]
        home = {stand: node for node, stand in self.there.items() if isinstance(node, RandomVariable)}
        made = [r.draw for r in after.recoveries]
        beside = [x for r in after.recoveries for pair in r.beside for x in pair]
        found: list[Any] = substitute([*(t.density for t in new), *made, *beside], home)
        terms = [t.but(d) for t, d in zip(new, found, strict=False)]
        pairs = iter(found[len(new) + len(made) :])
        recoveries = [
            Recovery(home.get(r.variable, r.variable), d, tuple((next(pairs), next(pairs)) for _ in r.beside))
            for r, d in zip(after.recoveries, found[len(new) :], strict=False)
        ]
        return self.written.without([old for key, old in self.old.items() if key not in left]).plus(
            terms=terms, recoveries=recoveries
        )
