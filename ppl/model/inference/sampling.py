"""`sample`: from a model to draws of its posterior.

A call becomes a request (`request`: the arguments, checked), the request a task (`task`: the posterior, as written or
rewritten, with what moves its values and where chains start), the task draws (`strategies`: a list of ways to draw, of
which the first that suits is taken), and the draws a result (`finishing`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ppl.compile.density import values_at
from ppl.model.context import model_may_be_first
from ppl.model.errors import SamplingError
from ppl.model.finishing.runs import Independent
from ppl.model.inference.background import Sampling
from ppl.model.inference.progress import Attended, display
from ppl.model.inference.request import request
from ppl.model.inference.strategies import drawn
from ppl.model.inference.task import Task, task_of
from ppl.model.inference.time_limit import TimeLimit
from ppl.model.log import log, silenced
from ppl.model.registry.variable_registry import Books
from ppl.model.starting.start_report import start_report
from ppl.samplers import ChainError, StartError, StorageError


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
    init: str | None = "auto",
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
    model: Books | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    rewrite: bool = True,
    protect: Any = (),
    eliminate: Any = (),
    blocking: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    storage: str | None = None,
    max_seconds: float | None = None,
    mesh: Any = None,
    shard: bool = False,
    independent: bool = True,
    certificate: bool | int = True,
    **options: Any,
) -> Any:
    """Draw from the posterior of a model, after rewriting it: what can be integrated out is not sampled.

    Where one to four numbers are left, and their law can be followed, draws are independent, without a Markov chain.
    Elsewhere what has a gradient is moved by NUTS, the rest by other step methods. `ppl.explain(model)` tells
    beforehand what would be marginalized, and the result holds every variable of the model, those that were
    marginalized too. Every run checks itself against the model as written.

    Parameters
    ----------
    draws : int, default 1000
        How many draws each chain keeps; 0 and more. `sample(model)` may also stand for `sample(model=model)`, where
        the model may be one of the real PyMC too.
    tune : int, default 1000
        How many iterations of each chain come before, in which step sizes and metric are adapted. Not kept.
    chains : int, optional
        How many chains; by default as many as `cores`, and at least 2.
    cores : int, optional
        How many chains run at a time, in threads of this process; by default at most 4. It does not change the draws.
    random_seed : int, sequence of int, Generator or RandomState, optional
        The same seed gives the same draws, and the first chains of a run are those of a run with fewer chains.
    progressbar : bool or str, default True
        Whether progress is shown; PyMC's words ("combined", "split", "combined+stats", ...) count as True.
    progressbar_theme : None
        PyMC's argument; the display has one set of colors, and another value is refused.
    quiet : bool, default False
        No progress and no messages.
    step : step method or list of them, optional
        Moves the variables that it names, as in PyMC; what none of them moves gets a method as usual.
    var_names : str or list of str, optional
        The variables that the result holds; all of them by default.
    nuts_sampler : {"ppl", "pymc", "nutpie", "numpyro", "blackjax"}, default "ppl"
        Who draws. "pymc" means "ppl", for PyMC's sake; the others get the same compiled log-density, if installed.
    initvals : dict or list of dict, optional
        Where chains start, by names of variables: for all chains, or one dict a chain.
    init : str, optional, default "auto"
        The metric of NUTS and whether starts are jittered, by PyMC's names: "auto", "jitter+adapt_diag", "adapt_diag",
        "jitter+adapt_diag_grad", "jitter+adapt_full", "adapt_full" or "map".
    jitter_max_retries : int, default 10
        How many times a start of density 0 is drawn again.
    n_init : None
        PyMC's argument for starts by ADVI; it has no effect here, and a value warns.
    trace : None
        PyMC's argument for stores; draws are kept in memory, or saved by `checkpoint`. Another value is refused.
    discard_tuned_samples : bool, default True
        False keeps the draws of the tuning in groups `warmup_posterior` and `warmup_sample_stats`.
    compute_convergence_checks : bool, default True
        Whether R-hat, effective draws and divergences are looked at after sampling, with warnings that say what to do.
    keep_warning_stat : False
        PyMC's argument; there is no statistic of warning objects, and True is refused.
    return_inferencedata : bool, default True
        False gives a `MultiTrace` in place of ArviZ's InferenceData (DataTree with ArviZ 1.x).
    idata_kwargs : dict, optional
        What the result holds besides: "log_likelihood", "log_prior", "include_transformed", "save_warmup" (true or
        false), "coords" and "dims".
    nuts_sampler_kwargs : dict, optional
        Arguments of the sampler that draws; for "ppl" the same as in `nuts`.
    callback : callable, optional
        Called as `callback(trace, draw)` for each draw of each chain, as in PyMC.
    mp_ctx, blas_cores : optional
        PyMC's arguments for processes and BLAS; chains are threads here, so that they have no effect.
    model : Model, optional
        The model; by default that of the `with` block.
    compile_kwargs : dict, optional
        PyMC's `{"mode": ...}`; XLA compiles every program, so that it has no effect.
    rewrite : bool, default True
        False samples the model as it is written.
    protect : names or variables, default ()
        Variables that rewriting leaves alone: they are sampled.
    eliminate : names or variables, default ()
        Variables that have to be marginalized, also where the plan would leave them; an error says why one cannot be.
    blocking : bool, default True
        False returns at once, with a handle of the run in the background (`wait()`, `inspect()`, `cancel()`, ...).
    checkpoint : path or URL, optional
        A directory, or a URL of an object store as "s3://bucket/run", in which a new run saves its draws while it
        samples. SIGTERM then saves the run and leaves with code 75, by which batch systems start it again.
    resume : path or "auto", optional
        A directory of a run that was stopped: the same call goes on there, to as many `draws` as it asks for. "auto"
        goes on with the run in `checkpoint`, or begins it. A run of another model, of other data or of other
        arguments is refused, with what differs.
    storage : {"npy", "zarr"}, optional
        How `checkpoint` and `resume` keep draws: in files that NumPy reads, as in a directory by default, or in a Zarr
        group, as at a URL; then the finished result is there too, as groups of `result.zarr`.
    max_seconds : float, optional
        Stop the chains so many seconds after the call, at the end of what they are at; the draws made by then are the
        result, whose attribute `stopped_by` says so. With `checkpoint` the run can go on later.
    mesh : dict or jax.sharding.Mesh, optional
        Devices that share the chains and the rows of the data, as `{"chains": 2, "rows": 4}`. Rows are added up in
        blocks that follow from the data, so that the draws are the same on every mesh that has an axis "rows" or
        "chains", of any size, and in any number of processes (`ppl.distributed`). `ppl.plan` tells whether it pays.
    shard : bool, default False
        Share out rows also where `ppl.plan` says that messages take longer than what they save.
    independent : bool, default True
        Whether few numbers that rewriting leaves may be drawn without a chain: by quadrature where nothing joins them,
        by rejection where there are two to four. Where the law of these draws cannot be told, NUTS draws, and the
        attribute `drawn_by` has the reason. Narrow modes far from the rest can be missed, as by NUTS. False: NUTS draws
        all that is left.
    certificate : bool or int, default True
        At how many draws the run compares the joint density of the model as written with the density that was sampled
        times that of the variables drawn back; True: at up to 32. Draws that contradict the model raise.
    **options
        `target_accept` (between 0 and 1, 0.8 by default), `max_treedepth` (10) and `step_scale` (0.25) steer NUTS, here
        or in `nuts={...}`, which also takes `metric`, `integrator`, `kernel` ("nuts", "hmc", or "chees": an HMC for a
        hundred chains and more that tune together) and `chain_method` ("threads", "vectorized" or "interleaved").
        `metropolis={...}` and its like steer the methods for counts.

    Returns
    -------
    InferenceData, DataTree or MultiTrace
        Groups `posterior`, `sample_stats`, `observed_data`, `constant_data`. Attributes of the posterior say what made
        the draws (`drawn_by`), how well the law of independent draws is known (`quadrature_error`, `rejection_error`),
        how the chains of independent parts moved (`parts`), and what the self-check found (`certificate`).

    Raises
    ------
    SamplingError
        Where chains cannot start or go on, naming the variables to blame. Where no result can be built after sampling,
        it has the draws (`.draws`, `.stats`) and names the file that they are saved in.
    CertificateError
        Where draws contradict the model as written: a fault of ppl, with the rule that made it.

    Notes
    -----
    An argument that chooses, steers or watches NUTS (`step`, `nuts_sampler`, `init`, `max_treedepth`, `step_scale`,
    `nuts`, `callback`, `blocking`, `resume`, `rewrite=False`) is obeyed: no independent draws then, and one chain for
    all parts. `target_accept` is for NUTS where it runs; alone it does not ask for it. Of a draw of several parts,
    `lp`, `energy` and `n_steps` are sums, `acceptance_rate` is the mean, `tree_depth` the greatest and `step_size` the
    smallest.

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=[1.2, 0.8, 1.4])
    ...     result = pm.sample(draws=500, random_seed=1, quiet=True)
    >>> result.posterior["mu"].shape[-1]
    500
    """
    task = task_of(request(sample, locals()))
    with silenced(task.asked.quiet):
        return _finished(task, drawn(task))


def _finished(task: Task, draws: Any) -> Any:
    """The result of draws: of a run that is finished, or of one that has begun and is waited for."""
    if isinstance(draws, Independent):
        _tell_of_independent(task, draws)
    elif hasattr(draws, "watch"):
        if task.reporter is not None:
            task.reporter.attach(draws)
        limit = _limit(task, draws)
        if not task.asked.blocking:
            task.finish.prepared()  # with the data of now: the user may change them at once
            return Sampling(draws, task.finish)
        try:
            draws = waited_for(task, draws)
        finally:
            limit.end()
    return task.finish(draws, True)


def _limit(task: Task, run: Any) -> TimeLimit:
    """What stops a run when its time is over."""
    seconds, tell = task.asked.max_seconds, lambda text: task.finish.facts.update(stopped_by=text)
    limit = TimeLimit(seconds or 0.0, task.asked.began, task.asked.directory, tell)
    if seconds is not None:
        limit.on(run)
    return limit


def waited_for(task: Task, running: Any) -> Any:
    """The run when its chains are done; errors name what is to blame, and bring the draws there are."""
    shown = display(task.asked.progressbar and not task.asked.quiet)
    try:
        return running.watch(Attended(shown) if task.asked.as_arviz else shown)
    except StartError as error:
        raise _explained(error, task) from None
    except (ChainError, StorageError) as error:
        if error.partial is not None:
            with contextlib.suppress(Exception):  # the draws stay as they are, and the error that ended the run
                error.partial = task.finish(error.partial, False)
        raise


def _tell_of_independent(task: Task, run: Independent) -> None:
    """Say that no chain had to be run, and by what the draws were made."""
    if task.asked.initvals:
        log.warning(
            "initvals: no chain is run, so that none starts there. With rewrite=False NUTS moves all variables."
        )
    if "target_accept" in task.asked.given:
        log.info("target_accept: no chain is run, so that none diverges. With nuts={'target_accept': ...} NUTS runs.")
    log.info("Made %d × %s independent draws: %s", len(run.chains), f"{run.draws:_}", run.facts["drawn_by"])


def _explained(error: StartError, task: Task) -> SamplingError:
    """The error of a start that is not finite, with the variables that are to blame."""
    posterior, starts = task.posterior, task.starts
    for position in reversed(list(starts.tried.values())):
        total = values_at([posterior.logp()], starts.slots, position)[0]
        if not np.isfinite(total):
            return SamplingError(f"{error}\n{start_report(posterior, starts.slots, position)}")
    return SamplingError(str(error))
