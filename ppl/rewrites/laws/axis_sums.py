"""Laws of sums and products along axes of independent draws: which parameters add up, and which must be the same along
the axes."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions.declaration.sums import Along, NotAlike
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.graph import ancestors
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.tensor.tensor import Tensor


def axis_mean(node: Any) -> Tensor | None:
    """A mean along axes as a multiple of the sum."""
    if node.op.name != "mean" or node.attrs["keepdims"] or not isinstance(node.inputs[0], RandomVariable):
        return None
    (drawn,), axes = node.inputs, tuple(node.attrs["axis"])
    if drawn.name is not None or None in drawn.type.shape:
        return None
    return (1.0 / Along(drawn.type.shape, axes).count) * tt.sum(drawn, axis=axes)


def axis_sum(node: Any) -> Tensor | None:
    """The law of a sum or product of independent draws along axes; None where none is known."""
    if node.op.name not in ("sum", "prod") or node.attrs["keepdims"]:
        return None
    (inner,) = node.inputs
    if not isinstance(inner, RandomVariable):
        return _shifted_sum(node) if node.op.name == "sum" else None
    law = inner.family.law_of_sum if node.op.name == "sum" else inner.family.law_of_product
    if inner.name is not None or None in inner.type.shape or not law:
        return None
    shape, axes = known_shape(inner), tuple(node.attrs["axis"])
    batch = shape[: len(shape) - inner.event_ndim]
    if any(a >= len(batch) for a in axes):
        return None
    try:
        return law(Along(batch, axes), *inner.parameters)
    except NotAlike:
        return None


def _shifted_sum(node: Any) -> Tensor | None:
    """Σ(x + c) = Σx + nc, so that the draws meet their sum."""
    (inner,) = node.inputs
    if inner.op.name not in ("add", "subtract") or None in inner.type.shape:
        return None
    x, c = inner.inputs
    if inner.op.name == "add" and not isinstance(x, RandomVariable):
        x, c = c, x
    drawn = isinstance(x, RandomVariable) and x.name is None and x.type.shape == inner.type.shape
    if not drawn or any(is_draw(n) for n in ancestors(c)):
        return None
    axes, rest = node.attrs["axis"], tt.sum(tt.broadcast_to(c, inner.type.shape), axis=node.attrs["axis"])
    return tt.sum(x, axis=axes) + rest if inner.op.name == "add" else tt.sum(x, axis=axes) - rest
