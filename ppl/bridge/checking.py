"""Comparing a converted model with PyMC's own: names, and the log-density at the starting point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.model.model import Model


def check_against(source: Any, made: Model, rtol: float = 1e-8) -> None:
    """Raise where the names, the log-density or the dimensions of two models differ."""
    for kind in ("free_RVs", "observed_RVs", "deterministics", "potentials", "value_vars"):
        theirs, ours = ([v.name for v in getattr(m, kind)] for m in (source, made))
        if sorted(theirs) != sorted(ours):
            raise ValueError(f"from_pymc: {kind} are {theirs} in PyMC, and {ours} here. Please report it.")
    point = source.initial_point()
    theirs, ours = float(source.compile_logp()(point)), float(made.compile_logp()(point))
    if not np.isclose(theirs, ours, rtol=rtol, atol=rtol, equal_nan=True):
        raise ValueError(
            f"from_pymc: the log-density at the starting point is {theirs} in PyMC, and {ours} here. Please report it, "
            "with a small model. Whole numbers of 8 or 16 bits PyTensor takes in single precision: give it int64."
        )
