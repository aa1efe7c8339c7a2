"""Write docs/distributions.md: what each family declares, so that gaps are seen."""

from __future__ import annotations

import inspect
from pathlib import Path

from ppl.distributions import FAMILIES
from ppl.distributions.declaration.facts import WORDS

CHECKS = {
    "density": "logp",
    "cdf": "logcdf",
    "upper tail": "logccdf",
    "quantile": "icdf",
    "draws": "sample",
    "mean": "mean",
    "variance": "variance",
    "mode": "mode",
    "entropy": "entropy",
    "exponential form": "log_normalizer",
}

NOTES = (
    "Flat and HalfFlat are improper and have no distribution function (PyMC answers with constants): `Truncated` and "
    "`Censored` refuse them.",
    "At the ends of domains that belong to them, slopes in parameters are those from inside "
    "(`tests/laws/test_edges_of_parameters.py`).",
    "Multinomial, Categorical: constant weights that do not sum to 1 are divided by their sum, with PyMC's warning "
    "where they are more than the rounding of single precision off; symbolic ones have a density of 0, as in PyMC. A "
    "symbolic p whose sum is off by rounding is taken for p divided by its sum.",
    "Truncated: draws never fail (PyMC gives up after `max_n_steps` proposals), however far out the bounds are.",
    "Truncated: of `Normal.dist(size=3)` without a size of its own it has three entries, as of every other law (PyMC "
    "forgets the size of a Normal, and of other laws whose truncation it has a family for, and draws one number).",
    "PolyaGamma: tails to 1e-11 for h up to 1e6, and h/1e17 beyond.",
    "At infinity every density is zero, Flat's too (PyMC: one); at nan it is nan in every family.",
    "The chosen differences from PyMC and SciPy in `logp`, `logcdf` and `icdf` stand, each with its reason, in "
    "`EXCEPTIONS` of `tests/test_distributions_oracle.py`.",
)


def table() -> str:
    """One row a family; a cross is a fact the laws check, an empty cell one that it does not declare, and a quantile or
    an upper tail in brackets one that follows from the distribution function."""
    rows = [f"| family | parameters | {' | '.join(CHECKS)} |", f"|---|---|{'---|' * len(CHECKS)}"]
    for name, family in sorted(FAMILIES.items()):
        cells = " | ".join(cell(family, fact) for fact in CHECKS.values())
        rows.append(f"| {name} | {', '.join(family.order)} | {cells} |")
    return "\n".join(rows)


def cell(family: type, fact: str) -> str:
    if getattr(family, fact):
        return "x"
    return "(x)" if fact in ("logccdf", "icdf") and family.logcdf else ""


def facts() -> str:
    """One row a fact that theorems read: what it is, and the families that declare it."""
    rows = ["| fact | what it is | declared by |", "|---|---|---|"]
    for fact, words in WORDS.items():
        families = [name for name, family in sorted(FAMILIES.items()) if getattr(family, fact)]
        rows.append(f"| `{fact}` | {words.replace(chr(124), chr(8739))} | {', '.join(families)} |")
    return "\n".join(rows)


def page() -> str:
    lines = [
        "# Distributions",
        "",
        "Every family by what it declares. A cross is checked by a law in `tests/laws/test_distributions.py`: for",
        "numbers by integrals, for vectors by draws (scores are zero on average, which ties draws, density and",
        "normalizer together). The parameters come from the declared domains; KroneckerNormal and EulerMaruyama take",
        "matrices and functions that no domain describes, and are skipped by name (their oracles are in",
        "`tests/test_multivariate_oracle.py` and `tests/test_time_series.py`), as is the score of ICAR, which is",
        "normalized in no parameter. An empty cell is a fact that the family does not declare: asking for it says so,",
        "and the law is skipped by name.",
        "A cross in brackets follows from the distribution function: a quantile is found by a search in the tail that",
        "is small, exact to rounding, with derivatives; the upper tail is the rest to 1.",
        "This page is written by `python docs/generate_distributions.py`.",
        "",
        table(),
        "",
        "What theorems read of a family, θ being its parameters in their order. Each fact has a law in",
        "`tests/laws/test_facts_of_families.py`, which runs for every family that declares it.",
        "",
        facts(),
        "",
        "What is meant otherwise than in PyMC, or has fewer digits:",
        "",
        *[f"- {line}" for line in NOTES],
        "",
    ]
    for name, family in sorted(FAMILIES.items()):
        text = inspect.getdoc(family) or ""
        lines += [f"## {name}", "", text.replace(".. math::", "\n    "), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("distributions.md").write_text(page(), encoding="utf-8")
