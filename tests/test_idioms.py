"""What programs written for PyMC do every day works here too, with a warning where something is doubtful."""

from io import BytesIO

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as pt

FEW = {"draws": 20, "tune": 20, "chains": 1, "random_seed": 1, "progressbar": False, "quiet": True,
       "compute_convergence_checks": False}  # fmt: skip


# --- dimensions


def test_a_shape_brings_its_dimensions():
    with pm.Model(coords={"known": ["a", "b"]}) as model:
        pm.Normal("x", shape=3, dims="new")
        pm.Normal("y", size=2, dims="other")
        pm.Normal("z", np.zeros((2, 4)), 1, shape=(2, 4), dims=("known", "third"))
        pm.Normal("w", 0, 1, observed=[1.0, 2.0], shape=2, dims="row")
        pm.MvNormal("v", np.zeros(3), np.eye(3), size=2, dims=("stack", "entry"))
    lengths = {name: int(length.eval()) for name, length in model.dim_lengths.items()}
    assert lengths == {"known": 2, "new": 3, "other": 2, "third": 4, "row": 2, "stack": 2, "entry": 3}
    assert pm.sample_prior_predictive(2, model=model).prior["z"].dims == ("chain", "draw", "known", "third")


def test_a_dimension_of_another_length_is_told_and_the_results_hold_all_values():
    with pm.Model(coords={"row": ["a", "b"], "k": range(4)}) as model:
        x = pm.Normal("x", shape=(2, 3))
        with pytest.warns(UserWarning, match="\"p\": axis 1 has length 3, but dimension 'k' has length 4"):
            pm.Deterministic("p", 2 * x, dims=("row", "k"))
        pm.Normal("y", dims="k")
        prior = pm.sample_prior_predictive(2, random_seed=1).prior
    assert model.named_vars_to_dims["p"] == ("row", "k")
    assert prior["p"].dims == ("chain", "draw", "row", "p_dim_1") and prior["y"].dims == ("chain", "draw", "k")


def test_a_name_may_be_that_of_a_dimension_and_of_a_variable():
    with pm.Model(coords={"gender": ["f", "m"], "row": range(3)}):
        at = pm.Data("gender", [0, 1, 1], dims="row")
        effect = pm.Normal("effect", dims="gender")
        pm.Normal("y", effect[at], 1, observed=np.zeros(3), dims="row")
        results = pm.sample(**FEW)
    assert results.posterior["effect"].coords["gender"].values.tolist() == ["f", "m"]
    assert results.constant_data["gender"].values.tolist() == [0, 1, 1]


# --- data and constants that are doubtful


def test_fractions_of_counts_are_cut_off_with_a_warning_that_shows_them():
    with pm.Model() as model:
        with pytest.warns(UserWarning, match="got 19.999998 at position 0, which is taken for 19"):
            pm.Poisson("y", 3.0, observed=[19.999998, 2.0])
        with pytest.warns(UserWarning, match="Mixture.*got 8.3 at position 0"):
            pm.Mixture("z", [0.3, 0.7], pm.Poisson.dist([3.0, 8.0]), observed=[8.3])
        with pytest.warns(UserWarning, match='Binomial "b": n must be .* got 10.5: its whole part'):
            pm.Binomial("b", 10.5, 0.5, observed=3)
    expected = pm.logp(pm.Poisson.dist(3.0), [19, 2]).sum().eval()
    assert np.isclose(model.point_logps(round_vals=10)["y"], expected)


def test_a_law_that_is_none_has_no_density_and_is_not_sampled():
    """The rewriter integrates a variable out by formulas that hold for laws alone."""
    with pm.Model() as model:
        x = pm.Normal("x")
        with pytest.warns(UserWarning, match='Normal "y": sigma must be positive, got -1.0'):
            pm.Normal("y", x, -1.0, observed=[1.0])
        assert model.compile_logp()({"x": 0.0}) == -np.inf
        with pytest.raises(pm.SamplingError, match=r"sigma must be positive, got -1\.0"):
            pm.sample(**FEW)


