"""Which constants belong to what is computed, and which are numbers that it is computed with.

A model fitted to other data is the same computation with other numbers. So programs take numbers as arguments, and the
form in which an expression is written does not depend on them. What stays are the few numbers that rules and XLA write
in shorter ways, alone or in every entry of an array (then it is a fact that all weights are one), and single whole
numbers and truth values, which say how often, along which axis, or whether.
"""

from __future__ import annotations

import numpy as np

PLAIN = frozenset([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])


def is_structural(value: np.ndarray) -> bool:
    """Whether a constant belongs to what is computed."""
    if not value.size or (value.size == 1 and value.dtype.kind != "f"):
        return True
    first = value.flat[0]
    if value.size > 1 and np.any(value != first):
        return False
    return value.dtype.kind == "b" or not np.isfinite(first) or float(abs(first)) in PLAIN
