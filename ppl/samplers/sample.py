"""``sample``: from a JAX log-density to draws."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.adaptation.chees import LEAST_CHAINS, chees
from ppl.samplers.adaptation.machine import machine
from ppl.samplers.adaptation.tuning import Tuning, tuning, whole
from ppl.samplers.adaptation.warmup import tuned
from ppl.samplers.programs.kernel import Data, Kernel, LogDensity
from ppl.samplers.programs.work import of_gradient
from ppl.samplers.runs.driver import Handle
from ppl.samplers.runs.ensemble import GROUP, side_by_side
from ppl.samplers.runs.job import Callback, Initial, Job
from ppl.samplers.runs.launch import cores_for, launch, store_for
from ppl.samplers.runs.run import Run
from ppl.samplers.runs.start import Terms
from ppl.xla.later import jax
from ppl.xla.meshes import CHAINS

KERNELS = ("nuts", "hmc", "chees")
CHAIN_METHODS = ("threads", "vectorized", "interleaved")


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
    chain_method: str = "auto",
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
    storage: str | None = None,
    identity: Mapping[str, str] | None = None,
    mesh: Any = None,
    spread: int = 0,
) -> Run | Handle:
    """Draw from the density whose logarithm is ``logp(position, *data)``, by NUTS with its own warm-up.

    ``metric="auto"`` lets each chain choose between diagonal and low-rank metrics as it tunes; ``kernel="hmc"`` takes
    trajectories of random length up to twice ``path_length`` (in units of the whitened target) in place of NUTS's;
    ``kernel="chees"`` takes trajectories of one length for all chains, which learn it, the step size and the metric
    together: for a hundred chains and more.

    ``chain_method="threads"`` runs a chain in a thread, ``cores`` at a time. ``"vectorized"`` runs all chains side by
    side in one program, spread over the devices that JAX reports if these divide their number; each of their steps
    takes as long as the longest trajectory. With ``"interleaved"`` each chain of NUTS is in a trajectory of its own.
    ``"auto"`` is threads on a CPU, interleaved elsewhere.

    ``initial`` is an array (chains, dim), or a function (chain, attempt) -> position that is asked again, up to
    ``attempts`` times, while the log-density or its gradient is not finite there (then ``dim`` must be given).
    ``data`` holds arrays that ``logp`` and ``expand`` take as arguments; other data of the same shapes need no new
    compilation. A caller who builds ``logp`` anew each time gives a ``key`` that stands for its content.

    ``progress`` shows a table of the chains (True: whatever suits the place); ``callback`` gets a list of
    ``ChainProgress`` after each dispatch. Ctrl-C returns the draws that are finished. With ``blocking=False`` the
    result is a ``Handle``. ``checkpoint`` is a directory to save to while sampling, ``resume`` one to go on from: the
    draws are then the same, bit for bit, as those of a run that was never interrupted. Its tables are .npy files, or
    with ``storage="zarr"`` compressed arrays of the Zarr group ``draws.zarr`` there (install ``ppl-jax[zarr]``), which
    may also be at a URL of an object store, as "s3://bucket/run" (``ppl-jax[stores]``).
    ``identity`` names what the run is of, with a digest each: who resumes with other ones is refused, and told which.

    On a ``mesh`` of devices with the axes "chains" and "rows" the first ``spread`` arrays of ``data`` are shared out by
    their first axis along "rows", where ``logp`` adds up what devices have (as ``ppl.xla.blocks`` does).

    >>> import jax.numpy as jnp, numpy as np
    >>> run = sample(lambda x: -0.5 * jnp.sum(x**2), np.zeros((2, 3)), chains=2, draws=200, tune=200)
    >>> run.positions.shape
    (2, 200, 3)
    """
    draws, tune, chains = whole("draws", draws, 0), whole("tune", tune, 0), whole("chains", chains, 1)
    steering = tuning(target_accept, max_treedepth, metric, step_scale, integrator)
    dtype = np.dtype(dtype)
    first, dim = _starts(initial, chains, dim)
    method = (
        chain_method_for(chain_method, kernel) if mesh is None else _on_mesh(mesh, chain_method, kernel, chains, expand)
    )
    if kernel == "chees" and chains < LEAST_CHAINS:
        raise ValueError(f"kernel='chees' learns from all chains together and needs {LEAST_CHAINS}, got {chains}.")
    which = key if key is not None else logp
    # On a mesh a gradient is dear, and its parts can be counted on the mesh alone.
    work_of_gradient = of_gradient(logp, dim, dtype, data, which) if mesh is None else lambda: math.inf
    chosen = _kernel(logp, kernel, path_length, steering, dim, method, work_of_gradient)
    settings = {"draws": draws, "tune": tune, "chains": chains, "seed": seed, "dim": dim, "dtype": dtype.name,
                **steering._asdict(), "kernel": kernel, "path_length": path_length,
                "chain_method": method if mesh is None else f"{method} on a mesh",
                "jax": jax.__version__}  # fmt: skip
    job = Job(
        kernel=chosen.kernel,
        kernel_key=(*chosen.fixed, which),
        plan=chosen.plan(tune),
        data=data,
        initial=first,
        attempts=1 if not callable(initial) else attempts,
        dim=dim,
        dtype=dtype,
        chains=chains,
        cores=cores_for(cores, chains),
        tune=tune,
        draws=draws,
        seed=seed,
        together=method != "threads",
        expand=expand,
        expand_key=(key, expand) if key is None else ("keyed", key),
        names=names,
        terms=terms,
        keep_warmup=keep_warmup,
        callback=callback,
        store=store_for(checkpoint, resume, storage, {**settings, "identity": dict(identity or {})}, mesh),
        settings=settings,
        work_of_gradient=work_of_gradient,
        mesh=mesh,
        spread=spread,
    )
    return launch(job, progress=progress, blocking=blocking)


class _Chosen(NamedTuple):
    kernel: Kernel
    fixed: tuple[Hashable, ...]  # all that is fixed when it is compiled
    plan: Callable[[int], Any]


def _kernel(
    logp: LogDensity,
    kernel: str,
    path_length: float | None,
    steering: Tuning,
    dim: int,
    method: str,
    work_of_gradient: Callable[[], float],
) -> _Chosen:
    """The kernel by its name; chains side by side on one device tune diagonal metrics, without the host."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}.")
    together = method != "threads"
    if together and steering.metric == "low_rank":
        raise ValueError(
            f"metric='low_rank' is fitted by the host, for chains in threads; with chain_method={method!r} there are"
            " auto, fisher_diag, welford_diag and identity."
        )
    if together and steering.metric == "auto":
        steering = steering._replace(metric="fisher_diag")
    levels, columns = steering.max_treedepth, steering.columns(dim)
    plan = partial(steering.plan, dim=dim, of=dim)
    if kernel == "chees":
        if path_length is not None:
            raise ValueError(f"kernel='chees' learns the length of its trajectories, got path_length={path_length!r}.")
        return _Chosen(chees(logp, steering.scheme), (kernel, steering.integrator), plan)
    transition, which = steering.transition(kernel, path_length)
    fixed = (*which, method, steering.integrator, columns)
    if method == "interleaved":
        return _Chosen(side_by_side(machine(logp, steering.scheme, levels)), fixed, plan)
    tuned_kernel = tuned(logp, transition, columns, steering.chooser(dim, work_of_gradient), steering.room(kernel))
    return _Chosen(side_by_side(tuned_kernel) if together else tuned_kernel, fixed, plan)


