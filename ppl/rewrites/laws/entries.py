"""Laws of one entry of a vector whose other entries nothing depends on."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.tensor.tensor import Tensor


def entry(node: Any) -> Tensor | None:
    """The law of an entry at a constant place; None where it is none."""
    if node.op.name != "getitem" or len(node.inputs) != 1 or not isinstance(node.inputs[0], RandomVariable):
        return None
    (drawn,), plan = node.inputs, node.attrs["plan"]
    if drawn.name is not None or not drawn.family.law_of_entry or len(plan) != drawn.ndim or plan[-1][0] != "int":
        return None
    if None in drawn.type.shape:
        return None
    family, parameters = drawn.family.law_of_entry(plan[-1][1], *drawn.parameters)
    batch = drawn.type.shape[:-1]
    law: Tensor = draw(family, tuple(map(tt.as_tensor, parameters)), batch)
    for axis, (kind, *where) in reversed(list(enumerate(plan[:-1]))):
        at = where[0] if kind == "int" else slice(*where)
        law = law[(slice(None),) * axis + (at,)] if kind == "int" or at != slice(None) else law
    return law
