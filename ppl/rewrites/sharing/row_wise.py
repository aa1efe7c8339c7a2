"""An operation for every row of an array by the operation itself: exp(x) of each x is exp([x₁, …, xₙ]), a sum of each
is a sum along other axes. What has no such form (loops) is left to a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ppl.graph import GET, Node, substitute, topological
from ppl.graph.body import close
from ppl.graph.node import Op
from ppl.tensor import linalg
from ppl.tensor.arrays import diagonals, indexing, reductions, shaping, sorting
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.core import elementwise
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import Elementwise, Reduction
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.linear_algebra import chains, decompositions, definite, kronecker, triangular
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.loops.recurrence import linear_recurrence
from ppl.tensor.sampling.draws import Draw, of_words
from ppl.tensor.tensor import Tensor, TensorType, constant, placeholder

_WHOLE = ("slice", None, None, None)


class _Call(NamedTuple):
    """A node, and what its inputs are for all rows."""

    node: Node
    inputs: tuple[Node, ...]
    moved: tuple[bool, ...]  # which of them have the rows, as a further axis in front
    rows: int

    def with_inputs(self, inputs: Iterable[Node], **changes: Any) -> Tensor:
        """The same operation on other inputs."""
        attrs = self.node.attrs.but(**changes) if changes else self.node.attrs
        return Node(self.node.op, tuple(inputs), attrs)  # type: ignore[return-value]

    def aligned(self) -> list[Node]:
        """Inputs that broadcast: rows have axes of length one behind the first, up to the rank of the result."""
        return [_padded(x, self.node.type.ndim) if own else x for x, own in zip(self.inputs, self.moved, strict=True)]


def row_wise(node: Node, inputs: Sequence[Node], moved: Sequence[bool], count: int) -> Tensor | None:
    """`node` for `count` rows of those inputs that moved, which are the others' first axis; None where the operation
    has no such form."""
    call = _Call(node, tuple(inputs), tuple(moved), count)
    if node.op is SCAN:
        return _looped(call)  # type: ignore[return-value]
    shapes = [getattr(x.type, "shape", (None,)) for x in (node, *node.inputs)]
    if any(None in shape for shape in shapes):
        return None
    if isinstance(node.op, Elementwise):
        return call.with_inputs(call.aligned())
    if isinstance(node.op, Reduction):
        return None if node.op.one_axis and len(node.attrs["axis"]) > 1 else _along_later_axes(call)
    if isinstance(node.op, Draw):
        return _drawn(call)
    rule = _RULES.get(node.op)
    return None if rule is None else rule(call)


def for_rows(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], count: int
) -> tuple[list[Tensor], list[Tensor]] | None:
    """`outputs` for `count` values of the inputs: inputs with a further axis in front, and the outputs as they then
    are. None where some operation has no form for rows.

    >>> import ppl.tensor as tt
    >>> x = placeholder(TensorType("float64", (3,)), "x")
    >>> _, [total] = for_rows([tt.exp(x).sum()], [x], 5)
    >>> total.type
    float64[5]
    """
    if any(None in x.type.shape for x in [*inputs, *outputs]):
        return None
    rows: dict[Node, Tensor] = {x: placeholder(TensorType(x.dtype, (count, *x.type.shape)), "rows") for x in inputs}
    given = list(rows.values())
    for node in topological(outputs, blockers=rows):
        moved = [x in rows for x in node.inputs]
        if node in rows or not any(moved):
            continue
        if node.op is NAMED:
            rows[node] = rows[node.inputs[0]]
            continue
        if node.op is GET and node.inputs[0].op is SCAN:
            last = node.attrs["position"] < node.inputs[0].attrs["states"]
            part: Any = Node(GET, (rows[node.inputs[0]],), node.attrs)
            rows[node] = part if last else shaping.moveaxis(part, 1, 0)  # of what is stacked, steps come first
            continue
        found = row_wise(node, [rows.get(x, x) for x in node.inputs], moved, count)
        if found is None:
            return None
        rows[node] = found
    return given, [rows[x] if x in rows else _repeated(x, count) for x in outputs]


def _repeated(x: Node, count: int) -> Tensor:
    return shaping.BROADCAST_TO(shaping.EXPAND_DIMS(x, 0), (count, *x.type.shape))


def _padded(x: Node, rank: int) -> Node:
    missing = rank - (x.type.ndim - 1)
    return shaping.EXPAND_DIMS(x, tuple(range(1, 1 + missing))) if missing else x


def _along_later_axes(call: _Call) -> Tensor:
    axis = call.node.attrs["axis"]
    return call.with_inputs(call.inputs, axis=axis + 1 if isinstance(axis, int) else tuple([a + 1 for a in axis]))


def _stacked(call: _Call) -> Tensor:
    """What takes stacks of vectors or matrices."""
    return call.with_inputs(call.inputs)


def _transposed(call: _Call) -> Tensor:
    return call.with_inputs(call.inputs, axes=(0, *[a + 1 for a in call.node.attrs["axes"]]))


def _reshaped(call: _Call) -> Tensor:
    return shaping.RESHAPE(call.inputs[0], (call.rows, *call.node.type.shape))


def _broadcast(call: _Call) -> Tensor:
    return shaping.BROADCAST_TO(call.aligned()[0], (call.rows, *call.node.type.shape))


def _joined(call: _Call) -> Tensor:
    pairs = zip(call.inputs, call.moved, strict=True)
    parts = [x if own else _repeated(x, call.rows) for x, own in pairs]
    return call.with_inputs(parts, axis=call.node.attrs["axis"] + 1)


def _product(call: _Call) -> Tensor:
    return call.with_inputs(call.aligned())


def _triangles(call: _Call) -> Tensor:
    """Equations of stacks that broadcast."""
    own = 2, call.node.attrs["b_ndim"]
    stacks = max(x.type.ndim - n for x, n in zip(call.node.inputs, own, strict=True))
    each = zip(call.inputs, call.moved, own, strict=True)
    return call.with_inputs([_padded(x, stacks + n) if moved else x for x, moved, n in each])


def _normal_log_densities(call: _Call) -> Tensor:
    """By the factors of a stack of covariances, where each row has its own."""
    residual, cov = call.inputs
    if not call.moved[1]:
        return _stacked(call)
    vectors = call.node.inputs[0].type.ndim - 1  # axes of them for one covariance
    residual = residual if call.moved[0] else shaping.EXPAND_DIMS(residual, 0)
    factor = decompositions.cholesky(cov)
    z = decompositions.solve_triangular(_padded(factor, vectors + 2), residual, lower=True, b_ndim=1)
    logs = elementwise.log(triangular.diagonal_of(factor))
    volume = shaping.reshape(reductions.sum(logs, axis=-1), (call.rows,) + (1,) * vectors)
    return -0.5 * reductions.sum(z * z, axis=-1) - volume


def _of_vectors(call: _Call) -> Tensor | None:
    return None if any(call.moved[1:]) else _stacked(call)


def _indexed(call: _Call) -> Tensor | None:
    """At places that are the same for all rows, or that each row has of its own. Arrays with other parts between them
    would come before the rows."""
    plan = call.node.attrs["plan"]
    at = [i for i, part in enumerate(plan) if part[0] in ("array", "int")]
    apart = bool(at) and at != list(range(at[0], at[-1] + 1))
    if apart and any(part[0] == "array" for part in plan):
        return None
    if any(call.moved[1:]):
        return _at_own_places(call, at[0]) if ("array",) in plan else None
    return call.with_inputs(call.inputs, plan=(_WHOLE, *plan))


def _at_own_places(call: _Call, before: int) -> Tensor | None:
    """The entries that each row asks for; of the result, `before` axes stand in front of those of the places."""
    plan, (x, *places) = call.node.attrs["plan"], call.inputs
    if any("in" in part for part in plan):
        return None
    rank = max(place.type.ndim for place in call.node.inputs[1:])
    aligned = [_padded(i, rank) if own else i for i, own in zip(places, call.moved[1:], strict=True)]
    if not call.moved[0]:
        found = call.with_inputs([x, *aligned])
        return shaping.moveaxis(found, before, 0) if before else found
    rows = constant(np.arange(call.rows).reshape(call.rows, *[1] * rank))
    found = call.with_inputs([x, rows, *aligned], plan=(("array",), *plan))
    if not before:
        return found
    own, others = range(1, 1 + rank), range(1 + rank, 1 + rank + before)
    return shaping.transpose(found, (0, *others, *own, *range(1 + rank + before, found.ndim)))


def _updated(call: _Call) -> Tensor | None:
    """Entries set at places that are the same for all rows."""
    plan, (x, y, *places) = call.node.attrs["plan"], call.inputs
    at = [i for i, part in enumerate(plan) if part[0] in ("array", "int")]
    apart = bool(at) and at != list(range(at[0], at[-1] + 1))
    if any(call.moved[2:]) or (apart and any(part[0] == "array" for part in plan)):
        return None
    rank = len(indexing.indexed_shape(call.node.inputs[0].type, plan, tuple(places)))
    whole = x if call.moved[0] else _repeated(x, call.rows)
    return call.with_inputs([whole, _padded(y, rank) if call.moved[1] else y, *places], plan=(_WHOLE, *plan))


def _mapped(call: _Call) -> Tensor | None:
    """A function mapped over a stack, as its operations for all rows of the stack at once."""
    body, ranks = call.node.attrs["body"], call.node.attrs["ranks"]
    if len(body.outputs) > 1:
        return None
    (result,) = body.outputs
    stack = call.node.type.shape[: call.node.type.ndim - result.type.ndim]
    count = call.rows * prod(stack)
    flat: dict[Node, Node] = {}
    held: dict[Node, Node] = {}
    for i, (point, x, moved) in enumerate(zip(body.params, call.inputs, call.moved, strict=True)):
        core = call.node.inputs[i].type.shape
        core = core[len(core) - ranks[i] :] if i < len(ranks) else core
        if not moved and x.type.shape == core:
            held[point] = x
            continue
        own = x.type.shape[1:] if moved else x.type.shape
        missing = len(stack) - (len(own) - len(core))
        spread = shaping.RESHAPE(x, (call.rows if moved else 1, *[1] * missing, *own))
        flat[point] = shaping.RESHAPE(shaping.BROADCAST_TO(spread, (call.rows, *stack, *core)), (count, *core))
    found = for_rows(body.outputs, list(flat), count)  # type: ignore[arg-type]
    if found is None:
        return None
    inputs, outputs = found
    for place, rows in zip(inputs, flat.values(), strict=True):
        held[place] = rows
    (rows,) = substitute(outputs, held)
    return shaping.RESHAPE(rows, (call.rows, *call.node.type.shape))


def _looped(call: _Call) -> Node | None:
    """A loop whose states are rows: each step takes all of them."""
    attrs, body = call.node.attrs, call.node.attrs["body"]
    states, first = attrs["states"], attrs["states"] + attrs["sequences"]
    if attrs["counted"] or any(None in x.type.shape for x in call.node.inputs):
        return None
    moved = [i < states or own for i, own in enumerate(call.moved)]
    found = for_rows(body.outputs, [p for p, own in zip(body.params, moved, strict=True) if own], call.rows)
    if found is None:
        return None
    params, own_rows, given = [], iter(found[0]), []
    for i, (param, x, own) in enumerate(zip(body.params, call.inputs, moved, strict=True)):
        params.append(next(own_rows) if own else param)
        x = _repeated(x, call.rows) if own and not call.moved[i] else x
        given.append(shaping.moveaxis(x, 1, 0) if own and states <= i < first else x)
    inner, captured = close(params, found[1])
    return Node(call.node.op, (*given, *captured), attrs.but(body=inner))


def _along_a_chain(call: _Call) -> Tensor:
    """Rows beside each other at each step."""
    first, steps = (x if own else _repeated(x, call.rows) for x, own in zip(call.inputs, call.moved, strict=True))
    return shaping.moveaxis(call.with_inputs([first, shaping.moveaxis(steps, 0, 1)]), 1, 0)


def _along_time(call: _Call) -> Tensor:
    """Axes of the recurrence itself stay last: one of first values, two of weights, one of time."""
    stack = call.node.type.ndim - 1
    each = zip(call.inputs, call.moved, (1, 2, 1), strict=True)
    return call.with_inputs([_padded(x, stack + own) if moved else x for x, moved, own in each])


def _searched(call: _Call) -> Tensor | None:
    """In a table that is the same for all rows."""
    return None if call.moved[0] else _stacked(call)


def _taken_along(call: _Call) -> Tensor:
    both = [x if own else _repeated(x, call.rows) for x, own in zip(call.inputs, call.moved, strict=True)]
    return call.with_inputs(both, axis=call.node.attrs["axis"] + 1)


def _diagonal(call: _Call) -> Tensor:
    rank = call.node.inputs[0].type.ndim
    return call.with_inputs(call.inputs, **{name: call.node.attrs[name] % rank + 1 for name in ("axis1", "axis2")})


def _summed_by_group(call: _Call) -> Tensor | None:
    if call.moved[1]:
        return None
    return shaping.swapaxes(call.with_inputs([shaping.swapaxes(call.inputs[0], 0, 1), call.inputs[1]]), 0, 1)


def _drawn(call: _Call) -> Tensor | None:
    """Rows of keys have rows of draws, of parameters that are rows or the same for all."""
    count = call.node.op.count  # type: ignore[attr-defined]
    if not call.moved[0] or len(call.inputs) > 1 + count:
        return None
    shape = (call.rows, *call.node.attrs["shape"])
    return call.with_inputs([call.inputs[0], *call.aligned()[1:]], shape=shape)


def _of_words(call: _Call) -> Tensor:
    words = shaping.RESHAPE(call.inputs[0], (-1, 2))
    return shaping.RESHAPE(call.with_inputs([words]), (call.rows, *call.node.type.shape))


_RULES: dict[Op, Callable[[_Call], Tensor | None]] = {
    shaping.TRANSPOSE: _transposed,
    shaping.EXPAND_DIMS: _along_later_axes,
    shaping.SQUEEZE: _along_later_axes,
    shaping.RESHAPE: _reshaped,
    shaping.BROADCAST_TO: _broadcast,
    shaping.CONCATENATE: _joined,
    linalg.MATMUL: _product,
    kronecker.kron_times: _of_vectors,
    indexing.GETITEM: _indexed,
    indexing.take_along_axis: _taken_along,
    indexing.index_update: _updated,
    indexing.index_add: _updated,
    VECTORIZED: _mapped,
    chains.log_forward: _along_a_chain,
    linear_recurrence: _along_time,
    sorting.searchsorted: _searched,
    diagonals.diagonal: _diagonal,
    diagonals.tril: _stacked,
    diagonals.triu: _stacked,
    reductions.softmax: _along_later_axes,
    reductions.log_softmax: _along_later_axes,
    reductions.cumsum: _along_later_axes,
    reductions.cumprod: _along_later_axes,
    segment_sum: _summed_by_group,
    triangular.diagonal_of: _stacked,
    triangular.pack_triangular: _stacked,
    triangular.unpack_triangular: _stacked,
    decompositions.cholesky: _stacked,
    decompositions.SOLVE_TRIANGULAR: _triangles,
    definite.log_det_definite: _stacked,
    definite.normal_log_density: _normal_log_densities,
    of_words: _of_words,
}
