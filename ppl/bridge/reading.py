"""Reading a graph of PyTensor: every variable becomes an array where it is known, and a tensor of ppl where it is not.

A node is read once all of its inputs are. Where these are arrays its own `perform` computes it (*folding*: sizes,
design matrices, index arrays); else the entry for its op in one of the tables says what it is in ppl. The tables go by
the names of classes, so that neither PyMC nor PyTensor is imported here: the graph is there already. Nothing is
compiled.

>>> sizes_or_array([2, 3])
array([2, 3])
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor, is_constant, value_of

Value = Any  # an array, a tensor of ppl, `Sizes`, a slice, None, or RANDOM
RANDOM = object()  # a random generator: draws of ppl take their keys from names


class NotConvertedError(NotImplementedError):
    """Something of a PyMC model that has no counterpart in ppl."""


class Sizes(tuple):
    """A vector of whole numbers of which some are symbols, as the shape of an array of Data is."""


class History:
    """What a loop made of an output that is fed back: the values before the first step, and a row for each step."""

    def __init__(self, before: Tensor, rows: Tensor) -> None:
        self.before, self.rows = before, rows

    def whole(self) -> Tensor:
        """Both together, as PyTensor keeps them."""
        return tt.concatenate([self.before, self.rows], axis=0)

    def after(self, index: tuple[Any, ...]) -> Tensor | None:
        """The entries that an index takes, where it leaves out just the values before the first step."""
        first = index[0] if index else None
        if not isinstance(first, slice) or first != slice(self.before.type.shape[0], None, None):
            return None
        return self.rows[(slice(None), *index[1:])] if index[1:] else self.rows


class Application:
    """One node of PyTensor's graph with the values of its inputs, as the entries of the tables are given it; `wanted`
    is the output that is asked for."""

    def __init__(self, reader: Reader, node: Any, values: Sequence[Value], wanted: Any = None) -> None:
        self.reader, self.node, self.op, self.values = reader, node, node.op, list(values)
        self.wanted = wanted

    @property
    def variables(self) -> list[Any]:
        """The inputs as they are in PyTensor."""
        return list(self.node.inputs)

    @property
    def out(self) -> Any:
        """PyTensor's type of the first output."""
        return self.node.outputs[0].type

    def tensor(self, position: int) -> Tensor:
        """An input as a tensor of ppl."""
        return self.reader.as_tensor(self.node.inputs[position], self.values[position])

    @property
    def tensors(self) -> list[Tensor]:
        pairs = zip(self.node.inputs, self.values, strict=True)
        return [self.reader.as_tensor(variable, value) for variable, value in pairs if value is not RANDOM]

    def refuse(self, why: str) -> NotConvertedError:
        """The error that says why this node cannot be taken over."""
        return self.reader.refusal(self.node, why)


Entry = Callable[[Application], Any]
OPS: dict[str, Entry] = {}  # by the name of the op's class, or of one that it derives from


def converts(*names: str) -> Callable[[Entry], Entry]:
    """Enter a function into the table, for ops of these classes."""

    def enter(entry: Entry) -> Entry:
        OPS.update(dict.fromkeys(names, entry))
        return entry

    return enter


@functools.lru_cache(maxsize=4096)
def _lineage(cls: type) -> tuple[str, ...]:
    """The names of a class and of those that it derives from, the nearest first."""
    return tuple([each.__name__ for each in cls.__mro__])


@functools.lru_cache(maxsize=4096)
def _kinds(cls: type) -> frozenset[str]:
    return frozenset(_lineage(cls))


# The entry "Op", which all ops derive from, is for those that have no other: see by_jax.
def entry_for(op: Any, table: Mapping[str, Any]) -> Any:
    """What a table says of an op, by its class or the nearest one that it derives from; None where it says nothing."""
    for name in _lineage(type(op)):
        if name in table:
            return table[name]
    return None


def is_a(op: Any, *names: str) -> bool:
    """Whether an op is of one of these classes of PyTensor or PyMC."""
    return not _kinds(type(op)).isdisjoint(names)


NOT_PERFORMED = ("RandomVariable", "SymbolicRandomVariable", "MeasurableOp", "Blockwise", "HasInnerGraph", "MakeSlice")


