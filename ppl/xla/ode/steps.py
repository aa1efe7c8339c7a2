"""One step of a method: from y at t to y at t + h, with an estimate of the error and the slope at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ppl.xla.later import jax, jnp
from ppl.xla.ode.tableaus import Explicit, Rosenbrock

Slope = Callable[[Any, Any], Any]  # f(t, y), of vectors
UNROLLED = 8  # states up to which a linear system is solved entry by entry, which XLA keeps inside one kernel


class Step(NamedTuple):
    """Where a step ends."""

    y: Any
    slope: Any  # f there
    error: Any


def step(method: Explicit | Rosenbrock, f: Slope, t: Any, y: Any, slope: Any, h: Any) -> Step:
    """A step of length h from y, where the slope is f(t, y)."""
    run: Any = explicit_step if isinstance(method, Explicit) else rosenbrock_step
    return run(method, f, t, y, slope, h)


def explicit_step(method: Explicit, f: Slope, t: Any, y: Any, slope: Any, h: Any) -> Step:
    slopes, end = [slope], y
    for row, c in zip(method.a, method.c, strict=True):
        end = y + h * _weighted(row, slopes)
        slopes.append(f(t + c * h, end))
    return Step(end, slopes[-1], h * _weighted(method.error, slopes))


def rosenbrock_step(method: Rosenbrock, f: Slope, t: Any, y: Any, slope: Any, h: Any) -> Step:
    jacobian = jax.jacfwd(lambda y: f(t, y))(y)
    in_time = jax.jvp(lambda t: f(t, y), (t,), (jnp.ones_like(t),))[1]
    solved = solver(jnp.eye(y.shape[0], dtype=y.dtype) / (h * method.gamma) - jacobian)
    stages: list[Any] = []
    end = y
    for i, c in enumerate(method.c):
        if i > len(method.a):
            end = end + stages[-1]
        elif i:
            end = y + _weighted(method.a[i - 1], stages)
        right = slope if i == 0 else f(t + c * h, end)
        if i:
            right = right + _weighted(method.C[i - 1], stages) / h
        if i < len(method.d):
            right = right + (h * method.d[i]) * in_time
        stages.append(solved(right))
    end = end + stages[-1]
    return Step(end, f(t + h, end), stages[-1])


def _weighted(weights: tuple[float, ...], vectors: list[Any]) -> Any:
    terms = [w * v for w, v in zip(weights, vectors, strict=True) if w != 0.0]
    return sum(terms[1:], terms[0])


def solver(matrix: Any) -> Callable[[Any], Any]:
    """The solution of linear systems with one matrix. Few equations are solved by elimination with row exchanges,
    written out; many by LAPACK."""
    n = matrix.shape[0]
    if n > UNROLLED:
        factors = jax.scipy.linalg.lu_factor(matrix)
        return lambda right: jax.scipy.linalg.lu_solve(factors, right)
    inverse = _inverse([[matrix[i, j] for j in range(n)] for i in range(n)])
    rows = [jnp.stack(row) for row in inverse]
    return lambda right: jnp.stack([jnp.sum(row * right) for row in rows])


def _inverse(a: list[list[Any]]) -> list[list[Any]]:
    """The inverse of a matrix of a few rows, by Gauss and Jordan with the largest pivot of each column."""
    n = len(a)
    rows = [[*row, *(jnp.ones_like(a[0][0]) if i == j else jnp.zeros_like(a[0][0]) for j in range(n))]
            for i, row in enumerate(a)]  # fmt: skip
    for k in range(n):
        for i in range(k + 1, n):
            larger = jnp.abs(rows[i][k]) > jnp.abs(rows[k][k])
            rows[k], rows[i] = (
                [jnp.where(larger, y, x) for x, y in zip(rows[k], rows[i], strict=True)],
                [jnp.where(larger, x, y) for x, y in zip(rows[k], rows[i], strict=True)],
            )
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]
