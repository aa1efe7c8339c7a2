"""Public posteriors from the start of a process, beside Stan's programs: effective draws a second, losses printed.

    python benchmarks/public_posteriors.py FOLDER                          ppl alone
    python benchmarks/public_posteriors.py FOLDER --stan POSTERIORDB --python PYTHON
    python benchmarks/public_posteriors.py FOLDER --only "rats*" --repeats 3

FOLDER holds models (`posteriors.py`, functions of PyMC's name space), their data and reference moments
(`reference.json`); POSTERIORDB a copy of posteriordb, with the same posteriors in Stan's language. PYTHON is an
interpreter that has `stanli`, which interprets Stan's programs.

Each figure is of a process of its own, from before it is started until it has printed the table of its parameters and
has ended. It is the second one: programs, byte code and data are on disk already. Four chains of 1,000 draws after
1,000, by the same target of acceptance. Effective draws are the fewest of any parameter in the reference, by
ranks, for both by the same estimator; so many draws a second of the wall, and of the processor (children counted) where
the machine does other work too. "off" is the largest distance of a mean from the reference, in its standard deviations.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _process import environment

from ppl.samplers.runs.diagnostics import ess_bulk

SAVE = """
import re
def entry(values, parameter):
    name, index = re.fullmatch(r"([^\\[]+)(?:\\[([\\d,]+)\\])?", parameter).groups()
    x = np.asarray(values(name))
    return x.reshape(x.shape[:2]) if index is None else x[(..., *(int(i) - 1 for i in index.split(",")))]
np.save(sys.argv[5], np.stack([entry(values, p) for p in parameters]))
"""
PPL = """
import gzip, json, sys
folder, name, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, folder)
import numpy as np
import ppl as pm
import ppl.tensor as pt
from posteriors import POSTERIORS, SAMPLE
with gzip.open(f"{folder}/data/{name}.json.gz") as f:
    data = {k: np.asarray(v) if isinstance(v, list) else v for k, v in json.load(f).items()}
with POSTERIORS[name](pm, pt, data):
    result = pm.sample(random_seed=1, progressbar=False, chains=4, **SAMPLE.get(name, {}))
print(pm.summary(result))
values = lambda name: result.posterior[name]
"""
STAN = """
import json, sys, zipfile
folder, name, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
target = float(sys.argv[4])
import numpy as np
about = json.load(open(f"{folder}/posterior_database/posteriors/{name}.json"))
code = open(f"{folder}/posterior_database/models/stan/{about['model_name']}.stan").read()
with zipfile.ZipFile(f"{folder}/posterior_database/data/data/{about['data_name']}.json.zip") as f:
    data = json.loads(f.read(f.namelist()[0]))
"""
PROGRAMS = {
    "ppl": PPL,
    "stanli": STAN
    + """
import stanli
model = stanli.Model(stan_code=code, data=data)
fit = model.sample(seed=1, chains=4, refresh=0, delta=target)
print(fit.summary())
values = fit.draws
""",
}


class Figures(NamedTuple):
    wall: float
    processor: float
    effective: float
    off: float


def measured(command: list[str], kept: dict[str, str]) -> tuple[float, float]:
    """Seconds of a process by the wall and of the processor."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(command, env=kept, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, os.times()
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def figures(package: str, name: str, chosen: argparse.Namespace, reference: dict[str, Any], target: float) -> Figures:
    """Medians of some processes, after one that is not counted, and saves the draws: they are the same in all."""
    interpreter, source = (sys.executable, chosen.folder) if package == "ppl" else (chosen.python, chosen.stan)
    kept = environment(PPL_DISK_CACHE=chosen.cache, XDG_CACHE_HOME=chosen.cache)
    told = [str(source), name, json.dumps(list(reference)), str(target)]
    with tempfile.TemporaryDirectory() as folder:
        out, first = str(Path(folder, "draws.npy")), PROGRAMS[package] + SAVE
        measured([interpreter, "-c", first, *told, out], kept)
        found = judged(np.load(out), reference)
    runs = [measured([interpreter, "-c", PROGRAMS[package], *told], kept) for _ in range(chosen.repeats)]
    wall, processor = (statistics.median(seconds) for seconds in zip(*runs, strict=True))
    return Figures(wall, processor, *found)


