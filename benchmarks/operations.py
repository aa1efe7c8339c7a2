"""What operations cost in a gradient: the table of `ppl/xla/operation_costs.py`.

python benchmarks/operations.py

Each is measured as samplers make them: value and gradient of a sum, many in one loop of a program, the quickest of
some rounds, less the same without the operation. Printed are nanoseconds for each number (or step, or multiplication
of a matrix), at the number of them beside it, and how many times that of a multiplication it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.tensor.linear_algebra.block_chains import chain_factor, chain_solution, chain_substitution
from ppl.tensor.tensor import TensorType, placeholder

SECONDS, BURST = 0.4, 5e-4
RNG = np.random.default_rng(0)


def nanoseconds(f: Callable[[Any], Any], n: int) -> float:
    """Of a gradient of f, a function of n numbers between 1/2 and 3/2."""
    x = placeholder(TensorType("float64", (n,)), "x")
    value = tt.to_jax([x], f(x))
    at = RNG.uniform(0.5, 1.5, n)
    with jax.enable_x64(True):
        both = jax.value_and_grad(value)

        def turn(_: Any, x: Any) -> Any:
            v, g = both(x)
            return x + 1e-12 * (g + v)

        step = jax.jit(lambda x, turns: jax.lax.fori_loop(0, turns, turn, x))
        jax.block_until_ready(step(at, 10))
        turns, best, enough = 10, math.inf, time.perf_counter() + SECONDS
        while time.perf_counter() < enough:
            began = time.perf_counter()
            jax.block_until_ready(step(at, turns))
            best = min(best, (time.perf_counter() - began) / turns)
            turns = max(10, min(1000, int(BURST / best)))  # short: some of them have a core for themselves
    return best * 1e9


def elementwise(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tt.sum(f(x))


def chain(k: int, of: Callable[..., Any]) -> Callable[[Any], Any]:
    """A chain of blocks of k numbers whose diagonal is x."""

    def f(x: Any) -> Any:
        steps = x.type.shape[0] // k
        diagonal = x.reshape((steps, k))[:, :, None] * np.eye(k) * 4.0
        below = np.broadcast_to(-0.5 * np.eye(k), (steps, k, k)).copy()
        below[0] = 0.0
        return of(diagonal, below, x.reshape((steps, k, 1)))

    return f


def _factor(diagonal: Any, below: Any, right: Any) -> Any:
    return tt.sum(chain_factor(diagonal, below)[0])


def _both(diagonal: Any, below: Any, right: Any) -> Any:
    return tt.sum(chain_substitution(*chain_factor(diagonal, below), right, reverse=True))


def _solution(diagonal: Any, below: Any, right: Any) -> Any:
    solution, log_det = chain_solution(diagonal, below, right)
    return tt.sum(solution * right) + log_det


def matrix(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a positive definite matrix made of n numbers."""

    def f(x: Any) -> Any:
        n = x.type.shape[0]
        return of(tt.exp(-0.1 * (x[:, None] - x) ** 2) + n * np.eye(n))

    return f


def recurrence(x: Any) -> Any:
    return tt.sum(tt.scan(lambda now, before: 0.9 * before + now, sequences=[x], outputs_info=[tt.as_tensor(0.0)])[0])


N = 1000
PICKS = RNG.integers(0, N, N)
ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda x: x * x * x,
    "divide": lambda x: 1.5 / x,
    "sqrt": tt.sqrt, "exp": tt.exp, "log": tt.log, "log1p": tt.log1p, "tanh": tt.tanh, "sin": tt.sin,
    "sigmoid": tt.sigmoid, "softplus": tt.softplus, "power": lambda x: x**2.3, "erf": tt.erf,
    "log_ndtr": tt.log_ndtr, "gammaln": tt.gammaln,
    "switch": lambda x: tt.switch(x < 1.0, x * x, 2.0 * x),
    "gather": lambda x: x[PICKS] * x,
    "sort": tt.sort, "cumsum": tt.cumsum,
}  # fmt: skip


def main() -> None:
    plain = nanoseconds(elementwise(lambda x: x * x), N)
    print(f"a gradient of a sum of squares: {plain / N:.3f} ns for each of {N} numbers")
    once = 0.0
    for name, f in ELEMENTWISE.items():
        more = (nanoseconds(lambda x, f=f: tt.sum(f(x)) + tt.sum(x * x), N) - plain) / N
        once = once or more
        print(f"{name:40} {more:10.3f} ns {more / once:8.1f}", flush=True)
    for n in (10, 200, 1000):
        a = RNG.normal(size=(n, n))
        more = (nanoseconds(lambda x, a=a: tt.sum((a @ x) ** 2), n) - nanoseconds(lambda x: tt.sum(x * x), n)) / n**2
        print(f"{f'matrix times vector, {n}':40} {more:10.3f} ns {more / once:8.1f}", flush=True)
    for title, f in {"recurrence": recurrence}.items():
        for n in (50, 200, 1000):
            more = (nanoseconds(f, n) - nanoseconds(lambda x: tt.sum(x * x), n)) / n
            print(f"{f'{title}, {n} steps':40} {more:10.3f} ns {more / once:8.1f}", flush=True)
    for title, of in {
        "chain_factor": _factor,
        "chain_factor and substitution": _both,
        "chain_solution": _solution,
    }.items():
        for k in (1, 2, 4, 8):
            n = 200 * k
            more = (nanoseconds(chain(k, of), n) - nanoseconds(lambda x: tt.sum(x * x), n)) / 200
            print(f"{f'{title}, 200 blocks of {k}':40} {more:10.3f} ns {more / once:8.1f} a step", flush=True)
    for title, of in {
        "cholesky": lambda m: tt.sum(tt.cholesky(m)),
        "eigh": lambda m: tt.sum(tt.eigh(m)[0]),
        "solve": lambda m: tt.sum(tt.solve(m, np.ones(m.type.shape[0]))),
    }.items():
        for n in (3, 8, 20, 60, 200):
            base = nanoseconds(matrix(tt.sum), n)
            more = nanoseconds(matrix(of), n) - base
            each = f"{more / n**3 / once:8.1f} for each of n³"
            print(f"{f'{title}, {n} rows':40} {more:10.0f} ns {more / once:8.0f}; {each}", flush=True)


if __name__ == "__main__":
    main()
