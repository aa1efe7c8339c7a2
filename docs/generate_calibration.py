"""Write docs/calibration.md: simulation-based calibration of models that theorems rewrite.

`python docs/generate_calibration.py [REPLICATIONS [MODEL ...]]` runs all models, 200 data sets each, or some; rows of
the others stay as they are. The page is written after each model, so that a run that is stopped loses nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "scoring"))

from calibrated_models import MODELS, Calibrated, calibration  # noqa: E402  what a test runs too

PAGE = ROOT / "docs" / "calibration.md"
REPLICATIONS = 200
INTRODUCTION = """# Calibration of theorems

Parameters are drawn from the prior, data from the model, and the posterior by `pm.sample` as users call it:
rewritten, sampled, recovered. If theorems, sampler and recovery are right, the rank of the true value among the draws
is uniform for each quantity (Talts and others 2018). Beside each quantity stands the same with a sign by which the
data say whether they lie high or low: its ranks are not uniform for a posterior that forgets the data (Modrák and
others 2023). The last column is the least p-value of uniformity of a model times the number of its quantities: below
0.01 it would be news.

This page is written by `python docs/generate_calibration.py`; the models are in `tests/scoring/calibrated_models.py`,
and the slow suite runs them with fewer data sets.

| model | as written | left | by | data sets | quantities | least p times their number |
|---|---|---|---|---|---|---|
"""


def row(name: str, found: Calibrated) -> str:
    """A model in a line of the table."""
    cells = name, found.before, found.left, ", ".join(found.rules), found.replications, found.quantities
    return f"| {' | '.join(map(str, cells))} | {found.least:.2g} |"


def rows() -> dict[str, str]:
    """The lines that the page has."""
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    known = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    return {name: known[name] for name in MODELS if name in known}


def write(known: dict[str, str]) -> None:
    """The page with these lines, in the order of the models."""
    left = f"\nSo far {len(known)} of {len(MODELS)} models have been run.\n" if len(known) < len(MODELS) else ""
    PAGE.write_text(INTRODUCTION + "\n".join(known[name] for name in MODELS if name in known) + "\n" + left)


if __name__ == "__main__":
    replications = int(sys.argv[1]) if sys.argv[1:] else REPLICATIONS
    for name in sys.argv[2:] or MODELS:
        write({**rows(), name: row(name, calibration(name, replications))})
        print(rows()[name], flush=True)
