"""How a row of the table of ops is written, and how its inputs are drawn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


@dataclass(frozen=True)
class Call:
    """One call: positional arguments, of which the arrays become symbols, and keywords, which stay as they are."""

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    slopes: bool = True  # whether its gradient is compared with finite differences


Maker = Callable[[str], "Row"]


def arrays_of(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    return [x for part in value for x in arrays_of(part)] if isinstance(value, list | tuple) else []


def mapped(value: Any, f: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The arguments with `f` of every array."""
    if isinstance(value, np.ndarray):
        return f(value)
    return type(value)([mapped(part, f) for part in value]) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Row:
    """An operation or function of the user, what says the right answer, and the calls on which they are compared."""

    oracle: Callable[..., Any]
    calls: tuple[Call, ...]
    rtol: float = 1e-12
    atol: float = 1e-13
    slope_tol: float = 1e-6
    known: bool = False  # the function needs sizes that are known when the graph is built
    constants: bool = False  # the function works on what is known when the graph is built
    loose: bool = False  # the inferred shape may leave lengths open that the function cannot know
    slow: bool = False  # takes XLA many seconds to compile: only in the full run
    symmetric: bool = False  # finite differences go in symmetric directions only
    dtype: Callable[[np.dtype], Any] = lambda kind: kind  # what becomes of the oracle's dtype
    domains: tuple[tuple[float, float], ...] = ()  # of an elementwise row: where numbers come from,
    points: tuple[Sequence[float], ...] = ()  # the special values of each argument,
    kinds: str = ""  # and the dtypes


def oracle_of(name: str) -> Callable[..., Any]:
    for home in (np, np.linalg, np.fft, scipy.special, scipy.linalg):
        if hasattr(home, name):
            return getattr(home, name)
    raise LookupError(f"no NumPy or SciPy function is called {name!r}: give the row its oracle")


def call(*args: Any, slopes: bool = True, **options: Any) -> Call:
    return Call(args, options, slopes)


# --- elementwise rows
def elementwise(
    *domains: tuple[float, float],
    oracle: Callable[..., Any] | None = None,
    kinds: str = "fib",
    slopes: bool = True,
    special: Sequence[Sequence[float]] | Sequence[float] | None = None,
    **options: Any,
) -> Maker:
    """Entry by entry on `domains`, one interval an argument, where the function is smooth.

    Besides draws from inside, every argument takes the `special` values, each with all of the others: zeros of both
    signs, ones, infinities and nan. `kinds` says which dtypes it takes: float, int, bool, complex; F is float without
    the empty array and the single number, for functions that take XLA seconds to compile.
    """
    specials = [tuple(special)] * len(domains) if special is not None and not _nested(special) else special
    points = [SPECIAL] * len(domains) if specials is None else specials

    def row(name: str) -> Row:
        calls = _elementwise_calls(name, domains, points, kinds, slopes)
        facts = {"domains": domains, "points": tuple(points), "kinds": kinds}
        return Row(oracle or oracle_of(name), tuple(calls), **{"rtol": 1e-11, **facts, **options})

    return row


def named(rows: dict[str, Maker]) -> dict[str, Row]:
    """The rows, each with the name it is entered under."""
    return {name: make(name) for name, make in rows.items()}


def _nested(special: Any) -> bool:
    return len(special) > 0 and isinstance(special[0], tuple | list)


def _elementwise_calls(name: str, domains: Any, points: Any, kinds: str, slopes: bool) -> Iterator[Call]:
    random = np.random.default_rng(sum(map(ord, name)))
    n = len(domains)
    drawn = [random.uniform(low, high, (3, 4)) for low, high in domains]
    edges = tuple(_edges(i, n, p, d) for i, (p, d) in enumerate(zip(points, drawn, strict=True)))
    if "f" in kinds or "F" in kinds:
        yield Call(tuple(drawn), slopes=slopes)
        yield Call(edges, slopes=False)
        yield Call(tuple(x[:2].astype(np.float32) for x in drawn), slopes=False)
    if "f" in kinds:
        empty = [x[:0, :1] if i == 0 else x[:1, 0] for i, x in enumerate(drawn)]
        yield Call(tuple(empty), slopes=False)
        yield Call(tuple(x[:1] if i == 0 else x[0, 0] for i, x in enumerate(drawn)), slopes=False)
    if "i" in kinds:
        ints = [random.integers(*sorted((int(np.ceil(low)), int(high))), (4,), endpoint=True) for low, high in domains]
        yield Call(tuple(ints), slopes=False)
    if "b" in kinds:
        grid = itertools.product([False, True], repeat=n)
        yield Call(tuple(np.array(column) for column in zip(*grid, strict=True)), slopes=False)
    if "c" in kinds:
        turned = [x + 1j * random.uniform(0.1, 1, x.shape) for x in drawn]
        yield Call(tuple(turned), slopes=False)


def _edges(at: int, count: int, points: Sequence[float], drawn: np.ndarray) -> np.ndarray:
    """Special values and two ordinary ones, along an axis of their own, so that all pairs meet."""
    values = np.array([*points, *drawn.ravel()[:2]])
    return values.reshape((-1,) + (1,) * (count - 1 - at))


# --- arrays for other rows
_random = np.random.default_rng(2024)


def reals(*shape: int) -> np.ndarray:
    return np.asarray(np.round(_random.normal(size=shape), 4))


def positives(*shape: int) -> np.ndarray:
    return np.asarray(np.round(_random.uniform(0.3, 2.5, size=shape), 4))


def wholes(*shape: int, low: int = -5, high: int = 6) -> np.ndarray:
    return _random.integers(low, high, size=shape)


def truths(*shape: int) -> np.ndarray:
    return _random.random(shape) < 0.5


def complexes(*shape: int) -> np.ndarray:
    return reals(*shape) + 1j * reals(*shape)


def positive_definite(n: int, *stack: int) -> np.ndarray:
    a = reals(*stack, n, n)
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def symmetric(n: int) -> np.ndarray:
    a = reals(n, n)
    return a + a.T + np.diag(np.arange(n) * 2.0)
