r"""Families whose values are those of another family in other coordinates.

.. math:: \log p(y) = \log q(g(y)) + \log |g'(y)|

Where parameters of the map are data, observed values may be put into it before anything else is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.graph.records import record


@record
class ChangeOfVariables:
    """A family as another one of a function of its values; parameters in `data` must be data."""

    base: Any  # the other family
    of: Callable[..., tuple[Any, tuple[Any, ...], Any]]  # of (y, parameters): g(y), parameters there, log |g'(y)|
    words: str  # for g(y), with {} for y
    data: tuple[str, ...] = ()
    increasing: bool = True  # whether g grows from one end of the support of the other family to the other


def change_to(base: Any, words: str, **conditions: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare that a family is another one in g(y), by g(y), the parameters there and the logarithm of its slope. A map
    of two values onto one has the logarithm of a half of its slope."""
    return lambda of: ChangeOfVariables(base, of, words, **conditions)
