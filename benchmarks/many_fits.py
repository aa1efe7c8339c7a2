"""How many fits a second `sample_many` and `map_fits` make, and what they compile.

python benchmarks/many_fits.py

Three models, 1,000 data sets of 50 rows each, all of one shape, by seconds of wall and of processor; 200 data sets of
200 sizes; and fits by processes, with what a task costs beside its fit.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import ppl as pm
from ppl.samplers import PROGRAMS

ROWS, SETS, SIZES = 50, 1000, 200
CHAINS = {"draws": 500, "tune": 500, "chains": 2}


def normal(y: np.ndarray) -> Any:
    """Normal rows, mean and scale unknown: nothing or one number is left."""
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 10), pm.HalfNormal("s", 2), observed=pm.Data("y_seen", y))
    return model


def student(y: np.ndarray) -> Any:
    """Student rows around a line, by NUTS."""
    with pm.Model() as model:
        x = pm.Data("x", np.linspace(-1, 1, len(y)))
        mean = pm.Normal("a", 0, 10) + pm.Normal("b", 0, 10) * x
        pm.StudentT("y", 4, mean, pm.HalfNormal("s", 2), observed=pm.Data("y_seen", y))
    return model


def counts(y: np.ndarray) -> Any:
    """Poisson rows with an effect of each of five groups."""
    with pm.Model() as model:
        effects = pm.Normal("effects", 0, pm.HalfNormal("t", 1), shape=5)
        rates = pm.math.exp(effects[np.arange(len(y)) % 5])
        pm.Poisson("y", rates, observed=pm.Data("y_seen", np.abs(y).astype(int)))
    return model


def timed(data: Any, model: Any, **options: Any) -> str:
    before, wall, processor = PROGRAMS.compilations, time.perf_counter(), time.process_time()
    fits = pm.sample_many(data, model=model, random_seed=1, progressbar=False, **options)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    rates = f"{len(fits) / wall:7.1f} a second {len(fits) / processor:7.1f} a second of processor"
    return f"{rates} {PROGRAMS.compilations - before:4} compilations {len(fits.failed):3} failed"


def main() -> None:
    rng = np.random.default_rng(0)
    sets = {"y_seen": rng.normal(3, 2, size=(SETS, ROWS))}
    for build, options in ((normal, {}), (student, CHAINS), (counts, CHAINS)):
        model = build(sets["y_seen"][0])
        rows = {"y_seen": np.abs(sets["y_seen"]).astype(int)} if build is counts else sets
        timed({"y_seen": rows["y_seen"][:1]}, model, **options)
        print(f"{build.__name__:8} {SETS} sets of one shape    {timed(rows, model, **options)}", flush=True)
    sizes = [{"x": np.linspace(-1, 1, n), "y_seen": rng.normal(size=n)} for n in range(ROWS, ROWS + SIZES)]
    print(f"student  {SIZES} sets of as many sizes {timed(sizes, student(sets['y_seen'][0]), **CHAINS)}", flush=True)

    items = list(sets["y_seen"][:100])
    for executor in (None, 2):
        began = time.perf_counter()
        pm.map_fits(normal, items[:2], executor=executor, random_seed=1, progressbar=False)
        start = time.perf_counter() - began
        fits = pm.map_fits(normal, items, executor=executor, random_seed=1, progressbar=False)
        where = "this process" if executor is None else f"{executor} processes"
        print(f"map_fits of 100 items in {where:13} {100 / fits.seconds:6.1f} a second, two items {start:.1f} s")


if __name__ == "__main__":
    main()
