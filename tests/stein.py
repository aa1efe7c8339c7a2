r"""An oracle that knows nothing of rewriting: draws of a run against the gradient of the model as it was written.

For draws u of a density p on the whole space and a bounded smooth f, Stein's identity (integration by parts) says

.. math:: E[f(u)\, ∂_i \log p(u) + ∂_i f(u)] = 0.

With f = 1, a bounded function of u_i, and one of another entry, this holds the joint law to second order. For discrete
values z with the conditional law p(z | rest), a move to another value z' that is proposed as often as the way back has
detailed balance: with the share s = p(z') / (p(z) + p(z')), for any g,

.. math:: E[s\, (g(z') - g(z))] = 0.

Both are means over draws, whose errors are known from effective sample sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl as pm
import ppl.tensor as tt
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.samplers.runs.diagnostics import ess_mean

PAIRS = 40  # of entries that are looked at together
FLIPS = 20  # discrete entries


def scores(model: Any, **options: Any) -> dict[str, float]:
    """How many standard errors each identity is off, at the draws of a run of the model."""
    result = pm.sample(
        model=model, progressbar=False, quiet=True, idata_kwargs={"include_transformed": True}, **options
    )
    draws = result.posterior
    values = list(model.value_vars)
    columns = [np.asarray(draws[v.name]).astype(v.dtype) for v in values]
    return _of_gradients(model, values, columns) | _of_flips(model, values, columns)


def _of_gradients(model: Any, values: list[Any], columns: list[np.ndarray]) -> dict[str, float]:
    moved = [i for i, v in enumerate(values) if v.dtype[0] == "f"]
    if not moved:
        return {}
    slopes = tt.grad(model.logp(), [values[i] for i in moved])
    found = over_draws(RowProgram(values, slopes), columns)
    flat = lambda arrays: np.concatenate([x.reshape(*x.shape[:2], -1) for x in arrays], axis=2)
    u, g = flat([columns[i] for i in moved]), flat(found)
    names = [f"{values[i].name}{list(at)}" for i in moved for at in np.ndindex(columns[i].shape[2:])]
    t = np.tanh((u - np.median(u, axis=(0, 1))) / _spread(u))
    steep = (1 - t**2) / _spread(u)
    told = {f"gradient along {name}": _z(g[..., i]) for i, name in enumerate(names)}
    told |= {f"{name} with its gradient": _z(t[..., i] * g[..., i] + steep[..., i]) for i, name in enumerate(names)}
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, len(names), (PAIRS, 2)):
        if i != j:
            told[f"{names[i]} with the gradient along {names[j]}"] = _z(t[..., i] * g[..., j])
    return told


def _of_flips(model: Any, values: list[Any], columns: list[np.ndarray]) -> dict[str, float]:
    """Detailed balance of moves by one, up or down with the same probability, of discrete entries."""
    density = RowProgram(values, [model.logp()])
    (here,) = over_draws(density, columns)
    rng, told = np.random.default_rng(1), {}
    places = [(i, at) for i, v in enumerate(values) if v.dtype[0] != "f" for at in np.ndindex(columns[i].shape[2:])]
    for k in rng.permutation(len(places))[:FLIPS]:
        i, at = places[k]
        step = rng.choice([-1, 1], here.shape)
        moved = columns[i].copy()
        moved[(..., *at)] = moved[(..., *at)] + step if moved.dtype != bool else ~moved[(..., *at)]
        (there,) = over_draws(density, [moved if j == i else c for j, c in enumerate(columns)])
        share = np.where(np.isfinite(there), 1 / (1 + np.exp(np.clip(here - there, -700, 700))), 0.0)
        told[f"moves of {values[i].name}{list(at)}"] = _z(share * step, jump=1.0)
    return told


def _spread(u: np.ndarray) -> np.ndarray:
    low, high = np.quantile(u, [0.16, 0.84], axis=(0, 1))
    return np.maximum((high - low) / 2, 1e-300)


def _z(x: np.ndarray, jump: float = 0.0) -> float:
    """The mean in standard errors; x is (chains, draws). Where it may take a value as large as `jump` so rarely that no
    draw has it (a label that is never met), two such draws are within the error."""
    deviation = x.std()
    if deviation < 1e-12 * max(1.0, abs(x).max()):
        return 0.0 if abs(x.mean()) < 1e-9 * max(1.0, abs(x).max()) else np.inf
    size = min(float(ess_mean(x[..., None])[0]), x.size)
    return float(abs(x.mean()) / np.hypot(deviation / np.sqrt(size), 2 * jump / size))
