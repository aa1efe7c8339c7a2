"""Functions of arrays by the library that the arrays are of: inside a program by JAX, and at once by NumPy.

What is written with `xp` where others have `jax.numpy` runs in both ways; `cond` and `scan` are what NumPy has not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.xla.later import Array, jnp, lax


def of_numpy(*values: Any) -> bool:
    """Whether none of the values is JAX's."""
    return not any(isinstance(x, Array) for x in values)


class _Functions:
    def __getattr__(self, name: str) -> Callable[..., Any]:
        by_numpy = getattr(np, name)

        def f(*args: Any, **options: Any) -> Any:
            given = args[0] if args and isinstance(args[0], list | tuple) else args
            return (by_numpy if of_numpy(*given) else getattr(jnp, name))(*args, **options)

        setattr(self, name, f)
        return f


xp: Any = _Functions()


def either(by_jax: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that is SciPy's special one of this name for NumPy's arrays."""

    def f(*args: Any) -> Any:
        if not of_numpy(*args):
            return by_jax(*args)
        import scipy.special  # a tenth of the time of `import ppl`

        return getattr(scipy.special, name)(*args)

    return f


def cond(condition: Any, one: Callable[..., Any], other: Callable[..., Any], *operands: Any) -> Any:
    """`one` where the condition holds, `other` where not; the other of the two is not computed."""
    if of_numpy(condition):
        return (one if condition else other)(*operands)
    return lax.cond(condition, one, other, *operands)


def scan(step: Callable[..., tuple[Any, Any]], start: Any, series: Any) -> tuple[Any, Any]:
    """A state taken through the rows of an array, each of which gives another row: the last state, and these rows."""
    if not of_numpy(series):
        return lax.scan(step, start, series)
    state, rows = start, []
    for each in series:
        state, row = step(state, each)
        rows.append(row)
    return state, np.stack(rows) if rows else series
