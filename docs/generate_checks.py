"""Write docs/checks.md from the registry of checks."""

from collections.abc import Iterable
from pathlib import Path

from ppl.model.checking.registry import AFTER, BEFORE, Check

PLACE = Path(__file__).with_name("checks.md")
HEAD = """# What `pm.check` looks for

`pm.check(model)` says before sampling what a careful colleague would say, from the graph and the data alone;
`pm.check(results)` does so after it. Nothing is sampled or compiled: a model takes some milliseconds, at most 0.3 s.
The report prints as text, shows as HTML in a notebook, and `.to_dict()` and `.to_json()` give it as data; each finding
has its `kind`, the `variables` meant, a `severity`, a `sentence` and a `remedy`.

An **error** means that results will be wrong or that there will be none, a **warning** that they are probably not what
is wanted, a **note** that something is worth knowing. What could not be looked at (models of more than 150 variables,
operations that NumPy does not know, too many numbers) is listed in `skipped`, and printed.

What is claimed is checked first. That data do not tell two parameters apart is found by moving these in several places
and seeing that no law changes; that labels may switch, by exchanging them and comparing the joint density; that a
posterior is improper, by theorems named in `ppl/model/checking/before/improper.py`; that a funnel or a discrete
variable is left to the sampler, by the plan of `pm.explain`. Priors are compared with data by 64 draws (8 where data
are many), and the thresholds are wide: eight spreads of the mean, a tenth of the scale.

This page is written by `python docs/generate_checks.py`.
"""


def table(checks: Iterable[Check]) -> str:
    """A row for each check."""
    rows = [f"| {', '.join(check.kinds)} | {check.looks_for} |" for check in checks]
    return "\n".join(["| kind | what is looked for |", "|---|---|", *rows]) + "\n"


def page() -> str:
    """The page."""
    return f"{HEAD}\n## Before sampling\n\n{table(BEFORE)}\n## After sampling\n\n{table(AFTER)}"


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
