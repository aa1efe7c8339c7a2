"""Differential equations: PyMC solves them on the host, ppl in the compiled program, from the same right-hand side."""

from __future__ import annotations

from typing import Any

from ppl.bridge.reading import Application, Value, as_tensor, converts, is_a
from ppl.model.names.elsewhere import room
from ppl.tensor.tensor import Tensor


@converts("DifferentialEquation")
def differential_equation(at: Application) -> list[Value]:
    """The states and their derivatives. The user's function is given PyTensor's variables, and what it returns read."""
    op = at.op
    equation = room("ode").DifferentialEquation(
        lambda y, t, p: _slopes(at, y, t, p), op.times, n_states=op.n_states, n_theta=op.n_theta, t0=op.t0
    )
    starts, theta = (_entries(at, i) for i in range(2))
    if at.wanted is at.node.outputs[1]:
        return list(equation(starts, theta, return_sens=True))
    return [equation(starts, theta)]


def _entries(at: Application, position: int) -> Any:
    """A vector entry by entry where it was made so: derivatives in the numbers among them are not asked for."""
    node = at.variables[position].owner
    if node is not None and is_a(node.op, "MakeVector"):
        return [at.reader.tensor(x) for x in node.inputs]
    return at.tensor(position)


def _slopes(at: Application, *given: Tensor) -> list[Tensor] | Tensor:
    """What the function says of the state, the time and the parameters."""
    vector = at.variables[0].type
    kinds = [vector.clone(shape=(at.op.n_states,)), vector.clone(shape=()), vector.clone(shape=(at.op.n_theta,))]
    stand_ins = [kind() for kind in kinds]
    inner = at.reader.inner(dict(zip(stand_ins, given, strict=True)))
    found = at.op.func(*stand_ins)
    read = lambda x: inner.tensor(x) if hasattr(x, "owner") else as_tensor(x)
    return [read(x) for x in found] if isinstance(found, list | tuple) else read(found)
