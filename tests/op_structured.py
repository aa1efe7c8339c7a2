"""The rows of all operations and functions that are not elementwise."""

from __future__ import annotations

import functools
import operator

import numpy as np
import scipy.linalg as sl
import scipy.ndimage
import scipy.signal
import scipy.special as sp
from op_rows import Row, call, complexes, oracle_of, positive_definite, positives, reals, symmetric, truths, wholes

from ppl.tensor.arrays.grouped import places_of


def row(oracle, *calls, **options):
    return Row(oracle, calls, **options)


def like(name, *calls, **options):
    """A row whose oracle is the function of that name in NumPy or SciPy."""
    return {name: Row(oracle_of(name), calls, **options)}


V, W, M, N, T = reals(4), reals(4), reals(3, 4), reals(4, 2), reals(2, 3, 4)
SQUARE, PD, STACK_PD, SYMMETRIC = (
    reals(3, 3) + 2 * np.eye(3),
    positive_definite(3),
    positive_definite(3, 2),
    symmetric(3),
)
INTS, TRUTHS, EMPTY, ONE, SINGLE = wholes(5), truths(3, 4), reals(0, 3), reals(1), reals(3, 4).astype(np.float32)
GROUPS, PLACES = np.array([0, 2, 0]), np.array([[0, 2], [3, 3], [1, 3]])  # where each of three groups stands
DIAGONAL, BELOW = positive_definite(2, 4) + 3 * np.eye(2), 0.3 * reals(4, 2, 2)  # blocks of a chain
WIDE_DIAGONAL, WIDE_BELOW = positive_definite(5, 3) + 3 * np.eye(5), 0.3 * reals(3, 5, 5)
BELOW[0], WIDE_BELOW[0] = 0, 0
LOWER, WIDE_LOWER = np.linalg.cholesky(DIAGONAL), np.linalg.cholesky(WIDE_DIAGONAL)
HOLES = np.where(np.arange(12).reshape(3, 4) % 5 == 1, np.nan, M)

P, Q = positives(3, 4), positives(3, 4)
P, Q = P / P.sum(1, keepdims=True), Q / Q.sum(1, keepdims=True)


def _squared_distance(x, xs, ls):
    return (((x[:, None] - xs) / ls) ** 2).sum(-1)


def _periodic_distance(x, xs, ls, period):
    return ((np.sin(np.pi * (x[:, None] - xs) / period) / ls) ** 2).sum(-1)


# --- reductions
AXES = (call(M), call(M, axis=0), call(M, axis=-1, keepdims=True), call(T, axis=(0, 2)))
OTHERS = (call(INTS, slopes=False), call(TRUTHS, axis=1, slopes=False), call(SINGLE, slopes=False), call(ONE))
BAD = (call(HOLES, axis=1, slopes=False),)
KEPT = (
    call(M, keepdims=True, slopes=False),
    call(M, axis=-1, keepdims=True, slopes=False),
    call(np.array(2.0), keepdims=True, slopes=False),
)
ONE_AXIS = (call(M, slopes=False), call(M, axis=0, slopes=False), call(M, axis=-1, keepdims=True, slopes=False))


REDUCTIONS = {
    **like("sum", *AXES, *OTHERS, *BAD, call(EMPTY, axis=0, slopes=False), call(complexes(3), slopes=False)),
    **like("prod", *AXES, *OTHERS, *BAD, call(EMPTY, axis=0, slopes=False)),
    **like("mean", *AXES, *OTHERS, *BAD, call(complexes(3), slopes=False)),
    **like("max", *AXES, *OTHERS, *BAD),
    **like("min", *AXES, *OTHERS, *BAD),
    **{name: row(oracle_of(name), *ONE_AXIS, *BAD, call(INTS, slopes=False), call(TRUTHS, axis=1, slopes=False), call(EMPTY, axis=0, slopes=False))
       for name in ("all", "any")},
    "logsumexp": row(sp.logsumexp, *AXES, call(np.array(0.3)), call(np.array(2), slopes=False), call(SINGLE, slopes=False), *BAD, call(np.array([-np.inf, -np.inf]), slopes=False), call(np.array([np.inf, 1.0]), slopes=False)),
    **{name: row(oracle_of(name), *AXES, *BAD, call(INTS, slopes=False)) for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin")},
    "median": row(np.median, *AXES, *BAD),
    "count_nonzero": row(np.count_nonzero, call(INTS, slopes=False), call(TRUTHS, axis=0, slopes=False)),
    **{name: row(oracle_of(name), *ONE_AXIS, *BAD, call(INTS, slopes=False)) for name in ("argmax", "argmin")},
    **{name: row(oracle_of(name), call(M), call(M, axis=0), call(T, axis=-1), call(INTS, slopes=False), call(TRUTHS, slopes=False), call(EMPTY, axis=0, slopes=False))
       for name in ("cumsum", "cumprod")},
    "cummax": row(np.maximum.accumulate, call(M, axis=0), call(V)),
    "cummin": row(np.minimum.accumulate, call(M, axis=0), call(V)),
    "cumlogsumexp": row(np.logaddexp.accumulate, call(M, axis=1), call(V)),
    **like("var", *AXES, call(M, axis=0, ddof=1), call(INTS, slopes=False), *BAD),
    **like("std", *AXES, call(M, axis=0, ddof=1), call(INTS, slopes=False)),
    **like("ptp", call(M), call(M, axis=1)),
    "softmax": row(sp.softmax, call(M), call(M, axis=1), call(INTS, slopes=False), call(SINGLE, axis=0, slopes=False)),
    "log_softmax": row(sp.log_softmax, call(M), call(M, axis=1), call(INTS, slopes=False)),
    **like("average", call(M), call(np.where(M > 1, np.inf, M), axis=1, weights=positives(4), slopes=False), call(M, axis=0), call(M, axis=1, weights=positives(4), slopes=False)),
    **like("nanmedian", call(HOLES, axis=1, slopes=False), call(M), *KEPT),
    **{name: row(oracle_of(name), call(HOLES, axis=1, slopes=False), *KEPT) for name in ("nanargmax", "nanargmin")},
    **{name: row(oracle_of(name), call(HOLES, slopes=False), call(HOLES, axis=0, slopes=False), call(M)) for name in ("nancumsum", "nancumprod")},
    **{name: row(oracle_of(name), call(HOLES, axis=1, slopes=False), call(M, ddof=1), *KEPT) for name in ("nanvar", "nanstd")},
    **{name: row(oracle_of(name), call(M, 0.3 * top), call(M, np.array([0.1, 0.5]) * top, axis=1, slopes=False),
                  call(M, 0.3 * top, keepdims=True, slopes=False), call(np.array(2.0), 0.3 * top, keepdims=True, slopes=False), call(M, np.array([0.1, 0.5]) * top, axis=-1, keepdims=True, slopes=False))
       for name, top in (("quantile", 1), ("percentile", 100))},
    "nanquantile": row(np.nanquantile, call(HOLES, 0.3, axis=1, slopes=False), call(M, 0.3, keepdims=True, slopes=False)),
}  # fmt: skip


# --- shapes
def _dimshuffle(x, *pattern):
    order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], tuple) else pattern
    kept = [p for p in order if p != "x"]
    dropped = tuple(a for a in range(x.ndim) if a not in kept)
    moved = np.squeeze(x, dropped)
    ranks = {a: i for i, a in enumerate(sorted(kept))}
    return np.expand_dims(
        np.transpose(moved, [ranks[a] for a in kept]), tuple(i for i, p in enumerate(order) if p == "x")
    )


def _split(x, splits, n_splits=None, axis=0):
    return np.split(x, np.cumsum(splits)[:-1] if n_splits else splits, axis)


