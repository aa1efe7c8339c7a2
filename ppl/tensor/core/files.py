"""Saving and loading graphs of tensors; nothing in a file is ever run.

>>> import io
>>> import ppl.tensor as tt
>>> x = tt.dvector("x")
>>> file = io.BytesIO()
>>> save(file, {"x": x, "y": tt.exp(x).sum()})
>>> graph = load(io.BytesIO(file.getvalue()))
>>> graph["y"].eval({graph["x"]: [0.0, 0.0]})
array(2.)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from ppl.graph import FrozenArray, Node, storage
from ppl.graph.node import Op
from ppl.graph.registry import OPS, Codec, enter_codec
from ppl.graph.storage import GraphFileError as GraphFileError
from ppl.tensor.core import ops
from ppl.tensor.core.names import label_of, set_label
from ppl.tensor.tensor import CONSTANT, INPUT, TensorType
from ppl.tensor.variables import VARIABLE, Cell
from ppl.xla.later import jax, loaded, when_loaded


def save(file: str | Path | BinaryIO, graph: Any) -> None:
    """Write a tensor, or a nested list, tuple or dict of tensors, to a file (JSON and arrays in one .npz archive).

    Everything they are computed from goes along: names, scopes, labels, bodies of loops and derivatives, and variables
    with their present and initial values and their updates. Of functions wrapped by `from_jax` only the name is
    written.

    >>> import ppl.tensor as tt
    >>> import io
    >>> file = io.BytesIO()
    >>> ppl.save(file, tt.exp(tt.dscalar("x")))
    >>> file.seek(0)
    0
    >>> ppl.pprint(ppl.load(file))
    'exp(x)'
    """
    storage.save(file, graph, label_of)


def load(file: str | Path | BinaryIO, functions: Mapping[str, Any] | None = None) -> Any:
    """What `save` wrote, over fresh inputs, draws and variables. `functions` gives wrapped functions back by name.

    >>> import ppl.tensor as tt
    >>> import io
    >>> file = io.BytesIO()
    >>> ppl.save(file, {"y": tt.exp(tt.dscalar("x"))})
    >>> file.seek(0)
    0
    >>> list(ppl.load(file))
    ['y']
    """
    loaded("jax")  # the kinds of attributes that a graph may have are known from then on
    return storage.load(file, functions, set_label)


def _cell_parts(cell: Cell) -> tuple[FrozenArray, FrozenArray]:
    return FrozenArray(np.asarray(cell.value)), FrozenArray(np.asarray(cell.initializer()))


def _cell(parts: tuple[FrozenArray, FrozenArray]) -> Cell:
    value, initial = (part.array for part in parts)
    return Cell(value, lambda: initial)


def _cell_updates(cell: Cell) -> list[Node | None]:
    return [cell.default_update, cell.collected_update]


def _link_cell(cell: Cell, updates: Any) -> None:
    cell.default_update, cell.collected_update = updates


def _type(parts: tuple[Any, ...]) -> TensorType:
    dtype, shape = parts
    if not isinstance(dtype, str) or not all(n is None or (type(n) is int and n >= 0) for n in shape):
        raise GraphFileError(f"no type of tensors: {dtype!r}, {shape!r}")
    return TensorType(dtype, shape)


def _tree_parts(tree: Any) -> Any:
    """The nesting of a wrapped function's arguments; its leaves are numbered."""
    return _nested(jax.tree.unflatten(tree, range(tree.num_leaves)))


def _nested(value: Any) -> Any:
    if value is None or type(value) is int:
        return value
    if type(value) is dict:
        return ("dict", *[(key, _nested(item)) for key, item in value.items()])
    if type(value) in (list, tuple):
        return (type(value).__name__, *[_nested(item) for item in value])
    raise TypeError(f"a graph with {type(value).__name__} among the arguments of a wrapped function cannot be saved")


def _unnested(parts: Any) -> Any:
    if not isinstance(parts, tuple):
        return parts
    kind, *items = parts
    if kind == "dict":
        return {key: _unnested(item) for key, item in items}
    return {"list": list, "tuple": tuple}[kind](map(_unnested, items))


def _tree(parts: Any) -> Any:
    return jax.tree.structure(_unnested(parts))


when_loaded(lambda: enter_codec(Codec("tree", type(jax.tree.structure(0)), _tree_parts, _tree)))
enter_codec(Codec("type", TensorType, lambda type: (type.dtype, type.shape), _type))
enter_codec(Codec("variable", Cell, _cell_parts, _cell, has_identity=True, nodes=_cell_updates, link=_link_cell))
OPS.maps += [cast(dict[str, Op], ops.OPS), {op.name: op for op in (CONSTANT, INPUT, VARIABLE)}]
