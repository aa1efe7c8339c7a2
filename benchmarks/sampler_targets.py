"""The targets of ``benchmarks/samplers.py``: each as a JAX log-density and as the same PyMC model."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.nn import log_sigmoid

from ppl.tensor.arrays.grouped import places_of, taken


class Target(NamedTuple):
    """A log-density of a flat vector with its data, and a function that makes the PyMC model."""

    name: str
    logp: Callable[..., Any]
    data: tuple[Any, ...]
    dim: int
    pymc: Callable[[Any], None]  # called inside a model, with the module pymc


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def iid(dim: int) -> Target:
    return Target(f"normal {dim}", lambda q: -0.5 * jnp.sum(q**2), (), dim, lambda pm: pm.Normal("x", 0, 1, shape=dim))


def scaled(dim: int) -> Target:
    scale = np.geomspace(1e-2, 1e2, dim)  # variances from 1e-4 to 1e4; the condition of the covariance is 1e8
    scale = scale**0.5  # ... and now 1e4
    return Target(
        f"normal {dim}, condition 1e4", lambda q, s: -0.5 * jnp.sum((q / s) ** 2), (scale,), dim,
        lambda pm: pm.Normal("x", 0, scale, shape=dim),
    )  # fmt: skip


def correlated(dim: int, rho: float = 0.99) -> Target:
    """All correlations ρ: with the mean m of the entries, xᵀPx is cheap to write without a matrix."""
    a, b = 1 / (1 - rho), rho / ((1 - rho) * (1 - rho + dim * rho))

    def model(pm: Any) -> None:
        x = pm.Flat("x", shape=dim)
        pm.Potential("p", -0.5 * (a * (x**2).sum() - b * x.sum() ** 2))

    return Target(
        f"normal {dim}, correlation {rho}", lambda q: -0.5 * (a * jnp.sum(q**2) - b * jnp.sum(q) ** 2), (), dim, model
    )


def eight_schools() -> Target:
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def logp(q: Any, y: Any, sigma: Any) -> Any:
        mu, log_tau, z = q[0], q[1], q[2:]
        tau = jnp.exp(log_tau)
        prior = -0.5 * jnp.sum(z**2) - 0.5 * (mu / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + log_tau
        return prior - 0.5 * jnp.sum(((y - mu - tau * z) / sigma) ** 2)

    def model(pm: Any) -> None:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, sigma, observed=y)

    return Target("eight schools", logp, (y, sigma), 10, model)


def logistic(n: int, k: int) -> Target:
    rng = _rng(1)
    x = rng.normal(size=(n, k))
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-x @ rng.normal(size=k)))).astype(float)

    def logp(b: Any, x: Any, sign: Any) -> Any:
        return jnp.sum(log_sigmoid(sign * (x @ b))) - 0.5 * jnp.sum(b**2)

    def model(pm: Any) -> None:
        b = pm.Normal("b", 0, 1, shape=k)
        pm.Bernoulli("y", logit_p=pm.math.dot(x, b), observed=y)

    return Target(f"logistic {n}x{k}", logp, (x, 2 * y - 1), k, model)


def grouped(n: int = 1000, groups: int = 20) -> Target:
    """y = α_g + β x + noise with varying intercepts."""
    rng = _rng(2)
    g = np.sort(rng.integers(groups, size=n))
    x = rng.normal(size=n)
    y = rng.normal(size=groups)[g] + 0.5 * x + rng.normal(size=n)

    def logp(q: Any, g: Any, places: Any, x: Any, y: Any) -> Any:
        mu, log_tau, log_sigma, beta, z = q[0], q[1], q[2], q[3], q[4:]
        tau, sigma = jnp.exp(log_tau), jnp.exp(log_sigma)
        alpha = mu + tau * z
        prior = -0.5 * jnp.sum(z**2) - 0.5 * mu**2 - 0.5 * tau**2 + log_tau - 0.5 * sigma**2 + log_sigma - 0.5 * beta**2
        residual = (y - taken(alpha, g, places) - beta * x) / sigma
        return prior - 0.5 * jnp.sum(residual**2) - y.shape[0] * log_sigma

    def model(pm: Any) -> None:
        mu, tau, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
        beta, z = pm.Normal("beta", 0, 1), pm.Normal("z", 0, 1, shape=groups)
        pm.Normal("y", (mu + tau * z)[g] + beta * x, sigma, observed=y)

    return Target(f"hierarchical {n}x{groups}", logp, (g, places_of(g, groups), x, y), groups + 4, model)


def radon() -> Target:
    """The size and shape of the radon study: 919 houses in 85 counties, varying intercepts with a county predictor."""
    rng = _rng(3)
    counties, n = 85, 919
    county = np.sort(rng.integers(counties, size=n))
    floor = (rng.uniform(size=n) < 0.17).astype(float)
    uranium = rng.normal(size=counties) * 0.4
    y = (
        1.4
        + 0.7 * uranium[county]
        - 0.6 * floor
        + (0.2 * rng.normal(size=counties))[county]
        + 0.75 * rng.normal(size=n)
    )

    def logp(q: Any, county: Any, places: Any, floor: Any, uranium: Any, y: Any) -> Any:
        a, b, c, log_tau, log_sigma, z = q[0], q[1], q[2], q[3], q[4], q[5:]
        tau, sigma = jnp.exp(log_tau), jnp.exp(log_sigma)
        alpha = a + c * uranium + tau * z
        prior = -0.5 * (jnp.sum(z**2) + (a / 10) ** 2 + (b / 10) ** 2 + (c / 10) ** 2 + tau**2 + sigma**2)
        residual = (y - taken(alpha, county, places) - b * floor) / sigma
        return prior + log_tau + log_sigma - 0.5 * jnp.sum(residual**2) - n * log_sigma

    def model(pm: Any) -> None:
        a, b, c = (pm.Normal(name, 0, 10) for name in "abc")
        tau, sigma = pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
        z = pm.Normal("z", 0, 1, shape=counties)
        alpha = a + c * uranium + tau * z
        pm.Normal("y", alpha[county] + b * floor, sigma, observed=y)

    return Target("radon", logp, (county, places_of(county, counties), floor, uranium, y), counties + 5, model)


def stochastic_volatility(n: int = 200) -> Target:
    """Non-centered: h_t = μ + s·(AR(1) with coefficient φ), y_t ~ N(0, exp(h_t / 2))."""
    rng = _rng(4)
    h = np.zeros(n)
    for t in range(1, n):
        h[t] = 0.95 * h[t - 1] + 0.2 * rng.normal()
    y = np.exp(h / 2 - 0.5) * rng.normal(size=n)

    def logp(q: Any, y: Any) -> Any:
        mu, log_s, h = q[0], q[1], q[2:]
        s = jnp.exp(log_s)
        steps = jnp.diff(h) / s
        prior = -0.5 * mu**2 - 0.5 * (s / 0.5) ** 2 + log_s
        walk = -0.5 * jnp.sum(steps**2) - (n - 1) * log_s - 0.5 * (h[0] - mu) ** 2
        return prior + walk - 0.5 * jnp.sum(y**2 * jnp.exp(-h)) - 0.5 * jnp.sum(h)

    def model(pm: Any) -> None:
        mu, s = pm.Normal("mu", 0, 1), pm.HalfNormal("s", 0.5)
        h = pm.Flat("h", shape=n)
        pm.Potential(
            "walk", -0.5 * (((h[1:] - h[:-1]) / s) ** 2).sum() - (n - 1) * pm.math.log(s) - 0.5 * (h[0] - mu) ** 2
        )
        pm.Potential("y", -0.5 * (y**2 * pm.math.exp(-h)).sum() - 0.5 * h.sum())

    return Target("stochastic volatility", logp, (y,), n + 2, model)


def funnel() -> Target:
    """Neal's funnel, non-centered, with one noisy observation of each of its nine arms."""
    y = _rng(5).normal(size=9)

    def logp(q: Any, y: Any) -> Any:
        v, z = 3 * q[0], q[1:]
        return -0.5 * jnp.sum(q**2) - 0.5 * jnp.sum((y - z * jnp.exp(v / 2)) ** 2)

    def model(pm: Any) -> None:
        v, z = pm.Normal("v", 0, 1), pm.Normal("z", 0, 1, shape=9)
        pm.Normal("y", z * pm.math.exp(1.5 * v), 1, observed=y)

    return Target("funnel", logp, (y,), 10, model)


