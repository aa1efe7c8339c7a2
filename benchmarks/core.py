"""The symbolic core: what a node costs, what a call costs, what the import costs.

    python benchmarks/core.py            prints a table; takes about four minutes
    python benchmarks/core.py --small    a tenth of the sizes

The last column of growth is the time per node at the large size over that at the small one: 1 means linear.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from _process import environment

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


def print_growth(small: int, large: int) -> None:
    """Ten small graphs against one that is ten times as large. A full collection of garbage takes as long as building
    some thousand nodes, and falls into one small graph and not into the next: hence ten, and their mean."""
    for build in (chain, wide):
        repeats = [graph_times(build, small) for _ in range(large // small)]
        second = graph_times(build, large)
        print(f"\n{build.__name__:<16}{small:>10} nodes{large:>10} nodes   µs a node   ratio")
        for what, time_large in second.items():
            time_small = statistics.fmean(times[what] for times in repeats)
            linear = time_large / large / (time_small / small)
            each = time_large / large * 1e6
            print(f"{what:<16}{time_small:>14.3f} s{time_large:>14.3f} s{each:>12.2f}{linear:>8.2f}", flush=True)


def burst_of(job: Callable[[], Any], burst: float = 1e-3) -> int:
    """How many calls make a short burst."""
    job()
    return max(5, int(burst / min(timeit.repeat(job, number=5, repeat=5)) * 5))


class Call(NamedTuple):
    """One and the same call: a jitted function written by hand, within the 64-bit setting, and ours."""

    title: str
    by_hand: Callable[[], Any]
    ours: Callable[[], Any]


def calls() -> Iterator[Call]:
    jitted = jax.jit(lambda a: (jnp.sin(a) * 2).sum())
    x, y = tt.dvector("x"), tt.dvector("y")
    f = ppl.function([x], (tt.sin(x) * 2).sum())
    for n in (10, 100_000):
        given = np.ones(n)
        yield Call(f"vector of {n:,}", lambda given=given: np.asarray(jitted(given)), lambda given=given: f(given))
    several = jax.jit(lambda a, b: ((a * b).sum(), a + b))
    g = ppl.function([x, y], [(x * y).sum(), x + y])
    ten = np.ones(10)
    yield Call("two inputs, two outputs", lambda: [np.asarray(r) for r in several(ten, ten)], lambda: g(ten, ten))
    weights = np.linspace(0, 1, 10)
    with jax.enable_x64(True):
        on_device = jax.device_put(weights)
    dot = jax.jit(lambda a, w: a @ w)
    h = ppl.function([x], x @ ppl.shared(weights))
    yield Call("reads a variable", lambda: np.asarray(dot(ten, on_device)), lambda: h(ten))
    moved = jax.jit(lambda a, w: (a @ w, w * 0.5 + a))
    held, state = [on_device], ppl.shared(weights)
    step = ppl.function([x], x @ state, updates={state: state * 0.5 + x})

    def step_by_hand() -> Any:
        result, held[0] = moved(ten, held[0])
        return np.asarray(result)

    yield Call("updates a variable", step_by_hand, lambda: step(ten))


def in_turns(call: Call, bursts: int = 400) -> tuple[float, float, list[float]]:
    """Microseconds a call by hand and by ppl, the medians, and the quartiles of the ratio. Short bursts take turns, so
    that a busy machine disturbs both alike."""
    with jax.enable_x64(True):
        number = burst_of(call.by_hand)
    burst_of(call.ours)
    pairs = []
    for _ in range(bursts):
        with jax.enable_x64(True):
            hand = timeit.timeit(call.by_hand, number=number)
        pairs.append((hand / number * 1e6, timeit.timeit(call.ours, number=number) / number * 1e6))
    hand, mine = (statistics.median(column) for column in zip(*pairs, strict=True))
    return hand, mine, statistics.quantiles([b / a for a, b in pairs])


def print_call_times() -> None:
    print(f"\n{'a call':<28}{'by hand':>12}{'ppl':>14}{'ratio':>9}   quartiles of the ratio")
    for call in calls():
        hand, mine, (low, ratio, high) = in_turns(call)
        print(f"{call.title:<28}{hand:>9.2f} µs{mine:>11.2f} µs{ratio:>9.2f}   {low:.2f} to {high:.2f}", flush=True)


def print_import_times() -> None:
    """Seconds of the processor from nothing to the end of an import, the least of some."""

    def fresh(statement: str) -> float:
        code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
        )
        return float(run.stdout)

    fresh("import ppl")
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
    print_call_times()
    if not args.calls:
        print_import_times()
        print_growth(small, large)


if __name__ == "__main__":
    main()