SHAPES = {
    **like("reshape", call(M, (2, 6)), call(M, (-1,)), call(M, (2, -1)), call(EMPTY, (3, 0), slopes=False), loose=True),
    **like("transpose", call(M), call(T, (2, 0, 1)), call(V)),
    **like("expand_dims", call(M, 0), call(M, (0, -1)), call(INTS, 1, slopes=False)),
    **like("squeeze", call(reals(1, 3, 1)), call(reals(1, 3, 1), 0), call(reals(1, 3, 1), (0, 2))),
    **like("broadcast_to", call(V, (3, 4)), call(ONE, (2, 3)), call(INTS, (2, 5), slopes=False)),
    **like("concatenate", call([M, M], slopes=False), call([M, reals(3, 1)], axis=1), call([INTS, V], slopes=False), call([M, T[0]], axis=None)),
    "join": row(lambda axis, *xs: np.concatenate(xs, axis), call(0, M, reals(2, 4)), call(1, M, reals(3, 2))),
    **like("stack", call([V, W]), call([V, W], axis=1), call([V, INTS[:4]], slopes=False)),
    **like("moveaxis", call(T, 0, -1), call(T, (0, 1), (1, 2))),
    **like("swapaxes", call(T, 0, -1)),
    "dimshuffle": row(_dimshuffle, call(M, "x", 1, 0), call(M, (1, "x", 0)), call(reals(3, 1), 0)),
    "flatten2d": row(lambda x: x.reshape((len(x), -1)), call(T), call(M)),
    "flatten3d": row(lambda x: x.reshape((*x.shape[:2], -1)), call(reals(2, 3, 2, 2))),
    "flatten4d": row(lambda x: x.reshape((*x.shape[:3], -1)), call(reals(2, 2, 2, 2, 2))),
    "reshape_weight_to_matrix": row(lambda x, axis=0: np.moveaxis(x, axis, 0).reshape((x.shape[axis], -1)), call(T), call(T, 2)),
    "flatten": row(lambda x, ndim=1: x.reshape((*x.shape[: ndim - 1], -1)), call(T), call(T, ndim=2)),
    **like("ravel", call(M), call(reals())),
    "broadcast_arrays": row(lambda *xs: list(np.broadcast_arrays(*xs)), call(V, M), call(ONE, INTS, slopes=False)),
    "common_shape": row(lambda xs: np.broadcast_shapes(*[x.shape for x in xs]), call([V, M], slopes=False)),
    "broadcast_shape": row(lambda *xs: np.broadcast_shapes(*[x.shape for x in xs]), call(V, M, slopes=False)),
    "broadcast_shapes": row(np.broadcast_shapes, call((3, 1), (4,), slopes=False)),
    "shape": row(np.shape, call(M, slopes=False), call(reals(), slopes=False)),
    "size": row(np.size, call(M, slopes=False), call(M, 1, slopes=False)),
    "dim": row(lambda x, axis: np.int64(x.shape[axis]), call(M, axis=1, slopes=False)),
    "shape_padleft": row(lambda x, n=1: x.reshape((1,) * n + x.shape), call(M), call(M, 2)),
    "shape_padright": row(lambda x, n=1: x.reshape(x.shape + (1,) * n), call(M), call(M, 2)),
    "shape_padaxis": row(np.expand_dims, call(M, 1)),
    "specify_shape": row(lambda x, shape: x, call(M, (3, None))),
    "atleast_1d": row(np.atleast_1d, call(reals()), call(M)),
    "atleast_2d": row(np.atleast_2d, call(V), call(M)),
    "atleast_3d": row(np.atleast_3d, call(V), call(M), call(reals())),
    "atleast_Nd": row(lambda x, n, left=True: x.reshape((1,) * (n - x.ndim) + x.shape if left else x.shape + (1,) * (n - x.ndim)), call(V, n=3), call(V, n=3, left=False)),
    **{name: row(oracle_of(name), call([V, W])) for name in ("vstack", "hstack", "dstack", "column_stack")},
    "horizontal_stack": row(lambda *xs: np.concatenate(xs, 1), call(M, reals(3, 2))),
    "vertical_stack": row(lambda *xs: np.concatenate(xs, 0), call(M, reals(2, 4))),
    "stacklists": row(np.array, call([[ONE[0:1], V[:1]], [W[:1], V[1:2]]])),
    "append": row(np.append, call(V, W), call(M, reals(2, 4), axis=0)),
    **like("flip", call(M), call(M, 0), call(T, (0, 2))),
    **like("flipud", call(M)),
    **like("fliplr", call(M)),
    **like("rot90", call(M), call(M, k=3)),
    **like("roll", call(M, 2), call(M, -1, axis=0), call(INTS, 2, slopes=False)),
    **like("rollaxis", call(T, 2), call(T, 0, 3)),
    "matrix_transpose": row(lambda x: np.swapaxes(x, -1, -2), call(T)),
    **like("tile", call(V, 3), call(M, (2, 1)), call(V, (2, 2))),
    **like("pad", call(M, 1), call(V, (1, 2), mode="edge"), call(V, 2, mode="reflect"), call(V, 1, mode="constant", constant_values=2.5), call(M, ((0, 1), (2, 0)), mode="symmetric"), call(V, 2, mode="wrap")),
    "split": row(_split, call(M, 2, axis=1), call(M, [1, 2]), call(M, [1, 2], n_splits=2), loose=True),
    "array_split": row(np.array_split, call(reals(5), 2), known=True),
    **{name: row(oracle_of(name), call(reals(2, 4, 2), 2), loose=True) for name in ("hsplit", "vsplit", "dsplit")},
    "unstack": row(lambda x, axis=0: list(np.moveaxis(x, axis, 0)), call(M), call(M, axis=1), known=True),
    **like("resize", call(V, (2, 3)), call(V, (2,))),
    "permute_row_elements": row(lambda x, p: np.take_along_axis(x, p, -1), call(M, np.array([[1, 0, 2, 3]] * 3))),
    "inverse_permutation": row(np.argsort, call(np.array([2, 0, 1]), slopes=False)),
    "concat_with_broadcast": row(lambda xs, axis: np.concatenate([xs[0], np.broadcast_to(xs[1], (3, xs[1].shape[1]))], axis), call([M, reals(1, 2)], axis=1)),
}  # fmt: skip


# --- filled arrays and ranges
FILLED = {
    "full": row(np.full, call((2, 3), reals()), call((2,), wholes(), slopes=False)),
    "alloc": row(lambda value, *shape: np.full(shape, value), call(reals(), 2, 3)),
    **{name: row(oracle_of(name), call((2, 3), slopes=False), call((2, 3), "int32", slopes=False)) for name in ("zeros", "ones")},
    "empty": row(np.zeros, call((2, 3), slopes=False)),
    **{name: row(oracle_of(name), call(M, slopes=False), call(INTS, slopes=False), call(M, dtype="bool", slopes=False)) for name in ("zeros_like", "ones_like")},
    "full_like": row(np.full_like, call(M, 2.5, slopes=False), call(INTS, 2, slopes=False)),
    "fill": row(lambda x, value: np.broadcast_to(value, np.broadcast_shapes(x.shape, value.shape)), call(M, V, slopes=False)),
    "arange": row(np.arange, call(5, slopes=False), call(1, 9, 2, slopes=False), call(0.5, 3, slopes=False), constants=True),
    "eye": row(np.eye, call(3, slopes=False), call(3, 4, 1, slopes=False), call(2, dtype="int64", slopes=False)),
    "identity": row(np.identity, call(3, slopes=False)),
    "identity_like": row(lambda x: np.eye(*x.shape, dtype=x.dtype), call(M, slopes=False)),
    "linspace": row(np.linspace, call(reals(), positives() + 3, num=5), call(0.0, 1.0, num=4, endpoint=False, slopes=False), call(V, W, num=3)),
    "logspace": row(np.logspace, call(reals(), positives(), num=5), rtol=1e-11),
    "geomspace": row(np.geomspace, call(positives(), positives(), num=5), rtol=1e-11),
    "meshgrid": row(lambda *xs, **options: list(np.meshgrid(*xs, **options)), call(V, W), call(V, reals(2), indexing="ij")),
    "repeat": row(np.repeat, call(M, 2), call(M, 2, axis=1), call(V, (1, 0, 2, 1)), loose=True),
    "tri": row(np.tri, call(3, slopes=False), call(3, 4, 1, slopes=False)),
    "indices": row(np.indices, call((2, 3), slopes=False)),
    **{name: row(oracle_of(name), call(6, slopes=False)) for name in ("bartlett", "blackman", "hamming", "hanning")},
    "kaiser": row(np.kaiser, call(6, 2.5, slopes=False)),
    "fftfreq": row(np.fft.fftfreq, call(7, 0.5, slopes=False)),
    "rfftfreq": row(np.fft.rfftfreq, call(7, 0.5, slopes=False)),
    "diag_indices": row(np.diag_indices, call(3, slopes=False)),
    **{name: row(oracle_of(name), call(4, 1, slopes=False)) for name in ("tril_indices", "triu_indices")},
    **{name: row(oracle_of(name), call(M, slopes=False), known=True) for name in ("tril_indices_from", "triu_indices_from")},
}  # fmt: skip

