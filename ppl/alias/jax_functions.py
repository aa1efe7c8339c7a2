"""PyTensor's `jax_funcify`: how an operation of the user's own is computed by JAX.

Registered for a class, a function of the operation returns a function of JAX's arrays. The compiled program then
computes the operation itself, without a call of Python on the host, and JAX derives its gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ppl.alias.fgraph import FunctionGraph
from ppl.alias.missing import NotHereYet
from ppl.tensor.core.evaluate import to_jax
from ppl.xla.later import wide
from ppl.xla.private import is_traced


@functools.singledispatch
def jax_funcify(op: Any, node: Any = None, **options: Any) -> Callable[..., Any]:
    """The function of JAX's arrays that an operation is; `jax_funcify.register(Class)` says it for a class.

    >>> import jax.numpy as jnp, numpy as np, ppl
    >>> class Cube(ppl.Op):
    ...     itypes, otypes = [ppl.tensor.dvector], [ppl.tensor.dvector]
    ...     def perform(self, node, inputs, outputs):
    ...         outputs[0][0] = inputs[0] ** 3
    >>> @jax_funcify.register(Cube)
    ... def cube(op, **options):
    ...     return lambda x: x**3
    >>> x = ppl.tensor.dvector("x")
    >>> ppl.grad(Cube()(x).sum(), x).eval({x: np.array([1.0, 2.0])}).tolist()
    [3.0, 12.0]
    """
    if node is not None and hasattr(op, "lower"):
        return functools.partial(op.lower, **node.attrs)
    raise NotImplementedError(
        f"No JAX conversion for the given `Op`: {op}. Say how JAX computes it by"
        f" @jax_funcify.register({type(op).__name__})"
    )


def jax_function_of(op: Any, node: Any) -> Callable[..., Any] | None:
    """The JAX function that was registered for an operation of the user's; None where there is none."""
    if jax_funcify.dispatch(type(op)) is jax_funcify.dispatch(object):
        return None
    found: Callable[..., Any] = jax_funcify(op, node=node)
    if not callable(found):
        raise TypeError(
            f"jax_funcify of {type(op).__name__} returned {found!r}: it must return a function of JAX's arrays"
        )
    return found


def numba_funcify(*_: Any, **__: Any) -> Any:
    """PyTensor's way to Numba, which nothing is compiled by here."""
    raise NotHereYet("ppl compiles by JAX: register the operation by pytensor.link.jax.dispatch.jax_funcify")


@jax_funcify.register(FunctionGraph)
def _graph(graph: FunctionGraph, **options: Any) -> Callable[..., Any]:
    function = to_jax(graph.inputs, graph.outputs)

    def call(*arrays: Any) -> tuple[Any, ...]:
        if any(map(is_traced, arrays)):
            return tuple(function(*arrays))  # in the precision of whoever traces it
        with wide():
            return tuple(function(*arrays))

    return call


def get_jaxified_graph(inputs: Sequence[Any] | None = None, outputs: Sequence[Any] | None = None) -> Callable[..., Any]:
    """The JAX function from inputs to a tuple of outputs, PyMC's `pymc.sampling.jax.get_jaxified_graph`."""
    return _graph(FunctionGraph(inputs or (), outputs or ()))


def get_jaxified_logp(model: Any, negative_logp: bool = True) -> Callable[..., Any]:
    """A model's log-density, or its negative, as a JAX function of the list of values of `model.value_vars`.

    >>> import jax, ppl
    >>> with ppl.Model() as model:
    ...     x = ppl.Normal("x", 0, 1)
    >>> with jax.enable_x64(True):
    ...     round(float(jax.grad(get_jaxified_logp(model))([0.5])[0]), 3)
    0.5
    """
    density = model.logp()
    function = get_jaxified_graph(model.value_vars, [-density if negative_logp else density])
    return lambda values: function(*values)[0]
