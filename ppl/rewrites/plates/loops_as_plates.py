"""Variables that a Python loop wrote one by one, as one vector: the model as it would be with a plate.

Sixty variables r0, r1, … of one family, whose parameters differ in numbers, in data and in which of another such sixty
they use, are the entries of one variable. Sixty observations of them, each of a number or of a row of any length, are
one observation. The law is the same, entry by entry. What comes after sees a vector where it would have seen sixty
strangers: theorems hold for all entries at once, and XLA compiles one kernel, not sixty.

Variables become entries only where nothing uses them one by one, so that no theorem loses sight of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, bodies, topological
from ppl.graph.records import record
from ppl.rewrites.factorization.partition import Partition
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.program import Factor, Law, Observation, Program, Recovery, Term, parts
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.arrays.shaping import EXPAND_DIMS, SQUEEZE
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.linear_algebra.products import MATMUL
from ppl.tensor.tensor import CONSTANT, Tensor, constant, value_of

Group = tuple[Factor, ...]


@record
class Stacked:
    """A program with vectors, and which variables became the entries of each; of those that are `linked` the laws of
    entries use other entries."""

    program: Program
    members: dict[RandomVariable, tuple[RandomVariable, ...]]
    linked: frozenset[RandomVariable] = frozenset()


def stacked(program: Program, apart: Collection[RandomVariable]) -> Stacked:
    """The program with alike variables, observations and terms as vectors; the variables `apart` stay as they are."""
    alone: set[int] = set(map(id, apart))  # factors that stay as they are
    for _ in range(LIMITS.rounds_of_plates):
        kinds, groups = _grouped(program, alone)
        vectors = _Vectors(groups, kinds.moving)
        try:
            after = vectors.instead(program)
        except _Unlike as unlike:
            alone.update(map(id, unlike.group))
            continue
        used = ancestors([n for f in after.factors for n in parts(f)])
        one_by_one = [rv for each in vectors.members.values() for rv in each if rv in used]
        if not one_by_one:
            return Stacked(after if vectors.groups else program, vectors.members)
        alone.update(map(id, one_by_one))
    return Stacked(program, {})


def _grouped(program: Program, alone: set[int]) -> tuple[Kinds, list[Group]]:
    """Factors of one kind. What only looks like others, and is in no group, is of a kind of its own: it is `alone`."""
    while True:
        kinds = Kinds(program, alone)
        groups = _groups(program, kinds, alone)
        settled = alone | {id(f) for group in groups for f in group}
        seen = Counter([kinds.of(rv) for rv in program.free])
        lonely = [id(rv) for rv in program.free if seen[kinds.of(rv)] > 1 and id(rv) not in settled]
        if not lonely:
            return kinds, groups
        alone.update(lonely)


def _groups(program: Program, kinds: Kinds, alone: Collection[int]) -> list[Group]:
    """Factors of one kind; variables of one kind that are never in one another's place are of different groups."""
    kind_of = {id(factor): kinds.of_factor(factor) for factor in program.factors}
    place = places(program, kinds, kind_of)
    found: dict[Hashable, list[Factor]] = {}
    for factor in program.factors:
        if id(factor) not in alone:
            where = place.get(factor) if isinstance(factor, RandomVariable) else None
            found.setdefault((kind_of[id(factor)], where), []).append(factor)
    return [tuple(group) for group in found.values() if len(group) >= LIMITS.fewest_in_a_plate]


def places(program: Program, kinds: Kinds, kind_of: Mapping[int, Hashable]) -> dict[Node, Hashable]:
    """One of the places where each variable is used, the same for those that share one, or share one with others that
    do. A place is an operand of a kind of nodes, or a parameter of a kind of factors."""
    used: list[tuple[Hashable, Sequence[Node]]] = [(kind_of[id(f)], parts(f)) for f in program.factors]
    inside = topological([x for _, nodes in used for x in nodes], blockers=program.free)
    for node in inside:
        operation = None if isinstance(node, RandomVariable) else _operation(node)
        if operation is not None:
            used.append((kinds.of(node), operation.operands))
    same = Partition[Hashable]()  # places that some variable has both of
    free, first = set(program.free), dict[Node, Hashable]()
    for kind, nodes in used:
        for i, x in enumerate(nodes):
            if x in free:
                same.join([first.setdefault(x, (kind, i)), (kind, i)])
    return {rv: same.of(place) for rv, place in first.items()}


