"""The first second: from the start of a process to a printed table of small models; and the second model after it.

    python benchmarks/first_second.py                   every row, medians of five processes
    python benchmarks/first_second.py --repeats 3 --without pymc nutpie

Each figure is of a process of its own, from before it is started until it has ended: seconds by the wall, and of the
processor, children counted. Byte code is there already. "Nothing kept" has an empty folder for compiled programs, "from
disk" one that an earlier process has filled; rivals keep theirs in a folder of the same kind. "Other data" is a second
model in one process, with other numbers of the same sizes. Rivals that are not installed are left out.

Eight schools have normal rows or rows of Student's t. The logistic regression has 500 rows and 5 coefficients, counts
are of 20 groups with negative binomial rows and predictive draws of each, and the conjugate model is a share of 100
trials.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _process import environment

MODEL = """
import sys, time
import numpy as np
import {package} as pm
def fit(y, **options):
    with pm.Model(coords={{"school": np.arange(8)}}):
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.{rows}, observed=y, dims="school")
        return pm.sample(random_seed=1, progressbar=False, {options})
scales = np.array([15., 10, 16, 11, 9, 11, 10, 18])
result = fit(np.array([28., 8, -3, 7, -1, 1, 18, 12]))
print(pm.summary(result))
{more}
"""
LOGISTIC = """
import numpy as np
import ppl as pm
rng = np.random.default_rng(1)
X = rng.normal(size=(500, 5))
y = rng.random(500) < 1 / (1 + np.exp(-X @ [1, -1, 0.5, 0, 2]))
with pm.Model():
    beta = pm.Normal("beta", 0, 2, shape=5)
    pm.Bernoulli("y", logit_p=pm.math.dot(X, beta), observed=y)
    result = pm.sample(random_seed=1, progressbar=False)
print(pm.summary(result))
"""
COUNTS = """
import numpy as np
import ppl as pm
rng = np.random.default_rng(1)
group = np.repeat(np.arange(20), 15)
y = rng.negative_binomial(3, 3 / (3 + np.exp(1 + 0.5 * rng.normal(size=20))[group]))
with pm.Model():
    mu, tau, alpha = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1), pm.Exponential("alpha", 0.2)
    effect = pm.Normal("effect", mu, tau, shape=20)
    pm.NegativeBinomial("y", mu=pm.math.exp(effect[group]), alpha=alpha, observed=y)
    result = pm.sample(random_seed=1, progressbar=False)
    result.extend(pm.sample_posterior_predictive(result, random_seed=2, progressbar=False))
print(pm.summary(result))
"""
CONJUGATE = """
import ppl as pm
with pm.Model():
    share = pm.Beta("share", 2, 2)
    pm.Binomial("y", 100, share, observed=37)
    result = pm.sample(random_seed=1, progressbar=False)
print(pm.summary(result))
"""
NORMAL, STUDENT = 'Normal("y", theta, scales', 'StudentT("y", 4, theta, scales'
AGAIN = """
began, processor = time.perf_counter(), time.process_time()
fit(np.array([2., -18, 13, 4, -1, 11, 8, 22]))
print("second", time.perf_counter() - began, time.process_time() - processor)
"""


def program(package: str, rows: str = NORMAL, options: str = "", more: str = "") -> str:
    return MODEL.format(package=package, rows=rows, options=options, more=more)


ROWS = {
    "import jax": "import jax",
    "import ppl": "import ppl",
    "eight schools, rewritten": program("ppl"),
    "eight schools, as written, nothing kept": program("ppl", options="rewrite=False"),
    "eight schools, as written, from disk": program("ppl", options="rewrite=False"),
    "rows of Student's t, rewritten, nothing kept": program("ppl", STUDENT),
    "rows of Student's t, other data": program("ppl", STUDENT, more=AGAIN),
    "logistic regression, nothing kept": LOGISTIC,
    "logistic regression, from disk": LOGISTIC,
    "counts and their predictive draws, nothing kept": COUNTS,
    "counts and their predictive draws, from disk": COUNTS,
    "a conjugate model": CONJUGATE,
    "pymc, nothing kept": program("pymc"),
    "pymc, from disk": program("pymc"),
    "nutpie, nothing kept": program("pymc", options='nuts_sampler="nutpie"'),
    "nutpie, from disk": program("pymc", options='nuts_sampler="nutpie"'),
}


def kept_in(folder: str) -> dict[str, str]:
    """The variables that say where each package keeps what it has compiled."""
    return environment(
        PPL_DISK_CACHE=folder, PYTENSOR_FLAGS=f"base_compiledir={folder}", NUMBA_CACHE_DIR=str(Path(folder, "numba"))
    )


def measured(text: str, folder: str) -> tuple[float, float]:
    """Seconds of a process by the wall and of the processor; or those that it prints of its second model."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", text], env=kept_in(folder), capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - began, os.times()
    told = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("second ")]
    if told:
        return float(told[0][0]), float(told[0][1])
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def row(name: str, text: str, repeats: int) -> list[tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        if name.endswith("from disk"):
            measured(text, folder)
        fresh: Callable[[int], str] = lambda i: folder if name.endswith("from disk") else tempfile.mkdtemp(dir=folder)
        return [measured(text, fresh(i)) for i in range(repeats)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], help="rows whose names begin so are left out")
    chosen = parser.parse_args()
    measured("import ppl", tempfile.gettempdir())  # byte code
    print(f"{'median (least) seconds':48}{'wall':>16}{'processor':>16}  load")
    for name, text in ROWS.items():
        rival = next((package for package in ("nutpie", "pymc") if name.startswith(package)), None)
        if name.startswith(tuple(chosen.without)) or (rival and not importlib.util.find_spec(rival)):
            continue
        figures = list(zip(*row(name, text, chosen.repeats), strict=True))
        shown = "".join(f"{statistics.median(f):8.2f} ({min(f):.2f})" for f in figures)
        print(f"{name:48}{shown}  {os.getloadavg()[0]:.0f}", flush=True)


if __name__ == "__main__":
    main()
