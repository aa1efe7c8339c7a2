"""Domains: where values live. Supports of distributions and domains of parameters are the same thing.

A domain says which values belong to it (one expression for NumPy arrays and for symbols), how many axes one value has,
what an error should call it, which transform leads from it to the real line, and a few example values for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.tensor.arrays.diagonals import triu
from ppl.tensor.linear_algebra.triangular import surely_lower
from ppl.tensor.tensor import Tensor, is_constant, told, value_of


@record
class Domain:
    """A set of values; `contains` answers per value (axes of one value reduced)."""

    name: str | Callable[..., str]  # a function where bounds must be shown, those of a value at a place if it is given
    contains: Callable[[Any], Any]
    ndim: int = 0  # axes of one value
    discrete: bool = False
    lower: Any = None  # bounds of scalar domains: numbers or symbols, None where unbounded
    upper: Any = None
    atoms: tuple[Any, ...] = ()  # points of a continuous support that have a probability, not a density
    entry: Domain | None = None  # for values with axes: where each entry lies, whatever the others are
    transform: Any = None  # key of ppl.distributions.transforms, or a transform
    continued: Callable[[Any], Any] | None = None  # which further parameters a density takes, though none can be drawn
    remedy: str = ""  # what to do with a value outside
    examples: tuple[Any, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return self.name if isinstance(self.name, str) else self.name()

    def evaluates(self, x: Any) -> Any:
        """Whether a density takes a parameter that is given by an expression: a count of trials may be any number
        between, where the density has gamma functions for its factorials."""
        return (self.continued or self.contains)(x)

    def at(self, place: tuple[int, ...]) -> str:
        """What it is called for the value at a place."""
        return self.name if isinstance(self.name, str) else self.name(place)

    def closure_contains(self, x: Any) -> Any:
        """Whether values lie in the domain or at an open end of it, as 0 is of the positive numbers."""
        if self.ndim and self.entry is None:
            return self.contains(x)
        ends = [end for end in (self.lower, self.upper) if isinstance(end, int | float)]
        inside = (self.entry or self).contains(x)
        for end in ends:
            inside = inside | np.equal(x, end)
        return np.all(inside, axis=tuple(range(-self.ndim, 0))) if self.ndim else inside


def _everywhere(x: Any) -> Any:
    return np.equal(x, x)  # nan is no value


MISSING = "replace what is missing or infinite, or leave such rows out"
real = Domain("real", _everywhere, remedy=MISSING, examples=(-1.3, 0.0, 0.4, 2.0))
extended_real = Domain("real, or infinite", _everywhere, remedy=MISSING, examples=(-np.inf, -0.5, 1.8, np.inf))
positive = Domain(
    "positive",
    lambda x: x > 0,
    lower=0.0,
    transform="log",
    remedy="if it is unconstrained, write exp(x)",
    examples=(0.3, 1.0, 2.5),
)
nonnegative = Domain(
    "not negative",
    lambda x: x >= 0,
    lower=0.0,
    transform="log",
    remedy="write exp(x) or abs(x)",
    examples=(0.5, 1.0, 3.0),
)
unit = Domain(
    "between 0 and 1",
    lambda x: (x >= 0) & (x <= 1),
    lower=0.0,
    upper=1.0,
    transform="logodds",
    remedy="if it is unconstrained, write sigmoid(x)",
    examples=(0.2, 0.5, 0.7),
)
chance = Domain(
    "above 0 and at most 1",
    lambda x: (x > 0) & (x <= 1),
    lower=0.0,
    upper=1.0,
    transform="logodds",
    remedy="if it is unconstrained, write sigmoid(x)",
    examples=(0.2, 0.5, 0.7),
)
open_unit = Domain(
    "strictly between 0 and 1",
    lambda x: (x > 0) & (x < 1),
    lower=0.0,
    upper=1.0,
    transform="logodds",
    remedy="if it is unconstrained, write sigmoid(x)",
    examples=(0.2, 0.6),
)
circle = Domain(
    "an angle between -π and π", lambda x: (x >= -np.pi) & (x <= np.pi), lower=-np.pi, upper=np.pi, transform="circular"
)


# --- counts
def _whole(x: Any) -> Any:
    """Which numbers are integers; infinity is none."""
    same = np.equal(x, np.floor(x))
    floats = np.dtype(getattr(x, "dtype", type(x))).kind == "f"
    return same & (np.abs(x) < np.inf) if floats else same


integer = Domain("an integer", _whole, discrete=True, remedy="round it", examples=(-2, 0, 3))
natural = Domain(
    "an integer, not negative",
    lambda x: (x >= 0) & _whole(x),
    discrete=True,
    lower=0,
    continued=lambda x: x >= 0,
    remedy="count something, or round it",
    examples=(0, 3, 7),
)
counting = Domain(
    "an integer, at least 1", lambda x: (x >= 1) & _whole(x), discrete=True, lower=1,
    remedy="count something, or round it", examples=(1, 4, 9),
)  # fmt: skip
boolean = Domain(
    "0 or 1", lambda x: np.equal(x, 0) | np.equal(x, 1), discrete=True, lower=0, upper=1, remedy="compare, as in x > 0",
    examples=(0, 1),
)  # fmt: skip


def integers_between(lower: Any, upper: Any) -> Domain:
    """lower, lower + 1, ..., upper; the bounds may be symbols."""
    return Domain(
        lambda at=None: f"an integer from {_shown(lower, at)} to {_shown(upper, at)}",
        lambda x: (x >= lower) & (x <= upper) & np.equal(x, np.floor(x)),
        discrete=True,
        lower=lower,
        upper=upper,
    )


def between(lower: Any, upper: Any) -> Domain:
    """The interval from lower to upper; a bound may be a symbol, or None for no bound."""
    lower, upper = _finite(lower), _finite(upper)
    if lower is None and upper is None:
        return real
    if upper is None:
        return Domain(
            lambda at=None: f"at least {_shown(lower, at)}", lambda x: x >= lower, lower=lower, transform="interval"
        )
    if lower is None:
        return Domain(
            lambda at=None: f"at most {_shown(upper, at)}", lambda x: x <= upper, upper=upper, transform="interval"
        )
    return Domain(
        lambda at=None: f"between {_shown(lower, at)} and {_shown(upper, at)}",
        lambda x: (x >= lower) & (x <= upper),
        lower=lower,
        upper=upper,
        transform="interval",
    )


def _finite(bound: Any) -> Any:
    """A bound; None for one that is known to be infinite."""
    value = value_of(bound) if isinstance(bound, Tensor) and is_constant(bound) else bound
    return None if value is None or (not isinstance(value, Tensor) and np.all(np.isinf(value))) else bound


def above(lower: Any) -> Domain:
    """Numbers above a bound that is not among them; the bound may be a symbol."""
    if isinstance(lower, Tensor) and is_constant(lower) and not np.any(value_of(lower)):
        return positive
    return Domain(
        lambda at=None: f"greater than {_shown(lower, at)}", lambda x: x > lower, lower=lower, transform="interval"
    )


def greater_than(lower: float) -> Domain:
    """Numbers above a constant, which is not among them."""
    return Domain(
        lambda at=None: f"greater than {_shown(lower, at)}", lambda x: x > lower, lower=lower, transform="interval",
        examples=(lower + 0.5, lower + 1.7),
    )  # fmt: skip


def _shown(bound: Any, at: tuple[int, ...] | None = None) -> str:
    """A bound in words, of many the one that belongs to the value at a place."""
    if isinstance(bound, Tensor) and not is_constant(bound):
        return told(bound)
    array = np.asarray(value_of(bound) if isinstance(bound, Tensor) else bound)
    if at is not None and len(at) >= array.ndim:
        place = [0 if n == 1 else i for n, i in zip(array.shape, at[len(at) - array.ndim :], strict=True)]
        array = array[tuple(place)]
    return f"{array:g}" if array.ndim == 0 else f"one of {array.min():g} to {array.max():g}"


# --- vectors and matrices
real_vector = Domain(
    "a vector of reals",
    lambda x: np.all(_everywhere(x), axis=-1),
    ndim=1,
    entry=real,
    remedy=MISSING,
    examples=([0.3, -1.0, 0.5], [1.0, 0.2, -0.4]),
)
real_matrix = Domain(
    "a matrix of reals", lambda x: np.all(_everywhere(x), axis=(-1, -2)), ndim=2, entry=real, remedy=MISSING,
    examples=([[0.3, -1.0, 0.5], [0.0, 2.0, -0.4], [1.1, 0.2, -0.7]],),
)  # fmt: skip
positive_vector = Domain(
    "a vector of positive numbers", lambda x: np.all(x > 0, axis=-1), ndim=1, entry=positive, lower=0.0,
    transform="log", remedy="if it is unconstrained, write exp(x)", examples=([0.7, 1.5, 2.0], [3.0, 0.4, 1.0]),
)  # fmt: skip
nonnegative_vector = Domain(
    "a vector of numbers, none negative", lambda x: np.all(x >= 0, axis=-1), ndim=1, entry=nonnegative,
    lower=0.0, remedy="write exp(x) or abs(x)", examples=([0.2, 1.0, 0.4], [1.0, 0.0, 2.0]),
)  # fmt: skip


def sum_to_one(x: Any) -> Any:
    """Whether the entries along the last axis sum to 1, up to the rounding of single precision: NumPy's `isclose`."""
    return np.abs(np.sum(x, axis=-1) - 1) <= 1e-5 + 1e-8


