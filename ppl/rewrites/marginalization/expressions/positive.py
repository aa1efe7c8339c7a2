"""Whether an expression is proved to lie in a domain, at the present values of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.distributions.declaration.domains import Domain, simplex
from ppl.distributions.log_probability.evaluation import REALS
from ppl.rewrites.books.simplify import simplify_given_draws
from ppl.rewrites.marginalization.expressions.data import data_value, is_read
from ppl.tensor.tensor import Tensor, is_constant, value_of

_POSITIVE_OPS = ("exp", "softplus", "sigmoid", "cosh")
_KEEPS_SIGN = (
    "named",
    "broadcast_to",
    "getitem",
    "reshape",
    "expand_dims",
    "squeeze",
    "transpose",
    "sqrt",
    "reciprocal",
)


def known_positive(node: Any) -> bool:
    """Whether an expression is proved to be positive: by its value, by its form, or by the support of a draw."""
    if is_read(node):
        return bool(np.all(data_value(node) > 0))
    if node.op.name == "draw":
        support = node.family.support_for(node.parameters)
        lower = 0.0 if support is simplex else support.lower
        return lower is not None and not isinstance(lower, Tensor) and bool(np.all(np.asarray(lower) >= 0))
    if node.op.name in _POSITIVE_OPS:
        return True
    if node.op.name in _KEEPS_SIGN:
        return known_positive(node.inputs[0])
    if node.op.name in ("add", "multiply", "true_divide", "maximum"):
        return all(known_positive(i) for i in node.inputs)
    return node.op.name == "power" and known_positive(node.inputs[0])


def known_inside(domain: Domain, node: Any) -> bool:
    """Whether an expression is proved to lie in a domain of numbers: by its value, or by the support of a draw."""
    while not is_read(node) and node.op.name in ("named", "broadcast_to", "getitem", "reshape"):
        node = node.inputs[0]  # entries are inside where all are
    if is_read(node):
        inside: Any = domain.contains(data_value(node))
        return bool(np.all(data_value(inside) if isinstance(inside, Tensor) else inside))
    if node.op.name == "draw" and node.dtype[0] == "f":
        support = node.family.support_for(node.parameters)
        return _reaches(support.lower, domain.lower, 1) and _reaches(support.upper, domain.upper, -1)
    return domain.lower == 0 and domain.upper is None and known_positive(node)


def open_conditions(rv: RandomVariable) -> list[Tensor]:
    """What must hold of the numbers among the parameters of a law for it to exist, up to the ends of their domains,
    where that is not proved. That a matrix is a covariance is taken for granted: a draw tells where it is none."""
    pairs = [(declared.domain, p) for declared, p in zip(rv.family.params.values(), rv.parameters, strict=False)]
    asked = [(d, p) for d, p in pairs if d.name not in REALS and not d.ndim and not known_inside(d, p)]
    ends = [(p, end, lower) for d, p in asked for end, lower in ((d.lower, True), (d.upper, False)) if _is_number(end)]
    conditions = [p >= end if lower else p <= end for p, end, lower in ends]
    return [c for c in conditions if not _always(simplify_given_draws(c))]


def _is_number(end: Any) -> bool:
    return isinstance(end, int | float) and bool(np.isfinite(end))


def _always(condition: Any) -> bool:
    while condition.op.name == "broadcast_to":
        condition = condition.inputs[0]
    return is_constant(condition) and bool(np.all(value_of(condition)))


def unproved(family: Any, parameters: Sequence[Any]) -> list[Tensor]:
    """The condition that parameters lie in the domains of a family, where that is not proved."""
    pairs = zip((p.domain for p in family.params.values()), parameters, strict=False)
    if all(domain.name in REALS or known_inside(domain, p) for domain, p in pairs):
        return []
    found = family.in_domains(parameters)
    return [] if found is None else [found]


def _reaches(end: Any, needed: Any, sign: int) -> bool:
    """Whether an end of an interval lies inside another one's."""
    if needed is None:
        return True
    return end is not None and not isinstance(end, Tensor) and bool(np.all(sign * np.asarray(end) >= sign * needed))
