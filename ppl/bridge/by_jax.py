"""Ops without a counterpart, by the conversion to JAX that PyTensor has for them; the others are refused by name."""

from __future__ import annotations

import importlib
from typing import Any

from ppl.bridge.reading import Application, called
from ppl.tensor import from_jax
from ppl.tensor.tensor import Tensor

HOST = (
    "which runs Python on the host and has no conversion to JAX. Write it with pytensor.tensor, give its op a "
    "conversion by pytensor.link.jax.dispatch.jax_funcify.register, or sample this model with PyMC."
)


def by_jax(at: Application) -> Any:
    """The results of a node by PyTensor's conversion of its op to a JAX function."""
    function = _converted(at)
    results = from_jax(function, name=f"pytensor_{called(at.op)}")(*at.tensors)
    listed = list(results) if isinstance(results, list | tuple) and not isinstance(results, Tensor) else [results]
    return listed


def _converted(at: Application) -> Any:
    dispatch = importlib.import_module("pytensor.link.jax.dispatch")
    try:
        function = dispatch.jax_funcify(at.op, node=at.node)
    except Exception as error:
        raise at.refuse(HOST) from error
    return function


__all__ = ["by_jax"]
