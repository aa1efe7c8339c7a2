"""One Gaussian block: its integral over all its variables, and the draws that bring them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod

import ppl.tensor as tt
from ppl.distributions import Normal, RandomVariable
from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.draws.draw import draw
from ppl.graph import Node
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.expressions.products import Product, total
from ppl.rewrites.marginalization.gaussian.chain import Chain, Sums
from ppl.rewrites.marginalization.gaussian.design import Turn
from ppl.rewrites.marginalization.gaussian.layout import choose_layout
from ppl.rewrites.marginalization.gaussian.measured_from import center
from ppl.rewrites.marginalization.gaussian.residuals import Residual
from ppl.rewrites.marginalization.gaussian.rows import Key, Rows, rows_of, scales_of
from ppl.rewrites.marginalization.gaussian.spd import Column, DenseFactor, Factor
from ppl.rewrites.marginalization.gaussian.spectral import DiagonalFactor, Rotation, turned
from ppl.tensor.config import config
from ppl.tensor.core.derivatives import at_optimum
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass
class Statistics:
    """Sums of products of the coefficients of rows, those of the groups one for each group; X is that of the rows, of
    data where they are turned."""

    parts: dict[tuple[Key, Key], list[Product]] = field(default_factory=dict)  # of zz
    zz: dict[tuple[Key, Key], Tensor] = field(default_factory=dict)
    zx: dict[Key, Tensor] = field(default_factory=dict)
    ze: dict[Key, Tensor] = field(default_factory=dict)
    xx: Tensor | None = None
    xe: Tensor | None = None

    def turned(self, turn: Turn | None) -> Statistics:
        """Those of the dense columns of a block, and of all that is to be explained."""
        if turn is None or self.xx is None or self.xe is None:
            return self
        ze, xe = dict(self.ze), self.xe
        if turn.away is not None:
            ze |= {key: self.ze[key] + self.zx[key] @ turn.away for key in self.zx}
            xe = xe + self.xx @ turn.away
        if not turn.ndense:
            return replace(self, zx={}, ze=ze, xx=None, xe=None)
        zx = {key: turn.back(value.T).T for key, value in self.zx.items()}
        return replace(self, zx=zx, ze=ze, xx=turn.both(self.xx), xe=turn.back(xe))


def statistics(r: Rows) -> Statistics:
    """The statistics of rows, weighted, but for their common precision."""
    found = Statistics()
    wx = None if r.x is None else r.x * tt.expand_dims(r.weight, 1)
    products = _products(r)
    for key, mine in r.terms.items():
        found.ze[key] = add([t.number * r.summed(r.weight * t.data * r.e) for t in mine])
        if wx is not None:
            found.zx[key] = add([t.number * r.summed(wx * tt.expand_dims(t.data, 1)) for t in mine])
        for other, theirs in r.terms.items():
            if other <= key:
                parts = [Product(t.number * s.number, products(t, s)) for t in mine for s in theirs]
                found.parts[key, other], found.zz[key, other] = parts, total(parts)
    if r.x is not None and wx is not None:
        found.xx, found.xe = wx.T @ r.x, wx.T @ r.e
    return found


def _products(r: Rows) -> Callable[[Product, Product], Tensor]:
    """The sums of products of two coefficients, one for each group: all summed at once where that needs little memory,
    since a hundred sums compile for seconds."""
    pieces = [t.data for parts in r.terms.values() for t in parts]
    if len(pieces) < 3 or r.in_order or r.count * len(pieces) ** 2 > LIMITS.products_at_once:
        return lambda t, s: r.summed(r.weight * t.data * s.data)
    side_by_side = tt.stack(pieces, axis=1)
    weighted = tt.expand_dims(side_by_side * tt.expand_dims(r.weight, 1), 2)
    table = r.summed(weighted * tt.expand_dims(side_by_side, 1))
    place = {data: i for i, data in enumerate(pieces)}
    return lambda t, s: table[:, place[t.data], place[s.data]]


def add(values: Sequence[Tensor]) -> Tensor:
    """The sum of tensors."""
    return reduce(lambda a, b: a + b, values)


def ahead(values: Tensor) -> Tensor:
    """At each group what the next one holds."""
    return tt.concatenate([values[1:], tt.zeros_like(values[:1])], axis=0)


def behind(values: Tensor) -> Tensor:
    """At each group what the one before holds."""
    return tt.concatenate([tt.zeros_like(values[:1]), values[:-1]], axis=0)


class Block:
    """A block with its groups and dense columns laid out."""

    def __init__(self, chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> None:
        self.variables = list(chosen)
        self.layout = choose_layout(chosen, residuals)
        self.starts: dict[Node, int] = {}
        self.ndense = 0
        for rv in chosen:
            if rv not in self.layout.places:
                self.starts[rv] = self.ndense
                self.ndense += prod(known_shape(rv))
        self.residuals = list(residuals)
        self.rows: list[Rows] = []
        self.written: list[Rows] = []  # the same, measured from zero
        self.scales: list[Tensor] = []  # that have to be positive
        self.u_shift: list[Tensor] | None = None
        self.v_shift: Tensor | None = None
        self.rotation: Rotation | None = None

    @property
    def ndim(self) -> int:
        return self.layout.ndim + self.ndense

    @property
    def structure(self) -> str:
        """The shape of the precision matrix, in words."""
        if not self.layout.count:
            together = " together" if self.ndense > 1 else ""
            return _numbers(self.ndense) + together + ("" if self.rotation is None else ", decorrelated")
        kind = "a block-tridiagonal chain of" if self.layout.linked else ""
        words = f"{kind} {self.layout.count} groups of {_numbers(self.layout.width)}".strip()
        return words + (f", and {self.ndense} beside the groups" if self.ndense else "")

    def lay_out(self) -> None:
        """Write the residuals as rows, and measure them from a least-squares fit of the data where sums take their
        place."""
        self.rows, self.scales = [], []
        for r in self.residuals:
            few = prod(r.map.shape) <= 2 * self.ndim + LIMITS.few_rows
            rows = rows_of(r, self.layout, self.starts, self.ndense, few)
            pieces = [rows] if self._few(rows) else rows.by_scale(scales_of(r))
            self.rows += pieces
            self.scales += [piece.scale for piece in pieces] if len(pieces) > 1 else [r.scale]
        self.written = [replace(r) for r in self.rows]
        if config.floatX != "float64" or not all(map(self._few, self.rows)):
            center(self)
        self.rotation = turned(self.rows, self.ndense)

    def groups(self, rows: Sequence[Rows], known: Sequence[Statistics], ridge: float) -> Groups:
        """The groups, their most likely values at dense columns of zero, and how these move with the columns."""
        return (self._chain if self.layout.linked else self._apart)(rows, known, ridge)

    def _on_diagonal(self, ridge: float) -> list[Tensor]:
        """What every column has on the diagonal of its precision besides the rows: one where a group has no entry."""
        return [as_tensor(ridge + (~self.layout.filled[:, i]).astype(float)) for i in range(self.layout.width)]

    def _apart(self, rows: Sequence[Rows], known: Sequence[Statistics], ridge: float) -> Groups:
        """Each group for itself."""
        span, count = range(self.layout.width), self.layout.count
        a = [[zero] * (i + 1) for i, zero in enumerate([tt.zeros((count,))] * len(span))]
        h, c = [tt.zeros((count,)) for _ in span], [tt.zeros((count, self.ndense)) for _ in span]
        for i, more in enumerate(self._on_diagonal(ridge)):
            a[i][i] = a[i][i] + more
        for r, s in zip(rows, known, strict=True):
            p = r.precision()
            for (_, i), value in s.ze.items():
                h[i] = h[i] + p * value
            for (_, i), value in s.zx.items():
                c[i] = c[i] + p * value
            for ((_, i), (_, j)), value in s.zz.items():
                a[max(i, j)][min(i, j)] = a[max(i, j)][min(i, j)] + p * value
        factor = Factor(a)
        moves = factor.solve(c) if self.ndense else []
        alone = factor.solve(h)

        def draw(v: Tensor | None, noise: Column) -> Column:
            return [m + d for m, d in zip(_given(alone, moves, v), factor.backward(noise), strict=True)]

        return Groups(alone, moves, tt.sum(factor.log_det()), draw)

    def _chain(self, rows: Sequence[Rows], known: Sequence[Statistics], ridge: float) -> Groups:
        """Groups that touch their neighbors."""
        k, count = self.layout.width, self.layout.count
        zero = tt.zeros((count,))
        a, b = Sums((k, k), zero), Sums((k, k), zero)
        h, c = Sums((k, 1), zero), Sums((k,), tt.zeros((count, self.ndense)))
        for i, more in enumerate(self._on_diagonal(ridge)):
            a.add(as_tensor(1.0), (i, i), more)
        for r, s in zip(rows, known, strict=True):
            p = r.precision()
            for (lag, i), value in s.ze.items():
                h.add(p, (i, 0), ahead(value) if lag else value)
            for (lag, i), value in s.zx.items():
                c.add(p, (i,), ahead(value) if lag else value)
            for ((lag, i), (other, j)), parts in s.parts.items():
                for number, value in parts:
                    if lag != other:  # lag is 1, so i is the column of the group before
                        b.add(p * number, (j, i), value)
                        continue
                    for at in {(i, j), (j, i)}:
                        a.add(p * number, at, ahead(value) if lag else value)
        right = h.total()
        if self.ndense:
            right = tt.concatenate([right, c.total()], axis=2)
        chain = Chain(a.total(), b.total(), right)
        moves = [chain.solution[:, i, 1:] for i in range(k)] if self.ndense else []
        return Groups([chain.solution[:, i, 0] for i in range(k)], moves, chain.log_det, chain.draw)

    def eliminate(self) -> Marginal:
        """The integral over the block."""
        return self.integral(self.rows, self.rotation)

    def integral(self, rows: Sequence[Rows], turn: Rotation | None = None, ridge: float = 0.0) -> Marginal:
        """The integral over the block of some rows, with `ridge` on the diagonal of their precision."""
        q = self.ndense
        known = [statistics(r) for r in rows]
        seen = [s.turned(r.turn) for r, s in zip(rows, known, strict=True)]
        groups = self.groups(rows, seen, ridge) if self.layout.width else None
        dense: DenseFactor | DiagonalFactor | None = None
        v: Tensor | None = None
        if q:
            # the precision that is left is least where the groups follow the dense columns so, as a sum of squares is
            moves = [] if groups is None else [at_optimum(x) for x in groups.moves]
            s_matrix, hv = ridge * tt.eye(q) if ridge else tt.zeros((q, q)), tt.zeros((q,))
            for r, s in zip(rows, seen, strict=True):
                s_part, h_part = self._schur(r, s, moves)
                s_matrix, hv = s_matrix + r.precision() * s_part, hv + r.precision() * h_part
            dense = DenseFactor(s_matrix) if turn is None else DiagonalFactor(tt.diagonal(s_matrix), turn)
            v = dense.solve(hv)
        return Marginal(self, known, groups, dense, [] if groups is None else groups.given(v), v)

    def _few(self, r: Rows) -> bool:
        return r.count <= 2 * self.ndim + LIMITS.few_rows

    def _schur(self, r: Rows, s: Statistics, gamma: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """(X - ZΓ)'W(X - ZΓ) and (X - ZΓ)'We for some rows: as residuals where rows are few, else from statistics."""
        if self._few(r):
            x = tt.zeros((r.count, self.ndense)) if r.columns is None else r.columns
            for (lag, i), z in r.z.items():
                x = x - tt.expand_dims(z, 1) * r.gathered(gamma[i], lag)
            wx = x * tt.expand_dims(r.weight, 1)
            return wx.T @ x, wx.T @ r.explained
        matrix = tt.zeros((self.ndense, self.ndense)) if s.xx is None else s.xx
        vector = tt.zeros((self.ndense,)) if s.xe is None else s.xe
        near = {(lag, i): behind(gamma[i]) if lag else gamma[i] for lag, i in r.z}
        for key in r.z:
            vector = vector - near[key].T @ s.ze[key]
            if key in s.zx:
                cross = near[key].T @ s.zx[key]
                matrix = matrix - cross - cross.T
        for (key, other), value in s.zz.items():
            square = near[key].T @ (tt.expand_dims(value, 1) * near[other])
            matrix = matrix + (square if key == other else square + square.T)
        return matrix, vector

    def sum_of_squares(self, r: Rows, s: Statistics, u: Sequence[Tensor], v: Tensor | None) -> Tensor:
        """Σ weight (e - Z u - X v)², as residuals where rows are few or depend on parameters, else from statistics."""
        there = v if r.turn is None else r.turn.of(v)
        if self._few(r) or not r.is_data():
            residual = r.e
            for (lag, i), z in r.z.items():
                residual = residual - z * r.gathered(u[i], lag)
            if r.x is not None and there is not None:
                residual = residual - r.x @ there
            return tt.sum(r.weight * residual**2)
        total = tt.sum(r.weight * r.e**2)
        near = {(lag, i): behind(u[i]) if lag else u[i] for lag, i in r.z}
        for key in r.z:
            total = total - 2.0 * tt.sum(s.ze[key] * near[key])
            if key in s.zx and there is not None:
                total = total + 2.0 * tt.sum(near[key] * (s.zx[key] @ there))
        for (key, other), value in s.zz.items():
            total = total + (1.0 if key == other else 2.0) * tt.sum(value * near[key] * near[other])
        if s.xx is not None and s.xe is not None and there is not None:
            total = total - 2.0 * tt.sum(s.xe * there) + tt.sum(there * (s.xx @ there))
        return total


@dataclass
class Groups:
    """The groups integrated out: h = M u + C v has the solution u = M⁻¹h - M⁻¹C v."""

    alone: Column  # M⁻¹h
    moves: Column  # M⁻¹C
    log_det: Tensor  # log |M|
    draw: Callable[[Tensor | None, Column], Column]  # u + 𝓛'⁻¹ z for some v and z, M = 𝓛 𝓛'

    def given(self, v: Tensor | None) -> Column:
        """The most likely values given the dense columns."""
        return _given(self.alone, self.moves, v)


def _given(alone: Column, moves: Column, v: Tensor | None) -> Column:
    return alone if v is None else [u - move @ v for u, move in zip(alone, moves, strict=True)]


@dataclass
class Marginal:
    """A block integrated out: the factors of its precision and its most likely values."""

    block: Block
    known: list[Statistics]
    groups: Groups | None
    dense: DenseFactor | DiagonalFactor | None
    u: list[Tensor]
    v: Tensor | None

    @property
    def freedom(self) -> int:
        """Rows less dimensions: the power of a common scale in the integral."""
        return sum(r.count for r in self.block.rows) - self.block.ndim

    def squares(self) -> Tensor:
        """The least sum of squares of the residuals, in units of their errors.

        How the most likely values move with parameters adds nothing to its first derivatives, since it is least there;
        second ones are refused.
        """
        u, v = [at_optimum(x) for x in self.u], None if self.v is None else at_optimum(self.v)
        total = as_tensor(0.0)
        for r, s in zip(self.block.rows, self.known, strict=True):
            total = total + r.precision() * self.block.sum_of_squares(r, s, u, v)
        return total

    def volume(self) -> Tensor:
        """The log of the integral, but for the sum of squares."""
        total = as_tensor(-0.5 * self.freedom * LOG_2PI)
        for r in self.block.rows:
            total = total - r.count * tt.log(r.scale) + 0.5 * tt.sum(tt.log(r.weight))
        if self.groups is not None:
            total = total - 0.5 * self.groups.log_det
        return total if self.dense is None else total - 0.5 * self.dense.log_det()

    def values(self, scale: Tensor) -> dict[Node, Tensor]:
        """A draw of every variable: dense ones from their marginal, groups given them; on the scale of the user.

        `scale` is the standard deviation that all rows share, beside their own.
        """
        block, found = self.block, {}
        value: Tensor | None = None
        if self.dense is not None and self.v is not None:
            value = self.v + self.dense.backward(scale * _noise(block.ndense))
            shifted = value if block.rotation is None else block.rotation.matrix @ value
            shifted = shifted if block.v_shift is None else tt.cast(shifted + block.v_shift, "floatX")
            for rv, start in block.starts.items():
                shape = known_shape(rv)
                found[rv] = shifted[start : start + prod(shape)].reshape(shape)
        if self.groups is None:
            return found
        count, width = block.layout.count, block.layout.width
        noise = scale * _noise(count * width).reshape((count, width))  # one draw: each takes the compiler its time
        noises = [noise[:, i] for i in range(width)]
        parts = self.groups.draw(value, noises)
        if block.u_shift is not None:
            parts = [tt.cast(p + d, "floatX") for p, d in zip(parts, block.u_shift, strict=True)]
        table = parts[0] if len(parts) == 1 else tt.stack(parts, axis=-1).reshape((-1,))
        for rv, places in block.layout.places.items():
            at = places.group * block.layout.width + places.column
            whole = at.size == count * width and (at == range(at.size)).all()
            found[rv] = (table if whole else table[at]).reshape(known_shape(rv))
        return found


def _numbers(n: int) -> str:
    return f"{n} number{'s' * (n != 1)}"


def _noise(n: int) -> Tensor:
    return draw(Normal, (as_tensor(0.0), as_tensor(1.0)), (n,))
