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
from ppl.model.inference.background import Sampling
from ppl.model.inference.progress import Attended, display
from ppl.model.inference.request import request
from ppl.model.inference.runs import Independent
from ppl.model.inference.strategies import drawn
from ppl.model.inference.task import Task, task_of
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
    storage: str = "npy",
    certificate: bool | int = True,
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

    Each run checks itself: at up to 32 of its draws, or at as many as `certificate` says, the joint density of the
    model as written is compared with the density that was sampled, times that of the variables drawn back after it.
    The attribute `certificate` of the posterior says what was found (`ppl.explain(result)` prints it); draws that
    contradict the model are a `CertificateError`. `certificate=False` leaves the check out.

    With `blocking=False` sampling goes on in the background and a handle comes back. `resume` is a directory: draws are
    saved there while sampling, and the same call goes on where an earlier one was stopped; with `storage="zarr"` they
    are arrays of a Zarr group, not files that NumPy reads. A directory with a run of another model, of other data or
    steered otherwise is refused, by an error that says what differs; `draws` and `cores` may differ. `checkpoint` is a
    directory for a new run; with `resume="auto"` the run there goes on, or begins where there is none. Give the
    `random_seed` too: without one each call has another. SIGTERM saves such a run and leaves with code 75, by which a
    batch system starts it again; a handler of your own is left alone. Where no result can be built after sampling, the
    SamplingError has the draws (`.draws`, `.stats`) and names the file they are saved in.
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
        if not task.asked.blocking:
            return Sampling(draws, task.finish)
        draws = _waited_for(task, draws)
    return task.finish(draws, True)


def _waited_for(task: Task, running: Any) -> Any:
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
    log.info("Made %d × %s independent draws: %s", len(run.chains), f"{run.draws:_}", run.facts["drawn_by"])


def _explained(error: StartError, task: Task) -> SamplingError:
    """The error of a start that is not finite, with the variables that are to blame."""
    posterior, starts = task.posterior, task.starts
    for position in reversed(list(starts.tried.values())):
        total = values_at([posterior.logp()], starts.slots, position)[0]
        if not np.isfinite(total):
            return SamplingError(f"{error}\n{start_report(posterior, starts.slots, position)}")
    return SamplingError(str(error))