simplex = Domain(
    "probabilities that sum to 1",
    lambda x: np.all(x >= 0, axis=-1) & sum_to_one(x),
    ndim=1,
    transform="simplex",
    remedy="divide by the sum, or write softmax(x)",
    examples=([0.2, 0.5, 0.3], [0.1, 0.1, 0.8]),
)
counts_vector = Domain(
    "a vector of counts", lambda x: np.all((x >= 0) & np.equal(x, np.floor(x)), axis=-1), ndim=1, discrete=True,
    entry=natural, lower=0, remedy="count something, or round it", examples=([4], [2, 3]),
)  # fmt: skip


def counts_with_sum(n: Any) -> Domain:
    """Vectors of counts with a given sum, which may be a symbol."""
    return Domain(
        f"a vector of counts with sum {_shown(n)}",
        lambda x: np.all((x >= 0) & np.equal(x, np.floor(x)), axis=-1) & np.equal(np.sum(x, axis=-1), n),
        ndim=1,
        discrete=True,
        lower=0,
    )


ordered = Domain(
    "increasing", lambda x: np.all(x[..., 1:] > x[..., :-1], axis=-1), ndim=1, transform="ordered",
    remedy="sort the values", examples=([-1.0, 0.2, 1.5], [0.0, 1.0, 4.0]),
)  # fmt: skip