class Reader:
    """What the variables of a graph are in ppl; `known` holds those that are given."""

    def __init__(self, known: Mapping[Any, Value], about: str = "") -> None:
        self.known, self.about, self.shared_constants = dict(known), about, []  # type: ignore[var-annotated]
        self.tensors: dict[Any, tuple[Value, Tensor]] = {}  # an array becomes a node once, however often it is used

    def inner(self, known: Mapping[Any, Value]) -> Reader:
        """A reader for the body of a loop or a function, which sees only what it is given."""
        made = Reader(known, self.about)
        made.shared_constants = self.shared_constants
        return made

    def read(self, variable: Any) -> Value:
        """What a variable is. The walk keeps its own stack: graphs of loops written in Python are deep."""
        stack = [variable]
        while stack:
            var = stack[-1]
            if var in self.known:
                stack.pop()
            elif var.owner is None:
                self.known[stack.pop()] = self._root(var)
            elif waiting := [i for i in var.owner.inputs if i not in self.known]:
                stack.extend(waiting)
            else:
                for output, value in zip(var.owner.outputs, self._results(var.owner, var), strict=False):
                    self.known.setdefault(output, value)
                stack.pop()
        return self.known[variable]

    def tensor(self, variable: Any) -> Tensor:
        """The same as a tensor of ppl."""
        return self.as_tensor(variable, self.read(variable))

    def as_tensor(self, variable: Any, value: Value) -> Tensor:
        """The value of a variable as a tensor of ppl."""
        if isinstance(value, Tensor):
            return value
        held = self.tensors.get(variable)
        if held is None or held[0] is not value:
            held = self.tensors[variable] = value, as_tensor(value)
        return held[1]

    def body(self, inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Value]) -> list[Value]:
        """The outputs of an inner graph for values of its inputs."""
        inner = self.inner(dict(zip(inputs, values, strict=True)))
        return [inner.read(output) for output in outputs]

    def refusal(self, node: Any, why: str) -> NotConvertedError:
        who = f'"{self.about}"' if self.about else "this graph"
        return NotConvertedError(f"{who} cannot be taken over from PyMC: it is computed by {called(node.op)}, {why}")

    # --- leaves -----------------------------------------------------------------------------------------------------
    def _root(self, var: Any) -> Value:
        if hasattr(var, "data"):
            return _constant(var.data)
        if hasattr(var, "get_value"):
            value = var.get_value(borrow=True)
            if not _is_random(value):
                self.shared_constants.append(var.name or "without a name")
            return _constant(value)
        who = f'"{self.about}"' if self.about else "this graph"
        raise NotConvertedError(
            f"{who} cannot be taken over from PyMC: it depends on the input {var.name or var!s} of PyTensor, which has "
            "no value. Give it one by pytensor.shared, or make it Data of the model."
        )

    # --- nodes ------------------------------------------------------------------------------------------------------
    def _results(self, node: Any, wanted: Any) -> Sequence[Value]:
        values = [self.known[i] for i in node.inputs]
        if foldable(node, values) and (found := folded(node, values)) is not None:
            return found
        entry = entry_for(node.op, OPS) or OPS["Op"]
        made = entry(Application(self, node, values, wanted))
        return made if isinstance(made, list) else [made]


def called(op: Any) -> str:
    """The name of an op as an error tells it; functions that `as_op` made an op have theirs in its text."""
    return str(op) if is_a(op, "FromFunctionOp") else str(getattr(op, "name", None) or type(op).__name__)


# --- values -----------------------------------------------------------------------------------------------------------
def _is_random(value: Any) -> bool:
    return isinstance(value, np.random.Generator | np.random.RandomState)


def _constant(data: Any) -> Value:
    """The value of a constant: arrays of numbers, and what else PyTensor has constants of."""
    if data is None or isinstance(data, slice):
        return data
    if _is_random(data):
        return RANDOM
    if hasattr(data, "toarray"):
        return data.toarray()
    return np.asarray(data)


def sizes_or_array(entries: Iterable[Any]) -> Value:
    """A vector of sizes: an array where all are numbers."""
    listed = [_number(n) for n in entries]
    if all(isinstance(n, int) for n in listed):
        return np.array(listed, dtype=np.int64)
    return Sizes(listed)


def _number(n: Any) -> Any:
    if isinstance(n, Tensor):
        return int(value_of(n)) if is_constant(n) else n
    return int(n)


def sizes_of(value: Value) -> tuple[Any, ...] | None:
    """Sizes as ppl takes them: numbers and symbolic scalars; None where there are none."""
    if value is None:
        return None
    if isinstance(value, Tensor):
        return tuple(_number(n) for n in (tuple(value) if value.ndim else (value,)))
    return tuple(_number(n) for n in (value if isinstance(value, Sizes) else np.atleast_1d(value)))


def as_tensor(value: Value) -> Tensor:
    """A value as a tensor. Whole numbers have 64 bits, others those of floatX: PyTensor keeps 5 in 8 bits and 5.0 in
    32, whose logarithms and gamma functions it then takes in single precision."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, History):
        return value.whole()
    if isinstance(value, Sizes):
        return tt.stack(list(value))
    array = np.asarray(value)
    if array.dtype.kind in "iu" and array.dtype != np.int64:
        array = array.astype(np.int64)
    elif array.dtype.kind == "f":
        array = array.astype(tt.config.floatX, copy=False)
    return tt.as_tensor(array)


# --- folding ----------------------------------------------------------------------------------------------------------
def foldable(node: Any, values: Sequence[Value]) -> bool:
    """Whether a node is to be computed now: all is known, nothing is drawn, and no inner graph had to be compiled."""
    for value in values:
        if not (isinstance(value, np.ndarray | slice) or value is None):
            return False
    if is_a(node.op, *NOT_PERFORMED) or hasattr(node.op, "fgraph"):
        return False
    return not _in_single_precision(node)


def _in_single_precision(node: Any) -> bool:
    """Whether PyTensor computes in 32 bits what is given in small types."""
    made = {getattr(o.type, "dtype", "") for o in node.outputs}
    return bool(made & {"float16", "float32"}) and tt.config.floatX == "float64" and hasattr(node.op, "scalar_op")


def folded(node: Any, values: Sequence[Value]) -> list[Value] | None:
    """The outputs by the op's own Python; None where it has none."""
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    try:
        if hasattr(node.op, "prepare_node"):
            node.op.prepare_node(node, None, None, "py")
        node.op.perform(node, [_as_given(v, i) for v, i in zip(values, node.inputs, strict=True)], storage)
    except (NotImplementedError, AttributeError):
        return None
    return [_constant(cell[0]) for cell in storage]


def _as_given(value: Value, variable: Any) -> Any:
    """An array as `perform` expects it: scalars that are no tensors are NumPy's numbers."""
    if isinstance(value, np.ndarray) and not hasattr(variable.type, "broadcastable"):
        return value[()]
    return value
