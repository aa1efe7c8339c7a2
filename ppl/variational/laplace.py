"""Laplace's approximation: the normal law with the mode of the posterior and its curvature there."""

from __future__ import annotations

import time
from typing import Any

from ppl.model.arguments import count
from ppl.model.log import log
from ppl.model.output import results
from ppl.samplers.approximate.full_rank import at_mode
from ppl.samplers.approximate.normal import Normal, quality
from ppl.variational.approximations import FullRank, Report
from ppl.variational.errors import VariationalInferenceError
from ppl.variational.problem import Problem


def fit_laplace_approximation(
    model: Any = None,
    *,
    random_seed: Any = None,
    start: Any = None,
    rewrite: bool = True,
    protect: Any = (),
    eliminate: Any = (),
    maxiter: int = 1000,
    progressbar: bool = True,
    callbacks: Any = None,
) -> FullRank:
    """Laplace's approximation of the unconstrained values, as an approximation with a full-rank law."""
    if callbacks:
        raise TypeError("method='laplace' has no callbacks: it is one search for the mode")
    problem = Problem(model, rewrite, protect, eliminate, start, random_seed)
    results.prepare()
    began = time.perf_counter()
    approx = FullRank(problem=problem)
    if not problem.dim:
        approx.report = Report("recovery of what was integrated out", True, "nothing is left to approximate", 0, 0, 0.0)
        return approx
    target = problem.target
    problem.check_start(target(problem.start[None])[0])
    point, factor, converged, steps = at_mode(target, problem.start, maxiter)
    if factor is None:
        raise VariationalInferenceError(
            "Laplace: the log-density has no maximum with a definite curvature near the start: "
            f"after {steps} steps it is still rising or flat in some direction, as in a funnel. Leave "
            "rewrite=False out, or use pm.fit(method='fullrank_advi'), pm.sample or another start=."
        )
    law = Normal(point, factor)
    mu = approx.groups[0].params[0]
    mu.set_value(point)
    approx.groups[0].set_factor(factor)  # type: ignore[attr-defined]
    approx.law, looks, seconds = law, target.evaluations, time.perf_counter() - began
    good = quality(target, law)
    approx.report = Report("Laplace's approximation", converged, "the mode is found" if converged else
                           f"the search for the mode has not converged after {steps} steps", steps, looks, seconds,
                           *good[:4])  # fmt: skip
    for warning in approx.report.warnings:
        log.warning("%s", warning)
    return approx


def fit_laplace(
    optimize_method: str = "BFGS",
    *,
    model: Any = None,
    initvals: Any = None,
    random_seed: Any = None,
    chains: int | None = None,
    draws: int = 500,
    progressbar: bool = True,
    **kwargs: Any,
) -> Any:
    """Draws of Laplace's approximation, as a result that ArviZ reads: `chains` times `draws` of them.

    The mode is that of the unconstrained values; the Hessian is by differences of the gradient. `optimize_method` may
    be "BFGS" or "L-BFGS-B": the search is the same.
    """
    if optimize_method not in ("BFGS", "L-BFGS-B"):
        raise ValueError(f'fit_laplace: optimize_method is "BFGS" or "L-BFGS-B", got {optimize_method!r}')
    chains = count("chains", chains or 2, 1)
    how = {"start": initvals, "random_seed": random_seed, "progressbar": progressbar, **kwargs}
    approx = fit_laplace_approximation(model, **how)
    points = approx.positions(chains * count("draws", draws, 1), approx.problem.seed)
    return approx.as_drawn(points.reshape(chains, draws, -1))
