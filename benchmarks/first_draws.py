"""How long the first draws of a law take, before anything of it is compiled.

    python benchmarks/first_draws.py [GROUP or FAMILY ...]    groups: continuous, discrete, multivariate, ...

One process, one family after the other. For each: seconds of processor of the first `pm.draw` of some numbers, of a
million numbers, and of a million numbers as draws of their own, none of which had been asked for before; the programs
that XLA compiled for the three and their lines of StableHLO; and the programs that another size compiled.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import jax
from distribution_cases import GROUPS, Case, N

import ppl as pm
from ppl.samplers.programs import programs

BAR = 0.3
FEW, OTHER = 1_000, 700
compiled, lines = [0], [0]


def listen() -> None:
    """Count what XLA compiles, operations by themselves too, and the lines of our programs."""
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.__setitem__(0, compiled[0] + event.endswith("backend_compile_duration"))
    )
    compile_ = programs._compile

    def counted(lowered: Any, options: Any) -> Any:
        lines[0] += lowered.as_text().count("\n")
        return compile_(lowered, options)

    programs._compile = counted


def law(case: Case, shape: Any) -> Any:
    options = {"compute_corr": False} if case.family == "LKJCholeskyCov" else {}
    return getattr(pm, case.family).dist(**case.arguments(pm), **options, shape=shape)


def shaped(case: Case, numbers: int) -> Any:
    """A law of so many numbers."""
    one = law(case, None)
    return law(case, (max(1, numbers // case.numbers), *one.type.shape[one.ndim - one.event_ndim :]))


def seconds(draw: Any) -> float:
    start = time.process_time()
    draw()
    return time.process_time() - start


def row(case: Case) -> tuple[list[float], int, int, int]:
    compiled[0] = lines[0] = 0
    times = [
        seconds(lambda: pm.draw(shaped(case, FEW), random_seed=1)),
        seconds(lambda: pm.draw(shaped(case, N), random_seed=1)),
        seconds(lambda: pm.draw(law(case, None), draws=N // case.numbers, random_seed=1)),
    ]
    first, long = compiled[0], lines[0]
    pm.draw(shaped(case, OTHER), random_seed=1)
    pm.draw(shaped(case, N - 5 * case.numbers), random_seed=1)
    return times, first, long, compiled[0] - first


def report(*wanted: str) -> int:
    warnings.simplefilter("ignore")
    listen()
    pm.draw(pm.Normal.dist(), random_seed=1)
    slow = 0
    print(f"{'seconds of processor':24}{'1e3':>8}{'1e6':>8}{'draws':>8}{'programs':>10}{'lines':>8}{'other size':>12}")
    for group, cases in GROUPS.items():
        for case in cases:
            if wanted and not {group, case.family} & set(wanted):
                continue
            try:
                times, first, long, more = row(case)
            except Exception as error:
                print(f"{case.family:24}{type(error).__name__}: {str(error)[:80]}", flush=True)
                continue
            late = max(times) > BAR
            slow += late
            cells = "".join(f"{t:8.2f}" for t in times)
            print(f"{case.family:24}{cells}{first:10}{long:8}{more:12}{'  ABOVE' if late else ''}", flush=True)
    return slow


if __name__ == "__main__":
    raise SystemExit(report(*sys.argv[1:]) > 0)
