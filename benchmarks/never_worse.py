"""Whether rewriting makes any model slower than it is as written: effective draws for a second of processor, both ways.

python benchmarks/never_worse.py POSTERIORS             all models; POSTERIORS is a folder with posteriors.py and data/
python benchmarks/never_worse.py POSTERIORS NAME ...    some of them, which may have * in their names

Models are those of the folder, of `rewrites_models.py` and of `series_models.py`. Each has a process of its own, in
which both ways run once, so that all is compiled, and then by turns with other seeds: the time is that of the processor
for all of a call of `pm.sample`, recovery, certificate and checks included, and the draws are the smallest bulk or tail
effective sample size over all entries of all variables. The score is the geometric mean of the draws of the rounds by
the least time of a leapfrog step among them (or of a run, without steps), since the machine does other things too.
Beside the ratio stands the standard error that it has from the draws, which are as random as the seeds. A ratio below
0.95 is marked.
"""

from __future__ import annotations

import fnmatch
import gzip
import importlib.util
import json
import logging
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _process import environment
from rewrites_models import MODELS, least_ess
from series_models import SERIES

BAR = 0.95
CALL = {"draws": 1000, "tune": 1000, "chains": 4, "progressbar": False}
LEAST_ROUNDS, MOST_ROUNDS, ENOUGH = 3, 30, 5.0  # seconds of processor, from which on no further round begins
WAYS = {"rewritten": True, "as written": False}


def posteriors(folder: str) -> dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]]:
    """Models of a folder, each a function of the package to the model and further arguments of `sample`."""
    spec = importlib.util.spec_from_file_location("posteriors", Path(folder) / "posteriors.py")
    assert spec is not None and spec.loader is not None
    known = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(known)

    def of(name: str) -> Callable[[Any], tuple[Any, dict[str, Any]]]:
        def build(pm: Any) -> tuple[Any, dict[str, Any]]:
            import ppl.tensor

            with gzip.open(Path(folder) / "data" / f"{name}.json.gz") as file:
                data = {key: np.asarray(v) if isinstance(v, list) else v for key, v in json.load(file).items()}
            return known.POSTERIORS[name](pm, ppl.tensor, data), known.SAMPLE.get(name, {})

        return build

    return {name: of(name) for name in known.POSTERIORS}


def written(define: Callable[[Any], None]) -> Callable[[Any], tuple[Any, dict[str, Any]]]:
    def build(pm: Any) -> tuple[Any, dict[str, Any]]:
        with pm.Model() as model:
            define(pm)
        return model, {}

    return build


def models(folder: str) -> dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]]:
    return {**posteriors(folder), **{name: written(define) for name, define in (MODELS | SERIES).items()}}


def measure(folder: str, name: str) -> dict[str, list[list[float]]]:
    """Effective draws and seconds of processor of each way in each round, and leapfrog steps."""
    import ppl as pm

    logging.getLogger("ppl").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    build, found = models(folder)[name], {way: list[list[float]]() for way in WAYS}
    built = {way: build(pm) for way in WAYS}  # a model each: what a first run finds out is kept with its model
    for number in range(1 + MOST_ROUNDS):
        if number == 1:
            began = time.process_time()
        if number > LEAST_ROUNDS and time.process_time() - began > ENOUGH:
            break
        for way, (model, more) in built.items():
            start = time.process_time()
            with model:
                result = pm.sample(**CALL, **more, rewrite=WAYS[way], random_seed=1 + number)
            seconds = time.process_time() - start
            stats = result.sample_stats if hasattr(result, "sample_stats") else {}
            steps = float(stats["n_steps"].mean()) if "n_steps" in stats else 0.0
            if number:  # what is compiled in the first round does not count
                found[way].append([least_ess(result), seconds, steps])
    return found


def told(name: str, found: dict[str, list[list[float]]]) -> tuple[float, str]:
    """The ratio, and a line of the table."""
    sizes = {way: [math.log(ess) for ess, _, _ in rows] for way, rows in found.items()}
    costs = {way: _seconds(rows) for way, rows in found.items()}
    differences = [a - b for a, b in zip(*(sizes[way] for way in WAYS), strict=True)]
    scores = {way: math.exp(statistics.mean(sizes[way])) / costs[way] for way in WAYS}
    ratio = scores["rewritten"] / scores["as written"]
    error = ratio * statistics.stdev(differences) / math.sqrt(len(differences))
    line = f"{name:52}"
    for way in WAYS:
        steps = statistics.mean(steps for _, _, steps in found[way])
        line += f"{scores[way]:11.0f} ({math.exp(statistics.mean(sizes[way])):5.0f}, {costs[way]:6.3f} s, {steps:5.1f})"
    return ratio, f"{line}{ratio:9.2f} ± {error:.2f}{'  LOSS' if ratio < BAR else ''}"


def _seconds(rows: list[list[float]]) -> float:
    """Of a run of the mean number of steps, by the round whose steps were quickest."""
    steps = [max(steps, 1.0) for _, _, steps in rows]
    return min(seconds / n for (_, seconds, _), n in zip(rows, steps, strict=True)) * statistics.mean(steps)


def report(folder: str, *patterns: str) -> int:
    """Measure and print; the number of losses."""
    names = [n for n in models(folder) if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)]
    columns = "".join(f"{f'{way} (ESS, seconds, steps)':>35}" for way in WAYS)
    print(f"{'effective draws for a second of processor':52}{columns}{'ratio':>9}", flush=True)
    ratios = []
    for name in names:
        command = [sys.executable, __file__, "--one", folder, name]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            print(f"{name:52} {(done.stderr.strip().splitlines() or ['no output'])[-1]}", flush=True)
            continue
        ratio, line = told(name, json.loads(lines[-1]))
        ratios.append(ratio)
        print(line, flush=True)
    losses = sum(ratio < BAR for ratio in ratios)
    if ratios:
        print(f"{len(ratios)} models: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}, {losses} losses")
    return losses


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*sys.argv[2:])))
    elif len(sys.argv) < 2:
        print(__doc__)
    else:
        sys.exit(report(*sys.argv[1:]) > 0)
