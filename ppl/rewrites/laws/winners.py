"""Laws of which of several draws is the least or the largest, and of the shares that draws have in their sum."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions import Categorical, Dirichlet, Exponential, Gamma, Gumbel
from ppl.distributions.declaration.sums import Along, NotAlike
from ppl.distributions.draws.draw import RandomVariable
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.tensor.tensor import Tensor


def winner(node: Any) -> Tensor | None:
    """argmin Exp(λ) = Categorical(λ/Σλ), argmax Gumbel(μ, β) = Categorical(softmax(μ/β)), along the last axis."""
    drawn = _vector(node.inputs[0])
    wanted = {"argmin": Exponential, "argmax": Gumbel}[node.op.name]
    if drawn is None or drawn.family is not wanted or node.attrs["keepdims"]:
        return None
    if tuple(node.attrs["axis"]) != (drawn.ndim - 1,):
        return None
    shape = known_shape(drawn)
    if wanted is Exponential:
        rates = tt.broadcast_to(drawn.parameters[0], shape)
        return tt.cast(Categorical.dist(p=rates / tt.sum(rates, axis=-1, keepdims=True)), node.dtype)
    try:
        scale = Along(shape, (drawn.ndim - 1,)).alike(drawn.parameters[1])
    except NotAlike:
        return None
    strength = tt.broadcast_to(drawn.parameters[0], shape) / tt.expand_dims(scale, -1)
    return tt.cast(Categorical.dist(logit_p=strength), node.dtype)


def shares(node: Any) -> Tensor | None:
    """Gamma(α, β) / ΣGamma(α, β) = Dirichlet(α) along the last axis, for one β."""
    drawn, total = _vector(node.inputs[0]), node.inputs[1]
    if drawn is None or drawn.family is not Gamma:
        return None
    while total.op.name in ("expand_dims", "broadcast_to"):
        total = total.inputs[0]
    last = (drawn.ndim - 1,)
    if total.op.name != "sum" or total.inputs[0] is not drawn or tuple(total.attrs["axis"]) != last:
        return None
    if drawn.ndim > 1 and not (total.attrs["keepdims"] and total is node.inputs[1]):
        return None
    try:
        Along(known_shape(drawn), last).alike(drawn.parameters[1])
    except NotAlike:
        return None
    return Dirichlet.dist(tt.broadcast_to(drawn.parameters[0], drawn.type.shape))


def _vector(x: Any) -> RandomVariable | None:
    """A draw without a name, of known shape, with an axis."""
    drawn = isinstance(x, RandomVariable) and x.name is None and x.ndim > 0 and None not in x.type.shape
    return x if drawn else None