# --- products and matrices
MATRICES = {
    **like("matmul", call(M, N), call(V, V.copy()), call(M, V), call(T, N), call(INTS, INTS.copy(), slopes=False), call(complexes(2, 3), complexes(3, 2), slopes=False), call(reals(3, 0), reals(0, 2), slopes=False)),
    **like("dot", call(M, N), call(V, W), call(M, V), call(reals(), M), call(M, reals(2, 4, 3))),
    "dense_dot": row(np.matmul, call(M, N)),
    **like("tensordot", call(M, reals(3, 4)), call(T, N, axes=1), call(T, reals(4, 3), axes=((1, 2), (1, 0)))),
    "batched_matmul": row(np.matmul, call(T, reals(2, 4, 2))),
    "batched_tensordot": row(lambda a, b, axes: np.stack([np.tensordot(x, y, axes) for x, y in zip(a, b, strict=True)]), call(T, reals(2, 4, 2), axes=1)),
    **like("outer", call(V, reals(3)), call(M, W)),
    **like("inner", call(V, W), call(M, reals(2, 4)), call(reals(), V)),
    **like("vdot", call(V, W), call(complexes(3), complexes(3), slopes=False)),
    "vecdot": row(lambda a, b: np.sum(np.conj(a) * b, -1), call(M, V), call(complexes(3), complexes(3), slopes=False)),
    "matvec": row(np.matmul, call(M, V)),
    "vecmat": row(lambda v, a: (v[..., None, :] @ a)[..., 0, :], call(reals(2, 3), reals(3, 4))),
    "einsum": row(np.einsum, call("ij,jk->ik", M, N), call("ijk->k", T), call("ii", SQUARE), call("i,i", V, W)),
    **like("kron", call(M, N), call(V, W)),
    "cholesky_lifted": row(np.linalg.cholesky, call(PD), call(STACK_PD), symmetric=True),
    "squared_distance": row(_squared_distance, call(M, T[0], np.array(0.7)), call(reals(2, 4), T[1], positives(4)),
                            call(M, reals(2, 4), positives(1)), call(reals(2, 20), reals(3, 20), positives(20)),
                            call(wholes(3, 2), reals(2, 2), 2.0)),
    "log_harmonics": row(lambda a, count: np.log(sp.ive(np.arange(count), a)), call(np.array(0.8), count=6),
                         call(np.array(40.0), count=25), call(np.array(1e3), count=9), rtol=1e-10, slope_tol=1e-5),
    "periodic_distance": row(_periodic_distance, call(M, T[0], np.array(0.7), np.array(3.1)),
                             call(reals(2, 4), T[1], positives(4), positives(4)),
                             call(reals(2, 20), reals(3, 20), 0.9, positives(20))),
    "kron_times": row(lambda x, *ms: x @ functools.reduce(np.kron, ms).T, call(reals(6), reals(2, 2), SQUARE),
                      call(reals(2, 24), M, N, reals(5, 3)), call(T, reals(2, 4)),
                      call(wholes(2, 6), wholes(2, 2), wholes(4, 3), slopes=False), call(reals(0), reals(0, 0), reals(2, 0))),
    **like("cross", call(reals(3), reals(3)), call(reals(2, 3), reals(2, 3))),
    "matrix_dot": row(lambda *ms: np.linalg.multi_dot(ms), call(M, N, reals(2, 5))),
    "block_diag": row(sl.block_diag, call(M, N), call(V, SQUARE), loose=True),
    **like("det", call(SQUARE), call(STACK_PD), rtol=1e-10),
    **like("slogdet", call(SQUARE), call(STACK_PD), call(-SQUARE), rtol=1e-10),
    "matrix_rank": row(np.linalg.matrix_rank, call(np.ones((3, 3)), slopes=False), call(SQUARE, slopes=False)),
    "cond_number": row(np.linalg.cond, call(SQUARE), call(SQUARE, p=1), rtol=1e-9, slope_tol=1e-5),
    **like("norm", call(M), call(V, ord=1), call(M, axis=0), call(M, axis=1, keepdims=True, ord=np.inf), call(M, keepdims=True), call(M, ord="fro")),
    **like("trace", call(M), call(T, offset=1, axis1=1, axis2=2), call(wholes(3, 3), slopes=False)),
    **like("inv", call(SQUARE), call(STACK_PD), rtol=1e-9),
    **like("pinv", call(M), rtol=1e-8, slope_tol=1e-5, atol=1e-10),
    "matrix_power": row(np.linalg.matrix_power, call(SQUARE, n=3), call(SQUARE, n=0, slopes=False), rtol=1e-10),
    "tensorinv": row(np.linalg.tensorinv, call(reals(4, 2, 2) + np.eye(4).reshape(4, 2, 2) * 3, ind=1), rtol=1e-9, known=True),
    "expm_frechet": row(sl.expm_frechet, call(SQUARE / 4, reals(3, 3), slopes=False), rtol=1e-9, slow=True),
    "expm": row(sl.expm, call(SQUARE), call(STACK_PD / 9, slopes=False), rtol=1e-9, slope_tol=1e-5, slow=True),
    "sqrtm": row(sl.sqrtm, call(PD, slopes=False), dtype=lambda kind: np.complex128, rtol=1e-9, atol=1e-10),
    "log_det_definite": row(
        lambda a: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a), axis1=-2, axis2=-1)), -1),
        call(PD), call(STACK_PD), call(np.eye(3)), symmetric=True, rtol=1e-10,
    ),
    "cholesky": row(np.linalg.cholesky, call(PD), call(STACK_PD), symmetric=True, rtol=1e-10),
    "eigvalsh": row(np.linalg.eigvalsh, call(SYMMETRIC), call(SQUARE, slopes=False), call(SQUARE, UPLO="U", slopes=False), symmetric=True, rtol=1e-10),
    "svd": row(lambda a, compute_uv: np.linalg.svd(a, compute_uv=compute_uv), call(M, compute_uv=False), rtol=1e-10),
    "lu": row(sl.lu, call(SQUARE), rtol=1e-10),
    "lu_factor": row(sl.lu_factor, call(SQUARE), dtype=lambda kind: kind, rtol=1e-10),
    "solve": row(lambda a, b, **o: np.linalg.solve(a, b), call(SQUARE, reals(3)), call(PD, reals(3, 2)), call(STACK_PD, reals(3, 2)), rtol=1e-9),
    "solve_triangular": row(sl.solve_triangular, call(SQUARE, reals(3)), call(SQUARE, reals(3, 2), lower=True), call(SQUARE, reals(3), trans=1, unit_diagonal=True), rtol=1e-9),
    "cho_solve": row(lambda c, b: sl.cho_solve(c, b), call((np.linalg.cholesky(PD), True), reals(3)), rtol=1e-9),
    "lu_solve": row(lambda lu, b: sl.lu_solve(lu, b), call(sl.lu_factor(SQUARE), reals(3), slopes=False), rtol=1e-9),
    "lstsq": row(lambda a, b: list(np.linalg.lstsq(a, b, rcond=None)), call(reals(5, 3), reals(5), slopes=False), dtype=lambda kind: np.dtype(np.int64) if kind == np.int32 else kind, loose=True, rtol=1e-8),
    "tensorsolve": row(np.linalg.tensorsolve, call(reals(4, 2, 2) + np.eye(4).reshape(4, 2, 2) * 3, reals(4)), rtol=1e-9, known=True),
    "solve_sylvester": row(sl.solve_sylvester, call(PD, positive_definite(2), reals(3, 2)), rtol=1e-9),
    "solve_continuous_lyapunov": row(sl.solve_continuous_lyapunov, call(PD, SYMMETRIC), rtol=1e-9),
    "solve_discrete_lyapunov": row(sl.solve_discrete_lyapunov, call(PD / 9, SYMMETRIC), rtol=1e-9),
    # diagonals and triangles
    **like("diagonal", call(M), call(M, offset=1), call(T, axis1=1, axis2=2)),
    "diagonal_of": row(lambda x: np.diagonal(x, axis1=-2, axis2=-1), call(STACK_PD)),
    **like("diag", call(V), call(M), call(V, k=1), loose=True),
    "alloc_diag": row(np.diag, call(V), loose=True),
    **like("tril", call(M), call(T, k=1)),
    **like("triu", call(M), call(T, k=-1)),
    **like("vander", call(V, 3), call(V)),
}  # fmt: skip


