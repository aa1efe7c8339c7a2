"""``sample_steps``: draws by a sweep over several moves, run by the same driver as NUTS alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from ppl.samplers.adaptation.tuning import tuning
from ppl.samplers.adaptation.warmup import tuned
from ppl.samplers.programs.kernel import Data, LogDensity
from ppl.samplers.programs.work import of_gradient
from ppl.samplers.runs.driver import Handle
from ppl.samplers.runs.job import Initial, Job
from ppl.samplers.runs.launch import cores_for, launch, store_for
from ppl.samplers.runs.run import Run
from ppl.samplers.steps.moves import Move
from ppl.samplers.steps.sweep import Stretch, conditional, in_turn, sweep
from ppl.xla.later import jax


def sample_steps(
    logp: LogDensity,
    initial: Initial,
    blocks: Sequence[Stretch | Move],
    *,
    dim: int,
    data: Data = (),
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    seed: int = 0,
    target_accept: float = 0.8,
    max_treedepth: int = 10,
    metric: str = "auto",
    step_scale: float | None = None,
    kernel: str = "nuts",
    path_length: float | None = None,
    integrator: str = "leapfrog",
    key: Hashable = None,
    names: Sequence[str] | None = None,
    attempts: int = 10,
    keep_warmup: bool = False,
    progress: bool | str | None = None,
    callback: Callable[..., None] | None = None,
    blocking: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    storage: str | None = None,
    identity: Mapping[str, str] | None = None,
) -> Run | Handle:
    """Draw from a density whose entries are moved by several methods: NUTS on one stretch, moves on the others.

    The arguments are those of `sample`. The blocks must cover every entry; at most one of them is a stretch for NUTS.
    Where a move learns from the other chains, these move in one program, each given where the others are; then a
    chain's draws depend on how many there are, and NUTS, whose chains do not keep step, cannot take part.
    """
    stretches = [block for block in blocks if isinstance(block, Stretch)]
    moves = [block for block in blocks if isinstance(block, Move)]
    if len(stretches) > 1:
        raise ValueError("NUTS moves one stretch of the position; put its variables side by side.")
    together = any(move.population for move in moves)
    if together and stretches:
        raise ValueError("A move that learns from other chains does not go together with NUTS in one sweep.")
    covered = np.zeros(dim, bool)
    for block in blocks:
        covered[block.start : block.stop] = True
    if not covered.all():
        raise ValueError(f"No step method moves entries {np.flatnonzero(~covered).tolist()}.")
    steering = tuning(target_accept, max_treedepth, metric, step_scale, integrator)
    transition, fixed = steering.transition(kernel, path_length)
    which = key if key is not None else logp
    nuts, moved, columns = None, 0, 0
    if stretches:
        moved = stretches[0].stop - stretches[0].start
        columns = steering.columns(moved)
        inner = conditional(logp, stretches[0])
        whole = jax.ShapeDtypeStruct((dim,), np.float64)
        work_of_gradient = of_gradient(inner, moved, np.float64, (whole, *data), (which, stretches[0]))
        by_gradient = tuned(inner, transition, columns, steering.chooser(moved, work_of_gradient))
        nuts = (stretches[0], by_gradient)
    keys = tuple(block.key if isinstance(block, Move) else ("nuts", *block) for block in blocks)
    settings = {"draws": draws, "tune": tune, "chains": chains, "seed": seed, "dim": dim, "steps": str(len(keys)),
                **steering._asdict(), "kernel": kernel, "path_length": path_length, "jax": jax.__version__}  # fmt: skip
    job = Job(
        kernel=sweep(logp, nuts, moves),
        kernel_key=("sweep", which, keys, integrator, fixed, columns),
        plan=steering.plan(tune, moved, dim),
        data=data,
        initial=initial,
        attempts=attempts,
        dim=dim,
        dtype=np.dtype(np.float64),
        chains=chains,
        cores=cores_for(cores, chains),
        tune=tune,
        draws=draws,
        seed=seed,
        names=names,
        keep_warmup=keep_warmup,
        callback=callback,
        store=store_for(checkpoint, resume, storage, {**settings, "identity": dict(identity or {})}),
        settings=settings,
    )
    if together:
        job = job._replace(kernel=in_turn(job.kernel), kernel_key=("in turn", job.kernel_key), together=True)
    return launch(job, progress=progress, blocking=blocking)
