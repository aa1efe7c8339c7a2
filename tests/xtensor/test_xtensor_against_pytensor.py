"""Labelled tensors give PyTensor's values and dims: the same lines run on both."""

import warnings

import numpy as np
import pytest

import ppl.tensor as tt
import ppl.xtensor as own
from ppl.xtensor.math import ENTRYWISE
from ppl.xtensor.random import _LAWS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pytensor.tensor as pt
    import pytensor.xtensor as theirs
    from pytensor.xtensor.vectorization import vectorize_graph as their_vectorize_graph

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4))


def values_and_dims(module, build):
    result = build(module)
    results = result if isinstance(result, tuple | list) else [result]
    return [(np.asarray(x.eval()), tuple(x.dims), x.type.shape) for x in results]


def same(build, rtol=1e-10):
    for (ours, dims, shape), (real, real_dims, real_shape) in zip(
        values_and_dims(own, build), values_and_dims(theirs, build), strict=True
    ):
        assert dims == real_dims
        assert ours.shape == real.shape
        assert all(m is None or m == n for m, n in zip(real_shape, shape, strict=True)) or None in shape
        assert ours.dtype.kind == real.dtype.kind
        np.testing.assert_allclose(ours, real, rtol=rtol, atol=1e-12)


def ab(m):
    return m.as_xtensor(A, dims=("a", "b"))


def bc(m):
    return m.as_xtensor(B, dims=("b", "c"))


def ints(m, values, dims):
    return m.as_xtensor(np.array(values), dims=(dims,) if isinstance(dims, str) else dims)


# --- functions entry by entry -----------------------------------------------------------------------------------------
POINTS = {
    "arccosh": [1.5, 2.5], "log1mexp": [-0.5, -2.0], "arccos": [0.2, 0.7], "arcsin": [0.2, 0.7], "arctanh": [0.2, 0.7],
    "erfinv": [0.2, 0.7], "erfcinv": [0.2, 0.7], "logical_not": [True, False], "invert": [True, False],
    "bitwise_not": [True, False], "bitwise_invert": [True, False], "angle": [1.0 + 2j, 0.5 - 1j],
    "conj": [1.0 + 2j, 0.5 - 1j], "conjugate": [1.0 + 2j, 0.5 - 1j], "real": [1.0 + 2j, 0.5], "imag": [1.0 + 2j, 0.5],
}  # fmt: skip
BINARY = """add arctan2 equal eq floor_divide floor_div int_div greater_equal ge greater gt less_equal le less lt mod
    multiply mul not_equal neq power pow maximum minimum subtract sub true_divide true_div gammainc gammaincc
    gammainccinv gammaincinv gammal gammau kve iv ive owens_t complex""".split()
LOGICAL = "and_ or_ xor logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
TERNARY = {"clip", "where", "switch", "betainc", "betaincinv"}


@pytest.mark.parametrize("name", sorted({*ENTRYWISE, "identity", "second"}))
def test_function_entry_by_entry(name):
    f = lambda m, *xs: getattr(m.math, name)(*xs)
    if name in LOGICAL:
        x, y = np.array([True, False, True]), np.array([[True], [False]])
        return same(lambda m: f(m, m.as_xtensor(x, dims="b"), m.as_xtensor(y, dims=("a", "z"))))
    if name in TERNARY:
        x, y, z = np.array([0.3, 0.9]), np.array([0.2, 0.5, 0.6]), 0.8
        if name in ("where", "switch"):
            return same(lambda m: f(m, m.as_xtensor(x > 0.5, dims="a"), m.as_xtensor(y, dims="b"), z))
        return same(lambda m: f(m, m.as_xtensor(x, dims="a"), m.as_xtensor(y, dims="b"), z))
    if name == "hyp2f1":
        return same(lambda m: f(m, m.as_xtensor(A**2, dims=("a", "b")), 1.5, 2.5, m.as_xtensor([0.2, 0.4], dims="c")))
    if name == "polygamma":
        return same(lambda m: f(m, m.as_xtensor([0, 1, 2], dims="k"), m.as_xtensor([0.5, 2.0], dims="a")))
    if name in (*BINARY, "second"):
        x, y = np.array([1.0, 2.0]), np.array([0.5, 0.25, 0.75])
        if name in ("gammainccinv", "gammaincinv"):
            x = np.array([0.7, 2.0])
        return same(lambda m: f(m, m.as_xtensor(x, dims="a"), m.as_xtensor(y, dims="b")), 1e-8)
    x = np.array(POINTS.get(name, [0.3, 1.7]))
    return same(lambda m: f(m, m.as_xtensor(x, dims="a")), 1e-9)


