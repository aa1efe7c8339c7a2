"""What a saved graph may be made of: operations by name, and kinds of attribute values with their plain forms.

Each part that declares operations or kinds of attributes enters them here; a file that names anything else is refused.
"""

from __future__ import annotations

import copyreg
from collections import ChainMap
from collections.abc import Callable
from typing import Any, NamedTuple

from ppl.graph.body import BOUND
from ppl.graph.node import GET, REDUCTIONS, Node, Op, TupleType

OPS: ChainMap[str, Op] = ChainMap({BOUND.name: BOUND, GET.name: GET})


def _pickled(op: Op) -> Any:
    """Known operations are named; those of a user are taken apart."""
    known = OPS.get(op.name) is op
    return (_known, (op.name,)) if known else (copyreg.__newobj__, (type(op),), vars(op))  # type: ignore[attr-defined]


def _known(name: str) -> Op:
    if name not in OPS:
        raise LookupError(
            f"a pickled graph has the operation {name!r}, which this ppl does not know: it comes from a newer version "
            "or from a package that has to be imported first"
        )
    return OPS[name]


REDUCTIONS[Op] = _pickled


class Codec(NamedTuple):
    """How values of one kind are taken apart into plain parts (numbers, strings, None, tuples, FrozenArrays and values
    of other kinds that have a codec), and made again."""

    mark: str
    kind: type
    parts: Callable[[Any], Any]
    make: Callable[[Any], Any]
    has_identity: bool = False  # equal only to itself: made once for all places where it stands
    nodes: Callable[[Any], list[Node | None]] = lambda value: []  # graphs it points at, which may hold it in turn
    link: Callable[[Any, list[Node | None]], None] = lambda value, nodes: None


CODECS: dict[type, Codec] = {}


def enter_codec(codec: Codec) -> None:
    """Let graphs with attributes of this kind be saved."""
    if codec.kind in CODECS or any(codec.mark == known.mark for known in CODECS.values()):
        raise ValueError(f"two codecs for {codec.kind.__name__} or of the mark {codec.mark!r}")
    CODECS[codec.kind] = codec


enter_codec(Codec("types", TupleType, lambda type: tuple(type.items), TupleType))