def _filled_diagonal(a, value, wrap=False):
    a = a.copy()
    np.fill_diagonal(a, value, wrap)
    return a


def _packed(x, lower=True, strict=False):
    n = x.shape[-1]
    return x[..., *(np.tril_indices(n, -int(strict)) if lower else np.triu_indices(n, int(strict)))]


def _unpacked(x, n, lower=True, strict=False):
    whole = np.zeros((*x.shape[:-1], n, n), x.dtype)
    whole[..., *(np.tril_indices(n, -int(strict)) if lower else np.triu_indices(n, int(strict)))] = x
    return whole


TRIANGLES = {
    "fill_diagonal": row(_filled_diagonal, call(M, 2.5), call(reals(7, 3), 1.0, wrap=True), known=True),
    "fill_diagonal_offset": row(lambda a, value, k: np.where(np.eye(*a.shape, k), value, a).astype(a.dtype), call(M, 2.5, 1)),
    "pack_triangular": row(_packed, call(SQUARE), call(SQUARE, lower=False, strict=True), loose=True),
    "unpack_triangular": row(_unpacked, call(reals(6), 3), call(reals(2, 3), 3, strict=True)),
    "expand_packed_triangular": row(lambda n, x: _unpacked(x, n), call(3, reals(6))),
    "cholesky_of": row(np.linalg.cholesky, call(PD), symmetric=True, rtol=1e-10),
    "cholesky_of_inverse": row(lambda a: np.linalg.cholesky(np.linalg.inv(a)), call(PD), symmetric=True, rtol=1e-9),
    "solve_lower": row(lambda l, v: sl.solve_triangular(l, v, lower=True), call(SQUARE, reals(3)), rtol=1e-9),
    "times_vectors": row(lambda m, v: np.einsum("...ij,...j->...i", m, v), call(SQUARE, reals(2, 3))),
    "half_log_det": row(lambda c: np.sum(np.log(np.diagonal(c, axis1=-2, axis2=-1)), -1), call(np.linalg.cholesky(STACK_PD), slopes=False)),
}  # fmt: skip

# --- Fourier
FOURIER = {
    **{name: row(oracle_of(name), call(reals(8), slopes=False), call(reals(3, 8), n=6, axis=-1, slopes=False), call(reals(4, 3), axis=0, norm="ortho", slopes=False))
       for name in ("ifft", "rfft")},
    "fft": row(np.fft.fft, call(reals(8), slopes=False), call(reals(3, 8), n=6, axis=-1, slopes=False)),
    **{name: row(oracle_of(name), call(complexes(5), slopes=False), call(complexes(5), n=6, slopes=False), loose=True) for name in ("irfft", "hfft")},
    "ihfft": row(np.fft.ihfft, call(reals(8), slopes=False)),
    **{name: row(oracle_of(name), call(reals(4, 6), slopes=False)) for name in ("fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn")},
    **{name: row(oracle_of(name), call(complexes(4, 6), slopes=False), loose=True) for name in ("irfft2", "irfftn")},
    **{name: row(oracle_of(name), call(reals(5)), call(M, axes=(0,))) for name in ("fftshift", "ifftshift")},
}  # fmt: skip


# --- order and counting
ORDER = {
    **like("sort_complex", call(complexes(5), slopes=False)),
    **like("sort", call(M), call(M, axis=0), call(INTS, slopes=False), call(HOLES, slopes=False)),
    **like("argsort", call(M, slopes=False), call(M, axis=0, slopes=False)),
    "lexsort": row(lambda *keys: np.lexsort(keys), call(np.array([1, 0, 1, 0]), np.array([2, 2, 1, 1]), slopes=False)),
    "partition": row(lambda x, kth: np.sort(x), call(np.array([3.0, 1.0, 2.0]), kth=1, slopes=False)),
    "argpartition": row(lambda x, kth: np.argsort(x), call(np.array([3.0, 1.0, 2.0]), kth=1, slopes=False)),
    "searchsorted": row(np.searchsorted, call(np.sort(V), W, slopes=False), call(np.array([1, 2, 2, 3]), np.array([2, 5]), side="right", slopes=False)),
    "digitize": row(np.digitize, call(W, np.sort(V), slopes=False)),
    "max_and_argmax": row(lambda x, axis: (x.max(axis), x.argmax(axis)), call(M, axis=1)),
    "topk": row(lambda x, k: np.sort(x)[..., ::-1][..., :k] if k > 0 else np.sort(x)[..., :-k], call(M, 2), call(M, -2)),
    "argtopk": row(lambda x, k: np.argsort(x)[..., ::-1][..., :k], call(M, 2, slopes=False)),
    "unique": row(np.unique, call(INTS, slopes=False), call(INTS, return_counts=True, slopes=False), constants=True),
    "nonzero": row(np.nonzero, call(TRUTHS, slopes=False), constants=True),
    "where": row(np.where, call(TRUTHS, M, V, slopes=False), call(TRUTHS, slopes=False), constants=True),
    "flatnonzero": row(np.flatnonzero, call(TRUTHS, slopes=False), constants=True),
    "nonzero_values": row(lambda x: x[np.nonzero(x)], call(INTS, slopes=False), constants=True),
    "argwhere": row(np.argwhere, call(TRUTHS, slopes=False), constants=True),
    "compress": row(np.compress, call([True, False, True], M, slopes=False), call([True, False, True], M, axis=0, slopes=False)),
    "bincount": row(lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength), call(np.array([1, 3, 1]), minlength=5, slopes=False), call(np.array([1, 3, 1]), positives(3), 5)),
    "histogram": row(np.histogram, call(V, np.array([-1.0, 0.0, 2.0]), slopes=False), call(V, 4, range=(-2.0, 2.0), slopes=False), known=True),
    "add_n": row(lambda xs: functools.reduce(operator.add, xs), call([V, W, reals(4)]), call([M, V]), call([INTS], slopes=False)),
    "complex": row(lambda re, im: np.asarray(re) + 1j * np.asarray(im), call(V, W, slopes=False), call(M, V, slopes=False)),
    "smallest": row(lambda *xs: np.minimum.reduce(xs), call(V, W)),
    "largest": row(lambda *xs: np.maximum.reduce(xs), call(V, W)),
    "take_rows": row(lambda x, g, places: x[g], call(M, GROUPS, PLACES)),
    "add_up_rows": row(lambda x, g, places: np.array([x[g == i].sum(0) for i in range(3)]), call(M, GROUPS, PLACES)),
    "segment_sum": row(lambda x, g, n: np.array([x[g == i].sum(0) for i in range(n)]), call(M, np.array([0, 2, 0]), 4)),
}  # fmt: skip


