"""`sample_smc`: from a model to draws of its posterior and its evidence, by sequential Monte Carlo."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from ppl.model.arguments import check_keys, check_truths, count
from ppl.model.context import model_may_be_first, model_to_read
from ppl.model.inference.sampling_options import layout_of_chains
from ppl.model.log import log
from ppl.model.output import results
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of
from ppl.samplers.runs.interrupt import Presses
from ppl.smc.chain import ChainOfStages, stage
from ppl.smc.kernels import IMH, SMC_KERNEL
from ppl.smc.progress import Stages
from ppl.smc.results import result_of, trace_of
from ppl.xla import backend
from ppl.xla.blas import blas_threads, threads_beside

RESULT_OPTIONS = ("log_likelihood", "log_prior", "coords", "dims", "include_transformed")
EAGER = 0.1  # seconds between looks at whether Ctrl-C was pressed


@model_may_be_first
def sample_smc(
    draws: int = 2000,
    kernel: type[SMC_KERNEL] = IMH,
    *,
    start: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    model: Books | None = None,
    random_seed: Any = None,
    chains: int | None = None,
    cores: int | None = None,
    blas_cores: Any = None,
    compute_convergence_checks: bool = True,
    return_inferencedata: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    progressbar: bool = True,
    progressbar_theme: Any = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    mp_ctx: Any = None,
    **kernel_kwargs: Any,
) -> Any:
    """Draws of the posterior, and the evidence of the model, by particles that go from the prior to the posterior in
    stages (PyMC's arguments).

    `kernel` moves the particles: `pm.smc.IMH`, `MH`, `HMC`, or a subclass of yours; `threshold` and
    `correlation_threshold` are for it. `start` holds values of all particles on the unconstrained scale, by the names
    of the model's values. Chains are independent runs, in threads. The attributes of `sample_stats` hold
    `log_marginal_likelihood`, the mean of the chains, and `log_marginal_likelihood_se`, its standard error.

    The path runs on the rewritten model where the evidence of the model as written follows from it; the attribute
    `path` says which, and `rewrite=False` takes the model as written. Where nothing is left to move, evidence and draws
    are exact. Potentials are part of the likelihood. An interrupted run gives the chains that are finished, or else
    particles at the temperature that they have reached, and says so.
    """
    if progressbar_theme is not None:
        raise TypeError("progressbar_theme= is not supported: the display has one set of colors")
    if mp_ctx is not None or blas_cores not in ("auto", None):
        log.info("Chains run in threads of one process: mp_ctx and blas_cores have no meaning here.")
    options = check_keys("idata_kwargs", idata_kwargs, RESULT_OPTIONS)
    check_truths(compute_convergence_checks=compute_convergence_checks, return_inferencedata=return_inferencedata)
    if not (isinstance(kernel, type) and issubclass(kernel, SMC_KERNEL)):
        raise TypeError(f"sample_smc: kernel is a class such as pm.smc.IMH, got {kernel!r}")
    draws = count("draws", draws, 2)
    _, _, chains, cores = layout_of_chains(draws, 0, chains, cores)
    starts = _starts(start, chains)
    model = model_to_read(model)
    backend.check()
    results.prepare()
    seed = seed_of(random_seed)
    began = time.perf_counter()
    log.info("Initializing SMC sampler...")
    made = [ChainOfStages(kernel(
        draws=draws, start=each, model=model, random_seed=[seed, chain], compile_kwargs=compile_kwargs, **kernel_kwargs
    )) for chain, each in enumerate(starts)]  # fmt: skip
    if not made[0].kernel.path.dim:
        log.info("Nothing is left to sample: the evidence is exact, and draws are independent.")
        return _given(made, model, seed, began, options, False, False, return_inferencedata)
    threads = min(cores, chains)
    log.info("Sampling %d chain%s in %d thread%s", chains, "s" * (chains > 1), threads, "s" * (threads > 1))
    interrupted = _run(made, starts, seed, threads, progressbar)
    kept = [chain for chain in made if chain.finished] or [chain for chain in made if chain.begun]
    if interrupted and not kept:
        raise KeyboardInterrupt
    return _given(kept, model, seed, began, options, interrupted, compute_convergence_checks, return_inferencedata)


def _given(
    kept: list[ChainOfStages], model: Any, seed: int, began: float, options: Mapping[str, Any], interrupted: bool,
    checked: bool, as_arviz: bool,
) -> Any:  # fmt: skip
    make = result_of if as_arviz else trace_of
    return make(kept, model, seed, time.perf_counter() - began, options, interrupted, checked)


def _starts(start: Any, chains: int) -> list[Mapping[str, Any] | None]:
    """Values of the particles of each chain; None for draws of the prior."""
    if start is None or isinstance(start, Mapping):
        return [start] * chains
    if len(start) != chains:
        raise ValueError(f"Number of start dicts must match number of chains ({chains})")
    return list(start)


def _run(made: Sequence[ChainOfStages], starts: Sequence[Any], seed: int, threads: int, shown: bool) -> bool:
    """All stages of all chains; whether Ctrl-C ended them."""
    with (
        Presses() as presses,
        Stages(len(made), shown) as display,
        blas_threads(threads_beside(threads)),
        ThreadPoolExecutor(threads) as pool,
    ):
        stopped = lambda: presses.count > 0

        def one(number: int) -> None:
            chain = made[number]
            rng = np.random.default_rng([seed, number])
            if not stopped():
                chain.kernel.initialize(starts[number], rng)
            while chain.kernel.beta < 1 and not stopped():
                stage(chain)
                display.show(number, chain.kernel.beta, chain.kernel.log_marginal_likelihood)

        waiting = {pool.submit(one, number) for number in range(len(made))}
        while waiting:
            done, waiting = wait(waiting, EAGER)
            for each in done:
                if each.exception() is not None:
                    presses.count += 1  # the others stop at the end of their stage
                    raise each.exception()  # type: ignore[misc]
        return stopped() and not all(chain.finished for chain in made)
