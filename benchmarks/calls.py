"""What a call from outside costs: log-densities and gradients that other packages' optimizers and samplers call.

    python benchmarks/calls.py        beside PyMC's, if it is installed

Microseconds of processor of a call, the least mean of several batches; in the second column the same computation
without calls, once after the other in one compiled loop. `raw` takes a flat vector, the others dictionaries. Bar: 15
microseconds over the computation.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

import ppl

BAR = 15.0


def schools(pm: Any) -> None:
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    scale = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    pm.Normal("y", theta, scale, observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))


def thirty(pm: Any) -> None:
    """Many numbers, and data that may change."""
    total = sum(pm.Normal(f"x{i}", 0, 1) for i in range(30))
    pm.Normal("y", total, 1, observed=pm.Data("seen", np.linspace(-1, 1, 5)))


def mixed(pm: Any) -> None:
    """Whole numbers too."""
    count, rate = pm.Poisson("count", 3), pm.Gamma("rate", 2, 1)
    pm.Normal("y", count * rate, 1, observed=np.linspace(0, 4, 20))


def microseconds(call: Callable[[], Any], batches: int = 7, seconds: float = 0.05) -> float:
    call(), call()
    start = time.process_time()
    call()
    count = max(20, int(seconds / max(1e-7, time.process_time() - start)))
    found = []
    for _ in range(batches):
        start = time.process_time()
        for _ in range(count):
            call()
        found.append((time.process_time() - start) / count)
    return min(found) * 1e6


def alone(outputs: list[Any], model: Any, point: dict[str, np.ndarray], times: int = 500) -> float:
    """Microseconds of the computation in a compiled loop."""
    pure = ppl.to_jax([*model.value_vars, *model.data_vars], outputs)
    start = [*(np.asarray(point[v.name]) for v in model.value_vars), *(v.get_value() for v in model.data_vars)]

    def once(_: Any, carry: Any) -> Any:
        values = [v + (carry * 1e-300).astype(v.dtype) for v in map(jax.numpy.asarray, start)]
        return carry + sum(jax.numpy.sum(x) for x in pure(*values)) * 1e-300

    with jax.enable_x64(True):
        loop = jax.jit(lambda: jax.lax.fori_loop(0, times, once, 0.0))
        return microseconds(lambda: loop().block_until_ready(), 5) / times


def ours(define: Callable[[Any], None]) -> Iterator[tuple[str, float, float]]:
    with ppl.Model() as model:
        define(ppl)
    point, gradient = model.initial_point(), model.dlogp()
    both = model.logp_dlogp_function()
    flat = np.concatenate([point[v.name] for v in model.continuous_value_vars], axis=None)
    moved = {v.name: point[v.name] for v in model.continuous_value_vars}
    for name, f, given, computed in (
        ("logp", model.compile_logp(), point, [model.logp()]),
        ("dlogp", model.compile_dlogp(), point, [gradient]),
        ("d2logp", model.compile_d2logp(), point, [model.d2logp()]),
        ("logp_dlogp", both, moved, [model.logp(), gradient]),
        ("logp_dlogp.raw", both.raw, flat, [model.logp(), gradient]),
    ):
        yield name, microseconds(partial(f, given)), alone(computed, model, point)


def theirs(define: Callable[[Any], None]) -> dict[str, float]:
    try:
        pm = importlib.import_module("pymc")
    except ImportError:
        return {}
    with pm.Model() as model:
        define(pm)
    point = model.initial_point()
    found = {
        name: microseconds(partial(make(), point))
        for name, make in (
            ("logp", model.compile_logp), ("dlogp", model.compile_dlogp), ("d2logp", model.compile_d2logp)
        )
    }  # fmt: skip
    both = model.logp_dlogp_function(ravel_inputs=True)
    both.set_extra_values(point)
    flat = np.concatenate([point[v.name] for v in model.continuous_value_vars], axis=None)
    if len(model.continuous_value_vars) == len(model.value_vars):
        found["logp_dlogp.raw"] = microseconds(lambda: both(flat))
    return found


def report() -> int:
    over = 0
    print(f"{'microseconds a call':30}{'ppl':>8}{'alone':>8}{'over':>8}{'PyMC':>8}")
    for define in (schools, thirty, mixed):
        rivals = theirs(define)
        for name, call, computed in ours(define):
            rival = f"{rivals[name]:8.1f}" if name in rivals else f"{'':8}"
            late = call - computed > BAR
            over += late
            print(f"{define.__name__ + ' ' + name:30}{call:8.1f}{computed:8.2f}{call - computed:8.1f}{rival}"
                  f"{'  ABOVE THE BAR' if late else ''}", flush=True)  # fmt: skip
    return over


if __name__ == "__main__":
    raise SystemExit(report() > 0)