def test_data_outside_the_support_have_density_zero_and_are_not_sampled():
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2.0, 1.0)
        with pytest.warns(UserWarning, match="-2.* outside the support.*log-density of the model is -inf"):
            pm.Gamma("y", 2.0, rate, observed=[-2.0, 1.0])
        with pytest.raises(pm.SamplingError, match="outside the support"):
            pm.sample(**FEW)
        assert model.compile_logp()(model.initial_point()) == -np.inf
        with pytest.raises(pm.SamplingError, match="outside the support"):
            pm.explain(model)


def test_copies_of_a_model_do_not_forget_that_its_data_cannot_be():
    with pm.Model() as model:
        mu = pm.Normal("mu")
        with pytest.warns(UserWarning, match="outside the support"):
            pm.LogNormal("y", mu, 1, observed=[-1.0, 2.0])
    for each in (model.copy(), pm.freeze_dims_and_data(model)):
        with pytest.raises(pm.SamplingError, match="outside the support"):
            pm.sample(model=each, **FEW)


def test_a_predictor_that_is_mended_is_sampled():
    with pm.Model():
        slope, x = pm.Normal("slope"), pm.Data("x", [1.0, np.nan])
        with pytest.warns(UserWarning, match="mu is computed from an array .* nan at position 1"):
            pm.Normal("y", slope * x, 1, observed=[1.0, 2.0])
        with pytest.raises(pm.SamplingError, match="nan at position 1"):
            pm.sample(**FEW)
        with pytest.raises(ValueError, match="must stay where they were"):
            pm.set_data({"x": [1.0, 2.0]})


def test_data_that_are_mended_are_sampled_again():
    with pm.Model():
        mu = pm.Normal("mu")
        data = pm.Data("data", [1.0, 2.0])
        pm.LogNormal("y", mu, 1, observed=data)
        with pytest.warns(UserWarning, match="outside the support"):
            pm.set_data({"data": [-1.0, 2.0]})
        with pytest.raises(pm.SamplingError, match="outside the support"):
            pm.sample(**FEW)
        pm.set_data({"data": [3.0, 2.0]})
        assert np.isfinite(pm.sample(**FEW).posterior["mu"]).all()


# --- arguments


def test_arguments_of_pymc_that_have_no_effect_are_told():
    with pm.Model():
        pm.Normal("x")
        for make, name in (
            (lambda: pm.NUTS(scaling=np.ones(1)), "NUTS: scaling="),
            (lambda: pm.NUTS(initial_point={"x": 0.0}), "NUTS: initial_point="),
            (lambda: pm.Metropolis(rng=np.random.default_rng(1)), "Metropolis: rng="),
            (lambda: pm.Normal.dist(rng=np.random.default_rng(1)), "Normal: rng="),
        ):
            with pytest.warns(UserWarning, match=f"{name} has no effect"):
                make()
    with pytest.warns(UserWarning, match="config.cxx = 'g' has no effect"), pm.config.change_flags(cxx="g"):
        assert pm.config.cxx == "g"
    assert pm.config.cxx == "" and pm.config.mode == "Mode"


def test_arguments_of_pymc_that_mean_something_are_heeded():
    with pm.Model():
        count = pm.Poisson("count", 3.0)
        pm.Normal("y", count, 1, observed=[1.0])
        still = pm.sample(**FEW, metropolis={"scaling": 0.0}, init=None, rewrite=False)
        with pytest.raises(ValueError, match="Unused step method arguments: binary_gibbs_metropolis"):
            pm.sample(**FEW, binary_gibbs_metropolis={"transit_p": 0.5}, rewrite=False)
    assert len(np.unique(still.posterior["count"])) == 1
    with pm.Model():
        pm.HalfNormal("s")
        for warm_up in (True, False):
            kept = pm.sample(**FEW, discard_tuned_samples=False, idata_kwargs={"save_warmup": warm_up}, rewrite=False)
            assert hasattr(kept, "warmup_posterior") is warm_up
        assert pm.Data("d", np.ones((3, 1)), shape=(None, 1)).type.shape == (None, 1)
        assert pm.HamiltonianMC(step_scale=0.3).step_scale == 0.3
    assert np.allclose(pt.linalg.solve(np.eye(2), np.ones(2), check_finite=False).eval(), 1)
    assert pm.MvNormal.dist(np.zeros(2), np.eye(2), method="svd").eval().shape == (2,)


