"""Running a model forwards, and densities of draws: shapes, laws, and what is resampled."""

import io
import logging

import numpy as np
import pytest
import scipy.stats

import ppl
import ppl.model as pm
from ppl.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Censored,
    Dirichlet,
    GaussianRandomWalk,
    HalfNormal,
    Laplace,
    Mixture,
    Normal,
    NormalMixture,
    VonMises,
    expand_draws,
)
from ppl.graph import ancestors
from ppl.model import bar
from ppl.model.errors import ShapeError
from ppl.model.output.results import collect, group, group_names, group_of
from ppl.model.prediction.draw_rows import RowProgram, draw_keys, over_draws
from ppl.model.prediction.pointwise import log_likelihood_values
from ppl.tensor.sampling.draws import KEY_TYPE, OF_ONE_WORD, key_fold_in
from ppl.tensor.sampling.subkeys import Subkeys
from ppl.tensor.tensor import as_tensor, placeholder
from ppl.tensor.variables import shared

X = np.linspace(-1, 1, 6)


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"side": ["left", "right"]}) as model:
        x = pm.Data("x", X, dims="row")
        slope = Normal("slope", 0, 2)
        height = Normal("height", 0, 1, dims="side")
        noise = HalfNormal("noise", 1)
        mu = pm.Deterministic("mu", height[0] + slope * x, dims="row")
        y = Normal("y", mu, noise, observed=2 * X, shape=mu.shape, dims="row")
        pm.Deterministic("double", 2 * y)
    return model


@pytest.fixture(scope="module")
def idata(model):
    rng = np.random.default_rng(3)
    values = {
        "slope": rng.normal(2, 0.1, (2, 50)),
        "height": rng.normal(0, 0.1, (2, 50, 2)),
        "noise": rng.uniform(0.5, 1, (2, 50)),
    }
    return collect({"posterior": group(model, values), "constant_data": group(model, {"x": X}, ())})


def test_every_draw_has_random_rows_of_its_own():
    x = np.arange(1000.0)
    (first, same), other = pm.Minibatch(x, -x, batch_size=3), pm.Minibatch(x, batch_size=3)
    a, b, c = pm.draw([first, same, other], 200, random_seed=1)
    assert len(np.unique(a)) > 300 and np.array_equal(a, -b) and not np.array_equal(a, c)
    assert abs(a.mean() - x.mean()) < 5 * x.std() / np.sqrt(600)
    assert np.array_equal(a, pm.draw(first, 200, random_seed=1))
    assert not np.array_equal(a, pm.draw(first, 200, random_seed=2))
    with pm.Model():
        pm.Deterministic("rows", first)
        found = pm.sample_prior_predictive(20, random_seed=1).prior.rows
    assert len(np.unique(found)) > 30


def test_draw_gives_one_value_or_many():
    x = Normal.dist(3, 2, shape=4, name="x")
    assert pm.draw(x, random_seed=1).shape == (4,)
    many, twice = pm.draw([x, 2 * x], draws=2000, random_seed=1)
    assert np.allclose(twice, 2 * many) and scipy.stats.kstest((many[:, 0] - 3) / 2, "norm").pvalue > 1e-4
    assert np.array_equal(pm.draw(x, 5, random_seed=1), pm.draw(x, 5, random_seed=1))
    assert abs(np.corrcoef(many[:, 0], many[:, 1])[0, 1]) < 0.1


def test_a_draw_does_not_depend_on_what_else_is_drawn():
    x, y = Normal.dist(name="x"), Normal.dist(name="y")
    assert pm.draw([x, y], 3, random_seed=1)[0].tolist() == pm.draw(x, 3, random_seed=1).tolist()


