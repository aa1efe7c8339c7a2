"""Milliseconds for 1e6 numbers drawn: ours, and the ratios to jax.random's own sampler and to PyMC.

    python benchmarks/distributions.py [GROUP or FAMILY ...]    groups: continuous, discrete, multivariate, ...

Compiled programs, warm, the least of five, one run on one machine; the ratio is ours divided by theirs. What takes
longer than two seconds is measured once.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np
from distribution_cases import GROUPS, Case, N

import ppl
from ppl.compile import function
from ppl.distributions.draws.drawing import expand_draws
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.tensor import placeholder


def seconds(f: Callable[[], Any]) -> float:
    f()
    times: list[float] = []
    while len(times) < 5 and sum(times) < 2:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def made(package: Any, case: Case) -> Any:
    options = {"compute_corr": False} if case.family == "LKJCholeskyCov" else {}
    return getattr(package, case.family).dist(**case.arguments(package), **options, size=N // case.numbers)


def ours(case: Case) -> float:
    key = placeholder(KEY_TYPE)
    compiled = function([key], expand_draws([made(ppl, case)], key)[0], on_unused_input="ignore")
    return seconds(lambda: compiled(np.array([1, 2], np.uint32)))


def jaxs(case: Case) -> float | None:
    if case.jax is None:
        return None
    with jax.enable_x64(True):
        compiled = jax.jit(lambda key: case.jax(key, N // case.numbers))
        return seconds(lambda: np.asarray(compiled(jax.random.key(1))))


def pymcs(case: Case) -> float | None:
    import pymc as pm

    if not hasattr(pm, case.family) or (case.family == "PolyaGamma" and not find_spec("polyagamma")):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return seconds(pm.compile([], made(pm, case), random_seed=1))


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(GROUPS)
    print(f"{'family':29s} {'ms':>8s} {'/jax':>7s} {'/PyMC':>7s}")
    for group, cases in GROUPS.items():
        for case in cases:
            if group in chosen or case.family in chosen:
                mine, others = ours(case), (jaxs(case), pymcs(case))
                ratios = ["      -" if other is None else f"{mine / other:7.2f}" for other in others]
                print(f"{case.family:29s} {mine * 1e3:8.1f} {' '.join(ratios)}", flush=True)
