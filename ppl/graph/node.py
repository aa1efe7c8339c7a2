"""The node: an operation applied to inputs.

Vocabulary. A *node* is an operation with its inputs and its attributes. An *attribute* is a constant of the application
(an axis, a dtype, the value of a constant), never another node. A *leaf* is a node without inputs. An *identity* is an
attribute value equal only to itself: leaves that a user fills in and random draws carry one, so that two of them are
never taken for the same thing.

Nodes are hash-consed: an application built twice is one object, so equality is identity and common subexpressions are
shared for free. Nothing else in the program holds a node alive: with the last reference its memory is returned.
"""

from __future__ import annotations

import itertools
import operator
import struct
import threading
import weakref
from collections.abc import Callable, Hashable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from hashlib import blake2b
from typing import Any, ClassVar, Protocol

import numpy as np

# How operations and nodes are pickled: `registry` and `pickling` say so.
REDUCTIONS: dict[type, Callable[[Any], Any]] = {}


class Type(Protocol):
    """What is known of a value before it is computed; hashable, and it names the class of the nodes that carry it."""

    node_class: ClassVar[type[Node]]

    def __hash__(self) -> int: ...


class Identity:
    """A token equal only to itself. Its number is for printing."""

    __slots__ = ("number",)
    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(Identity._numbers)

    def __repr__(self) -> str:
        return f"#{self.number}"

    def __reduce__(self) -> Any:
        return Identity, ()


class FrozenArray:
    """A read-only copy of an array, equal to another with the same dtype, shape and bytes (so nan equals nan, and 0.0
    differs from -0.0). The content of a large one is hashed once, when it is made."""

    __slots__ = ("_hash", "array", "content")
    _SMALL = 256  # bytes up to which the content itself is kept in place of its hash

    def __init__(self, value: Any) -> None:
        array = np.array(value, copy=True, order="C")
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        array.flags.writeable = False
        self.array = array
        self.content = array.tobytes() if array.nbytes <= self._SMALL else blake2b(array.data, digest_size=32).digest()
        self._hash = hash((array.dtype.str, array.shape, self.content))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrozenArray) or self._hash != other._hash:
            return False
        a, b = self.array, other.array
        return a is b or (a.dtype == b.dtype and a.shape == b.shape and self.content == other.content)

    def __repr__(self) -> str:
        return np.array2string(self.array, threshold=6, edgeitems=2)

    def __reduce__(self) -> Any:
        return FrozenArray, (self.array,)


class Attrs(Mapping[str, Any]):
    """The attributes of a node: an immutable mapping with hashable values, equal only to one with the same values of
    the same kinds (1, 1.0 and True differ, and so do 0.0 and -0.0: they may stand for different results)."""

    __slots__ = ("_hash", "_items", "_key")

    def __init__(self, /, **items: Hashable) -> None:
        self._items = items
        names = sorted(items) if len(items) > 1 else items
        self._key = tuple([(name, _exact(items[name])) for name in names])
        self._hash = hash(self._key)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # `Mapping` has these too, in terms of the three above and several times slower.
    def __contains__(self, key: object) -> bool:
        return key in self._items

    def get(self, key: str, default: Any = None) -> Any:
        return self._items.get(key, default)

    def keys(self) -> KeysView[str]:
        return self._items.keys()

    def values(self) -> ValuesView[Any]:
        return self._items.values()

    def items(self) -> ItemsView[str, Any]:
        return self._items.items()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attrs) and self._hash == other._hash and self._key == other._key

    def __repr__(self) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self._items.items())

    def __reduce__(self) -> Any:
        return _attrs, tuple(self._items.items())  # a dictionary is filled too late where a value leads back to it

    def but(self, **changes: Hashable) -> Attrs:
        """The same attributes with some of them changed."""
        return Attrs(**{**self._items, **changes})


def _attrs(*items: tuple[str, Hashable]) -> Attrs:
    return Attrs(**dict(items))


_bits = struct.Struct("d").pack


def _exact(value: Any) -> Any:
    """What the value is compared by."""
    kind = type(value)
    if kind is tuple:
        return tuple([_exact(item) for item in value])
    if kind is float:
        return kind, _bits(value)
    if kind is complex:
        return kind, repr(value)
    return (kind, value) if kind is bool or isinstance(value, np.generic) else value


NO_ATTRS = Attrs()