def test_keys_made_beforehand_give_the_draws_of_the_key_itself(monkeypatch):
    """Of draws with names and without, of several with one key, of a key that is split; and where nothing is drawn."""
    monkeypatch.setattr(
        "ppl.model.prediction.draw_rows.at_once", lambda *_, **__: None
    )  # NumPy rounds its logarithms otherwise
    scale = HalfNormal.dist(1, name="scale")
    walk = GaussianRandomWalk.dist(0, scale, init_dist=Normal.dist(0, 1), steps=2)
    outputs = [VonMises.dist(0, 1), Laplace.dist(scale, 1, shape=(2, 3)), walk * scale, as_tensor(1.0)]
    key = placeholder(KEY_TYPE, "key")
    drawn = expand_draws(outputs, key)
    given = draw_keys(1, "test", 2, 3)
    for wanted in (drawn, drawn[-1:]):
        keys = Subkeys(wanted, key)
        before = over_draws(RowProgram([keys.input], keys.outputs), [keys.of(given)])
        for one, other in zip(over_draws(RowProgram([key], wanted), [given]), before, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)  # programs round a product and a sum as one, or not
    keys = Subkeys(drawn, key)
    left = {node.op for node in ancestors(keys.outputs)}
    assert key_fold_in not in left and not OF_ONE_WORD & left, "what NumPy makes is not in the program"
    assert len(np.unique(keys.of(given))) == keys.of(given).size


def test_prior_predictive_has_the_groups_of_pymc(model, caplog):
    with caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample_prior_predictive(200, model=model, random_seed=1)
    assert list(found.prior.data_vars) == ["slope", "height", "noise", "mu", "double"]
    assert list(found.prior_predictive.data_vars) == ["y"]
    assert found.prior.height.dims == ("chain", "draw", "side") and found.prior.sizes["draw"] == 200
    assert np.allclose(found.prior.double, 2 * found.prior_predictive.y)
    expected = found.prior.height.values[..., :1] + found.prior.slope.values[..., None] * X
    assert np.allclose(found.prior.mu, expected)
    assert "Sampling: [height, noise, slope, y]" in caplog.text
    assert "observed_data" in group_names(found) and "constant_data" in group_names(found)
    arrays = pm.sample_prior_predictive(samples=7, var_names=["y"], model=model, return_inferencedata=False)
    assert arrays["y"].shape == (7, 6)


def test_posterior_predictive_follows_the_draws(model, idata, caplog):
    with caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample_posterior_predictive(idata, model=model, random_seed=2)
    assert "Sampling: [y]" in caplog.text
    assert list(found.posterior_predictive.data_vars) == ["y", "double"]
    p = idata.posterior
    mu = p.height.values[..., :1] + p.slope.values[..., None] * X
    z = (found.posterior_predictive.y.values - mu) / p.noise.values[..., None]
    assert scipy.stats.kstest(z.ravel(), "norm").pvalue > 1e-4


def test_a_part_of_the_draws_gives_the_same_shapes(model, idata):
    part = group_of(idata, "posterior").stack(sample=("chain", "draw")).drop_vars(["chain", "draw", "sample"])
    found = pm.sample_posterior_predictive(part, model=model, sample_dims=["sample"], random_seed=2)
    assert found.posterior_predictive.y.dims == ("sample", "row") and found.posterior_predictive.y.shape == (100, 6)
    points = [{"slope": 1.0, "height": [0.0, 0.0], "noise": 1e-9}] * 3
    arrays = pm.sample_posterior_predictive(points, model=model, return_inferencedata=False, random_seed=1)
    assert np.allclose(arrays["y"], np.broadcast_to(X, (1, 3, 6)), atol=1e-6)


def test_a_variable_that_the_draws_do_not_hold_is_drawn_and_named(model, idata, caplog):
    part = group_of(idata, "posterior")[["height", "noise"]]
    with caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample_posterior_predictive(part, model=model, var_names=["mu"], random_seed=2)
    assert "Sampling: [slope]" in caplog.text
    assert found.posterior_predictive.mu.values[..., -1].std() > 1.5


def test_predictions_with_other_data(model, idata):
    with model:
        pm.set_data({"x": [5.0, 6.0, 7.0]})
        found = pm.sample_posterior_predictive(idata, predictions=True, random_seed=2, var_names=["mu", "y"])
        pm.set_data({"x": X})
    assert found.predictions.mu.shape == (2, 50, 3)
    expected = idata.posterior.height.values[..., :1] + idata.posterior.slope.values[..., None] * [5.0, 6.0, 7.0]
    assert np.allclose(found.predictions.mu, expected)
    assert found.predictions_constant_data.x.values.tolist() == [5.0, 6.0, 7.0]


