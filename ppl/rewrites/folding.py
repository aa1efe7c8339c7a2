"""Constants folded once, on the host by NumPy, so that XLA meets the result only."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ppl.graph import Attrs, Node, Op, bodies, topological
from ppl.rewrites.normal import PRODUCT, SUM
from ppl.tensor import indexing, linalg, shaping, special_counts
from ppl.tensor.names import NAMED
from ppl.tensor.ops import CAST, Elementwise, Reduction
from ppl.tensor.reductions import log_softmax, logsumexp, softmax
from ppl.tensor.segments import segment_sum
from ppl.tensor.sizes import DIM
from ppl.tensor.tensor import CONSTANT, constant, value_of
from ppl.tensor.triangular import pack_triangular, unpack_triangular

_LARGEST = 100_000
_PURE = frozenset([
    indexing.GETITEM, linalg.MATMUL, shaping.RESHAPE, shaping.TRANSPOSE, shaping.EXPAND_DIMS, shaping.SQUEEZE,
    shaping.CONCATENATE, CAST, DIM, segment_sum, pack_triangular, unpack_triangular,
    softmax, log_softmax, indexing.take_along_axis,
])  # fmt: skip


def folded(node: Node) -> Node | None:
    """The constant that a node of constants is; None where it is none, or would be much larger than its inputs."""
    if node.op is DIM:
        return _dim(node)
    if not node.inputs or any(x.op is not CONSTANT for x in node.inputs):
        return None
    if not (isinstance(node.op, Elementwise | Reduction) or node.op in _PURE) or bodies(node):
        return None
    if None in node.type.shape or not _worth_it(node):
        return None
    value = _computed(node, [value_of(x) for x in node.inputs])
    return None if value is None else constant(value)


def on_host(
    outputs: Sequence[Node], given: Mapping[Node, np.ndarray], *, programs: bool = True
) -> list[np.ndarray] | None:
    """The values of a few small expressions as they are written, operation by operation and without a program for them
    all, nor for any operation unless `programs`; None where an operation is not done so, or where a value is not
    finite, as another way to write it may be."""
    values: dict[Node, np.ndarray] = dict(given)
    for node in topological(outputs, blockers=values):
        if node in values:
            continue
        found = _on_host(node, [values[x] for x in node.inputs], programs)
        if found is None:
            return None
        values[node] = found
    results = [np.asarray(values[node]) for node in outputs]
    return results if all(np.isfinite(x).all() for x in results) else None


def _on_host(node: Node, inputs: list[np.ndarray], programs: bool) -> np.ndarray | None:
    if node.op is CONSTANT:
        return value_of(node)
    if not inputs or None in node.type.shape:
        return None
    if node.op is NAMED:
        return inputs[0]
    if node.op is shaping.BROADCAST_TO:
        return np.broadcast_to(inputs[0], node.type.shape)
    if (isinstance(node.op, Elementwise | Reduction) or node.op in _PURE) and not bodies(node):
        return _computed(node, inputs, programs)
    return None


def _triangle(n: int, lower: bool, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a triangle, in the order in which they are packed."""
    return np.tril_indices(n, -strict) if lower else np.triu_indices(n, strict)


def _dim(node: Node) -> Node | None:
    size = node.inputs[0].type.shape[node.attrs["axis"]]
    return None if size is None else constant(np.int64(size))


def _worth_it(node: Node) -> bool:
    result = int(np.prod(node.type.shape))
    given = max(value_of(x).size for x in node.inputs)
    return given <= _LARGEST and result <= max(given, 4096)


