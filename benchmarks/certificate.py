"""What the certificate of a run costs: milliseconds in a first and in a second run, beside those of the run itself.

python benchmarks/certificate.py                 all models of rewrites_models.py; each in a process of its own
python benchmarks/certificate.py schools radon   some of them

A first run has the certificate to prepare (in a thread of its own, beside the program of the sampler), a second
one of the same model finds it ready. Printed are the whole run without a certificate, and what the run waits for: the
time from when draws are there until they are judged. The bar is 2 % of the run, or 20 ms where that is more.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from typing import Any

from _process import environment
from rewrites_models import DRAWS, MODELS, ROUNDS, versions

PERCENT, MILLISECONDS = 2.0, 20.0


def run(name: str) -> dict[str, Any]:
    """Milliseconds of the certificate and seconds of the run, the first and the least of later ones; how many draws
    were checked, and what was found."""
    import ppl as pm
    from ppl.model.finishing.finishing import Finisher

    judged: list[float] = []
    judge = Finisher._certificate

    def timed(self: Any, *given: Any) -> Any:
        if self._preparing is not None:  # the run waits for its own program here, with a certificate or without
            began = time.perf_counter()
            self._notary()
            self._preparing.join()
            prepared.append(time.perf_counter() - began)
        began = time.perf_counter()
        found = judge(self, *given)
        judged.append(time.perf_counter() - began)
        checked.append(found)
        return found

    prepared: list[float] = []
    checked: list[Any] = []
    Finisher._certificate = timed  # type: ignore[method-assign]
    seconds = []
    with warnings.catch_warnings(), pm.Model():
        warnings.simplefilter("ignore")
        MODELS[name](pm)
        for seed in range(1, 2 + ROUNDS):
            began = time.perf_counter()
            pm.sample(**{**DRAWS, "random_seed": seed}, quiet=True)
            seconds.append(time.perf_counter() - began)
    return {
        "first": 1e3 * (judged[0] + sum(prepared[:1])),
        "second": 1e3 * min(judged[1:]),
        "run": seconds[0],
        "again": min(seconds[1:]),
        "draws": checked[-1].draws,
        "verdict": checked[-1].verdict,
        "error": checked[-1].error,
    }


def measured(name: str) -> dict[str, Any]:
    """The numbers of a model, from a fresh process with no programs on disk."""
    command = [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(PPL_DISK_CACHE="0"))
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        reason = done.stderr.strip().splitlines()[-1:] or ["no output"]
        print(f"{name}: {reason[0]}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def over(milliseconds: float, seconds: float) -> tuple[float, bool]:
    """Percent of what the run would take without, and whether that is above the bar."""
    percent = 100.0 * milliseconds / (1e3 * seconds - milliseconds)
    return percent, percent > PERCENT and milliseconds > MILLISECONDS


def report(names: list[str]) -> None:
    """Measure and print."""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"Python {platform.python_version()}, {versions()}; load {load}")
    print(f"{'':12}{'first run':>28}{'second run':>30}")
    print(f"{'':12}{'certificate':>14}{'run':>10}{'':>8}{'certificate':>14}{'run':>10}   draws  verdict")
    for name in names:
        found = measured(name)
        if not found:
            continue
        line = f"{name:12}"
        for which, whole in (("first", "run"), ("second", "again")):
            percent, above = over(found[which], found[whole])
            line += f"{found[which]:11.1f} ms{found[whole]:8.2f} s{percent:6.1f} %{'!' if above else ' '}"
        print(f"{line}{found['draws']:6}   {found['verdict']}, error {found['error']:.0e}", flush=True)
    print(f"load {', '.join(f'{x:.1f}' for x in os.getloadavg())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(run(sys.argv[2])))
    else:
        report(sys.argv[1:] or list(MODELS))