def test_groups_are_added_where_that_is_asked_for(model, idata):
    whole = idata.copy()
    pm.sample_posterior_predictive(whole, model=model, extend_inferencedata=True, random_seed=2)
    assert whole.posterior_predictive.y.shape == (2, 50, 6)
    pm.compute_log_likelihood(whole, model=model)
    pm.compute_log_prior(whole, model=model, var_names=["slope"])
    p = idata.posterior
    mu = p.height.values[..., :1] + p.slope.values[..., None] * X
    expected = scipy.stats.norm.logpdf(2 * X, mu, p.noise.values[..., None])
    assert np.allclose(whole.log_likelihood.y, expected, atol=1e-12)
    assert np.allclose(whole.log_prior.slope, scipy.stats.norm.logpdf(p.slope, 0, 2), atol=1e-12)
    assert list(whole.log_prior.data_vars) == ["slope"]


def test_deterministics_are_computed_again(model, idata):
    found = pm.compute_deterministics(group_of(idata, "posterior"), model=model, var_names=["mu"])
    merged = pm.compute_deterministics(group_of(idata, "posterior"), model=model, var_names=["mu"], merge_dataset=True)
    assert found.mu.dims == ("chain", "draw", "row") and set(merged.data_vars) == {"slope", "height", "noise", "mu"}


def test_draws_that_do_not_fit_the_model_are_named(model, idata):
    wrong = group_of(idata, "posterior").isel(side=[0]).drop_vars("side")
    with pytest.raises(ShapeError, match='"height" has shape'):
        pm.sample_posterior_predictive(wrong, model=model)
    with pytest.raises(KeyError, match="slope"):
        pm.compute_log_likelihood(group_of(idata, "posterior")[["noise"]], model=model, extend_inferencedata=False)
    with pytest.raises(KeyError, match="slope"):
        pm.sample_posterior_predictive(idata, model=model, var_names=["slop"])
    with pytest.raises(TypeError, match="InferenceData"):
        pm.sample_posterior_predictive(3, model=model)
    with pytest.raises(ValueError, match="posterior"):
        pm.sample_posterior_predictive(collect({"prior": group_of(idata, "posterior")}), model=model)


def test_the_mode_and_its_curvature():
    with pm.Model() as model:
        mu = Normal("mu", 0, 10)
        sigma = HalfNormal("sigma", 5)
        Normal("y", mu, sigma, observed=[1.0, 2.0, 4.0])
    point = pm.find_MAP(model=model, progressbar=False)
    assert set(point) == {"mu", "sigma", "sigma_log__"} and np.isclose(np.exp(point["sigma_log__"]), point["sigma"])
    around = [{**point, "mu": point["mu"] + d} for d in (-0.1, 0.1)]
    density = lambda p: scipy.stats.norm.logpdf([1, 2, 4], p["mu"], p["sigma"]).sum() - p["mu"] ** 2 / 200
    assert all(density(p) < density(point) for p in around)
    matrix = pm.find_hessian(point, model=model)
    assert np.isclose(matrix[0, 0], 3 / point["sigma"] ** 2 + 1 / 100)
    kept, raw = pm.find_MAP(model=model, vars=[mu], return_raw=True, include_transformed=False)
    assert raw.success and set(kept) == {"mu", "sigma"}
    powell = pm.find_MAP(model=model, method="powell")
    assert np.isclose(powell["mu"], point["mu"], atol=1e-2)


def test_the_mode_of_counts_that_are_asked_to_move():
    # the density is C(12, k) p^(11 + k) (1 - p)^(14 - k): of p at (11 + k) / 25, of k at the whole part of 13 p
    with pm.Model() as model:
        p = Beta("p", 3, 2)
        k = ppl.Binomial("k", 12, p)
        ppl.Binomial("y", 10, p, observed=9)
    both = pm.find_MAP(vars=[p, k], model=model, progressbar=False)
    assert abs(both["p"] - (11 + both["k"]) / 25) < 1e-4 and both["k"] == int(13 * both["p"]) > 7
    assert both["k"].dtype.kind == "i"
    alone = pm.find_MAP({"p": 0.1}, vars=[k], model=model, progressbar=False)
    assert alone["k"] == 1 and abs(alone["p"] - 0.1) < 1e-9


