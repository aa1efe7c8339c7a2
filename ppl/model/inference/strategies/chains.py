"""Draws by Markov chains of this package: NUTS alone, or a sweep over several step methods."""

from __future__ import annotations

from typing import Any

from ppl.compile.density import FlatProgram, labels, scalar
from ppl.compile.row_blocks import BlockedProgram
from ppl.model.inference.optimum import maximum_of
from ppl.model.inference.task import Task
from ppl.model.log import log
from ppl.model.starting.approximate_starts import approximate_starts
from ppl.model.starting.start_points import Starts
from ppl.samplers import Handle
from ppl.samplers import sample as run_nuts
from ppl.samplers.steps.sample_steps import sample_steps


def by_steps(task: Task) -> Handle | None:
    """A run in which each step method moves its own variables in turn."""
    if task.methods.only_nuts:
        return None
    density, nuts = made_ready(task), task.asked.nuts
    if nuts.kernel == "chees" or nuts.chain_method not in ("auto", "threads"):
        raise ValueError(
            "kernel='chees' and chain_method= are for models that gradients move alone: this one has discrete"
            " variables, or step= chooses other methods. Leave them out."
        )
    blocks = task.methods.blocks(task.starts.slots, task.asked.tune + task.asked.draws, task.palette.on(density))
    options = _options(task, density, task.starts)
    task.prepare_results()
    return sample_steps(scalar(density), task.starts, blocks, **options)


def by_nuts(task: Task) -> Handle:
    """A run in which gradients move everything."""
    density = made_ready(task)
    return nuts_of(task, density if task.asked.mesh is None else task.on_mesh, task.starts)


def nuts_of(task: Task, density: FlatProgram | BlockedProgram, starts: Starts) -> Handle:
    """NUTS of a posterior, or of a factor of it."""
    options = _options(task, density, starts)
    task.prepare_results()
    if task.asked.mesh is not None:
        options |= {"mesh": task.asked.mesh, "spread": getattr(density, "spread", 0)}
    return run_nuts(scalar(density), starts, chain_method=task.asked.nuts.chain_method, **options)


def made_ready(task: Task) -> FlatProgram:
    """The log-density of all that is left, with starts where `init` wants them; the user is told what begins."""
    begin = task.asked.nuts.begin
    if begin == "map":
        task.starts.move([maximum_of(task.density, flat) for flat in task.starts.points])
    elif begin != "support":
        asked = task.asked
        task.starts.move(approximate_starts(task.density, task.starts, asked.chains, begin, asked.n_init))
    announce(task)
    return task.density


def announce(task: Task) -> None:
    """Say what begins: by which methods, how many chains, how long."""
    asked = task.asked
    if asked.draws == 0:
        log.warning("Tuning was enabled throughout the whole trace.")
    elif asked.draws < 100:
        log.warning(
            "Only %d draws per chain. Reliable r-hat and ESS diagnostics require longer chains for accurate estimate.",
            asked.draws,
        )
    if not task.methods.only_nuts:
        log.info("%s", task.methods.describe())
    chains, threads = asked.chains, min(asked.cores, asked.chains)
    where = f"{threads} thread{'s' * (threads > 1)}"
    if asked.mesh is not None:
        where = " × ".join(f"{n} {name}" for name, n in asked.mesh.shape.items()) + " of a mesh"
    log.info(
        "Sampling %d chain%s for %s tune and %s draw iterations (%s + %s draws total) in %s.",
        chains, "s" * (chains > 1), f"{asked.tune:_}", f"{asked.draws:_}", f"{asked.tune * chains:_}",
        f"{asked.draws * chains:_}", where,
    )  # fmt: skip


def _options(task: Task, density: FlatProgram | BlockedProgram, starts: Starts) -> dict[str, Any]:
    """How the chains run."""
    asked, nuts = task.asked, task.asked.nuts
    return {
        "target_accept": nuts.target_accept, "max_treedepth": nuts.max_treedepth, "metric": nuts.metric,
        "step_scale": nuts.step_scale, "integrator": nuts.integrator, "kernel": nuts.kernel, **task.methods.settings,
        **asked.plan, "seed": starts.seed, "cores": asked.cores, "callback": task.reporter,
        "keep_warmup": asked.keep_warmup or asked.callback is not None,
        "attempts": max(1, asked.jitter_max_retries) if nuts.jitter else 1, "blocking": False, **task.stored,
        "data": density.data, "dim": starts.dim, "names": labels(starts.slots, task.posterior.entries),
        "key": ("logp", density.key),
    }  # fmt: skip
