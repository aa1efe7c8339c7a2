r"""Semiseparable matrices: covariances of Markov processes in time, worked with in as many steps as they have rows.

Below the diagonal an entry is a product along the way from one row to the other,

.. math:: K_{ij} = u_i' Φ_i Φ_{i-1} \cdots Φ_{j+1} v_j \quad (i > j), \qquad K_{ii} = a_i,

with small u, v and Φ: an exponential covariance has the numbers u = 1, v = σ², Φ_i = exp(-(t_i - t_{i-1})/ℓ). Its
factor K = L D L', L with ones on its diagonal, has the same form with w in the place of v:

.. math:: d_i = a_i - u_i' S_i u_i, \quad w_i = (v_i - S_i u_i) / d_i, \quad
          S_{i+1} = Φ_{i+1} (S_i + d_i w_i w_i') Φ_{i+1}', \quad S_1 = 0

which is the Kalman filter in the terms of the covariance (Foreman-Mackey et al. 2017; Eidelman and Gohberg 1999).

Entries of u, v and Φ are numbers or columns with one for each row. Those that are zero are left out, and all arithmetic
is written out entry by entry: a step is short, and XLA folds the loop over them into one kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.tensor import TensorType

Place = tuple[int, int]
ROUNDING = 1e-14  # of a variance, below which what is left of it is none


@dataclass(frozen=True)
class Generators:
    """What a semiseparable matrix is made of, beside its diagonal: `left` and `steps` have their entries that are not
    zero, by place; `right` has all."""

    left: Mapping[int, Any]  # u
    right: Sequence[Any]  # v
    steps: Mapping[Place, Any]  # Φ

    @property
    def places(self) -> dict[str, Any]:
        """Which entries there are, as attributes of a node."""
        return {"left": tuple(self.left), "steps": tuple(self.steps)}

    @property
    def entries(self) -> list[Any]:
        """All entries, one after the other."""
        return [*self.right, *self.left.values(), *self.steps.values()]

    @classmethod
    def of(cls, entries: Sequence[Any], left: Sequence[int], steps: Sequence[Place]) -> Generators:
        """From entries one after the other, and places."""
        order = len(entries) - len(left) - len(steps)
        u, phi = entries[order : order + len(left)], entries[order + len(left) :]
        return cls(dict(zip(left, u, strict=True)), tuple(entries[:order]), dict(zip(steps, phi, strict=True)))

    def map(self, f: Callable[[Any], Any]) -> Generators:
        """The same of each entry."""
        left, steps = ({at: f(x) for at, x in some.items()} for some in (self.left, self.steps))
        return Generators(left, tuple(map(f, self.right)), steps)

    # --- products of small matrices, entry by entry
    def moved(self, x: Sequence[Any]) -> list[Any]:
        """Φ x."""
        return [_sum(p * x[j] for (k, j), p in self.steps.items() if k == i) for i in range(len(x))]

    def moved_back(self, x: Sequence[Any]) -> list[Any]:
        """Φ' x."""
        return [_sum(p * x[k] for (k, j), p in self.steps.items() if j == i) for i in range(len(x))]

    def carried(self, s: Symmetric) -> Symmetric:
        """Φ S Φ'."""
        rows = [self.moved([s[k, j] for k in range(s.order)]) for j in range(s.order)]  # (Φ S)'
        return Symmetric.of(s.order, lambda i, j: self.moved([rows[k][i] for k in range(s.order)])[j])

    def carried_back(self, s: Symmetric) -> Symmetric:
        """Φ' S Φ."""
        rows = [self.moved_back([s[k, j] for k in range(s.order)]) for j in range(s.order)]
        return Symmetric.of(s.order, lambda i, j: self.moved_back([rows[k][i] for k in range(s.order)])[j])

    def seen(self, x: Sequence[Any]) -> Any:
        """u' x."""
        return _sum(u * x[i] for i, u in self.left.items())


def _sum(terms: Any) -> Any:
    """Of terms, 0 where there are none."""
    total: Any = None
    for term in terms:
        total = term if total is None else total + term
    return 0.0 if total is None else total