def autoregression(n: int = 100) -> Target:
    """A latent AR(1) path seen with noise."""
    y = np.cumsum(_rng(6).normal(size=n)) * 0.3

    def logp(q: Any, y: Any) -> Any:
        log_s, x = q[0], q[1:]
        s = jnp.exp(log_s)
        steps = (x[1:] - 0.95 * x[:-1]) / s
        prior = -0.5 * s**2 + log_s - 0.5 * x[0] ** 2
        return prior - 0.5 * jnp.sum(steps**2) - (n - 1) * log_s - 0.5 * jnp.sum(((y - x) / 0.5) ** 2)

    def model(pm: Any) -> None:
        s, x = pm.HalfNormal("s", 1), pm.Flat("x", shape=n)
        steps = ((x[1:] - 0.95 * x[:-1]) / s) ** 2
        pm.Potential("path", -0.5 * steps.sum() - (n - 1) * pm.math.log(s) - 0.5 * x[0] ** 2)
        pm.Normal("y", x, 0.5, observed=y)

    return Target("AR(1) latent", logp, (y,), n + 1, model)


def horseshoe(n: int = 100, k: int = 20) -> Target:
    rng = _rng(7)
    x = rng.normal(size=(n, k))
    y = x[:, :3] @ [2.0, -1.5, 1.0] + rng.normal(size=n)

    def logp(q: Any, x: Any, y: Any) -> Any:
        log_t, log_sigma, log_l, z = q[0], q[1], q[2 : 2 + k], q[2 + k :]
        t, sigma, l = jnp.exp(log_t), jnp.exp(log_sigma), jnp.exp(log_l)
        prior = -jnp.log1p((t / 0.1) ** 2) + log_t - 0.5 * sigma**2 + log_sigma
        prior += jnp.sum(-jnp.log1p(l**2) + log_l) - 0.5 * jnp.sum(z**2)
        return prior - 0.5 * jnp.sum(((y - x @ (z * l * t)) / sigma) ** 2) - n * log_sigma

    def model(pm: Any) -> None:
        t, sigma = pm.HalfCauchy("t", 0.1), pm.HalfNormal("sigma", 1)
        l, z = pm.HalfCauchy("l", 1, shape=k), pm.Normal("z", 0, 1, shape=k)
        pm.Normal("y", pm.math.dot(x, z * l * t), sigma, observed=y)

    return Target("horseshoe", logp, (x, y), 2 * k + 2, model)


TARGETS = [
    iid(10), iid(100), scaled(10), scaled(100), correlated(10), correlated(100), eight_schools(), logistic(200, 10),
    logistic(2000, 10), logistic(2000, 100), grouped(), radon(), stochastic_volatility(), funnel(), autoregression(),
    horseshoe(),
]  # fmt: skip
