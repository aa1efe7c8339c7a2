"""Independent parts: a draw that was asked for a size has as many, whatever the shape of its parameters and of a value.

>>> import numpy as np
>>> from ppl.distributions import Normal, logp
>>> logp(Normal.dist(0.0, 1.0, size=3), 0.0).eval().shape
(3,)
"""

from __future__ import annotations

from typing import Any

from ppl.distributions.draws.draw import RandomVariable
from ppl.distributions.log_probability.measure import sources
from ppl.graph import Node
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import FUNCTIONS, Tensor


def over_parts(result: Tensor, rv: Tensor, ndim: int) -> Tensor:
    """What a law answers, one number for each independent part of the expression; the last `ndim` axes of its value are
    of one part."""
    wanted = _parts(rv, ndim)
    more = max(result.ndim - len(wanted), 0)
    have = (*(1,) * (len(wanted) - result.ndim), *result.type.shape[more:])
    if not any(_may_differ(m, n) for m, n in zip(have, wanted, strict=True)):
        return result
    first = result.ndim - len(wanted)
    lengths = [_common(result, first + i, m, n) for i, (m, n) in enumerate(zip(have, wanted, strict=True))]
    return FUNCTIONS["broadcast_to"](result, (*result.shape[:more], *lengths))  # type: ignore[attr-defined]


def _may_differ(have: int | None, wanted: Any) -> bool:
    """Whether an axis of a result may have length 1 where that of the expression is longer."""
    if wanted is None or (isinstance(wanted, int) and wanted == 1):
        return False
    return have in (None, 1) if isinstance(wanted, Tensor) else have != wanted


def _common(result: Tensor, axis: int, have: int | None, wanted: Any) -> Any:
    """The length of an axis that is `have` in the result, and shall be `wanted`; None for what is not known."""
    if have is not None:
        return wanted if have == 1 and wanted is not None else have
    here = DIM(result, axis=axis)
    return (
        FUNCTIONS["switch"](FUNCTIONS["equal"](here, 1), wanted, here) if isinstance(wanted, Tensor) else wanted or here
    )


def _parts(rv: Tensor, ndim: int) -> list[Any]:
    """The lengths of the axes of independent parts; None where only the parameters tell, which then are in a result."""
    lengths: list[Any] = list(rv.type.shape[: rv.ndim - ndim])
    for drawn in _draws_entry_by_entry(rv) or ():
        sizes = iter(drawn.inputs[len(drawn.parameters) :])
        for place, n in enumerate(drawn.attrs["size"] or ()):
            axis = place + rv.ndim - drawn.ndim
            if n is None:
                size = next(sizes)
                lengths[axis] = size if lengths[axis] is None else lengths[axis]
    return lengths


def entry_by_entry(rv: Tensor) -> bool:
    """Whether only operations that take each entry by itself lie between the expression and its draws."""
    return _draws_entry_by_entry(rv) is not None


def _draws_entry_by_entry(rv: Tensor) -> list[RandomVariable] | None:
    """The draws that only operations entry by entry lead to; None where others do."""
    stack: list[Node] = [rv]
    found: list[RandomVariable] = []
    while stack:
        node = stack.pop()
        if isinstance(node, RandomVariable):
            found.append(node)
        elif sources(node):
            if not isinstance(node.op, Elementwise) and node.op.name not in ("named", "cast"):
                return None
            stack.extend(node.inputs)
    return found
