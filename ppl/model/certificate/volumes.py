r"""How much a map stretches volume: log |det ∂x/∂z| of a program, from its values alone.

Columns of the derivative are differences of values. Entries of z that no entry of x has in common move together, so
that a thousand effects of groups take as many evaluations as one. A map that is affine in z has exact differences;
otherwise a central difference of eighth order is used, whose error is below rounding for what coordinates are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ppl.compile.hoisting import Once
from ppl.graph import Node, ancestors, substitute
from ppl.model.prediction.draw_rows import RowProgram, over_draws, prepared
from ppl.rewrites import optimize
from ppl.rewrites.factorization.supports import Sites, Support, collapsed, merged, over_last
from ppl.rewrites.marginalization.program import NoMatch
from ppl.rewrites.sharing.invariants import last_still
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.rewrites.values.by_numpy import work
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.linalg import MATMUL
from ppl.tensor.linear_algebra.decompositions import SOLVE_TRIANGULAR
from ppl.tensor.tensor import CONSTANT, Tensor, placeholder

STEP = 1 / 32
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of x(z + kh) - x(z - kh), over h
AFFINE = 1e-10  # how far an affine map may be from its differences
TOGETHER = 4e6  # numbers of the slopes of some points, which are worked out at once
RARE = 1e8  # numbers, a tenth of a second of NumPy and more: a program would take longer to compile, and runs once
MOST_TOGETHER = 64  # entries of z that an entry of x may depend on, for entries to be moved together


class NoVolume(Exception):  # noqa: N818  an answer, not an error
    """A map has no volume of this kind; the message says why."""


class Degenerate(NoVolume):
    """A map makes more numbers than it is given: they have no density."""


class Volume:
    """The map from `sources` z to `made` x, which have as many entries, given `others`; `bent` where it is not likely
    to be affine. What depends on data alone is worked out by `once`."""

    def __init__(
        self,
        sources: Sequence[Tensor],
        made: Sequence[Tensor],
        others: Sequence[Tensor],
        bent: bool = False,
        once: Once | None = None,
    ) -> None:
        if any(None in x.type.shape for x in (*sources, *made)):
            raise NoVolume("the length of a variable is known only when the program runs")
        self.sizes = [prod(z.type.shape) for z in sources]  # type: ignore[arg-type]
        self.size, entries = sum(self.sizes), sum(prod(x.type.shape) for x in made)  # type: ignore[arg-type]
        if self.size != entries:
            kind = Degenerate if self.size < entries else NoVolume
            raise kind(f"{self.size} random numbers make {entries}")
        self.groups, self.pattern = _groups(sources, made, self.size)
        self.sources, self.others = list(sources), list(others)
        moving, simple = frozenset(sources), optimize(list(made))
        still = last_still(simple, lambda node: node in moving, cheap=lambda node: node.op is CONSTANT)
        cuts: dict[Node, Node] = {node: placeholder(node.type) for node in still}
        self._rest: list[Tensor] = substitute(simple, cuts)  # type: ignore[assignment]
        used = ancestors(self._rest)
        self._held = [*cuts.values(), *(x for x in self.others if x in used)]
        self._inputs = [*self.others, *self.sources]
        before = [*cuts, *self._held[len(cuts) :]]
        self._before = RowProgram(self._inputs, before, once, little=RARE)  # type: ignore[arg-type]
        self._each = sum(map(work, ancestors(self._rest)))
        moves = (max(self.groups) + 1) * (2 * len(WEIGHTS) if bent else 1)
        self.work = (moves + 2) * self._each + self.pattern.work
        self._for_rows: dict[int, Any] = {}

    def at(self, values: Mapping[Node, np.ndarray]) -> np.ndarray:
        """log |det| at points: each input has one array, (points, ...)."""
        held = [x[0] for x in over_draws(self._before, [values[x][None] for x in self._inputs])] if self._held else []
        z = [values[each] for each in self.sources]
        count = max(self.groups) + 1
        moves = (self.groups == np.arange(count)[:, None]).astype(float)
        everywhere = np.cos(7.0 * np.arange(self.size)) - 1.5  # a way in which all move, and none by 1
        x = self._moved(z, held, np.stack([np.zeros(self.size), *moves, everywhere]))
        base, there, far = x[:, 0], x[:, 1:-1], x[:, -1]
        slopes = self.pattern.entries(there - base[:, None], self.groups)
        size = np.maximum(abs(base), abs(far)).max(initial=1.0)
        if not np.max(abs(far - base - self.pattern.times(slopes, everywhere)), initial=0.0) <= AFFINE * size:
            slopes = self.pattern.entries(self._differences(z, held, moves), self.groups)
        return self.pattern.log_det(slopes)

    def prepare(self, points: int) -> None:
        """Make what so many points need, before they are there."""
        if self._held:
            prepared(self._before, points)
        many = max(self.groups) + 3
        if points * many * self._each <= TOGETHER:
            prepared(self._program, points * many)

    def _differences(self, z: Sequence[np.ndarray], held: Sequence[np.ndarray], moves: np.ndarray) -> np.ndarray:
        ways = np.array([sign * k * STEP for k in WEIGHTS for sign in (1, -1)])
        x = self._moved(z, held, (ways[:, None, None] * moves).reshape(-1, self.size))
        both = x.reshape(len(x), len(WEIGHTS), 2, len(moves), -1)
        return np.einsum("pkme,k->pme", both[:, :, 0] - both[:, :, 1], np.array(list(WEIGHTS.values())) / STEP)

    def _moved(self, z: Sequence[np.ndarray], held: Sequence[np.ndarray], moves: np.ndarray) -> np.ndarray:
        """All entries of x, (points, moves, entries), with z moved in several ways at each point."""
        points, many = len(z[0]), len(moves)
        together = [n for n in range(1, points + 1) if not points % n and n * many * self._each <= TOGETHER]
        if together and together[-1] > 1 and together[-1] < points:
            places = np.split(np.arange(points), points // together[-1])
            return np.concatenate([self._moved([x[i] for x in z], [x[i] for x in held], moves) for i in places])
        if together and together[-1] == points:
            parts = np.split(moves, np.cumsum(self.sizes)[:-1], axis=1)
            rows = [x[:, None] + part.reshape(many, *x.shape[1:]) for x, part in zip(z, parts, strict=True)]
            still = [np.broadcast_to(x[:, None], (points, many, *x.shape[1:])) for x in held]
            flat = [x.reshape(1, points * many, *x.shape[2:]) for x in (*rows, *still)]
            found = over_draws(self._program, flat)
            return np.concatenate([x.reshape(points, many, -1) for x in found], axis=-1)
        return np.stack([self._at_a_point([x[i] for x in z], [x[i] for x in held], moves) for i in range(points)])

    def _at_a_point(self, z: Sequence[np.ndarray], held: Sequence[np.ndarray], moves: np.ndarray) -> np.ndarray:
        """The same at one point: what does not depend on z, such as a factor of a matrix, is there once."""
        parts = np.split(moves, np.cumsum(self.sizes)[:-1], axis=1)
        rows = [x + part.reshape(-1, *x.shape) for x, part in zip(z, parts, strict=True)]
        found = self._by_numpy(rows, held)
        if found is None:
            still = [np.broadcast_to(x, (len(moves), *x.shape)) for x in held]
            found = [x[0] for x in over_draws(self._program, [x[None] for x in (*rows, *still)])]
        return np.concatenate([x.reshape(len(moves), -1) for x in found], axis=1)

    def _by_numpy(self, rows: Sequence[np.ndarray], held: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        count = len(rows[0])
        if count not in self._for_rows:
            self._for_rows[count] = for_rows(self._rest, self.sources, count)
        if self._for_rows[count] is None:
            return None
        inputs, outputs = self._for_rows[count]
        return step_by_step(outputs, dict(zip([*inputs, *self._held], [*rows, *held], strict=True)))

    @property
    def _program(self) -> RowProgram:
        if not hasattr(self, "_compiled"):
            inputs = [*self.sources, *self._held]
            self._compiled = RowProgram(inputs, self._rest, little=RARE)  # type: ignore[arg-type]
        return self._compiled


class Pattern:
    """Which entries of a square matrix may not be zero. With rows and columns in an order in which it is block
    triangular, its determinant is that of its blocks on the diagonal."""

    def __init__(self, filled: np.ndarray) -> None:
        self.size = len(filled)
        self.rows, self.columns = np.nonzero(filled)
        self.blocks: list[tuple[np.ndarray, np.ndarray]] = []  # rows and columns, (blocks of one size, size)
        if filled.all():
            partner: np.ndarray | None = np.arange(self.size)
            members = [list(range(self.size))] if self.size else []
        else:
            partner = _partners([np.flatnonzero(row).tolist() for row in filled])
            members = [] if partner is None else _strong([np.flatnonzero(row).tolist() for row in filled[:, partner]])
        self.singular = partner is None
        for size in sorted(set(map(len, members))):
            rows = np.array([each for each in members if len(each) == size])
            self.blocks.append((rows, partner[rows]))  # type: ignore[index]

    @property
    def work(self) -> float:
        """About how many numbers the determinant takes NumPy."""
        return len(self.rows) + sum(len(rows) * rows.shape[1] ** 3 / 10 for rows, _ in self.blocks)

    def entries(self, by_move: np.ndarray, move: np.ndarray) -> np.ndarray:
        """The entries, (points, number of them), of what changes by each move; a column has the number of its move."""
        found: np.ndarray = by_move[:, move[self.columns], self.rows]
        return found

    def times(self, entries: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The matrices times a vector, (points, size)."""
        found = np.zeros((self.size, len(entries)))
        np.add.at(found, self.rows, (entries * vector[self.columns]).T)
        return found.T

    def log_det(self, entries: np.ndarray) -> np.ndarray:
        """log |det| of each matrix."""
        if self.singular:
            return np.full(len(entries), -np.inf)
        place = np.full((self.size, self.size), len(self.rows))  # of an entry; behind all, a zero
        place[self.rows, self.columns] = np.arange(len(self.rows))
        padded = np.concatenate([entries, np.zeros((len(entries), 1))], axis=1)
        total = np.zeros(len(entries))
        for rows, columns in self.blocks:
            matrices = padded[:, place[rows[:, :, None], columns[:, None, :]]]
            one = matrices.shape[-1] == 1
            with np.errstate(divide="ignore"):
                each = np.log(abs(matrices[..., 0, 0])) if one else np.linalg.slogdet(matrices)[1]
            total = total + each.sum(axis=1)
        return total


