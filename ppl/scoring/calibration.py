"""`pm.sbc`: whether inference in a model is calibrated, by simulation.

Parameters are drawn from the prior, data from the model, and the posterior of these data is sampled. Over many
replications the rank of the parameters among the draws is uniform if model, density and sampler agree (Talts and others
2018). The log-likelihood is a quantity too: it depends on the data, and so catches a posterior that is the prior
(Modrák and others 2023). All replications share one compiled program, to which data are arguments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, Slot, flattened, layout, scalar
from ppl.graph.records import record
from ppl.many.gathering import gathered, in_batches
from ppl.many.kept_fits import KeptFits, digest_of
from ppl.many.map_fits import asked_of_all
from ppl.model.arguments import chosen_names, count
from ppl.model.bar import Bar
from ppl.model.context import model_to_read
from ppl.model.errors import SamplingError
from ppl.model.finishing.whose_run import parts_of_model
from ppl.model.log import silenced
from ppl.model.posterior.density import Joint, add_all
from ppl.model.posterior.point import initial_point
from ppl.model.posterior.snapshot import at_present
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.model.prediction.predictive import sample_prior_predictive
from ppl.model.registry.variable_registry import Books
from ppl.model.seeds import seed_of
from ppl.rewrites import optimize
from ppl.samplers import sample as run_nuts
from ppl.samplers.runs.diagnostics import ess_bulk
from ppl.scoring.uniformity import Band, band_of, uniform_p
from ppl.tensor.tensor import Tensor, TensorType, placeholder
from ppl.xla.blas import blas_threads, threads_beside

LOG_LIKELIHOOD = "log_likelihood"
MOST_TOGETHER = 25  # replications that are sent to another process at a time


@record
class Calibration:
    """What simulation-based calibration found.

    `ranks` has for each quantity the place of its true value among the draws, from 0 to 1, (replications, ...);
    `p_values` how likely ranks so far from uniform are by chance; `divergent` counts replications with divergences.
    """

    ranks: dict[str, np.ndarray]
    p_values: dict[str, np.ndarray]
    draws: np.ndarray  # independent ones, of each replication
    divergent: int
    seconds: float

    @property
    def replications(self) -> int:
        return len(self.draws)

    @property
    def calibrated(self) -> bool:
        """Whether no quantity is further from uniform than one in a hundred such runs, all entries counted."""
        each = np.concatenate([np.ravel(p) for p in self.p_values.values()])
        return bool(each.min() * each.size > 0.01)

    @property
    def table(self) -> Any:
        """One row for each entry of each quantity: mean of its ranks, and the p-value of uniformity."""
        import pandas as pd

        rows = {}
        for name, ranks in self.ranks.items():
            for place in np.ndindex(ranks.shape[1:]):
                label = f"{name}[{', '.join(map(str, place))}]" if place else name
                here = ranks[(slice(None), *place)]
                rows[label] = {"mean_rank": here.mean(), "p_value": float(self.p_values[name][place])}
        return pd.DataFrame.from_dict(rows, orient="index")

    def band(self, level: float = 0.95) -> Band:
        """Where the distribution function of uniform ranks lies, all along, with a probability of `level`."""
        return band_of(self.replications, level)

    def plot(self, var_names: Sequence[str] | None = None, level: float = 0.95) -> Any:
        """Distribution functions of ranks less those of uniform ones, with their simultaneous band."""
        import matplotlib.pyplot as plt

        names = list(self.ranks) if var_names is None else list(var_names)
        band = self.band(level)
        figure, axes = plt.subplots(1, len(names), figsize=(3 * len(names), 2.5), squeeze=False, sharey=True)
        for name, axis in zip(names, axes[0], strict=True):
            axis.fill_between(band.at, band.low - band.at, band.high - band.at, alpha=0.2, step="mid")
            columns = self.ranks[name].reshape(self.replications, -1).T
            for column in columns:
                axis.plot(band.at, np.searchsorted(np.sort(column), band.at, "right") / len(column) - band.at, lw=1)
            axis.set_title(name)
        return figure

    def __str__(self) -> str:
        verdict = "calibrated" if self.calibrated else "NOT calibrated"
        return f"{verdict}: {self.replications} replications, {self.divergent} with divergences\n{self.table}"


class _Replicated(NamedTuple):
    """The density of a model with its data as arguments."""

    density: FlatProgram
    outputs: RowProgram  # every name, of values that move
    likelihood: RowProgram  # of free variables and data
    names: list[str]
    free: list[str]
    slots: list[Slot]
    data: list[str]  # the names of the observed variables, in the order of the arguments


def sbc(
    model: Books | None = None,
    replications: int = 500,
    *,
    draws: int = 500,
    tune: int = 500,
    var_names: Any = None,
    random_seed: Any = None,
    cores: int | None = None,
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    target_accept: float = 0.8,
    progressbar: bool = True,
) -> Calibration:
    """Simulation-based calibration of a model and its sampler: the ranks of parameters drawn from the prior among draws
    of the posterior of data made with them, which are uniform if all is right.

    Each replication is one chain of NUTS on the model as written, thinned to about independent draws. `var_names`
    chooses among free variables, deterministics and "log_likelihood"; what the model has observed counts only for the
    shape of data. Replications run in threads, `cores` at a time, or on an `executor`, as those of `pm.map_fits`, with
    the same results; in the folder `checkpoint` they are kept as they are done, and a later call does what is left.
    """
    model = model_to_read(model)
    replications, draws, tune = (
        count("replications", replications, 2),
        count("draws", draws, 20),
        count("tune", tune, 0),
    )
    _refuse(model)
    seed = seed_of(random_seed)
    known = [rv.name or "" for rv in model.unobserved_RVs]
    names = (
        [*known, LOG_LIKELIHOOD]
        if var_names is None
        else chosen_names("var_names", var_names, [*known, LOG_LIKELIHOOD])
    )
    replicate = _Replicate(model, draws, tune, target_accept, seed)
    made = replicate.made
    with silenced(True):
        truth = sample_prior_predictive(replications, model, random_seed=seed, return_inferencedata=False)
    start = flattened(made.slots, initial_point(model))
    jitter = np.random.default_rng(seed)
    starts = start + jitter.uniform(-1, 1, (replications, 8, len(start)))
    items = [_Simulated(starts[i], tuple(truth[name][i] for name in made.data)) for i in range(replications)]
    began = time.perf_counter()
    if executor is None and checkpoint is None:
        runs = _in_threads(replicate, items, cores or _cores(), progressbar)
    else:
        store = None if checkpoint is None else KeptFits(checkpoint, replicate.asked(random_seed))
        batches = None if executor is None else in_batches(MOST_TOGETHER)
        fits = gathered(
            replicate, items, executor=executor, batches=batches, store=store, on_error="raise",
            progressbar=progressbar, words="Replications",
        )  # fmt: skip
        if fits.interrupted:
            raise KeyboardInterrupt
        runs = list(fits)
    ranks, independent = _ranks(made, names, np.stack([run.positions for run in runs]), truth, seed)
    divergent = sum(run.diverged for run in runs)
    p_values = {name: uniform_p(x) for name, x in ranks.items()}
    return Calibration(ranks, p_values, independent, divergent, time.perf_counter() - began)


class _Simulated(NamedTuple):
    """A replication: where its chain may start, and the data that were simulated for it."""

    starts: np.ndarray
    data: tuple[np.ndarray, ...]


class _Sampled(NamedTuple):
    """What is kept of its chain."""

    positions: np.ndarray
    diverged: bool


class _Replicate:
    """The chain of a replication; what it needs of the model is made where it runs."""

    def __init__(self, model: Books, draws: int, tune: int, target_accept: float, seed: int) -> None:
        self._given = model, draws, tune, target_accept, seed

    def __reduce__(self) -> Any:
        return _Replicate, self._given

    @cached_property
    def made(self) -> _Replicated:
        return _replicated(self._given[0])

    def asked(self, seed: Any) -> dict[str, Any]:
        """What a folder holds the replications of."""
        model, draws, tune, target_accept, _ = self._given
        told = {"draws": draws, "tune": tune, "target_accept": target_accept}
        return {"model": digest_of(sorted(parts_of_model(model).items())), **asked_of_all("sbc", "", told, seed)}

    def __call__(self, number: int, item: _Simulated) -> _Sampled:
        made, (_, draws, tune, target_accept, seed) = self.made, self._given
        run = run_nuts(
            scalar(made.density), lambda _, attempt: item.starts[min(attempt, 7)],
            data=(*item.data, *made.density.data), draws=draws, tune=tune, chains=1, cores=1,
            seed=int(seed + number) % 2**62, dim=item.starts.shape[1], key=("sbc", made.density.key),
            target_accept=target_accept, progress=False, attempts=8,
        )  # fmt: skip
        return _Sampled(run.positions[0], bool(run.stats["diverging"].any()))


def _in_threads(replicate: _Replicate, items: Sequence[_Simulated], threads: int, progressbar: bool) -> list[_Sampled]:
    """All replications in this process."""
    with Bar("Replications", progressbar) as bar:

        def one(number: int) -> _Sampled:
            run = replicate(number, items[number])
            bar.advance(1, len(items))
            return run

        first = one(0)  # compiles
        with blas_threads(threads_beside(threads)), ThreadPoolExecutor(threads) as pool:
            return [first, *pool.map(one, range(1, len(items)))]


def _cores() -> int:
    return min(4, os.cpu_count() or 1)


def _refuse(model: Books) -> None:
    """Raise for a model from whose prior no data can be drawn, or that NUTS does not move whole."""
    whole = [f'"{rv.name}"' for rv in model.free_RVs if rv.dtype[0] != "f"]
    if not model.free_RVs or not model.observed_RVs:
        raise SamplingError(
            "sbc: the model needs free and observed variables: it is asked how data tell of parameters."
        )
    if whole:
        raise ValueError(
            f"sbc: {', '.join(whole)} discrete; sbc runs NUTS on the model as written. Sum them out by hand."
        )
    if model.potentials:
        names = ", ".join(f'"{p.name}"' for p in model.potentials)
        raise ValueError(f"sbc: draws of the prior do not follow the potentials {names}. Write them as distributions.")


def _replicated(model: Books) -> _Replicated:
    """The log-density over values and data, and what is ranked."""
    now = at_present(model)
    observed = [rv for rv in now.basic_RVs if rv not in frozenset(now.free_RVs)]
    places = {rv: placeholder(TensorType(rv.dtype, now.rvs_to_values[rv].type.shape), rv.name) for rv in observed}
    known = replace(now, rvs_to_values={**now.rvs_to_values, **places})
    joint = Joint(known)
    point = initial_point(model)
    slots = layout([now.inputs[rv] for rv in now.free_RVs], point)
    given: list[Tensor] = list(places.values())
    density = FlatProgram(optimize([joint.total()]), slots, extra=given)  # type: ignore[arg-type]
    outputs = {rv.name or "": joint.at_values(rv) for rv in now.unobserved_RVs}
    symbols = {rv: placeholder(TensorType(rv.dtype, rv.type.shape), rv.name) for rv in now.free_RVs}
    at_draws = Joint(known, given=symbols)
    likelihood = add_all([tt.sum(at_draws.terms[rv]) for rv in observed])
    return _Replicated(
        density, RowProgram([slot.variable for slot in slots], list(outputs.values())),
        RowProgram([*symbols.values(), *given], [likelihood]),
        list(outputs), [rv.name or "" for rv in now.free_RVs], slots, [rv.name or "" for rv in observed],
    )  # fmt: skip


def _ranks(
    made: _Replicated, names: Sequence[str], positions: np.ndarray, truth: Mapping[str, np.ndarray], seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The place of the truth among draws of each replication, thinned until they are about independent."""
    replications, draws = positions.shape[:2]
    found = over_draws(made.outputs, [slot.read(positions) for slot in made.slots])
    values = dict(zip(made.names, found, strict=True))
    true = {name: truth[name] for name in values}
    if LOG_LIKELIHOOD in names:
        data = [truth[name][:, None] for name in made.data]
        spread = [np.broadcast_to(x, (replications, draws, *x.shape[2:])) for x in data]
        (values[LOG_LIKELIHOOD],) = over_draws(made.likelihood, [*(values[name] for name in made.free), *spread])
        (here,) = over_draws(made.likelihood, [*(truth[name][:, None] for name in made.free), *data])
        true[LOG_LIKELIHOOD] = here[:, 0]
    sizes = [_effective(positions[i : i + 1]) for i in range(replications)]
    jitter = np.random.default_rng([seed, 2])
    ranks = {name: np.empty((replications, *values[name].shape[2:])) for name in names}
    for i, size in enumerate(sizes):
        kept = np.linspace(0, draws - 1, size).round().astype(int)
        for name in names:
            below = (values[name][i, kept] < true[name][i]).sum(axis=0)
            ranks[name][i] = (below + jitter.random(np.shape(below))) / (size + 1)
    return ranks, np.array(sizes)


def _effective(positions: np.ndarray) -> int:
    """About how many draws of a chain are independent."""
    each = np.min(ess_bulk(positions))
    return int(np.clip(each if np.isfinite(each) else 10, 10, positions.shape[1]))
