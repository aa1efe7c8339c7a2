"""Transforms of vectors: there and back, the Jacobian against differentiation, values against PyMC's."""

import jax
import numpy as np
import pytest

import ppl.compile  # noqa: F401  (x.eval)
import ppl.distributions as pd
import ppl.tensor as tt
from ppl.distributions import transforms
from ppl.distributions.transforms import default_transform

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(9)
LOW = np.array([0.0, -1, 2])


def lkj_corr():
    rv = pd.LKJCorr.dist(3, 2.0)
    return default_transform(rv.family, rv.parameters)


# name: the transform, an unconstrained value, the name in PyMC
CASES = {
    "simplex": (transforms.simplex, RNG.normal(size=4), lambda t: t.simplex),
    "ordered": (transforms.ordered, RNG.normal(size=4), lambda t: t.ordered),
    "positive ordered": (transforms.Ordered(positive=True), RNG.normal(size=4), lambda t: t.Ordered(positive=True)),
    "ordered by place": (transforms.Ordered(True, False), RNG.normal(size=4), lambda t: t.Ordered(True, False)),
    "descending": (transforms.Ordered(ascending=False), RNG.normal(size=4), lambda t: t.Ordered(ascending=False)),
    "sum_to_1": (transforms.sum_to_1, np.array([0.2, 0.5, 0.1]), lambda t: t.sum_to_1),
    "zerosum": (transforms.ZeroSumTransform([-1]), RNG.normal(size=4), lambda t: t.ZeroSumTransform([-1])),
    "zerosum two axes": (
        transforms.ZeroSumTransform([-2, -1]),
        RNG.normal(size=(2, 3)),
        lambda t: t.ZeroSumTransform([-2, -1]),
    ),
    "cholesky-cov-packed": (transforms.CholeskyCovPacked(3), RNG.normal(size=6), lambda t: t.CholeskyCovPacked(3)),
    "correlations": (lkj_corr(), RNG.normal(size=3), None),
    "interval of vectors": (
        transforms.Interval(np.array([0.0, -1, 2]), np.array([1.0, 1, 5])),
        RNG.normal(size=3),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_there_and_back(case):
    transform, u, _ = CASES[case]
    x = transform.backward(u)
    np.testing.assert_allclose(transform.forward(x).eval(), u, rtol=1e-10, atol=1e-10)
    for batch in ((2,), (2, 3)):
        stack = RNG.normal(size=(*batch, *u.shape)) * 0.1 + u
        np.testing.assert_allclose(transform.forward(transform.backward(stack)).eval(), stack, rtol=1e-9, atol=1e-9)
        whole = transform.log_jac_det(stack).eval()
        parts = [transform.log_jac_det(v).eval() for v in stack.reshape(-1, *u.shape)]
        np.testing.assert_allclose(whole.reshape(-1, *np.shape(parts[0])), parts, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_jacobian_is_that_of_differentiation(case):
    """Of the free entries (all but the last of a simplex); of an isometry onto a plane, its volume."""
    transform, u, _ = CASES[case]
    v = tt.constant(u).type("v")
    back = tt.to_jax([v], transform.backward(v))
    with jax.enable_x64(True):
        jac = np.asarray(jax.jacobian(lambda w: back(w).ravel())(u)).reshape(-1, u.size)
    if case in ("simplex", "sum_to_1"):
        jac = jac[: u.size]
    volume = 0.5 * np.linalg.slogdet(jac.T @ jac)[1]
    np.testing.assert_allclose(transform.log_jac_det(u).eval().sum(), volume, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [name for name, (_, _, theirs) in CASES.items() if theirs])
def test_values_are_those_of_pymc(case):
    pm = pytest.importorskip("pymc")
    ours, u, name = CASES[case]
    theirs = name(pm.distributions.transforms)
    pt = pytest.importorskip("pytensor.tensor")
    value = pt.as_tensor(u)
    x = theirs.backward(value)
    for mine, other in (
        (ours.backward(u), x),
        (ours.forward(ours.backward(u)), theirs.forward(x)),
        (ours.log_jac_det(u), theirs.log_jac_det(value)),
    ):
        np.testing.assert_allclose(mine.eval(), other.eval(mode="FAST_COMPILE"), rtol=1e-7, atol=1e-10)
    assert ours.name == theirs.name


def test_a_large_entry_off_the_diagonal_leaves_the_gradient_finite():
    u = tt.dvector("u")
    x = transforms.CholeskyCovPacked(2).backward(u)
    slope = tt.grad(tt.sum(x), u).eval({u: np.array([0.0, 1000.0, 0.0])})
    np.testing.assert_allclose(slope, np.ones(3))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: pd.Dirichlet.dist(np.ones(3)), "simplex"),
        (lambda: pd.StickBreakingWeights.dist(1.0, 3), "simplex"),
        (lambda: pd.ZeroSumNormal.dist(1.0, shape=3), "zerosum"),
        (lambda: pd.LKJCorr.dist(3, 1.0), "interval"),
        (lambda: pd.LKJCholeskyCov.dist(1.0, 3, pd.HalfNormal.dist(1.0), compute_corr=False), "cholesky-cov-packed"),
    ],
)
def test_default_transforms(make, name):
    rv = make()
    assert default_transform(rv.family, rv.parameters).name == name


@pytest.mark.parametrize("make", [
    lambda: pd.MvNormal.dist(0, np.eye(3)), lambda: pd.MvStudentT.dist(3.0, scale=np.eye(3)),
    lambda: pd.Multinomial.dist(3, [0.5, 0.5]), lambda: pd.GARCH11.dist(1.0, 0.1, 0.1, 1.0, steps=3),
])  # fmt: skip
def test_no_transform(make):
    rv = make()
    assert default_transform(rv.family, rv.parameters) is None


# --- the loops of samplers stay one kernel
def test_densities_of_small_matrices_lower_to_no_library_call_and_no_scatter():
    u = tt.tensor("u", shape=(6,), dtype="float64")
    rv = pd.LKJCholeskyCov.dist(2.0, 3, pd.HalfNormal.dist(1.0), compute_corr=False)
    transform = default_transform(rv.family, rv.parameters)
    x = transform.backward(u)
    chol = tt.expand_packed_triangular(3, x)
    data = pd.MvNormal.dist(0.0, chol @ chol.mT)
    value = rv.family.log_density(x, *rv.parameters, checked=False) + transform.log_jac_det(u)
    value = value + tt.sum(data.family.log_density(RNG.normal(size=(20, 3)), *data.parameters, checked=False))
    with jax.enable_x64(True):
        compiled = jax.jit(jax.grad(tt.to_jax([u], value))).lower(np.zeros(6)).compile().as_text()
    assert "custom-call(" not in compiled
    assert " scatter(" not in compiled
