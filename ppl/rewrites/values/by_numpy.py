"""Operations done at once on the host, by NumPy and SciPy: for small work that is sooner than compiling a program.

Each function takes the node and the values of its inputs. What would differ from XLA's result (an index out of range, a
matrix that is not positive definite) is left to XLA: the function gives None, or NumPy raises.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from math import erfc, inf, lgamma, log, log1p, pi, prod, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np

from ppl.graph import Node, topological
from ppl.tensor import linalg
from ppl.tensor.arrays import diagonals, indexing, reductions, shaping, sorting
from ppl.tensor.arrays.creation import eye
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.core.elementwise import log1mexp, share
from ppl.tensor.core.ops import CAST, Elementwise, Reduction
from ppl.tensor.core.sizes import DIM, filled
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.kernels import harmonics
from ppl.tensor.kernels.correlations import CORRELATIONS
from ppl.tensor.kernels.distances import DISTANCES
from ppl.tensor.linear_algebra import chains, decompositions
from ppl.tensor.linear_algebra.definite import log_det_definite, normal_log_density
from ppl.tensor.linear_algebra.kronecker import kron_times
from ppl.tensor.linear_algebra.triangular import diagonal_of, pack_triangular, unpack_triangular
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.loops.recurrence import linear_recurrence
from ppl.tensor.sampling.draws import OF_ONE_WORD, Draw, key_fold_in, key_split, of_words
from ppl.tensor.special_functions import counts as special_counts
from ppl.tensor.special_functions.catalog import log_exp_difference
from ppl.tensor.special_functions.normal import log1p_square, log_ndtr_between

Values = list[np.ndarray]
FEW = 2000  # numbers, of which functions of Python are done before SciPy is loaded
SHORT, SMALL = 4, 32  # entries along an axis, rows of a matrix
OF_STEP = 3  # calls that take as long as one in the body of a loop, whose steps are taken one by one
DRAWN, OF_WORD = 30, 8  # numbers that take NumPy as long as one that it draws, or that it makes of one random word


DECLINED = (IndexError, TypeError, ValueError, np.linalg.LinAlgError)  # XLA has a value there, or its own error


def by_numpy(node: Node, values: Values) -> Any:
    """The value of a node (a tuple of several), given those of its inputs; None where NumPy does not give it."""
    with np.errstate(all="ignore"):
        try:
            function = function_of(node)
            return None if function is None else function(values)
        except DECLINED:
            return None


def function_of(node: Node) -> Callable[[Values], Any] | None:
    """What NumPy does for a node with the values of its inputs, declining at most for some of them; None where it has
    nothing for such an operation."""
    if isinstance(node.op, Elementwise) and not node.attrs:
        f, dtype = _of_entries(node.op.name), node.type.dtype
        if f is not None:
            return lambda values: np.asarray(f(*values)).astype(dtype, copy=False)
    if isinstance(node.op, Reduction) and node.op.name in _REDUCTIONS:
        return lambda values: _reduced(node, values[0]) if values[0].size else None
    if isinstance(node.op, Draw):
        draw, attrs = node.op, node.attrs
        return (lambda values: draw.by_numpy(*values, **attrs)) if draw.known_to_numpy(node) else None
    known = _BY_OP.get(node.op)
    if known is None or (node.op in _OF_KNOWN_SHAPE and None in node.type.shape):
        return None
    return functools.partial(known, node)


def is_known(node: Node) -> bool:
    """Whether NumPy has the operation, and declines at most for some values."""
    return function_of(node) is not None


def has_a_function(node: Node) -> bool:
    """Whether NumPy has anything for such an operation."""
    return isinstance(node.op, Elementwise | Reduction | Draw) or node.op in _BY_OP


def work(node: Node, unknown: float = inf) -> float:
    """About how many numbers NumPy goes over for a node; axes whose length is not known have as many entries."""
    kinds = (node.type, *[x.type for x in node.inputs])
    sizes = [_size(item, unknown) for kind in kinds for item in getattr(kind, "items", (kind,))]
    if node.op is VECTORIZED:
        body = node.attrs["body"]
        stack = sizes[0] / max(1, _size(body.outputs[0].type, unknown))
        return stack * sum(work(inner, unknown) for inner in topological(body.outputs))
    if node.op is SCAN:
        return steps_of_loop(node) * sum(work(inner, unknown) for inner in topological(node.attrs["body"].outputs))
    if isinstance(node.op, Draw):
        return (OF_WORD if node.op in OF_ONE_WORD else DRAWN) * sizes[0]
    return sum(sizes)


def _size(kind: Any, unknown: float) -> float:
    return inf if None in kind.shape and unknown == inf else prod(unknown if n is None else n for n in kind.shape)


def calls(node: Node) -> float:
    """How often NumPy is called for a node, with what comes with each step of a loop."""
    if node.op is not SCAN:
        return 1.0
    return OF_STEP * steps_of_loop(node) * sum(map(calls, topological(node.attrs["body"].outputs)))


def steps_of_loop(node: Node) -> float:
    """How many steps a loop takes: infinitely many where that is not known."""
    sequence = node.inputs[node.attrs["states"]].type.shape[0] if node.attrs["sequences"] else None
    found = node.attrs["length"] if node.attrs["length"] is not None else sequence
    return inf if found is None else found


# --- entry by entry
_OF_FEW = SimpleNamespace(
    gammaln=np.vectorize(lgamma, otypes=[float]), xlogy=lambda x, y: np.where(x == 0, 0.0, x * np.log(y))
)


def _stirling(x: np.ndarray) -> Any:
    if x.size <= FEW and np.all(x >= 0) and x.dtype == float:  # as for the counts of most models
        return special_counts.stirling_by(np, _OF_FEW, x)
    import scipy.special  # a tenth of a second

    return special_counts.stirling_by(np, scipy.special, x)


def _log_ndtr(x: float) -> float:
    """The logarithm of the normal distribution function; far below zero by its asymptotic series."""
    if x > 1.0:
        return log1p(-0.5 * erfc(x * sqrt(0.5)))
    if x > -20.0:
        return log(0.5 * erfc(-x * sqrt(0.5)))
    r = 1 / x**2
    series = 1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r))))
    return -0.5 * x**2 - log(-x) - 0.5 * log(2 * pi) + log(series)


def _of_python(name: str, function: Callable[[float], float], least: float) -> Callable[[np.ndarray], Any]:
    """By a function of Python where there are few numbers, all of them beyond `least`; SciPy takes a tenth of a second
    to load."""
    each = np.vectorize(function, otypes=[float])

    def values(x: np.ndarray) -> Any:
        if x.size <= FEW and x.dtype == float and np.all((x > least) & (x < inf)):
            return each(x)
        import scipy.special

        return getattr(scipy.special, name)(x)

    return values


_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "switch": np.where, "softplus": lambda x: np.logaddexp(x, 0),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0), "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "trunc": np.trunc,
    "stop_gradient": np.asarray, "at_optimum": np.asarray, "twice": np.asarray, "held": np.asarray,
    "stirling": _stirling, "gammaln": _of_python("gammaln", lgamma, 0.0),
    "log_ndtr": _of_python("log_ndtr", _log_ndtr, -1e100), "logit": lambda x: np.log(x) - np.log1p(-x),
    "xlogy": lambda x, y: np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y)),
    "deviance": functools.partial(special_counts.deviance_by, np), "clip": np.clip,
    **{op.name: op.lower for op in (share, log1mexp, log_exp_difference, log1p_square, log_ndtr_between)},
    **{op.name: op.lower for op in CORRELATIONS},
}  # fmt: skip
# In SciPy a difference of large logarithms, 2e-10 off at (5e5, 1/2), and series cut short, 3 % off in tails at a = 1e8.
_LESS_EXACT = frozenset({"betaln", "gammainc", "gammaincc", "gammaincinv", "gammainccinv"})


def _of_entries(name: str) -> Callable[..., Any] | None:
    found = _OTHER_NAMES.get(name)
    if found is not None:
        return found
    if isinstance(getattr(np, name, None), np.ufunc):
        return getattr(np, name)
    import scipy.special  # a tenth of the time of `import ppl`

    candidate = getattr(scipy.special, name, None)
    return candidate if isinstance(candidate, np.ufunc) and name not in _LESS_EXACT else None


# --- along axes
_REDUCTIONS = frozenset({"sum", "prod", "mean", "max", "min", "all", "any"})


def _reduced(node: Node, x: np.ndarray) -> np.ndarray:
    dtype = np.dtype(node.type.dtype)
    wide = {"dtype": dtype} if node.op.name in ("sum", "prod") else {}
    axes = {"axis": node.attrs["axis"], "keepdims": node.attrs["keepdims"]}
    return np.asarray(getattr(np, node.op.name)(x, **axes, **wide), dtype)


def _softmax(node: Node, values: Values) -> Any:
    (x,), axis = values, node.attrs["axis"]
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return (powers / np.sum(powers, axis=axis, keepdims=True)).astype(node.type.dtype, copy=False)


def _log_softmax(node: Node, values: Values) -> Any:
    (x,), axis = values, node.attrs["axis"]
    below = x - _largest(x, axis)
    return (below - np.log(np.sum(np.exp(below), axis=axis, keepdims=True))).astype(node.type.dtype, copy=False)


def _logsumexp(node: Node, values: Values) -> Any:
    (x,), axis = values, node.attrs["axis"]
    found = _log_of_sum(x, axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)
    found = found if node.attrs["keepdims"] else np.squeeze(found, axis)
    return found.astype(node.type.dtype, copy=False)


def _log_of_sum(x: np.ndarray, axis: Any) -> np.ndarray:
    """log Σ exp(x) along axes, which stay with length one."""
    if not isinstance(axis, tuple) and x.shape[axis] <= SHORT:  # NumPy takes long for many sums of few numbers
        parts = np.split(x, x.shape[axis], axis)
        return functools.reduce(np.logaddexp, parts)
    top = _largest(x, axis)
    return np.asarray(np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top)


def _largest(x: np.ndarray, axis: Any) -> np.ndarray:
    top = np.max(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


def _place_of_extreme(node: Node, values: Values) -> Any:
    axes = node.attrs["axis"]
    if len(axes) != 1 or not values[0].size:  # of all entries it is the place in the flat array
        return None
    find = np.argmax if node.op is reductions.argmax else np.argmin
    return find(values[0], axis=axes[0], keepdims=node.attrs["keepdims"]).astype(node.type.dtype)


def _set(node: Node, values: Values) -> Any:
    x, y, *places = values
    found = x.copy()
    found[indexing.real_index(node.attrs["plan"], places)] = y
    return found


def _added_at(node: Node, values: Values) -> Any:
    x, y, *places = values
    found = x.copy()
    np.add.at(found, indexing.real_index(node.attrs["plan"], places), y)
    return found


def _log_forward(node: Node, values: Values) -> Any:
    first, steps = values
    found = [first]
    for step in steps:
        found.append(_log_of_sum(found[-1][..., None] + step, axis=-2)[..., 0, :])
    return np.stack(found).astype(node.type.dtype)


def _linear_recurrence(node: Node, values: Values) -> Any:
    start, weights, inputs = values
    lags, found = start.shape[-1], np.empty(node.type.shape, node.type.dtype)
    found[..., :lags] = start
    for t in range(inputs.shape[-1]):
        x, w = inputs[..., t], weights[..., t if weights.shape[-2] > 1 else 0, :]
        for i in range(lags):
            x = x + w[..., i] * found[..., lags + t - 1 - i]
        found[..., lags + t] = x
    return found


def _log_harmonics(node: Node, values: Values) -> Any:
    """By the recurrence of the operation, a step at a time."""
    import scipy.special

    (a,), count = values, node.attrs["count"]
    top = count + harmonics.BEYOND
    above, ratios = a / (top - 0.5 + np.sqrt((top + 0.5) ** 2 + a**2)), np.empty(top)
    for j in range(top - 1, 0, -1):
        above = ratios[j] = a / (2 * j + a * above)
    return np.log(scipy.special.i0e(a)) + np.concatenate([[0.0 * a], np.cumsum(np.log(ratios[1:count]))])


def _searchsorted(node: Node, values: Values) -> Any:
    side: Any = dict(node.attrs).get("side", "left")
    return np.searchsorted(values[0], values[1], side)


def _segment_sum(node: Node, values: Values) -> Any:
    if np.any((values[1] < 0) | (values[1] >= node.attrs["count"])):  # XLA drops these
        return None
    total = np.zeros(node.type.shape, node.type.dtype)
    np.add.at(total, values[1], values[0])
    return total


def _take_along_axis(node: Node, values: Values) -> Any:
    x, at = values
    axis = node.attrs["axis"]
    return np.take_along_axis(x, at, axis) if np.all((at >= 0) & (at < x.shape[axis])) else None


def _cast(node: Node, values: Values) -> Any:
    dtype = np.dtype(node.type.dtype)
    return values[0].astype(dtype) if _same_by_numpy(values[0], dtype) else None


def _same_by_numpy(values: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Whether JAX and NumPy agree on a cast: out of the range of whole numbers each does as it likes."""
    if values.dtype.kind == "c":
        return dtype.kind == "c"
    if values.dtype.kind != "f" or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return bool(np.all((values >= limits.min) & (values < limits.max)))


