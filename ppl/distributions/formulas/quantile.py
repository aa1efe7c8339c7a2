"""Quantiles: by a formula, or by a search in the distribution function where no formula gives them.

The search compares in the tail that is small, in logarithms, so quantiles keep their digits on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph import topological
from ppl.tensor.config import config
from ppl.tensor.sampling.roots import FIRST_ROOT, first_root
from ppl.tensor.tensor import Tensor, as_tensor

_ROUNDING = 1e-12  # of a distribution function, relative: a count whose probability was asked for is found again
_FAR = 1e-5  # below it, 1 - q has too few of q's digits
_COUNTS = -(2**62), 2**62

Function = Callable[[Any], Any]


class Number(NamedTuple):
    """What a quantile needs to know of the law of a number: the logarithms of its tails, or a formula, or both."""

    below: Function | None  # log P(X ≤ x)
    above: Function | None  # log P(X > x)
    icdf: Function | None
    ends: tuple[Any, Any]  # of the support, None where it has none
    discrete: bool

    @property
    def limits(self) -> tuple[Any, Any]:
        return tuple(
            infinite if end is None else end for infinite, end in zip((-np.inf, np.inf), self.ends, strict=True)
        )  # type: ignore[return-value]


def quantile(law: Number, q: Any) -> Tensor:
    """The smallest x with P(X ≤ x) ≥ q; nan for q outside [0, 1]."""
    return _within(q, law.icdf or (lambda q: searched(law, tt.log(q), tt.log1p(-q))), law.limits)


def upper_quantile(law: Number, q: Any) -> Tensor:
    """The largest x with P(X ≥ x) ≥ q; nan for q outside [0, 1]."""
    search = lambda q, needed=True: searched(law, tt.log1p(-q), tt.log(q), needed=needed)

    def find(q: Tensor) -> Any:
        if law.icdf is None or law.discrete:
            return search(q)
        mirrored = law.icdf(1 - q)
        return mirrored if law.below is None else or_searched(q < _FAR, lambda far: search(q, far), mirrored)

    return _within(q, find, law.limits[::-1])


def searched(law: Number, log_q: Any, log_p: Any, rounded: Any = None, needed: Any = True) -> Tensor:
    """The smallest x with P(X ≤ x) ≥ q, from log q and log(1 - q); anything where it is not `needed`.

    `rounded` is the number in whose logarithm log_p has its rounding: 1 - q itself, if it was taken from q.
    """
    assert law.below is not None and law.above is not None
    right = log_q > np.log(0.5)
    excess = lambda x: tt.switch(right, log_p - law.above(x), law.below(x) - log_q)
    if not law.discrete:
        return first_root(excess, *_ends(law.limits, needed), config.floatX)
    rest = tt.exp(log_p) if rounded is None else rounded
    rounding = _ROUNDING + tt.switch(right, 2.0**-52 / rest, 0.0)  # q is rounded, and 1 - q with it
    ends = [most if end is None else end for most, end in zip(_COUNTS, law.ends, strict=True)]
    return first_root(lambda x: excess(x) + rounding, *_ends(ends, needed), "int64")


def _ends(ends: Sequence[Any], needed: Any) -> tuple[Any, Any]:
    """Between which a search goes: nowhere, where it is not needed."""
    low, high = ends
    return low, high if needed is True else tt.switch(needed, high, low)


def or_searched(needed: Any, search: Callable[[Any], Any], closed: Any) -> Tensor:
    """`closed`, and what `search(needed)` finds where that is needed; where it is nowhere needed, nothing is searched.

    Over many draws both branches run. A search that is told where it is needed has nothing to do elsewhere.
    """
    nothing = tt.zeros_like(closed)
    return tt.cond(
        tt.any(needed), lambda: tt.switch(needed, search(needed), closed), lambda: tt.switch(needed, nothing, closed)
    )


_SEARCHES = frozenset({FIRST_ROOT, tt.gammaincinv, tt.gammainccinv, tt.betaincinv, tt.logit_betaincinv})


def is_searched(x: Tensor) -> bool:
    """Whether numbers are found by steps, which take a hundred times as long as a formula."""
    return any(node.op in _SEARCHES for node in topological([x]))


def _within(q: Any, find: Function, ends: tuple[Any, Any]) -> Tensor:
    """`find` inside the unit interval, `ends` at 0 and at 1."""
    q = tt.cast(as_tensor(q), "floatX")
    inside = (q > 0) & (q < 1)
    value = find(tt.switch(inside, q, 0.5))
    return tt.switch(inside, value, tt.switch(tt.equal(q, 0), ends[0], tt.switch(tt.equal(q, 1), ends[1], np.nan)))