def test_results_from_draws_that_exist(model, idata):
    trace = pm.MultiTrace({name: v.values for name, v in group_of(idata, "posterior").data_vars.items()}, {}, [0, 1])
    found = pm.to_inference_data(
        trace, model=model, log_likelihood=True, prior={"slope": np.zeros(3), "y": np.zeros((3, 6))},
        posterior_predictive={"y": np.ones((4, 6))},
    )  # fmt: skip
    assert {"posterior", "log_likelihood", "prior", "prior_predictive", "posterior_predictive"} <= set(
        group_names(found)
    )
    whole = pm.predictions_to_inference_data({"y": np.zeros((2, 50, 6))}, trace, model=model, idata_orig=found)
    assert whole.predictions.y.dims == ("chain", "draw", "row") and "predictions" not in group_names(found)


def test_new_labels_of_a_dimension_let_its_data_change_length_and_leave_the_draws_of_others_alone():
    rows, slope = np.arange(20.0), 2.0
    with pm.Model(coords={"row": range(20), "feature": ["a"]}) as model:
        x = pm.Data("x", rows[:, None], dims=("row", "feature"))
        b = Normal("b", 0, 10, dims="feature")
        mu = pm.Deterministic("mu", pm.math.dot(x, b), dims="row")
        Normal("y", mu, 0.1, observed=slope * rows, dims="row")
        assert pm.explain(model).free == ()  # lengths of today are known to the planner
        result = pm.sample(200, tune=0, chains=2, random_seed=3, progressbar=False)
        with pytest.raises(ValueError, match="dimension 'row' has length 20 by its labels"):
            pm.set_data({"x": [[1.0], [100.0]]})
        pm.set_data({"x": [[1.0], [100.0]]}, coords={"row": ["low", "high"]})
        predicted = pm.sample_posterior_predictive(result, predictions=True, random_seed=3).predictions["y"]
    assert predicted.dims == ("chain", "draw", "row") and list(predicted["row"].values) == ["low", "high"]
    np.testing.assert_allclose(predicted.mean(("chain", "draw")), [slope, 100 * slope], atol=0.1)
    with pytest.raises(ValueError, match=r'"y" has shape \(2,\) now, but its observed values have shape \(20,\)'):
        pm.sample(model=model, progressbar=False)


BOTH = r'.* lengths 3 and 4.*"x" \(3,\), "z" \(4,\)'
CLASHES = {
    "observed Data": (lambda mu, z, y: Normal("y", mu, observed=y, dims="row"), r'"y" has .*\(3,\) now, .*"x" \(3,\)'),
    "observed numbers": (lambda mu, z, y: Normal("y", mu, observed=np.zeros(4)), r'"y": .* 3 and 4.*"x" \(3,\)'),
    "other Data": (lambda mu, z, y: Normal("y", mu + z, observed=y), r'"y":' + BOTH),
    "a Potential": (lambda mu, z, y: pm.Potential("p", (mu * z).sum()), r'"p":' + BOTH),
}


@pytest.mark.filterwarnings("ignore::ppl.ShapeWarning")
@pytest.mark.parametrize("name", CLASHES)
def test_data_that_do_not_fit_any_more_are_named_by_whatever_meets_them(name):
    ending, said = CLASHES[name]
    with pm.Model() as model:
        x, z, y = (
            pm.Data("x", np.zeros(4), dims="row"),
            pm.Data("z", np.zeros(4)),
            pm.Data("yy", np.zeros(4), dims="row"),
        )
        ending(Normal("slope") * x, z, y)
        logp, dlogp, start = model.compile_logp(), model.compile_dlogp(), model.initial_point()
        assert np.isfinite(logp(start))
        pm.set_data({"x": np.zeros(3)})
        for meets in (
            lambda: logp(start), lambda: dlogp(start), model.point_logps, model.debug, lambda: pm.explain(model),
            lambda: pm.find_MAP(progressbar=False), lambda: pm.sample(progressbar=False),
        ):  # fmt: skip
            with pytest.raises(pm.ShapeError, match=said):
                meets()
        pm.set_data({"x": np.zeros(4)})
    assert np.isfinite(logp(start))
    with pytest.raises(TypeError, match="shape"):  # a point of the user's own that does not fit is not the data's fault
        logp({"slope": "three"})