# --- matrices
def _triangle(n: int, lower: bool, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a triangle, in the order in which they are packed."""
    return np.tril_indices(n, -strict) if lower else np.triu_indices(n, strict)


def _packed(node: Node, values: Values) -> Any:
    return values[0][(..., *_triangle(values[0].shape[-1], **node.attrs))]


def _unpacked(node: Node, values: Values) -> Any:
    matrices = np.zeros(node.type.shape, node.type.dtype)
    matrices[(..., *_triangle(**node.attrs))] = values[0]
    return matrices


def _eye(node: Node, _: Values) -> Any:
    rows, columns = node.type.shape
    return np.eye(rows, columns, node.attrs["k"]).astype(node.type.dtype)


def _log_det_definite(a: np.ndarray) -> Any:
    return 2.0 * np.sum(np.log(np.diagonal(_factors(a), axis1=-2, axis2=-1)), axis=-1)


def _normal_log_density(residual: np.ndarray, cov: np.ndarray) -> Any:
    lower = _factors(cov)
    z = _solved(lower, residual.reshape(-1, len(cov)).T)
    return (-0.5 * np.sum(z**2, axis=0) - np.sum(np.log(np.diagonal(lower)))).reshape(residual.shape[:-1])


def _cholesky(node: Node, values: Values) -> Any:
    lower, a = node.attrs.get("lower", True), values[0]
    factor = _factors(a if lower else np.swapaxes(a, -1, -2).conj())
    return factor if lower else np.swapaxes(factor, -1, -2).conj()


_OR_NAN: ContextVar[bool] = ContextVar("_OR_NAN", default=False)


@contextlib.contextmanager
def nan_without_factor() -> Iterator[None]:
    """Within it a matrix without a factor has nan in its place, and so has one that rounding decides about; elsewhere
    NumPy declines, so that XLA decides."""
    token = _OR_NAN.set(True)
    try:
        yield
    finally:
        _OR_NAN.reset(token)


def _factors(a: np.ndarray) -> np.ndarray:
    if not _OR_NAN.get():
        return np.linalg.cholesky(a)
    try:
        found = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        found = np.stack([_factor_or_nan(matrix) for matrix in a.reshape(-1, *a.shape[-2:])]).reshape(a.shape)
    pivots, scales = (np.abs(np.diagonal(x, axis1=-2, axis2=-1)) for x in (found, a))
    least = a.shape[-1] * np.finfo(a.dtype).eps * scales.max(axis=-1, initial=0.0)
    sure = np.min(pivots**2, axis=-1, initial=np.inf) > least
    return np.where(sure[..., None, None], found, np.nan)


def _factor_or_nan(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.tril(np.full_like(matrix, np.nan))


def _solve_triangular(node: Node, values: Values) -> Any:
    a, b = values
    how = node.attrs
    lower = bool(how["lower"]) == (not how["trans"])
    a = np.swapaxes(a, -1, -2) if how["trans"] else a
    a = a.conj() if how["trans"] == 2 else a
    solved = functools.partial(_solved, lower=lower, unit=bool(how["unit_diagonal"]))
    if how["b_ndim"] == 2:
        return solved(a, b)
    if a.ndim == 2:  # one matrix for all vectors
        return solved(a, b.reshape(-1, b.shape[-1]).T).T.reshape(b.shape)
    if a.shape[-3] == 1 and b.ndim == a.ndim - 1:  # one for all vectors of a row
        return np.swapaxes(solved(a[..., 0, :, :], np.swapaxes(b, -1, -2)), -1, -2)
    return solved(a, b[..., None])[..., 0]


def _solved(a: np.ndarray, b: np.ndarray, lower: bool = True, unit: bool = False) -> np.ndarray:
    """Equations with a triangle each, of which the other one is not looked at. Row after row for many small ones: not
    a number, as by XLA, where one is singular."""
    n = a.shape[-1]
    if n > SMALL:
        a = np.tril(a) if lower else np.triu(a)
        return np.linalg.solve(a - a * np.eye(n) + np.eye(n) if unit else a, b)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.empty((*stack, *b.shape[-2:]), np.result_type(a.dtype, b.dtype, np.float32))
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        rest = b[..., i, :] - (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = rest if unit else rest / a[..., i, i, None]
    return x


def _kron_times(x: np.ndarray, *matrices: np.ndarray) -> Any:
    for m in matrices:
        x = np.swapaxes(m @ x.reshape((*x.shape[:-1], m.shape[1], -1)), -1, -2)
        x = x.reshape((*x.shape[:-2], -1))
    return x


_BY_OP: dict[Any, Callable[[Node, Values], Any]] = {
    shaping.TRANSPOSE: lambda node, values: np.transpose(values[0], node.attrs["axes"]),
    shaping.EXPAND_DIMS: lambda node, values: np.expand_dims(values[0], node.attrs["axis"]),
    shaping.RESHAPE: lambda node, values: np.reshape(values[0], filled(node.attrs["shape"], values[1:])),
    shaping.SQUEEZE: lambda node, values: np.squeeze(values[0], node.attrs["axis"]),
    shaping.BROADCAST_TO: lambda node, values: np.broadcast_to(values[0], filled(node.attrs["shape"], values[1:])),
    DIM: lambda node, values: np.asarray(values[0].shape[node.attrs["axis"]], np.int64),
    shaping.CONCATENATE: lambda node, values: np.concatenate(values, axis=node.attrs["axis"]).astype(
        node.type.dtype, copy=False
    ),
    eye: _eye,
    linalg.MATMUL: lambda _, values: np.matmul(*values),
    kron_times: lambda _, values: _kron_times(*values),
    **{op: lambda node, values: node.op.lower(*values) for op in DISTANCES},  # type: ignore[attr-defined]
    diagonal_of: lambda _, values: np.diagonal(values[0], axis1=-2, axis2=-1),
    diagonals.tril: lambda node, values: np.tril(values[0], node.attrs["k"]),
    diagonals.triu: lambda node, values: np.triu(values[0], node.attrs["k"]),
    diagonals.diagonal: lambda node, values: np.diagonal(values[0], **node.attrs),
    decompositions.cholesky: _cholesky,
    log_det_definite: lambda _, values: _log_det_definite(*values),
    normal_log_density: lambda _, values: _normal_log_density(*values),
    decompositions.eigh: lambda node, values: tuple(np.linalg.eigh(values[0], **node.attrs)),
    decompositions._solve_general: lambda _, values: np.linalg.solve(*values),
    decompositions.SOLVE_TRIANGULAR: _solve_triangular,
    pack_triangular: _packed,
    unpack_triangular: _unpacked,
    reductions.softmax: _softmax,
    reductions.log_softmax: _log_softmax,
    reductions.logsumexp: _logsumexp,
    reductions.argmax: _place_of_extreme,
    reductions.argmin: _place_of_extreme,
    reductions.cumsum: lambda node, values: np.cumsum(values[0], axis=node.attrs["axis"]).astype(node.type.dtype),
    reductions.cumprod: lambda node, values: np.cumprod(values[0], axis=node.attrs["axis"]).astype(node.type.dtype),
    segment_sum: _segment_sum,
    key_fold_in: lambda _, values: key_fold_in.by_numpy(*values),
    key_split: lambda node, values: key_split.by_numpy(values[0], node.attrs["n"]),
    of_words: lambda node, values: of_words.lower(values[0], **node.attrs),
    CAST: _cast,
    indexing.take_along_axis: _take_along_axis,
    indexing.index_update: _set,
    indexing.index_add: _added_at,
    chains.log_forward: _log_forward,
    linear_recurrence: _linear_recurrence,
    harmonics.log_harmonics: _log_harmonics,
    sorting.searchsorted: _searchsorted,
    indexing.GETITEM: lambda node, values: np.asarray(
        values[0][indexing.real_index(node.attrs["plan"], values[1:])]
    ),
}  # fmt: skip
_OF_KNOWN_SHAPE = frozenset({eye, unpack_triangular, segment_sum, linear_recurrence})