def _computed(node: Node, values: list[np.ndarray], programs: bool = True) -> np.ndarray | None:
    dtype = np.dtype(node.type.dtype)
    if node.op in (SUM, PRODUCT):
        return None
    f = _host_function(node.op.name) if isinstance(node.op, Elementwise) and not node.attrs else None
    if f is not None:
        with np.errstate(all="ignore"):
            return np.asarray(f(*values)).astype(dtype)
    if node.op is shaping.TRANSPOSE:
        return np.transpose(values[0], node.attrs["axes"])
    if node.op is shaping.EXPAND_DIMS:
        return np.expand_dims(values[0], node.attrs["axis"])
    if node.op in (shaping.RESHAPE, shaping.SQUEEZE):
        return np.reshape(values[0], node.type.shape)
    if node.op is shaping.CONCATENATE:
        return np.concatenate(values, axis=node.attrs["axis"]).astype(dtype, copy=False)
    if node.op is linalg.MATMUL:
        return np.matmul(*values)
    if isinstance(node.op, Reduction) and node.op.name in _REDUCTIONS and values[0].size:
        reduce = getattr(np, node.op.name)
        wide = {"dtype": dtype} if node.op.name in ("sum", "prod") else {}
        return np.asarray(reduce(values[0], axis=node.attrs["axis"], keepdims=node.attrs["keepdims"], **wide), dtype)
    if node.op in _BY_EXPONENTIALS and values[0].ndim:  # of a number SciPy makes a vector of one
        with np.errstate(all="ignore"):
            return np.asarray(_by_scipy(node.op.name)(values[0], **node.attrs), dtype)
    if node.op is segment_sum and np.all((values[1] >= 0) & (values[1] < node.attrs["count"])):  # XLA drops others
        total = np.zeros(node.type.shape, dtype)
        np.add.at(total, values[1], values[0])
        return total
    if node.op is pack_triangular:
        return values[0][(..., *_triangle(values[0].shape[-1], **node.attrs))]
    if node.op is unpack_triangular:
        matrices = np.zeros(node.type.shape, dtype)
        matrices[(..., *_triangle(**node.attrs))] = values[0]
        return matrices
    if node.op is CAST and _same_by_numpy(values[0], dtype):
        return values[0].astype(dtype)
    if node.op is indexing.take_along_axis and np.all(
        (values[1] >= 0) & (values[1] < values[0].shape[node.attrs["axis"]])
    ):
        return np.take_along_axis(values[0], values[1], node.attrs["axis"])
    if node.op is indexing.GETITEM:
        with contextlib.suppress(IndexError):  # outside, XLA fills with nan
            return np.asarray(values[0][indexing.real_index(node.attrs["plan"], values[1:])])
    return _by_jax(node, values) if programs else None


_BY_EXPONENTIALS = frozenset({softmax, log_softmax, logsumexp})


def _by_scipy(name: str) -> Callable[..., Any]:
    import scipy.special

    return getattr(scipy.special, name)


_REDUCTIONS = frozenset({"sum", "prod", "mean", "max", "min", "all", "any"})


def _same_by_numpy(values: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Whether JAX and NumPy agree on a cast: out of the range of whole numbers each does as it likes."""
    if values.dtype.kind == "c":
        return dtype.kind == "c"
    if values.dtype.kind != "f" or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return bool(np.all((values >= limits.min) & (values < limits.max)))


def _by_jax(node: Node, values: list[np.ndarray]) -> np.ndarray | None:
    """As one program: operation by operation, JAX compiles each of them, a twentieth of a second for every one."""
    for call in (_program(node.op, node.attrs), functools.partial(_lower, node.op, node.attrs)):
        with contextlib.suppress(Exception), jax.enable_x64(True), jax.ensure_compile_time_eval():
            return np.asarray(call(*values))  # some operations want to see their values
    return None


@functools.lru_cache(maxsize=256)
def _program(op: Op, attrs: Attrs) -> Callable[..., Any]:
    """Kept, since JAX keeps what it compiled by the function."""
    return jax.jit(functools.partial(_lower, op, attrs))


def _lower(op: Op, attrs: Attrs, *values: Any) -> Any:
    return op.lower(*values, **attrs)  # type: ignore[attr-defined]


def _stirling(x: np.ndarray) -> Any:
    import scipy.special

    return special_counts.stirling_by(np, scipy.special, x)


_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "switch": np.where, "softplus": lambda x: np.logaddexp(x, 0),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0), "rsqrt": lambda x: 1 / np.sqrt(x), "trunc": np.trunc,
    "stop_gradient": np.asarray, "at_optimum": np.asarray, "stirling": _stirling,
    "deviance": functools.partial(special_counts.deviance_by, np),
}  # fmt: skip
_NAMES_IN_SCIPY = {"sigmoid": "expit"}
# In SciPy a difference of large logarithms, 2e-10 off at (5e5, 1/2), and series cut short, 3 % off in tails at a = 1e8.
_LESS_EXACT = frozenset({"betaln", "gammainc", "gammaincc", "gammaincinv", "gammainccinv"})


def _host_function(name: str) -> Callable[..., Any] | None:
    found = _OTHER_NAMES.get(name)
    if found is not None:
        return found
    if isinstance(getattr(np, name, None), np.ufunc):
        return getattr(np, name)
    import scipy.special  # a tenth of the time of `import ppl`

    candidate = getattr(scipy.special, _NAMES_IN_SCIPY.get(name, name), None)
    return candidate if isinstance(candidate, np.ufunc) and name not in _LESS_EXACT else None