def test_a_prior_draw_of_data_that_do_not_fit_names_them():
    with pm.Model() as model:
        pm.Deterministic("d", pm.Data("x", np.zeros(4)) * pm.Data("z", np.zeros(4)) + Normal("slope"))
        pm.set_data({"x": np.zeros(3)})
    with pytest.raises(pm.ShapeError, match=r'"d":' + BOTH + ".* one set_data call"):
        pm.sample_prior_predictive(3, model)


def test_data_decide_the_length_of_a_dimension_with_labels():
    with pm.Model(coords={"row": [10, 20, 30, 40]}) as model:
        x = pm.Data("x", np.arange(4.0), dims="row")
        slope = Normal("slope", 2.0, 1e-6)
        y = Normal("y", pm.Deterministic("mu", slope * x, dims="row"), 1e-3, observed=np.arange(4.0), dims="row")
        posterior = {"slope": np.full((2, 5), 2.0), "mu": np.zeros((2, 5, 4))}
        given = collect({"posterior": group(model, posterior)})
        pm.set_data({"x": np.arange(6.0)}, coords={"row": list("abcdef")})
        found = pm.sample_posterior_predictive(given, predictions=True, random_seed=1)
    assert y.type.shape == (None,)
    assert found.predictions.y.shape == (2, 5, 6) and found.predictions.row.values.tolist() == list("abcdef")
    assert np.allclose(found.predictions.y.mean(("chain", "draw")), 2 * np.arange(6), atol=0.01)
    assert found.predictions_constant_data.x.dims == ("row",)


def test_missing_values_of_every_kind_keep_their_parameters():
    rows = np.array([[0.2, 0.3, 0.5], [np.nan] * 3])
    with pm.Model() as model, pytest.warns(pm.ImputationWarning):
        Dirichlet("p", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), observed=rows)
        Categorical("k", [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], observed=[np.nan, 2])
        parts = [Normal.dist([0.0, 5.0], 1.0), Normal.dist(3.0, 1.0)]
        Mixture("m", [[0.2, 0.8], [0.5, 0.5]], parts, observed=[np.nan, 4.0])
        NormalMixture("n", [0.2, 0.8], [[0.0, 1.0], [2.0, 3.0]], 1.0, observed=[np.nan, 4.0])
        Censored("c", Normal.dist([0.0, 5.0], 1.0), lower=-1, upper=9, observed=[np.nan, 5.0])
    density = scipy.stats.norm.logpdf
    point = {"p_unobserved_simplex__": np.zeros((1, 2)), "k_unobserved": np.array([1]), "c_unobserved": np.array([0.5]),
             "m_unobserved": np.array([1.0]), "n_unobserved": np.array([1.0])}  # fmt: skip
    found = model.point_logps(point, 9)
    law = scipy.stats.dirichlet
    assert np.isclose(found["p_observed"], law.logpdf([0.2, 0.3, 0.5], [1, 2, 3]))
    unobserved = model.compile_logp(model["p_unobserved"], jacobian=False)(point)
    assert np.isclose(unobserved, law.logpdf(np.ones(3) / 3, [4, 5, 6]))
    assert np.isclose(found["k_unobserved"], np.log(0.3)) and np.isclose(found["k_observed"], np.log(0.2))
    assert np.isclose(found["c_observed"], density(0)) and np.isclose(found["c_unobserved"], density(0.5))
    mixed = lambda w, x, mu: np.logaddexp(*(np.log(w) + density(x, mu, 1)))
    assert np.isclose(found["m_unobserved"], mixed([0.2, 0.8], 1, [0, 3]))
    assert np.isclose(found["m_observed"], mixed([0.5, 0.5], 4, [5, 3]))
    assert np.isclose(found["n_unobserved"], mixed([0.2, 0.8], 1, [0, 1]))
    assert np.isclose(found["n_observed"], mixed([0.2, 0.8], 4, [2, 3]))