# --- indexing
def _updated(how):
    def update(x, y, index):
        x = np.array(x)
        how(x, index, y)
        return x

    return update


def _indexed_take(x, i, axis=None):
    return np.take(x, i, axis)


def _block(x, starts, sizes):
    return x[_place(x, starts, sizes)]


def _place(x, starts, sizes):
    kept = [int(np.clip(i, 0, n - size)) for i, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(i, i + size) for i, size in zip(kept, sizes, strict=True))


def _block_replaced(x, y, starts):
    result = np.array(x)
    result[_place(x, starts, y.shape)] = y
    return result


INDEX = (slice(1, None), np.array([0, 2, 0]))
INDEXING = {
    "getitem": row(lambda x, i: x[i], call(T, (slice(None, None, -1), 1)), call(T, (Ellipsis, None, slice(0, 3, 2))), call(T, INDEX), call(M, np.array([[0, 2], [1, 1]])), call(M, (np.array([0, 2]), slice(None))), call(EMPTY, (slice(None), 1), slopes=False), loose=True),
    "index_update": row(_updated(lambda x, i, y: x.__setitem__(i, y)), call(M, reals(2), (slice(1, None), 0)), call(M, 2.5, 1), call(wholes(4), 7, slice(1, 3), slopes=False)),
    "index_add": row(_updated(lambda x, i, y: np.add.at(x, i, y)), call(M, reals(2, 3), INDEX), call(V, 1.5, np.array([1, 1, 3]))),
    "index_multiply": row(_updated(lambda x, i, y: np.multiply.at(x, i, y)), call(M, 3.0, (1, 2)), call(V, 1.5, slice(1, 3))),
    "index_min": row(_updated(lambda x, i, y: np.minimum.at(x, i, y)), call(V, 0.01, np.array([1, 1, 3]))),
    "index_max": row(_updated(lambda x, i, y: np.maximum.at(x, i, y)), call(V, 0.01, np.array([1, 1, 3]))),
    "take": row(_indexed_take, call(M, np.array([3, 0])), call(M, np.array([[2, 0]]), axis=0), call(V, 2)),
    "take_along_axis": row(np.take_along_axis, call(M, np.array([[0], [2], [1]]), 1)),
    "index_take": row(lambda x, idx, axes: np.moveaxis(x, axes, range(len(axes)))[tuple(idx)], call(M, (np.array([0, 2]), np.array([3, 1])), (0, 1)), call(T, (np.array([2, 0]),), (1,))),
    "index_in_dim": row(lambda x, i, axis=0, keepdims=True: np.take(x, [i] if keepdims else i, axis), call(M, 2), call(M, 1, axis=1, keepdims=False), call(T, -1, axis=-1)),
    "dynamic_slice": row(_block, call(M, (1, 0), (2, 3)), call(M, [2, 3], [2, 2]), call(V, np.array([1]), (2,)), call(INTS, (9,), (2,), slopes=False)),
    "dynamic_slice_in_dim": row(lambda x, i, n, axis=0: np.take(x, np.arange(n) + min(i, x.shape[axis] - n), axis), call(M, 1, 2), call(M, 3, 2, axis=1), known=True),
    "dynamic_update_slice": row(_block_replaced, call(M, reals(2, 2), (1, 3)), call(V, reals(2), np.array([1])), call(INTS, 5 + wholes(2), (1,), slopes=False)),
    "dynamic_update_slice_in_dim": row(lambda x, y, i, axis: _block_replaced(x, y, [i if a == axis else 0 for a in range(x.ndim)]), call(M, reals(2, 4), 1, 0), call(M, reals(3, 1), 9, 1)),
    "choose": row(np.choose, call(np.array([0, 1, 0, 1]), [V, W]), call(np.array([0, 5, 0, 1]), [V, W], mode="clip")),
    **like("diff", call(M), call(M, n=2), call(M, axis=0), loose=True),
}  # fmt: skip


# --- what rules and the compiler write
def chain_matrix(diagonal, below):
    """The block tridiagonal matrix; of the blocks on its diagonal only the lower triangle counts."""
    count, k = diagonal.shape[:2]
    whole = np.zeros((count, k, count, k))
    for t in range(count):
        whole[t, :, t] = diagonal[t]
        if t:
            whole[t, :, t - 1] = below[t]
    return whole.reshape(count * k, count * k)


def _chain_factor(diagonal, below):
    lower = np.linalg.cholesky(chain_matrix(diagonal, below)).reshape(*diagonal.shape[:2], *diagonal.shape[:2])
    steps = range(len(diagonal))
    return np.stack([lower[t, :, t] for t in steps]), np.stack([lower[t, :, t - 1] if t else below[0] for t in steps])


def _chain_substitution(lower, links, h, reverse=False):
    """By the whole factor."""
    k = lower.shape[-1]
    whole = np.zeros((len(lower), k, len(lower), k))
    for t in range(len(lower)):
        whole[t, :, t] = np.tril(lower[t])
        if t:
            whole[t, :, t - 1] = links[t]
    matrix = whole.reshape(len(lower) * k, -1)
    return np.linalg.solve(matrix.T if reverse else matrix, h.reshape(len(lower) * k, -1)).reshape(h.shape)


def _chain_solution(diagonal, below, right):
    """By the whole matrix."""
    whole = chain_matrix(diagonal, below)
    whole = np.tril(whole) + np.tril(whole, -1).T
    return np.linalg.solve(whole, right.reshape(len(whole), -1)).reshape(right.shape), np.linalg.slogdet(whole)[1]


def _chain_path(diagonal, below, right, noise):
    """By the whole matrix."""
    whole = chain_matrix(diagonal, below)
    lower = np.linalg.cholesky(whole)
    flat = np.linalg.solve(lower, right.reshape(len(whole), -1)) + noise.reshape(len(whole), -1)
    return np.linalg.solve(lower.T, flat).reshape(right.shape)


def semiseparable_matrix(a, *entries, left, steps):
    """The whole matrix, an entry below the diagonal by the product along the way to it."""
    n, order = len(a), len(entries) - len(left) - len(steps)
    v, u, phi = np.zeros((n, order)), np.zeros((n, order)), np.zeros((n, order, order))
    for i in range(order):
        v[:, i] = entries[i]
    for i, x in zip(left, entries[order:], strict=False):
        u[:, i] = x
    for (i, j), x in zip(steps, entries[order + len(left) :], strict=True):
        phi[:, i, j] = x
    found = np.diag(np.asarray(a, float))
    for j in range(n):
        state = v[j]
        for i in range(j + 1, n):
            state = phi[i] @ state
            found[i, j] = found[j, i] = u[i] @ state
    return found


def _semiseparable_log_density(y, a, *entries, **places):
    matrix = semiseparable_matrix(a, *entries, **places)
    return -0.5 * (y @ np.linalg.solve(matrix, y) + np.linalg.slogdet(matrix)[1])