class Kinds:
    """Numbers for nodes, the same for those that are the same operations on leaves that may differ.

    A leaf is a number or a row of data, or a free variable, known by its own kind. A *row* is a vector of any length;
    all rows that a function takes have one length, and numbers count for all its places. What is of no such form is of
    a kind of its own.
    """

    def __init__(self, program: Program, alone: Collection[int], nameless: Collection[Node] = ()) -> None:
        self._free = {rv for rv in program.free if id(rv) not in alone}
        self._nameless = frozenset(nameless)  # variables that count as one, whatever their law
        self.moving: set[Node] = set(program.free)  # what depends on free variables
        self._kinds: dict[Node, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def of_factor(self, factor: Factor) -> Hashable:
        """The kind of a factor."""
        if isinstance(factor, Law):
            law = self._law(factor.variable)
            return id(factor) if law is None else ("law", law, self.of(factor.value))
        if isinstance(factor, Term):
            plain = _form(factor.density) is not None and not factor.without
            return ("term", factor.kind, self.of(factor.density)) if plain else id(factor)
        if isinstance(factor, Observation):
            law = self._law(factor.variable) if factor.rows is None else None
            fits = factor.value.type.shape == factor.variable.type.shape
            return ("observed", law, self.of(factor.value)) if law is not None and fits else id(factor)
        return self._law(factor) if factor in self._nameless else self.of(factor)

    def of(self, node: Node) -> int:
        """The kind of a node."""
        for each in topological([node], blockers=self._kinds):
            if each not in self._kinds:
                if any(x in self.moving for x in each.inputs):
                    self.moving.add(each)
                kind = self._kind(each)
                self._kinds[each] = self._numbers.setdefault(each if kind is None else kind, len(self._numbers))
        return self._kinds[node]

    def _kind(self, node: Node) -> Hashable:
        form = _form(node)
        if node in self._nameless:
            return "nameless", node.type.dtype
        if isinstance(node, RandomVariable):
            return self._law(node) if node in self._free else None
        if form is None:
            return None
        if node not in self.moving:
            return "data", node.type.dtype, form
        operation = _operation(node)
        if operation is None or (operation.name == "product" and node.inputs[0].inputs[0] in self.moving):
            return None
        return operation.name, operation.fixed, form, tuple([self._kinds[x] for x in operation.operands])

    def _law(self, rv: RandomVariable) -> Hashable:
        """The kind of a law of independent numbers whose parameters are numbers or rows; None for others."""
        declared = list(rv.family.params.values())
        plain = not rv.event_ndim and not laws_of(rv) and len(declared) == len(rv.parameters)
        if not plain or _form(rv) is None or any(d.domain.ndim for d in declared) or not _fit(rv, rv.parameters):
            return None
        return rv.family, rv.type.dtype, _form(rv), tuple([self.of(p) for p in rv.parameters])


class _Operation(NamedTuple):
    """What a node does to operands that may differ, and what has to be the same."""

    name: str
    fixed: Hashable
    operands: tuple[Node, ...]


def _operation(node: Node) -> _Operation | None:
    """An elementwise function, an entry of a tensor, or the product of a matrix and a row; None for anything else."""
    if node.op is NAMED:
        return _Operation("named", None, node.inputs)
    if isinstance(node.op, Elementwise):
        return _Operation("function", (node.op, node.attrs), node.inputs) if _plain(node) else None
    if node.op is GETITEM:
        plan = node.attrs["plan"]
        one = len(plan) == node.inputs[0].type.ndim and all(kind == "int" for kind, *_ in plan)
        return _Operation("entry", None, node.inputs) if one else None
    if node.op is SQUEEZE and node.inputs[0].op is MATMUL:
        matrix, column = node.inputs[0].inputs
        if column.op is EXPAND_DIMS and column.attrs["axis"] == (1,) and matrix.type.ndim == 2:
            return _Operation("product", matrix.type.shape[1], column.inputs)
    return None


def _plain(node: Node) -> bool:
    return not bodies(node) and _fit(node, node.inputs)


def _form(node: Node) -> str | None:
    """Whether a node is a number or a row; None for anything else."""
    shape = node.type.shape if isinstance(node, Tensor) else (0, 0)
    return "number" if shape == () else "row" if len(shape) == 1 and shape[0] is not None else None


def _fit(node: Node, inputs: Sequence[Node]) -> bool:
    """Whether each input of an expression is a number or a row of its length."""
    return all(isinstance(x, Tensor) and x.type.shape in ((), node.type.shape) for x in inputs)


class _Apart(Exception):  # noqa: N818  an answer, not an error
    """Nodes of one kind that use variables which are not the entries of one vector."""


class _Unlike(Exception):  # noqa: N818
    """A group that cannot become a vector."""

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.group = group


class _Vectors:
    """The groups of a program as vectors, each made when it is first needed."""

    def __init__(self, groups: Sequence[Group], moving: Collection[Node]) -> None:
        self.groups, self._moving = groups, moving
        self.members: dict[RandomVariable, tuple[RandomVariable, ...]] = {}
        self._place: dict[Node, tuple[Group, np.ndarray]] = {}  # of each variable: which entries of which vector
        for group in groups:
            variables = [x for x in group if isinstance(x, RandomVariable)]
            self._place |= zip(variables, [(group, places) for places in _places_of(variables)], strict=True)
        self._made: dict[int, Factor] = {}  # by the identity of the group
        self._columns: dict[tuple[Node, ...], Tensor] = {}

    def instead(self, program: Program) -> Program:
        """The program with a vector in the place of each group."""
        vectors = [self._vector(group) for group in self.groups]
        after = program.without([factor for group in self.groups for factor in group])
        more: dict[type, list[Factor]] = {
            kind: [vector for vector in vectors if isinstance(vector, kind)]
            for kind in (RandomVariable, Observation, Term)
        }
        recoveries = []
        for many, group in self.members.items():
            for rv, at in zip(group, _places_of(group), strict=True):
                recoveries.append(Recovery(rv, many[int(at[0]) : int(at[-1]) + 1] if rv.ndim else many[int(at[0])]))
        return Program(
            free=(*after.free, *more[RandomVariable]),  # type: ignore[arg-type]
            observed=(*after.observed, *more[Observation]),  # type: ignore[arg-type]
            terms=(*after.terms, *more[Term]),  # type: ignore[arg-type]
            recoveries=(*after.recoveries, *recoveries),
        )

    def _vector(self, group: Group) -> Factor:
        if id(group) not in self._made:
            try:
                self._made[id(group)] = self._new_vector(group)
            except _Apart:
                raise _Unlike(group) from None
        return self._made[id(group)]

    def _new_vector(self, group: Group) -> Factor:
        laws = [f for f in group if isinstance(f, Law)]
        if laws:
            return Law.of(self._draw([f.variable for f in laws]), self._whole([f.value for f in laws]))
        terms = [f for f in group if isinstance(f, Term)]
        if terms:
            name = together([f.name for f in terms])
            return Term(name, self._whole([f.density for f in terms]), terms[0].kind)
        seen = [f for f in group if isinstance(f, Observation)]
        if seen:
            return Observation(self._draw([f.variable for f in seen]), self._whole([f.value for f in seen]))
        entries = tuple([f for f in group if isinstance(f, RandomVariable)])
        drawn = self._draw(entries)
        self.members[drawn] = entries
        return drawn

    def _draw(self, each: Sequence[RandomVariable]) -> RandomVariable:
        rows = zip(*[rv.parameters for rv in each], strict=True)
        parameters = [self._beside(inputs, each) for inputs in rows]
        return draw(each[0].family, parameters, (_length(each),), together([rv.name or "" for rv in each]))

    def _whole(self, nodes: Sequence[Node]) -> Tensor:
        """Nodes of one kind in one vector, the same ones over and over too."""
        found = self._beside(nodes, nodes)
        return found if found.ndim else tt.broadcast_to(found, (_length(nodes),))

    def _beside(self, nodes: Sequence[Node], each: Sequence[Node]) -> Tensor:
        """Nodes of one kind, one for `each`, in the places of those; a number where all are that number."""
        found = self._column(tuple(nodes))
        if _form(each[0]) == "number":
            return found
        owner = np.repeat(np.arange(len(each)), [x.type.shape[0] for x in each])
        if found.ndim and _form(nodes[0]) == "number":
            return _taken(found, owner)
        if found.ndim and nodes[0] is found:  # one row for all
            return _taken(found, np.tile(np.arange(found.type.shape[0] or 0), len(each)))
        return found

    def _column(self, nodes: tuple[Node, ...]) -> Tensor:
        """Different numbers as a vector, different rows one after the other; a node itself where there is but one."""
        if all(x is nodes[0] for x in nodes):
            return nodes[0]  # type: ignore[return-value]
        if nodes not in self._columns:
            self._columns[nodes] = self._new_column(nodes)
        return self._columns[nodes]

    def _new_column(self, nodes: tuple[Node, ...]) -> Tensor:
        first = nodes[0]
        if isinstance(first, RandomVariable):
            return self._entries(nodes)
        if all(x.op is CONSTANT for x in nodes):
            return constant(np.concatenate([np.atleast_1d(value_of(x)) for x in nodes]))
        if first not in self._moving:
            return (tt.stack if _form(first) == "number" else tt.concatenate)(list(nodes))
        operations = [operation for x in nodes if (operation := _operation(x))]
        operands = list(zip(*[operation.operands for operation in operations], strict=True))
        name = operations[0].name
        if name == "function":
            return Node(first.op, tuple([self._beside(x, nodes) for x in operands]), first.attrs)  # type: ignore[return-value]
        if name == "entry":
            entries, rows = np.array([[i for _, i in x.attrs["plan"]] for x in nodes]), operands[0]
            if all(row is rows[0] for row in rows):
                return _taken(rows[0], *entries.T)
            places = [at[i] for at, (i,) in zip(_places_of(rows), entries, strict=True)]
            return _taken(self._column(rows), np.array(places))
        if name == "product":
            return self._product([x.inputs[0].inputs[0] for x in nodes], operands[0])
        return self._column(operands[0])

    def _product(self, matrices: Sequence[Node], rows: tuple[Node, ...]) -> Tensor:
        """Each matrix times its row, one after the other."""
        together = tt.concatenate(list(matrices))
        if all(x is rows[0] for x in rows):
            return tt.dot(together, rows[0])
        each = tt.reshape(self._column(rows), (len(rows), _length(rows[:1])))
        owner = np.repeat(np.arange(len(rows)), [x.type.shape[0] for x in matrices])
        return tt.sum(together * each[owner], axis=-1)

    def _entries(self, nodes: Sequence[Node]) -> Tensor:
        """Variables as entries of their vector."""
        places = [self._place.get(x) for x in nodes]
        group = places[0] and places[0][0]
        if group is None or any(place is None or place[0] is not group for place in places):
            raise _Apart
        positions = np.concatenate([place[1] for place in places if place])
        vector = self._vector(group)
        assert isinstance(vector, RandomVariable)
        return _taken(vector, positions)


def _taken(x: Tensor, *positions: np.ndarray) -> Tensor:
    """Entries of a tensor, at once where they are known; of a vector itself where they are all, in order."""
    if positions[0].shape == x.type.shape and np.array_equal(positions[0], np.arange(len(positions[0]))):
        return x
    return constant(value_of(x)[positions]) if x.op is CONSTANT else x[positions]


def _places_of(nodes: Sequence[Node]) -> list[np.ndarray]:
    """Where numbers or rows stand in their vector."""
    ends = np.cumsum([_length([x]) for x in nodes])
    return [np.arange(end - _length([x]), end) for x, end in zip(nodes, ends, strict=True)]


def _length(nodes: Sequence[Node]) -> int:
    """The length of the vector of these numbers or rows."""
    return sum([x.type.shape[0] if x.type.shape else 1 for x in nodes])


def together(names: Sequence[str]) -> str:
    """The name of a vector of these."""
    return f"{names[0]} … {names[-1]}"
