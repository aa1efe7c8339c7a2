"""The log-density of a Gaussian process and its gradient, called from outside, by one thread and by all that there are.

    python benchmarks/blas_threads.py                milliseconds a call, the median and the least
    python benchmarks/blas_threads.py 100 300        matrices of these sides alone

"Usual" is with OpenBLAS left as it is, by the program within the bound that `ppl.xla.blas` puts around it; "as called"
is what a user has. The last line is what the bound costs a call, in microseconds; programs without matrices have none.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

import ppl as pm
from ppl.xla import blas

SIDES = (50, 100, 200, 300, 500, 1000, 2000)


def process(n: int) -> pm.Model:
    x = np.linspace(0, 10, n)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=n)
    with pm.Model() as model:
        length, height, noise = pm.Gamma("length", 2, 1), pm.HalfNormal("height", 1), pm.HalfNormal("noise", 1)
        gp = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, length))
        gp.marginal_likelihood("y", X=x, y=y, sigma=noise)
    return model


def milliseconds(call: Callable[[], Any], repeats: int) -> str:
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - began))
    return f"{statistics.median(taken):9.3f} ({min(taken):8.3f})"


def main(sides: list[int]) -> None:
    print(f"load {os.getloadavg()[0]:.1f}\n{'':14}{'usual':>20}{'as called':>20}")
    bounded = blas.InOneThread.__call__
    for n in sides:
        model = process(n)
        point, repeats = model.initial_point(), max(3, int(2e5 / n**1.6))
        for name, f in (("logp", model.compile_logp()), ("dlogp", model.compile_dlogp())):
            f(point)
            f(point)
            blas.InOneThread.__call__ = lambda self, *arguments: self.run(*arguments)  # type: ignore[method-assign]
            usual = milliseconds(partial(f, point), repeats)
            blas.InOneThread.__call__ = bounded  # type: ignore[method-assign]
            print(f"{n:6} {name:6} {usual:>20}{milliseconds(partial(f, point), repeats):>20}", flush=True)
    one = jnp.ones(1)
    plain = lambda x: one
    around = blas.InOneThread(plain)
    times = [min(timeit.repeat(lambda f=f: f(one), number=20_000, repeat=9)) for f in (plain, around)]  # type: ignore[misc]
    plain_time, around_time = (1e6 * seconds / 20_000 for seconds in times)
    print(f"the bound: {around_time - plain_time:.2f} µs a call")


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or list(SIDES))