@dataclass(frozen=True)
class Symmetric:
    """A small symmetric matrix by the entries on and above its diagonal."""

    order: int
    entries: tuple[Any, ...]

    @classmethod
    def of(cls, order: int, entry: Callable[[int, int], Any]) -> Symmetric:
        return cls(order, tuple(entry(i, j) for i in range(order) for j in range(i, order)))

    def __getitem__(self, at: Place) -> Any:
        i, j = min(at), max(at)
        return self.entries[i * self.order - i * (i - 1) // 2 + j - i]

    def times(self, x: Mapping[int, Any]) -> list[Any]:
        """S x, for the entries of x that are not zero."""
        return [_sum(self[i, j] * value for j, value in x.items()) for i in range(self.order)]


def _along(generators: Generators, step: Any, start: Any, given: Any, reverse: bool = False) -> Any:
    """What `step(generators of a row, state, given of a row)` gives along the rows; numbers are the same for all."""
    columns = [i for i, x in enumerate(generators.entries) if jnp.ndim(x)]
    places = generators.places

    def one(state: Any, row: Any) -> Any:
        mine, of_row = row
        entries = list(generators.entries)
        for i, x in zip(columns, mine, strict=True):
            entries[i] = x
        return step(Generators.of(entries, **places), state, of_row)

    rows = tuple(generators.entries[i] for i in columns), given
    return lax.scan(one, start, rows, reverse=reverse)



def _zeros(order: int, like: Any) -> tuple[Any, ...]:
    return (jnp.zeros_like(like[0]),) * order


def _before(x: Any) -> Any:
    """What the row before has; nothing before the first."""
    return jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])


# --- the log-density of a normal vector, and its derivative
@dataclass(frozen=True)
class _Row:
    """A row, or all at once: S and the mean of the state before it is seen, the pivot d, the deviation z of the row
    from its own mean, and v - S u."""

    s: Symmetric
    f: Sequence[Any]
    d: Any
    z: Any
    g: Sequence[Any]

    @classmethod
    def of(cls, q: Generators, a: Any, y: Any, s: Symmetric, f: Sequence[Any]) -> _Row:
        h = s.times(q.left)
        return cls(s, f, a - q.seen(h), y - q.seen(f), [v - x for v, x in zip(q.right, h, strict=True)])

    def after(self) -> tuple[Symmetric, list[Any]]:
        """S and the mean of the state once the row is seen."""
        part = 1.0 / self.d
        w, error = [x * part for x in self.g], self.z * part
        s = Symmetric.of(len(w), lambda i, j: self.s[i, j] + self.g[i] * w[j])
        return s, [x + g * error for x, g in zip(self.f, self.g, strict=True)]


