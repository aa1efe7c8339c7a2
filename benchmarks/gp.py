"""Gaussian processes beside the libraries that are made for them, and how time and memory grow.

    python benchmarks/gp.py [along] [whole] [growth] [births] [cox] [grid] [conditional] [first] [hilbert]

Rivals (celerite2, tinygp) are measured where they can be imported; the ratios are of quickest rounds, taken in turn
in one process. A kernel's value and gradient is measured in a program of its own: no sampler is in these figures.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _process import environment
from gp_models import PARTS

import ppl as pm  # first: XLA reads its flag when the first device is used

import jax  # isort: skip
import jax.numpy as jnp
import numpy as np

import ppl.tensor as tt
from ppl.model.posterior.rewriting import rewritten
from ppl.tensor.kernels.correlations import matern32
from ppl.tensor.kernels.distances import squared_distance

ROUNDS = 9
ALONG, WHOLE, GROWTH = (1_000, 10_000, 100_000), 2_000, (1_000, 10_000, 100_000, 1_000_000)


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs at random, a hundred of them for each unit of length, and a noisy wave."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, n / 100, n))
    return x, np.sin(x) + 0.3 * rng.normal(size=n)


def ours(n: int) -> Callable[..., Any]:
    """The log-density of a model as the sampler has it."""
    x, y = data(n)
    with pm.Model() as model:
        length, size, noise = pm.HalfNormal("length"), pm.HalfNormal("size"), pm.HalfNormal("noise")
        cov = size**2 * matern32(squared_distance(x[:, None], x[:, None], length)) + noise**2 * tt.eye(n)
        pm.MvNormal("y", np.zeros(n), cov, observed=y)
    posterior = rewritten(model)
    density = tt.to_jax(list(posterior.values), posterior.logp())
    return lambda p: density(*[p[i] for i in range(3)])


def by_celerite2(n: int) -> Callable[..., Any]:
    """Compiled C++, called from JAX."""
    import celerite2.jax as celerite2  # type: ignore[import-not-found]
    from celerite2.jax import terms  # type: ignore[import-not-found]

    x, y = data(n)

    def density(p: Any) -> Any:
        process = celerite2.GaussianProcess(terms.Matern32Term(sigma=jnp.exp(p[1]), rho=jnp.exp(p[0])))
        process.compute(x, diag=jnp.exp(2 * p[2]) * jnp.ones(n), check_sorted=False)
        return process.log_likelihood(y)

    return density


def by_tinygp(n: int) -> Callable[..., Any]:
    """Its quasiseparable kernels."""
    import tinygp  # type: ignore[import-not-found]

    x, y = data(n)

    def density(p: Any) -> Any:
        kernel = jnp.exp(2 * p[1]) * tinygp.kernels.quasisep.Matern32(scale=jnp.exp(p[0]))
        return tinygp.GaussianProcess(kernel, x, diag=jnp.exp(2 * p[2])).log_probability(y)

    return density


def prepared(density: Callable[..., Any]) -> tuple[Callable[[], Any], float]:
    """A call of value and gradient, and the seconds that the first one takes."""
    both, at = jax.jit(jax.value_and_grad(density)), jnp.array([0.0, 0.0, -0.5])
    began = time.perf_counter()
    jax.block_until_ready(both(at))
    return lambda: jax.block_until_ready(both(at)), time.perf_counter() - began


def milliseconds(calls: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The quickest round of each, one after the other in every round."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - began))
    return best


def along() -> None:
    """A Matérn covariance with ν = 3/2 of one input."""
    print("Matérn 3/2, value and gradient, ms          ppl  celerite2     tinygp    ratio to celerite2, tinygp")
    for n in ALONG:
        calls: dict[str, Callable[[], Any]] = {}
        for name, make in (("ppl", ours), ("celerite2", by_celerite2), ("tinygp", by_tinygp)):
            try:
                calls[name] = prepared(make(n))[0]
            except ImportError:
                print(f"({name} is not installed)")
        best = milliseconds(calls)
        shown = "".join(f"{best[name]:11.3f}" if name in best else " " * 11 for name in ("ppl", "celerite2", "tinygp"))
        ratios = ", ".join(f"{best['ppl'] / best[name]:.2f}" for name in ("celerite2", "tinygp") if name in best)
        print(f"n = {n:<9,}{' ' * 23}{shown}    {ratios}", flush=True)


def whole() -> None:
    """A whole covariance: the derivative of the function beside JAX's own, of a factor."""
    from ppl.tensor.linear_algebra.definite import normal_log_density

    x, y = data(WHOLE)
    apart = jnp.abs(x[:, None] - x)

    def factored(r: Any, cov: Any) -> Any:
        lower = jnp.linalg.cholesky(cov)
        z = jax.scipy.linalg.solve_triangular(lower, r, lower=True)
        return -0.5 * jnp.sum(z**2) - jnp.sum(jnp.log(jnp.diag(lower)))

    def of(density: Callable[..., Any]) -> Callable[..., Any]:
        def at(p: Any) -> Any:
            u = np.sqrt(3.0) * apart * jnp.exp(-p[0])
            cov = jnp.exp(2 * p[1]) * (1.0 + u) * jnp.exp(-u) + jnp.exp(2 * p[2]) * jnp.eye(WHOLE)
            return density(y, cov)

        return at

    calls = {name: prepared(of(f))[0] for name, f in (("ppl", normal_log_density.lower), ("JAX", factored))}
    best = milliseconds(calls, 5)
    print(f"whole covariance of {WHOLE:,}, value and gradient: ppl {best['ppl']:.0f} ms, derivative of a factor by JAX")
    print(f"  {best['JAX']:.0f} ms, ratio {best['ppl'] / best['JAX']:.2f}", flush=True)


def growth() -> None:
    """Each size in a process of its own."""
    print("Matérn 3/2, a model   build and plan, s   first call, s   value and gradient, ms   memory, MiB", flush=True)
    for n in GROWTH:
        subprocess.run([sys.executable, __file__, "one", str(n)], check=True, env=environment())


def one(n: int) -> None:
    """One size; memory is the peak beyond what the imports take."""
    prepared(ours(64))
    before = peak()
    began = time.perf_counter()
    density = ours(n)
    built = time.perf_counter() - began
    call, first = prepared(density)
    best = milliseconds({"ppl": call}, 5)["ppl"]
    print(f"n = {n:<15,}{built:17.2f}{first:16.2f}{best:25.2f}{peak() - before:15.0f}", flush=True)


def peak() -> float:
    """The most memory that this process has had so far, MiB; on Linux without that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    if sys.argv[1:2] == ["one"]:
        one(int(sys.argv[2]))
    else:
        parts = {"along": along, "whole": whole, "growth": growth, **PARTS}
        for part in sys.argv[1:] or parts:
            parts[part]()
