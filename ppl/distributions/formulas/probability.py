"""Logarithms and complements of parameters, exact where the parameter is written as a function of another number.

`log_of(sigmoid(a))` is -softplus(-a), which stays finite where the probability has rounded to 0 or 1; so the families
of counts are stable under `logit_p`, and under any `p=sigmoid(...)`, `mu=exp(...)` or `p=softmax(...)` of a user."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.domains import sum_to_one
from ppl.distributions.declaration.parametrized import FORMS
from ppl.distributions.draws.draw import RandomVariable
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

RATIONAL = frozenset({tt.add, tt.subtract, tt.multiply, tt.divide, tt.negative})  # of opaque numbers they are opaque


def log_of(x: Any) -> Tensor:
    """log x."""
    x = as_tensor(x)
    if x.op is tt.exp:
        return x.inputs[0]  # type: ignore[return-value]
    if x.op is tt.sigmoid:
        return -tt.softplus(-x.inputs[0])  # type: ignore[operator]
    if x.op is tt.softmax:
        return tt.log_softmax(x.inputs[0], axis=x.attrs["axis"])
    if x.op is tt.share:
        return _log_share(*x.inputs)
    return tt.log(x)


def _log_share(a: Any, b: Any) -> Tensor:
    """log(a / (a + b)); at b = 0, where log b has an infinite slope, by b itself."""
    if not is_opaque(b):
        return -tt.softplus(log_of(b) - log_of(a))
    none = tt.equal(b, 0)
    return tt.switch(none, -tt.log1p(b / a), -tt.softplus(tt.log(tt.switch(none, 1.0, b)) - log_of(a)))


def share(a: Any, b: Any) -> Tensor:
    """a / (a + b), of which logarithm, complement and odds keep all digits: b may be 0 where it is no arithmetic, and
    so large that a + b overflows where it is."""
    a, b = as_tensor(a), as_tensor(b)
    return tt.share(a, b) if is_opaque(b) else tt.sigmoid(log_of(a) - log_of(b))


def log_for(x: Any, p: Any) -> Tensor:
    """log p for a count x that it is multiplied by: where x is 0 it is not used, and has no infinite slope at p = 0.

    Only an opaque p needs the guard: of draws and of functions of them, rewriting takes the logarithm, of factors and
    of 1 - exp(-r), and a guard would be in its way."""
    p = as_tensor(p)
    return log_of(tt.switch(tt.equal(x, 0), 1.0, p) if is_opaque(p) else p)


def log_complement_for(x: Any, p: Any) -> Tensor:
    """log(1 - p) for a count x that it is multiplied by, as `log_for` has log p."""
    p = as_tensor(p)
    if p.op is tt.share:
        return log_of(tt.share(tt.switch(tt.equal(x, 0), 1.0, p.inputs[1]), p.inputs[0]))
    return log_complement(tt.switch(tt.equal(x, 0), 0.0, p) if is_opaque(p) else p)


def log_mixed(p: Any, inner: Any, chance: Any = None) -> Tensor:
    """log(1 - p + p exp(inner)): a law with probability p, else what is sure. It has slopes at p = 0 and 1 too.

    Where exp(inner) is near 1 it is log1p(p expm1(inner)), which keeps the digits of small numbers; else a sum of
    logarithms, whose slopes are shares, of which the small one has all digits too. `chance` is exp(inner) again, for
    its slope where it is 0, if that of its logarithm may be infinite there."""
    p = as_tensor(p)
    if chance is not None:
        none = tt.equal(inner, -np.inf)
        rest = tt.log1p(p * (tt.switch(none, chance, 0.5) - 1))
        return tt.switch(none, rest, log_mixed(p, tt.switch(none, -1.0, inner)))
    if p.op in FORMS:
        return tt.logaddexp(log_complement(p), log_of(p) + inner)
    never, always = tt.equal(p, 0), tt.equal(p, 1)
    nearly_sure = (inner > -0.5) | never
    small = tt.log1p(p * tt.expm1(tt.switch(nearly_sure, inner, 0.0)))
    between = tt.switch(never | always, 0.5, p)
    large = tt.logaddexp(tt.log1p(-between), tt.log(between) + inner)
    at_one = inner + (1 - p) * tt.expm1(-tt.maximum(inner, -700.0))
    return tt.switch(nearly_sure, small, tt.switch(always, at_one, large))


def is_opaque(p: Tensor) -> bool:
    """Whether rewriting finds no other form of log p: p is arithmetic of what is no draw and no function of one."""
    waiting, seen, found = [p], set[Tensor](), False
    while waiting:
        x = waiting.pop()
        if x in seen or is_constant(x):
            continue
        seen.add(x)
        if x.op in RATIONAL or x.op is tt.switch:
            waiting.extend(x.inputs[x.op is tt.switch :])
        elif isinstance(x, RandomVariable) or isinstance(x.op, Elementwise) or x.op in FORMS:
            return False
        else:
            found = True
    return found


def log_beta_below(a: Any, b: Any, p: Any) -> Tensor:
    """log P(X ≤ p) for X ~ Beta(a, b), with its slope where p is exactly 0 or 1 too; b ≥ 1 if p may be 1."""
    p = as_tensor(p)
    if p.op is tt.sigmoid:
        return tt.log_beta_cdf(a, b, p.inputs[0])
    return _log_beta_cdf(a, b, *_parts(p)) if is_opaque(p) or p.op is tt.share else tt.log_beta_cdf(a, b, tt.logit(p))


def log_beta_above(a: Any, b: Any, p: Any) -> Tensor:
    """log P(X > p) for X ~ Beta(a, b), as `log_beta_below` has log P(X ≤ p); a ≥ 1 if p may be 0."""
    p = as_tensor(p)
    if is_opaque(p):
        return _log_beta_cdf(b, a, *reversed(_parts(p)))
    return log_beta_below(b, a, complement(p)) if p.op in FORMS else tt.log_beta_cdf(b, a, -tt.logit(p))


def _parts(p: Tensor) -> tuple[Any, Any]:
    """Two numbers whose ratio is p to 1 - p."""
    return p.inputs if p.op is tt.share else (p, 1 - p)  # type: ignore[return-value]


def _log_beta_cdf(a: Any, b: Any, x: Any, y: Any) -> Tensor:
    """log P(X ≤ x / (x + y)) for X ~ Beta(a, b)."""
    never, sure = tt.equal(x, 0), tt.equal(y, 0)
    log_x, log_y = (tt.log(tt.switch(never | sure, 1.0, each)) for each in (x, y))
    at_one = tt.switch(tt.equal(b, 1), -a * tt.log1p(y / tt.switch(sure, x, 1.0)), 0.0)
    return tt.switch(sure, at_one, tt.switch(never, -np.inf, tt.log_beta_cdf(a, b, log_x - log_y)))


def complement(p: Any) -> Tensor:
    """1 - p."""
    p = as_tensor(p)
    if p.op is tt.share:
        return tt.share(*reversed(p.inputs))
    return tt.sigmoid(-p.inputs[0]) if p.op is tt.sigmoid else 1 - p  # type: ignore[operator]


def log_complement(p: Any) -> Tensor:
    """log(1 - p)."""
    p = as_tensor(p)
    if p.op is tt.share:
        return log_of(complement(p))
    return -tt.softplus(p.inputs[0]) if p.op is tt.sigmoid else tt.log1p(-p)


def rescaled(p: Any, who: str) -> Any:
    """Constant weights divided by their sum where that is not 1, with a warning; negative ones are refused. Both as in
    PyMC. What else is wrong with them is for the checks of parameters to say."""
    p = as_tensor(p)
    if not is_constant(p) or p.ndim == 0 or p.dtype[0] not in "fui":
        return p
    weights = value_of(p).astype(float)
    if (weights < 0).any():
        raise ValueError(f"{who}: p are weights, none of them negative, got {weights}. Did you mean softmax(p)?")
    total = weights.sum(axis=-1, keepdims=True)
    if not ((total > 0).all() and np.isfinite(total).all()) or sum_to_one(weights).all():
        return p
    warnings.warn(
        f"{who}: p parameters sum to {total.squeeze()}, instead of 1. They will be automatically rescaled: p is "
        "divided by its sum. Divide it yourself to be rid of this warning.",
        UserWarning,
        stacklevel=5,
    )
    return as_tensor(weights / total)
