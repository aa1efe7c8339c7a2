"""Starts of chains from an approximation of the posterior: mean field (`init="advi"`) or Pathfinder."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, scalar
from ppl.model.log import log
from ppl.model.starting.start_points import Starts
from ppl.samplers.approximate.mean_field import mean_field
from ppl.samplers.approximate.normal import Normal
from ppl.samplers.approximate.pathfinder import path, pooled
from ppl.samplers.approximate.target import Target
from ppl.xla.later import jnp

MOST = 200_000  # steps of a mean-field fit, as PyMC has it; it ends once it has converged


def approximate_starts(
    density: FlatProgram, starts: Starts, chains: int, how: str, most: int | None = None
) -> list[np.ndarray]:
    """A start for each chain, drawn from the approximation; entries that have no gradient stay where they are. Where
    the approximation fails, chains start where they would without it, and a warning says so."""
    first = starts.points[0]
    moved = np.array([s.variable.dtype[0] == "f" for s in starts.slots for _ in range(s.stop - s.start)], bool)
    if not moved.any():
        return starts.points

    def log_density(part: Any, *data: Any) -> Any:
        return scalar(density)(jnp.asarray(first).at[moved].set(part), *data)

    key = ("density of what moves", density.key, tuple(moved), tuple(first[~moved]))
    target = Target(log_density, int(moved.sum()), density.data, key)
    rng = np.random.default_rng([starts.seed, 3])
    if how == "pathfinder":
        paths = [path(target, first[moved] + rng.uniform(-2, 2, target.dim), seed=i) for i in range(4)]
        paths = [p for p in paths if p.law is not None]
        if not paths:
            log.warning("init='pathfinder': no path has an approximation. Chains start at the support points.")
            return starts.points
        drawn = pooled(target, paths, 250, chains, seed=starts.seed).points
    else:
        found = mean_field(target, first[moved], most=MOST if most is None else most, respond=False)
        if not found.converged:
            log.warning("init='advi': the approximation has not converged: %s.", found.why)
        law = Normal(found.mean, found.sd)
        drawn = law.at(rng.standard_normal((chains, target.dim)))
    if not np.all(np.isfinite(target(drawn)[0])):
        log.warning("init=%r: its draws have no finite density. Chains start at the support points.", how)
        return starts.points
    whole = np.repeat(first[None], chains, axis=0)
    whole[:, moved] = drawn
    return list(whole)
