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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppl.graph import Attrs, Node, TupleType
from ppl.graph.records import record
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.tensor import TensorType
from ppl.xla.later import jnp, lax

Place = tuple[int, int]
ROUNDING = 1e-14  # of a variance, below which what is left of it is none


@record
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

    # --- products of small matrices, entry by entry
    def moved(self, x: Sequence[Any]) -> list[Any]:
        """Φ x."""
        return [total(p * x[j] for (k, j), p in self.steps.items() if k == i) for i in range(len(x))]

    def moved_back(self, x: Sequence[Any]) -> list[Any]:
        """Φ' x."""
        return [total(p * x[k] for (k, j), p in self.steps.items() if j == i) for i in range(len(x))]

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
        return total(u * x[i] for i, u in self.left.items())


def total(terms: Any) -> Any:
    """Of terms, 0 where there are none."""
    total: Any = None
    for term in terms:
        total = term if total is None else total + term
    return 0.0 if total is None else total


@record
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
        return [total(self[i, j] * value for j, value in x.items()) for i in range(self.order)]


def along(generators: Generators, step: Any, start: Any, given: Any, reverse: bool = False) -> Any:
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


def zeros(order: int, like: Any) -> tuple[Any, ...]:
    return (jnp.zeros_like(like[0]),) * order


@record
class Row:
    """A row, or all at once: S and the mean of the state before it is seen, the pivot d, the deviation z of the row
    from its own mean, and v - S u."""

    s: Symmetric
    f: Sequence[Any]
    d: Any
    z: Any
    g: Sequence[Any]

    @classmethod
    def of(cls, q: Generators, a: Any, y: Any, s: Symmetric, f: Sequence[Any]) -> Row:
        h = s.times(q.left)
        return cls(s, f, a - q.seen(h), y - q.seen(f), [v - x for v, x in zip(q.right, h, strict=True)])

    def after(self) -> tuple[Symmetric, list[Any]]:
        """S and the mean of the state once the row is seen."""
        part = 1.0 / self.d
        w, error = [x * part for x in self.g], self.z * part
        s = Symmetric.of(len(w), lambda i, j: self.s[i, j] + self.g[i] * w[j])
        return s, [x + g * error for x, g in zip(self.f, self.g, strict=True)]


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


def operation(name: str, columns: int, lower: Callable[..., Any], result: Callable[[Any, Any, int], Any]) -> Any:
    def lowered(*inputs: Any, left: Any, steps: Any, **attrs: Any) -> Any:
        return lower(Generators.of(inputs[columns:], left, steps), *inputs[:columns], **attrs)

    return _Semiseparable(name, lowered, columns, result)