def judged(draws: np.ndarray, reference: dict[str, Any]) -> tuple[float, float]:
    """Effective draws of the parameter that has the fewest, and how far the means lie from the reference."""
    moving = [i for i, known in enumerate(reference.values()) if known["sd"] > 0]
    known = [[r["mean"], r["sd"]] for r in reference.values()]
    mean, sd = np.array(known)[moving].T
    return float(ess_bulk(np.moveaxis(draws[moving], 0, -1)).min()), float(
        np.max(np.abs(draws[moving].mean((1, 2)) - mean) / sd)
    )


def report(chosen: argparse.Namespace) -> int:
    """Posteriors on which a rival has more effective draws a second."""
    spec = importlib.util.spec_from_file_location("posteriors_of_folder", chosen.folder / "posteriors.py")
    assert spec and spec.loader
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    known = json.loads((chosen.folder / "reference.json").read_text())
    names = [n for n in models.POSTERIORS if n in known and any(fnmatch.fnmatch(n, p) for p in chosen.names or "*")]
    packages = ["ppl", *(["stanli"] if chosen.stan else [])]
    found: dict[str, list[Figures]] = {package: [] for package in packages}
    print(
        f"{'':50}"
        + "".join(f"{'| ' + package:>9}{'wall s':>9}{'cpu s':>8}{'eff.':>8}{'off':>7} " for package in packages)
    )
    for name in names:
        target, cells = models.SAMPLE.get(name, {}).get("target_accept", 0.8), ""
        for package in packages:
            try:
                f = figures(package, name, chosen, known[name], target)
            except Exception as error:
                print(f"{name:50}{package}: {type(error).__name__}: {str(error)[:100]}", flush=True)
                f = Figures(*[float("nan")] * 4)
            found[package].append(f)
            cells += f"{'|':>9}{f.wall:9.2f}{f.processor:8.2f}{f.effective:8.0f}{f.off:7.3f} "
        print(f"{name[:49]:50}{cells}", flush=True)
    for package in packages:
        wall, processor = ([getattr(f, what) for f in found[package]] for what in ("wall", "processor"))
        print(f"{package}: median {np.nanmedian(wall):.2f} s of the wall, most {np.nanmax(wall):.2f};"
              f" of the processor {np.nanmedian(processor):.2f}, most {np.nanmax(processor):.2f}")  # fmt: skip
    return sum([compared(names, found["ppl"], found[rival], rival) for rival in packages[1:]])


def compared(names: list[str], ours: list[Figures], theirs: list[Figures], rival: str) -> int:
    """Print how many times a rival's effective draws a second ours are, and where they are fewer."""
    lost = 0
    for what in ("wall", "processor"):
        times = np.array(
            [
                a.effective / getattr(a, what) / (b.effective / getattr(b, what))
                for a, b in zip(ours, theirs, strict=True)
            ]
        )
        losses = [f"{name} {ratio:.2f}" for name, ratio in zip(names, times, strict=True) if not ratio >= 1]
        mean = np.exp(np.nanmean(np.log(times)))
        print(f"effective draws a second of the {what}, times {rival}'s: geometric mean {mean:.2f},"
              f" {len(names) - len(losses)} of {len(names)} at least as many;"
              f" fewer: {', '.join(losses) or 'none'}")  # fmt: skip
        lost = lost or len(losses)
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", dest="names", help="posteriors, or patterns of their names")
    parser.add_argument("--stan", type=Path, help="a copy of posteriordb")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has stanli")
    parser.add_argument("--repeats", type=int, default=1, help="processes that are counted, by their medians")
    parser.add_argument("--cache", help="a folder of compiled programs that stays; a new one otherwise")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen.cache = chosen.cache or folder
        return report(chosen)


if __name__ == "__main__":
    sys.exit(main() > 0)
