"""Simulation-based calibration: over many data sets the truth's rank among the draws is uniform (Talts et al. 2018).

500 replications of each model; a chi-square test over 16 bins at p < 1e-4 a quantity, so that a wrong alarm has a
probability of about one in a thousand for the whole file.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from scipy import stats

from ppl.samplers.sample import sample

REPLICATIONS, KEPT, THIN = 500, 63, 8


class Model(NamedTuple):
    """A prior that draws (position, data), and the log-density of position given data."""

    dim: int
    simulate: Callable[[np.random.Generator], tuple[np.ndarray, tuple[np.ndarray, ...]]]
    logp: Callable


def _mean(rng):
    mu = rng.normal()
    return np.array([mu]), (rng.normal(mu, 1, 5),)


def _scale(rng):
    q = rng.normal(size=2)
    return q, (rng.normal(q[0], np.exp(q[1]), 8),)


def _regression(rng):
    b, x = rng.normal(size=3), rng.normal(size=(20, 3))
    return b, (x, rng.normal(x @ b, 0.7))


def _logistic(rng):
    b, x = rng.normal(size=2), rng.normal(size=(30, 2))
    return b, (x, (rng.uniform(size=30) < 1 / (1 + np.exp(-x @ b))).astype(float))


def _hierarchy(rng):
    q = rng.normal(size=7)
    q[1] *= 0.5
    return q, (rng.normal(q[0] + np.exp(q[1]) * q[2:], 1.0),)


def _poisson(rng):
    b, x = 0.5 * rng.normal(size=2), rng.normal(size=15)
    return b, (x, rng.poisson(np.exp(b[0] + b[1] * x)).astype(float))


MODELS = {
    "mean": Model(1, _mean, lambda q, y: -0.5 * q[0] ** 2 - 0.5 * jnp.sum((y - q[0]) ** 2)),
    "scale": Model(
        2,
        _scale,
        lambda q, y: -0.5 * jnp.sum(q**2) - 0.5 * jnp.sum(((y - q[0]) * jnp.exp(-q[1])) ** 2) - y.shape[0] * q[1],
    ),
    "regression": Model(
        3, _regression, lambda b, x, y: -0.5 * jnp.sum(b**2) - 0.5 * jnp.sum(((y - jnp.sum(x * b, axis=1)) / 0.7) ** 2)
    ),
    "logistic": Model(
        2,
        _logistic,
        lambda b, x, y: -0.5 * jnp.sum(b**2) - jnp.sum(jnp.logaddexp(0.0, (1 - 2 * y) * jnp.sum(x * b, axis=1))),
    ),
    "hierarchy": Model(
        7,
        _hierarchy,
        lambda q, y: -0.5 * jnp.sum(q**2) - 1.5 * q[1] ** 2 - 0.5 * jnp.sum((y - q[0] - jnp.exp(q[1]) * q[2:]) ** 2),
    ),
    "poisson": Model(
        2,
        _poisson,
        lambda b, x, y: (
            -2.0 * jnp.sum(b**2) + jnp.sum(y * (b[0] + b[1] * x) - jnp.exp(b[0] + b[1] * x) - gammaln(y + 1.0))
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["auto", "fisher_diag"])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_uniform(name, metric):
    model = MODELS[name]
    rng = np.random.default_rng(list(MODELS).index(name))
    ranks = np.empty((REPLICATIONS, model.dim), int)
    for i in range(REPLICATIONS):
        truth, data = model.simulate(rng)
        run = sample(
            model.logp,
            np.zeros((1, model.dim)),
            data=data,
            chains=1,
            tune=300,
            draws=KEPT * THIN,
            seed=i,
            metric=metric,
        )  # fmt: skip
        ranks[i] = np.sum(run.positions[0, ::THIN] < truth, axis=0)
    for quantity in range(model.dim):
        counts = np.bincount(ranks[:, quantity] // 4, minlength=16)
        assert stats.chisquare(counts).pvalue > 1e-4