@pytest.mark.parametrize("operator", [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x // y,
    lambda x, y: x % y, lambda x, y: abs(x) ** y, lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y,
    lambda x, y: x >= y, lambda x, y: -x, lambda x, y: abs(y), lambda x, y: 2 + x, lambda x, y: 1 - y,
    lambda x, y: 3 / x, lambda x, y: 2.0**x, lambda x, y: (x > 0) & (y > 0), lambda x, y: (x > 0) | (y > 0),
    lambda x, y: (x > 0) ^ (y > 0), lambda x, y: ~(x > 0), lambda x, y: x.clip(-9.0, y), lambda x, y: x.T,
    lambda x, y: x.astype("int64"), lambda x, y: (x + 0j).conj(), lambda x, y: (x + 1j).imag,
    lambda x, y: (x + 1j).real,
    lambda x, y: x.rename(a="z"), lambda x, y: x.rename({"a": "b", "b": "a"}), lambda x, y: x.copy(),
    lambda x, y: np.float64(2) * x, lambda x, y: x.dot(y), lambda x, y: y.dot(x),
    lambda x, y: x.dot(y, dim=("a", "b")), lambda x, y: x.dot(y, dim=...), lambda x, y: x.dot(y, dim="c"),
    lambda x, y: x.dot(x), lambda x, y: x.dot(x, dim="a"), lambda x, y: x.broadcast_like(y),
    lambda x, y: x.broadcast_like(y, exclude="a"),
])  # fmt: skip
def test_operators_and_methods(operator):
    same(lambda m: operator(ab(m), bc(m)))


@pytest.mark.parametrize("f", ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "cumsum", "cumprod"])
@pytest.mark.parametrize("dim", ["a", "b", ("a", "b"), None, ...])
def test_reductions(f, dim):
    same(lambda m: getattr(ab(m), f)(dim))
    if f in ("sum", "prod", "cumsum", "cumprod", "max", "all"):
        same(lambda m: getattr(ab(m) > 0, f)(dim))


def test_reductions_with_degrees_of_freedom_differences_and_exponentials():
    same(lambda m: ab(m).var("b", ddof=1))
    same(lambda m: ab(m).std(ddof=1))
    same(lambda m: ab(m).diff("b"))
    same(lambda m: ab(m).diff("b", n=2))
    for dim in ("a", None, ("a", "b")):
        same(lambda m, dim=dim: m.math.softmax(ab(m), dim=dim))
        same(lambda m, dim=dim: m.math.logsumexp(ab(m), dim=dim))