class Op:
    """What a node does. Subclasses say how the type of the result follows from the inputs; one object an operation."""

    name: str
    node_class: type[Node] | None = None  # of its nodes, where the type's own class is not enough
    computed: bool = (
        False  # whether a node without inputs has a value of its own: a constant, an array made from nothing
    )

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Type:
        """The type of the result; raises where the inputs do not fit, naming them."""
        raise NotImplementedError(f"{type(self).__name__} does not say the type of its result")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return REDUCTIONS[Op](self)


class Node:
    """An operation applied to inputs. Built twice alike, it is the same object; a random draw is only ever itself.

    `serial` grows with every new node, so inputs always have a smaller one than their users: sorting by it is a
    topological order.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> (x + 1) is (x + 1), isinstance(x, ppl.Node)
    (True, True)
    """

    __slots__ = ("__weakref__", "attrs", "inputs", "op", "serial", "type")
    op: Op
    inputs: tuple[Node, ...]
    attrs: Attrs
    type: Any
    serial: int

    def __new__(cls, op: Op, inputs: tuple[Node, ...] = (), attrs: Attrs = NO_ATTRS) -> Node:
        content = hash((op, tuple(map(id, inputs)), attrs._hash))  # a living node keeps its inputs and so their ids
        if content in _nodes:
            known = _find(content, op, inputs, attrs)
            if known is not None:
                return known
        result_type = op.infer(inputs, attrs)
        node = object.__new__(op.node_class or result_type.node_class)
        set_field = object.__setattr__
        set_field(node, "op", op)
        set_field(node, "inputs", inputs)
        set_field(node, "attrs", attrs)
        set_field(node, "type", result_type)
        with _building:
            others = _with(content) if content in _nodes else ()
            known = _find(content, op, inputs, attrs) if others else None
            if known is not None:
                return known
            set_field(node, "serial", next(_serials))
            own = _Ref(node, _forget)
            own.content = content
            _nodes[content] = (*others, own) if others else own
        return node

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"nodes are immutable: cannot set {field!r} of {self!r}")

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(str(i.op.name) for i in self.inputs)})"

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self

    def __reduce__(self) -> Any:
        return REDUCTIONS[Node](self)


class TupleType:
    """The type of an operation with several results; `Get` takes one of them."""

    __slots__ = ("items",)
    node_class: ClassVar[type[Node]]

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __hash__(self) -> int:
        return hash(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleType) and self.items == other.items

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"

    def __reduce__(self) -> Any:
        return TupleType, (self.items,)


class TupleNode(Node):
    """A node with several results: unpack it, or take one by its position."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.type.items)

    def __getitem__(self, position: int) -> Node:
        return Node(GET, (self,), Attrs(position=range(len(self))[position]))

    def __iter__(self) -> Iterator[Node]:
        return (self[i] for i in range(len(self)))


TupleType.node_class = TupleNode


class _Get(Op):
    name = "get"

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type.items[attrs["position"]]


GET = _Get()


class _Ref(weakref.ref[Node]):
    """A node, as long as it lives, and where the table has it."""

    __slots__ = ("content",)
    content: int


# The living nodes by the hash of their content. The content itself is no key: it would be held as long as the node, and
# attributes and operations may hold the node in turn (a variable its update), so that neither would go. Where, as is
# rare, several have one hash, they stand in a tuple: none else does, since each collection of garbage visits it.
_nodes: dict[int, _Ref | tuple[_Ref, ...]] = {}
_building = threading.RLock()  # a garbage collection inside it may run code that builds or forgets nodes
_serials = itertools.count()


def _with(content: int) -> tuple[_Ref, ...]:
    known = _nodes.get(content, ())
    return known if isinstance(known, tuple) else (known,)


def _find(content: int, op: Op, inputs: tuple[Node, ...], attrs: Attrs) -> Node | None:
    for ref in _with(content):
        node = ref()
        if (
            node is not None
            and node.op == op
            and len(node.inputs) == len(inputs)
            and all(map(operator.is_, node.inputs, inputs))
            and node.attrs == attrs
        ):
            return node
    return None


def _forget(ref: _Ref) -> None:
    with _building:
        if _nodes.get(ref.content) is ref:
            del _nodes[ref.content]
        elif others := tuple([other for other in _with(ref.content) if other() is not None]):
            _nodes[ref.content] = others
        else:
            _nodes.pop(ref.content, None)


def living() -> list[Node]:
    """Every node that is alive now, oldest first."""
    with _building:
        same = list(_nodes.values())
    refs = [ref for known in same for ref in (known if isinstance(known, tuple) else (known,))]
    return sorted([node for ref in refs if (node := ref()) is not None], key=lambda node: node.serial)