def test_a_density_beside_an_expression_comes_first():
    def dist(mu, size):
        return pm.Normal.dist(mu, 1, size=size)

    with pm.Model() as model:
        pm.CustomDist("x", 1.0, dist=dist, logp=lambda x, mu: -((x - mu) ** 2))
        y = pm.CustomDist("y", 1.0, dist=dist, logp=lambda x, mu: -((x - mu) ** 2), observed=[1.0, 2.0])
    assert model.compile_logp()({"x": 3.0}) == -5.0 and pm.draw(y).shape == (2,)


def test_weights_and_locations_of_a_mixture_may_be_data():
    with pm.Model() as model:
        w, mu = pm.Data("w", [0.3, 0.7]), pm.Data("mu", [0.0, 3.0])
        x = pm.NormalMixture("x", w=w, mu=mu, sigma=1.0, observed=np.zeros(4))
    assert pm.draw(x).shape == (4,)
    density = 0.3 * np.exp(-0.0) + 0.7 * np.exp(-4.5)
    assert np.isclose(model.compile_logp()({}), 4 * np.log(density / np.sqrt(2 * np.pi)))


def test_a_simulator_may_give_a_number():
    with pm.Model():
        x = pm.Simulator("x", lambda rng, a, b, size: 3.0, 0, 1)
    assert x.eval() == 3.0


def test_dimensions_of_a_labeled_array_without_labels_are_counted():
    xr = pytest.importorskip("xarray")
    with pm.Model() as model:
        pm.Data("x", xr.DataArray([[1, 2, 3], [4, 5, 6]], dims=("y", "z")), infer_dims_and_coords=True, strict=True)
    assert model.coords == {"y": (0, 1), "z": (0, 1, 2)} and model.named_vars_to_dims == {"x": ("y", "z")}


# --- results and functions


def test_whole_numbers_that_are_observed_are_constant_data_as_in_pymc():
    """Also where nothing else asks for them, their length neither."""
    with pm.Model(coords={"row": range(3)}):
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="row")
        seen, measured = pm.Data("seen", np.array([1, 2, 3])), pm.Data("measured", np.array([1.0, 2.0, 3.0]))
        rate = pm.Exponential("rate", 1) * x
        pm.Poisson("y", rate, observed=seen, dims="row")
        pm.Normal("z", rate, observed=measured, dims="row")
        results = pm.sample(**FEW)
        predicted = pm.sample_posterior_predictive(results, progressbar=False)
    assert sorted(results.constant_data) == sorted(predicted.constant_data) == ["seen", "x"]


def test_observed_data_are_constant_data_too():
    with pm.Model():
        counts = pm.Data("counts", [1, 2, 3])
        pm.Poisson("y", pm.Gamma("rate", 2, 1), observed=counts)
        results = pm.sample(**FEW)
        assert list(results.constant_data) == ["counts"] and list(results.observed_data) == ["y"]
        predicted = pm.sample_posterior_predictive(results, predictions=True, progressbar=False)
        assert list(predicted.predictions_constant_data) == ["counts"]
        made = pm.predictions_to_inference_data({"y": np.zeros((1, 20, 3))}, posterior_trace=results)
    assert hasattr(made, "posterior") and hasattr(made, "predictions")


def test_nothing_observed_is_nothing_drawn():
    with pm.Model():
        pm.Normal("x")
        results = pm.sample(**FEW)
        assert pm.sample_posterior_predictive(results, progressbar=False, return_inferencedata=False) == {}