def _semiseparable_factor(a, *entries, left, steps, semidefinite=False):
    """d by the factor of the whole matrix, w by its recurrence with whole S and Φ."""
    order = len(entries) - len(left) - len(steps)
    d = np.diag(np.linalg.cholesky(semiseparable_matrix(a, *entries, left=left, steps=steps))) ** 2
    at = lambda x, i: x[i] if np.ndim(x) else x
    s, rows = np.zeros((order, order)), []
    for i in range(len(d)):
        u, phi = np.zeros(order), np.zeros((order, order))
        for k, x in zip(left, entries[order:], strict=False):
            u[k] = at(x, i)
        for (k, j), x in zip(steps, entries[order + len(left) :], strict=True):
            phi[k, j] = at(x, i)
        s = phi @ s @ phi.T
        rows.append((np.array([at(v, i) for v in entries[:order]]) - s @ u) / d[i])
        s = s + d[i] * np.outer(rows[-1], rows[-1])
    return d, np.array(rows)


def _semiseparable_by_factor(w, x, *entries, left, steps, inverse=False, transposed=False):
    """L from a matrix with w in the place of v."""
    order = len(entries) - len(left) - len(steps)
    lower = np.tril(semiseparable_matrix(np.ones(len(x)), *w.T, *entries[order:], left=left, steps=steps))
    lower = lower.T if transposed else lower
    return np.linalg.solve(lower, x) if inverse else lower @ x


def _semiseparable_conditional(y, a, noise, own, numbers, *entries, part=(), left, steps):
    """The mean; and the draw by the covariance's factor from below, which the way back works out row by row."""
    order = len(entries) - len(left) - len(steps)
    whole, seen = semiseparable_matrix(a, *entries, left=left, steps=steps), np.isfinite(noise)
    mine = [x * (i in part or not part) for i, x in enumerate(entries[:order])]
    mine += [x * (i in part or not part) for i, x in zip(left, entries[order:], strict=False)]
    k = semiseparable_matrix(own, *mine, *entries[order + len(left) :], left=left, steps=steps)
    gain = np.linalg.solve(whole[np.ix_(seen, seen)] + np.diag(noise[seen]), k[seen]).T
    upper = np.linalg.cholesky((k - gain @ k[seen])[::-1, ::-1])[::-1, ::-1]
    return gain @ y[seen] - upper @ numbers


TIMES = np.cumsum(0.2 + positives(5))
GAPS = np.diff(TIMES, prepend=TIMES[0])
WAVE = {"left": (0,), "steps": ((0, 0), (0, 1), (1, 1))}  # a Matérn covariance with ν = 3/2
PLACED = (1.3, 1.3, np.array(1.0), np.exp(-GAPS), np.exp(-GAPS) * GAPS, np.exp(-GAPS))
OWN = 1.3 + positives(5)
ROUGH = {"left": (0,), "steps": ((0, 0),)}
ALONE = (0.8, np.array(0.9), np.exp(-0.4 * GAPS))

BOTH = {"left": (0, 2), "steps": (*WAVE["steps"], (2, 2))}
SEVERAL = (*PLACED[:2], ALONE[0], PLACED[2], ALONE[1], *PLACED[3:], ALONE[2])


def _log_forward(first, steps):
    path = [first]
    for table in steps:
        path.append(sp.logsumexp(path[-1][:, None] + table, axis=0))
    return np.array(path)


GROUPS = np.array([0, 2, 0])
INTERNAL = {
    "normal_log_density": row(
        lambda r, cov: -0.5 * ((r @ np.linalg.inv(cov)) * r).sum(-1) - 0.5 * np.linalg.slogdet(cov)[1],
        call(reals(3), PD), call(reals(2, 3), PD), call(reals(12), positive_definite(12)), call(reals(2, 12), positive_definite(12)),
    ),
    "semiseparable_log_density": row(
        _semiseparable_log_density, call(reals(5), OWN, *PLACED, **WAVE), call(reals(5), OWN, *ALONE, **ROUGH),
    ),
    "semiseparable_factor": row(
        _semiseparable_factor, call(OWN, *PLACED, **WAVE), call(OWN, *ALONE, **ROUGH, semidefinite=True),
    ),
    "semiseparable_by_factor": row(
        _semiseparable_by_factor,
        *[call(reals(5, 2), reals(5), *PLACED, **WAVE, inverse=i, transposed=t) for i in (False, True) for t in (False, True)],
    ),
    "semiseparable_times": row(
        lambda a, x, *given, **places: semiseparable_matrix(a, *given, **places) @ x, call(OWN, reals(5), *PLACED, **WAVE),
    ),
    "semiseparable_conditional": row(
        _semiseparable_conditional,
        call(reals(5), OWN, positives(5), OWN, reals(5), *PLACED, **WAVE, slopes=False),
        call(reals(5), 1 + OWN, np.array([np.inf, 0.3, np.inf, 1e-3, np.inf]), OWN, reals(5), *SEVERAL, **BOTH, part=(0, 1), slopes=False),
        call(reals(5), 1 + OWN, positives(5), OWN - 0.4, reals(5), *SEVERAL, **BOTH, part=(2,)),
    ),
    "chain_factor": row(_chain_factor, call(DIAGONAL, BELOW), call(DIAGONAL[:1], BELOW[:1]), call(WIDE_DIAGONAL, WIDE_BELOW, slopes=False)),
    "chain_substitution": row(
        _chain_substitution, call(LOWER, BELOW, reals(*BELOW.shape[:2])), call(LOWER, BELOW, reals(*BELOW.shape[:2], 3), reverse=True),
        call(WIDE_LOWER, WIDE_BELOW, reals(*WIDE_BELOW.shape[:2]), slopes=False), call(LOWER[:1], BELOW[:1], reals(1, BELOW.shape[1]), reverse=True),
    ),
    "chain_solution": row(
        _chain_solution, call(DIAGONAL, BELOW, reals(*BELOW.shape[:2], 3), slopes=False), call(DIAGONAL[:1], BELOW[:1], reals(1, BELOW.shape[1], 1), slopes=False),
        call(WIDE_DIAGONAL, WIDE_BELOW, reals(*WIDE_BELOW.shape[:2], 1), slopes=False),
    ),
    "chain_path": row(
        _chain_path, call(DIAGONAL, BELOW, reals(*BELOW.shape[:2], 3), reals(*BELOW.shape[:2], 3), slopes=False),
        call(DIAGONAL[:1], BELOW[:1], reals(1, BELOW.shape[1], 1), reals(1, BELOW.shape[1], 1), slopes=False),
        call(WIDE_DIAGONAL, WIDE_BELOW, reals(*WIDE_BELOW.shape[:2], 1), reals(*WIDE_BELOW.shape[:2], 1), slopes=False),
    ),
    "log_forward": row(_log_forward, call(reals(3), reals(4, 3, 3)), call(reals(2), np.array([[[np.nan, 0.5], [0.1, 0.2]]]), slopes=False)),
    "take_rows": row(lambda x, groups, places: x[groups], call(M, GROUPS, places_of(GROUPS, 3))),
    "add_up_rows": row(lambda y, groups, places: np.array([y[groups == i].sum(0) for i in range(3)]), call(M, GROUPS, places_of(GROUPS, 3))),
}  # fmt: skip


