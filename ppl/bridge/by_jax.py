"""Ops without a counterpart, by the conversion to JAX that PyTensor has for them; the others are refused by name."""

from __future__ import annotations

import importlib
from typing import Any

from ppl.bridge.reading import Application, called, converts, is_a
from ppl.tensor import from_jax
from ppl.tensor.tensor import Tensor

HOST = (
    "which runs Python on the host and has no conversion to JAX. Write it with pytensor.tensor, give its op a "
    "conversion by pytensor.link.jax.dispatch.jax_funcify.register, or sample this model with PyMC."
)


@converts("Op")
def by_jax(at: Application) -> Any:
    """The results of a node by PyTensor's conversion of its op to a JAX function."""
    function = _converted(at)
    try:
        results = from_jax(lambda *inputs: function(*inputs), name=f"pytensor_{called(at.op)}")(*at.tensors)
    except Exception as error:
        raise at.refuse(f"whose conversion to JAX fails here: {error}") from error
    return list(results) if isinstance(results, list | tuple) and not isinstance(results, Tensor) else [results]


def _converted(at: Application) -> Any:
    """PyTensor's JAX function for an op; an error that names the op where it has none."""
    if is_a(at.op, "FromFunctionOp", "_NoPythonOp") and not is_a(at.op, "IfElse"):
        raise at.refuse(HOST)
    dispatch = importlib.import_module("pytensor.link.jax.dispatch")
    try:
        return dispatch.jax_funcify(at.op, node=at.node)
    except Exception as error:
        raise at.refuse(HOST) from error
