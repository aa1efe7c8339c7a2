"""The normal log-density by a semiseparable covariance: once along the rows, and once back for its derivative."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ppl.graph.records import record
from ppl.tensor.linear_algebra.semiseparable import (
    Generators,
    Place,
    Row,
    Symmetric,
    along,
    operation,
    total,
    zeros,
)
from ppl.tensor.tensor import TensorType
from ppl.xla.later import custom_jvp, jnp


def before(x: Any) -> Any:
    """What the row before has; nothing before the first."""
    return jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])


def _rows(q: Generators, a: Any, y: Any) -> Row:
    order = len(q.right)

    def step(q: Generators, state: Any, row: Any) -> Any:
        s, f = q.carried(Symmetric(order, state[0])), q.moved(state[1])
        s_after, f_after = Row.of(q, row[0], row[1], s, f).after()
        return (s_after.entries, tuple(f_after)), (s.entries, tuple(f))

    start = zeros(order * (order + 1) // 2, a), zeros(order, a)
    _, (s, f) = along(q, step, start, (a, y))
    return Row.of(q, a, y, Symmetric(order, s), f)


def _density(rows: Row) -> Any:
    """Without the power of 2π."""
    return -0.5 * jnp.sum(rows.z**2 / rows.d + jnp.log(rows.d))


@record
class _Slopes:
    """Derivatives with respect to what a row adds to, for B and c, those with respect to S and the mean of the state
    once it is seen."""

    diagonal: Any
    y: Any
    left: dict[int, Any]
    right: list[Any]
    s: Symmetric  # as of a matrix whose entries on both sides of the diagonal move
    f: list[Any]

    @classmethod
    def of(cls, q: Generators, b: Symmetric, c: Sequence[Any], w: Sequence[Any], error: Any, part: Any) -> _Slopes:
        everywhere = dict(enumerate(w))
        bw = b.times(everywhere)
        cw = total(x * y for x, y in zip(c, w, strict=True))
        d = 0.5 * (error * error - part) - total(x * y for x, y in zip(w, bw, strict=True)) - cw * error
        g = [2.0 * x + y * error for x, y in zip(bw, c, strict=True)]
        z = cw - error

        def of_state(i: int, j: int) -> Any:
            found = b[i, j]
            if j in q.left:
                found = found - 0.5 * g[i] * q.left[j]
            if i in q.left:
                found = found - 0.5 * g[j] * q.left[i]
            return found - d * q.left[i] * q.left[j] if i in q.left and j in q.left else found

        f = [x - z * q.left[i] if i in q.left else x for i, x in enumerate(c)]
        return cls(d, z, {}, g, Symmetric.of(len(w), of_state), f)


def _slopes(q: Generators, rows: Row) -> tuple[_Slopes, dict[Place, Any]]:
    """The derivatives of the density with respect to each row's part in it, and to the entries of Φ: once back."""
    order, part = len(q.right), 1.0 / rows.d
    w, error = [x * part for x in rows.g], rows.z * part

    def step(q: Generators, state: Any, row: Any) -> Any:
        found = _Slopes.of(q, Symmetric(order, state[0]), state[1], *row)
        return (q.carried_back(found.s).entries, tuple(q.moved_back(found.f))), state

    start = zeros(order * (order + 1) // 2, rows.d), zeros(order, rows.d)
    _, (b, c) = along(q, step, start, (w, error, part), reverse=True)
    found = _Slopes.of(q, Symmetric(order, b), c, w, error, part)
    su = rows.s.times(q.left)
    sg = rows.s.times(dict(enumerate(found.right)))
    left = {i: -sg[i] - 2.0 * found.diagonal * su[i] - found.y * rows.f[i] for i in q.left}
    s, f = rows.after()
    s, f = Symmetric(order, tuple(map(before, s.entries))), [before(x) for x in f]
    moved = [q.moved([s[k, j] for k in range(order)]) for j in range(order)]  # (Φ S)' of the row before
    steps = {
        (i, j): found.f[i] * f[j] + 2.0 * total(found.s[i, k] * moved[j][k] for k in range(order)) for i, j in q.steps
    }
    return _Slopes(found.diagonal, found.y, left, found.right, found.s, found.f), steps


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _log_density(left: tuple[int, ...], steps: tuple[Place, ...], y: Any, a: Any, *entries: Any) -> Any:
    return _density(_rows(Generators.of(entries, left, steps), a, y))


@_log_density.defjvp
def _moved(left: tuple[int, ...], steps: tuple[Place, ...], given: Any, moves: Any) -> Any:
    """The derivative is a sum over rows of slopes, which come from one way back; that of a loop would keep more."""
    y, a, *entries = given
    q = Generators.of(entries, left, steps)
    rows = _rows(q, a, y)
    found, of_steps = _slopes(q, rows)
    slopes = [found.y, found.diagonal, *found.right, *found.left.values(), *of_steps.values()]
    return _density(rows), total(jnp.sum(slope * move) for slope, move in zip(slopes, moves, strict=True))


def _log_density_of(q: Generators, y: Any, a: Any) -> Any:
    return _log_density(*q.places.values(), y, a, *q.entries)


semiseparable_log_density = operation(
    "semiseparable_log_density", 2, _log_density_of, lambda dtype, n, order: TensorType(dtype, ())
)
semiseparable_log_density.__doc__ = """-½ (y'K⁻¹y + log |K|) for y and the diagonal of K: nan where K is not positive
definite."""
