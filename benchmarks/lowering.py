"""How small work is written for XLA's CPU backend: each choice beside its rival, on both sides of where it changes.

python benchmarks/lowering.py

A step is one of the leapfrog integrator inside NUTS (microseconds of processor time, warm-up included), since what
matters is whether XLA folds the sampler's loops into one kernel; milliseconds to compile stand beside it. `written` is
what ppl does up to its threshold, `library` what it does beyond. The thresholds are UNROLLED, COLUMNS and
MULTIPLICATIONS in ppl/tensor/linear_algebra/unrolled.py, and _PADDING in ppl/compile/grouping.py; the reasons stand in
docs/decisions/007-folding.md.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ["PPL_DISK_CACHE"] = "0"  # what is compiled is measured

import jax
import jax.numpy as jnp
import numpy as np
from sampler_targets import Target

from ppl.compile import grouping
from ppl.tensor.arrays import grouped
from ppl.tensor.linear_algebra import unrolled
from samplers import ours

DRAWS, ROUNDS = 3000, 5
Function = Callable[[Any], Any]


def step_us(f: Function, x: np.ndarray) -> tuple[float, float]:
    """Microseconds of processor time for a leapfrog step under the log-density f, and milliseconds to compile NUTS."""
    run = ours(Target("", lambda q: f(q.reshape(x.shape)), (), x.size, lambda pm: None))
    start = time.process_time()
    run(1, DRAWS, 0)
    first = time.process_time() - start
    taken: list[float] = []
    steps: list[float] = []
    for seed in range(ROUNDS):
        start = time.process_time()
        gradients = run(1, DRAWS, seed).gradients
        taken.append(time.process_time() - start)
        steps.append(taken[-1] / gradients)
    return 1e6 * statistics.median(steps), 1e3 * (first - taken[0])


def with_limit(name: str, limit: int, f: Function) -> Function:
    """A function that is traced under another threshold of `unrolled`."""

    def traced(x: Any) -> Any:
        usual = getattr(unrolled, name)
        setattr(unrolled, name, limit)
        try:
            return f(x)
        finally:
            setattr(unrolled, name, usual)

    return traced


def log_density(n: int) -> tuple[Function, np.ndarray]:
    """log N(b | 0, A + diag(e^x)): a Cholesky factor and a triangular solve of n rows."""
    a = np.random.default_rng(0).normal(size=(n, n))
    one = np.eye(n)  # diagonals by a product with it: one taken by places is a scatter backwards
    a, b = a @ a.T + one, np.arange(1.0, n + 1)

    def f(x: Any) -> Any:
        factor = unrolled.cholesky(a + one * jnp.exp(x))
        z = unrolled.solve_triangular(factor, b, lower=True, unit_diagonal=False, trans=0, b_ndim=1)
        return -0.5 * jnp.sum(z**2) - jnp.sum(jnp.log(jnp.sum(one * factor, axis=1))) - 0.5 * jnp.sum(x**2)

    return f, np.zeros(n)


def logistic(rows: int, inner: int, columns: int) -> tuple[Function, np.ndarray]:
    """-Σ log(1 + e^(X·B)) - ½ΣB² for rows x inner data X."""
    data = np.random.default_rng(0).normal(size=(rows, inner))
    f = lambda b: -jnp.sum(jax.nn.softplus(unrolled.matmul(data, b))) - 0.5 * jnp.sum(b**2)
    return f, np.zeros((inner, columns))


def groups(rows: int, count: int, largest: int) -> tuple[Function, Function, np.ndarray, float]:
    """-½Σᵢ (x[gᵢ] - yᵢ)² by a table of places and by an index, and the entries of the table for each row.

    One group has `largest` rows, the others share what is left.
    """
    rng = np.random.default_rng(0)
    g = rng.permutation(np.concatenate([np.zeros(largest, int), 1 + np.arange(rows - largest) % (count - 1)]))
    y, places = rng.normal(size=rows), grouped.places_of(g, count)
    table = lambda x: -0.5 * jnp.sum((grouped.TAKE_ROWS.lower(x, g, places) - y) ** 2)
    index = lambda x: -0.5 * jnp.sum((x[g] - y) ** 2)
    return table, index, np.zeros(count), places.size / (count + rows)


def show(what: str, written: tuple[float, float], library: tuple[float, float], chosen: bool) -> None:
    us, theirs = written[0], library[0]
    compiles = f"{written[1]:7.0f} {library[1]:8.0f}"
    print(f"{what:>34} {us:9.2f} {theirs:9.2f} {compiles}   {'written' if chosen else 'library'}", flush=True)


def main() -> None:
    print(f"{'':>34} {'µs a step':>19} {'ms to compile':>16}")
    print(f"{'':>34} {'written':>9} {'library':>9} {'written':>7} {'library':>8}   chosen")
    with jax.enable_x64(True):
        for n in (2, 4, 6, 8, 10):
            f, x = log_density(n)
            both = [step_us(with_limit("UNROLLED", limit, f), x) for limit in (n, 0)]
            show(f"Cholesky factor and solve, {n}", *both, n <= unrolled.UNROLLED)
        for rows, inner, columns in [(20, 4, 3), (200, 10, 3), (1000, 10, 3)]:
            f, x = logistic(rows, inner, columns)
            both = [step_us(with_limit("MULTIPLICATIONS", limit, f), x) for limit in (10**9, 0)]
            small = rows * inner * columns <= unrolled.MULTIPLICATIONS and columns <= unrolled.COLUMNS
            show(f"product {rows}x{inner}·{inner}x{columns}", *both, small)
        for rows, count, largest in [(900, 85, 11), (900, 85, 40), (900, 85, 80), (10_000, 100, 100)]:
            table, index, x, padding = groups(rows, count, largest)
            what = f"{rows} rows in {count} groups, table {padding:.1f}"
            show(what, step_us(table, x), step_us(index, x), padding <= grouping._PADDING)


if __name__ == "__main__":
    main()
