"""What a call of `sample` asks for: its arguments, each checked and in one form."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ppl.graph.records import record
from ppl.model.arguments import as_list, check_keys, check_truths, count, unknown
from ppl.model.certificate.certificate import FEWEST
from ppl.model.context import model_to_read
from ppl.model.errors import SamplingError
from ppl.model.inference.sampling_options import (
    NUTS_OPTIONS,
    RESULT_OPTIONS,
    SAMPLERS,
    Nuts,
    layout_of_chains,
    nuts_options,
    refuse_unknown,
    refuse_unsupported,
    steers_nuts,
)
from ppl.model.inference.steps.assignment import FOR_COUNTS
from ppl.model.inference.time_limit import checked_seconds
from ppl.model.inputs.observing import refuse_impossible
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of
from ppl.samplers import StorageError
from ppl.samplers.runs.checkpoint import holds_run, seed_of_run
from ppl.samplers.runs.launch import storage_for
from ppl.xla.meshes import agreed, is_first, mesh_of


@record
class Asked:
    """A checked call of `sample`; its fields have the names of the arguments, where they are what was given."""

    model: Books
    rewrite: bool
    protect: list[Any]
    eliminate: list[Any]
    # chains
    draws: int
    tune: int
    chains: int
    cores: int
    seed: int
    initvals: Any
    init: str
    jitter_max_retries: int
    n_init: int | None  # steps of an approximation that chains start from
    # methods
    step: Any
    for_counts: Mapping[str, Mapping[str, Any]]  # options of the methods that are chosen for counts, by their names
    nuts: Nuts
    given: tuple[str, ...]  # options of NUTS that the call has
    steered: bool  # whether a sampler was chosen, or it was said how NUTS is to run
    nuts_sampler: str
    nuts_sampler_kwargs: Mapping[str, Any] | None
    # the run
    blocking: bool
    began: float  # when the call was made
    max_seconds: float | None  # after which chains stop
    callback: Callable[..., Any] | None
    progressbar: Any
    quiet: bool
    directory: Any  # where draws are saved, if they are
    mesh: Any  # the devices that share chains and rows of data, where they do
    independent: bool  # whether few numbers are to be drawn without a chain
    shard: bool  # whether they share rows also where that does not pay
    stored: Mapping[str, Any]  # how
    # the result
    var_names: Any
    extras: Mapping[str, Any]
    keep_warmup: bool
    checked: bool
    certified: int | None  # how many draws the run checks itself at; None: as many as cost little
    as_arviz: bool

    @property
    def own(self) -> bool:
        """Whether this package draws."""
        return self.nuts_sampler in ("ppl", "pymc")

    @property
    def watched(self) -> bool:
        """Whether somebody looks at the chains while they run, or they are saved: chains have to run then."""
        return not self.blocking or self.callback is not None or self.directory is not None

    @property
    def plan(self) -> dict[str, Any]:
        """How many draws of how many chains, and of which seed."""
        return {"draws": self.draws, "tune": self.tune, "chains": self.chains, "seed": self.seed}


def request(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Asked:
    """The request that a call of `function` makes; what cannot be done is refused here, before any work."""
    began, given = time.monotonic(), dict(arguments)
    options: dict[str, Any] = given.pop("options")
    _check(given)
    initvals = given["initvals"]
    if "start" in options:
        initvals = _renamed_start(options.pop("start"), initvals)
    given["init"] = given["init"] or "auto"
    sampler, kwargs, init = given["nuts_sampler"], given["nuts_sampler_kwargs"], given["init"]
    for_counts = {name: options.pop(name) for name in FOR_COUNTS if name in options}
    steered = steers_nuts(given["step"], sampler, init, options, kwargs)
    direct = tuple(name for name in ("nuts", *NUTS_OPTIONS) if options.get(name) is not None)
    nuts = nuts_options(init, options, kwargs if sampler in ("ppl", "pymc") else None)
    refuse_unknown(options, function)
    if sampler not in SAMPLERS:
        raise ValueError(unknown("nuts_sampler: there is no sampler", str(sampler), SAMPLERS))
    extras = dict(check_keys("idata_kwargs", given["idata_kwargs"], RESULT_OPTIONS))
    keep_warmup = bool(extras.pop("save_warmup", True)) and not given["discard_tuned_samples"]
    mesh = None if given["mesh"] is None else mesh_of(given["mesh"])
    here = _holds_run(given["checkpoint"] if given["resume"] in (None, "auto") else given["resume"], mesh)
    directory = _directory(given["checkpoint"], given["resume"], here)
    stored = _store(directory, given["storage"], here)
    draws, tune, chains, cores = layout_of_chains(given["draws"], given["tune"], given["chains"], given["cores"])
    seed = _seed(given["random_seed"], directory)
    if mesh is not None:
        seed = int(agreed(np.uint64(seed)))
        given["quiet"] = given["quiet"] or not is_first()
    model = model_to_read(given["model"])
    if not model.free_RVs:
        raise SamplingError("Cannot sample from the model: it has no free random variables.")
    refuse_impossible(model)
    same = "rewrite step nuts_sampler nuts_sampler_kwargs init blocking callback progressbar quiet var_names".split()
    return Asked(
        model=model, draws=draws, tune=tune, chains=chains, cores=cores, seed=seed, initvals=initvals,
        jitter_max_retries=given["jitter_max_retries"], n_init=given["n_init"], protect=as_list(given["protect"]),
        eliminate=as_list(given["eliminate"]), nuts=nuts, given=direct, steered=steered, directory=directory, mesh=mesh,
        shard=given["shard"], independent=bool(given["independent"]), stored=stored, began=began,
        max_seconds=checked_seconds(given["max_seconds"]), extras=extras, keep_warmup=keep_warmup,
        for_counts=for_counts,
        checked=given["compute_convergence_checks"], certified=_draws_to_check(given["certificate"]),
        as_arviz=given["return_inferencedata"], **{name: given[name] for name in same},
    )  # fmt: skip


def _check(given: dict[str, Any]) -> None:
    """The arguments that are looked at one by one."""
    unsupported = (
        "trace progressbar_theme keep_warning_stat n_init init mp_ctx blas_cores compile_kwargs progressbar".split()
    )
    refuse_unsupported(**{name: given[name] for name in unsupported})
    truths = (
        "quiet discard_tuned_samples compute_convergence_checks return_inferencedata rewrite blocking shard independent"
    )
    check_truths(**{name: given[name] for name in truths.split()})
    if given["callback"] is not None and not callable(given["callback"]):
        raise TypeError(f"callback is a function of (trace, draw), got {given['callback']!r}.")
    if given["n_init"] is not None:
        given["n_init"] = count("n_init", given["n_init"], 1)
    given["jitter_max_retries"] = count("jitter_max_retries", given["jitter_max_retries"], 0)


def _draws_to_check(certificate: Any) -> int | None:
    """At how many draws a run checks itself: as many as cost little (None), none (0), or as many as the user says."""
    if isinstance(certificate, bool | np.bool_):
        return None if certificate else 0
    if not isinstance(certificate, int | np.integer):
        raise TypeError(f"certificate is True, False, or at how many draws the run is checked, got {certificate!r}.")
    return count("certificate", certificate, FEWEST) if certificate else 0


def _renamed_start(start: Any, initvals: Any) -> Any:
    if initvals is not None:
        raise ValueError("Passing both `start` and `initvals` is not supported.")
    warnings.warn("The argument `start` is now called `initvals`.", FutureWarning, stacklevel=5)
    return start


def _holds_run(directory: Any, mesh: Any) -> bool:
    """Whether a directory holds a run; of several processes the first one looks."""
    found = directory is not None and holds_run(directory)
    return found if mesh is None else bool(agreed(np.uint8(found)))


def _directory(checkpoint: Any, resume: Any, here: bool) -> Any:
    """The directory of a run that is saved; None where it is not."""
    if resume is not None and os.fspath(resume) == "auto":
        if checkpoint is None:
            raise ValueError('resume="auto" goes on where there is a run in checkpoint=: give that directory too.')
        return checkpoint
    if checkpoint is None:
        return resume
    if resume is None:
        if here:
            raise StorageError(f'{checkpoint} already holds a run: go on with it by resume="auto".')
        return checkpoint
    if os.fspath(checkpoint) != os.fspath(resume):
        raise ValueError('checkpoint= goes with resume="auto"; resume= with a directory of its own needs no other.')
    return resume


def _seed(random_seed: Any, directory: Any) -> int:
    """The seed of a call; a run that goes on keeps the one that it began with, where the user gives none."""
    kept = seed_of_run(directory) if random_seed is None and directory is not None else None
    return seed_of(random_seed) if kept is None else kept


def _store(directory: Any, storage: str | None, here: bool) -> dict[str, Any]:
    """How draws are saved: in a new directory, or in one to go on from."""
    kind = storage_for(storage, directory)
    if directory is None:
        return {}
    return {"resume" if here else "checkpoint": directory, "storage": kind}
