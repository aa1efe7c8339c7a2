"""Alike nodes worked out together: f(a₁), f(a₂), …, f(aₙ) are the rows of f([a₁, …, aₙ]).

Variables that are written one by one, in a Python loop, make graphs of hundreds of small nodes that do the same. XLA
compiles each as a kernel of its own, some ten milliseconds each, and a draw by rejection, a loop, takes half a second.
As rows of one array they are compiled once. Inputs and outputs that are alike become rows too: who runs the program
puts them together before, and takes them apart after.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ppl.graph import Attrs, Node, bodies, close, rebuilt, topological, transform
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.sharing.row_wise import row_wise
from ppl.tensor.arrays.indexing import GETITEM, take
from ppl.tensor.arrays.shaping import CONCATENATE, EXPAND_DIMS, concatenate, stack
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.sizing import deciding
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.sampling.draws import Draw
from ppl.tensor.tensor import CONSTANT, Tensor, TensorType, constant, is_constant, placeholder, value_of

_WHOLE = ("slice", None, None, None)


class Row(NamedTuple):
    """Where a node stands: a row of an array."""

    column: Tensor
    place: int


class Columns:
    """A graph with alike nodes as rows. `inputs` and `outputs` are those that it now has.

    >>> import ppl.tensor as tt
    >>> xs = [tt.dscalar(f"x{i}") for i in range(10)]
    >>> both = Columns(xs, [tt.exp(x) + i for i, x in enumerate(xs)])
    >>> both.inputs[0].type, both.outputs[0].type
    (float64[10], float64[10])
    >>> [row] = both.taken([np.exp(np.arange(10.0)) + np.arange(10)])[3:4]
    >>> bool(row == np.exp(3.0) + 3)
    True
    """

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self._rows: dict[Node, Row] = {}
        self._done: dict[Node, Tensor] = {}
        sizes = deciding(outputs, inputs)
        if sizes.leaves or sizes.computed:  # numbers that the compiler must know stay apart
            self.inputs, self.outputs = list(inputs), list(outputs)
            self._parts = [[i] for i in range(len(inputs))]
            self._places: list[tuple[int, int | None]] = [(i, None) for i in range(len(outputs))]
            return
        self.inputs, self._parts = self._inputs(inputs)
        outputs = transform(outputs, lambda node: node.inputs[0] if node.op is NAMED else node)  # type: ignore[assignment]
        for group in _groups(outputs, inputs):
            new = [node for node in group if not self._known(node)]
            if not self._together(new):
                for node in new:
                    self._done[node] = rebuilt(node, tuple([self._node(x) for x in node.inputs]))  # type: ignore[assignment]
        self.outputs, self._places = self._outputs(outputs)

    def given(self, values: Sequence[np.ndarray], axis: int = 0) -> list[np.ndarray]:
        """Values of the inputs as they were, put together along an axis where inputs are rows now."""
        return [
            np.stack([values[i] for i in part], axis) if len(part) > 1 else np.asarray(values[part[0]])
            for part in self._parts
        ]

    def taken(self, values: Sequence[np.ndarray], axis: int = 0) -> list[np.ndarray]:
        """Values of the outputs as they were, taken from those of the outputs as they are."""
        before: tuple[Any, ...] = (slice(None),) * axis
        return [values[i] if place is None else values[i][(*before, place)] for i, place in self._places]

    def _inputs(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[list[int]]]:
        kinds: dict[Hashable, list[int]] = {}
        for i, each in enumerate(inputs):
            kinds.setdefault(each.type if _is_small(each) else i, []).append(i)
        parts = [
            part
            for kind in kinds.values()
            for part in ([kind] if len(kind) >= LIMITS.fewest_columns else [[i] for i in kind])
        ]
        new: list[Tensor] = []
        for part in parts:
            first = inputs[part[0]]
            if len(part) == 1:
                self._done[first] = first
                new.append(first)
                continue
            column = placeholder(TensorType(first.dtype, (len(part), *first.type.shape)), "columns")
            self._rows |= {inputs[i]: Row(column, place) for place, i in enumerate(part)}
            new.append(column)
        return new, parts

    def _outputs(self, outputs: Sequence[Tensor]) -> tuple[list[Tensor], list[tuple[int, int | None]]]:
        used: dict[Tensor, dict[int, int]] = {}  # of each array the rows that are wanted, and where they will be
        for node in outputs:
            if node in self._rows:
                column, place = self._rows[node]
                used.setdefault(column, {}).setdefault(place, len(used[column]))
        new: list[Tensor] = []
        numbers: dict[Tensor, int] = {}

        def number(wanted: Tensor) -> int:
            if wanted not in numbers:
                numbers[wanted] = len(new)
                new.append(wanted)
            return numbers[wanted]

        places: list[tuple[int, int | None]] = []
        for node in outputs:
            if node in self._rows and len(used[self._rows[node].column]) >= LIMITS.fewest_columns:
                column, place = self._rows[node]
                places.append((number(_rows_of(column, list(used[column]))), used[column][place]))
            else:
                places.append((number(self._node(node)), None))
        return new, places

    def _node(self, node: Node) -> Tensor:
        """The node by itself."""
        if node not in self._done:
            column, place = self._rows[node]
            self._done[node] = column[place]
        return self._done[node]

    def _known(self, node: Node) -> bool:
        """Whether the node is a row, or a stack of rows, of what is there."""
        if node.op is GETITEM and _is_one_row(node.attrs["plan"]) and node.inputs[0].type.shape[0] is not None:
            self._rows[node] = Row(self._node(node.inputs[0]), node.attrs["plan"][0][1])
            return True
        stacked = [x.inputs[0] for x in node.inputs if x.op is EXPAND_DIMS and x.attrs["axis"] == (0,)]
        if (
            node.op is CONCATENATE
            and node.attrs["axis"] == 0
            and len(stacked) == len(node.inputs) >= LIMITS.fewest_columns
        ):
            rows = [self._rows[x] for x in stacked if x in self._rows]
            if len(rows) == len(stacked) and all(row.column is rows[0].column for row in rows):
                self._done[node] = _rows_of(rows[0].column, [row.place for row in rows])
                return True
        return False

    def _together(self, nodes: Sequence[Node]) -> bool:
        """Make the nodes rows of one array, if there is something to gain."""
        draws = bool(nodes) and isinstance(nodes[0].op, Draw)
        if len(nodes) < (LIMITS.fewest_draws if draws else LIMITS.fewest_columns):
            return False
        first = nodes[0]
        inputs = [_Joined(self, each) for each in zip(*[node.inputs for node in nodes], strict=True)]
        if not draws and sum(each.pieces for each in inputs) > len(nodes) / 2:
            return False
        values = [each.value for each in inputs]
        column = row_wise(first, values, [not each.same for each in inputs], len(nodes))
        if column is None:
            column = _mapped(first, inputs, values)
        if column.type != TensorType(first.type.dtype, (len(nodes), *first.type.shape)):
            return False
        self._rows |= {node: Row(column, place) for place, node in enumerate(nodes)}
        return True


class _Joined:
    """One of the inputs of alike nodes: the rows of an array, or the same for all."""

    def __init__(self, columns: Columns, nodes: Sequence[Node]) -> None:
        self._columns, self._nodes = columns, nodes
        self.same = all(node is nodes[0] for node in nodes)
        rows = [columns._rows.get(node) for node in nodes]
        self._sources = list(dict.fromkeys(row.column for row in rows if row is not None))
        others = dict.fromkeys(node for node, row in zip(nodes, rows, strict=True) if row is None)
        self._constants = [node for node in others if node.op is CONSTANT]
        self._alone = [node for node in others if node.op is not CONSTANT]
        self.pieces = 0 if self.same else len(self._sources) + len(self._alone)

    @property
    def value(self) -> Tensor:
        """The array, or what is the same for all."""
        if self.same:
            return self._columns._node(self._nodes[0])
        parts, starts, length = [], {}, 0
        for source in self._sources:
            starts[source] = length
            length += source.type.shape[0]  # type: ignore[operator]
            parts.append(source)
        at: dict[Node, int] = {}
        for some, joined in ((self._constants, _constants), (self._alone, self._stacked)):
            if some:
                at |= {node: length + i for i, node in enumerate(some)}
                length += len(some)
                parts.append(joined(some))
        places = []
        for node in self._nodes:
            row = self._columns._rows.get(node)
            places.append(at[node] if row is None else starts[row.column] + row.place)
        return _rows_of(parts[0] if len(parts) == 1 else concatenate(parts), places)

    def _stacked(self, nodes: Sequence[Node]) -> Tensor:
        return stack([self._columns._node(node) for node in nodes])


def _constants(nodes: Sequence[Node]) -> Tensor:
    return constant(np.stack([value_of(node) for node in nodes]))


def _rows_of(column: Tensor, places: Sequence[int]) -> Tensor:
    """Some rows of an array; itself where they are all of them, in order."""
    first, count = places[0], len(places)
    if list(places) != list(range(first, first + count)):
        return take(column, np.array(places), axis=0)
    return column if count == column.type.shape[0] else column[first : first + count]


def _mapped(node: Node, inputs: Sequence[_Joined], values: Sequence[Tensor]) -> Tensor:
    parts = list(zip(node.inputs, inputs, values, strict=True))
    moved = [(placeholder(x.type), value) for x, each, value in parts if not each.same]
    fixed = {x: (placeholder(x.type), value) for x, each, value in parts if each.same and not is_constant(x)}
    points = iter(moved)
    inner = [next(points)[0] if not each.same else fixed[x][0] if x in fixed else x for x, each, _ in parts]
    entries = [*moved, *fixed.values()]
    body, captured = close([point for point, _ in entries], [Node(node.op, tuple(inner), node.attrs)])
    attrs = Attrs(body=body, ranks=tuple(point.type.ndim for point, _ in moved))
    return Node(VECTORIZED, (*[value for _, value in entries], *captured), attrs)  # type: ignore[return-value]


def _groups(outputs: Sequence[Node], inputs: Sequence[Node]) -> Iterator[list[Node]]:
    """The nodes, those that may become rows of one array together, none before what it is computed from.

    Draws come late, so that many meet: what leads to draws of one kind may be of any depth. The rest goes by its depth.
    """
    given = set(inputs)
    levels: dict[Node, tuple[int, bool, int]] = {}  # draws before, whether one itself, depth since
    moving: dict[Node, bool] = {}
    groups: dict[tuple[tuple[int, bool, int], Hashable], list[Node]] = {}
    for node in topological(outputs, blockers=given):
        if node in given:
            levels[node], moving[node] = (0, False, 0), True
            continue
        before = [levels[x] for x in node.inputs]
        stage = max((stage + drawn for stage, drawn, _ in before), default=0)
        drawn = isinstance(node.op, Draw)
        depth = 1 + max((depth for s, d, depth in before if s == stage and not d), default=0)
        levels[node] = stage, drawn, 0 if drawn else depth
        moving[node] = any(moving[x] for x in node.inputs)
        kind = (node.op, node.attrs, tuple([x.type for x in node.inputs]), moving[node]) if _may_join(node) else node
        groups.setdefault((levels[node], kind), []).append(node)
    order: Callable[[Any], Any] = lambda key: key[0]
    return (groups[key] for key in sorted(groups, key=order))


def _may_join(node: Node) -> bool:
    return bool(node.inputs) and not bodies(node) and all(map(_is_small, (node, *node.inputs)))


def _is_small(node: Node) -> bool:
    kind = node.type
    return isinstance(kind, TensorType) and None not in kind.shape and prod(kind.shape) <= LIMITS.largest_column  # type: ignore[arg-type]


def _is_one_row(plan: Any) -> bool:
    return bool(plan) and plan[0][0] == "int" and all(part == _WHOLE for part in plan[1:])
