"""The symbolic core: what a node costs, what a call costs, what the import costs.

    python benchmarks/core.py            prints a table; takes about two minutes
    python benchmarks/core.py --small    a tenth of the sizes

The last column is the time per node at the large size over that at the small one: 1 means linear.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import ppl
import ppl.tensor as tt
from ppl.graph import substitute, topological


def chain(x: Any, size: int) -> Any:
    y = x
    for _ in range(size // 2):
        y = tt.sin(y) * 1.001
    return y


def wide(x: Any, size: int) -> Any:
    terms = [x * (1.0 + i) for i in range(size // 3)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) // 2 * 2 :]
    return terms[0]


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    """Of this process's own work, so that a busy machine changes little."""
    start = time.process_time()
    result = job()
    return time.process_time() - start, result


def graph_times(build: Callable[[Any, int], Any], size: int) -> dict[str, float]:
    x, z = tt.dscalar("x"), tt.dscalar("z")
    times: dict[str, float] = {}
    times["build"], y = seconds(lambda: build(x, size))
    times["walk"], _ = seconds(lambda: topological(y))
    times["substitute"], _ = seconds(lambda: substitute(y, {x: z}))
    times["debugprint"], _ = seconds(lambda: ppl.dprint(y, file="str"))
    times["pprint"], _ = seconds(lambda: ppl.pprint(y))
    times["digest"], _ = seconds(lambda: ppl.digest(y))
    file = io.BytesIO()
    times["save"], _ = seconds(lambda: ppl.save(file, y))
    times["load"], _ = seconds(lambda: ppl.load(io.BytesIO(file.getvalue())))
    times["to_networkx"], _ = seconds(lambda: ppl.to_networkx(y))
    times["grad (node)"], g = seconds(lambda: ppl.grad(y, x))
    with jax.enable_x64(True):
        times["lower to JAX"], _ = seconds(lambda: jax.jit(ppl.to_jax([x], y)).lower(1.0))
        times["lower gradient"], _ = seconds(lambda: jax.jit(ppl.to_jax([x], g)).lower(1.0))
    return times


def print_graph_times(small: int, large: int) -> None:
    for build in (chain, wide):
        first, second = graph_times(build, small), graph_times(build, large)
        print(f"\n{build.__name__:<16}{small:>10} nodes{large:>10} nodes   µs a node   ratio")
        for what, time_small in first.items():
            time_large = second[what]
            linear = time_large / large / (time_small / small)
            print(
                f"{what:<16}{time_small:>14.3f} s{time_large:>14.3f} s{time_large / large * 1e6:>12.2f}{linear:>8.2f}"
            )


def best(job: Callable[[], Any], calls: int = 2000) -> float:
    """Microseconds a call, the least of several runs."""
    job()
    return min(timeit.repeat(job, number=calls, repeat=15)) / calls * 1e6


def print_call_overhead() -> None:
    def by_hand(a: Any) -> Any:
        return (jax.numpy.sin(a) * 2).sum()

    jitted = jax.jit(by_hand)
    print(f"\n{'a call':<28}{'by hand':>12}{'in a context':>14}{'ppl':>10}{'ratio':>9}{'in context':>12}")
    for title, value in (("vector of 10", np.ones(10)), ("vector of 100,000", np.ones(100_000))):
        x = tt.tensor("x", dtype="float64", shape=(None,))
        f = ppl.function([x], (tt.sin(x) * 2).sum())

        def with_context(value: Any = value) -> Any:
            with jax.enable_x64(True):
                return np.asarray(jitted(value))

        ratios = []
        for _ in range(5):  # in turns, so that a busy machine disturbs all alike
            with jax.enable_x64(True):
                hand = best(lambda value=value: np.asarray(jitted(value)), 400)
            around = best(with_context, 400)
            ours = best(lambda f=f, value=value: f(value), 400)
            ratios.append((hand, around, ours, ours / hand, ours / around))
        hand, around, ours, ratio, in_context = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"{title:<28}{hand:>9.2f} µs{around:>11.2f} µs{ours:>7.2f} µs{ratio:>9.2f}{in_context:>12.2f}")


def print_import_time() -> None:
    def fresh(statement: str) -> float:
        code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return float(run.stdout)

    pairs = [(fresh("import jax"), fresh("import ppl")) for _ in range(7)]
    jax_time, ppl_time = (min(column) for column in zip(*pairs, strict=True))
    print(f"\nimport jax {jax_time:.3f} s, import ppl {ppl_time:.3f} s, ratio {ppl_time / jax_time:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--small", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--calls", action="store_true", help="only what a call costs")
    args = parser.parse_args()
    small, large = (1_000, 10_000) if args.small else (10_000, 100_000)
    print(f"jax {jax.__version__}, Python {sys.version.split()[0]}")
    print_call_overhead()
    if args.calls:
        return
    print_import_time()
    print_graph_times(small, large)


if __name__ == "__main__":
    main()
