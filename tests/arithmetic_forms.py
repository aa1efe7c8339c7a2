"""Expressions whose terms and factors can be collected, or seem so."""

from __future__ import annotations

import ppl.tensor as tt

HALF, THIRD = 0.5, 1 / 3
EXPRESSIONS = [
    lambda x, y: tt.sqrt(x - x), lambda x, y: (x - x) ** -1.0, lambda x, y: (x - x) ** 2 + y,
    lambda x, y: x / x + y, lambda x, y: x**2 / x, lambda x, y: x * y / (y * x), lambda x, y: (x * y) ** HALF,
    lambda x, y: (x**2) ** HALF, lambda x, y: (x**3) ** THIRD, lambda x, y: (x**2) ** 1.5, lambda x, y: (x**-2) ** HALF,
    lambda x, y: x**HALF * x**HALF, lambda x, y: x**1.5 * x**HALF, lambda x, y: x**1.5 / x**HALF,
    lambda x, y: x**HALF / x, lambda x, y: x / x**HALF, lambda x, y: (x * x * y) ** HALF, lambda x, y: (x / y) ** -HALF,
    lambda x, y: (-2 * x) ** HALF, lambda x, y: (4 * x) ** HALF, lambda x, y: (-4 * x * y) ** -HALF,
    lambda x, y: (x - 2 * y) ** 2 / (2 * y - x), lambda x, y: (2 * x - 4) ** HALF * (2 - x) ** HALF,
    lambda x, y: (x**HALF) ** 2, lambda x, y: (x**HALF * y) ** 2, lambda x, y: ((x * y) ** HALF) ** 2,
    lambda x, y: (x**2 * y**HALF) ** HALF, lambda x, y: x**-1.0 * (x * y), lambda x, y: (x + y) - x - y,
    lambda x, y: (x / y) * (y / x), lambda x, y: (x**4) ** 0.25 - abs(x), lambda x, y: (x**2 * y**2) ** HALF,
    lambda x, y: (3 * x - 3 * y) / (y - x), lambda x, y: (0 * x) ** HALF * y, lambda x, y: (x / (0 * y + 1)) ** 2,
]  # fmt: skip
