"""Results of sequential Monte Carlo: the particles as draws, statistics of stages, the evidence as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import labels
from ppl.model.finishing import checks
from ppl.model.finishing.finishing import Finisher, Request
from ppl.model.finishing.runs import Drawn
from ppl.model.log import log
from ppl.model.output import results
from ppl.model.output.multitrace import MultiTrace
from ppl.model.output.sampler_report import SamplerReport
from ppl.model.output.sampler_warnings import SamplerWarning, not_numbers, tell
from ppl.model.prediction.pointwise import log_likelihood_values, log_prior_values
from ppl.samplers.tempering.weights import log_mean_exp
from ppl.smc.chain import ChainOfStages
from ppl.smc.tempered import total_of

STUCK = 0.05  # of independent proposals accepted at the last stage, below which another kernel is better


def evidence_of(values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """The log of the mean evidence of independent chains and its standard error: that of the chains' own errors, or
    from how far they are apart where this is more."""
    log_z, chains = log_mean_exp(values), len(values)
    within = float(np.sqrt(np.sum(errors**2)) / chains)
    between = float(np.std(values, ddof=1) / np.sqrt(chains)) if chains > 1 else 0.0
    return log_z, between if np.isnan(within) and chains > 1 else max(within, between)


def padded(chains: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, np.ndarray]:
    """Statistics of the stages of all chains, (chains, stages); nan where a chain had fewer stages than others."""
    longest = max((len(x) for stats in chains for x in stats.values()), default=0)
    found: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for stats in chains for name in stats):
        rows = [np.asarray(stats.get(name, []), float) for stats in chains]
        shape = next((row.shape[1:] for row in rows if len(row)), ())
        found[name] = np.full((len(chains), longest, *shape), np.nan)
        for place, row in enumerate(rows):
            found[name][place, : len(row)] = row
    return found


def _exact(chain: ChainOfStages) -> None:
    """The one stage of a chain in which nothing had to move."""
    path = chain.kernel.path
    chain.stats |= {"log_marginal_likelihood": [total_of(path) + path.constant], "beta": [1.0], "accept_rate": [np.nan]}
    chain.kernel.beta, chain.error = 1.0, 0.0
    chain.kernel.tempered_posterior = np.zeros((chain.kernel.draws, 0))


class Collected:
    """Chains put together: values of every name, statistics, attributes."""

    def __init__(
        self, chains: Sequence[ChainOfStages], model: Any, seed: int, seconds: float, options: Mapping[str, Any],
        interrupted: bool, checked: bool, as_arviz: bool,
    ) -> None:  # fmt: skip
        path = chains[0].kernel.path
        for chain in chains:
            if not path.dim:
                _exact(chain)
        self.model, self.options, self.seconds = model, options, seconds
        request = Request(list(path.posterior.outputs), seed, 0, False, False, False, as_arviz, options, {}, 0)
        self.finisher = Finisher(path.posterior, path.slots, request)
        positions = np.stack([np.asarray(chain.kernel.tempered_posterior, float) for chain in chains])
        self.values = self.finisher.values(positions)
        self.stats = padded([chain.stats for chain in chains])
        if all("log_marginal_likelihood" in chain.stats for chain in chains):
            last = np.isfinite(self.stats["log_marginal_likelihood"])
            errors = np.broadcast_to(np.array([chain.error for chain in chains])[:, None], last.shape)
            self.stats["log_marginal_likelihood_se"] = np.where(last, errors, np.nan)
        self.attrs = self._attrs(chains, path, interrupted, seed)
        self.found = _notices(chains, positions, path, checked)
        tell([*self.found, *not_numbers(self.values)])
        if interrupted:
            _tell_of_interruption(chains)

    def _attrs(self, chains: Sequence[ChainOfStages], path: Any, interrupted: bool, seed: int) -> dict[str, Any]:
        attrs = dict(chains[0].kernel.sample_settings()) if path.dim else {"_n_draws": chains[0].kernel.draws}
        attrs = {name: np.nan if value is None else value for name, value in attrs.items()}
        finished = all(chain.finished for chain in chains)
        values = [chain.stats.get("log_marginal_likelihood", [np.nan])[-1] for chain in chains]
        log_z, error = evidence_of(np.array(values), np.array([chain.error for chain in chains]))
        return attrs | {
            "_t_sampling": self.seconds, "sampling_time": self.seconds, "seed": seed, "path": path.words,
            "log_marginal_likelihood": log_z if finished else np.nan,
            "log_marginal_likelihood_se": error if finished else np.nan,
            "kernel": type(chains[0].kernel).__name__, "interrupted": int(interrupted),
            "drawn_by": "sequential Monte Carlo" if path.dim else "recovery of what was integrated out",
        }  # fmt: skip


def result_of(*given: Any) -> Any:
    """The result in ArviZ's form."""
    made = Collected(*given, True)
    results.prepared()
    model, request = made.model, made.finisher.request
    more = {k: made.options.get(k) for k in ("coords", "dims")}
    groups = {
        "posterior": results.group(model, request.shown(made.values), attrs=made.attrs, **more),
        "sample_stats": results.group(model, made.stats, attrs=made.attrs),
    }
    for name, compute in (("log_likelihood", log_likelihood_values), ("log_prior", log_prior_values)):
        wanted = made.options.get(name)
        if wanted:
            terms = compute(model, made.values, None if wanted is True else wanted)
            groups[name] = results.group(model, terms, **more)
    return results.collect({**groups, **results.given_groups(model, **more)})


def trace_of(*given: Any) -> MultiTrace:
    """The result as PyMC's trace."""
    made = Collected(*given, False)
    length = next((value.shape[1] for value in made.values.values()), 0)
    report = SamplerReport(made.found, length, 0, made.seconds)
    report.log_marginal_likelihood = made.attrs["log_marginal_likelihood"]
    report.log_marginal_likelihood_se = made.attrs["log_marginal_likelihood_se"]
    data = {v.name or "": v.get_value() for v in made.model.data_vars}
    return MultiTrace(made.values, {}, list(range(len(next(iter(made.values.values()))))), report, data)


def _notices(chains: Sequence[ChainOfStages], positions: np.ndarray, path: Any, checked: bool) -> list[SamplerWarning]:
    """What a user should know of the particles."""
    if not checked or not path.dim:
        return []
    found = checks.convergence(Drawn(positions, {}, 0.0), labels(path.slots, path.posterior.names))
    rates = [chain.stats.get("accept_rate", [1.0])[-1] for chain in chains]
    if min(rates) < STUCK:
        text = (
            f"Only {min(rates):.1%} of the proposals of the last stage were accepted: particles hardly moved, and the"
            " evidence may be far off. With many dimensions use kernel=pm.smc.HMC, or more draws."
        )
        found.append(SamplerWarning("warning", text))
    return found


def _tell_of_interruption(chains: Sequence[ChainOfStages]) -> None:
    if all(chain.finished for chain in chains):
        log.warning("Sampling was stopped: the result has the %d chains that were finished.", len(chains))
        return
    betas = ", ".join(f"{chain.kernel.beta:.3g}" for chain in chains)
    log.warning(
        "Sampling was stopped before the posterior was reached: the draws are those of prior × likelihood^β for"
        " β = %s, not of the posterior, and there is no evidence.", betas,
    )  # fmt: skip
