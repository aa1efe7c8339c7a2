"""Models of series as their users write them: volatilities, autoregressions, moving averages, random walks, processes.

Each is a function of PyMC's name space that is called inside a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 200


def _returns(steps: int = STEPS) -> np.ndarray:
    """Returns whose log-volatility walks."""
    rng = np.random.default_rng(0)
    return np.exp(0.5 * np.cumsum(0.15 * rng.normal(size=steps))) * rng.normal(size=steps)


def _persistent(steps: int = STEPS) -> np.ndarray:
    """Returns whose log-volatility is an autoregression."""
    rng, h = np.random.default_rng(1), np.zeros(steps)
    for t in range(1, steps):
        h[t] = 0.95 * h[t - 1] + 0.25 * rng.normal()
    return np.exp(0.5 * (h - 1.0)) * rng.normal(size=steps)


def _level(steps: int = STEPS, noise: float = 1.0) -> np.ndarray:
    """A level that walks, seen with noise."""
    rng = np.random.default_rng(2)
    return np.cumsum(0.3 * rng.normal(size=steps)) + noise * rng.normal(size=steps)


def _counts(steps: int = STEPS) -> np.ndarray:
    """Counts whose logarithmic rate walks."""
    rng = np.random.default_rng(3)
    return rng.poisson(np.exp(1.0 + np.cumsum(0.1 * rng.normal(size=steps))))


def _scan(pm: Any, step: Any, **given: Any) -> Any:
    """The rows of a loop, by the package that the model is written for."""
    if pm.__name__ == "ppl":
        return pm.scan(step, **given)[0]
    import pytensor

    return pytensor.scan(step, **given)[0]


def _tensors(pm: Any) -> Any:
    if pm.__name__ == "ppl":
        import ppl.tensor

        return ppl.tensor
    import pytensor.tensor

    return pytensor.tensor


# Volatility


def volatility_total(pm: Any) -> None:
    """Log-volatility as a running total of scaled innovations."""
    s, z = pm.HalfNormal("s", 0.5), pm.Normal("z", 0, 1, shape=STEPS)
    h = pm.Deterministic("h", pm.math.cumsum(z * s))
    pm.Normal("y", 0, pm.math.exp(h / 2), observed=_returns())


def volatility_total_level(pm: Any) -> None:
    """The same around a level, with Student's errors."""
    s, z = pm.Exponential("s", 10.0), pm.Normal("z", 0, 1, shape=STEPS)
    level, nu = pm.Normal("level", 0, 2), pm.Exponential("nu", 0.1)
    h = level + s * pm.math.cumsum(z)
    pm.StudentT("y", nu=nu + 2, mu=0, sigma=pm.math.exp(h / 2), observed=_returns())


def volatility_walk(pm: Any) -> None:
    """A Gaussian random walk, as in PyMC's example of stock returns."""
    s, nu = pm.Exponential("s", 10.0), pm.Exponential("nu", 0.1)
    h = pm.GaussianRandomWalk("h", sigma=s, init_dist=pm.Normal.dist(0, 100), shape=STEPS)
    pm.StudentT("y", nu=nu, lam=pm.math.exp(-2 * h), observed=_returns())


def volatility_walk_normal(pm: Any) -> None:
    """A Gaussian random walk with normal errors."""
    s = pm.HalfNormal("s", 0.5)
    h = pm.GaussianRandomWalk("h", sigma=s, init_dist=pm.Normal.dist(0, 1), shape=STEPS)
    pm.Normal("y", 0, pm.math.exp(h / 2), observed=_returns())


def volatility_loop(pm: Any) -> None:
    """The walk variable by variable, in a Python loop."""
    s, h = pm.HalfNormal("s", 0.5), [pm.Normal("h0", 0, 1)]
    for t in range(1, 60):
        h.append(pm.Normal(f"h{t}", h[-1], s))
    pm.Normal("y", 0, pm.math.exp(pm.math.stack(h) / 2), observed=_returns(60))


def volatility_ar(pm: Any) -> None:
    """A stationary autoregression around a level, centered."""
    phi, s, level = pm.Beta("phi", 20, 1.5), pm.HalfNormal("s", 0.5), pm.Normal("level", -1, 1)
    h = pm.AR("h", [phi], sigma=s, init_dist=pm.Normal.dist(0, 1), shape=STEPS)
    pm.Normal("y", 0, pm.math.exp((level + h) / 2), observed=_persistent())


def volatility_ar_loop(pm: Any) -> None:
    """The same from standard normal innovations, by a loop, as in Stan's guide."""
    phi, s, level = pm.Beta("phi", 20, 1.5), pm.HalfNormal("s", 0.5), pm.Normal("level", -1, 1)
    z = pm.Normal("z", 0, 1, shape=STEPS)
    first = z[0] * s / pm.math.sqrt(1 - phi**2)
    step = lambda z, before, phi, s: phi * before + s * z
    later = _scan(pm, step, sequences=[z[1:]], outputs_info=[first], non_sequences=[phi, s])
    h = pm.math.concatenate([first[None], later])
    pm.Normal("y", 0, pm.math.exp((level + h) / 2), observed=_persistent())