@pytest.mark.parametrize("build", [
    lambda m, x: x.transpose("b", "a"), lambda m, x: x.transpose(..., "a"), lambda m, x: x.transpose(),
    lambda m, x: x.transpose("b", ..., missing_dims="ignore"), lambda m, x: x.stack({"z": ("a", "b")}),
    lambda m, x: x.stack({"z": ("a", "b")}).unstack({"z": {"p": 3, "q": 2}}),
    lambda m, x: x.stack({"z": ("a", "b")}).unstack({"z": {"c": 6, "d": 1}}), lambda m, x: m.concat([x, x], dim="a"),
    lambda m, x: m.concat([x, x.isel(a=0)], dim="a"), lambda m, x: m.concat([x, x], dim="new"),
    lambda m, x: m.concat([x.isel(b=0), x, 0], dim="a"), lambda m, x: x.expand_dims("z"),
    lambda m, x: x.expand_dims(["z", "w"]), lambda m, x: x.expand_dims(z=2, w=3),
    lambda m, x: x.expand_dims({"z": 2}, axis=1), lambda m, x: x.expand_dims("z", axis=-1),
    lambda m, x: x.expand_dims("z").squeeze(), lambda m, x: x.expand_dims("z").squeeze("z"),
    lambda m, x: x.expand_dims("z").squeeze(axis=0), lambda m, x: m.broadcast(x, bc(m)),
    lambda m, x: m.broadcast(x, bc(m), exclude="b"), lambda m, x: m.broadcast(x, bc(m), exclude=("c", "a")),
    lambda m, x: m.full_like(x, 3), lambda m, x: m.full_like(x, 3.5, dtype="int64"), lambda m, x: m.ones_like(x),
    lambda m, x: m.zeros_like(x, dtype="bool"), lambda m, x: m.math.where(x > 0, x, 0), lambda m, x: m.dot(x, bc(m)),
    lambda m, x: x.expand_dims(z=x.sizes["b"]),
])  # fmt: skip
def test_shapes(build):
    same(lambda m: build(m, ab(m)))


def test_stacked_dims_stand_in_the_order_given_as_in_xarray():
    """PyTensor 2.38 takes them in the order of the tensor, whatever is given."""
    import xarray

    for dims in (("b", "a"), ("c", "a"), ("c", "b", "a")):
        ours = own.as_xtensor(CUBE, dims=("a", "b", "c")).stack(z=dims)
        real = xarray.DataArray(CUBE, dims=("a", "b", "c")).stack(z=dims)
        assert ours.dims == real.dims
        np.testing.assert_array_equal(ours.eval(), real.values)


CUBE = RNG.normal(size=(3, 4, 5))


@pytest.mark.parametrize("take", [
    lambda m, x: x[0], lambda m, x: x[..., 0], lambda m, x: x[1:, ::2], lambda m, x: x[-1, 1],
    lambda m, x: x[:, [0, 2]],
    lambda m, x: x.isel(b=2), lambda m, x: x.isel({"a": 0, "c": slice(1, 3)}), lambda m, x: x[{"b": [1, 1, 0]}],
    lambda m, x: x.isel(b=ints(m, [0, 3, 3], "row")), lambda m, x: x.isel(a=ints(m, [0, 2], "row"), b=[1, 0, 3]),
    lambda m, x: x.isel(a=ints(m, [0, 2], "row"), c=ints(m, [4, 1], "row")),
    lambda m, x: x.isel(a=ints(m, [0, 2], "row"), b=ints(m, [3, 1], "row"), c=ints(m, [4, 1, 2], "z")),
    lambda m, x: x.isel(a=ints(m, [[0, 2], [1, 1]], ("r", "s")), c=ints(m, [4, 1], "s")),
    lambda m, x: x.isel(a=ints(m, [0, 2, 1, 0], "b")), lambda m, x: x.isel(a=ints(m, [0, 2], "b"), b=slice(1, 3)),
    lambda m, x: x.isel(a=ints(m, [0, 1], "b"), b=ints(m, [2, 3, 0], "a")), lambda m, x: x[:, ("z", [0, 1])],
    lambda m, x: x[np.array([True, False, True])], lambda m, x: x.isel(b=ints(m, 2, ())),
    lambda m, x: x.isel(z=0, missing_dims="ignore"), lambda m, x: x.head(2), lambda m, x: x.head(b=1),
    lambda m, x: x.tail({"c": 2}), lambda m, x: x.tail(2), lambda m, x: x.thin(2), lambda m, x: x.thin(c=3),
    lambda m, x: x.isel(c=ints(m, [0, 1], "row"), a=0), lambda m, x: x[0, :, ints(m, [0, 1], "row")],
    lambda m, x: x[ints(m, [0, 1], "row"), :, ints(m, [2, 3], "row")],
    lambda m, x: x[0].set(1.5), lambda m, x: x[:, 1:].inc(2), lambda m, x: x.isel(b=[0, 2]).set(-1.0),
    lambda m, x: x[:, ints(m, [0, 1, 2], "a")].set(0.0), lambda m, x: x.isel(b=ints(m, [1, 1, 0], "row")).inc(1.0),
    lambda m, x: x.isel(c=[0, 1], a=1).inc(m.as_xtensor([1.0, 2.0], dims="c")),
    lambda m, x: x[1].set(np.arange(20.0).reshape(4, 5)),
    lambda m, x: x.isel(b=0).inc(m.as_xtensor([1.0, 2.0, 3.0], dims="a")),
    lambda m, x: x.isel(a=[2, 0], c=ints(m, [4, 4], "row")).set(9.0),
])  # fmt: skip
def test_indexing(take):
    same(lambda m: take(m, m.as_xtensor(CUBE, dims=("a", "b", "c"))))