def _partners(near: Sequence[Sequence[int]]) -> np.ndarray | None:
    """A column for each row among those where it is filled, no two the same; None where there are none such."""
    owner: dict[int, int] = {}
    for start in range(len(near)):
        came: dict[int, int] = {}  # from which row each column was reached
        pending, free = [start], None
        while pending and free is None:
            row = pending.pop()
            for column in near[row]:
                if column not in came:
                    came[column] = row
                    if column not in owner:
                        free = column
                        break
                    pending.append(owner[column])
        if free is None:
            return None
        partner = {row: column for column, row in owner.items()}
        while True:  # each row on the way takes the column that was found from it
            row = came[free]
            owner[free] = row
            if row == start:
                break
            free = partner[row]
    found = np.empty(len(near), int)
    for column, row in owner.items():
        found[row] = column
    return found


def _strong(near: Sequence[Sequence[int]]) -> list[list[int]]:
    """Nodes that can be reached from each other (Tarjan 1972), without a call for each."""
    found: list[list[int]] = []
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    inside: set[int] = set()
    for root in range(len(near)):
        path = [] if root in number else [(root, iter(near[root]))]
        while path:
            node, more = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                stack.append(node)
                inside.add(node)
            onward = next((x for x in more if x not in number or x in inside), None)
            if onward is not None and onward not in number:
                path.append((onward, iter(near[onward])))
                continue
            if onward is not None:
                lowest[node] = min(lowest[node], number[onward])
                continue
            path.pop()
            if path:
                lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
            if lowest[node] == number[node]:
                at = stack.index(node)
                found.append(stack[at:])
                inside.difference_update(stack[at:])
                del stack[at:]
    return found