# --- NumPy's helpers
NUMERICS = {
    "switch": row(np.where, call(TRUTHS, M, V), call(TRUTHS, INTS[:4], 2.5, slopes=False), call(TRUTHS, 1, 2, slopes=False)),
    "clip": row(np.clip, call(M, -0.5, 0.5), call(M, -0.5, None), call(INTS, -1, 2, slopes=False), call(HOLES, -1.0, 1.0, slopes=False)),
    "cast": row(lambda x, dtype: x.astype(dtype), call(M, "int64", slopes=False), call(INTS, "float32", slopes=False), call(M, "bool", slopes=False)),
    "round": row(np.round, call(M, slopes=False), call(M, 2, slopes=False), call(INTS, slopes=False)),
    "isclose": row(np.isclose, call(M, M + 1e-9, slopes=False), call(HOLES, HOLES, equal_nan=True, slopes=False), call(np.array([np.inf, 1.0]), np.array([np.inf, np.inf]), slopes=False)),
    "allclose": row(np.allclose, call(M, M + 1e-9, slopes=False), call(M, M + 1, slopes=False)),
    "array_equal": row(np.array_equal, call(M, M.copy(), slopes=False), call(M, V, slopes=False)),
    "select": row(np.select, call([TRUTHS, ~TRUTHS], [M, -M]), call([TRUTHS], [M], 9.0)),
    "piecewise": row(lambda x, conditions, functions: np.piecewise(x, conditions, functions), call(V, [V < 0, V >= 0], [-1.0, 1.0], slopes=False)),
    "nan_to_num": row(np.nan_to_num, call(HOLES, slopes=False), call(np.array([np.inf, -np.inf, 1.0]), posinf=9.0, slopes=False)),
    **{name: row(oracle_of(name), call(np.array([np.inf, -np.inf, 1.0, np.nan]), slopes=False)) for name in ("isposinf", "isneginf")},
    "isin": row(np.isin, call(INTS, [1, 2, 3], slopes=False)),
    "iround": row(lambda x: np.rint(x).astype("int64"), call(M, slopes=False)),
    "round_half_to_even": row(np.rint, call(np.array([0.5, 1.5, -0.5]), slopes=False)),
    "round_half_away_from_zero": row(
        lambda x: np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.copysign(1.0, x), 0.0),
        call(np.array([0.5, 1.5, -0.5, 2.4, 0.49999999999999994]), slopes=False),
    ),
    "ceil_intdiv": row(lambda a, b: -(-a // b), call(INTS, 3, slopes=False)),
    "divmod": row(np.divmod, call(INTS, 3, slopes=False), call(M, 0.7, slopes=False)),
    "modf": row(np.modf, call(np.array([1.5, -2.25, np.inf, -np.inf, 0.0]), slopes=False)),
    "ldexp": row(np.ldexp, call(V, wholes(4))),
    "iceil": row(lambda x: np.ceil(x).astype("int64"), call(M, slopes=False)),
    "interp": row(np.interp, call(np.array([0.3, 1.4, 9.0, -2.0]), np.arange(4.0), V, slopes=False), call(np.array([0.3, 1.4]), np.arange(4.0), V)),
    "polyval": row(np.polyval, call(reals(3), V), call(np.array([1, 2]), INTS, slopes=False)),
    "trapezoid": row(np.trapezoid, call(M), call(M, dx=0.5, axis=0), call(V, np.cumsum(positives(4)))),
    "gradient": row(lambda f, *h, **o: np.gradient(f, *h, **o), call(reals(5)), call(M, 0.5, axis=1), call(M)),
    **{name: row(oracle_of(name), call(reals(5), reals(3), mode=mode), loose=True) for name, mode in (("convolve", "full"), ("correlate", "same"))},
    **{name: row(getattr(scipy.signal, theirs), call(reals(4, 5), reals(2, 3)), call(reals(4, 5), reals(3, 2), mode="same", slopes=False), call(reals(4, 5), reals(3, 2), mode="valid", slopes=False), atol=1e-12, loose=True)
       for name, theirs in (("convolve_arrays", "convolve"), ("correlate_arrays", "correlate"), ("fftconvolve", "fftconvolve"), ("convolve2d", "convolve2d"), ("correlate2d", "correlate2d"))},
    "detrend": row(scipy.signal.detrend, call(reals(3, 6)), call(reals(6, 2), axis=0, type="constant", slopes=False), call(reals(6), bp=[3], slopes=False), rtol=1e-10),
    "welch": row(scipy.signal.welch, call(reals(20), nperseg=8, slopes=False), call(reals(2, 20), fs=10.0, nperseg=6, noverlap=2, scaling="spectrum", slopes=False), rtol=1e-9, loose=True),
    "csd": row(scipy.signal.csd, call(reals(20), reals(20), nperseg=8, slopes=False), rtol=1e-9, loose=True),
    "stft": row(scipy.signal.stft, call(reals(20), nperseg=8, slopes=False), rtol=1e-9, atol=1e-12, loose=True),
    "istft": row(scipy.signal.istft, call(scipy.signal.stft(reals(32), nperseg=8)[2], nperseg=8, slopes=False), rtol=1e-9, atol=1e-12, loose=True),
    "map_coordinates": row(lambda x, at, order=1, mode="constant": scipy.ndimage.map_coordinates(x, at, order=order, mode=mode), call(M, np.array([[0.2, 1.6], [2.3, 0.7]])), call(M, np.array([[0.2, 1.6, 5.0], [2.3, -0.7, 1.0]]), order=0, mode="nearest", slopes=False), known=True),
    "cov": row(np.cov, call(M), call(V, W), call(M, rowvar=False), call(M, ddof=0), call(M, fweights=np.array([1, 2, 1, 3])), call(M, aweights=positives(4), slopes=False), loose=True, rtol=1e-10, known=True),
    "corrcoef": row(np.corrcoef, call(M), call(V, W), rtol=1e-10, known=True),
    "unravel_index": row(np.unravel_index, call(np.array([5, 11]), (3, 4), slopes=False), call(np.array([5, 11]), (3, 4), order="F", slopes=False)),
    "ravel_multi_index": row(np.ravel_multi_index, call([np.array([1, 2]), np.array([3, 0])], (3, 4), slopes=False), call([np.array([1, 2]), np.array([3, 0])], (3, 4), order="F", slopes=False)),
    # special functions that are not operations
    "xlogx": row(lambda x: sp.xlogy(x, x), call(positives(4))),
    "deviance": row(lambda x, m, log_m: sp.xlogy(x, x) - x * log_m + m - x, call(P, Q, np.log(Q)), call(P, P + 1e-3, np.log(P + 1e-3)), call(0 * P, Q, np.log(Q), slopes=False)),
    "logdiffexp": row(lambda a, b: a + np.log1p(-np.exp(b - a)), call(positives(4) + 3, reals(4) / 9)),
    "factorial": row(sp.factorial, call(np.array([1.0, 3.0, 5.5])), call(np.array([0, 4]), slopes=False), rtol=1e-11),
    "poch": row(sp.poch, call(positives(4), positives(4)), call(np.array([-2.0, 0, 3]), np.zeros(3), slopes=False), rtol=1e-11),
    "comb": row(sp.comb, call(np.array([5.0, 9.0]), np.array([2.0, 4.0])), call(np.array([5, 2]), np.array([2, 4]), slopes=False), rtol=1e-11),
    "multigammaln": row(lambda a, p: sp.multigammaln(a, p), call(positives(4) + 2, 3), rtol=1e-11),
    "chi2sf": row(lambda x, k: sp.chdtrc(k, x), call(positives(4), positives(4)), slow=True, rtol=1e-11),
    "gammau": row(lambda a, x: sp.gammaincc(a, x) * sp.gamma(a), call(positives(4), positives(4)), slow=True, rtol=1e-11),
    "gammal": row(lambda a, x: sp.gammainc(a, x) * sp.gamma(a), call(positives(4), positives(4)), slow=True, rtol=1e-11),
    "complex_from_polar": row(lambda r, a: r * np.exp(1j * a), call(positives(3), reals(3), slopes=False)),
    "polygamma": row(lambda n, x: sp.polygamma(n, x), call(2, positives(4)), call(0, positives(4), slopes=False), rtol=1e-11),
    "expn": row(lambda x, n: sp.expn(n, x), call(positives(4), n=2), call(np.array([0.0, np.inf, 1.0]), n=3, slopes=False), rtol=1e-11),
    "fresnel": row(sp.fresnel, call(reals(4)), rtol=1e-10, atol=1e-12),
}  # fmt: skip


# --- networks
def _one_hot(i, n):
    return np.eye(n)[i]


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


NETWORKS = {
    "relu": row(lambda x, alpha=0: np.where(x > 0, x, alpha * x if alpha else np.where(np.isnan(x), x, 0).astype(x.dtype)), call(M), call(M, 0.1)),
    "leaky_relu": row(lambda x: np.where(x > 0, x, 0.01 * x), call(M)),
    "elu": row(_elu, call(M), call(M, 0.5)),
    "celu": row(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)), call(M, 0.5)),
    "silu": row(lambda x: x * sp.expit(x), call(M)),
    "soft_sign": row(lambda x: x / (1 + np.abs(x)), call(M)),
    "hard_tanh": row(lambda x: np.clip(x, -1, 1), call(M)),
    "hard_sigmoid": row(lambda x: np.clip(0.2 * x + 0.5, 0, 1), call(M)),
    "hard_silu": row(lambda x: x * np.clip(x + 3, 0, 6) / 6, call(M)),
    "glu": row(lambda x, axis=-1: np.split(x, 2, axis)[0] * sp.expit(np.split(x, 2, axis)[1]), call(M), loose=True),
    "binary_crossentropy": row(lambda o, t: -(t * np.log(o) + (1 - t) * np.log(1 - o)), call(P, Q)),
    "sigmoid_binary_crossentropy": row(lambda o, t: t * np.logaddexp(0, -o) + (1 - t) * np.logaddexp(0, o), call(M, Q)),
    "categorical_crossentropy": row(lambda q, p: -np.sum(p * np.log(q), -1) if p.ndim == 2 else -np.log(q[np.arange(len(q)), p]), call(Q, P), call(Q, np.array([0, 3, 1]))),
    "one_hot": row(_one_hot, call(np.array([0, 2]), 4, slopes=False)),
    "to_one_hot": row(_one_hot, call(np.array([0, 2]), 4, slopes=False)),
}  # fmt: skip