def _rows(q: Generators, a: Any, y: Any) -> _Row:
    order = len(q.right)

    def step(q: Generators, state: Any, row: Any) -> Any:
        s, f = q.carried(Symmetric(order, state[0])), q.moved(state[1])
        s_after, f_after = _Row.of(q, *row, s, f).after()
        return (s_after.entries, tuple(f_after)), (s.entries, tuple(f))

    start = _zeros(order * (order + 1) // 2, a), _zeros(order, a)
    _, (s, f) = _along(q, step, start, (a, y))
    return _Row.of(q, a, y, Symmetric(order, s), f)


def _density(rows: _Row) -> Any:
    """Without the power of 2π."""
    return -0.5 * jnp.sum(rows.z**2 / rows.d + jnp.log(rows.d))


@dataclass(frozen=True)
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
        cw = _sum(x * y for x, y in zip(c, w, strict=True))
        d = 0.5 * (error * error - part) - _sum(x * y for x, y in zip(w, bw, strict=True)) - cw * error
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


def _slopes(q: Generators, rows: _Row) -> tuple[_Slopes, dict[Place, Any]]:
    """The derivatives of the density with respect to each row's part in it, and to the entries of Φ: once back."""
    order, part = len(q.right), 1.0 / rows.d
    w, error = [x * part for x in rows.g], rows.z * part

    def step(q: Generators, state: Any, row: Any) -> Any:
        found = _Slopes.of(q, Symmetric(order, state[0]), state[1], *row)
        return (q.carried_back(found.s).entries, tuple(q.moved_back(found.f))), state

    start = _zeros(order * (order + 1) // 2, rows.d), _zeros(order, rows.d)
    _, (b, c) = _along(q, step, start, (w, error, part), reverse=True)
    found = _Slopes.of(q, Symmetric(order, b), c, w, error, part)
    su = rows.s.times(q.left)
    sg = rows.s.times(dict(enumerate(found.right)))
    left = {i: -sg[i] - 2.0 * found.diagonal * su[i] - found.y * rows.f[i] for i in q.left}
    s, f = rows.after()
    s, f = Symmetric(order, tuple(map(_before, s.entries))), [_before(x) for x in f]
    moved = [q.moved([s[k, j] for k in range(order)]) for j in range(order)]  # (Φ S)' of the row before
    steps = {
        (i, j): found.f[i] * f[j] + 2.0 * _sum(found.s[i, k] * moved[j][k] for k in range(order)) for i, j in q.steps
    }
    return _Slopes(found.diagonal, found.y, left, found.right, found.s, found.f), steps


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
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
    return _density(rows), _sum(jnp.sum(slope * move) for slope, move in zip(slopes, moves, strict=True))


# --- the factor L D L', and products with L and with the matrix
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

    found: tuple[Any, Any] = _along(q, step, _zeros(order * (order + 1) // 2, a), a)[1]
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
        y = x + sign * _sum(w[i] * state[i] for i in range(order))
        known = y if inverse else x
        f = [state[i] + q.left[i] * known if i in q.left else state[i] for i in range(order)]
        return tuple(q.moved_back(f)), y

    step = backwards if transposed else forwards
    return _along(q, step, _zeros(order, x), (w, x), reverse=transposed)[1]


def _times(q: Generators, a: Any, x: Any) -> Any:
    """K x."""
    order = len(q.right)

    def below(q: Generators, state: Any, x: Any) -> Any:
        f = q.moved(state)
        return tuple(f[i] + q.right[i] * x for i in range(order)), q.seen(f)

    def above(q: Generators, state: Any, x: Any) -> Any:
        f = [state[i] + q.left[i] * x if i in q.left else state[i] for i in range(order)]
        return tuple(q.moved_back(f)), _sum(v * s for v, s in zip(q.right, state, strict=True))

    start = _zeros(order, x)
    return a * x + _along(q, below, start, x)[1] + _along(q, above, start, x, reverse=True)[1]


def _seen(q: Generators, y: Any, a: Any, noise: Any) -> tuple[Any, Any]:
    """S and the mean of the state before each row, where rows with errors of infinite variance tell nothing."""
    order = len(q.right)

    def step(q: Generators, state: Any, given: Any) -> Any:
        s, f = q.carried(Symmetric(order, state[0])), q.moved(state[1])
        row = _Row.of(q, *given[:2], s, f)
        part = 1.0 / (row.d + given[2])
        w, error = [x * part for x in row.g], row.z * part
        after = Symmetric.of(order, lambda i, j: s[i, j] + row.g[i] * w[j]).entries
        return (after, tuple(x + g * error for x, g in zip(f, row.g, strict=True))), (s.entries, tuple(f))

    start = _zeros(order * (order + 1) // 2, a), _zeros(order, a)
    found: tuple[Any, Any] = _along(q, step, start, (a, y, noise))[1]
    return found


def _conditional(
    q: Generators, y: Any, a: Any, noise: Any, own: Any, numbers: Any, *, part: tuple[int, ...] = ()
) -> Any:
    r"""A draw of a process x given y = x + others + e, from a standard normal number for each row: once along the rows
    as in the density, and once back (de Jong and Shephard 1995).

    x has the places `part` of the state (all, where none are named), with the entries u° and v° there, and the variances
    a° of its own. Before row i is seen its covariance with y is k = a° - u°'Su, and that with the state g° = v° - Su°;
    what later rows tell is in r and N:

    .. math:: x = u°'f + k z/d + g'r - ξ, \quad g = g° - k w, \quad ξ \sim N(0, c), \quad
              c = a° - u°'Su° - k^2/d - g'N g, \quad V = u° - u k/d - (I - u w') N g

              r \leftarrow Φ'\big[r + u (z/d - w'r) - V ξ/c\big], \quad
              N \leftarrow Φ'\big[(I - uw') N (I - wu') + uu'/d + VV'/c\big]Φ
    """
    order = len(q.right)
    here = set(part or range(order))
    s, f = _seen(q, y, a, noise)
    row = _Row.of(q, a, y, Symmetric(order, s), f)
    share = 1.0 / (row.d + noise)
    left = {i: u for i, u in q.left.items() if i in here}
    h = row.s.times(left)
    k = own - _sum(u * h[i] for i, u in q.left.items())
    gain = k * share
    if part:
        variance = own - _sum(u * h[i] for i, u in left.items()) - k * gain
    else:  # the same where there are no others, without what cancels
        variance = jnp.where(jnp.isinf(noise), k, noise * gain)
    g = [(v if i in here else 0.0) - x - y * gain for i, (v, x, y) in enumerate(zip(q.right, h, row.g, strict=True))]
    w = [x * share for x in row.g]

    def step(q: Generators, state: Any, given: Any) -> Any:
        n, r = Symmetric(order, state[0]), state[1]
        g, w, variance, gain, z, share, number = given
        u, own = ([some.get(i, 0.0) for i in range(order)] for some in (q.left, {i: q.left[i] for i in left}))
        ng, nw = n.times(dict(enumerate(g))), n.times(dict(enumerate(w)))
        along = lambda x, y: _sum(a * b for a, b in zip(x, y, strict=True))
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

    start = _zeros(order * (order + 1) // 2, a), _zeros(order, a)
    later = _along(q, step, start, (tuple(g), tuple(w), variance, gain, row.z, share, numbers), reverse=True)[1]
    return _sum(u * f[i] for i, u in left.items()) + gain * row.z + later


# --- operations
class _Semiseparable(TensorOp):
    """An operation on some columns (n,) and on the entries of generators; `left` and `steps` are the places of those
    that are not zero. `on` is the same for `Generators`."""

    def __init__(self, name: str, lower: Callable[..., Any], columns: int, result: Callable[[Any, Any, int], Any]):
        super().__init__(name, lower)
        self.columns, self.result = columns, result

    def __call__(self, *inputs: Any, left: Any, steps: Any, name: str | None = None, **attrs: Any) -> Any:
        places = {"left": tuple(left), "steps": tuple((i, j) for i, j in steps)}
        return self.build(unify(inputs, to_float=True), {**places, **attrs}, name)

    def on(self, *columns: Any, generators: Generators, **attrs: Any) -> Any:
        """The node for generators whose entries are tensors."""
        return self(*columns, *generators.entries, **generators.places, **attrs)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType | TupleType:
        types = [node.type for node in inputs]
        order = len(inputs) - self.columns - len(attrs["left"]) - len(attrs["steps"])
        if order < 1 or any(type.ndim > 1 for type in types[self.columns :]):
            shown = ", ".join(str(type.shape) for type in types)
            raise ValueError(f"{self.name}: entries of u, v and Φ are numbers or columns, got the shapes {shown}")
        if types[self.columns - 1].ndim != 1:
            raise ValueError(f"{self.name}: {inputs[self.columns - 1]!r} is no column with an entry for each row")
        lengths = {type.shape[0] for type in types if type.ndim} - {None}  # that of w is a matrix
        if len(lengths) > 1:
            raise ValueError(f"{self.name}: columns of one length are needed, got the lengths {sorted(lengths)}")
        found: TensorType | TupleType = self.result(types[0].dtype, min(lengths, default=None), order)
        return found


def _operation(name: str, columns: int, lower: Callable[..., Any], result: Callable[[Any, Any, int], Any]) -> Any:
    def lowered(*inputs: Any, left: Any, steps: Any, **attrs: Any) -> Any:
        return lower(Generators.of(inputs[columns:], left, steps), *inputs[:columns], **attrs)

    return _Semiseparable(name, lowered, columns, result)


def _log_density_of(q: Generators, y: Any, a: Any) -> Any:
    return _log_density(*q.places.values(), y, a, *q.entries)


semiseparable_log_density = _operation(
    "semiseparable_log_density", 2, _log_density_of, lambda dtype, n, order: TensorType(dtype, ())
)
semiseparable_log_density.__doc__ = """-½ (y'K⁻¹y + log |K|) for y and the diagonal of K: nan where K is not positive
definite."""
semiseparable_factor = _operation(
    "semiseparable_factor",
    1,
    _factor,
    lambda dtype, n, order: TupleType((TensorType(dtype, (n,)), TensorType(dtype, (n, order)))),
)
semiseparable_factor.__doc__ = "d and w of L D L' = K, for the diagonal of K; pivots of zero where it is `semidefinite`."
semiseparable_by_factor = _operation(
    "semiseparable_by_factor", 2, _by_factor, lambda dtype, n, order: TensorType(dtype, (n,))
)
semiseparable_by_factor.__doc__ = "L x, for w and x; `inverse` L⁻¹x, `transposed` L'x, both L'⁻¹x."
semiseparable_times = _operation("semiseparable_times", 2, _times, lambda dtype, n, order: TensorType(dtype, (n,)))
semiseparable_times.__doc__ = "K x, for the diagonal of K and x."
semiseparable_conditional = _operation(
    "semiseparable_conditional", 5, _conditional, lambda dtype, n, order: TensorType(dtype, (n,))
)
semiseparable_conditional.__doc__ = """A draw of x given y = x + others + e, for y, the diagonal of the covariance of
x + others, the variances of e (infinite where nothing is seen), those of x, and a standard normal number for each row; x
has the places `part` of the state, all by default."""
