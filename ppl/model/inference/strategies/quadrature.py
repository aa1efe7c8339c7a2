"""Independent draws of numbers that do not depend on each other, by quadrature: no Markov chain is needed for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, Slot, labels, scalar
from ppl.graph import Node, ancestors
from ppl.model.finishing.runs import Clock, Independent, independent
from ppl.model.inference.task import Task
from ppl.model.log import log
from ppl.model.posterior.at_once import of_batches
from ppl.model.posterior.rewriting import Posterior
from ppl.rewrites import optimize
from ppl.rewrites.factorization.factors import Part, densities
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.values.reads import Reads
from ppl.samplers import UnresolvedError
from ppl.samplers.independent.quadrature import BATCH, MOST_LOOKS, quadrature

TUNING, DRAWING = 1, 0  # what draws are for
TELLING = 30.0  # at log-odds so far out, numbers hardly tell a value from the end of its interval


def by_quadrature(task: Task) -> Independent | None:
    """Independent draws, where all that is left are numbers that nothing joins."""
    numbers = numbers_of(task)
    return numbers if task.division is not None and not task.division.chains else None


def numbers_of(task: Task) -> Independent | None:
    """The draws of numbers that nothing joins to the rest, made once; where quadrature fails, nothing is divided."""
    division = task.division
    if task.numbers is None and division is not None and division.numbers is not None:
        try:
            task.numbers = drawn_by_quadrature(task, division.numbers)
        except UnresolvedError as reason:
            task.division = None
            task.finish.facts["drawn_by"] += f", since draws are not independent here: {reason}"
            log.info("Drawing by %s", task.finish.facts["drawn_by"])
    return task.numbers


def drawn_by_quadrature(task: Task, numbers: Part) -> Independent:
    """The run of numbers that rewriting has left and nothing joins, by their distribution functions: those are found
    once."""
    clock, posterior, plan = Clock(), task.posterior, task.asked.plan
    starts = task.starts.of(numbers.values, task.starts.seed)
    density = _each(posterior, numbers, starts.slots)
    at_once = of_batches(density, BATCH, MOST_LOOKS)
    if task.division is None or not task.division.chains:  # else the densities of the chains come first
        task.prepare_results(by_numpy=at_once is not None)
    places = np.stack(starts.points)

    def made() -> Any:
        return quadrature(
            scalar(density), places, data=density.data, key=("logp", density.key),
            at_once=at_once, names=labels(starts.slots, posterior.names),
            reach=_reach(posterior, starts.slots),
        )  # fmt: skip

    source = kept_for(posterior, "quadrature", places, ancestors(density.program.outputs), made)
    found: list[np.ndarray] = []
    for purpose, count in ((DRAWING, plan["draws"]), (TUNING, plan["tune"] if task.asked.keep_warmup else 0)):
        chains = [source.draws(plan["seed"], chain, count, purpose) for chain in range(plan["chains"])]
        found += [np.stack(each) for each in zip(*chains, strict=True)]
    positions, lp, tuning, tuning_lp = found
    what = "the one dimension left" if starts.dim == 1 else f"the {starts.dim} dimensions left, which are independent"
    return independent(
        positions, {"lp": lp}, tuning, {"lp": tuning_lp}, clock.seconds, source.compile_seconds,
        drawn_by=f"quadrature of {what}", quadrature_error=source.error,
    )  # fmt: skip


def kept_for(
    posterior: Posterior, name: str, places: np.ndarray, nodes: Collection[Node], make: Callable[[], Any]
) -> Any:
    """A source of draws, made once for starts and data."""
    known: tuple[np.ndarray, Reads, Any] | None = posterior.made.get(name)
    if known is not None and np.array_equal(known[0], places) and known[1].hold():
        return known[2]
    reads = Reads()
    reads.note(nodes)
    source = make()
    posterior.made[name] = places, reads, source._replace(compile_seconds=0.0)
    return source


def _reach(posterior: Posterior, slots: Sequence[Slot]) -> list[float]:
    """How far from a start values of each number can be told from each other."""
    bent = posterior.moved.keys() | posterior.jacobians.keys()
    reach = [(TELLING if slot.variable in bent else np.inf, slot.stop - slot.start) for slot in slots]
    return [far for far, count in reach for _ in range(count)]


def _each(posterior: Posterior, numbers: Part, slots: Sequence[Slot]) -> FlatProgram:
    """The log-densities of numbers that do not depend on each other, or on anything else that is left."""
    make = lambda: FlatProgram(optimize([densities(numbers)], once=is_data), slots, once=posterior.of_data)
    found: FlatProgram = posterior.once(("lines", *((slot.variable, slot.shape) for slot in slots)), make)
    return found