def test_predictive_draws_as_arrays_make_a_result():
    with pm.Model() as model:
        y = Normal("y", Normal("x", shape=2), 1, observed=[1.0, 2.0])
    given = {"y": np.arange(24.0).reshape(3, 4, 2)}
    for values in (given, {"y": given["y"][0]}):
        found = pm.to_inference_data(posterior_predictive=values, model=model)
        drawn = group_of(found, "posterior_predictive")
        assert drawn.y.dims == ("chain", "draw", "y_dim_0") and drawn.sizes["draw"] == 4
        assert np.array_equal(drawn.y[0], given["y"][0]) and y.name == "y"


def test_long_work_shows_how_far_it_is(monkeypatch):
    from rich.console import Console

    printed = io.StringIO()
    monkeypatch.setattr(bar, "PATIENCE", 0.0)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=printed, force_terminal=True, width=100))
    with pm.Model():
        x = Normal("x")
        Normal("y", x, 1.0, observed=np.zeros(3))
        draws = {"x": np.zeros((2, 50))}
        posterior = collect({"posterior": group(pm.modelcontext(None), draws)})
        for compute, word in (
            (pm.sample_posterior_predictive, "Sampling"),
            (pm.compute_log_likelihood, "log-likelihood"),
            (pm.compute_log_prior, "log-prior"),
        ):
            compute(posterior, progressbar=False)
            assert printed.getvalue() == ""
            compute(posterior, progressbar=True)
            assert word in printed.getvalue() and "100/100" in printed.getvalue()
            printed.seek(0)
            printed.truncate()


def test_log_likelihoods_of_shares_and_chances_follow_from_their_draws():
    """Densities that are written for the unconstrained values behind them (log-shares, log-odds) are no help here."""
    rng = np.random.default_rng(3)
    shares, chance = rng.dirichlet(np.ones(3), (2, 5)), rng.uniform(0.1, 0.9, (2, 5))
    with pm.Model() as model:
        w, p = Dirichlet("w", np.ones(3)), Beta("p", 1, 1)
        Categorical("kind", w, observed=[0, 2, 1, 2])
        Bernoulli("some", p, observed=[1, 0])
        values = log_likelihood_values(model, {"w": shares, "p": chance})
    np.testing.assert_allclose(values["kind"], np.log(shares)[..., [0, 2, 1, 2]], rtol=1e-12)
    np.testing.assert_allclose(values["some"], np.log(np.stack([chance, 1 - chance], axis=-1)), rtol=1e-12)


@pytest.mark.usefixtures("compiled_quickly")
def test_no_draws_by_parameters_that_computation_put_outside_their_domains():
    below, crossed = shared(np.array([1.0, -1.0])), shared(np.array(3.0))
    with ppl.Model() as model:
        sigma = ppl.Normal("sigma", -5.0, 0.1)
        ppl.Normal("x", 0.0, sigma)
    draws = {
        "Normal: sigma must be positive, got -1.0 at position 1.*exp": lambda: ppl.draw(ppl.Normal.dist(0, below)),
        "Normal: sigma must be positive, got -1.0": lambda: ppl.Normal.dist(0, below).eval(),
        'Normal "x": sigma must be positive, got -': lambda: ppl.sample_prior_predictive(2, model, random_seed=1),
        "Gamma: beta must be positive": lambda: ppl.draw(ppl.Truncated.dist(ppl.Gamma.dist(2, below), lower=1.0)),
        "Truncated: lower must not be above upper, got lower=3.0, upper=2": lambda: ppl.draw(
            ppl.Truncated.dist(ppl.Gamma.dist(2.0, 1.0), lower=crossed, upper=2.0)
        ),
        "Censored: lower must not be above upper, got lower=3.0, upper=2": lambda: ppl.draw(
            ppl.Censored.dist(ppl.Normal.dist(), lower=crossed, upper=2.0)
        ),
        "CustomDist": lambda: ppl.draw(
            ppl.CustomDist.dist(below, dist=lambda s, size: ppl.Normal.dist(0, s, size=size))
        ),
        "Binomial: n must be an integer, not negative": lambda: ppl.draw(ppl.Binomial.dist(n=shared(-1), p=0.5)),
        "MvNormal: chol is nan .* take the factor of a positive": lambda: ppl.draw(
            ppl.MvNormal.dist(np.zeros(2), shared(np.array([[1.0, 2.0], [2.0, 1.0]])))
        ),
        "MvNormal: chol must be a lower triangular": lambda: ppl.draw(
            ppl.MvNormal.dist(np.zeros(2), chol=shared(np.array([[1.0, 2.0], [0.0, 1.0]])))
        ),
    }
    for message, call in draws.items():
        with pytest.raises(ValueError, match=f"(?s){message}"):
            call()
    with pytest.raises(ValueError, match='Normal "x": sigma must be positive, got -2'):
        values = collect({"posterior": group(model, {"sigma": np.array([[1.0, -2.0]])})})
        ppl.sample_posterior_predictive(values, model, var_names=["x"], progressbar=False)
    assert ppl.draw(ppl.Normal.dist(3.0, below * 0), random_seed=1).tolist() == [3.0, 3.0]