# Autoregressions, moving averages, conditional variances


def ar2(pm: Any) -> None:
    """An observed autoregression of order two."""
    rho, s = pm.Normal("rho", 0, 0.5, shape=3), pm.HalfNormal("s", 1)
    start = pm.Normal.dist(0, 10, shape=2)
    pm.AR("y", rho, sigma=s, constant=True, init_dist=start, observed=_persistent())


def ar1_counts(pm: Any) -> None:
    """Counts around a latent autoregression."""
    phi, s, level = pm.Uniform("phi", -1, 1), pm.HalfNormal("s", 0.5), pm.Normal("level", 1, 1)
    h = pm.AR("h", [phi], sigma=s, init_dist=pm.Normal.dist(0, 1), shape=STEPS)
    pm.Poisson("y", pm.math.exp(level + h), observed=_counts())


def arma(pm: Any) -> None:
    """ARMA(1, 1) by a loop over the errors."""
    y = _level(noise=0.5)
    mu, phi, theta = pm.Normal("mu", 0, 10), pm.Normal("phi", 0, 2), pm.Normal("theta", 0, 2)
    s = pm.HalfCauchy("s", 2.5)
    first = y[0] - (mu + phi * mu)
    step = lambda now, last, before, mu, phi, theta: now - (mu + phi * last + theta * before)
    later = _scan(pm, step, sequences=[y[1:], y[:-1]], outputs_info=[first], non_sequences=[mu, phi, theta])
    errors = pm.math.concatenate([first[None], later])
    pm.Potential("errors", pm.math.sum(pm.logp(pm.Normal.dist(0, s), errors)))


def moving_average(pm: Any) -> None:
    """MA(2) written as its covariance of innovations: a latent vector of shocks."""
    y = _level()[1:] - _level()[:-1]
    theta, s = pm.Normal("theta", 0, 0.5, shape=2), pm.HalfNormal("s", 1)
    e = pm.Normal("e", 0, 1, shape=len(y) + 2)
    pm.Normal("y", s * (e[2:] + theta[0] * e[1:-1] + theta[1] * e[:-2]), 0.3, observed=y)


def garch(pm: Any) -> None:
    """GARCH(1, 1) by its law."""
    omega, alpha = pm.HalfNormal("omega", 1), pm.Uniform("alpha", 0, 1)
    beta = pm.Uniform("beta", 0, 1)
    pm.GARCH11("y", omega=omega, alpha_1=alpha, beta_1=beta * (1 - alpha), initial_vol=1.0, observed=_persistent())


def garch_loop(pm: Any) -> None:
    """GARCH(1, 1) by a loop."""
    y = _persistent()
    omega, alpha, mu = pm.HalfNormal("omega", 1), pm.Uniform("alpha", 0, 1), pm.Normal("mu", 0, 1)
    beta = pm.Deterministic("beta", pm.Uniform("share", 0, 1) * (1 - alpha))
    step = lambda last, before, omega, alpha, beta, mu: omega + alpha * (last - mu) ** 2 + beta * before
    first = pm.math.constant(1.0) if hasattr(pm.math, "constant") else _tensors(pm).constant(1.0)
    later = _scan(pm, step, sequences=[y[:-1]], outputs_info=[first], non_sequences=[omega, alpha, beta, mu])
    pm.Normal("y", mu, pm.math.sqrt(pm.math.concatenate([first[None], later])), observed=y)


# Random walks


def walk_normal(pm: Any) -> None:
    """A walk with normal rows, all of which can be integrated out."""
    s, noise = pm.HalfNormal("s", 1), pm.HalfNormal("noise", 1)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 5), shape=STEPS)
    pm.Normal("y", x, noise, observed=_level())


def walk_total_normal(pm: Any) -> None:
    """The same as a running total of innovations."""
    s, noise, z = pm.HalfNormal("s", 1), pm.HalfNormal("noise", 1), pm.Normal("z", 0, 1, shape=STEPS)
    pm.Normal("y", pm.Normal("x0", 0, 5) + pm.math.cumsum(s * z), noise, observed=_level())


def walk_student(pm: Any) -> None:
    """A walk with Student's rows."""
    s, noise = pm.HalfNormal("s", 1), pm.HalfNormal("noise", 1)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 5), shape=STEPS)
    pm.StudentT("y", nu=4, mu=x, sigma=noise, observed=_level())


def walk_counts(pm: Any) -> None:
    """A walk with counts."""
    s = pm.HalfNormal("s", 0.5)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(1, 1), shape=STEPS)
    pm.Poisson("y", pm.math.exp(x), observed=_counts())


