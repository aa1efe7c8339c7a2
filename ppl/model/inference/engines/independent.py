"""Independent draws, where rewriting leaves what needs no Markov chain: nothing, or numbers that do not depend on each
other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, Slot, labels, scalar, values_at
from ppl.model.errors import SamplingError
from ppl.model.inference.engines.drawn import Clock, Drawn
from ppl.model.posterior.at_once import at_once
from ppl.model.posterior.rewriting import Posterior
from ppl.model.starting.start_points import Starts
from ppl.model.starting.start_report import start_report
from ppl.rewrites import optimize
from ppl.rewrites.factorization.factors import Part, densities
from ppl.rewrites.marginalization.expressions.affine import is_data
from ppl.samplers.independent.quadrature import BATCH, MOST_LOOKS, quadrature

TUNING, DRAWING = 1, 0  # what draws are for
TELLING = 30.0  # at log-odds so far out, numbers hardly tell a value from the end of its interval


class Independent(Drawn):
    """Draws that do not depend on each other: there is no convergence to be checked."""


def drawn_from_data(posterior: Posterior, starts: Starts, plan: dict[str, Any]) -> Independent:
    """The run of a model that rewriting has eliminated whole: every variable comes back by recovery."""
    nowhere = np.zeros(0)
    if not np.isfinite(values_at([posterior.logp()], starts.slots, nowhere, posterior.of_data)[0]):
        report = start_report(posterior, starts.slots, nowhere)
        raise SamplingError(f"Cannot sample from the model: its data have no finite density.\n{report}")
    positions = lambda n: np.zeros((plan["chains"], n, 0))
    draws, tuning = positions(plan["draws"]), positions(plan["tune"])
    return _run(draws, {}, tuning, {}, drawn_by="recovery of what was integrated out")


def drawn_by_quadrature(
    posterior: Posterior, numbers: Part, starts: Starts, plan: dict[str, Any], tuned: bool
) -> Independent:
    """The run of numbers that rewriting has left and nothing joins, by their distribution functions: those are found
    once."""
    clock = Clock()
    starts = starts.of(numbers.values, starts.seed)
    density = _each(posterior, numbers, starts.slots)
    places = np.stack(starts.points)
    known = posterior.made.get("quadrature")
    if known is None or not np.array_equal(known[0], places):
        source = quadrature(
            scalar(density), places, data=density.data, key=("logp", density.key), at_once=_by_numpy(density),
            names=labels(starts.slots, posterior.names), reach=_reach(posterior, starts.slots),
        )  # fmt: skip
        posterior.made["quadrature"] = places, source._replace(compile_seconds=0.0)
    else:
        source = known[1]
    found: list[np.ndarray] = []
    for purpose, count in ((DRAWING, plan["draws"]), (TUNING, plan["tune"] if tuned else 0)):
        chains = [source.draws(plan["seed"], chain, count, purpose) for chain in range(plan["chains"])]
        found += [np.stack(each) for each in zip(*chains, strict=True)]
    positions, lp, tuning, tuning_lp = found
    what = "the one dimension left" if starts.dim == 1 else f"the {starts.dim} dimensions left, which are independent"
    return _run(
        positions, {"lp": lp}, tuning, {"lp": tuning_lp}, clock.seconds, source.compile_seconds,
        drawn_by=f"quadrature of {what}", quadrature_error=source.error,
    )  # fmt: skip


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


def _by_numpy(density: FlatProgram) -> Callable[[np.ndarray], np.ndarray | None] | None:
    """The log-densities of a batch of points, where that is so little work that a program is not worth compiling."""
    rows = at_once(density.program, BATCH, runs=MOST_LOOKS)
    if rows is None:
        return None
    data = density.data

    def log_densities(positions: np.ndarray) -> np.ndarray | None:
        found = rows([slot.read(positions) for slot in density.slots], data)
        return None if found is None else found[0]

    return log_densities


def _run(
    positions: np.ndarray, stats: dict[str, np.ndarray], tuning: np.ndarray, tuning_stats: dict[str, np.ndarray],
    seconds: float = 0.0, compiling: float = 0.0, **facts: Any,
) -> Independent:  # fmt: skip
    still = lambda shape: {"diverging": np.zeros(shape, bool), "acceptance_rate": np.ones(shape)}
    return Independent(
        positions, still(positions.shape[:2]) | stats, max(0.0, seconds - compiling),
        tuning, still(tuning.shape[:2]) | tuning_stats, compiling, facts=facts,
    )  # fmt: skip
