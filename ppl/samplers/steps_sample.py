"""``sample_steps``: draws by a sweep over several moves, run by the same driver as NUTS alone."""

import os
from collections.abc import Callable, Hashable, Sequence

import jax
import numpy as np

from .attend import ESTIMATORS, metric_chooser
from .checkpoint import DirectoryStore, MemoryStore
from .driver import Handle, Initial, Job
from .kernel import Data, LogDensity
from .run import Run
from .sample import COLUMNS, transition_of
from .steps_moves import Move
from .steps_sweep import Stretch, conditional, sweep
from .warmup import FISHER, FROZEN, plan, tuned


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
    callback: Callable[..., None] | None = None,
    blocking: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Run | Handle:
    """Draw from a density whose entries are moved by several methods: NUTS on one stretch, moves on the others.

    The arguments are those of `sample`. The blocks must cover every entry; at most one of them is a stretch for NUTS.
    """
    stretches = [block for block in blocks if isinstance(block, Stretch)]
    moves = [block for block in blocks if isinstance(block, Move)]
    if len(stretches) > 1:
        raise ValueError("NUTS moves one stretch of the position; put its variables side by side.")
    covered = np.zeros(dim, bool)
    for block in blocks:
        covered[block.start : block.stop] = True
    if not covered.all():
        raise ValueError(f"No step method moves entries {np.flatnonzero(~covered).tolist()}.")
    transition, fixed = transition_of(kernel, path_length, integrator, max_treedepth)
    nuts, columns = None, 0
    if stretches:
        size = stretches[0].stop - stretches[0].start
        columns = min(COLUMNS, size) if metric in ("auto", "low_rank") and size > 1 else 0
        by_gradient = tuned(conditional(logp, stretches[0]), transition, columns, metric_chooser(metric, columns))
        nuts = (stretches[0], by_gradient)
    estimator = FROZEN if metric == "identity" else ESTIMATORS.get(metric, FISHER)
    keys = tuple(block.key if isinstance(block, Move) else ("nuts", *block) for block in blocks)
    settings = {"draws": draws, "tune": tune, "chains": chains, "seed": seed, "dim": dim, "steps": str(len(keys)),
                "target_accept": target_accept, "max_treedepth": max_treedepth, "metric": metric,
                "kernel": kernel, "path_length": path_length, "integrator": integrator, "step_scale": step_scale, "jax": jax.__version__}  # fmt: skip
    path = resume if resume is not None else checkpoint
    job = Job(
        kernel=sweep(logp, nuts, moves),
        kernel_key=("sweep", key if key is not None else logp, keys, integrator, fixed, columns),
        plan=plan(
            tune, target_accept, max_treedepth, 0.1 if step_scale is None else step_scale / max(dim, 1) ** 0.25,
            FISHER if metric == "low_rank" else estimator, ask_host=columns > 0,
        ),
        data=data,
        initial=initial,
        attempts=attempts,
        dim=dim,
        dtype=np.dtype(np.float64),
        chains=chains,
        cores=min(chains, cores or os.cpu_count() or 1),
        tune=tune,
        draws=draws,
        seed=seed,
        expand=None,
        expand_key=None,
        names=names,
        terms=None,
        keep_warmup=keep_warmup,
        callback=callback,
        store=MemoryStore() if path is None else DirectoryStore(path, settings, resume=resume is not None),
        settings=settings,
    )  # fmt: skip
    handle = Handle(job).start()
    return handle if not blocking else handle.wait()