def test_linear_algebra():
    root = RNG.normal(size=(2, 3, 3))
    square = root @ root.swapaxes(-1, -2) + np.eye(3)
    for lower in (True, False):
        same(lambda m, lower=lower: m.linalg.cholesky(
            m.as_xtensor(square, dims=("z", "a", "b")), lower=lower, dims=("a", "b")))  # fmt: skip
    same(lambda m: m.linalg.cholesky(m.as_xtensor(square, dims=("z", "a", "b")).isel(z=[0, 1, 1]), dims=("b", "a")))
    for a_dims, b, b_dims, dims in [
        (("z", "a", "b"), B, ("b", "k"), ("a", "b", "k")), (("z", "a", "b"), B[:, 0], ("b",), ("a", "b")),
        (("z", "a", "b"), B[:, 0], ("a",), ("a", "b")), (("z", "b", "a"), B, ("b", "k"), ("k", "a", "b")),
        (("z", "a", "b"), B, ("b", "w"), ("a", "b")),
    ]:  # fmt: skip
        same(lambda m, a_dims=a_dims, b=b, b_dims=b_dims, dims=dims: m.linalg.solve(
            m.as_xtensor(square, dims=a_dims), m.as_xtensor(b, dims=b_dims), dims=dims))  # fmt: skip
        same(lambda m, a_dims=a_dims, b=b, b_dims=b_dims, dims=dims: m.linalg.solve(
            m.as_xtensor(square, dims=a_dims), m.as_xtensor(b, dims=b_dims), dims=dims, assume_a="pos"))  # fmt: skip


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolution(mode):
    x, kernel = RNG.normal(size=(4, 9)), RNG.normal(size=(3, 4))
    both = lambda m: (m.as_xtensor(x, dims=("channel", "t")), m.as_xtensor(kernel, dims=("lag", "channel")))
    same(lambda m: m.signal.convolve1d(*both(m), mode=mode, dims=("t", "lag")))
    same(lambda m: m.signal.convolve1d(
        both(m)[0].isel(channel=0), both(m)[1].isel(channel=0), mode=mode, dims=("t", "lag")))  # fmt: skip
    same(lambda m: m.signal.convolve1d(both(m)[0], both(m)[1].rename(channel="country"), mode=mode, dims=("t", "lag")))


def test_lengths_that_only_the_program_knows():
    for build in [
        lambda m, x, y: x + y, lambda m, x, y: x.dot(y), lambda m, x, y: x.stack({"z": ("a", "b")}),
        lambda m, x, y: m.concat([x, x.isel(a=0)], dim="a"), lambda m, x, y: x.expand_dims(z=y.sizes["c"]),
        lambda m, x, y: m.broadcast(x, y)[0], lambda m, x, y: x.mean("a"), lambda m, x, y: x.tail(b=2),
        lambda m, x, y: x.isel(a=[0, 1], b=[2, 1, 0]),
        lambda m, x, y: x.stack({"z": ("a", "b")}).unstack({"z": x.sizes}),
    ]:  # fmt: skip
        results = []
        for m in (own, theirs):
            x, y = m.xtensor("x", dims=("a", "b")), m.xtensor("y", dims=("b", "c"))
            out = build(m, x, y)
            inputs = {x: A, y: B} if m is own else {v: {"x": A, "y": B}[v.name] for v in (x, y)}
            found = out.eval(inputs) if m is own else out.eval(inputs, on_unused_input="ignore")
            results.append((found, out.dims))
        np.testing.assert_allclose(results[0][0], results[1][0])
        assert results[0][1] == results[1][1]


