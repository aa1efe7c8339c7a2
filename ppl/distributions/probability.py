"""Logarithms and complements of parameters, exact where the parameter is written as a function of another number.

`log_of(sigmoid(a))` is -softplus(-a), which stays finite where the probability has rounded to 0 or 1; so the families
of counts are stable under `logit_p`, and under any `p=sigmoid(...)`, `mu=exp(...)` or `p=softmax(...)` of a user."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor, as_tensor

FORMS = frozenset({tt.exp, tt.sigmoid, tt.softmax})  # what `log_of` sees through


def log_of(x: Any) -> Tensor:
    """log x."""
    x = as_tensor(x)
    if x.op is tt.exp:
        return x.inputs[0]  # type: ignore[return-value]
    if x.op is tt.sigmoid:
        return -tt.softplus(-x.inputs[0])  # type: ignore[operator]
    if x.op is tt.softmax:
        return tt.log_softmax(x.inputs[0], axis=x.attrs["axis"])
    return tt.log(x)


def logit_of(p: Any) -> Tensor:
    """log(p / (1 - p))."""
    p = as_tensor(p)
    return p.inputs[0] if p.op is tt.sigmoid else tt.logit(p)  # type: ignore[return-value]


def complement(p: Any) -> Tensor:
    """1 - p."""
    p = as_tensor(p)
    return tt.sigmoid(-p.inputs[0]) if p.op is tt.sigmoid else 1 - p  # type: ignore[operator]


def log_complement(p: Any) -> Tensor:
    """log(1 - p)."""
    p = as_tensor(p)
    return -tt.softplus(p.inputs[0]) if p.op is tt.sigmoid else tt.log1p(-p)
