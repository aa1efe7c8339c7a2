"""A small model for each structural op of PyTensor, and for each feature of models: functions of (pm, pt)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MODELS: dict[str, Callable[[Any, Any], Any]] = {}
RNG = np.random.default_rng(8)
X, Y = RNG.normal(size=12).round(3), RNG.normal(size=12).round(3)
COUNTS, GROUPS = RNG.poisson(3, 12), np.repeat(np.arange(4), 3)
DESIGN = RNG.normal(size=(12, 3)).round(3)
COV = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, -0.2], [0.1, -0.2, 0.7]])
BY_A_CONSTANT: set[str] = set()


def model(build: Callable[[Any, Any], Any]) -> Any:
    MODELS[build.__name__] = build
    return build


def of(name: str, shape: tuple[int, ...], expression: Callable[[Any, Any], Any]) -> None:
    """A model whose term is the sum of an expression of a normal array, times fixed weights."""

    def whole(pm: Any, pt: Any) -> None:
        start = 0.1 + 0.6 * np.cos(np.arange(int(np.prod(shape)))).reshape(shape)  # no two entries are the same
        x = pm.Normal("x", 0.2, 0.7, shape=shape, initval=start)
        found = pt.as_tensor(expression(pt, x))
        weights = np.cos(np.arange(5))[:1] if found.ndim else 1.0
        pm.Deterministic("d", found)
        pm.Potential("p", pt.sum(pt.sin(found) * weights))

    MODELS[name] = whole


SYMMETRIC = lambda pt, x: pt.dot(x, x.T) + 3.0 * pt.eye(3)

# elementwise
of("arithmetic", (3,), lambda pt, x: (x + 1 - 2 * x / 3 + (x - 4) ** 2 - (-x)) / (1 + x**2))
of("divisions", (3,), lambda pt, x: pt.floor(x * 3) + (x * 10) % 3 + (x * 10) // 3 * 0.1 + pt.ceil(x) + pt.trunc(x))
of("exponentials", (3,), lambda pt, x: pt.exp(x) + pt.log(x**2 + 1) + pt.log1p(x**2) + pt.expm1(x) + pt.exp2(x))
of("logarithms", (3,), lambda pt, x: pt.log2(x**2 + 1) + pt.log10(x**2 + 1) + pt.log1mexp(-(x**2) - 0.1))
of("sigmoids", (3,), lambda pt, x: pt.sigmoid(x) + pt.softplus(x) + pt.tanh(x))
of("trigonometry", (3,), lambda pt, x: pt.sin(x) + pt.cos(x) + pt.tan(x / 4) + pt.arctan(x) + pt.arctan2(x, 2.0))
of("inverse_trigonometry", (3,), lambda pt, x: pt.arcsin(pt.tanh(x)) + pt.arccos(pt.tanh(x)) + pt.arcsinh(x))
of("hyperbolic", (3,), lambda pt, x: pt.sinh(x) + pt.cosh(x) + pt.arccosh(x**2 + 2) + pt.arctanh(pt.tanh(x) / 2))
of("degrees", (3,), lambda pt, x: pt.deg2rad(x) + pt.rad2deg(x) / 100)
of("error_functions", (3,), lambda pt, x: pt.erf(x) + pt.erfc(x) + pt.erfcx(x) + pt.erfinv(pt.tanh(x) / 2))
of("gamma_functions", (3,), lambda pt, x: pt.gammaln(x**2 + 1) + pt.gamma(x**2 + 1) + pt.digamma(x**2 + 1))
of("bessel_functions", (3,), lambda pt, x: pt.i0(x) + pt.i1(x) + pt.j0(x) + pt.ive(0.5, x**2 + 1))
of("comparisons", (3,), lambda pt, x: pt.switch((x > 0) & (x < 2) | pt.eq(x, 5), x, -x) + pt.where(x >= 0.1, 1.0, x))
of("bounds", (3,), lambda pt, x: pt.clip(x, -0.2, 0.4) + pt.maximum(x, 0.1) + pt.minimum(x, 0.3) + pt.sgn(x))
of("roots", (3,), lambda pt, x: pt.sqrt(x**2 + 1) + pt.sqr(x) + pt.abs(x - 7) + 1 / (2 + x**2))
of("casts", (3,), lambda pt, x: pt.cast(x > 0, "float64") + pt.cast(pt.cast(x * 3, "int64"), "float64") + x)
of("rounding", (3,), lambda pt, x: pt.round(x * 3) + x)
of("invert", (3,), lambda pt, x: pt.switch(~(x > 0), x, 2 * x) + pt.isnan(x) + pt.isinf(x))
of("power_of_two_tensors", (3,), lambda pt, x: pt.exp(x) ** x)
# shapes
of("broadcast", (3,), lambda pt, x: x[:, None] * x[None, :] + x)
of("transposed", (2, 3), lambda pt, x: x.T @ x)
of("swapped", (2, 3, 4), lambda pt, x: pt.swapaxes(x, 0, 2)[1] + x.dimshuffle(2, 1, 0)[1])
of("reshaped", (2, 6), lambda pt, x: x.reshape((3, 4)) + x.ravel()[:4] + x.flatten()[8:])
of("reshaped_by_shape", (2, 6), lambda pt, x: x.reshape((x.shape[1] // 2, -1)))
of("squeezed", (1, 3), lambda pt, x: pt.squeeze(x) + x[0])
of("broadcast_to", (3,), lambda pt, x: pt.broadcast_to(x, (4, 3)) + pt.broadcast_arrays(x, np.ones((4, 3)))[0])
of("alloc", (3,), lambda pt, x: pt.alloc(x[0], 2, 3) + pt.full((2, 3), x[1]) + pt.zeros((2, 3)) + pt.ones_like(x))
of("full_like", (3,), lambda pt, x: pt.full_like(x, x[0]) + pt.zeros_like(x))
of("tiled", (3,), lambda pt, x: pt.tile(x, (2, 2)))
of("repeated", (3,), lambda pt, x: pt.repeat(x, 2) + pt.repeat(x, np.array([1, 2, 3])))
of("padded", (3,), lambda pt, x: pt.concatenate([pt.zeros(2), x, [1.0]]))
of("by_shape", (3, 2), lambda pt, x: x.sum(0) / x.shape[0] + x.size + pt.arange(x.shape[1]) * x[0])
# joins
of("joined", (3,), lambda pt, x: pt.concatenate([x, x * 2, np.ones(2)]) ** 2)
of("joined_columns", (3, 2), lambda pt, x: pt.concatenate([x, x[:, :1]], axis=1))
of("stacked", (3,), lambda pt, x: pt.stack([x, x * 2], axis=-1) + pt.stack([x[0], 2.0]))
of("vectors_of_scalars", (3,), lambda pt, x: pt.as_tensor([x[0], 1.0, x[2]]) + pt.stacklists([x[0], x[1], x[2]]))
of("matrix_of_scalars", (3,), lambda pt, x: pt.stacklists([[x[0], x[1]], [x[2], x[1]]]))
of("split", (6,), lambda pt, x: pt.split(x, [1, 2, 3], n_splits=3)[2] + pt.split(x, [3, 3], n_splits=2)[0])
of("horizontal", (2, 2), lambda pt, x: pt.horizontal_stack(x, x) + 1)
# reductions
of("sums", (2, 3), lambda pt, x: pt.sum(x) + pt.sum(x, axis=0) + pt.mean(x, axis=1, keepdims=True) + pt.prod(x, axis=0))
of("extremes", (2, 3), lambda pt, x: pt.max(x, axis=0) + pt.min(x) + pt.argmax(x, axis=1)[0])
of("moments", (2, 3), lambda pt, x: pt.var(x, axis=0) + pt.std(x) + pt.ptp(x, axis=0))
of("truths", (2, 3), lambda pt, x: pt.all(x > -9) * x + pt.any(x > 9) * 2)
of("cumulated", (2, 3), lambda pt, x: pt.cumsum(x, axis=1) + pt.cumprod(x, axis=0) + pt.cumsum(x).reshape((2, 3)))
of("softmax", (2, 3), lambda pt, x: pt.special.softmax(x, axis=-1) + pt.special.log_softmax(x, axis=0))
of("log_sum", (2, 3), lambda pt, x: pt.logsumexp(x, axis=1) + pt.logaddexp(x[:, 0], x[:, 1]))
of("norms", (2, 3), lambda pt, x: pt.linalg.norm(x) + x.norm(2, axis=1))
of("sorted", (5,), lambda pt, x: pt.sort(x) * np.arange(5.0) + x[pt.argsort(x)])
of("differences", (5,), lambda pt, x: pt.diff(x) ** 2 + pt.diff(x, n=1))
# indexing
of("slices", (6,), lambda pt, x: x[1:4] + x[::2] + x[::-1][:3] + x[-1] + x[:-3])
of("slices_of_matrices", (4, 5), lambda pt, x: x[1, :] * x[2, 1] + x[:, 0].sum() + x[..., -1].sum())
of("gathers", (4,), lambda pt, x: x[GROUPS] * X + x[np.array([[0, 1], [2, 3]])].sum())
of("gathers_of_pairs", (4, 3), lambda pt, x: x[GROUPS, np.arange(12) % 3] * X + x[:, [0, 2]].sum() + x[[1, 0]].sum())
of("masks", (12,), lambda pt, x: x[X > 0] ** 2)
of("masks_of_rows", (12, 2), lambda pt, x: x[X > 0, 1] ** 2)
of("new_axes", (4, 3), lambda pt, x: x[:, None, 1] + x[None, :, 0])
of(
    "taken",
    (4, 3),
    lambda pt, x: (
        pt.take(x, [0, 2], axis=1) + pt.take_along_axis(x, np.array([[0, 1], [1, 2], [2, 0], [0, 0]]), axis=1)
    ),
)
of("set_entries", (3,), lambda pt, x: pt.set_subtensor(pt.zeros(5)[1:4], x) + pt.inc_subtensor(pt.ones(5)[2], x[0]))
of(
    "set_by_method",
    (3,),
    lambda pt, x: pt.zeros(5)[np.array([0, 2, 4])].set(x) + pt.zeros(5)[np.array([0, 0, 4])].inc(x),
)
of("set_masked", (5,), lambda pt, x: pt.set_subtensor(pt.zeros(12)[X > 0.5], 1.0).sum() * x)
of(
    "set_rows",
    (2, 3),
    lambda pt, x: pt.set_subtensor(pt.zeros((4, 3))[1:3], x) + pt.set_subtensor(pt.ones((4, 3))[:, 0], x[0, 0]),
)
of("packed_triangle", (6,), lambda pt, x: pt.set_subtensor(pt.zeros((3, 3))[np.tril_indices(3)], x))
of("entry_by_entry", (4,), lambda pt, x: filled_in(pt, x))
of("nonzero", (3,), lambda pt, x: x[pt.nonzero(np.array([1, 0, 1]))[0]])
of("searched", (3,), lambda pt, x: pt.searchsorted(np.arange(4.0), x) * x)
# matrices
of("dots", (3, 3), lambda pt, x: x @ x + pt.dot(x, np.arange(3.0)) + pt.dot(DESIGN, x)[:3] + DESIGN[0] @ x)
of("outer", (3,), lambda pt, x: pt.outer(x, x) + pt.dot(x, x))
of("tensordot", (3, 3), lambda pt, x: pt.tensordot(x, x, axes=[[0], [1]]))
of(
    "stacks_of_matrices",
    (2, 3, 3),
    lambda pt, x: x @ x + pt.matmul(x, np.ones((3, 3))) + pt.einsum("bij,bjk->bik", x, x),
)
of("einsum", (3, 3), lambda pt, x: pt.einsum("ij,j->i", x, x[0]) + pt.einsum("ii->i", x) + pt.einsum("ij->j", x))
of(
    "cholesky",
    (3, 3),
    lambda pt, x: pt.linalg.cholesky(SYMMETRIC(pt, x)) + pt.linalg.cholesky(SYMMETRIC(pt, x), lower=False),
)
of("inverse", (3, 3), lambda pt, x: pt.linalg.inv(SYMMETRIC(pt, x)) + pt.linalg.det(SYMMETRIC(pt, x)))
of("slogdet", (3, 3), lambda pt, x: pt.linalg.slogdet(SYMMETRIC(pt, x))[1])
of(
    "solved",
    (3, 3),
    lambda pt, x: pt.linalg.solve(SYMMETRIC(pt, x), np.ones(3)) + pt.linalg.solve(SYMMETRIC(pt, x), x, assume_a="pos"),
)
of(
    "solved_triangular",
    (3, 3),
    lambda pt, x: pt.linalg.solve_triangular(pt.linalg.cholesky(SYMMETRIC(pt, x)), x, lower=True),
)
of("eigenvalues", (3, 3), lambda pt, x: pt.linalg.eigh(SYMMETRIC(pt, x))[0])
of("singular_values", (3, 3), lambda pt, x: pt.linalg.svd(SYMMETRIC(pt, x), compute_uv=False))
of("matrix_exponential", (3, 3), lambda pt, x: pt.linalg.expm(x / 5))
of(
    "diagonals",
    (3, 3),
    lambda pt, x: pt.diag(x) + pt.diagonal(x, 1).sum() + pt.diag(x[0])[0] + pt.linalg.trace(x) + pt.eye(3)[0],
)
of("filled_diagonal", (3, 3), lambda pt, x: pt.fill_diagonal(x, 2.0))
of("triangles", (3, 3), lambda pt, x: pt.tril(x) + pt.triu(x, 1))
of("kronecker", (2, 2), lambda pt, x: pt.linalg.kron(x, np.eye(2)))
of("block_diagonal", (2, 2), lambda pt, x: pt.linalg.block_diag(x, x))
of("extrema_with_several_axes", (2, 3, 2), lambda pt, x: pt.max(x, axis=(0, 2)) + pt.argmax(x).astype("float64"))
of("linspace", (3,), lambda pt, x: pt.linspace(0, 1, 3) * x + pt.arange(3) + pt.mgrid[0:3])
of("convolved", (5,), lambda pt, x: pt.signal.convolve1d(x, np.array([0.2, 0.5, 0.3]), mode="full"))
of("ifelse", (3,), lambda pt, x: pt_ifelse(x.sum() > 0, x * 2, x * 3))
of("checked", (3,), lambda pt, x: assertion(x, pt.all(x < 99)))


def filled_in(pt, x):
    out = pt.empty(4)
    for i in range(4):
        out = pt.set_subtensor(out[i], x[i] * i)
    return out


def pt_ifelse(condition, a, b):
    from pytensor.ifelse import ifelse

    return ifelse(condition, a, b)


def assertion(x, condition):
    from pytensor.raise_op import Assert

    return Assert("as it should be")(x, condition)


# --- loops ------------------------------------------------------------------------------------------------------------
def scan(*args, **kwargs):
    import pytensor

    found = pytensor.scan(*args, **kwargs)
    return found[0] if isinstance(found, tuple | list) and len(found) == 2 and not hasattr(found[1], "type") else found


of("loop", (3,), lambda pt, x: scan(lambda before, a: before * 0.5 + a, outputs_info=[x], non_sequences=[x], n_steps=4))
of("last_of_a_loop", (3,), lambda pt, x: scan(lambda before: before * 0.5 + 1, outputs_info=[x], n_steps=4)[-1])
of("loop_over_rows", (4, 2), lambda pt, x: scan(lambda row: row**2 + 1, sequences=[x]))
of(
    "loop_with_both",
    (4, 2),
    lambda pt, x: scan(lambda row, before: row + 0.3 * before, sequences=[x], outputs_info=[pt.zeros(2)]),
)
of(
    "loop_with_taps",
    (5,),
    lambda pt, x: scan(
        lambda a, b: 0.5 * a - 0.2 * b + 1, outputs_info=[{"initial": x[:2], "taps": [-2, -1]}], n_steps=5
    ),
)
of("loop_over_taps", (6,), lambda pt, x: scan(lambda a, b: a * b, sequences=[{"input": x, "taps": [-1, 0]}]))
of(
    "loop_with_two_outputs",
    (3,),
    lambda pt, x: scan(lambda a, b: [a + b, a * 0.5], outputs_info=[x, pt.ones(3)], n_steps=3)[1],
)
of(
    "loop_backwards",
    (4,),
    lambda pt, x: scan(
        lambda a, before: before + a**2, sequences=[x], outputs_info=[pt.as_tensor(0.0)], go_backwards=True
    ),
)
of("loop_that_maps", (4,), lambda pt, x: scan(lambda i, x: x[i] * i, sequences=[pt.arange(4)], non_sequences=[x]))
of("loop_by_length_of_a_sequence", (4,), lambda pt, x: scan(lambda a: [a, 2 * a], sequences=[x])[0])


@model
def loop_until(pm, pt):
    from pytensor.scan.utils import until

    x = pm.HalfNormal("x")
    rows = scan(lambda before: (before * 1.5 + 0.1, until(before > 5.0)), outputs_info=[x], n_steps=30)
    pm.Potential("p", rows[-1])


# --- features of models -----------------------------------------------------------------------------------------------
@model
def regression(pm, pt):
    b = pm.Normal("b", 0, 2, shape=3)
    pm.Normal("y", DESIGN @ b, pm.HalfNormal("s"), observed=Y)


@model
def hierarchy(pm, pt):
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    a = pm.Normal("a", mu, tau, shape=4)
    pm.Normal("y", a[GROUPS], 1.0, observed=Y)


@model
def missing_values(pm, pt):
    y = np.ma.masked_array(Y, mask=X > 1)
    pm.Normal("y", pm.Normal("m"), pm.HalfNormal("s"), observed=y)


@model
def missing_values_with_rows(pm, pt):
    y = np.where(X > 0.8, np.nan, Y)
    pm.Normal("y", pm.Normal("m") * X, pm.HalfNormal("s"), observed=y)


@model
def missing_counts(pm, pt):
    pm.Poisson("y", pm.HalfNormal("m", 3.0), observed=np.ma.masked_array(COUNTS, mask=X > 1))


@model
def missing_bounded(pm, pt):
    y = np.where(X > 0.8, np.nan, 1 / (1 + np.exp(-Y)))
    pm.Beta("y", pm.HalfNormal("m") + 1, 2.0, observed=y)


@model
def missing_of_a_symbolic_family(pm, pt):
    y = np.where(X > 0.8, np.nan, np.abs(Y))
    pm.HalfStudentT("y", 4.0, pm.HalfNormal("m") + 1, observed=y)


@model
def missing_rows_of_vectors(pm, pt):
    rows = DESIGN[:5].copy()
    rows[1] = np.nan
    pm.MvNormal("y", pm.Normal("m", shape=3), COV, observed=rows)


@model
def missing_entries_of_vectors(pm, pt):
    rows = DESIGN[:5].copy()
    rows[1, 2] = np.nan
    rows[3, 0] = np.nan
    pm.MvNormal("y", pm.Normal("m", shape=3), COV, observed=rows)


@model
def an_initial_value(pm, pt):
    m = pm.Normal("m", initval=0.7)
    s = pm.HalfNormal("s", initval="support_point")
    pm.Normal("x", m, s, initval=pt.as_tensor(0.3) * 2)


@model
def potentials_and_deterministics(pm, pt):
    x = pm.Normal("x", shape=3)
    d = pm.Deterministic("d", x**2)
    e = pm.Deterministic("e", d.sum() + 1)
    pm.Potential("p", -e / 10)


@model
def discrete_variables(pm, pt):
    k = pm.Bernoulli("k", 0.4)
    z = pm.Categorical("z", [0.2, 0.3, 0.5], shape=3)
    pm.Normal("y", k + z.sum() + pm.math.switch(k, 0.3, -0.2), 1.0, observed=Y)


@model
def a_distribution_of_a_vector_of_scalars(pm, pt):
    a, b = pm.Normal("a"), pm.HalfNormal("b")
    pm.Normal("y", pm.math.stack([a, a + b, b])[GROUPS % 3], 1.0, observed=Y)


@model
def gaussian_process(pm, pt):
    scale, eta = pm.Gamma("scale", 3, 1), pm.HalfNormal("eta")
    gp = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.Matern52(1, scale))
    f = gp.prior("f", X=np.linspace(0, 3, 6)[:, None])
    pm.Normal("y", f, 0.3, observed=Y[:6])


@model
def marginal_gaussian_process(pm, pt):
    scale = pm.Gamma("scale", 3, 1)
    gp = pm.gp.Marginal(
        mean_func=pm.gp.mean.Linear(0.3), cov_func=pm.gp.cov.ExpQuad(1, scale) + pm.gp.cov.Periodic(1, 2.0, ls=scale)
    )
    gp.marginal_likelihood("y", X=np.linspace(0, 3, 6)[:, None], y=Y[:6], sigma=pm.HalfNormal("s"))


@model
def hilbert_space_process(pm, pt):
    scale, eta = pm.Gamma("scale", 3, 1), pm.HalfNormal("eta")
    gp = pm.gp.HSGP(m=[7], c=1.5, cov_func=eta**2 * pm.gp.cov.ExpQuad(1, scale))
    f = gp.prior("f", X=np.linspace(0, 3, 12)[:, None])
    pm.Normal("y", f, 0.3, observed=Y)


@model
def periodic_hilbert_space_process(pm, pt):
    gp = pm.gp.HSGPPeriodic(
        m=5, scale=pm.HalfNormal("eta"), cov_func=pm.gp.cov.Periodic(1, period=2.0, ls=pm.Gamma("ls", 3, 1))
    )
    pm.Normal("y", gp.prior("f", X=np.linspace(0, 3, 12)[:, None]), 0.3, observed=Y)


@model
def sparse_gaussian_process(pm, pt):
    gp = pm.gp.MarginalApprox(cov_func=pm.gp.cov.Matern32(1, pm.Gamma("scale", 3, 1)), approx="FITC")
    X6 = np.linspace(0, 3, 6)[:, None]
    gp.marginal_likelihood("y", X=X6, Xu=X6[::2], y=Y[:6], sigma=0.4)


@model
def vector_autoregression(pm, pt):
    b = pm.Normal("b", 0, 0.5, shape=(2, 2))
    series = np.column_stack([X, Y])
    mean = sum(pm.math.sum(b[i] * series[:-1], axis=-1)[:, None] * np.eye(2)[i] for i in range(2))
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=1.0, sd_dist=pm.HalfNormal.dist(1.0), compute_corr=True)
    pm.MvNormal("y", mean, chol=chol, observed=series[1:])


BY_A_CONSTANT.add("vector_autoregression")
