"""Processes that a loop wrote step by step, each as one vector.

The laws of x0, x1, … use earlier ones of them:

    x = [pm.Normal("x0", 0, 1)]
    for t in range(1, 100):
        x.append(pm.Normal(f"x{t}", rho * x[-1], sigma))

They are the entries of one vector. Steps from one to the next that are all alike make it a random walk; another has no
law of its own, and that its entries after the first are normal about rho times the ones before, say, is a law of
expressions of it. The joint density is the same, and what comes after sees a chain where it would have seen a hundred
strangers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ppl.distributions import FAMILIES, GaussianRandomWalk, Normal, RandomVariable
from ppl.distributions.draws.draw import draw, renamed
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.factorization.partition import Partition
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.program import Law, Observation, Program, Recovery, Term
from ppl.rewrites.plates.loops_as_plates import Kinds, Stacked, places, stacked, together
from ppl.tensor.core.elementwise import add
from ppl.tensor.tensor import constant

FLAT = FAMILIES["Flat"]


class Process(FLAT, abstract=True):  # type: ignore[call-arg, misc, valid-type]
    """A vector whose law is that of expressions of its entries."""


def unrolled(program: Program, apart: Collection[RandomVariable]) -> Stacked:
    """The program with processes as vectors, then all else that a loop wrote; variables `apart` stay as they are."""
    processes = _processes(program, apart)
    if not processes:
        return stacked(program, apart)
    joined = _joined(program, processes)
    after = stacked(joined.program, {*apart, *joined.linked})
    written = {new: each[0] for new, each in joined.members.items() if new not in joined.linked}
    free = set(after.program.free)
    left = {rv: each for rv, each in joined.members.items() if rv in free}
    members = {many: tuple([written.get(rv, rv) for rv in each]) for many, each in after.members.items()}
    return Stacked(after.program, {**left, **members}, joined.linked)


def _processes(program: Program, apart: Collection[RandomVariable]) -> list[list[RandomVariable]]:
    """The variables of each process: those that stand in the same places, and whose laws use each other."""
    numbers = {rv for rv in program.free if rv not in apart and _on_the_line(rv)}
    steps = [
        (before, child)
        for before in program.free
        if before in numbers
        for child in program.dependents[before]
        if isinstance(child, RandomVariable) and child in numbers
    ]
    if len(steps) < LIMITS.fewest_steps:
        return []
    kinds = Kinds(program, frozenset(map(id, apart)), numbers)
    kind = {id(f): kinds.of_factor(f) for f in program.factors}
    place = places(program, kinds, kind)
    like = {(place[before], kind[id(child)]) for before, child in steps if place.get(child) == place[before]}
    joined, later = Partition[RandomVariable](), set[RandomVariable]()
    for before, child in steps:  # the last one is not used: it is told by its law
        if place.get(child, place[before]) == place[before] and (place[before], kind[id(child)]) in like:
            joined.join([before, child])
            later.add(child)
    found = joined.sets(sorted(numbers, key=lambda rv: rv.serial)).values()
    return [
        each for each in found if len(later.intersection(each)) >= LIMITS.fewest_steps and _alone(program, each, apart)
    ]


def _on_the_line(rv: RandomVariable) -> bool:
    """Whether a variable is one number that may be any, with a density of its own."""
    support = rv.family.support_for(rv.parameters)
    open_ended = support.ndim == 0 and not support.discrete and support.lower is None and support.upper is None
    return rv.type.shape == () and rv.dtype[0] == "f" and open_ended and not issubclass(rv.family, FLAT)


def _alone(program: Program, process: Sequence[RandomVariable], apart: Collection[RandomVariable]) -> bool:
    """Whether no variable that has to stay as it is has a law that uses these."""
    return not any(child in apart for rv in process for child in program.dependents[rv] if isinstance(child, Node))


def _joined(program: Program, processes: Sequence[Sequence[RandomVariable]]) -> Stacked:
    """The program with these processes as vectors; variables whose laws use their entries are others from now on."""
    now: dict[Node, Node] = {}
    laws: list[Term] = []
    members: dict[RandomVariable, tuple[RandomVariable, ...]] = {}
    steps = {rv for process in processes for rv in process}
    walks = set[Node]()
    for process in processes:
        name, law = together([rv.name or "" for rv in process]), _walk(process, steps)
        whole = draw(Process, (), (len(process),), name) if law is None else renamed(law, name)
        members[whole] = tuple(process)
        now |= {rv: whole[i] for i, rv in enumerate(process)}
        walks.update(() if law is None else process)
    linked, free = frozenset(members), list(members)
    for rv in sorted(program.free, key=lambda rv: rv.serial):
        if rv in steps and rv not in walks:
            law = draw(rv.family, substitute(list(rv.parameters), now), (), rv.name)
            laws.append(Law.of(law, now[rv]))  # type: ignore[arg-type]
        elif rv not in now:
            new: RandomVariable = substitute(rv, now)  # type: ignore[assignment]
            if new is not rv:
                now[rv], members[new] = new, (rv,)
            free.append(new)
    at: Any = lambda x: None if x is None else substitute(x, now)
    after = Program(
        free=tuple(free),
        observed=tuple(Observation(at(o.variable), at(o.value), at(o.rows)) for o in program.observed),
        terms=(*(t.but(at(t.density)) for t in program.terms), *laws),
        recoveries=tuple(Recovery(rv, x) for rv, x in now.items()),  # type: ignore[arg-type]
    )
    return Stacked(after, members, linked)


def _walk(process: Sequence[RandomVariable], steps: Collection[Node]) -> RandomVariable | None:
    """The Gaussian random walk that a process is, if all its steps have one mean and one scale."""
    first, *later = process
    if any(rv.family is not Normal for rv in process):
        return None
    laws = {(_drift(rv.parameters[0], before), rv.parameters[1]) for before, rv in zip(process, later, strict=False)}
    ((drift, scale), *others) = laws
    if others or drift is None or not ancestors([drift, scale, *first.parameters]).isdisjoint(steps):
        return None
    return GaussianRandomWalk.dist(drift, scale, init_dist=Normal.dist(*first.parameters), shape=len(process))


def _drift(mean: Node, before: Node) -> Node | None:
    """By how much a mean is more than the value before; None where it is not so written."""
    if mean is before:
        return constant(0.0)
    if mean.op is not add or before not in set(mean.inputs):
        return None
    return next((x for x in mean.inputs if x is not before), before)