def test_a_trace_knows_variables_and_its_run():
    with pm.Model():
        x = pm.Normal("x")
        trace = pm.sample(**FEW, return_inferencedata=False, rewrite=False)
    assert trace.get_values(x).shape == (20,)
    assert (trace.report.n_draws, trace.report.n_tune, trace.report.ok) == (20, 20, True)


def test_a_function_draws_random_variables_anew_and_together():
    x = pm.Normal.dist(size=2)
    f = pm.function([], [x, x + 1])
    (a, b), (c, _) = f(), f()
    assert np.allclose(a + 1, b) and not np.allclose(a, c)
    s = pt.dscalar("s")
    draw = pm.function([s], pm.Normal.dist(0, s, size=3))
    assert draw(1e-9) == pytest.approx(np.zeros(3), abs=1e-6)
    with pytest.raises(Exception, match="Normal: its parameters are outside their domains"):
        draw(-1.0)
    assert x.clone().type == x.type and not x.clone().inputs


def test_results_may_be_written_to_and_whole_numbers_come_in_any_dtype():
    with pm.Model() as model:
        pm.Poisson("x", 2.0, shape=2)
        pm.Bernoulli("b", 0.5)
    point = model.initial_point()
    point["x"][0] = 1
    values = pm.function([], 2 * pt.ones(3))()
    values[0] = 5.0
    logp = model.compile_logp()
    assert logp({"x": np.ones(2), "b": 1.0}) == logp({"x": np.ones(2, int), "b": 1})
    with pytest.raises(TypeError, match="dtype"):
        logp({"x": np.array([0.5, 1.0]), "b": 1})
    i, truth = pt.iscalar("i"), pt.scalar("truth", dtype="bool")
    assert pm.function([i], i + 1)(np.int64(2)) == 3 and not pm.function([truth], ~truth)(1)


def test_derivatives_of_pytensorf_are_matrices():
    x, y = pt.dvector("x"), pt.dscalar("y")
    f, at = pt.sum(x**2) * y, {x: np.ones(2), y: 3.0}
    assert pm.pytensorf.jacobian(x * y, [x, y]).eval(at) == pytest.approx(np.array([[3, 0, 1], [0, 3, 1]]))
    second = np.array([[6, 0, 2], [0, 6, 2], [2, 2, 0]])
    assert pm.pytensorf.hessian(f, [x, y], negate_output=False).eval(at) == pytest.approx(second)
    assert pm.pytensorf.hessian(f, [x, y]).eval(at) == pytest.approx(-second)
    assert pm.pytensorf.gradient(f, [x]).eval(at) == pytest.approx(np.full(2, 6.0))


def test_errors_are_of_pymcs_types():
    with pm.Model() as model:
        x = pm.HalfNormal("x")
        pm.Normal("y", x, 1, observed=[1.0])
        with pytest.raises(pm.SamplingError, match="start -1"):
            pm.sample(**FEW, initvals={"x": -1.0}, rewrite=False)
        with pytest.raises(TypeError, match="'x' is no Data"):
            model.set_data("x", 1.0)
        with pytest.raises(ValueError, match="x is no observed variable"):
            pm.compute_log_likelihood(pm.sample(**FEW), var_names=["x"])
    with pytest.raises(ValueError, match="not of draws"):
        pm.Minibatch(pm.Normal.dist(size=10), batch_size=2)


def test_more_expressions_have_densities():
    assert pm.logp(pt.specify_shape(pm.Normal.dist(size=2), (2,)), np.zeros(2)).eval().shape == (2,)
    law, x = pm.math.log1mexp(-pm.Exponential.dist(1.0)), -0.7
    # 1 - exp(-e) is uniform for a standard exponential e, so that its logarithm has the density exp(x)
    assert np.isclose(pm.logp(law, x).eval(), x) and pm.logp(law, 0.5).eval() == -np.inf
    with pm.Model():
        assert pm.draw(pm.AR("walk", rho=[0.5], steps=0, init_dist=pm.Normal.dist(0, 1))).shape == (1,)


