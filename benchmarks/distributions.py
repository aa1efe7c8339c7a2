"""Seconds for 1e6 draws: ours, jax.random's own sampler where it has one, and PyMC.

Compiled programs, warm, median of five, one run on one machine; the ratio is ours divided by theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import ppl.distributions as families
from ppl.compile import function
from ppl.tensor.keys import Key
from ppl.tensor.tensor import TensorType, as_tensor, placeholder

N = 1_000_000
JAX: dict[str, Callable[..., Any]] = {
    "Normal": lambda k, mu, sigma: mu + sigma * jax.random.normal(k, (N,)),
    "Uniform": lambda k, a, b: jax.random.uniform(k, (N,), minval=a, maxval=b),
    "Exponential": lambda k, lam: jax.random.exponential(k, (N,)) / lam,
    "Gamma": lambda k, a, b: jax.random.gamma(k, a, (N,)) / b,
    "Beta": lambda k, a, b: jax.random.beta(k, a, b, (N,)),
    "Cauchy": lambda k, a, b: a + b * jax.random.cauchy(k, (N,)),
    "Laplace": lambda k, m, b: m + b * jax.random.laplace(k, (N,)),
    "Logistic": lambda k, m, s: m + s * jax.random.logistic(k, (N,)),
    "Gumbel": lambda k, m, b: m + b * jax.random.gumbel(k, (N,)),
    "LogNormal": lambda k, m, s: jax.numpy.exp(m + s * jax.random.normal(k, (N,))),
    "StudentT": lambda k, nu, m, s: m + s * jax.random.t(k, nu, (N,)),
    "Pareto": lambda k, a, m: m * jax.random.pareto(k, a, (N,)),
    "Weibull": lambda k, a, b: jax.random.weibull_min(k, b, a, (N,)),
    "ChiSquared": lambda k, nu: jax.random.chisquare(k, nu, shape=(N,)),
    "Rayleigh": lambda k, s: jax.random.rayleigh(k, s, (N,)),
    "Wald": lambda k, mu, lam: jax.random.wald(k, mu, (N,)),
    "Triangular": lambda k, a, b, c: jax.random.triangular(k, a, c, b, (N,)),
}
PARAMETERS = {
    "AsymmetricLaplace": (0.5, 0.0, 1.0), "Beta": (2.0, 3.0), "Cauchy": (0.0, 1.0), "ChiSquared": (5.0,),
    "ExGaussian": (0.0, 1.0, 2.0), "Exponential": (1.5,), "Gamma": (2.5, 1.0), "Gumbel": (0.0, 1.0),
    "HalfCauchy": (1.0,), "HalfNormal": (1.0,), "HalfStudentT": (4.0, 1.0), "InverseGamma": (3.0, 1.0),
    "Kumaraswamy": (2.0, 3.0), "Laplace": (0.0, 1.0), "LogNormal": (0.0, 1.0), "Logistic": (0.0, 1.0),
    "Moyal": (0.0, 1.0), "Normal": (0.0, 1.0), "Pareto": (2.0, 1.0), "Rayleigh": (1.0,), "Rice": (1.0, 1.0),
    "SkewNormal": (2.0, 0.0, 1.0), "SkewStudentT": (3.0, 4.0, 0.0, 1.0), "StudentT": (4.0, 0.0, 1.0),
    "Triangular": (0.0, 1.0, 0.4), "TruncatedNormal": (0.0, 1.0, -1.0, 2.0), "Uniform": (0.0, 1.0),
    "VonMises": (0.0, 2.0), "Wald": (1.0, 1.0), "Weibull": (2.0, 1.0),
}  # fmt: skip


def seconds(f: Callable[[], Any]) -> float:
    f()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def ours(name: str, parameters: tuple[float, ...]) -> float:
    family = getattr(families, name)
    key = placeholder(TensorType("uint32", (2,)))
    tensors = [as_tensor(p) for p in parameters]
    if name == "Wald":
        tensors.append(as_tensor(0.0))
    compiled = function([key], family.sample(Key(key), (N,), *tensors))
    return seconds(lambda: compiled(np.array([1, 2], np.uint32)))


def jaxs(name: str, parameters: tuple[float, ...]) -> float | None:
    if name not in JAX:
        return None
    with jax.enable_x64(True):
        compiled = jax.jit(lambda key: JAX[name](key, *parameters))
        key = jax.random.key(1)
        return seconds(lambda: np.asarray(compiled(key)))


def pymcs(name: str, parameters: tuple[float, ...]) -> float | None:
    import pymc as pm

    if not hasattr(pm, name):
        return None
    order = getattr(families, name).params
    draw = getattr(pm, name).dist(**dict(zip(order, parameters, strict=False)), size=N)
    compiled = pm.compile([], draw, random_seed=1)
    return seconds(compiled)


if __name__ == "__main__":
    print(f"{'family':18s} {'ms':>8s} {'/jax':>7s} {'/PyMC':>7s}")
    for name, parameters in PARAMETERS.items():
        mine, jaxs_own, pymcs_own = ours(name, parameters), jaxs(name, parameters), pymcs(name, parameters)
        ratios = ["      -" if other is None else f"{mine / other:7.2f}" for other in (jaxs_own, pymcs_own)]
        print(f"{name:18s} {mine * 1e3:8.1f} {' '.join(ratios)}", flush=True)
