"""Stacks of matrices worked off one matrix after the other, in programs that would wait for themselves.

On a CPU, JAX 0.10 shares the matrices of a stack (a call of LAPACK) out among XLA's threads, from one of these, which
then waits for the others. Stacks of one program that do not depend on each other run side by side; as many as there
are threads wait for each other for ever. A loop over the matrices needs no other thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ppl.xla.blas import bounded
from ppl.xla.later import jax
from ppl.xla.private import Jaxpr, bodies, bound, called, is_closed, is_traced, opened, row_by_row, run_by

LAPACK = frozenset(
    "cholesky eig eigh geqrf hessenberg householder_product lu ormqr qr schur svd triangular_solve tridiagonal".split()
)
TOO_MANY = 2  # stacks in one program


def in_turn(make: Callable[..., Any], arguments: tuple[Any, ...], donated: tuple[int, ...] = ()) -> Any:
    """A function, traced for some arguments, with loops in the place of stacks of matrices where there are several.

    The memory of the ``donated`` arguments becomes that of results of the same shapes.
    """
    plain = jax.jit(make, donate_argnums=donated)
    traced = plain.trace(*arguments)
    if jax.default_backend() != "cpu" or _found(_is_stack, traced.jaxpr.jaxpr) < TOO_MANY:
        return traced
    return jax.jit(_looping(jax.jit(make)), donate_argnums=donated).trace(*arguments)


class Jitted:
    """`jax.jit(f)`, with loops in the place of stacks of matrices where there are several.

    The first call tells whether a program calls LAPACK often enough; if not, `run` is JAX's own function from then on.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self._plain = jax.jit(f)
        self.run: Callable[..., Any] = self._first

    def __call__(self, *arguments: Any) -> Any:
        return self.run(*arguments)

    def _first(self, *arguments: Any) -> Any:
        if any(map(is_traced, jax.tree.leaves(arguments))):
            return self._plain(*arguments)  # part of a program of the user's
        traced = self._plain.trace(*arguments).jaxpr.jaxpr
        self.run = self._plain
        if jax.default_backend() == "cpu":
            often = _found(_is_lapack, traced) >= TOO_MANY
            self.run = bounded(jax.jit(_looping(self._plain)) if often else self._plain, side_of_largest(traced))
        return self.run(*arguments)


def side_of_largest(jaxpr: Jaxpr) -> int:
    """The longest side of the matrices that a program gives to LAPACK; 0 without any."""
    own = [max(eqn.invars[0].aval.shape[-2:]) for eqn in jaxpr.eqns if _is_lapack(eqn)]
    return max([*own, *(side_of_largest(body) for eqn in jaxpr.eqns for body in bodies(eqn))], default=0)


def _looping(plain: Any) -> Callable[..., Any]:
    """A function that does what a jitted one does, matrix by matrix where it works on several stacks."""

    def run(*arguments: Any) -> Any:
        closed, kinds = jax.make_jaxpr(plain, return_shape=True)(*arguments)
        if _found(_is_stack, closed.jaxpr) < TOO_MANY:
            return plain(*arguments)
        results = _run(closed.jaxpr, closed.consts, jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(kinds), results)

    return run


def _found(what: Callable[[Any], bool], jaxpr: Jaxpr) -> int:
    """How many operations of a kind there are in a program, those in its loops and branches among them."""
    return sum(what(eqn) + sum(_found(what, body) for body in bodies(eqn)) for eqn in jaxpr.eqns)


def _is_lapack(eqn: Any) -> bool:
    return eqn.primitive.name in LAPACK


def _is_stack(eqn: Any) -> bool:
    return _is_lapack(eqn) and prod(eqn.invars[0].aval.shape[:-2]) > 1


def _run(jaxpr: Jaxpr, consts: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of a program, its stacks of matrices in loops."""
    return run_by(_results, jaxpr, consts, arguments)


def _results(eqn: Any, values: list[Any]) -> Sequence[Any]:
    if _is_stack(eqn):
        return _matrix_by_matrix(eqn, values)
    params = eqn.params
    if any(_found(_is_stack, body) for body in bodies(eqn)):
        function = called(eqn)
        if function is not None:  # which is written out here
            return _run(*opened(function), values)
        params = {key: _looped(value) for key, value in params.items()}
    return bound(eqn, values, params)


def _matrix_by_matrix(eqn: Any, values: list[Any]) -> Sequence[Any]:
    axes = eqn.invars[0].aval.ndim - 2
    shape = values[0].shape[:axes]
    rows = [x.reshape(prod(shape), *x.shape[axes:]) for x in values]
    return [x.reshape(*shape, *x.shape[1:]) for x in row_by_row(eqn, rows)]


def _looped(value: Any) -> Any:
    """A body of a loop or branches of a choice, without stacks."""
    if isinstance(value, tuple):
        parts = [_looped(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not is_closed(value):
        return value
    kinds = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in value.in_avals]
    return jax.make_jaxpr(lambda *given: _run(*opened(value), given))(*kinds)