def test_nodes_of_pictures_are_formatted_by_pymcs_kinds():
    graphviz = pytest.importorskip("graphviz")
    with pm.Model() as model:
        pm.Normal("x")
    label = {"Free Random Variable": lambda x: {"label": f"<{x.name}>"}}
    assert isinstance(picture := pm.model_to_graphviz(model, node_formatters=label), graphviz.Digraph)
    assert picture.body == ["\tx [label=<x>]\n"]
    assert dict(pm.model_to_networkx(model, node_formatters=label).nodes) == {"x": {"label": "<x>"}}


# --- what a program of an earlier version says


def test_labels_that_may_change_by_their_former_argument():
    with pm.Model(coords={"row": ["a", "b"]}, coords_mutable={"group": [1, 2, 3]}) as model:
        pm.Normal("x", dims=("row", "group"))
    assert model["x"].type.shape == (2, 3) and list(model.coords["group"]) == [1, 2, 3]


def test_a_mode_with_what_is_computed_there_is_a_start():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.Deterministic("twice", 2 * mu)
        pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    mode = pm.find_MAP(model=model, progressbar=False)
    assert "twice" in mode
    assert pm.sample(model=model, initvals=mode, **FEW).posterior["mu"].shape == (1, 20)
    with pytest.raises(KeyError, match="no free variable 'twise'"):
        pm.sample(model=model, initvals={"twise": 1.0}, **FEW)


def test_example_data_are_downloaded_and_their_absence_is_told(monkeypatch):
    asked = []

    def answer(url, timeout):
        asked.append(url)
        if "absent" in url:
            raise OSError("not found")
        return BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr("urllib.request.urlopen", answer)
    assert pm.get_data("some file.csv").read() == b"a,b\n1,2\n"
    assert asked == ["https://raw.githubusercontent.com/pymc-devs/pymc-examples/main/examples/data/some%20file.csv"]
    with pytest.raises(OSError, match=r"get_data\('absent.csv'\).*not found.*Read it from disk"):
        pm.get_data("absent.csv")


def test_known_lengths_are_evaluated_as_unknown_ones_are():
    x = pt.as_tensor(np.zeros((3, 2)))
    assert x.shape[0].eval() == 3 and x.size.eval() == 6 and (2 * x.shape[0] - 1).eval() == 5
    assert isinstance(x.shape[0], int) and x.shape[0].astype("float64").dtype == "float64"
    assert x.shape[0] // 2 == 1 and x.shape[1] * [1] == [1, 1]


def test_the_curvature_of_values_that_are_no_longer_transformed():
    """Ports of Statistical Rethinking take transforms away and rename the values, for the Hessian of what they mean."""
    y = np.random.default_rng(0).normal(3, 2, 50)
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 10), pm.Uniform("sigma", 0, 50)
        pm.Deterministic("twice", 2 * mu)
        pm.Normal("y", mu, sigma, observed=y)
    mode = pm.find_MAP(model=model, progressbar=False)
    for rv in model.unobserved_RVs:
        model.rvs_to_transforms[rv] = None
        if rv in model.rvs_to_values:
            model.rvs_to_values[rv].name = rv.name
    m, s = float(mode["mu"]), float(mode["sigma"])
    cross = 2 * np.sum(y - m) / s**3
    expected = [[50 / s**2 + 0.01, cross], [cross, 3 * np.sum((y - m) ** 2) / s**4 - 50 / s**2]]
    np.testing.assert_allclose(pm.find_hessian(mode, vars=[mu, sigma], model=model), expected, rtol=1e-6)


def test_an_input_is_called_by_the_name_that_it_was_given_last():
    x = pt.dscalar("x")
    x.name = "z"
    assert x.name == "z" and pt.exp(x).eval({"z": 0.0}) == 1.0
