"""Observations whose parameters are switches, as the rows of either branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Bernoulli, RandomVariable, is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.books.simplify import simplify_given_draws
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.discrete.latent_values import states_of_code
from ppl.rewrites.marginalization.expressions.data import HOST, data_value, is_data, is_read, known_shape
from ppl.rewrites.marginalization.program import Observation, Program, Term, log_density
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor


def branches(factor: Observation, variable: RandomVariable) -> tuple[Observation, Observation] | None:
    """An observation whose parameter is switch(c, a, b) as the rows where c holds, with a, and the others, with b."""
    return _halves(factor, lambda parameter: outermost_switch(parameter, variable))


def without_zeros(factor: Observation, variable: RandomVariable) -> tuple[Observation, Observation] | None:
    """An observation whose parameter is a product with data that are 0 in some rows, as exposures are, as the rows
    where they are positive, and the others, whose parameter is 0."""
    return _halves(factor, lambda parameter: _exposed(parameter, variable))


def _halves(
    factor: Observation, switched: Callable[[Any], tuple[Tensor, Tensor, Tensor] | None]
) -> tuple[Observation, Observation] | None:
    """The rows of either branch of the first parameter that is a switch."""
    child = factor.variable
    if child.event_ndim or None in child.type.shape or laws_of(child):
        return None
    shape = known_shape(child)
    for i, (parameter, declared) in enumerate(zip(child.parameters, child.family.params.values(), strict=True)):
        switch = None if declared.domain.ndim else switched(parameter)
        if switch is None:
            continue
        condition = tt.broadcast_to(switch[0], shape)
        found = []
        for rows, holds, branch in ((condition, True, switch[1]), (tt.logical_not(condition), False, switch[2])):
            chosen = assuming(branch, switch[0], holds)
            given = tuple(chosen if j == i else p for j, p in enumerate(child.parameters))
            both = rows if factor.rows is None else factor.rows & rows
            found.append(Observation(draw(child.family, given, shape, child.name), factor.value, both))
        return found[0], found[1]
    return None


def outermost_switch(e: Any, variable: RandomVariable) -> tuple[Tensor, Tensor, Tensor] | None:
    """(c, a, b) such that the expression is switch(c, a, b), c not depending on the variable; None where it is not.

    It asks where an expression falls into two, by a condition that any operation may stand around; `products` would ask
    what it is the sum of.
    """
    if e.op.name == "switch" and variable not in ancestors(e.inputs[0]):
        return e.inputs
    if variable not in ancestors(e) or None in e.type.shape:
        return None
    if e.op.name == "multiply":
        indicated = _indicated(e, variable)
        if indicated is not None:
            return indicated
    if e.op.name == "getitem" and variable not in ancestors(e.inputs[1:]) and not all(map(is_data, e.inputs[1:])):
        return picked(e)
    if e.op.name in HOST and all(is_data(i) for i in e.inputs[1:]):
        inner = e.inputs[0]
        found = outermost_switch(inner, variable)
        if found is None:
            return None
        spread = [tt.broadcast_to(x, known_shape(inner)) for x in found]
        return tuple(Node(e.op, (x, *e.inputs[1:]), e.attrs) for x in spread)  # type: ignore[return-value]
    touched = [i for i, x in enumerate(e.inputs) if variable in ancestors(x)]
    if (not isinstance(e.op, Elementwise) and e.op.name != "named") or len(touched) != 1:
        return None
    (at,) = touched
    found = outermost_switch(e.inputs[at], variable)
    if found is None or e.op.name == "named":
        return found
    swapped = [Node(e.op, (*e.inputs[:at], x, *e.inputs[at + 1 :]), e.attrs) for x in found[1:]]
    return found[0], *swapped  # type: ignore[return-value]


def _indicated(e: Any, variable: RandomVariable) -> tuple[Tensor, Tensor, Tensor] | None:
    """switch(c, x, 0) for the product of x and a truth value, or a discrete latent that is 0 or 1; None where it is
    none."""
    touched = [i for i, x in enumerate(e.inputs) if variable in ancestors(x)]
    if len(touched) != 1:
        return None
    (moving,) = touched
    x, factor = e.inputs[moving], e.inputs[1 - moving]
    condition = factor = _uncast(factor)
    if factor.dtype != "bool":
        while factor.op.name in ("named", "cast") or (factor.op.name in HOST and all(map(is_data, factor.inputs[1:]))):
            factor = factor.inputs[0]
        if not is_draw(factor) or factor.family is not Bernoulli:
            return None
        condition = tt.neq(condition, 0)
    return condition, x, tt.zeros((), dtype=x.dtype)


def _exposed(e: Any, variable: RandomVariable) -> tuple[Tensor, Tensor, Tensor] | None:
    """switch(d > 0, e, 0) for a product of the variable and data d, some of which are 0 and none negative; where they
    are 0 the first branch has 1 in their place. None where it is none."""
    while e.op.name == "named":
        e = e.inputs[0]
    left, among = [e], list[Node]()
    while left:
        node = left.pop()
        if node.op.name == "multiply":
            left += node.inputs
        elif is_read(node) and np.any(data_value(node) == 0) and np.all(data_value(node) >= 0):
            among.append(node)
    if len(among) != 1 or e.op.name != "multiply" or variable not in ancestors(e):
        return None
    (data,) = among
    # by value, and not by a condition: where that holds, what is 1 by it would be the data again
    value = data_value(data)
    whole = as_tensor(np.where(value > 0, value, np.ones_like(value)))
    return tt.gt(data, 0), as_tensor(substitute(e, {data: whole})), tt.zeros((), dtype=e.dtype)


def picked(e: Any) -> tuple[Tensor, Tensor, Tensor] | None:
    """switch(i = 0, x[0], switch(i = 1, x[1], ...)) for x[i] with few entries; None where i may lie outside."""
    x, *indices = e.inputs
    if e.attrs["plan"] != (("array",),) or x.ndim != 1 or not 2 <= (x.type.shape[0] or 0) <= LIMITS.entries_picked_from:
        return None
    (at,), count = indices, x.type.shape[0]
    known = states_of_code(at)
    if known is None or known.min() < 0 or known.max() >= count:
        return None
    rest = simplify_given_draws(x[count - 1])
    for k in range(count - 2, 0, -1):
        rest = tt.switch(tt.eq(at, k), simplify_given_draws(x[k]), rest)
    return tt.eq(at, 0), simplify_given_draws(x[0]), rest


OPPOSITE = {"less": "greater_equal", "greater_equal": "less", "greater": "less_equal", "less_equal": "greater"}
TURNED = {"less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal"}


def assuming(e: Tensor, condition: Tensor, holds: bool) -> Tensor:
    """An expression where a condition is known to hold, or not to."""
    truths: dict[Node, bool] = {condition: holds}
    if condition.op.name in OPPOSITE:
        a, b = condition.inputs
        for name, same in ((condition.op.name, True), (OPPOSITE[condition.op.name], False)):
            truths[getattr(tt, name)(a, b)] = truths[getattr(tt, TURNED[name])(b, a)] = holds == same
    if truths.keys().isdisjoint(ancestors(e)):
        return e
    known: dict[Node, Node] = {n: as_tensor(np.full(known_shape(n), truth)) for n, truth in truths.items()}
    for product in [n for n in ancestors(e) if n.op.name == "multiply"]:
        if any(truths.get(_uncast(factor)) is False for factor in product.inputs):
            known[product] = tt.zeros(product.type.shape, dtype=product.type.dtype)  # of a draw, which is finite
    return simplify_given_draws(as_tensor(substitute(e, known)))


def _uncast(e: Any) -> Any:
    while e.op.name in ("named", "cast"):
        e = e.inputs[0]
    return e


def settled(program: Program, written: Program | None = None) -> Program:
    """Observations of some rows only, and those that are not written so by the user, as plain terms."""
    known = {id(o) for o in (program if written is None else written).observed}
    some = [o for o in program.observed if o.rows is not None or id(o) not in known]
    if not some:
        return program
    name = lambda o: f"{o.variable.name} {'in new form' if o.rows is None else 'in part'}"
    return program.without(some).plus(terms=[Term(name(o), log_density(o), "rows") for o in some])
