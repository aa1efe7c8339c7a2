r"""Finite discrete variables summed out.

A variable z with values 1..K goes by :math:`\sum_j \operatorname{logsumexp}_k\big[\log p(z_j = k) + \sum_{i \to j} \log
p(y_i \mid z_j = k)\big]`, where y_i are the rows that depend on entry j. Each factor is written once for each value; what
does not depend on z is the same node in all of them. It comes back by a draw from the same terms, normalised.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.draw import draw
from ppl.graph import ancestors, substitute
from ppl.rewrites.elimination.affine import HOST, is_data, known_shape
from ppl.rewrites.elimination.conjugate import NoMatch, gathered
from ppl.rewrites.elimination.program import Factor, Observation, Program, Recovery, Term, children
from ppl.tensor.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

MOST_VALUES = 64  # values of one entry beyond which graphs grow too large


def values_of(variable: RandomVariable) -> np.ndarray:
    """The values a variable can take; raises `NoMatch` where they are not finitely many and known."""
    if variable.family.__name__ == "Categorical":
        count = variable.parameters[0].type.shape[-1]
        if count is None:
            raise NoMatch("the number of categories is only known when the program runs")
        values = np.arange(count)
    else:
        domain = variable.family.support_for(variable.parameters)
        ends = [domain.lower, domain.upper]
        if any(end is None for end in ends):
            raise NoMatch("it has infinitely many values")
        numbers = [value_of(e) if isinstance(e, Tensor) and is_constant(e) else e for e in ends]
        if any(isinstance(n, Tensor) for n in numbers):
            raise NoMatch("the number of its values is not constant")
        values = np.arange(int(np.min(numbers[0])), int(np.max(numbers[1])) + 1)
    if len(values) > MOST_VALUES:
        raise NoMatch(f"it has {len(values)} values, more than {MOST_VALUES}")
    return values


def alignment(e: Any, variable: RandomVariable) -> np.ndarray | None:
    """For each entry of an expression the entry of the variable it depends on; None where it depends on none.

    Raises `NoMatch` where an entry depends on several.
    """
    if e is variable:
        return np.arange(prod(known_shape(e))).reshape(known_shape(e))
    if variable not in ancestors(e):
        return None
    if None in e.type.shape:
        raise NoMatch(f"the shape of {e!r} is only known when the program runs")
    if prod(known_shape(variable)) == 1:
        return np.zeros(e.type.shape, dtype=int)
    name = e.op.name
    if isinstance(e.op, Elementwise) or name == "named":
        maps = [a for i in e.inputs if (a := alignment(i, variable)) is not None]
        spread = [np.broadcast_to(m, e.type.shape) for m in maps]
        if any(not np.array_equal(spread[0], other) for other in spread[1:]):
            raise NoMatch(f"{name} mixes different entries of it")
        return spread[0]
    if name in HOST and all(is_data(i) for i in e.inputs[1:]):
        inner = alignment(e.inputs[0], variable)
        move: Callable[[np.ndarray], np.ndarray] = HOST[name](e)
        return None if inner is None else move(inner)
    if name == "getitem" and variable not in ancestors(e.inputs[0]) and len(e.inputs) == 2:
        index = alignment(e.inputs[1], variable)
        plan = e.attrs["plan"]
        at = [i for i, part in enumerate(plan) if part[0] == "array"]
        rest = e.type.ndim - (0 if index is None else index.ndim)
        if index is not None and at == [0]:
            return np.broadcast_to(index.reshape(index.shape + (1,) * rest), e.type.shape)
        if index is not None and at == [len(plan) - 1]:
            return np.broadcast_to(index, e.type.shape)
    raise NoMatch(f"{name} mixes entries of it, or is not understood")


def _rows(factor: Factor) -> tuple[RandomVariable | None, Tensor | None, int]:
    if isinstance(factor, Term):
        return None, factor.density, 0
    if isinstance(factor, Observation):
        return factor.variable, factor.value, factor.variable.event_ndim
    return factor, factor, factor.event_ndim


def _density(factor: Factor, values: Any) -> Tensor:
    """The log-density of a factor, entry by entry, with a value in place of the variable."""
    if isinstance(factor, Term):
        return substitute(factor.density, values)  # type: ignore[return-value]
    variable, value, _ = _rows(factor)
    assert variable is not None and value is not None
    here = substitute(list(variable.parameters), values)
    return variable.family.log_density(value, *here)


def _map(factor: Factor, variable: RandomVariable) -> np.ndarray:
    """The entry of the variable that each row of a factor depends on."""
    if isinstance(factor, Term):
        if prod(known_shape(variable)) != 1:
            raise NoMatch(f'"{factor.name}" depends on several entries of it')
        return np.zeros(known_shape(factor.density), dtype=int)
    owner, value, event = _rows(factor)
    assert owner is not None and value is not None
    if isinstance(factor, Observation) and variable in ancestors(value):
        raise NoMatch(f'the observed value of "{owner.name}" depends on it')
    batch: Any = owner.type.shape[: owner.ndim - event]
    if None in batch:
        raise NoMatch(f'the shape of "{owner.name}" is only known when the program runs')
    found: np.ndarray | None = None
    for parameter, declared in zip(owner.parameters, owner.family.params.values(), strict=True):
        aligned = alignment(parameter, variable)
        if aligned is None:
            continue
        if declared.domain.ndim:
            core = aligned.reshape(aligned.shape[: aligned.ndim - declared.domain.ndim] + (-1,))
            if np.any(core != core[..., :1]):
                raise NoMatch(f'one value of "{owner.name}" depends on several entries of it')
            aligned = core[..., 0]
        spread = np.broadcast_to(aligned, batch)
        if found is not None and not np.array_equal(found, spread):
            raise NoMatch(f'one entry of "{owner.name}" depends on several entries of it')
        found = spread
    if found is None:
        raise NoMatch(f'how "{owner.name}" depends on it is not understood')
    return found


def eliminate_one(program: Program, variable: RandomVariable) -> Program:
    """The program with a finite discrete variable summed out; raises `NoMatch` where that cannot be done."""
    values = values_of(variable)
    shape = variable.type.shape
    if None in shape:
        raise NoMatch("its shape is only known when the program runs")
    shape = known_shape(variable)
    factors = children(program, variable)
    maps = [_map(factor, variable) for factor in factors]
    if any(isinstance(f, RandomVariable) for f in factors):
        raise NoMatch(
            f'"{next(f.name for f in factors if isinstance(f, RandomVariable))}" depends on it and is not observed'
        )
    columns: list[Tensor] = []
    for k in values:
        at_k = tt.full(shape, int(k), dtype=variable.dtype) if shape else as_tensor(np.asarray(k, variable.dtype))
        column = tt.broadcast_to(variable.family.log_density(at_k, *variable.parameters), shape)
        for factor, positions in zip(factors, maps, strict=True):
            rows = tt.broadcast_to(_density(factor, {variable: at_k}), positions.shape)
            column = column + gathered(rows, positions, shape)
        columns.append(column)
    weights = tt.stack(columns, axis=-1)
    density = tt.sum(tt.logsumexp(weights, axis=-1))
    chosen = draw(FAMILIES["Categorical"], (tt.softmax(weights, axis=-1),), shape)
    recovery = Recovery(variable, tt.cast(chosen + int(values[0]), variable.dtype))
    return program.without([variable, *factors]).plus(
        terms=[Term(f"sum over {variable.name}", density)], recoveries=[recovery]
    )
