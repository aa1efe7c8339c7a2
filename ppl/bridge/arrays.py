"""Shapes, joins, reductions and what else arranges arrays: PyTensor's structural ops in ppl."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.bridge.elementwise import cast
from ppl.bridge.reading import RANDOM, Application, Sizes, Value, as_tensor, converts, is_a, sizes_of, sizes_or_array
from ppl.tensor.tensor import Tensor


# --- what changes nothing ---------------------------------------------------------------------------------------------
@converts(
    "ViewOp", "TensorFromScalar", "ScalarFromTensor", "DeepCopyOp", "CpuContiguous", "OutputGuard", "TypeCastingOp"
)
def same(at: Application) -> Value:
    """The input."""
    return at.values[0]


@converts("Print")
def printed(at: Application) -> Value:
    """The input, whose value is printed each time the program runs."""
    return tt.Print(at.op.message)(at.tensor(0)) if tuple(at.op.attrs) == ("__str__",) else at.values[0]


@converts("DisconnectedGrad", "ZeroGrad", "UndefinedGrad")
def without_gradient(at: Application) -> Value:
    """The input, through which no gradient flows."""
    return tt.disconnected_grad(at.tensor(0))


@converts("GradClip")
def clipped_gradient(at: Application) -> Value:
    return tt.grad_clip(at.tensor(0), at.op.clip_lower_bound, at.op.clip_upper_bound)


@converts("GradScale")
def scaled_gradient(at: Application) -> Value:
    return tt.grad_scale(at.tensor(0), at.op.multiplier)


@converts("CheckAndRaise")
def checked(at: Application) -> Value:
    """A value on a condition. A parameter outside its domain has no density; other conditions are looked at in PyMC."""
    if not is_a(at.op, "CheckParameterValue"):
        return at.values[0]
    conditions = [as_tensor(c) for c in at.values[1:]]
    holds = conditions[0]
    for condition in conditions[1:]:
        holds = tt.and_(holds, condition)
    return tt.switch(tt.all(holds), at.tensor(0), -np.inf)


@converts("SpecifyShape")
def specified(at: Application) -> Value:
    """An array whose lengths are said."""
    x, lengths = at.tensor(0), at.values[1:]
    known = [None if n is None or isinstance(n, Tensor) else int(n) for n in lengths]
    return tt.specify_shape(x, tuple(known)) if any(n is not None for n in known) else x


# --- shapes -----------------------------------------------------------------------------------------------------------
@converts("Shape")
def shape(at: Application) -> Value:
    """The shape, as numbers where it is known."""
    value = at.values[0]
    return np.array([len(value)]) if isinstance(value, Sizes) else sizes_or_array(tt.shape(at.tensor(0)))


@converts("Shape_i")
def length(at: Application) -> Value:
    """The length of one axis."""
    n = tt.shape(at.tensor(0))[at.op.i]
    return n if isinstance(n, Tensor) else np.asarray(n, dtype=np.int64)


@converts("MakeVector")
def vector(at: Application) -> Value:
    """Numbers side by side; whole ones may be sizes."""
    if np.dtype(at.op.dtype).kind in "iu":
        return sizes_or_array(as_tensor(v) if not isinstance(v, np.ndarray) else v for v in at.values)
    return tt.stack([cast(x, at.op.dtype) for x in at.tensors])


@converts("DimShuffle")
def arranged(at: Application) -> Value:
    """Axes dropped, moved, and put in."""
    order = list(at.op.new_order)
    product = product_with_vector(at, order)
    if product is not None:
        return product
    x, kept = at.tensor(0), [i for i in order if i != "x"]
    dropped = tuple(i for i in range(x.ndim) if i not in kept)
    if dropped:
        x = tt.squeeze(x, axis=dropped)
        kept = [i - sum(d < i for d in dropped) for i in kept]
    if kept != sorted(kept):
        x = tt.transpose(x, tuple(kept))
    new = tuple(i for i, part in enumerate(order) if part == "x")
    return tt.expand_dims(x, new) if new else x


def product_with_vector(at: Application, order: list[Any]) -> Value | None:
    """A matrix times a vector: PyTensor 2 gives the vector a second axis and takes that of the product away."""
    node = at.variables[0].owner
    if node is None or not is_product(node.op) or "x" in order:
        return None
    ndim = at.variables[0].type.ndim
    left, right = node.inputs
    if order == list(range(ndim - 1)) and (v := _one_axis_less(right, -1)) is not None:
        return tt.matmul(at.reader.tensor(left), at.reader.tensor(v))
    if order == [*range(ndim - 2), ndim - 1] and (v := _one_axis_less(left, -2)) is not None:
        return tt.matmul(at.reader.tensor(v), at.reader.tensor(right))
    return None


def is_product(op: Any) -> bool:
    """Whether an op is the product of two matrices, or of stacks of them."""
    return is_a(op, "Dot") or (is_a(op, "Blockwise") and is_a(op.core_op, "Dot"))


def _one_axis_less(variable: Any, axis: int) -> Any:
    """The vector that was made a matrix by a new axis; None where it was not."""
    node = variable.owner
    if node is None or not is_a(node.op, "DimShuffle") or node.inputs[0].type.ndim != 1:
        return None
    wanted = (0, "x") if axis == -1 else ("x", 0)
    return node.inputs[0] if tuple(node.op.new_order) == wanted else None


@converts("Reshape")
def reshaped(at: Application) -> Value:
    """The entries in another shape."""
    sizes = sizes_of(at.values[1])
    assert sizes is not None
    if isinstance(at.values[0], Sizes) and len(sizes) == 1:
        return at.values[0]
    return tt.reshape(at.tensor(0), sizes)


@converts("JoinDims")
def joined_axes(at: Application) -> Value:
    """Some neighboring axes as one."""
    x, first, count = at.tensor(0), at.op.start_axis, at.op.n_axes
    lengths = tuple(x.shape)
    return tt.reshape(x, (*lengths[:first], math.prod(lengths[first : first + count]), *lengths[first + count :]))


@converts("SplitDims")
def split_axis(at: Application) -> Value:
    """One axis as several."""
    x, axis = at.tensor(0), at.op.axis
    lengths, inner = tuple(x.shape), sizes_of(at.values[1])
    assert inner is not None
    return tt.reshape(x, (*lengths[:axis], *inner, *lengths[axis + 1 :]))


@converts("Alloc")
def filled(at: Application) -> Value:
    """An array of copies of a value."""
    sizes = sizes_of(sizes_or_array(at.values[1:])) if len(at.values) > 1 else ()
    x = at.tensor(0)
    known = all(isinstance(n, int) for n in sizes or ())
    return x if known and tuple(sizes or ()) == tuple(x.type.shape) else tt.broadcast_to(x, sizes)


@converts("BroadcastTo")
def broadcast(at: Application) -> Value:
    return tt.broadcast_to(at.tensor(0), sizes_of(sizes_or_array(at.values[1:])))


@converts("AllocEmpty")
def empty(at: Application) -> Value:
    """An array that is filled later: zeros until then."""
    sizes = sizes_or_array(at.values)
    if isinstance(sizes, np.ndarray):
        return np.zeros(tuple(sizes), dtype=at.op.dtype)
    return tt.zeros(sizes_of(sizes), dtype=at.op.dtype)


# --- joins ------------------------------------------------------------------------------------------------------------
@converts("Join")
def joined(at: Application) -> Value:
    """Arrays one after another."""
    given = [v for v in at.values if v is not RANDOM]
    axis, parts = (at.op.axis, given) if hasattr(at.op, "axis") else (given[0], given[1:])
    if any(isinstance(p, Sizes) for p in parts) and all(_is_whole_vector(p) for p in parts):
        return sizes_or_array(n for p in parts for n in (p if isinstance(p, Sizes) else list(p)))
    arrays = [as_tensor(p) for p in parts]
    kinds = {x.dtype for x in arrays}
    arrays = [cast(x, at.out.dtype) for x in arrays] if len(kinds) > 1 else arrays
    return tt.concatenate(arrays, axis=int(axis))


def _is_whole_vector(value: Value) -> bool:
    return isinstance(value, Sizes) or (isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu")


@converts("Split")
def split(at: Application) -> Value:
    """An array in parts along an axis."""
    x, sizes = at.tensor(0), sizes_of(at.values[-1])
    assert sizes is not None
    axis = int(at.op.axis if hasattr(at.op, "axis") else at.values[1])
    parts, start = [], 0
    for n in sizes:
        parts.append(x[(slice(None),) * (axis % x.ndim) + (slice(start, start + n),)])
        start = start + n
    return parts


@converts("Repeat")
def repeated(at: Application) -> Value:
    """Entries along an axis, each as often as is said."""
    times = at.values[1]
    return tt.repeat(at.tensor(0), times if isinstance(times, np.ndarray) else as_tensor(times), axis=at.op.axis)


# --- reductions -------------------------------------------------------------------------------------------------------
REDUCTIONS = {
    "Sum": tt.sum, "Prod": tt.prod, "Max": tt.max, "Min": tt.min, "All": tt.all, "Any": tt.any,
    "ProdWithoutZeros": lambda x, axis: tt.prod(tt.switch(tt.eq(x, 0), 1, x), axis=axis),
}  # fmt: skip
BY_SCALAR = {
    "Add": "Sum", "Mul": "Prod", "Maximum": "Max", "Minimum": "Min", "ScalarMaximum": "Max", "ScalarMinimum": "Min",
    "AND": "All", "OR": "Any",
}  # fmt: skip


@converts("CAReduce")
def reduced(at: Application) -> Value:
    """A sum, a product, a largest or smallest entry, along some axes."""
    axis = at.op.axis if at.op.axis is None else tuple(at.op.axis)
    if isinstance(at.values[0], Sizes) and is_a(at.op, "Prod"):
        return _whole(math.prod(at.values[0]))
    named = next((c.__name__ for c in type(at.op).__mro__ if c.__name__ in REDUCTIONS), None)
    name = named or BY_SCALAR.get(type(at.op.scalar_op).__name__)
    if name is None:
        raise at.refuse("a reduction that ppl does not have. Please report it.")
    return REDUCTIONS[name](at.tensor(0), axis=axis)


def _whole(n: Any) -> Value:
    return n if isinstance(n, Tensor) else np.asarray(n, dtype=np.int64)


@converts("Argmax")
def argmax(at: Application) -> Value:
    """The position of the largest entry, along one axis or several together."""
    x, axes = at.tensor(0), at.op.axis
    if axes is None:
        return tt.argmax(tt.reshape(x, (-1,)))
    axes = tuple(a % x.ndim for a in axes)
    if len(axes) == 1:
        return tt.argmax(x, axis=axes[0])
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    moved = tt.transpose(x, (*kept, *axes))
    return tt.argmax(tt.reshape(moved, (*tuple(moved.shape)[: len(kept)], -1)), axis=-1)


@converts("CumOp")
def cumulated(at: Application) -> Value:
    """Sums or products so far."""
    return (tt.cumsum if at.op.mode == "add" else tt.cumprod)(at.tensor(0), axis=at.op.axis)


@converts("Softmax")
def softmax(at: Application) -> Value:
    return tt.softmax(at.tensor(0), axis=at.op.axis)


@converts("LogSoftmax")
def log_softmax(at: Application) -> Value:
    return tt.log_softmax(at.tensor(0), axis=at.op.axis)


@converts("SortOp")
def sort(at: Application) -> Value:
    return tt.sort(at.tensor(0), axis=_axis(at.values[1]))


@converts("ArgSortOp")
def argsort(at: Application) -> Value:
    return tt.argsort(at.tensor(0), axis=_axis(at.values[1]))


def _axis(value: Value) -> int | None:
    return None if value is None else int(value)


# --- arrays by rule ---------------------------------------------------------------------------------------------------
@converts("ARange")
def arange(at: Application) -> Value:
    """Numbers in steps."""
    start, stop, step = [v if isinstance(v, Tensor) else v.item() for v in at.values]
    return tt.arange(start, stop, step)


@converts("Eye")
def eye(at: Application) -> Value:
    """Ones on a diagonal."""
    n, m, k = [v if isinstance(v, Tensor) else int(v) for v in at.values]
    return tt.eye(n, m, k, dtype=at.op.dtype)


@converts("Nonzero")
def nonzero(at: Application) -> Value:
    """The positions of entries that are not zero."""
    found = tt.nonzero(at.tensor(0))
    return list(found)


@converts("ExtractDiag")
def diagonal(at: Application) -> Value:
    return tt.diagonal(at.tensor(0), at.op.offset, at.op.axis1, at.op.axis2)


@converts("AllocDiag")
def diagonal_matrix(at: Application) -> Value:
    x = at.tensor(0)
    axes = tuple(axis % (x.ndim + 1) - x.ndim - 1 for axis in (at.op.axis1, at.op.axis2))
    return tt.alloc_diag(x, at.op.offset, *axes)


@converts("FillDiagonal")
def with_diagonal(at: Application) -> Value:
    return tt.fill_diagonal(at.tensor(0), at.tensor(1))


@converts("FillDiagonalOffset")
def with_shifted_diagonal(at: Application) -> Value:
    return tt.fill_diagonal_offset(*at.tensors)


@converts("SearchsortedOp")
def searchsorted(at: Application) -> Value:
    """Where numbers stand in sorted ones."""
    x = at.tensor(0)
    if len(at.values) > 2 and at.values[2] is not None:
        x = x[at.tensor(2)]
    return tt.searchsorted(x, at.tensor(1), side=at.op.side)


@converts("Unique")
def unique(at: Application) -> Value:
    op = at.op
    found = tt.unique(at.tensor(0), op.return_index, op.return_inverse, op.return_counts, op.axis)
    return list(found) if isinstance(found, list | tuple) else found


@converts("UnravelIndex")
def unravelled(at: Application) -> Value:
    return list(tt.unravel_index(at.tensor(0), tuple(sizes_of(at.values[1]) or ()), order=at.op.order))


@converts("RavelMultiIndex")
def ravelled(at: Application) -> Value:
    dims = tuple(sizes_of(at.values[-1]) or ())
    return tt.ravel_multi_index(tuple(as_tensor(v) for v in at.values[:-1]), dims, mode=at.op.mode, order=at.op.order)


@converts("Choose")
def chosen(at: Application) -> Value:
    return tt.choose(at.tensor(0), [as_tensor(v) for v in at.values[1:]], mode=at.op.mode)


@converts("IfElse")
def if_else(at: Application) -> Value:
    """One of two groups of values, by a condition."""
    n = at.op.n_outs
    then, other = at.values[1 : 1 + n], at.values[1 + n :]
    return [tt.ifelse(at.tensor(0), as_tensor(a), as_tensor(b)) for a, b in zip(then, other, strict=True)]


@converts("OpFromGraph")
def body(at: Application) -> list[Value]:
    """A function with a graph of its own: its body, read for these inputs."""
    return at.reader.body(at.op.inner_inputs, at.op.inner_outputs, at.values)
