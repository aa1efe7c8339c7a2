"""The factor of a semiseparable covariance, products with it, and draws of a process given what is seen of it."""

from __future__ import annotations

from typing import Any

from ppl.graph import TupleType
from ppl.tensor.linear_algebra.semiseparable import (
    ROUNDING,
    Generators,
    Row,
    Symmetric,
    along,
    operation,
    total,
    zeros,
)
from ppl.tensor.tensor import TensorType
from ppl.xla.later import jnp


def _factor(q: Generators, a: Any, *, semidefinite: bool = False) -> tuple[Any, Any]:
    """d and w as (n, k). Where the matrix may be singular, pivots within rounding of zero count as zero."""
    order = len(q.right)

    def step(q: Generators, state: Any, a: Any) -> Any:
        s = q.carried(Symmetric(order, state))
        h = s.times(q.left)
        d, g = a - q.seen(h), [v - x for v, x in zip(q.right, h, strict=True)]
        part = 1.0 / d
        if semidefinite:
            none = d <= ROUNDING * a
            d, part = jnp.where(none, 0.0, d), jnp.where(none, 0.0, 1.0 / jnp.where(none, 1.0, d))
        w = [x * part for x in g]
        after = Symmetric.of(order, lambda i, j: s[i, j] + g[i] * w[j])
        return after.entries, (d, jnp.stack(w))

    found: tuple[Any, Any] = along(q, step, zeros(order * (order + 1) // 2, a), a)[1]
    return found


def _by_factor(q: Generators, w: Any, x: Any, *, inverse: bool = False, transposed: bool = False) -> Any:
    """L x, L⁻¹ x, L' x or L'⁻¹ x."""
    order, sign = len(q.right), -1.0 if inverse else 1.0

    def forwards(q: Generators, state: Any, row: Any) -> Any:
        w, x = row
        f = q.moved(state)
        y = x + sign * q.seen(f)
        known = y if inverse else x
        return tuple(f[i] + w[i] * known for i in range(order)), y

    def backwards(q: Generators, state: Any, row: Any) -> Any:
        w, x = row
        y = x + sign * total(w[i] * state[i] for i in range(order))
        known = y if inverse else x
        f = [state[i] + q.left[i] * known if i in q.left else state[i] for i in range(order)]
        return tuple(q.moved_back(f)), y

    step = backwards if transposed else forwards
    return along(q, step, zeros(order, x), (w, x), reverse=transposed)[1]


def _times(q: Generators, a: Any, x: Any) -> Any:
    """K x."""
    order = len(q.right)

    def below(q: Generators, state: Any, x: Any) -> Any:
        f = q.moved(state)
        return tuple(f[i] + q.right[i] * x for i in range(order)), q.seen(f)

    def above(q: Generators, state: Any, x: Any) -> Any:
        f = [state[i] + q.left[i] * x if i in q.left else state[i] for i in range(order)]
        return tuple(q.moved_back(f)), total(v * s for v, s in zip(q.right, state, strict=True))

    start = zeros(order, x)
    return a * x + along(q, below, start, x)[1] + along(q, above, start, x, reverse=True)[1]


def _seen(q: Generators, y: Any, a: Any, noise: Any) -> tuple[Any, Any]:
    """S and the mean of the state before each row, where rows with errors of infinite variance tell nothing."""
    order = len(q.right)

    def step(q: Generators, state: Any, given: Any) -> Any:
        s, f = q.carried(Symmetric(order, state[0])), q.moved(state[1])
        row = Row.of(q, given[0], given[1], s, f)
        part = 1.0 / (row.d + given[2])
        w, error = [x * part for x in row.g], row.z * part
        after = Symmetric.of(order, lambda i, j: s[i, j] + row.g[i] * w[j]).entries
        return (after, tuple(x + g * error for x, g in zip(f, row.g, strict=True))), (s.entries, tuple(f))

    start = zeros(order * (order + 1) // 2, a), zeros(order, a)
    found: tuple[Any, Any] = along(q, step, start, (a, y, noise))[1]
    return found


def _conditional(
    q: Generators, y: Any, a: Any, noise: Any, own: Any, numbers: Any, *, part: tuple[int, ...] = ()
) -> Any:
    r"""A draw of a process x given y = x + others + e, from a standard normal number for each row: once along the rows
    as in the density, and once back (de Jong and Shephard 1995).

    x has the places `part` of the state (all, where none are named), with the entries u° and v° there, and the
    variances a° of its own. Before row i is seen its covariance with y is k = a° - u°'Su, and that with the state
    g° = v° - Su°; what later rows tell is in r and N:

    .. math:: x = u°'f + k z/d + g'r - ξ, \quad g = g° - k w, \quad ξ \sim N(0, c), \quad
              c = a° - u°'Su° - k^2/d - g'N g, \quad V = u° - u k/d - (I - u w') N g

              r \leftarrow Φ'\big[r + u (z/d - w'r) - V ξ/c\big], \quad
              N \leftarrow Φ'\big[(I - uw') N (I - wu') + uu'/d + VV'/c\big]Φ
    """
    order = len(q.right)
    here = set(part or range(order))
    s, f = _seen(q, y, a, noise)
    row = Row.of(q, a, y, Symmetric(order, s), f)
    share = 1.0 / (row.d + noise)
    left = {i: u for i, u in q.left.items() if i in here}
    h = row.s.times(left)
    k = own - total(u * h[i] for i, u in q.left.items())
    gain = k * share
    if part:
        variance = own - total(u * h[i] for i, u in left.items()) - k * gain
    else:  # the same where there are no others, without what cancels
        variance = jnp.where(jnp.isinf(noise), k, noise * gain)
    g = [(v if i in here else 0.0) - x - y * gain for i, (v, x, y) in enumerate(zip(q.right, h, row.g, strict=True))]
    w = [x * share for x in row.g]

    def step(q: Generators, state: Any, given: Any) -> Any:
        n, r = Symmetric(order, state[0]), state[1]
        g, w, variance, gain, z, share, number = given
        u, own = ([some.get(i, 0.0) for i in range(order)] for some in (q.left, {i: q.left[i] for i in left}))
        ng, nw = n.times(dict(enumerate(g))), n.times(dict(enumerate(w)))
        along = lambda x, y: total(a * b for a, b in zip(x, y, strict=True))
        c = variance - along(g, ng)
        known = c <= ROUNDING * variance
        over, xi = jnp.where(known, 0.0, 1.0 / jnp.where(known, 1.0, c)), jnp.sqrt(jnp.where(known, 0.0, c)) * number
        v = [own[i] - u[i] * (gain - along(g, nw)) - ng[i] for i in range(order)]
        both = along(w, nw) + share
        after = Symmetric.of(
            order, lambda i, j: n[i, j] - u[i] * nw[j] - nw[i] * u[j] + u[i] * u[j] * both + v[i] * v[j] * over
        )
        back = [r[i] + u[i] * (z * share - along(w, r)) - v[i] * xi * over for i in range(order)]
        return (q.carried_back(after).entries, tuple(q.moved_back(back))), along(g, r) - xi

    start = zeros(order * (order + 1) // 2, a), zeros(order, a)
    later = along(q, step, start, (tuple(g), tuple(w), variance, gain, row.z, share, numbers), reverse=True)[1]
    return total(u * f[i] for i, u in left.items()) + gain * row.z + later


semiseparable_factor = operation(
    "semiseparable_factor",
    1,
    _factor,
    lambda dtype, n, order: TupleType((TensorType(dtype, (n,)), TensorType(dtype, (n, order)))),
)
semiseparable_factor.__doc__ = "d and w of LDL' = K, for the diagonal of K; pivots of zero where it is `semidefinite`."
semiseparable_by_factor = operation(
    "semiseparable_by_factor", 2, _by_factor, lambda dtype, n, order: TensorType(dtype, (n,))
)
semiseparable_by_factor.__doc__ = "L x, for w and x; `inverse` L⁻¹x, `transposed` L'x, both L'⁻¹x."
semiseparable_times = operation("semiseparable_times", 2, _times, lambda dtype, n, order: TensorType(dtype, (n,)))
semiseparable_times.__doc__ = "K x, for the diagonal of K and x."
semiseparable_conditional = operation(
    "semiseparable_conditional", 5, _conditional, lambda dtype, n, order: TensorType(dtype, (n,))
)
semiseparable_conditional.__doc__ = """A draw of x given y = x + others + e, for y, the diagonal of the covariance of
x + others, the variances of e (infinite where nothing is seen), those of x, and a standard normal number for each row;
x has the places `part` of the state, all by default."""
