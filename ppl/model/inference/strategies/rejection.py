"""Independent draws of the few numbers that rewriting has left, by rejection and without a Markov chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ppl.compile.density import FlatProgram, Slot, scalar
from ppl.graph import Node, ancestors
from ppl.graph.body import bodies
from ppl.model.finishing.runs import Clock, Independent, independent
from ppl.model.inference.strategies.quadrature import DRAWING, TUNING, kept_for
from ppl.model.inference.task import Task
from ppl.model.log import log
from ppl.model.posterior.at_once import of_batches
from ppl.model.posterior.rewriting import Posterior
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.costs import arithmetic
from ppl.samplers import UnresolvedError
from ppl.samplers.independent.quadrature import BATCH
from ppl.samplers.independent.rejection import EVALUATIONS, Rejection, rejection
from ppl.tensor.core.black_box import HostOp
from ppl.tensor.linear_algebra.decompositions import cholesky
from ppl.tensor.linear_algebra.definite import log_det_definite, normal_log_density
from ppl.tensor.loops.branches import WHILE
from ppl.tensor.loops.ode_solution import ODE_SOLUTION

SOONER = 1.2e9  # numbers that NumPy goes over before JAX has started and compiled a program
SCANNED, FEWEST, MOST = 1e7, 8192, 65_536  # operations at points far and wide, and how many there are
FACTORS = frozenset({cholesky, log_det_definite, normal_log_density})  # which some matrices do not have
OF_ANY_LENGTH = frozenset({WHILE, ODE_SOLUTION})  # whose steps depend on values: rejection looks far and wide
FARTHEST = 100.0  # on the scale of a logarithm, from the start: the square of a number farther off is no number


def by_rejection(task: Task) -> Independent | None:
    """Independent draws, where few numbers are left and the law of the draws can be told."""
    if task.division is None or not task.division.chains or not 2 <= task.starts.dim <= LIMITS.few_numbers:
        return None  # chains are asked for, nothing is left for them, or too much is
    reason = _against(task)
    if reason is None:
        try:
            return _drawn(task)
        except UnresolvedError as error:
            reason = f"draws are not independent here: {error}"
    task.finish.facts["drawn_by"] += f", since {reason}"
    log.info("Drawing by %s", task.finish.facts["drawn_by"])
    return None


def _against(task: Task) -> str | None:
    """Why a chain is taken without a trial: the reason in words, or None where rejection is tried."""
    plan, one = task.asked.plan, _work(task.posterior)
    if any(node.op in OF_ANY_LENGTH or isinstance(node.op, HostOp) for node in _within([task.posterior.logp()])):
        return "the log-density may take long far from the posterior"
    if EVALUATIONS * one > LIMITS.operations_of_rejection:
        return "the log-density is much arithmetic"
    steps = LIMITS.evaluations_of_a_draw * plan["chains"] * (plan["draws"] + plan["tune"])
    return None if EVALUATIONS * one < steps * one + LIMITS.operations_of_compiling else "a chain is less work"


def _within(outputs: Sequence[Node]) -> Iterator[Node]:
    """All nodes that outputs are computed from, those in the bodies of loops too."""
    for node in ancestors(outputs):
        yield node
        for body in bodies(node):
            yield from _within(body.outputs)


def _drawn(task: Task) -> Independent:
    """The run; what proposals come from is found once."""
    clock, posterior, slots, plan = Clock(), task.posterior, task.starts.slots, task.asked.plan
    density: FlatProgram = posterior.once(
        ("few", *((slot.variable, slot.shape) for slot in slots)),
        lambda: FlatProgram([posterior.logp()], slots, once=posterior.of_data),
    )
    at_once = of_batches(density, BATCH, EVALUATIONS // BATCH, SOONER)
    task.prepare_results(by_numpy=at_once is not None)
    places = np.stack(task.starts.points)

    def made() -> Rejection:
        return rejection(
            scalar(density), places, data=density.data, key=("logp", density.key),
            at_once=at_once,
            scanned=int(np.clip(SCANNED / _work(posterior), FEWEST, MOST)), reach=_reach(posterior, slots),
            edges=any(node.op in FACTORS for node in _within(density.program.outputs)), threads=task.asked.cores,
        )  # fmt: skip

    source: Rejection = kept_for(posterior, "rejection", places, ancestors(density.program.outputs), made)
    found: list[np.ndarray] = []
    for purpose, count in ((DRAWING, plan["draws"]), (TUNING, plan["tune"] if task.asked.keep_warmup else 0)):
        chains = [source.draws(plan["seed"], chain, count, purpose) for chain in range(plan["chains"])]
        found += [np.stack(each) for each in zip(*chains, strict=True)]
    positions, lp, tuning, tuning_lp = found
    return independent(
        positions, {"lp": lp}, tuning, {"lp": tuning_lp}, clock.seconds, source.compile_seconds,
        drawn_by=f"rejection in the {task.starts.dim} dimensions left", rejection_error=source.error,
    )  # fmt: skip


def _work(posterior: Posterior) -> float:
    """The operations of one evaluation of the log-density."""
    return max(1.0, arithmetic([posterior.logp()], posterior.values))


def _reach(posterior: Posterior, slots: Sequence[Slot]) -> list[float]:
    """How far from the start each number may be."""
    bent = posterior.moved.keys() | posterior.jacobians.keys()
    return [FARTHEST if slot.variable in bent else np.inf for slot in slots for _ in range(slot.stop - slot.start)]