def test_graphs_with_further_dims():
    def built(m, vectorize, tensor):
        x, y = m.xtensor("x", dims="a", shape=(2,)), m.xtensor("y", dims=("a", "b"), shape=(2, 3))
        z = tensor("z", shape=(2,))
        out = (x * y).sum("a") + m.as_xtensor(z, dims="a").mean()
        xs, zs = m.as_xtensor(A, dims=("a", "c")), np.arange(8.0).reshape(4, 2)
        zs = tt.as_tensor(zs) if m is own else pt.as_tensor(zs)
        found = vectorize(out, {x: xs, z: zs, y: m.as_xtensor(A, dims=("a", "b"))}, new_tensor_dims=["draw"])
        return found.eval(), found.dims

    ours = built(own, own.vectorization.vectorize_graph, lambda n, shape: tt.tensor(n, shape=shape, dtype="float64"))
    real = built(theirs, their_vectorize_graph, pt.tensor)
    np.testing.assert_allclose(ours[0], real[0])
    assert ours[1] == real[1]


# --- what is refused --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("build", [
    lambda m: ab(m) + m.as_xtensor(np.zeros(5), dims="b"), lambda m: ab(m) + np.zeros(3), lambda m: ab(m).sum("z"),
    lambda m: ab(m).transpose("a"), lambda m: ab(m).transpose("a", "z"), lambda m: ab(m).transpose(..., ...),
    lambda m: ab(m).rename(z="a"), lambda m: ab(m).rename(a="b"), lambda m: ab(m).stack({"z": "ab"}),
    lambda m: ab(m).stack({"z": ("a", "q")}), lambda m: ab(m).stack({"b": ("a",)}),
    lambda m: ab(m).unstack({"a": {"c": 2}}),
    lambda m: ab(m).unstack({"z": {"c": 2, "d": 1}}), lambda m: ab(m).squeeze("a"), lambda m: ab(m).squeeze("z"),
    lambda m: ab(m).expand_dims("a"), lambda m: ab(m).expand_dims(z=-1), lambda m: ab(m).expand_dims(z=1.5),
    lambda m: ab(m).isel(z=0), lambda m: ab(m).isel(a=...), lambda m: ab(m)[None], lambda m: ab(m)[0, 0, 0],
    lambda m: ab(m)[[[0]]], lambda m: ab(m)[..., ...], lambda m: ab(m)[0.5], lambda m: ab(m).dot(bc(m), dim="z"),
    lambda m: m.as_xtensor(A), lambda m: m.as_xtensor(A, dims=("a", "a")), lambda m: ab(m).set(0),
    lambda m: ab(m)[0].set(bc(m)), lambda m: bool(ab(m)), lambda m: float(ab(m).sum()), lambda m: ab(m).sel(a=0),
    lambda m: ab(m).loc, lambda m: ab(m).coords, lambda m: ab(m).item(), lambda m: ab(m).__setitem__(0, 1),
    lambda m: m.full_like(ab(m), [1.0, 2.0]), lambda m: m.broadcast(ab(m), exclude=3), lambda m: ab(m).thin(),
    lambda m: m.as_xtensor(ab(m), dims=("b", "a")), lambda m: m.linalg.cholesky(ab(m), dims=("a",)),
    lambda m: m.signal.convolve1d(ab(m), bc(m), dims=("a", "a")), lambda m: m.random.normal(0, 1, core_dims="a"),
    lambda m: m.random.dirichlet(ab(m)), lambda m: ab(m).isel(a=ints(m, [0, 1], "r"), b=ints(m, [0, 1, 2], "r")),
    lambda m: m.random.normal(ab(m), 1, extra_dims={"a": 2}), lambda m: ab(m).head(2, b=1),
])  # fmt: skip
def test_what_pytensor_refuses_is_refused(build):
    with pytest.raises(Exception) as real:
        build(theirs)
    with pytest.raises(real.type):
        build(own)


