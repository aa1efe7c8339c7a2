"""Draws without a chain beside NUTS, of every model that keeps two to four numbers after rewriting.

python benchmarks/few_numbers.py POSTERIORS             all models; POSTERIORS is a folder with posteriors.py and data/
python benchmarks/few_numbers.py POSTERIORS NAME ...    some of them, which may have * in their names

Models are those of the folder, of `rewrites_models.py` and `series_models.py`, of tests/sane_models.py and of the pages
in docs/gallery. Each has two processes for each way, `pm.sample` as it is and with `independent=False`, in seconds of
processor from its start to the printed summary: the first with nothing on disk, so that what it compiles counts, the
second with the programs of the first. Neither way finds the other's programs. Means and quantiles (2.5 % and 97.5 %)
of each free variable, of at most its first 200 entries, are compared: the largest difference of means is given in
standard errors of both together (among many entries 3.5 is usual), that of quantiles as the probability between them.
"""

from __future__ import annotations

import fnmatch
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _process import ROOT, environment

WAYS = {"without a chain": {}, "NUTS": {"independent": False}}
MOST = 4
SLOWER = 1.05
TAILS = (0.025, 0.975)


def models(folder: str) -> dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]]:
    """Functions of the package to the model and further arguments of `sample`."""
    import never_worse

    sys.path.insert(0, str(ROOT / "tests"))
    import sane_models

    found = never_worse.models(folder)
    found |= {f"sane: {name}": lambda pm, make=make: (make(), {}) for name, make in sane_models.SANE.items()}
    found |= {f"gallery: {page.stem}": _of_page(page) for page in sorted((ROOT / "docs/gallery").glob("*.md"))}
    return found


def _of_page(page: Path) -> Callable[[Any], tuple[Any, dict[str, Any]]]:
    """The model of a case study: what its page runs before it samples."""

    def build(pm: Any) -> tuple[Any, dict[str, Any]]:
        text = page.read_text(encoding="utf-8").partition("## Posterior")[0]
        names: dict[str, Any] = {"print": lambda *_: None}
        exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), names)
        return names["model"], {}

    return build


def numbers_left(folder: str) -> dict[str, int]:
    """How many dimensions each model keeps."""
    import ppl as pm
    from ppl.model.posterior.rewriting import rewritten

    found = {}
    for name, build in models(folder).items():
        try:
            posterior = rewritten(build(pm)[0])
            found[name] = sum(math.prod(value.type.shape) for value in posterior.values)
        except Exception as error:
            print(f"{name:52} {error!r}"[:160], file=sys.stderr)
    return found


def run(folder: str, name: str, way: str, file: str) -> None:
    """One process: draws of all free variables, and what made them."""
    import ppl as pm

    model, more = models(folder)[name](pm)
    with model:
        result = pm.sample(1000, tune=1000, chains=4, random_seed=1, progressbar=False, **{**more, **WAYS[way]})
    print(pm.summary(result))
    free = {rv.name: np.asarray(result.posterior[rv.name]) for rv in model.free_RVs if rv.name in result.posterior}
    made = np.array(str(result.posterior.attrs.get("drawn_by")))
    np.savez(file, _made=made, _seconds=np.array(time.process_time()), **free)


def measured(folder: str, name: str) -> dict[str, dict[str, np.ndarray]]:
    """What each way found, with the seconds of its two processes."""
    found = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as place:
            seconds = []
            for _ in range(2):
                command = [sys.executable, __file__, "--one", folder, name, way, f"{place}/draws.npz"]
                done = subprocess.run(command, capture_output=True, text=True, env=environment(PPL_DISK_CACHE=place))
                if done.returncode:
                    raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1][:120])
                with np.load(f"{place}/draws.npz") as read:
                    found[way] = dict(read)
                seconds.append(float(found[way]["_seconds"]))
            found[way]["_seconds"] = np.array(seconds)
    return found


def differences(ours: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> tuple[float, float]:
    """Of means, in standard errors; of quantiles, in probability."""
    from ppl.samplers.runs.diagnostics import ess_bulk

    means, tails = [0.0], [0.0]
    for name, all_of_ours in ours.items():
        if name.startswith("_") or all_of_ours.dtype.kind != "f":
            continue
        a, b = (x[name].reshape(*x[name].shape[:2], -1) for x in (ours, other))
        a, b = a[..., :200], b[..., :200]
        if not np.all(a.std(axis=(0, 1)) > 0):
            continue
        effective = ess_bulk(b)
        error = np.sqrt(a.var(axis=(0, 1)) / a[..., 0].size + b.var(axis=(0, 1)) / effective)
        means.append(float(np.max(np.abs(a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / error)))
        for share in TAILS:
            at = np.quantile(b, share, axis=(0, 1))
            tails.append(float(np.max(np.abs(np.mean(a < at, axis=(0, 1)) - share))))
    return max(means), max(tails)


def report(folder: str, *patterns: str) -> int:
    """Measure and print; the number of models that are slower than by NUTS."""
    left = {
        n: d for n, d in numbers_left(folder).items() if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)
    }
    few = {name: dim for name, dim in left.items() if 2 <= dim <= MOST}
    at_most = sum(dim <= MOST for dim in left.values())
    print(f"{len(left)} models: {at_most} keep at most {MOST} numbers, {len(few)} of these two or more")
    columns = f"{'without a chain':>16}{'NUTS':>14}{'times':>13}  means  tails  by"
    print(f"{'seconds of processor, first and second':44}{columns}")
    ratios, alone = [], 0
    for name, dim in few.items():
        try:
            ours, other = measured(folder, name).values()
        except RuntimeError as error:
            print(f"{name[:40]:40} {error}", flush=True)
            continue
        made, times = str(ours["_made"]), other["_seconds"] / ours["_seconds"]
        alone += made.startswith(("rejection", "quadrature"))
        ratios.append(times)
        pairs = "".join(f"{a:8.2f}{b:6.2f}" for a, b in (ours["_seconds"], other["_seconds"], times))
        means, tails = differences(ours, other)
        print(f"{name[:40]:40} {dim:3}  {pairs}{means:7.1f}{tails:7.3f}  {made[:90]}", flush=True)
    if ratios:
        print(f"{alone} of {len(ratios)} without a chain", end="")
        for which, each in zip(("first", "second"), zip(*ratios, strict=True), strict=True):
            mean = math.exp(statistics.mean(map(math.log, each)))
            print(f"; times as fast as NUTS in the {which} process: mean {mean:.2f}, least {min(each):.2f}", end="")
        print()
    return sum(bool(first * SLOWER < 1) for first, _ in ratios)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run(*sys.argv[2:])
    elif len(sys.argv) < 2:
        print(__doc__)
    else:
        sys.exit(bool(report(*sys.argv[1:])))
