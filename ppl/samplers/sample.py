"""``sample``: from a JAX log-density to draws."""

import os
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from . import hmc, nuts
from .attend import ESTIMATORS, metric_chooser
from .checkpoint import DirectoryStore, MemoryStore
from .driver import Callback, Handle, Initial, Job, Store
from .integrators import INTEGRATORS
from .kernel import Data, LogDensity
from .progress import display_for
from .run import Run
from .start import Terms
from .warmup import FISHER, FROZEN, plan, tuned

COLUMNS = 16  # room for low-rank directions
METRICS = ("auto", "fisher_diag", "welford_diag", "low_rank", "identity")


def sample(
    logp: LogDensity,
    initial: np.ndarray | Initial,
    *,
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
    dim: int | None = None,
    dtype: Any = np.float64,
    expand: Callable[..., Any] | None = None,
    key: Hashable = None,
    names: Sequence[str] | None = None,
    terms: Terms | None = None,
    attempts: int = 10,
    keep_warmup: bool = False,
    progress: bool | str | None = None,
    callback: Callback | None = None,
    blocking: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Run | Handle:
    """Draw from the density whose logarithm is ``logp(position, *data)``, by NUTS with its own warm-up.

    ``metric="auto"`` lets each chain choose between diagonal and low-rank metrics as it tunes; ``kernel="hmc"`` takes
    trajectories of random length up to twice ``path_length`` (in units of the whitened target) in place of NUTS's.

    ``initial`` is an array (chains, dim), or a function (chain, attempt) -> position that is asked again, up to
    ``attempts`` times, while the log-density or its gradient is not finite there (then ``dim`` must be given).
    ``data`` holds arrays that ``logp`` and ``expand`` take as arguments; other data of the same shapes need no new
    compilation. A caller who builds ``logp`` anew each time gives a ``key`` that stands for its content.

    ``progress`` shows a table of the chains (True: whatever suits the place); ``callback`` gets a list of
    ``ChainProgress`` after each dispatch. Ctrl-C returns the draws that are finished. With ``blocking=False`` the
    result is a ``Handle``. ``checkpoint`` is a directory to save to while sampling, ``resume`` one to go on from: the
    draws are then the same, bit for bit, as those of a run that was never interrupted.

    >>> import jax.numpy as jnp, numpy as np
    >>> run = sample(lambda x: -0.5 * jnp.sum(x**2), np.zeros((2, 3)), chains=2, draws=200, tune=200)
    >>> run.positions.shape
    (2, 200, 3)
    """
    draws, tune, chains = _count("draws", draws, 0), _count("tune", tune, 0), _count("chains", chains, 1)
    levels = _count("max_treedepth", max_treedepth, 1)
    if not 0 < target_accept < 1:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept}. The usual value is 0.8.")
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}.")
    if integrator not in INTEGRATORS:
        raise ValueError(f"integrator must be one of {', '.join(INTEGRATORS)}, got {integrator!r}.")
    transition, fixed = transition_of(kernel, path_length, integrator, levels)
    dtype = np.dtype(dtype)
    first, dim = _starts(initial, chains, dim)
    columns = min(COLUMNS, dim) if metric in ("auto", "low_rank") and dim > 1 else 0
    estimator = FROZEN if metric == "identity" else ESTIMATORS.get(metric, FISHER)

    settings = {"draws": draws, "tune": tune, "chains": chains, "seed": seed, "dim": dim, "dtype": dtype.name,
                "target_accept": target_accept, "max_treedepth": levels, "metric": metric, "integrator": integrator,
                "kernel": kernel,
                "path_length": path_length, "step_scale": step_scale, "jax": jax.__version__}  # fmt: skip

    job = Job(
        kernel=tuned(logp, transition, columns, metric_chooser(metric, columns)),
        kernel_key=(*fixed, key if key is not None else logp, integrator, columns),
        plan=plan(
            tune,
            target_accept,
            levels,
            0.1 if step_scale is None else step_scale / max(dim, 1) ** 0.25,
            FISHER if metric == "low_rank" else estimator,
            ask_host=columns > 0,
        ),
        data=data,
        initial=first,
        attempts=1 if not callable(initial) else attempts,
        dim=dim,
        dtype=dtype,
        chains=chains,
        cores=min(chains, cores or os.cpu_count() or 1),
        tune=tune,
        draws=draws,
        seed=seed,
        expand=expand,
        expand_key=(key, expand) if key is None else ("keyed", key),
        names=names,
        terms=terms,
        keep_warmup=keep_warmup,
        callback=callback,
        store=_store(checkpoint, resume, settings),
        settings=settings,
    )
    display = display_for(progress)
    handle = Handle(job).start()
    if not blocking:
        return handle
    try:
        return handle.wait(display=display)
    except KeyboardInterrupt:
        return handle.abort()


def transition_of(kernel: str, path_length: float | None, integrator: str, levels: int) -> tuple[Any, tuple[Any, ...]]:
    """The transition of a kernel, and what stands for it in the keys of programs."""
    if kernel not in ("nuts", "hmc"):
        raise ValueError(f"kernel must be nuts or hmc, got {kernel!r}.")
    if path_length is not None and (kernel != "hmc" or path_length <= 0):
        raise ValueError(f"path_length is a positive length of the trajectories of kernel='hmc', got {path_length!r}.")
    scheme = INTEGRATORS[integrator]
    if kernel == "hmc":
        how_far = hmc.QUARTER_PERIOD if path_length is None else float(path_length)
        return partial(hmc.transition, integrator=scheme, path_length=how_far), ("hmc", how_far)
    return partial(nuts.transition, integrator=scheme, levels=levels), ("nuts", levels)


def _store(
    checkpoint: str | os.PathLike[str] | None, resume: str | os.PathLike[str] | None, settings: dict[str, Any]
) -> Store:
    if checkpoint is not None and resume is not None and os.fspath(checkpoint) != os.fspath(resume):
        raise ValueError("resume goes on with a checkpoint in its own directory, so checkpoint need not be given.")
    path = resume if resume is not None else checkpoint
    return MemoryStore() if path is None else DirectoryStore(path, settings, resume=resume is not None)


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not float(value).is_integer() or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def _starts(initial: Any, chains: int, dim: int | None) -> tuple[Initial, int]:
    if callable(initial):
        if dim is None:
            raise ValueError("initial is a function, so dim must say how long its positions are.")
        return initial, dim
    positions = np.asarray(initial)
    if positions.ndim != 2 or positions.shape[0] != chains:
        raise ValueError(
            f"initial must have one row a chain, shape ({chains}, dim), got shape {positions.shape}."
            " Repeat a single start with np.tile(start, (chains, 1))."
        )
    return lambda chain, attempt: positions[chain], positions.shape[1]