def walk_total_counts(pm: Any) -> None:
    """The same as a running total of innovations."""
    s, z, level = pm.HalfNormal("s", 0.5), pm.Normal("z", 0, 1, shape=STEPS), pm.Normal("level", 1, 1)
    pm.Poisson("y", pm.math.exp(level + pm.math.cumsum(s * z)), observed=_counts())


def walk_votes(pm: Any) -> None:
    """A walk of a probability, three answers a step."""
    s, level = pm.HalfNormal("s", 0.5), pm.Normal("level", 0, 1)
    x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 1), shape=STEPS)
    yes = np.random.default_rng(5).binomial(3, 1 / (1 + np.exp(-_level(noise=0.0) / 2)))
    pm.Binomial("y", 3, logit_p=level + x, observed=yes)


def walk_trend(pm: Any) -> None:
    """A level with a slope that walks, both by running totals, and counts."""
    a, b = pm.HalfNormal("a", 0.1), pm.HalfNormal("b", 0.02)
    z, w = pm.Normal("z", 0, 1, shape=STEPS), pm.Normal("w", 0, 1, shape=STEPS)
    slope = pm.math.cumsum(b * w)
    line = pm.Normal("level", 1, 1) + pm.math.cumsum(a * z + slope)
    pm.Poisson("y", pm.math.exp(line), observed=_counts())


def walk_coefficient(pm: Any) -> None:
    """A regression whose slope walks, with Student's rows."""
    x = np.random.default_rng(6).normal(size=STEPS)
    s, noise = pm.HalfNormal("s", 0.5), pm.HalfNormal("noise", 1)
    slope = pm.GaussianRandomWalk("slope", sigma=s, init_dist=pm.Normal.dist(0, 1), shape=STEPS)
    y = x * _level(noise=0.0) + np.random.default_rng(7).normal(size=STEPS)
    pm.StudentT("y", nu=5, mu=pm.Normal("level", 0, 1) + slope * x, sigma=noise, observed=y)


# Processes


def _waves(x: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    end = 1.5 * np.abs(x - x.mean()).max()
    roots = np.arange(1, number + 1) * np.pi / (2 * end)
    return np.sin(roots * (x[:, None] - x.mean() + end)) / np.sqrt(end), roots


def hilbert(pm: Any) -> None:
    """A process by Hilbert's basis (Solin & Särkkä 2020), with counts."""
    x = np.linspace(0, 1, STEPS)
    waves, roots = _waves(x, 25)
    size, length = pm.HalfNormal("size", 1), pm.InverseGamma("length", 5, 1)
    z = pm.Normal("z", 0, 1, shape=25)
    density = size * pm.math.sqrt(np.sqrt(2 * np.pi) * length) * pm.math.exp(-0.25 * (length * roots) ** 2)
    line = pm.Normal("level", 0, 1) + pm.math.dot(waves, density * z)
    pm.Poisson("y", pm.math.exp(line), observed=np.random.default_rng(8).poisson(np.exp(1 + np.sin(9 * x))))


def two_hilbert(pm: Any) -> None:
    """Two such processes: in the mean and in the log-scale of normal rows."""
    x = np.linspace(0, 1, 100)
    bumps = 0.8 * np.exp(-(((x - 0.62) / 0.1) ** 2)) - 1.5 * np.exp(-(((x - 0.4) / 0.1) ** 2))
    scale = np.exp(-2.5 + 2.2 / (1 + np.exp(-(x - 0.3) / 0.03)) - 0.5 * x)
    y = np.where(x < 0.25, 0.0, bumps) + scale * np.random.default_rng(0).normal(size=x.size)

    def process(name: str, number: int) -> Any:
        waves, roots = _waves(x, number)
        size, length = pm.HalfStudentT(f"size_{name}", 3, 2.5), pm.InverseGamma(f"length_{name}", 1.12, 0.018)
        density = size * pm.math.sqrt(np.sqrt(2 * np.pi) * length) * pm.math.exp(-0.25 * (length * roots) ** 2)
        return pm.math.dot(waves, density * pm.Normal(f"z_{name}", 0, 1, shape=number))

    mu = pm.StudentT("level", 3, -0.3, 1.0) + process("mean", 40)
    log_scale = pm.StudentT("level_of_scale", 3, 0, 2.5) + process("scale", 20)
    pm.Normal("y", mu, pm.math.exp(log_scale), observed=y)


SERIES: dict[str, Callable[..., None]] = {
    f.__name__: f
    for f in (
        volatility_total, volatility_total_level, volatility_walk, volatility_walk_normal, volatility_loop,
        volatility_ar, volatility_ar_loop, ar2, ar1_counts, arma, moving_average, garch, garch_loop, walk_normal,
        walk_total_normal, walk_student, walk_counts, walk_total_counts, walk_votes, walk_trend, walk_coefficient,
        hilbert, two_hilbert,
    )
}  # fmt: skip
