"""Helpers of PyMC and PyTensor that packages use, by the paths they import them from."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import scipy.special
import scipy.stats

import ppl as pm
import ppl.tensor as pt
from ppl.alias import datasets, dist_math, graphs, sparse, starts, value_names
from ppl.alias.classes import Constant, TensorLike
from ppl.alias.recording import MultiTrace, NDArray
from ppl.alias.testing import mock_sample, mock_sample_setup_and_teardown


@pytest.fixture
def model():
    with pm.Model(coords={"k": ["a", "b"]}) as model:
        x = pm.Data("x", [1.0, 2.0], dims="k")
        a = pm.HalfNormal("a")
        b = pm.Deterministic("b", a * x, dims="k")
        pm.Normal("y", b, 1.0, observed=[1.0, 2.0], dims="k")
    return model


def test_names_of_values(model):
    names = [v.name for v in model.unobserved_value_vars]
    assert names == ["a_log__", "a", "b"]
    assert [v.name for v in value_names.get_default_varnames(model.unobserved_value_vars, False)] == ["a", "b"]
    assert value_names.get_untransformed_name("my_a_log__") == "my_a"
    with pytest.raises(ValueError, match="a is not the name of a transformed value"):
        value_names.get_untransformed_name("a")


def test_classes_for_isinstance_and_annotations():
    x = pt.dscalar("x")
    kinds = pt.TensorVariable | Constant | float
    assert isinstance(x, kinds) and isinstance(2.0, kinds) and not isinstance("x", kinds)
    assert isinstance(pt.constant(1.0), Constant) and not isinstance(x, Constant)
    assert isinstance(np.ones(2), TensorLike) and not isinstance("x", TensorLike)
    assert Constant(x.type, 3).eval() == 3.0


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("Normal", ["mu", "sigma", "tau"]),
        ("Gamma", ["alpha", "beta", "mu", "sigma"]),
        ("MvNormal", ["mu", "cov"]),
        ("Binomial", ["n", "p", "logit_p"]),
        ("Truncated", ["dist", "lower", "upper", "max_n_steps"]),
    ],
)
def test_signatures_name_the_parameters(family, names):
    cls = getattr(pm, family)
    assert inspect.getfullargspec(cls.dist).args == ["cls", *names]
    assert list(inspect.signature(cls).parameters)[: len(names) + 1] == ["name", *names]
    assert inspect.signature(cls.dist).parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY


def test_every_family_has_a_signature():
    for family in pm.distributions.FAMILIES.values():
        assert inspect.signature(family.dist).parameters and inspect.signature(family).parameters


def test_step_methods_are_a_list():
    assert isinstance(pm.STEP_METHODS, list) and pm.NUTS in pm.STEP_METHODS


def test_functions_of_densities():
    x = np.array([0.5, 2.0, 7.0])
    np.testing.assert_allclose(dist_math.factln(x).eval(), scipy.special.gammaln(x + 1))
    np.testing.assert_allclose(dist_math.betaln(x, 2.0).eval(), scipy.special.betaln(x, 2.0))
    np.testing.assert_allclose(dist_math.binomln(7.0, x).eval(), np.log(scipy.special.binom(7.0, x)))
    np.testing.assert_allclose(dist_math.logpow(x, 3.0).eval(), 3 * np.log(x))
    assert dist_math.logpow(0.0, 0.0).eval() == 0 and dist_math.logpow(0.0, 1.0).eval() == -np.inf
    np.testing.assert_allclose(dist_math.normal_lcdf(1.0, 2.0, x).eval(), scipy.stats.norm(1, 2).logcdf(x))
    np.testing.assert_allclose(dist_math.normal_lccdf(1.0, 2.0, x).eval(), scipy.stats.norm(1, 2).logsf(x))
    np.testing.assert_array_equal(dist_math.check_parameters(pt.as_tensor(x), x > 0, True).eval(), x)
    assert np.all(dist_math.check_parameters(pt.as_tensor(x), x > 1).eval() == -np.inf)
    assert np.isnan(dist_math.check_icdf_value(pt.as_tensor(1.0), 2.0).eval())


def test_products_with_sparse_matrices():
    matrix = scipy.sparse.random(6, 4, 0.4, format="csr", random_state=1)
    y, b = pt.dmatrix("y"), np.arange(12.0).reshape(4, 3)
    product = sparse.structured_dot(matrix, y)
    assert isinstance(product.owner.op, sparse.StructuredDot)
    np.testing.assert_allclose(product.eval({y: b}), matrix @ b)
    np.testing.assert_allclose(sparse.dot(sparse.as_sparse_variable(matrix), b[:, 0]).eval(), matrix @ b[:, 0])
    np.testing.assert_allclose(pm.grad(product.sum(), y).eval({y: b})[:, 0], np.asarray(matrix.sum(axis=0)).ravel())


def test_walks_and_constants():
    x, n = pt.dscalar("x"), pm.shared(2.0, "n")
    y = pt.exp(x * n) + 1.0
    assert list(graphs.explicit_graph_inputs([y])) == [x]
    assert set(graphs.graph_inputs([y], blockers=[x * n])) == {pt.constant(1.0)}
    assert y in set(graphs.ancestors([y])) and graphs.variable_depends_on(y, [x])
    assert graphs.io_toposort([x], [y])[-1] is y
    assert next(graphs.walk([y], lambda node: node.inputs)) is y
    assert graphs.constant_fold([pt.constant(2.0) * 3.0, 4]) == (6.0, 4)
    with pytest.raises(graphs.NotConstantValueError, match="depends on what is not constant"):
        graphs.constant_fold([x])


def test_datasets_of_draws(model):
    assert set(datasets.find_observations(model)) == {"y"} and set(datasets.find_constants(model)) == {"x"}
    coords, dims = datasets.coords_and_dims_for_inferencedata(model)
    assert list(coords["k"]) == ["a", "b"] and dims["y"] == ["k"]
    with model:
        posterior = pm.sample(20, chains=2, progressbar=False, random_seed=1).posterior
    found = datasets.apply_function_over_dataset(
        lambda point: [point["b"] * 2, point["a"]], posterior[["a", "b"]],
        output_var_names=["double", "same"], coords=coords, dims={"double": ["k"]},
    )  # fmt: skip
    assert found["double"].dims == ("chain", "draw", "k") and list(found.k.values) == ["a", "b"]
    np.testing.assert_allclose(found["double"].sel(k="b"), 4 * posterior["a"])


def test_points_recorded_by_hand(model):
    with model:
        chain = NDArray(name="by hand")
    chain.setup(3, 0)
    for value in (0.0, 0.5, 1.0):
        chain.record({"a_log__": np.array(value)})
    trace = MultiTrace([chain])
    assert isinstance(trace, MultiTrace) and isinstance(trace, pm.MultiTrace)
    result = pm.to_inference_data(trace, model=model)
    np.testing.assert_allclose(result.posterior["b"].sel(k="b")[0], 2 * np.exp([0.0, 0.5, 1.0]))


def test_starting_points(model):
    start = starts.make_initial_point_fn(model=model, return_transformed=False)(None)
    assert set(start) == {"a"} and start["a"] == 1.0
    assert set(starts.make_initial_point_fn(model=model)(1)) == {"a_log__"}
    with pytest.raises(NotImplementedError, match="jitter_rvs is not there yet"):
        starts.make_initial_point_fn(model=model, jitter_rvs=[1])


def test_the_stand_in_for_sampling(model):
    result = mock_sample(draws=5, chains=2, model=model, random_seed=1, var_names=["a"])
    assert dict(result.posterior.sizes) == {"chain": 2, "draw": 5} and list(result.posterior) == ["a"]
    stats = mock_sample(draws=5, model=model, sample_stats={"diverging": np.zeros}).sample_stats
    assert stats["diverging"].shape == (1, 5)
    before = pm.sample, pm.Flat
    fixture = mock_sample_setup_and_teardown()
    next(fixture)
    assert pm.sample is mock_sample and pm.Flat is pm.Normal
    with pytest.raises(StopIteration):
        next(fixture)
    assert (pm.sample, pm.Flat) == before
