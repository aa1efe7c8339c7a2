"""`pm.bridge`: the evidence of a model from draws of its posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl.graph import substitute
from ppl.model.context import model_to_read
from ppl.model.output.traces import from_trace
from ppl.model.posterior.rewriting import rewritten
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.model.registry.custom_transforms import restricted
from ppl.model.registry.variable_registry import Books
from ppl.samplers.independent.bridge_sampling import METHODS, bridged
from ppl.smc.tempered import CHECKED, Tempered, UnknownConstant, constant_of, path_of, total_of
from ppl.tensor.tensor import TensorType, placeholder


class Evidence(NamedTuple):
    """The log evidence of a model, its standard error, how many iterations found it, and on which model."""

    log_z: float
    se: float
    iterations: int
    words: str

    def __str__(self) -> str:
        return f"log evidence {self.log_z:.4f} ± {self.se:.4f} (bridge sampling on {self.words})"


def bridge(
    idata: Any, model: Books | None = None, *, method: str = "normal", rewrite: bool = True, random_seed: int = 0
) -> Evidence:
    """The evidence of a model from draws of its posterior, by bridge sampling, with a standard error.

    `idata` is the result of `pm.sample` on the model. Where rewriting integrates variables out, only those that are
    left have to be bridged, and where none is, the evidence is exact. `method="warp3"` suits skewed posteriors.

    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     p = pm.Beta("p", 1, 1)
    ...     y = pm.Binomial("y", 10, p, observed=5)
    ...     draws = pm.sample(200, chains=2, random_seed=1, progressbar=False, quiet=True)
    >>> print(round(pm.bridge(draws, model).log_z, 6))  # log 1/11
    -2.397895
    """
    if method not in METHODS:
        raise ValueError(f"bridge: method is one of {', '.join(METHODS)}, got {method!r}")
    model = model_to_read(model)
    values = from_trace(idata).values
    missing = [rv.name or "" for rv in model.free_RVs if rv.name not in values]
    if missing:
        raise KeyError(f"bridge: the draws have no values of {', '.join(missing)}; sample without var_names=")
    path, positions = _path(model, values, rewrite)
    if not path.dim:
        return Evidence(total_of(path) + path.constant, 0.0, 0, path.words)
    whole = [s.variable.name or "" for s in path.slots if s.variable.dtype[0] != "f"]
    if whole:
        raise ValueError(f"bridge: {', '.join(whole)} discrete, and a normal law is not like it: use pm.sample_smc.")
    keys = lambda rows: np.zeros((len(rows), 2), np.uint32)
    found = bridged(lambda rows: np.add(*path.at(rows, keys(rows))), positions, method, random_seed)
    return Evidence(found.log_z + path.constant, found.error, found.iterations, path.words)


def _path(model: Books, values: dict[str, np.ndarray], rewrite: bool) -> tuple[Tempered, np.ndarray]:
    """The densities that are bridged, and the draws in their coordinates, (chains, draws, dim)."""
    if rewrite and not restricted(model):
        path = path_of(rewritten(model), proper=False)
        positions = positions_of(path, values)
        flat = positions.reshape(int(np.prod(positions.shape[:2])), path.dim)
        try:
            path.constant = constant_of(path, flat[:: max(1, len(flat) // CHECKED)][:CHECKED])
            path.words = "the rewritten model"
            return path, positions
        except UnknownConstant:
            pass
    path = path_of(rewritten(model, False), proper=False)
    return path, positions_of(path, values)


def positions_of(path: Tempered, values: dict[str, np.ndarray]) -> np.ndarray:
    """Draws of variables as positions."""
    lead = next(iter(values.values())).shape[:2]
    if not path.dim:
        return np.zeros((*lead, 0))
    plan, variables = path.posterior.plan, path.start.variables
    columns = []
    for rv in variables:
        parts = plan.members.get(rv, (rv,)) if plan is not None else (rv,)
        arrays = [values[part.name or ""] for part in parts]
        joined = arrays[0] if len(parts) == 1 else np.concatenate([x.reshape(*lead, -1) for x in arrays], axis=2)
        columns.append(joined.astype(rv.dtype))
    places = {
        rv: placeholder(TensorType(rv.dtype, x.shape[2:]), rv.name) for rv, x in zip(variables, columns, strict=True)
    }
    outputs = substitute(path.start.values, places)  # type: ignore[arg-type]
    found = over_draws(RowProgram(list(places.values()), outputs), columns)  # type: ignore[arg-type]
    return np.concatenate([x.reshape(*lead, -1).astype(float) for x in found], axis=2)
