"""PyTensor's `jax_funcify`: how an operation of the user's own is computed by JAX.

Registered for a class, a function of the operation returns a function of JAX's arrays. The compiled program then
computes the operation itself, without a call of Python on the host, and JAX derives its gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ppl.alias.missing import NotHereYet


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
