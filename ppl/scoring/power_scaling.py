r"""`pm.sensitivity`: how far a posterior would move if the prior or the likelihood counted a little more or less.

Draws are weighted by the prior or the likelihood to the power α - 1, for α near 1, and for each quantity the distance
of the weighted distribution function P from that of the draws, Q, is the cumulative Jensen-Shannon divergence

.. math:: D(P, Q) = \int P \log_2 \frac{2P}{P + Q} + \frac{1}{2 \ln 2} (Q - P)

made symmetric, divided by its bound ∫ P + Q, square root taken; sensitivity is its slope in log₂ α (Kallioinen and
others 2024, eqs. 5 to 8). Weights are smoothed by a generalized Pareto law where their tail is heavy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.model.arguments import chosen_names
from ppl.model.context import model_to_read
from ppl.model.output.traces import from_trace
from ppl.model.posterior.density import add_all
from ppl.model.prediction.pointwise import at_draws, evaluated
from ppl.model.registry.variable_registry import Books
from ppl.scoring.prior_grid import refitted

ALPHAS = (0.99, 1.01)
THRESHOLD = 0.05


def sensitivity(
    idata: Any,
    model: Books | None = None,
    *,
    var_names: Any = None,
    prior: Any = None,
    alphas: Sequence[float] = ALPHAS,
    threshold: float = THRESHOLD,
    grid: Mapping[str, Any] | None = None,
    executor: Any = None,
    **refit_options: Any,
) -> Any:
    """How sensitive each quantity of a posterior is to the power of the prior and of the likelihood, as a table.

    Above `threshold` a quantity is called sensitive: to the likelihood alone as it should be; to both, prior and data
    may be in conflict; to the prior alone, the likelihood tells little of it. `prior` names the variables whose priors
    are scaled, all of them where None; potentials count as likelihood.

    With `grid`, values of `pm.Data` by name as {"scale": [1, 5, 25]}, the model is fitted again at all of their
    combinations instead, and the table says how far each quantity moves from `idata`. Refits run where `executor` says,
    and take the arguments of `pm.sample_many` and `pm.sample`: `random_seed=`, `checkpoint=`, `draws=`, ...
    """
    if grid is not None:
        if prior is not None or tuple(alphas) != ALPHAS or threshold != THRESHOLD:
            raise TypeError("sensitivity: prior=, alphas= and threshold= are of powers of the prior; grid= refits")
        return refitted(idata, model_to_read(model), grid, var_names, executor=executor, **refit_options)
    if executor is not None or refit_options:
        given = ", ".join(["executor"] * (executor is not None) + sorted(refit_options))
        raise TypeError(f"sensitivity: {given}= is for refits, which grid= asks for; without it draws are weighted")
    low, high = alphas
    if not 0 < low < 1 < high:
        raise ValueError(f"sensitivity: alphas are a power below 1 and one above, got {tuple(alphas)}")
    model = model_to_read(model)
    draws = from_trace(idata)
    if not model.observed_RVs and not model.potentials:
        raise ValueError("sensitivity: the model has no observed variables and no potentials, so no likelihood.")
    free = [rv.name or "" for rv in model.free_RVs]
    scaled = set(free if prior is None else chosen_names("prior", prior, free))
    parts = _parts(model, draws.values, scaled)
    known = [name for name, x in draws.values.items() if x.dtype.kind in "fiub"]
    names = known if var_names is None else chosen_names("var_names", var_names, known)
    return _table({name: draws.values[name] for name in names}, parts, (low, high), threshold)


def _parts(model: Books, values: Mapping[str, np.ndarray], scaled: set[str]) -> dict[str, np.ndarray]:
    """The log of the prior and of the likelihood of each draw, in the model as written."""
    joint = at_draws(model)  # type: ignore[arg-type]
    observed = {rv.name for rv in model.observed_RVs}
    prior = [tt.sum(x) for rv, x in joint.terms.items() if rv.name in scaled]
    likelihood = [tt.sum(x) for rv, x in joint.terms.items() if rv.name in observed]
    likelihood += [tt.sum(x) for x in joint.potentials]
    return evaluated(joint, {"prior": add_all(prior), "likelihood": add_all(likelihood)}, values)


def _table(
    quantities: Mapping[str, np.ndarray], parts: Mapping[str, np.ndarray], alphas: tuple[float, float], threshold: float
) -> Any:
    import pandas as pd

    weights = {part: [smoothed_weights((alpha - 1.0) * x.ravel()) for alpha in alphas] for part, x in parts.items()}
    rows: dict[str, dict[str, Any]] = {}
    for name, values in quantities.items():
        entries = values.reshape(values.shape[0] * values.shape[1], -1)
        for place, entry in zip(np.ndindex(values.shape[2:]), entries.T, strict=True):
            label = f"{name}[{', '.join(map(str, place))}]" if place else name
            rows[label] = {part: _slope(entry, both, alphas) for part, both in weights.items()}
            rows[label]["diagnosis"] = diagnosis(rows[label]["prior"], rows[label]["likelihood"], threshold)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["prior", "likelihood", "diagnosis"])


def diagnosis(prior: float, likelihood: float, threshold: float) -> str:
    """What two sensitivities say of a quantity."""
    if prior >= threshold and likelihood >= threshold:
        return "potential prior-data conflict"
    if prior >= threshold:
        return "potential strong prior / weak likelihood"
    return "-"


def _slope(entry: np.ndarray, weights: Sequence[np.ndarray], alphas: tuple[float, float]) -> float:
    """The mean change of the distance with log₂ α, below and above 1."""
    if np.ptp(entry) == 0:
        return 0.0
    low, high = (max(distance(entry, w), distance(-entry, w)) for w in weights)
    return float((low / -np.log2(alphas[0]) + high / np.log2(alphas[1])) / 2)


def distance(values: np.ndarray, weights: np.ndarray) -> float:
    """The cumulative Jensen-Shannon distance between draws with equal weights and with others, from 0 to 1."""
    order = np.argsort(values, kind="stable")
    widths = np.diff(values[order])
    q = (np.arange(len(values)) + 1.0)[:-1] / len(values)
    p = np.cumsum(weights[order])[:-1]
    logs = lambda a: np.where(a > 0, a * np.log2(2 * np.where(a > 0, a, 1.0) / (p + q)), 0.0)
    gap = 0.5 / np.log(2) * (q - p)
    both = widths @ (logs(p) + gap) + widths @ (logs(q) - gap)
    bound = widths @ (p + q)
    return float(np.sqrt(max(both, 0.0) / bound)) if bound > 0 else 0.0


def smoothed_weights(log_weights: np.ndarray) -> np.ndarray:
    """Normalized weights, the largest smoothed by a generalized Pareto law (Vehtari and others 2024)."""
    log_weights = log_weights - np.max(log_weights)
    count = len(log_weights)
    tail = int(min(0.2 * count, 3 * np.sqrt(count)))
    order = np.argsort(log_weights)
    cut = np.exp(log_weights[order[-tail - 1]])
    excess = np.exp(log_weights[order[-tail:]]) - cut
    found = np.exp(log_weights)
    if tail >= 5 and excess[-1] > 1e-12:
        shape, scale = _pareto(excess)
        probabilities = (np.arange(tail) + 0.5) / tail
        quantiles = scale * (
            -np.log1p(-probabilities) if abs(shape) < 1e-9 else np.expm1(-shape * np.log1p(-probabilities)) / shape
        )
        found[order[-tail:]] = np.minimum(cut + quantiles, 1.0)
    return found / found.sum()


def _pareto(excess: np.ndarray) -> tuple[float, float]:
    """Shape and scale of a generalized Pareto law (Zhang & Stephens 2009), with a weak prior on the shape."""
    n, points = len(excess), 30 + int(np.sqrt(len(excess)))
    quarter = max(excess[int(n / 4 + 0.5) - 1], 1e-300)
    theta = (1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3.0 * quarter) + 1.0 / excess[-1]
    shapes = np.mean(np.log1p(-theta[:, None] * excess), axis=1)
    heights = n * (np.log(-theta / shapes) - shapes - 1.0)
    weights = 1.0 / np.sum(np.exp(np.clip(heights - heights[:, None], -700, 700)), axis=1)
    best = float(np.sum(theta * weights) / np.sum(weights))
    shape = float(np.mean(np.log1p(-best * excess)))
    return (shape * n + 5.0) / (n + 10.0), -shape / best
