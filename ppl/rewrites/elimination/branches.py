"""Observations whose parameters are switches, as the rows of either branch."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.draw import draw
from ppl.distributions.inner import laws_of
from ppl.graph import Node, ancestors
from ppl.rewrites.elimination.affine import HOST, is_data, known_shape
from ppl.rewrites.elimination.program import Observation, Program, Term, log_density
from ppl.tensor.ops import Elementwise
from ppl.tensor.tensor import Tensor


def branches(factor: Observation, variable: RandomVariable) -> tuple[Observation, Observation] | None:
    """An observation whose parameter is switch(c, a, b) as the rows where c holds, with a, and the others, with b."""
    child = factor.variable
    if child.event_ndim or None in child.type.shape or laws_of(child):
        return None
    shape = known_shape(child)
    for i, (parameter, declared) in enumerate(zip(child.parameters, child.family.params.values(), strict=True)):
        switch = None if declared.domain.ndim else outermost_switch(parameter, variable)
        if switch is None:
            continue
        condition = tt.broadcast_to(switch[0], shape)
        found = []
        for rows, branch in ((condition, switch[1]), (tt.logical_not(condition), switch[2])):
            given = tuple(branch if j == i else p for j, p in enumerate(child.parameters))
            both = rows if factor.rows is None else factor.rows & rows
            found.append(Observation(draw(child.family, given, shape, child.name), factor.value, both))
        return found[0], found[1]
    return None


def outermost_switch(e: Any, variable: RandomVariable) -> tuple[Tensor, Tensor, Tensor] | None:
    """(c, a, b) such that the expression is switch(c, a, b), c not depending on the variable; None where it is not."""
    if e.op.name == "switch" and variable not in ancestors(e.inputs[0]):
        return e.inputs
    if variable not in ancestors(e) or None in e.type.shape:
        return None
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


def settled(program: Program, written: Program | None = None) -> Program:
    """Observations of some rows only, and those that are not written so by the user, as plain terms."""
    known = {id(o) for o in (program if written is None else written).observed}
    some = [o for o in program.observed if o.rows is not None or id(o) not in known]
    name = lambda o: f"{o.variable.name} {'in new form' if o.rows is None else 'in part'}"
    return program.without(some).plus(terms=[Term(name(o), log_density(o)) for o in some])
