"""`sample`: from a model to draws of its posterior."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.compile.density import FlatProgram, labels, scalar, values_at
from ppl.model.arguments import as_list, check_keys, check_truths, chosen_names, count, unknown
from ppl.model.context import model_may_be_first, model_to_read
from ppl.model.errors import SamplingError
from ppl.model.inference import checks
from ppl.model.inference.background import Sampling
from ppl.model.inference.callbacks import Reporter
from ppl.model.inference.engines import ENGINES
from ppl.model.inference.engines.in_parts import in_turn
from ppl.model.inference.engines.independent import Independent, drawn_by_quadrature, drawn_from_data
from ppl.model.inference.finishing import Finisher, Request, refuse_too_large
from ppl.model.inference.optimum import maximum_of
from ppl.model.inference.progress import Attended, display
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
from ppl.model.inference.start_report import start_report
from ppl.model.inference.starting import Starts, starts_for
from ppl.model.inference.steps import Assignment, assign
from ppl.model.inference.steps.assignment import stepped
from ppl.model.inference.steps.colours import Palette
from ppl.model.inference.whose_run import identity_of
from ppl.model.inputs.minibatches import refuse_minibatches
from ppl.model.log import log, silenced
from ppl.model.output import results
from ppl.model.output.sample_stats import NUTPIE
from ppl.model.rewriting import Posterior, rewritten
from ppl.model.seeds import seed_of
from ppl.samplers import ChainError, Handle, StartError, StorageError, UnresolvedError
from ppl.samplers import sample as run_nuts
from ppl.samplers.launch import check_storage
from ppl.samplers.steps_sample import sample_steps
from ppl.xla import backend

if TYPE_CHECKING:
    from ppl.model.model import Model


@model_may_be_first
def sample(
    draws: int = 1000,
    *,
    tune: int = 1000,
    chains: int | None = None,
    cores: int | None = None,
    random_seed: Any = None,
    progressbar: bool | str = True,
    progressbar_theme: Any = None,
    quiet: bool = False,
    step: Any = None,
    var_names: Any = None,
    nuts_sampler: str = "ppl",
    initvals: Any = None,
    init: str = "auto",
    jitter_max_retries: int = 10,
    n_init: int | None = None,
    trace: Any = None,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    keep_warning_stat: bool = False,
    return_inferencedata: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    nuts_sampler_kwargs: Mapping[str, Any] | None = None,
    callback: Callable[..., Any] | None = None,
    mp_ctx: Any = None,
    blas_cores: Any = "auto",
    model: Model | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    rewrite: bool = True,
    protect: Any = (),
    eliminate: Any = (),
    blocking: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    storage: str = "npy",
    certificate: bool = True,
    **options: Any,
) -> Any:
    """Draw from the posterior of the model, by PyMC's arguments; `sample(model)` may stand for `sample(model=model)`.

    A model of the real PyMC is taken as it is, by `ppl.from_pymc`.

    NUTS moves what has a gradient, other step methods the rest; `step` chooses them by hand. `target_accept`,
    `max_treedepth` and `step_scale` steer NUTS, here or in `nuts={...}`, which also takes `metric`, `integrator`,
    `kernel` ("nuts", "hmc" or "chees", an HMC for a hundred chains and more that tune together) and `chain_method`
    ("threads", "vectorized" or "interleaved": see `ppl.samplers.sample`). The same `random_seed` gives the same draws
    whatever `cores` is, and the first chains of a run with more chains are those of a run with fewer.

    `rewrite`, `protect` and `eliminate` say how far the model may be rewritten. Numbers that nothing joins to the rest
    are drawn independently, by quadrature; a part that nothing joins to the rest and that has most of the arithmetic
    gets chains of its own. `ppl.explain` tells which. Neither is done where an argument chooses, steers or watches NUTS
    (`step`, `nuts_sampler`, `init`, `target_accept` and its kin, `nuts`; `callback`, `blocking`, `resume`;
    `rewrite=False`). Where rewriting would leave nothing to move, a choice of NUTS keeps all that it can move. The
    attribute `drawn_by` of the result says what made the draws, `quadrature_error` how well the law of numbers is
    known, and `parts` how chains of parts moved. Of a draw of several parts, `lp`, `energy` and `n_steps` are sums,
    `acceptance_rate` is the mean, `tree_depth` the greatest and `step_size` the smallest.

    Each run checks itself: at up to 32 of its draws the joint density of the model as written is compared with the
    density that was sampled, times that of the variables drawn back after it. The attribute `certificate` of the
    posterior says what was found (`ppl.explain(result)` prints it); draws that contradict the model are a
    `CertificateError`. `certificate=False` leaves the check out.

    With `blocking=False` sampling goes on in the background and a handle comes back. `resume` is a directory: draws are
    saved there while sampling, and the same call goes on where an earlier one was stopped; with `storage="zarr"` they
    are arrays of a Zarr group, not files that NumPy reads. A directory with a run of another model, of other data or
    steered otherwise is refused, by an error that says what differs; `draws` and `cores` may differ. `checkpoint` is a
    directory for a new run; with `resume="auto"` the run there goes on, or begins where there is none. Give the
    `random_seed` too: without one each call has another. SIGTERM saves such a run and leaves with code 75, by which a
    batch system starts it again; a handler of your own is left alone. Where no result can be built after sampling, the
    SamplingError has the draws (`.draws`, `.stats`) and names the file they are saved in.
    """
    refuse_unsupported(
        trace=trace, progressbar_theme=progressbar_theme, keep_warning_stat=keep_warning_stat, n_init=n_init,
        mp_ctx=mp_ctx, blas_cores=blas_cores, compile_kwargs=compile_kwargs, progressbar=progressbar,
    )  # fmt: skip
    check_truths(
        quiet=quiet, discard_tuned_samples=discard_tuned_samples, compute_convergence_checks=compute_convergence_checks,
        return_inferencedata=return_inferencedata, rewrite=rewrite, blocking=blocking, certificate=certificate,
    )  # fmt: skip
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is a function of (trace, draw), got {callback!r}.")
    jitter_max_retries = count("jitter_max_retries", jitter_max_retries, 0)
    if "start" in options:
        initvals = _renamed_start(options.pop("start"), initvals)
    own = nuts_sampler in ("ppl", "pymc")
    steered = steers_nuts(step, nuts_sampler, init, options, nuts_sampler_kwargs)
    direct = {name: options[name] for name in ("nuts", *NUTS_OPTIONS) if name in options}
    nuts = nuts_options(init, options, nuts_sampler_kwargs if own else None)
    refuse_unknown(options, sample)
    if nuts_sampler not in SAMPLERS:
        raise ValueError(unknown("nuts_sampler: there is no sampler", str(nuts_sampler), SAMPLERS))
    extras = check_keys("idata_kwargs", idata_kwargs, RESULT_OPTIONS)
    if resume is not None and os.fspath(resume) == "auto":
        if checkpoint is None:
            raise ValueError('resume="auto" goes on where there is a run in checkpoint=: give that directory too.')
        resume = checkpoint
    elif checkpoint is not None and resume is None:
        if os.path.exists(os.path.join(os.fspath(checkpoint), "run.json")):
            raise StorageError(f'{checkpoint} already holds a run: go on with it by resume="auto".')
        resume = checkpoint
    elif checkpoint is not None and os.fspath(checkpoint) != os.fspath(resume):
        raise ValueError('checkpoint= goes with resume="auto"; resume= with a directory of its own needs no other.')
    stored = _store(resume, storage)
    draws, tune, chains, cores = layout_of_chains(draws, tune, chains, cores)
    seed = seed_of(random_seed)
    model = model_to_read(model)
    if not model.free_RVs:
        raise SamplingError("Cannot sample from the model: it has no free random variables.")
    if return_inferencedata:
        results.prepare()
    backend.check()
    posterior = rewritten(model, rewrite, [*as_list(protect), *stepped(model, step)], eliminate)
    if steered and not posterior.values and not as_list(eliminate):  # NUTS is to run: what it can move stays
        posterior = rewritten(model, rewrite, [rv for rv in model.free_RVs if rv.dtype[0] == "f"])
    refuse_minibatches(posterior.terms.values())
    checks.warn_of_matrices(posterior)
    names = list(posterior.outputs) if var_names is None else chosen_names("var_names", var_names, posterior.outputs)
    methods = assign(posterior, step)
    if methods.settings and any(given is not None for given in direct.values()):
        raise ValueError(
            f"step= brings NUTS with its own settings: give {', '.join(direct)} to it, as in NUTS(target_accept=0.9)."
        )
    methods.check_population(chains)
    posterior = replace(posterior, values=methods.order)
    starts = starts_for(posterior, initvals, chains, seed, nuts.jitter)
    request = Request(
        names, seed, tune, not discard_tuned_samples, compute_convergence_checks, quiet, return_inferencedata, extras,
        NUTPIE if nuts_sampler == "nutpie" else {}, certificate, methods.only_nuts, var_names is not None,
    )  # fmt: skip
    finish = Finisher(posterior, starts.slots, request)
    finish.directory = resume
    refuse_too_large(_sizes(finish, starts), chains, draws)
    plan: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "seed": seed}
    finish.facts["drawn_by"] = _named(methods, nuts) if own else nuts_sampler
    watched = not blocking or callback is not None or resume is not None
    if not starts.dim and not watched:
        return _finished(finish, drawn_from_data(posterior, starts, plan), initvals)
    finish.prepare(chains, draws)
    division = posterior.division if rewrite and not (watched or steered) and methods.only_nuts else None
    numbers = None
    if division is not None and division.numbers is not None:
        try:
            numbers = drawn_by_quadrature(posterior, division.numbers, starts, plan, not discard_tuned_samples)
        except UnresolvedError as reason:
            division = None
            finish.facts["drawn_by"] += f", since draws are not independent here: {reason}"
            with silenced(quiet):
                log.info("Drawing by %s", finish.facts["drawn_by"])
    if numbers is not None and division is not None and not division.chains:
        return _finished(finish, numbers, initvals)
    if stored:
        asked = {"rewrite": rewrite, "protect": _written(protect), "eliminate": _written(eliminate), "init": init}
        stored["identity"] = identity_of(posterior, starts, methods, asked)
    palette = methods.palette(posterior, starts.slots)

    def density() -> FlatProgram:
        key = ("density", *palette.terms, *((slot.variable, slot.shape) for slot in starts.slots))
        make = lambda: FlatProgram([posterior.logp(), *palette.terms], starts.slots, once=posterior.of_data)
        found: FlatProgram = posterior.once(key, make)
        return found

    if nuts.at_map:
        starts._flat = [maximum_of(density(), flat) for flat in starts._flat]
    with silenced(quiet):
        _announce(draws, tune, chains, cores, methods)
        if not own and starts.dim:
            _only_nuts(methods, nuts_sampler, blocking=blocking, resume=resume, callback=callback)
            if return_inferencedata:
                results.prepared()
            from_elsewhere = _external(nuts_sampler)
            run = from_elsewhere(
                density(), starts, nuts, {**plan, "cores": cores, "progress": bool(progressbar) and not quiet},
                dict(nuts_sampler_kwargs or {}),
            )  # fmt: skip
            return finish(run, True)
        reporter = None
        if callback is not None:
            everything = request._replace(names=list(posterior.outputs), options={"include_transformed": True})
            reporter = Reporter(callback, Finisher(posterior, starts.slots, everything).rows, tune + draws)
        common = {
            **plan, "cores": cores,
            "keep_warmup": not discard_tuned_samples or callback is not None, "callback": reporter,
            "attempts": max(1, jitter_max_retries) if nuts.jitter else 1, "blocking": False, **stored,
        }  # fmt: skip

        def begin(density: FlatProgram, starts: Starts) -> Handle:
            own = {"data": density.data, "dim": starts.dim, "names": labels(starts.slots, posterior.entries),
                   "key": ("logp", density.key), "seed": starts.seed}  # fmt: skip
            return _start(density, starts, nuts, methods, palette, common | own)

        if division is None or division.whole:
            handle: Any = begin(density(), starts)
        else:
            handle = in_turn(posterior, division, starts, begin, numbers)
        if reporter is not None:
            reporter.attach(handle)
        if not blocking:
            return Sampling(handle, finish)
        try:
            shown = display(progressbar and not quiet)
            run = handle.watch(Attended(shown) if return_inferencedata else shown)
        except StartError as error:
            raise _explained(error, posterior, starts) from None
        except (ChainError, StorageError) as error:
            if error.partial is not None:
                with contextlib.suppress(Exception):  # the draws stay as they are, and the error that ended the run
                    error.partial = finish(error.partial, False)
            raise
    return finish(run, True)


def _renamed_start(start: Any, initvals: Any) -> Any:
    if initvals is not None:
        raise ValueError("Passing both `start` and `initvals` is not supported.")
    warnings.warn("The argument `start` is now called `initvals`.", FutureWarning, stacklevel=3)
    return start


def _start(
    density: FlatProgram, starts: Starts, nuts: Nuts, methods: Assignment, palette: Palette, common: dict[str, Any]
) -> Any:
    """Begin to sample: by NUTS alone, or by a sweep over several methods."""
    steering = {
        "target_accept": nuts.target_accept,
        "max_treedepth": nuts.max_treedepth,
        "metric": nuts.metric,
        "step_scale": nuts.step_scale,
        "integrator": nuts.integrator,
        "kernel": nuts.kernel,
        **methods.settings,
    }
    if methods.only_nuts:
        return run_nuts(scalar(density), starts, chain_method=nuts.chain_method, **steering, **common)
    if nuts.kernel == "chees" or nuts.chain_method not in ("auto", "threads"):
        raise ValueError(
            "kernel='chees' and chain_method= are for models that gradients move alone: this one has discrete"
            " variables, or step= chooses other methods. Leave them out."
        )
    blocks = methods.blocks(starts.slots, common["tune"] + common["draws"], palette.on(density))
    return sample_steps(scalar(density), starts, blocks, **steering, **common)


def _named(methods: Assignment, nuts: Nuts) -> str:
    """What this package draws by, for the attributes of the result."""
    return methods.settings.get("kernel", nuts.kernel).upper() if methods.only_nuts else methods.describe()


def _finished(finish: Finisher, run: Independent, initvals: Any) -> Any:
    """The result of draws that no chain had to be run for."""
    with silenced(finish.request.quiet):
        if initvals:
            log.warning(
                "initvals: no chain is run, so that none starts there. With rewrite=False NUTS moves all variables."
            )
        log.info("Made %d × %s independent draws: %s", len(run.chains), f"{run.draws:_}", run.facts["drawn_by"])
    return finish(run, True)


def _store(resume: Any, storage: str) -> dict[str, Any]:
    """Where draws are saved, and how: a new directory, or one to go on from."""
    check_storage(storage, resume)
    if resume is None:
        return {}
    known = os.path.exists(os.path.join(os.fspath(resume), "run.json"))
    return {"resume" if known else "checkpoint": resume, "storage": storage}


def _written(variables: Any) -> list[str]:
    return sorted(str(getattr(each, "name", each)) for each in as_list(variables))


def _sizes(finish: Finisher, starts: Starts) -> dict[str, int]:
    """The entries of each output, as far as they are known before anything runs."""
    return {
        name: int(np.prod([n for n in node.type.shape if n is not None], dtype=float))
        for name, node in zip(finish._names, finish.program.outputs, strict=True)
    }


def _announce(draws: int, tune: int, chains: int, cores: int, methods: Assignment) -> None:
    if draws == 0:
        log.warning("Tuning was enabled throughout the whole trace.")
    elif draws < 100:
        log.warning(
            "Only %d draws per chain. Reliable r-hat and ESS diagnostics require longer chains for accurate estimate.",
            draws,
        )
    if not methods.only_nuts:
        log.info("%s", methods.describe())
    log.info(
        "Sampling %d chain%s for %s tune and %s draw iterations (%s + %s draws total) in %d thread%s.",
        chains, "s" * (chains > 1), f"{tune:_}", f"{draws:_}", f"{tune * chains:_}", f"{draws * chains:_}",
        min(cores, chains), "s" * (min(cores, chains) > 1),
    )  # fmt: skip


def _only_nuts(methods: Assignment, sampler: str, **given: Any) -> None:
    if not methods.only_nuts:
        raise ValueError(
            "Model can not be sampled with NUTS alone: it has discrete variables, or step= chooses other methods."
            f" Leave nuts_sampler={sampler!r} out."
        )
    for name, value in given.items():
        if value not in (None, True):
            raise ValueError(f"{name}= works with the sampler of this package, not with nuts_sampler={sampler!r}")


def _external(sampler: str) -> Callable[..., Any]:
    return ENGINES[sampler]


def _explained(error: StartError, posterior: Posterior, starts: Starts) -> SamplingError:
    """The error of a start that is not finite, with the variables that are to blame."""
    for position in reversed(list(starts.tried.values())):
        total = values_at([posterior.logp()], starts.slots, position)[0]
        if not np.isfinite(total):
            return SamplingError(f"{error}\n{start_report(posterior, starts.slots, position)}")
    return SamplingError(str(error))
