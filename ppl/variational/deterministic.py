"""Fits without an optimizer to be chosen: engines that arrive, and know when they have."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ppl.samplers.approximate.full_rank import full_rank
from ppl.samplers.approximate.mean_field import mean_field
from ppl.samplers.approximate.normal import Normal, quality
from ppl.variational.approximations import Approximation, Report
from ppl.variational.groups import FullRankGroup, MeanFieldGroup, rho_of

Watch = Callable[[float], None]
MANY = 300  # dimensions from which on a matrix of covariances takes long


def engine_for(approx: Approximation) -> Callable[..., Report] | None:
    """The engine for an approximation of one normal group; None for others, which take stochastic steps."""
    if len(approx.groups) != 1 or approx.problem.random_rows:
        return None
    return {MeanFieldGroup: fit_mean_field, FullRankGroup: fit_full_rank}.get(type(approx.groups[0]))  # type: ignore[call-overload, no-any-return]


def fit_mean_field(approx: Approximation, n: int, watch: Watch, linear_response: bool | None = None) -> Report:
    """Deterministic mean field. Draws have the covariance by linear response where that has the higher evidence lower
    bound, as it has for posteriors that are nearly normal; `linear_response` says so, or not, whatever the bound."""
    group, target, began = approx.groups[0], approx.problem.target, time.perf_counter()
    looks = target.evaluations
    mu, rho = group.params

    def each(mean: np.ndarray, sd: np.ndarray, loss: float) -> None:
        mu.set_value(mean.copy())
        rho.set_value(rho_of(np.maximum(sd, 1e-300)))
        watch(loss)

    start, given = mu.get_value(), "start_sigma" in group.settings or approx.report is not None
    sd = np.logaddexp(0.0, rho.get_value()) if given else None
    found = mean_field(target, start, sd, n, respond=linear_response, watch=each)
    mu.set_value(found.mean)
    rho.set_value(rho_of(found.sd))
    looks, seconds = target.evaluations - looks, time.perf_counter() - began
    law, how = Normal(found.mean, found.sd), "deterministic mean field"
    if found.response is not None and linear_response is not False:
        better = linear_response or quality(target, found.response).elbo >= quality(target, law).elbo
        law, how = (found.response, f"{how} with linear response") if better else (law, how)
    approx.law = law
    converged, why = found.converged, found.why
    if found.error > 0.2:  # in standard deviations
        converged, why = False, f"{found.draws} fixed draws leave the mean uncertain by {found.error:.2f} sd"
    elif found.response is None and linear_response:
        converged, why = False, "there is no linear response: the loss has no strict minimum there"
    return _report(approx, law, how, converged, why, len(found.losses), looks, seconds)


def fit_full_rank(approx: Approximation, n: int, watch: Watch) -> Report:
    """Batch-and-match, begun at Laplace's approximation."""
    group, target, began = approx.groups[0], approx.problem.target, time.perf_counter()
    assert isinstance(group, FullRankGroup)
    looks = target.evaluations
    mu = group.params[0]

    def each(law: Normal, loss: float) -> None:
        mu.set_value(law.mean)
        group.set_factor(law.factor)
        watch(loss)

    law = Normal(mu.get_value(), group.factor()) if approx.report is not None else None
    found = full_rank(target, mu.get_value(), n, law=law, watch=each, seed=len(approx.hist))
    mu.set_value(found.law.mean)
    group.set_factor(found.law.factor)
    approx.law = found.law
    looks, seconds = target.evaluations - looks, time.perf_counter() - began
    return _report(approx, found.law, "batch-and-match", found.converged, found.why, found.steps, looks, seconds)


def _report(
    approx: Approximation, law: Normal, how: str, converged: bool, why: str, steps: int, looks: int, seconds: float
) -> Report:
    found = quality(approx.problem.target, law)
    return Report(how, converged, why, steps, looks, seconds, *found[:4])
