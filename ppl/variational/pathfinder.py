"""Pathfinder, pooled over several paths, for models."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ppl.model.arguments import count
from ppl.model.bar import Bar
from ppl.model.log import log
from ppl.model.output import results
from ppl.samplers.approximate.normal import quality_of
from ppl.samplers.approximate.pathfinder import Path, path, pooled
from ppl.tensor.variables import shared
from ppl.variational.approximations import Empirical, Report
from ppl.variational.errors import VariationalInferenceError
from ppl.variational.problem import Problem

WEIGHTS = ("psis", "psir", "identity", None)


def fit_pathfinder_approximation(
    model: Any = None,
    num_paths: int = 4,
    num_draws: int = 1000,
    num_draws_per_path: int = 1000,
    *,
    maxcor: int | None = None,
    maxiter: int = 1000,
    num_elbo_draws: int = 10,
    jitter: float = 2.0,
    max_init_retries: int = 10,
    importance_sampling: str | None = "psis",
    random_seed: Any = None,
    start: Any = None,
    rewrite: bool = True,
    protect: Any = (),
    eliminate: Any = (),
    progressbar: bool = True,
    callbacks: Any = None,
) -> Empirical:
    """The draws of Pathfinder as an approximation; arguments are those of `fit_pathfinder`."""
    if importance_sampling not in WEIGHTS:
        raise ValueError(f"importance_sampling is one of {', '.join(map(repr, WEIGHTS))}, got {importance_sampling!r}")
    if callbacks:
        raise TypeError("method='pathfinder' has no callbacks: its paths take a few milliseconds")
    num_paths, num_draws = count("num_paths", num_paths, 1), count("num_draws", num_draws, 1)
    each = count("num_draws_per_path", num_draws_per_path, 2)
    problem = Problem(model, rewrite, protect, eliminate, start, random_seed)
    results.prepare()
    began = time.perf_counter()
    if not problem.dim:
        approx = Empirical(size=num_draws, problem=problem)
        approx.report = Report("recovery of what was integrated out", True, "nothing is left to approximate", 0, 0, 0.0)
        return approx
    found: list[Path] = []
    with Bar("Pathfinder", progressbar) as bar:
        for i in range(num_paths):
            found.append(_one(problem, i, jitter, max_init_retries, maxcor, maxiter, num_elbo_draws))
            bar.advance(1, num_paths)
    fine = [p for p in found if p.law is not None]
    if not fine:
        raise VariationalInferenceError(
            "Pathfinder: no path has an approximation with a finite evidence lower bound: "
            + "; ".join(dict.fromkeys(p.why for p in found))
            + ". Give another start=, a smaller jitter=, or use pm.sample."
        )
    if len(fine) < num_paths:
        log.warning("Pathfinder: %d of %d paths failed and are left out: %s", num_paths - len(fine), num_paths,
                    "; ".join(dict.fromkeys(p.why for p in found if p.law is None)))  # fmt: skip
    draws = pooled(problem.target, fine, each, num_draws, importance_sampling, problem.seed)
    approx = Empirical(problem=problem, params={"histogram": shared(draws.points, "histogram")})
    approx.hist = np.concatenate([p.found.values for p in fine])
    good = quality_of(draws.log_ratios)
    converged = all(p.found.converged for p in fine)
    why = "; ".join(dict.fromkeys(p.why for p in fine))
    approx.report = Report(
        f"Pathfinder, {len(fine)} paths", converged, why, sum(len(p.found.points) - 1 for p in fine),
        problem.target.evaluations, time.perf_counter() - began, *good[:4],
    )  # fmt: skip
    for warning in approx.report.warnings:
        log.warning("%s", warning)
    return approx


def _one(
    problem: Problem, number: int, jitter: float, retries: int, maxcor: int | None, maxiter: int, elbo_draws: int
) -> Path:
    """One path; starts are drawn anew where the log-density is not finite at them."""
    rng = np.random.default_rng([problem.seed, 2, number])
    for _ in range(max(1, retries)):
        start = problem.start + rng.uniform(-jitter, jitter, problem.dim)
        value, gradient = problem.target.one(start)
        if np.isfinite(value) and np.all(np.isfinite(gradient)):
            break
    else:
        start = problem.start
        problem.check_start(problem.target(start[None])[0])
    return path(problem.target, start, maxcor, maxiter, elbo_draws, int(rng.integers(2**31)))


def fit_pathfinder(model: Any = None, num_paths: int = 4, num_draws: int = 1000, **kwargs: Any) -> Any:
    """Draws by Pathfinder (Zhang et al. 2022), as a result that ArviZ reads.

    `num_paths` searches start within `jitter` of the start of the model; each keeps the best of the normal laws on its
    way, by `num_elbo_draws` draws; `num_draws_per_path` draws of each are weighted by the mixture of all laws and drawn
    again (`importance_sampling`: "psis", "psir", or "identity" for none). `maxcor` pairs make a law, `maxiter` steps a
    path at most. The attributes hold Pareto's k of the weights: above 0.7 the draws are no posterior.
    """
    initvals = kwargs.pop("initvals", None)
    for name in ("concurrent", "parallel", "cores", "compile_kwargs", "inference_backend", "postprocessing_backend",
                 "vectorize_logp", "vectorize_postprocessing", "blas_cores", "mp_ctx"):  # fmt: skip
        if kwargs.pop(name, None) is not None:
            log.info("fit_pathfinder: %s says how pymc-extras computes, and has no meaning here.", name)
    if not kwargs.pop("jacobian_correction", True):
        raise TypeError("fit_pathfinder: jacobian_correction=False would approximate another law than the posterior")
    if initvals is not None:
        kwargs["start"] = initvals
    approx = fit_pathfinder_approximation(model, num_paths, num_draws, **kwargs)
    return approx.as_drawn()
