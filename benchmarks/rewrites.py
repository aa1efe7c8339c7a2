"""Rewriting, against PyTensor's rewriting of the same expressions in one run: milliseconds, growth, and what comes out.

python benchmarks/rewrites.py            ours, and PyTensor where it is installed
python benchmarks/rewrites.py --large    also 100,000 nodes (ours only)
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.graph import ancestors
from ppl.rewrites import optimize


def chain(t: Any, n: int) -> Any:
    """x ← exp(-x) + y, again and again."""
    x, y = t.dscalar("x"), t.dscalar("y")
    e = x
    for _ in range(n // 3):
        e = t.exp(-e) + y
    return e


def long_sum(t: Any, n: int) -> Any:
    """x + sin(0·x) + sin(1·x) + …"""
    x = t.dscalar("x")
    e = x
    for i in range(n // 4):
        e = e + t.sin(x * float(i))
    return e


def log_terms(t: Any, n: int) -> Any:
    """Σ log(1 + exp(i·x - y)): a stabilizing rule for every term."""
    x, y = t.dscalar("x"), t.dscalar("y")
    e = x
    for i in range(1, n // 7 + 1):
        e = e + t.log(1.0 + t.exp(x * float(i) - y))
    return e


def density(t: Any, n: int) -> Any:
    """The log-density of a hierarchical model: normal groups with their own scales, 10 nodes a group."""
    mu, tau = t.dscalar("mu"), t.dscalar("tau")
    total = -0.5 * mu**2 - tau
    for i in range(max(1, n // 16)):
        theta, s = t.dscalar(f"theta{i}"), t.dscalar(f"s{i}")
        total = total - 0.5 * ((theta - mu) / t.exp(tau)) ** 2 - t.log(t.exp(tau)) - 0.9189385
        total = total - 0.5 * ((float(i) - theta) / t.exp(s)) ** 2 - s - 0.9189385
    return total


ROUNDS = 31
CASES = {"chain": chain, "long sum": long_sum, "log terms": log_terms, "density": density}


def median_ms(work: Callable[[], Any], times: int) -> float:
    """The median processor time of some calls, in milliseconds."""
    taken = []
    for _ in range(times):
        start = time.process_time()  # of this one thread; the machine may have other work
        work()
        taken.append(time.process_time() - start)
    return 1e3 * statistics.median(taken)


def ours(case: Callable[[Any, int], Any], n: int, times: int) -> tuple[int, float]:
    """Nodes, and milliseconds to rewrite them. Every time the graph is new, so nothing is remembered."""
    graphs = [case(tt, n) for _ in range(times)]
    rest = iter(graphs)
    return len(ancestors(graphs[0])), median_ms(lambda: optimize([next(rest)]), times)


def theirs(case: Callable[[Any, int], Any], n: int, times: int) -> float | None:
    """Milliseconds for PyTensor's default rewriting in JAX mode; None where PyTensor is missing."""
    try:
        import pytensor
        import pytensor.tensor as pt
        from pytensor.compile.mode import JAX
        from pytensor.graph.fg import FunctionGraph
    except ImportError:
        return None
    graphs = []
    for _ in range(times):
        output = case(pt, n)
        inputs = [v for v in pytensor.graph.traversal.ancestors([output]) if v.owner is None and v.name]
        graphs.append(FunctionGraph(inputs, [output], clone=True))
    rest = iter(graphs)
    return median_ms(lambda: JAX.optimizer.rewrite(next(rest)), times)


def compile_ms(outputs: Sequence[Any], rounds: int) -> list[list[float]]:
    """Milliseconds XLA needs for value and gradient of each, in some rounds in turns (processor time)."""
    found: list[list[float]] = [[] for _ in outputs]
    with jax.enable_x64(True):
        for number in range(rounds):
            for times, output in zip(found, outputs, strict=True):
                inputs = [x for x in ancestors([output]) if not x.inputs and x.op.name == "input"]
                f = tt.to_jax(inputs, output)
                both = jax.value_and_grad(lambda xs, f=f: f(*xs))
                lowered = jax.jit(both).lower([np.float64(0.5 + number)] * len(inputs))
                start = time.process_time()
                lowered.compile()
                times.append(1e3 * (time.process_time() - start))
    return found


def print_times(large: bool) -> None:
    print(f"{'case':>10} {'nodes':>7} {'ours ms':>9} {'µs/node':>8} {'PyTensor ms':>12} {'times':>6}")
    for name, case in CASES.items():
        for n in (200, 2000, 10_000, *([100_000] if large else [])):
            nodes, mine = ours(case, n, 5 if n <= 2000 else 1)
            other = theirs(case, n, 3 if n <= 200 else 1) if n <= 2000 else None
            rival = "" if other is None else f"{other:12.1f} {other / mine:6.0f}"
            print(f"{name:>10} {nodes:7d} {mine:9.1f} {1e3 * mine / nodes:8.1f} {rival}", flush=True)


def print_compile_times() -> None:
    print(
        f"\ncompile time of value and gradient, before and after rewriting, in {ROUNDS} rounds in turns: medians",
        end="",
    )
    print(" in ms,")
    print("that of the ratios, and how far it may be off (its standard error)")
    for name, case in CASES.items():
        graph = case(tt, 200)
        before, after = compile_ms([graph, optimize([graph])[0]], ROUNDS)
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        low, ratio, high = statistics.quantiles(ratios, n=4)
        error = 0.93 * (high - low) / len(ratios) ** 0.5  # 1.25 standard deviations, each 0.74 of that range
        medians = f"{statistics.median(before):9.1f} {statistics.median(after):9.1f}"
        print(f"{name:>10} {medians} {ratio:7.3f} {error:6.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 100,000 nodes")
    parser.add_argument("--compile", action="store_true", help="only the time to compile")
    given = parser.parse_args()
    optimize([tt.dscalar("x") + 1])  # the rules are made ready once
    if not given.compile:
        print_times(given.large)
    print_compile_times()


if __name__ == "__main__":
    main()
