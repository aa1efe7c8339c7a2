"""Inputs of operations as hypothesis draws them: shapes that broadcast, lengths down to 0, dtypes, special values.

An elementwise row says from which intervals numbers come; every other row gives calls, which are varied: shorter along
every axis of a length (so that what fits together still does, and a submatrix of a positive definite matrix is one),
of other dtypes, with zeros, infinities and nan among the entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from op_rows import Call, Row, mapped

KINDS = {
    "f": (np.float64, np.float32),
    "F": (np.float64, np.float32),
    "i": (np.int64, np.int32),
    "b": (np.bool_,),
    "c": (np.complex128,),
}
ODD = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan)


# What of a call is varied: lengths (l); kinds of numbers, each array's own (k), or one of floats for all (f);
# values (v). All three, but for these.
EVERYTHING = "lkv"


def varied(ways: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, ways)


WAYS = {
    # infinities: LAPACK refuses or never ends, transforms and differences of them are nan here and not there
    **varied(
        "lk", "cho_solve", "cholesky", "cholesky_of", "det", "eigvalsh", "inv", "matrix_rank", "norm", "slogdet", "solve",
        "solve_lower", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "matrix_norm", "vector_norm",
        "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
        "rfftn", "dot", "inner", "matrix_power", "gradient", "convolve", "nanpercentile", "nanquantile",
    ),
    # to integers: what becomes of infinity is not defined
    **varied("lk", "cast", "iceil", "iround"),
    # orders that other values would break
    **varied("lk", "digitize", "searchsorted"),
    **varied("lf", "histogram", "interp"),
    **varied("kv", "partition"),
    **varied("", "argpartition"),
    # sizes that stand in the arguments
    **varied("kv", "take_rows", "dynamic_slice", "dynamic_slice_in_dim", "expand_packed_triangular", "unpack_triangular",
             "concat_with_broadcast", "split", "specify_shape", "cross", "index_in_dim"),
    **varied("fv", "add_up_rows", "log_forward"),
    **varied("k", "factorial"),
    # SciPy's dtypes of whole numbers are its own, and so are NumPy's older functions' of mixed ones
    **varied("lfv", "bincount", "glu", "insert", "logdiffexp", "polyadd", "polyder", "polysub", "silu", "xlogx", "fiedler", "sici"),
    **varied("lf", "comb", "complex", "complex_from_polar", "gammal", "gammau", "chi2sf", "cond_number",
             "expm", "hessenberg", "lu", "lu_factor", "multigammaln", "percentile", "poch", "polygamma", "quantile",
             "sqrtm", "trapezoid"),
    **varied("f", "convolve2d", "convolve_arrays", "correlate2d", "correlate_arrays", "csd", "detrend", "fftconvolve", "istft", "lstsq", "map_coordinates", "pinv", "polar", "polyfit",
             "stft", "welch", "chain_factor", "chain_path", "chain_solution", "chain_substitution",
             "normal_log_density", "semiseparable_log_density", "semiseparable_factor", "semiseparable_by_factor", "semiseparable_times", "semiseparable_conditional", "cho_factor", "cholesky_of_inverse", "segment_sum",
             "expm_frechet", "lu_solve", "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester",
             "geomspace", "linspace", "logspace", "polyval", "roots"),
    # zeros in front are trimmed there
    **varied("lf", "polymul", "polydiv"),
    # an update has the dtype of both, where NumPy's has the array's
    **varied("lv", "index_add", "index_max", "index_min", "index_multiply", "index_update"),
    **varied("v", "dynamic_update_slice", "dynamic_update_slice_in_dim"),
    # arguments that belong together
    **varied("l", "deviance"),
}  # fmt: skip
LEAST = dict.fromkeys(
    (
        "bincount", "circulant", "companion", "convolution_matrix", "cov", "corrcoef", "fiedler", "hankel", "toeplitz", "polyadd", "polysub", "sqrtm",
    ),
    1,
) | {"histogram": 2}  # fmt: skip


def drawn_calls(name: str, row: Row) -> st.SearchStrategy[Call]:
    if row.domains:
        return elementwise_calls(row.domains, row.points, row.kinds)
    ways, least = WAYS.get(name, EVERYTHING), LEAST.get(name, 0)
    return st.sampled_from(row.calls).flatmap(lambda each: varied_calls(each, ways, least))


# --- elementwise
def entries(dtype: Any, domain: tuple[float, float], points: Sequence[float]) -> st.SearchStrategy[Any]:
    low, high = domain
    kind = np.dtype(dtype).kind
    if kind == "f":
        width = np.dtype(dtype).itemsize * 8
        ends = float(np.float32(low)), float(np.float32(high))
        return st.one_of(st.floats(*ends, width=width, allow_subnormal=False), st.sampled_from(points))
    if kind == "c":
        return st.builds(complex, st.floats(low, high), st.floats(0.1, 1))
    if kind == "b":
        return st.booleans()
    return st.integers(*sorted((int(np.ceil(low)), int(high))))


@st.composite
def elementwise_calls(draw: Any, domains: Any, points: Any, kinds: str) -> Call:
    """Arguments of any shapes that broadcast, each of a dtype of its own; complex ones all together."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=len(domains), max_dims=3, min_side=0, max_side=3))
    real = kinds.replace("c", "")
    which = "c" if "c" in kinds and draw(st.integers(0, 4)) == 0 else real
    args = []
    for shape, domain, special in zip(shapes.input_shapes, domains, points, strict=True):
        dtype = draw(st.sampled_from([dtype for kind in which for dtype in KINDS[kind]]))
        args.append(draw(hnp.arrays(dtype, shape, elements=entries(dtype, domain, special))))
    return Call(tuple(args), slopes=False)