def _regression(pm):
    with pm.Model() as model:
        x = pm.Data("x", np.zeros(2))
        pm.Normal("z", x, 0.01, shape=2)
        seen = pm.Data("seen", np.zeros(2))
        pm.Normal("y", model["z"], 0.01, observed=seen)
    return model


FORMS = {
    "all": lambda az, result: result,
    "no constant data": lambda az, result: az.InferenceData(posterior=result.posterior),
    "the posterior": lambda az, result: result.posterior,
    "points": lambda az, result: [{"z": z} for z in result.posterior.z.values[0]],
}


@pytest.mark.parametrize("x", [0.0, 7.0])
@pytest.mark.parametrize("form", FORMS)
def test_what_depends_on_data_that_the_trace_does_not_tell_is_drawn_anew_as_pymc_does(form, x, pymc5, caplog):
    az = pytest.importorskip("arviz", "0.12", reason="the layout of PyMC 5")
    if not hasattr(az, "InferenceData"):
        pytest.skip("arviz of another layout")
    found = []
    for library in (ppl, pymc5):
        model = _regression(library)
        data = {"x": np.zeros(2), "seen": np.zeros(2)}
        result = az.from_dict(posterior={"z": np.full((1, 20, 2), 50.0)}, constant_data=data)
        with model:
            library.set_data({"x": np.full(2, x)})
            predicted = library.sample_posterior_predictive(
                FORMS[form](az, result), random_seed=1, progressbar=False, return_inferencedata=False
            )
        found.append(np.round(predicted["y"].mean()))
    kept = form == "all" and x == 0
    assert found == ([50.0, 50.0] if kept else [x, x])
    assert ("z: drawn anew" in caplog.text) is (form != "all")


@pytest.mark.parametrize("changed", [False, True])
def test_draws_without_arviz_tell_their_data(changed):
    model = _regression(ppl)
    options = {"draws": 20, "tune": 20, "chains": 1, "progressbar": False, "quiet": True, "random_seed": 1}
    with model:
        ppl.set_data({"seen": np.full(2, 0.02)})
        trace = ppl.sample(**options, return_inferencedata=False)
        if changed:
            ppl.set_data({"x": np.full(2, 7.0)})
        predicted = ppl.sample_posterior_predictive(trace[5:], progressbar=False, return_inferencedata=False)
    assert np.round(predicted["y"].mean()) == 7 * changed
    z = trace["z"][5:]
    near = np.abs(predicted["y"][0] - z).max()
    assert changed is bool(near > 1)


def test_data_that_are_observed_are_told_by_what_was_observed():
    with ppl.Model() as model:
        seen = ppl.Data("seen", np.zeros(2))
        z = ppl.Normal("z", 0, 1, shape=seen.shape[0])
        ppl.Normal("y", z, 0.01, observed=seen)
        result = ppl.sample(20, tune=20, chains=1, progressbar=False, quiet=True, random_seed=1)
        anew = ppl.sample_posterior_predictive(result, progressbar=False)
    assert np.abs(anew.posterior_predictive.y - result.posterior.z.values).max() < 1
    assert model["z"] is z