def _groups(sources: Sequence[Tensor], made: Sequence[Tensor], size: int) -> tuple[np.ndarray, Pattern]:
    """A number for each entry of z, the same for those that no entry of x has in common; and which entries of x depend
    on which of z."""
    sites = _Reached(sources, most=MOST_TOGETHER)
    reached = np.zeros((size, size), bool)
    start = 0
    for x in made:
        count = prod(x.type.shape)  # type: ignore[arg-type]
        try:
            support = sites.support(x)
        except NoMatch:
            return np.arange(size), Pattern(np.ones((size, size), bool))
        if support is not None:
            rows = support.reshape(count, -1)
            i, j = np.nonzero(rows >= 0)
            reached[start + i, rows[i, j]] = True
        start += count
    return _colored(reached), Pattern(reached)


class _Reached(Sites):
    """Which entries of z the entries of an expression depend on, through products of matrices too."""

    def _support(self, e: Any) -> Support | None:
        rule = {MATMUL: self._of_product, SOLVE_TRIANGULAR: self._of_equations}.get(e.op)
        return super()._support(e) if rule is None or not self._reach(e) else rule(e)

    def _of_product(self, e: Any) -> Support | None:
        """An entry depends on a row of the left matrix and a column of the right one."""
        left, right = map(self.support, e.inputs)
        rows = None if left is None else np.expand_dims(collapsed(left, [left.ndim - 2], self.most), -2)
        columns = None if right is None else np.expand_dims(collapsed(right, [right.ndim - 3], self.most), -3)
        return merged([rows, columns], e.type.shape, self.most)

    def _of_equations(self, e: Any) -> Support | None:
        """An entry of the solution depends on the whole matrix, and on a column of the right-hand side."""
        a, b = map(self.support, e.inputs)
        whole = over_last(a, 2, self.most)
        if whole is not None:
            whole = whole.reshape(*whole.shape[:-1], *(1,) * e.attrs["b_ndim"], whole.shape[-1])
        axis = None if b is None else b.ndim - 1 - e.attrs["b_ndim"]
        columns = None if b is None else np.expand_dims(collapsed(b, [axis], self.most), axis)
        return merged([whole, columns], e.type.shape, self.most)


def _colored(reached: np.ndarray) -> np.ndarray:
    """Colors of columns, such that no row has two of one color."""
    colors = np.zeros(reached.shape[1], int)
    used: list[np.ndarray] = []  # the rows that each color has
    for j, column in enumerate(reached.T):
        place = next((c for c, rows in enumerate(used) if not (rows & column).any()), len(used))
        if place == len(used):
            used.append(np.zeros(len(column), bool))
        used[place] |= column
        colors[j] = place
    return colors