def test_a_plain_operation_on_a_labelled_tensor_is_refused_with_its_dims():
    with pytest.raises(TypeError, match=r"named dims \('a', 'b'\)"):
        tt.exp(ab(own))
    with pytest.raises(TypeError, match="no names for its axes"):
        tt.as_tensor(np.zeros(3)) + ab(own)
    assert (tt.as_tensor(2.0) * ab(own)).dims == ("a", "b")


# --- draws ------------------------------------------------------------------------------------------------------------
PARAMETERS = {
    "bernoulli": (0.3,), "beta": (2.0, 3.0), "betabinom": (5, 2.0, 3.0), "binomial": (5, 0.4), "cauchy": (0.0, 1.0),
    "exponential": (2.0,), "gamma": (2.0, 3.0), "gengamma": (2.0, 1.5, 3.0), "geometric": (0.3,), "gumbel": (0.0, 1.0),
    "halfcauchy": (0.0, 1.0), "halfnormal": (0.0, 2.0), "hypergeometric": (5, 4, 3), "integers": (0, 5),
    "invgamma": (4.0, 2.0), "laplace": (0.0, 1.0), "logistic": (0.0, 1.0), "lognormal": (0.0, 0.3),
    "negative_binomial": (5, 0.5), "nbinom": (5, 0.5), "normal": (1.0, 2.0), "pareto": (4.0, 2.0), "poisson": (3.0,),
    "t": (6.0, 1.0, 2.0), "triangular": (0.0, 0.5, 1.0), "truncexpon": (2.0, 1.0, 1.5), "uniform": (0.0, 2.0),
    "vonmises": (0.0, 2.0), "wald": (1.0, 3.0), "weibull": (2.0,), "chisquare": (4.0,), "rayleigh": (2.0,),
    "standard_normal": (),
}  # fmt: skip
SEVERAL = {"categorical", "dirichlet", "multinomial", "multivariate_normal"}


def test_all_laws_have_parameters_here():
    assert set(_LAWS) <= set(PARAMETERS) | SEVERAL


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_draws_have_pytensors_dims_and_quartiles(name):
    import ppl as pm

    def drawn(m):
        first, *rest = PARAMETERS[name] or (None,)
        wide = [] if first is None else [m.as_xtensor(np.array([first, first]), dims="a"), *rest]
        return getattr(m.random, name)(*wide, extra_dims={"z": 4000})

    ours, real = drawn(own), drawn(theirs)
    assert ours.dims == real.dims
    mine = pm.draw(ours, random_seed=3)
    ends = [np.quantile(x, [0.25, 0.5, 0.75], axis=0) for x in (mine, real.eval())]
    spread = np.std(np.clip(mine, *np.quantile(mine, [0.02, 0.98])))
    np.testing.assert_allclose(*ends, atol=1.01 if mine.dtype.kind == "i" else 0.15 * spread + 1e-9)


def eye(m):
    return m.as_xtensor(np.eye(3), dims=("k", "l"))


def test_draws_of_vectors_have_pytensors_dims():
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    for build in [
        lambda m: m.random.categorical(m.as_xtensor(p, dims=("a", "k")), core_dims="k"),
        lambda m: m.random.categorical(m.as_xtensor(p.T, dims=("k", "a")), core_dims="k", extra_dims={"z": 4}),
        lambda m: m.random.dirichlet(m.as_xtensor(p, dims=("a", "k")), core_dims=("k",)),
        lambda m: m.random.multinomial(m.as_xtensor([3, 4], dims="a"), m.as_xtensor(p, dims=("a", "k")), core_dims="k"),
        lambda m: m.random.multivariate_normal(m.as_xtensor(p, dims=("a", "k")), eye(m),
                                               core_dims=("k", "l"), extra_dims={"z": 2}),
        lambda m: m.random.multivariate_normal(m.as_xtensor(p, dims=("a", "k")), eye(m),
                                               core_dims=("l", "k")),
    ]:  # fmt: skip
        ours, real = build(own), build(theirs)
        assert ours.dims == real.dims
        assert ours.type.shape == real.eval().shape
        assert ours.eval().shape == real.eval().shape
