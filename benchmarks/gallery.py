"""The case studies of the gallery, by ppl and by PyMC with nutpie: seconds and effective draws a second.

    python benchmarks/gallery.py                    every page
    python benchmarks/gallery.py splines ab_test    some

Data and model are those of the page, run by each package under the name `pm`, and sampled as the page says, in a
process of its own with nothing kept from earlier runs. Seconds are those from the start of the process until the draws
are there, imports and compiling counted. Effective draws are those of the worst continuous variable of the model, the
smaller of bulk and tail. nutpie takes no discrete variables: models that have some are sampled by PyMC's own steps,
which is what a user of PyMC gets. A ratio below one is a loss.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _process import environment

GALLERY = Path(__file__).resolve().parent.parent / "docs/gallery"
LIMIT = 300  # seconds of a process
NOT_IN_PYMC = {  # what the model of a page uses that PyMC does not have
    "predator_prey": "its solver of differential equations is Python's, without nutpie",
    "rain_spells": "no DiscreteMarkovChain",
}
SAMPLED = """
import json, sys, time, warnings
names = [v.name for v in model.free_RVs if v.dtype.startswith("float")]
discrete = len(names) < len(model.free_RVs)
more = {{}} if "{package}" == "ppl" or discrete or "{call}" != "sample" else {{"nuts_sampler": "nutpie"}}
with model:
    result = pm.{call}({options}, progressbar=False, **more)
draws = {{name: result.posterior[name].values for name in names}}
seconds = time.time() - float(sys.argv[1])
import arviz, numpy
warnings.simplefilter("ignore")
each = [draws[n].reshape(*draws[n].shape[:2], -1)[..., i] for n in names for i in range(draws[n][0, 0].size)]
ess = [float(arviz.ess(one, method=method)) for one in each for method in ("bulk", "tail")]
print(json.dumps([seconds, float(numpy.nanmin(ess)), "nutpie" if more else "PyMC"]))
"""


def program(page: Path, package: str) -> str:
    """What a page does up to its draws, by `ppl` or by `pymc`."""
    text = page.read_text(encoding="utf-8")
    before = text[: text.index("## Posterior")]
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", before, re.DOTALL))
    blocks = re.sub(r"try:\n +print.*\nexcept.*\n.*\n", "", blocks)
    lines = [line for line in blocks.split("\n") if "print(" not in line]
    call, options = (re.findall(r"    result = pm\.(\w+)\((.*)\)", text) or [("sample", "chains=4, random_seed=1")])[0]
    options = re.sub(
        r", progressbar=\w+|, eliminate=\[.*?\]" if package == "pymc" else r", progressbar=\w+", "", options
    )
    shared = "\n".join(lines).replace("import ppl as pm", f"import {package} as pm")
    return shared + SAMPLED.format(package=package, call=call, options=options)


def measured(page: Path, package: str) -> tuple[float, float, str] | str:
    """Seconds, least effective draws and the sampler, or what went wrong."""
    with tempfile.TemporaryDirectory() as kept:
        known = environment(PPL_DISK_CACHE=kept, PYTENSOR_FLAGS=f"base_compiledir={kept}", NUMBA_CACHE_DIR=kept)
        command = [sys.executable, "-W", "ignore", "-c", program(page, package), str(time.time())]
        try:
            done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"more than {LIMIT} s"
    if done.returncode:
        return done.stderr.strip().split("\n")[-1][:70]
    return tuple(json.loads(done.stdout.strip().split("\n")[-1]))


def shown(found: tuple[float, float, str] | str) -> str:
    return f"{found[0]:8.1f} s {found[1] / found[0]:9.1f}/s" if not isinstance(found, str) else f"{found:>22}"


def main(*wanted: str) -> None:
    print(f"{'page':24}{'ppl':>22}{'PyMC':>22}  {'sampler':8}{'times as fast':>14}{'draws a second':>16}  load")
    losses = []
    for page in sorted(GALLERY.glob("*.md")):
        if wanted and page.stem not in wanted:
            continue
        ours = measured(page, "ppl")
        theirs = NOT_IN_PYMC.get(page.stem) or measured(page, "pymc")
        row = f"{page.stem:24}{shown(ours)}"
        if isinstance(ours, str) or isinstance(theirs, str):
            print(f"{row}  {shown(theirs)}", flush=True)
            continue
        faster, richer = theirs[0] / ours[0], (ours[1] / ours[0]) / (theirs[1] / theirs[0])
        losses += [page.stem] if min(faster, richer) < 1 else []
        said = "  LOSS" if min(faster, richer) < 1 else ""
        print(
            f"{row}{shown(theirs)}  {theirs[2]:8}{faster:14.1f}{richer:16.1f}  {os.getloadavg()[0]:.0f}{said}",
            flush=True,
        )
    print("losses:", ", ".join(losses) or "none")


if __name__ == "__main__":
    main(*sys.argv[1:])
