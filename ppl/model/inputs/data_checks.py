"""Data that reach a variable through expressions: indices beyond the end, and nan in what it is computed from."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ppl.distributions import DRAW, RandomVariable
from ppl.distributions.families.custom_dist import Custom
from ppl.graph import Node
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.core.ops import CAST
from ppl.tensor.tensor import is_constant, value_of
from ppl.tensor.variables import Variable

# Results that are nan where an input is.
CARRIES_NAN = frozenset(
    "add subtract multiply true_divide negative exp log log1p expm1 sqrt square sigmoid softplus tanh sin cos abs "
    "named matmul dot cast broadcast_to reshape transpose expand_dims squeeze sum mean".split()
)


def check_indices(outputs: Iterable[Node], values: Mapping[Variable, np.ndarray] | None = None) -> None:
    """Refuse Data that are used as an index and point beyond the end; `values` are those that Data shall get."""
    for node in _up_to_draws(outputs):
        if node.op is GETITEM:
            for source, axis in _indices(node):
                _check_index(node, source, axis, values or {})


def _up_to_draws(outputs: Iterable[Node]) -> Iterator[Node]:
    """What expressions are made of, without what their draws are made of in turn."""
    stack = list(outputs)
    seen = set(stack)
    while stack:
        node = stack.pop()
        yield node
        fresh = [] if node.op is DRAW else [i for i in node.inputs if i not in seen]
        seen.update(fresh)
        stack.extend(fresh)


def _indices(node: Node) -> Iterator[tuple[Variable, int]]:
    """The Data among the indices, each with the axis it is for."""
    rest, axis = iter(node.inputs[1:]), 0
    for part in node.attrs["plan"]:
        given = [next(rest) for n in part[1:] if n == "in"] if part[0] == "slice" else []
        if part[0] == "array":
            given = [next(rest)]
            source = given[0].inputs[0] if given[0].op is CAST else given[0]
            if isinstance(source, Variable):
                yield source, axis
        axis += part[0] != "new"


def _check_index(node: Node, source: Variable, axis: int, values: Mapping[Variable, np.ndarray]) -> None:
    table = node.inputs[0]
    length = table.type.shape[axis]
    if length is None and isinstance(table, Variable):
        length = np.shape(values[table] if table in values else table.get_value())[axis]
    if length is None:
        return
    array = np.asarray(values[source] if source in values else source.get_value())
    outside = (array < -length) | (array >= length)
    if outside.any():
        at = tuple(int(i) for i in np.argwhere(outside)[0])
        where = f" at position {at[0] if len(at) == 1 else at}" if at else ""
        raise IndexError(
            f'Data "{source.name}": {array[at]}{where} is out of range, as an index into {_called(table)}, which has '
            f"length {length}. Give numbers from 0 to {length - 1}."
        )


def _called(table: Node) -> str:
    name = getattr(table, "name", None)
    return f'"{name}"' if name else f"an array of shape {table.type.shape}"


def tell_of_nan(rv: RandomVariable) -> str | None:
    """Warn of an observed variable with a parameter that is nan whatever the variables of the model are, and return
    what is said; None where there is none."""
    text = nan_in_parameters(rv)
    if text is not None:
        warnings.warn(f"{text} The log-density of the model is nan.", UserWarning, stacklevel=5)
    return text


def nan_in_parameters(rv: RandomVariable) -> str | None:
    """What to say of a parameter that is nan whatever the variables of the model are; None where there is none."""
    if issubclass(rv.family, Custom):
        return None
    for key, parameter in zip(rv.family.params, rv.parameters, strict=False):
        found = _nan_source(parameter)
        if found is not None:
            bad = np.argwhere(np.isnan(found))
            at = tuple(int(i) for i in bad[0])
            where = f" at position {at[0] if len(at) == 1 else at}" if at else ""
            return (
                f'{rv.family.__name__} "{rv.name}": {key} is computed from an array of shape {found.shape} that is '
                f"nan{where} ({len(bad)} of {found.size}). Fill the missing values in, or make them variables."
            )
    return None


def _nan_source(start: Node) -> np.ndarray | None:
    """An array with nan that makes an expression nan, where there is one."""
    stack, seen = [start], {start}
    while stack:
        node = stack.pop()
        array = node.value if isinstance(node, Variable) else value_of(node) if is_constant(node) else None
        if array is not None and array.dtype.kind == "f" and np.isnan(array).any():
            return array
        fresh = [i for i in node.inputs if i not in seen] if node.op.name in CARRIES_NAN else []
        seen.update(fresh)
        stack.extend(reversed(fresh))
    return None