def chain_method_for(chain_method: str, kernel: str) -> str:
    """Threads on a CPU, one program for all chains on what computes in parallel."""
    if chain_method not in ("auto", *CHAIN_METHODS):
        raise ValueError(f"chain_method must be one of auto, {', '.join(CHAIN_METHODS)}, got {chain_method!r}.")
    if kernel == "chees" and chain_method not in ("auto", "vectorized"):
        raise ValueError(f"kernel='chees' moves all chains together, so chain_method cannot be {chain_method!r}.")
    if kernel != "nuts" and chain_method == "interleaved":
        raise ValueError(f"chain_method='interleaved' is for trees, so for kernel='nuts', not for {kernel!r}.")
    if chain_method != "auto":
        return chain_method
    if kernel == "chees":
        return "vectorized"
    if jax.default_backend() == "cpu":
        return "threads"
    return "interleaved" if kernel == "nuts" else "vectorized"


def _on_mesh(mesh: Any, chain_method: str, kernel: str, chains: int, expand: Any) -> str:
    """The chain method on a mesh: each device works off its chains one by one, or group by group."""
    if kernel == "chees":
        raise ValueError(
            "kernel='chees' learns from all chains at each step, which a mesh does not let it: leave it out."
        )
    method = "threads" if chain_method == "auto" else chain_method_for(chain_method, kernel)
    if expand is not None:
        raise ValueError("mesh= and expand= do not go together: make what follows from positions afterwards.")
    each = 1 if method == "threads" else GROUP
    if chains % (each * mesh.shape[CHAINS]):
        raise ValueError(
            f'mesh: {chains} chains cannot be shared out along the axis "chains" of length {mesh.shape[CHAINS]}'
            + (f" in groups of {each}, in which chain_method={method!r} moves them" if each > 1 else "")
            + f". Give a multiple of {each * mesh.shape[CHAINS]}."
        )
    return method


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