def _positive_definite(x: Any) -> Any:
    """Symmetric with a Cholesky factor."""
    if isinstance(x, Tensor):
        return tt.all(tt.isfinite(tt.cholesky(x)), axis=(-1, -2))
    smallest = np.linalg.eigvalsh((x + np.swapaxes(x, -1, -2)) / 2)[..., 0]
    symmetric = np.all(np.abs(x - np.swapaxes(x, -1, -2)) <= 1e-6 * (1 + np.abs(x)), axis=(-1, -2))
    return (smallest > 0) & symmetric


positive_definite = Domain(
    "a positive definite matrix",
    _positive_definite,
    ndim=2,
    remedy="check that it is symmetric and has no negative eigenvalue; add a little to its diagonal",
    examples=([[1.0, 0.3, 0.0], [0.3, 2.0, -0.5], [0.0, -0.5, 1.5]],),
)
symmetric_positive_definite = Domain(
    "a symmetric positive definite matrix",
    lambda x: _positive_definite(x) & np.all(np.abs(x - swapped(x)) <= 1e-9 * (1 + np.abs(x)), axis=(-1, -2)),
    ndim=2,
)


def swapped(x: Any) -> Any:
    """The transposes of a stack of matrices."""
    return np.swapaxes(x, -1, -2)


def _triangular(x: Any) -> Any:
    if isinstance(x, Tensor):
        positive_diagonal = tt.all(tt.diagonal_of(x) > 0, axis=-1)
        return positive_diagonal if surely_lower(x) else positive_diagonal & tt.all(np.equal(triu(x, 1), 0), (-1, -2))
    return np.all(np.diagonal(x, axis1=-2, axis2=-1) > 0, axis=-1) & np.all(np.triu(x, 1) == 0, axis=(-1, -2))


cholesky_factor = Domain(
    "a lower triangular matrix with a positive diagonal",
    _triangular,
    ndim=2,
    remedy="take the factor of a positive definite matrix (an upper one with lower=False), or write exp(...) on the "
    "diagonal",
    examples=(
        [[1.0, 0.0, 0.0], [0.3, 1.2, 0.0], [-0.2, 0.1, 0.8]],
        [[0.6, 0.0, 0.0], [-0.5, 0.9, 0.0], [0.4, 0.7, 1.5]],
    ),
)


# --- distributions as parameters
a_distribution = Domain("a distribution made with .dist(...)", lambda x: True)
a_whole = Domain("a draw of several entries", lambda x: True, ndim=1)  # drawn forwards; for a density its law only


def reals(ndim: int) -> Domain:
    """Arrays of real numbers, one value of which has `ndim` axes."""
    axes = tuple(range(-ndim, 0))
    if ndim == 0:
        return real
    return Domain(f"an array of reals with {ndim} axes", lambda x: np.all(_everywhere(x), axis=axes), ndim, entry=real)
