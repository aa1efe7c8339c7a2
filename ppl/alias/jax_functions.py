"""`jax_funcify`: JAX functions for operations of the user's own, under PyTensor's path `pytensor.link.jax.dispatch`.

An operation with such a function is computed by it, inside the compiled program and without a call to the host. Its
derivative is the one that its class defines; where the class defines none, JAX differentiates the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ppl.alias.fgraph import FunctionGraph
from ppl.tensor.core.evaluate import to_jax


@functools.singledispatch
def jax_funcify(op: Any, node: Any = None, **options: Any) -> Callable[..., Any]:
    """The JAX function of an operation or a graph; `jax_funcify.register(MyOp)` tells that of an operation of yours.

    >>> import jax.numpy as jnp, numpy as np, ppl
    >>> class Halved(ppl.Op):
    ...     itypes, otypes = [ppl.tensor.dvector], [ppl.tensor.dvector]
    ...     def perform(self, node, inputs, outputs):
    ...         outputs[0][0] = inputs[0] / 2
    >>> @jax_funcify.register(Halved)
    ... def _(op, **kwargs):
    ...     return lambda x: x / 2
    >>> x = ppl.tensor.dvector("x")
    >>> ppl.function([x], ppl.grad(Halved()(x).sum(), x))(np.ones(2)).tolist()  # without a `grad` in the class
    [0.5, 0.5]
    """
    raise NotImplementedError(
        f"No JAX conversion for the given `Op`: {op}. Give it one by jax_funcify.register({type(op).__name__}); the "
        "operations of ppl have JAX's functions already."
    )


@jax_funcify.register(FunctionGraph)
def _graph(graph: FunctionGraph, **options: Any) -> Callable[..., Any]:
    function = to_jax(graph.inputs, graph.outputs)
    return lambda *arrays: tuple(function(*arrays))


def jax_function_of(op: Any, node: Any) -> Callable[..., Any] | None:
    """The JAX function that was registered for the class of an operation; None where there is none."""
    found = jax_funcify.dispatch(type(op))
    return None if found is jax_funcify.dispatch(object) else found(op, node=node)


def get_jaxified_graph(inputs: Sequence[Any] | None = None, outputs: Sequence[Any] | None = None) -> Callable[..., Any]:
    """The JAX function from inputs to a tuple of outputs, PyMC's `pymc.sampling.jax.get_jaxified_graph`."""
    return _graph(FunctionGraph(inputs or (), outputs or ()))


def get_jaxified_logp(model: Any, negative_logp: bool = True) -> Callable[..., Any]:
    """A model's log-density, or its negative, as a JAX function of the list of values of `model.value_vars`.

    >>> import jax, ppl
    >>> with ppl.Model() as model:
    ...     x = ppl.Normal("x", 0, 1)
    >>> round(float(jax.grad(get_jaxified_logp(model))([0.5])[0]), 3)
    0.5
    """
    density = model.logp()
    function = get_jaxified_graph(model.value_vars, [-density if negative_logp else density])
    return lambda values: function(*values)[0]