# --- calls, varied
@st.composite
def varied_calls(draw: Any, each: Call, ways: str, least: int) -> Call:
    args = each.args
    for way, vary in (("l", shorter), ("k", recast), ("f", recast_floats), ("v", sprinkled)):
        if way in ways and draw(st.booleans()):
            args = vary(draw, args, least)
    return Call(args, each.options, slopes=False)


def shorter(draw: Any, args: Any, least: int) -> Any:
    """The same part of every axis of the same length."""
    kept: dict[int, list[int]] = {}

    def part(x: np.ndarray) -> np.ndarray:
        for axis, n in enumerate(x.shape):
            if n not in kept:
                places = st.sampled_from(range(n)) if n else st.nothing()
                kept[n] = sorted(draw(st.lists(places, unique=True, min_size=min(n, least), max_size=n)))
            x = np.take(x, kept[n], axis)
        return x

    return mapped(args, part)


FLOATS = (np.float64, np.float32)
OTHERS = {"f": (*FLOATS, np.int64, np.bool_), "i": (np.int64, np.int32, np.int8)}


def as_kind(x: np.ndarray, dtype: Any) -> np.ndarray:
    return x.astype(dtype) if np.dtype(dtype).kind == "f" else np.nan_to_num(x, posinf=9, neginf=-9).astype(dtype)


def recast(draw: Any, args: Any, least: int) -> Any:
    return mapped(
        args, lambda x: as_kind(x, draw(st.sampled_from(OTHERS[x.dtype.kind]))) if x.dtype.kind in OTHERS else x
    )


def recast_floats(draw: Any, args: Any, least: int) -> Any:
    chosen = draw(st.sampled_from(FLOATS))
    return mapped(args, lambda x: x.astype(chosen) if x.dtype.kind == "f" else x)


def sprinkled(draw: Any, args: Any, least: int) -> Any:
    def sprinkle(x: np.ndarray) -> np.ndarray:
        if x.dtype.kind != "f" or not x.size:
            return x
        x = x.copy()
        for place in draw(st.lists(st.sampled_from(range(x.size)), max_size=3, unique=True)):
            x.flat[place] = draw(st.sampled_from(ODD))
        return x

    return mapped(args, sprinkle)
