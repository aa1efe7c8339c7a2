"""A log-density whose sums over the rows of data are taken block by block, so that devices can share the rows.

Most log-densities are sums over rows of something that each row gives by itself. `BlockedProgram` finds these sums in a
graph, cuts the graph there, and writes what lies below for a block of rows (`row_moves` says how); the rest, priors and
whatever joins rows, is computed of everything, as before. So any model is right, and those are fast whose work lies in
rows. The grid of blocks follows from the data alone (`ppl.xla.blocks`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import Slot
from ppl.compile.grouping import grouped, known_positions, table_of_places
from ppl.compile.hoisting import Once, computed, hoisted
from ppl.compile.numbers import held_numbers
from ppl.compile.pure import Program
from ppl.compile.row_moves import Along, Rows, Summed, moved
from ppl.graph import Node, ancestors, substitute, topological
from ppl.rewrites.limits import LIMITS
from ppl.tensor.arrays.grouped import TAKE_ROWS
from ppl.tensor.core import elementwise as ew
from ppl.tensor.tensor import CONSTANT, Tensor, TensorType, placeholder, value_of
from ppl.tensor.variables import VARIABLE
from ppl.xla.blocks import BLOCKS, added_up, real_rows, rows_of_blocks
from ppl.xla.later import jnp


class _Leaf(NamedTuple):
    """An array of data that has the rows along an axis."""

    node: Node
    axis: int


class _Block(Rows):
    """The graph of one block of rows: what is given to it, row by row or the same for all blocks."""

    def __init__(self, count: int, leaves: Sequence[_Leaf]) -> None:
        super().__init__()
        self.count, self.some = count, -(-count // BLOCKS)
        self.real = placeholder(TensorType("bool", (self.some,)), "real")
        self.numbers = placeholder(TensorType("int64", (self.some,)), "rows")
        self.same: dict[Node, Tensor] = {}  # what stands for an array that is the same for all blocks
        self.leaves: dict[Tensor, _Leaf] = {}  # the array of which each place has the rows of a block
        self.tables: dict[Tensor, np.ndarray] = {}  # places whose values are known now, one for each block
        for leaf in leaves:
            shape = leaf.node.type.shape
            place = placeholder(
                TensorType(leaf.node.type.dtype, (*shape[: leaf.axis], self.some, *shape[leaf.axis + 1 :]))
            )
            self.leaves[place] = leaf
            self.along[leaf.node] = Along(place, leaf.axis)

    def entering(self, x: Node) -> Any:
        if x.op is CONSTANT and not x.type.shape:
            return x
        if x not in self.same:
            self.same[x] = placeholder(x.type)
        return self.same[x]

    def picked(self, x: Node, axis: int) -> Any:
        return tt.take(self.entering(x), self.numbers, axis=axis)

    def taken_by_group(self, x: Node, groups: Node) -> Any:
        numbers = known_positions(groups)
        if numbers is None or not x.type.ndim or numbers.min() < -x.type.shape[0] or numbers.max() >= x.type.shape[0]:
            return None
        each = np.where(numbers < 0, numbers + x.type.shape[0], numbers)[rows_of_blocks(self.count, BLOCKS)]
        tables = table_of_places(each, x.type.shape[0])
        if tables is None:
            return None
        places = []
        for table in (each.astype(np.int32), tables.astype(np.int32)):
            places.append(placeholder(TensorType("int32", table.shape[1:])))
            self.tables[places[-1]] = table
        return TAKE_ROWS(self.entering(x), *places)


class _Cut(NamedTuple):
    """A graph cut at its sums over rows."""

    block: _Block
    parts: list[Tensor]  # of a block: the sums over its rows
    sums: list[Tensor]  # what stands for them, over all blocks, in ...
    rest: list[Tensor]  # ... the outputs


class BlockedProgram:
    """The log-density as a pure JAX function of (position, *data), like `FlatProgram`; its first data, as many as
    `spread`, have an axis of blocks in front, which may be spread along the axis of a mesh that `axis` names."""

    def __init__(
        self, cut: _Cut, before: dict[Tensor, Tensor], slots: Sequence[Slot], once: Once, axis: str | None, shares: int
    ) -> None:
        self.slots, self._once, self._axis, self._shares = list(slots), once, axis, shares
        inputs = [slot.variable for slot in slots]
        self._places, self._before = list(before), Program([], list(before.values()))
        block, needed = cut.block, ancestors(cut.parts)
        self.rows, self._sums = block.count, sum(prod(x.type.shape) for x in cut.sums)
        self._leaves = [(place, leaf) for place, leaf in block.leaves.items() if place in needed]
        self._tables = [(place, table) for place, table in block.tables.items() if place in needed]
        # What enters blocks: first the numbers that slopes are taken in, then what stands still.
        enters = [x for x, place in block.same.items() if place in needed]
        moving = set(_moving(topological(enters), inputs))
        moves = [x for x in enters if x in moving and x.type.dtype[0] == "f"]
        enters = [*moves, *(x for x in enters if x not in set(moves))]
        self._shapes = [x.type.shape for x in moves]
        everything = ancestors([*enters, *cut.rest])
        self._whole = [place for place in self._places if place in everything]
        given, of_whole = [*inputs, *self._whole], lambda outputs: held_numbers(grouped(outputs, inputs), inputs)
        rows = [*(place for place, _ in self._leaves), *(place for place, _ in self._tables), block.real, block.numbers]
        self._first = Program(given, of_whole(enters))
        self._block = Program([*(block.same[x] for x in enters), *rows], cut.parts)
        self._last = Program([*given, *cut.sums], of_whole(cut.rest))

    @property
    def message(self) -> int:
        """How many numbers the devices tell each other for a gradient."""
        return BLOCKS * self._sums * (1 + sum(map(prod, self._shapes)))

    @property
    def spread(self) -> int:
        """How many of the data have an axis of blocks in front."""
        return 3 + len(self._leaves) + len(self._tables)

    @property
    def data(self) -> tuple[Any, ...]:
        """The arrays by blocks, and the others."""
        whole = list(self._once(self._before)) if self._places else []
        known = dict(zip(self._places, whole, strict=True))
        rows = rows_of_blocks(self.rows, BLOCKS)
        by_block = [_by_block(known.get(leaf.node, leaf.node), leaf.axis, rows) for _, leaf in self._leaves]
        grid = [*by_block, *[table for _, table in self._tables], real_rows(self.rows, BLOCKS), rows]
        missing = -BLOCKS % self._shares
        filled = [np.concatenate([x, np.repeat(x[-1:], missing, axis=0)]) if missing else x for x in grid]
        numbers = np.concatenate([np.arange(BLOCKS), np.full(missing, -1)])
        kept = [known[place] for place in self._whole]
        return (numbers, *filled, *kept, *self._first.data, *self._block.data, *self._last.data)

    @property
    def key(self) -> Hashable:
        """Stands for what is computed and for the layout of the vector."""
        shapes = tuple(slot.shape for slot in self.slots)
        return "blocks", self._axis, self._first.key, self._block.key, self._last.key, shapes

    def __call__(self, position: Any, *data: Any) -> list[Any]:
        return self._with(added_up, position, data)

    def but_for_blocks(self, position: Any, *data: Any) -> Any:
        """A number as much work as the log-density without its blocks."""
        none = lambda block, entering, *rest: jnp.zeros(self._sums) + jnp.sum(entering)
        return self._with(none, position, data)[0]

    def _with(self, sums_of: Any, position: Any, data: Sequence[Any]) -> list[Any]:
        (numbers, *grid), rest = data[: self.spread], list(data[self.spread :])
        programs = self._first, self._block, self._last
        whole, of_first, of_block, of_last = _parts(rest, [len(self._whole), *(len(p.arrays) for p in programs)])
        given = [*[slot.read(position) for slot in self.slots], *whole]
        enters, count = self._first(given, *of_first), len(self._shapes)
        moves, still = enters[:count], enters[count:]

        def block(entering: Any, fixed: Any, each: Any) -> Any:
            same = [*_filled(self._shapes, entering), *fixed[: len(still)]]
            found = self._block([*same, *each], *fixed[len(still) :])
            return jnp.concatenate([jnp.ravel(part) for part in found])

        entering = jnp.concatenate([jnp.ravel(x) for x in moves])
        total = sums_of(block, entering, [*still, *of_block], grid, jnp.sum(numbers >= 0), self._axis)
        sums = _filled([x.type.shape for x in self._last.inputs[len(given) :]], total)  # type: ignore[attr-defined]
        return self._last([*given, *sums], *of_last)


def _parts(values: Sequence[Any], counts: Sequence[int]) -> Iterator[Sequence[Any]]:
    """The values, so many at a time."""
    begin = 0
    for count in counts:
        yield values[begin : begin + count]
        begin += count


def _filled(shapes: Sequence[tuple[int, ...]], vector: Any) -> list[Any]:
    """Arrays of such shapes with the entries of a vector."""
    parts = _parts(vector, [prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def blocked(
    output: Tensor, slots: Sequence[Slot], once: Once = computed, axis: str | None = None, shares: int = 1
) -> BlockedProgram | None:
    """The program of a log-density by blocks of rows, for as many devices as `shares` along the `axis` of a mesh; None
    where it holds no sum over rows."""
    inputs = [slot.variable for slot in slots]
    (rest,), before = hoisted([output], inputs)
    cut = _cut(rest, inputs, list(before))
    return None if cut is None else BlockedProgram(cut, before, slots, once, axis, shares)


def _by_block(value: Any, axis: int, rows: np.ndarray) -> np.ndarray:
    """The rows of an array, or of a leaf, by blocks, which are the first axis."""
    if isinstance(value, Node):
        value = value_of(value) if value.op is CONSTANT else value.attrs["cell"].value
    return np.moveaxis(np.take(np.asarray(value), rows, axis=axis), axis, 0)


def _moving(order: Sequence[Node], inputs: Sequence[Node]) -> Iterator[Node]:
    """The nodes that depend on the inputs."""
    found = set(inputs)
    for node in order:
        if node in found or any(x in found for x in node.inputs):
            found.add(node)
            yield node


def _cut(output: Tensor, inputs: Sequence[Node], places: Sequence[Node]) -> _Cut | None:
    """The graph cut at its sums over rows: those of the length that the most data have."""
    order = topological([output])
    leaves = [x for x in order if x in set(places) or x.op is VARIABLE or (x.op is CONSTANT and x.type.shape)]
    sizes: dict[int, int] = {}
    for leaf in leaves:
        for n in {n for n in leaf.type.shape if n is not None and n >= LIMITS.fewest_rows_by_block}:
            sizes[n] = sizes.get(n, 0) + prod(leaf.type.shape)
    for count in sorted(sizes, key=lambda n: (sizes[n], n), reverse=True):
        found = _cut_at(
            output, order, inputs, [_Leaf(x, x.type.shape.index(count)) for x in leaves if count in x.type.shape], count
        )
        if found is not None:
            return found
    return None


NO_ROWS = (
    "mesh: the log-density holds no sum over rows of data that devices could share. Rows that are reduced to sufficient"
    " statistics, that depend on each other (series, covariance matrices of all rows), or are fewer than 64 stay whole:"
    ' leave mesh= out, or let it have the axis "chains" only.'
)


def _cut_at(
    output: Tensor, order: Sequence[Node], inputs: Sequence[Node], leaves: Sequence[_Leaf], count: int
) -> _Cut | None:
    block, moving = _Block(count, leaves), set(_moving(order, inputs))
    summed: dict[Node, Tensor] = {}
    for node in order:
        if node in moving and node.inputs and any(x in block.along for x in node.inputs):
            found = moved(block, node)
            if isinstance(found, Along):
                block.along[node] = found
            elif isinstance(found, Summed):
                summed[node] = found.array
    cuts = [x for x in topological([output], blockers=summed) if x in summed]
    if not cuts:
        return None
    linear = _linear(output, set(cuts))
    if linear is not None:
        weights, rest = linear
        parts = [_weighted(summed[x], weight, block) for x, weight in weights.items()]
        total = placeholder(output.type)
        return _Cut(block, [_sum(parts)], [total], [_sum([total, *rest])])
    cuts = [x for x in cuts if prod(x.type.shape) <= LIMITS.sums_over_rows]
    if not cuts or sum(prod(x.type.shape) for x in cuts) > LIMITS.sums_over_rows:
        return None
    sums: dict[Node, Node] = {x: placeholder(x.type) for x in cuts}
    return _Cut(block, [summed[x] for x in cuts], list(sums.values()), [substitute(output, sums)])  # type: ignore


def _linear(output: Node, cuts: set[Node]) -> tuple[dict[Node, Tensor | None], list[Any]] | None:
    """A number as the sum of multiples of cuts, each with its weight (None for one), and of numbers without cuts."""
    holding = set(cuts)
    for node in topological([output], blockers=cuts):
        if node in holding or any(x in holding for x in node.inputs):
            holding.add(node)
    weights: dict[Node, Any] = {}
    rest: list[Any] = []
    stack: list[tuple[Any, Any]] = [(output, None)]
    while stack:
        node, weight = stack.pop()
        if node.type.shape != ():
            return None
        if node not in holding:
            rest.append(node if weight is None else weight * node)
        elif node in cuts:
            if node in weights:
                weight = _one(weights[node]) + _one(weight)
            weights[node] = weight
        elif node.op in (ew.add, ew.subtract):
            left, right = node.inputs
            negative = ew.negative(_one(weight)) if node.op is ew.subtract else weight
            stack += [(left, weight), (right, negative)]
        elif node.op is ew.negative:
            stack.append((node.inputs[0], ew.negative(_one(weight))))
        elif node.op is ew.multiply and sum(x in holding for x in node.inputs) == 1:
            inside, other = sorted(node.inputs, key=lambda x: x not in holding)
            stack.append((inside, other if weight is None else weight * other))
        elif node.op is ew.true_divide and node.inputs[1] not in holding:
            stack.append((node.inputs[0], _one(weight) / node.inputs[1]))
        else:
            return None
    return weights, rest


def _one(weight: Any) -> Any:
    return tt.as_tensor(1.0) if weight is None else weight


def _weighted(part: Tensor, weight: Any, block: _Block) -> Any:
    return part if weight is None else block.entering(weight) * part


def _sum(parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
