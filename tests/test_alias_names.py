"""Helpers of PyMC and PyTensor that packages use, by the paths they import them from."""

import inspect

import numpy as np
import pytest
import scipy.sparse
import scipy.special
import scipy.stats

import ppl as pm
import ppl.tensor as pt
from ppl.alias import datasets, dist_math, graphs, sizes, sparse, starts, value_names
from ppl.alias.classes import Constant, TensorLike
from ppl.alias.own_families import _default_transform, _support_point, support_point
from ppl.alias.recording import MultiTrace, NDArray
from ppl.alias.testing import mock_sample, mock_sample_setup_and_teardown
from ppl.distributions.transforms import Transform


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


def test_a_chain_is_recorded_with_its_statistics():
    with pm.Model():
        pm.Normal("x", shape=2)
        chains = [NDArray(), NDArray()]
    kinds = [{"a": float, "b": bool}, {"a": float}]
    for number, chain in enumerate(chains):
        chain.setup(3, number, kinds)
        for i in range(3):
            stats = [{"a": i, "b": True}, {"a": 10.0 * i}]
            chain.record({"x": np.full(2, float(i))}, stats, in_warmup=False)
        chain.close()
    assert chains[0].get_values("x", burn=1).tolist() == [[1, 1], [2, 2]] and chains[0].var_shapes == {"x": (2,)}
    assert chains[0].get_sampler_stats("a").tolist() == [[0, 0], [1, 10], [2, 20]]
    assert chains[0].get_sampler_stats("b").dtype == bool and chains[0].point(2)["x"].tolist() == [2, 2]
    trace = MultiTrace(chains)
    assert trace.stat_names == {"a", "b"} and trace.get_sampler_stats("b", chains=1).all() and len(trace) == 3
    with pytest.raises(ValueError, match="where, and only where"):
        chains[0].record({"x": np.zeros(2)})
    with pytest.raises(ValueError, match="other statistics than before"):
        chains[0].setup(3, 0)
    with pytest.raises(ValueError, match="'a' has another type"):
        NDArray(model=chains[0].model).setup(3, 0, [{"a": float}, {"a": bool}])
    with pytest.raises(ValueError, match="the same number"):
        MultiTrace([chains[0], chains[0]])


def test_points_of_any_dataset():
    xarray = pytest.importorskip("xarray")
    draws = xarray.DataArray(np.zeros((4, 10, 0, 5)), dims=("chain", "draw", "i", "j"))
    points, of_draws = datasets.dataset_to_point_list(xarray.Dataset({"x": draws}))
    assert len(points) == 40 and points[0]["x"].shape == (0, 5) and of_draws["draw"].size == 10
    points, _ = datasets.dataset_to_point_list({"a": xarray.DataArray([[1, 2]], dims=("chain", "draw"))})
    assert len(points) == 2 and isinstance(points[0]["a"], np.ndarray)
    with pytest.raises(ValueError, match="must be str"):
        datasets.dataset_to_point_list({3: draws})


def test_where_draws_start_and_how_they_move_by_pymcs_functions():
    assert support_point(pm.HalfFlat.dist(size=(2, 3))).eval().tolist() == np.ones((2, 3)).tolist()
    x = pm.HalfNormal.dist()
    assert _default_transform(x.owner.op, x).name == "log"
    assert _support_point(x.owner.op, x, *x.owner.inputs).eval() == 1.0


def test_a_transform_without_a_formula_is_differentiated():
    class Root(Transform):
        name = "square"

        def backward(self, value, *inputs):
            return pt.sqrt(value)

    v = pt.dvector("v")
    np.testing.assert_allclose(Root().log_jac_det(v).eval({v: [9.0, 16.0]}), -np.log([6.0, 8.0]))
    Root.ndim_supp = 1
    np.testing.assert_allclose(Root().log_jac_det(v).eval({v: [9.0, 16.0]}), -np.log(6.0 * 8.0))
    with pytest.raises(NotImplementedError, match="not single vectors"):
        Root().log_jac_det(pt.dmatrix("m"))


def test_a_deterministic_moves_what_it_follows_from():
    with pm.Model() as model:
        x, y = pm.Normal("x"), pm.Normal("y")
        apart = pm.Normal("apart", 1.0)
        total = pm.Deterministic("total", x + y)
        pm.Normal("z", total, 1e-3, observed=10.0)
    with pytest.warns(UserWarning, match="total follows from other variables, and these are moved: x, y"):
        found = pm.find_MAP({"apart": 7.0}, vars=[total], model=model, progressbar=False)
    np.testing.assert_allclose([found["x"], found["total"], found["apart"]], [5.0, 10.0, 7.0], rtol=1e-4)
    assert apart in model.free_RVs


def test_lengths_of_axes_that_belong_together():
    find = sizes.get_support_shape_1d
    assert find(10, support_shape_offset=1) == 10 and find(None) is None
    assert find(10, shape=(5, 11), support_shape_offset=1) == 10
    assert find(None, observed=np.zeros((2, 4)), support_shape_offset=1) == 3
    with pm.Model(coords={"i": range(3), "j": range(4)}):
        assert sizes.get_support_shape(None, dims=("i", "j"), ndim_supp=2).eval().tolist() == [3, 4]
    with pytest.raises(AssertionError, match="support_shape does not match"):
        find(10, shape=(5,))
    assert sizes.implicit_size_from_params(pt.zeros((5, 1)), np.zeros((3, 3)), ndims_params=[1, 2]).eval() == [5]
    with pytest.raises(ValueError, match="tuple, str or list"):
        sizes.convert_dims(3)
