"""What laws ask of the holes that they need to know: all of it is proved from constants, or does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.rewrites.books.simplify import simplify
from ppl.tensor.tensor import as_tensor, is_constant, value_of


def _known(x: Any) -> np.ndarray | None:
    """The value of an expression of constants."""
    short: Any = simplify(as_tensor(x))
    return value_of(short) if is_constant(short) else None


def is_positive(x: Any) -> bool:
    known = _known(x)
    return known is not None and bool(np.all(known > 0))


def is_nonzero(x: Any) -> bool:
    known = _known(x)
    return known is not None and bool(np.all(known != 0))


def is_equal(x: Any, y: Any) -> bool:
    """Up to rounding."""
    a, b = _known(x), _known(y)
    return a is not None and b is not None and bool(np.allclose(a, b, rtol=1e-12, atol=0.0))