# --- what changes nothing but the derivative, or checks
IDENTITIES = {
    "named": row(lambda x, name: x, call(M, "m")),
    "unproved": row(lambda x: x, call(M)),
    "plain": row(lambda x: x, call(M)),
}


# --- polynomials, matrices of a special form, and the array API's further names
def _divided(a, b):
    """NumPy drops zeros in front of a remainder, and what rounding left of them not; ours has a length by its operands."""
    quotient, rest = np.polydiv(a, b)
    missing = min(len(a), max(len(b) - 1, 1)) - len(rest)
    return quotient, np.pad(rest[max(-missing, 0) :], (max(missing, 0), 0))


POLYNOMIALS = {
    "poly": row(np.poly, call(reals(3)), loose=True),
    "polyadd": row(np.polyadd, call(reals(3), reals(2))),
    "polysub": row(np.polysub, call(reals(3), reals(2))),
    "polymul": row(np.polymul, call(reals(3), reals(2)), loose=True),
    "polydiv": row(_divided, call(reals(4), positives(2)), call(np.array([2.0, 3, 5]), np.array([1.0, 1.5, 4])), known=True),
    "polyder": row(np.polyder, call(reals(4)), call(reals(4), m=2)),
    "polyint": row(np.polyint, call(reals(4)), loose=True),
    "polyfit": row(np.polyfit, call(np.arange(1.0, 6.0), reals(5), deg=2), rtol=1e-8, slope_tol=1e-5),
    "roots": row(lambda p: np.roots(p), call(np.array([1.0, -3.0, 2.0]), slopes=False), rtol=1e-9, dtype=lambda kind: np.complex128),
}  # fmt: skip
SPECIAL_MATRICES = {
    "circulant": row(sl.circulant, call(V)),
    "companion": row(sl.companion, call(positives(4))),
    "fiedler": row(sl.fiedler, call(V)),
    "leslie": row(sl.leslie, call(V, reals(3)), known=True),
    "convolution_matrix": row(sl.convolution_matrix, call(V, n=3)),
    "toeplitz": row(sl.toeplitz, call(V, reals(3)), call(V), call(V, np.array([0.0, np.inf, 1.0]), slopes=False)),
    "hankel": row(sl.hankel, call(V, reals(3)), call(V), call(V, np.array([0.0, np.inf, 1.0]), slopes=False)),
    **{name: row(oracle_of(name), call(4, slopes=False)) for name in ("dft", "hadamard", "helmert", "hilbert", "invhilbert", "pascal", "invpascal")},
}  # fmt: skip
FURTHER = {
    "svdvals": row(np.linalg.svdvals, call(M), rtol=1e-10),
    "vector_norm": row(np.linalg.vector_norm, call(V), call(M, keepdims=True), call(M, axis=1, ord=1), call(M, axis=0, keepdims=True)),
    "matrix_norm": row(np.linalg.matrix_norm, call(M), call(M, keepdims=True), call(M, ord=1)),
    "polar": row(sl.polar, call(SQUARE, slopes=False), rtol=1e-9, atol=1e-9),
    "hessenberg": row(sl.hessenberg, call(SQUARE, slopes=False), rtol=1e-9, atol=1e-10),
    "cho_factor": row(lambda a: (np.linalg.cholesky(a).T, False), call(PD), symmetric=True, rtol=1e-10),
    "ndim": row(np.ndim, call(M, slopes=False)),
    "iscomplexobj": row(np.iscomplexobj, call(M, slopes=False), call(complexes(2), slopes=False)),
    "isrealobj": row(np.isrealobj, call(M, slopes=False)),
    "iscomplex": row(np.iscomplex, call(M, slopes=False), call(np.array([1 + 0j, 2j]), slopes=False)),
    "isreal": row(np.isreal, call(M, slopes=False), call(np.array([1 + 0j, 2j]), slopes=False)),
    "array_equiv": row(np.array_equiv, call(M, M.copy(), slopes=False), call(M, V, slopes=False)),
    "nanpercentile": row(np.nanpercentile, call(HOLES, 30.0, axis=1, slopes=False)),
    "ediff1d": row(np.ediff1d, call(M), call(V, to_end=9.0, to_begin=-1.0), loose=True),
    "unwrap": row(np.unwrap, call(np.cumsum(positives(6)) * 3), rtol=1e-11),
    "bitwise_count": row(np.bitwise_count, call(np.array([0, 5, -7]), slopes=False)),
    "frexp": row(np.frexp, call(reals(4), slopes=False)),
    "block": row(np.block, call([[M, reals(3, 1)], [reals(1, 4), reals(1, 1)]]), call([V, W])),
    "delete": row(np.delete, call(V, 1), call(M, [0, 2], axis=0), known=True),
    "insert": row(np.insert, call(V, 1, 9.0), call(V, [1, 3], reals(2)), call(M, 1, reals(3), axis=1), known=True),
    "empty_like": row(np.zeros_like, call(M, slopes=False)),
    "diag_indices_from": row(np.diag_indices_from, call(SQUARE, slopes=False), known=True),
    "cumulative_sum": row(np.cumsum, call(V), call(M, axis=1)),
    "cumulative_prod": row(np.cumprod, call(V), call(M, axis=1)),
    "sici": row(sp.sici, call(positives(4)), rtol=1e-10),
    "wofz": row(sp.wofz, call(complexes(4), slopes=False), rtol=1e-10),
}  # fmt: skip

STRUCTURED = {
    **REDUCTIONS, **SHAPES, **FILLED, **MATRICES, **TRIANGLES, **FOURIER, **ORDER, **INDEXING, **NUMERICS, **NETWORKS, **IDENTITIES, **POLYNOMIALS, **SPECIAL_MATRICES, **FURTHER, **INTERNAL,
}  # fmt: skip
