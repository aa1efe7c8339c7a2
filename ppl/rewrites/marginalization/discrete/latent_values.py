"""The values of finite discrete variables, and of what they alone steer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable, is_draw
from ppl.graph import ancestors, substitute
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, data_value, is_data, known_shape
from ppl.rewrites.marginalization.program import NoMatch
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.tensor.core.vectorizing import vectorize_graph
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of
from ppl.tensor.variables import VARIABLE


def values_of(variable: Any) -> np.ndarray:
    """The values an entry can take; raises `NoMatch` where they are not finitely many and known."""
    family = variable.family
    if family.categories:
        count = family.categories(*variable.parameters)
        if count is None:
            raise NoMatch("the number of categories is only known when the program runs")
        return np.arange(count)
    if variable.event_ndim:
        raise NoMatch(f"one value of {family.__name__} is an array")
    domain = family.support_for(variable.parameters)
    ends = [domain.lower, domain.upper]
    if any(end is None for end in ends):
        raise NoMatch("it has infinitely many values")
    numbers = [_values_of_end(e) if isinstance(e, Tensor) else e for e in ends]
    if any(n is None for n in numbers):
        raise NoMatch("the number of its values is not constant")
    values = np.arange(int(np.min(numbers[0])), int(np.max(numbers[1])) + 1)
    if len(values) > LIMITS.values_of_a_latent:
        raise NoMatch(f"it has {len(values)} values, more than {LIMITS.values_of_a_latent}")
    return values


def _values_of_end(end: Tensor) -> Any:
    """The values an end of a support can take: a constant, or what other discrete latents make of it; None where not
    known."""
    if is_constant(end):
        return value_of(end)
    behind = ancestors(end)
    steered = any(is_draw(n) for n in behind) and not any(n.op is VARIABLE for n in behind)
    return states_of_code(end) if steered else None


def states_of(labels: Sequence[Any], kept: frozenset[RandomVariable]) -> int | None:
    """How many states some discrete latents have together; None where one of them cannot be summed out."""
    total = 1
    for rv in labels:
        if rv in kept or None in rv.type.shape:
            return None
        try:
            total *= len(values_of(rv)) ** min(prod(known_shape(rv)), 64)
        except NoMatch:
            return None
    return total


def states_at(code: Any, labels: Mapping[Any, np.ndarray]) -> np.ndarray:
    """What an expression of discrete latents and data is, at values of the discrete latents side by side."""
    given = {rv: as_tensor(v.astype(rv.dtype).reshape(len(v), *rv.type.shape)) for rv, v in labels.items()}
    written = for_rows([code], list(given), len(next(iter(labels.values()))))
    if written is None:
        return data_value(vectorize_graph(code, given))
    inputs, (rows,) = written
    return data_value(substitute(rows, dict(zip(inputs, given.values(), strict=True))))


def states_of_code(code: Any) -> np.ndarray | None:
    """All values of the entries of an expression of discrete latents and data; None where they are not known."""
    leaf = code
    while leaf.op.name in ("named", "cast") or (leaf.op.name in HOST and all(map(is_data, leaf.inputs[1:]))):
        leaf = leaf.inputs[0]
    if leaf.dtype == "bool":
        return np.array([0, 1])
    draws = [n for n in ancestors(code) if is_draw(n)]
    labels: list[Any] = [n for n in ancestors(code, blockers=draws) if is_draw(n)]
    if any(None in rv.type.shape for rv in labels):
        return None
    try:
        if is_draw(leaf):
            return values_of(leaf)
        values = [values_of(rv) for rv in labels for _ in range(prod(known_shape(rv)))]
    except NoMatch:
        return None
    if prod(map(len, values)) > LIMITS.values_together:
        return None
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=-1)
    ends = np.cumsum([prod(known_shape(rv)) for rv in labels])
    return states_at(code, dict(zip(labels, np.split(grid, ends[:-1], axis=-1), strict=True)))
