"""`fit` arrives, says how good its approximation is, and brings every name back."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.model.errors import SamplingError
from ppl.variational import opvi
from ppl.variational.approximations import Report

# Math scores after a drug, by its concentration (Wagner et al. 1968): the model of pymc#2162.
DOSE = np.array([1.17, 2.97, 3.26, 4.69, 5.83, 6.0, 6.41])
SCORE = np.array([78.93, 58.2, 67.47, 37.47, 45.65, 32.92, 29.97])


def regression():
    with pm.Model() as model:
        intercept, slope = pm.Normal("intercept", 0, 100), pm.Normal("slope", 0, 100)
        sigma = pm.HalfCauchy("sigma", 5)
        pm.Normal("score", intercept + slope * DOSE, sigma, observed=SCORE)
    return model


def straight(shape=2):
    """Normal all through: the exact posterior is known, with correlation."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=shape)
        pm.Deterministic("total", x.sum())
        pm.Normal("y", x.sum(), 0.5, observed=1.0)
    return model


EXACT = np.linalg.inv(np.eye(2) + 4 * np.ones((2, 2)))


@pytest.fixture(scope="module")
def fitted():
    return pm.fit(model=regression(), random_seed=1, rewrite=False, progressbar=False)


def test_the_default_fit_of_a_regression_is_right(fitted):
    """Exact by quadrature: intercept 88.49 ± 8.35, slope -8.885 ± 1.782. PyMC's default fit says +2.5 ± 1.2."""
    mean, sd = fitted.mean.eval(), fitted.std.eval()
    at = {name: place.start for name, place, _, _ in fitted.ordering.values()}
    assert mean[at["slope"]] == pytest.approx(-8.885, abs=0.1 * 1.782)
    assert mean[at["intercept"]] == pytest.approx(88.49, abs=0.1 * 8.35)
    # As written, linear response lacks what the tails of a Student t add to a normal law: √(5/3) less in the limit.
    assert 0.8 * 1.782 < sd[at["slope"]] < 1.782
    assert 0.8 * 8.35 < sd[at["intercept"]] < 8.35
    assert fitted.report.converged and fitted.report.pareto_k < 0.7
    assert fitted.report.log_evidence == pytest.approx(-32.371, abs=0.1)


def test_on_the_rewritten_model_the_tails_are_there_too():
    approx = pm.fit(model=regression(), random_seed=1, progressbar=False)
    draws = approx.sample(4000, random_seed=2).posterior
    assert float(draws["slope"].mean()) == pytest.approx(-8.885, abs=0.1 * 1.782)
    assert float(draws["slope"].std()) == pytest.approx(1.782, rel=0.1)
    assert float(draws["intercept"].std()) == pytest.approx(8.35, rel=0.1)
    assert float(draws["sigma"].mean()) == pytest.approx(7.96, rel=0.1)


def test_the_parameters_are_those_of_the_best_mean_field(fitted):
    """No other mean field has a greater evidence lower bound, by 200,000 draws of each."""
    mu, rho = (p.get_value() for p in fitted.params)
    assert [p.name for p in fitted.params] == ["mu", "rho"]
    noise = np.random.default_rng(0).standard_normal((4000, 3))
    noise = np.concatenate([noise, -noise])

    def bound(mu, sd):
        return fitted.problem.target(mu + sd * noise)[0].mean() + np.log(sd).sum()

    sd = np.logaddexp(0, rho)
    best = bound(mu, sd)
    for i in range(3):
        step = 0.2 * np.eye(3)[i]
        others = [bound(mu + s * step * sd, sd) for s in (-1, 1)] + [bound(mu, sd * np.exp(s * step)) for s in (-1, 1)]
        assert max(others) < best


def test_a_result_has_all_names_and_says_how_good_it_is(fitted):
    result = fitted.sample(200, random_seed=3)
    assert result.posterior.sizes == {"chain": 1, "draw": 200}
    assert set(result.posterior.data_vars) == {"intercept", "slope", "sigma"}
    assert set(result.groups()) == {"posterior", "observed_data"}
    assert result.posterior.attrs["fit_converged"] == 1
    assert result.posterior.attrs["fit_pareto_k"] == fitted.report.pareto_k
    again = fitted.sample(200, random_seed=3)
    assert (result.posterior.slope.values == again.posterior.slope.values).all()
    trace = fitted.sample(return_inferencedata=False, size=4, draws=10)
    assert {"sigma", "sigma_log__"} <= set(trace.varnames) and len(trace) == 10
    assert pm.sample_approx(fitted, 7, include_transformed=False).posterior.sizes["draw"] == 7


def test_losses_and_data_sets_by_name(fitted):
    assert len(fitted.hist) == fitted.report.steps and fitted.hist[-1] < fitted.hist[0]
    assert str(fitted) == "Approximation{MeanFieldGroup[3]}"
    assert float(fitted.mean_data["sigma_log__"]) == pytest.approx(fitted.mean.eval()[2])
    assert float(fitted.std_data["slope"]) == pytest.approx(fitted.std.eval()[1])


@pytest.mark.parametrize("method", ["fullrank_advi", "laplace", "advi"])
def test_a_normal_posterior_is_exact(method):
    approx = pm.fit(method=method, model=straight(), rewrite=False, progressbar=False)
    np.testing.assert_allclose(approx.cov.eval(), EXACT, atol=1e-6)
    np.testing.assert_allclose(approx.mean.eval(), [4 / 9, 4 / 9], atol=1e-6)
    draws = approx.sample(4000, random_seed=0).posterior
    assert float(draws["total"].mean()) == pytest.approx(8 / 9, abs=0.03)
    assert float(draws["total"].std()) == pytest.approx(np.sqrt(EXACT.sum()), abs=0.02)


def test_without_linear_response_a_mean_field_has_the_precisions():
    approx = pm.fit(model=straight(), rewrite=False, progressbar=False, linear_response=False)
    np.testing.assert_allclose(approx.std.eval(), 1 / np.sqrt([5, 5]), rtol=1e-6)


def test_what_rewriting_leaves_is_fitted_and_all_comes_back():
    """Nothing is left here: draws are exact."""
    approx = pm.fit(model=straight(), random_seed=2, progressbar=False)
    assert approx.ddim == 0 and approx.report.converged
    draws = approx.sample(4000, random_seed=1).posterior["x"].values[0]
    np.testing.assert_allclose(np.cov(draws.T), EXACT, atol=0.04)
    np.testing.assert_allclose(approx.cov.eval(), EXACT, atol=0.05)
    assert list(approx.ordering) == ["x"]
    kept = pm.fit(model=straight(), protect=["x"], progressbar=False)
    assert kept.ddim == 2


def test_discrete_variables_are_summed_out_or_refused():
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        z = pm.Bernoulli("z", p, shape=5)
        pm.Normal("y", 3.0 * z, 1.0, observed=[0.1, 3.2, 2.9, -0.2, 1.0])
    result = pm.fit(model=model, progressbar=False, random_seed=1).sample(500, random_seed=1)
    assert set(np.unique(result.posterior["z"])) == {0, 1}
    assert float(result.posterior["z"][0, :, 1].mean()) > 0.9
    with pytest.raises(opvi.ParametrizationError, match="Discrete variables are not supported by VI: z"):
        pm.fit(model=model, rewrite=False)


def test_pathfinder_and_laplace_give_results_of_their_own():
    result = pm.fit_pathfinder(model=regression(), rewrite=False, num_draws=2000, random_seed=1, progressbar=False)
    assert result.posterior.sizes["draw"] == 2000
    assert float(result.posterior["slope"].mean()) == pytest.approx(-8.885, abs=0.25)
    assert float(result.posterior["slope"].std()) == pytest.approx(1.78, rel=0.3)
    assert result.posterior.attrs["fit_pareto_k"] < 1
    result = pm.fit_laplace(model=regression(), rewrite=False, chains=2, draws=300, random_seed=1, progressbar=False)
    assert result.posterior.sizes == {"chain": 2, "draw": 300}
    result = pm.fit_dadvi(regression(), n_draws=50, progressbar=False)
    assert result.posterior.sizes["draw"] == 50


# --- stochastic steps


def test_steps_of_an_optimizer_are_those_of_pymc():
    """With the noise of the program given, by NumPy: the slope of the mean field's loss, and adagrad_window."""
    from ppl.samplers.programs.randomness import fold, normals, own_settings
    from ppl.variational.steps import Steps

    approx = pm.MeanField(model=straight())
    steps = Steps(opvi_kl(approx), None, pm.adagrad_window(learning_rate=0.02), 3, seed=5)
    losses = steps(12)
    precision, shift = np.eye(2) + 4 * np.ones((2, 2)), 4 * np.ones(2)
    mu, rho, window = approx.problem.start.copy(), np.zeros(2), np.zeros((4, 10))
    for i in range(12):
        with own_settings():
            noise = np.asarray(normals(fold(fold(fold(steps.key, np.uint32(i)), 2), 0), 6, np.dtype("float64")))
        eps = noise.reshape(3, 2)
        sd, slope_of_sd = np.logaddexp(0, rho), 1 / (1 + np.exp(-rho))
        z = mu + sd * eps
        uphill = shift - z @ precision
        log_p = stats.norm.logpdf(z).sum(1) + stats.norm.logpdf(1.0, z.sum(1), 0.5)
        log_q = stats.norm.logpdf(eps).sum(1) - np.log(sd).sum()
        assert losses[i] == pytest.approx(np.mean(log_q - log_p), rel=1e-10)
        slopes = np.concatenate([-uphill.mean(0), (-(uphill * eps).mean(0) - 1 / sd) * slope_of_sd])
        window[:, i % 10] = slopes**2
        step = 0.02 * slopes / np.sqrt(window.sum(1) + 0.1)
        mu, rho = mu - step[:2], rho - step[2:]
    np.testing.assert_allclose(approx.params[0].get_value(), mu, atol=1e-12)
    np.testing.assert_allclose(approx.params[1].get_value(), rho, atol=1e-12)


def opvi_kl(approx):
    from ppl.variational.operators import KL

    return KL(approx)


def test_full_rank_steps_arrive():
    approx = pm.fit(3000, "fullrank_advi", model=straight(), obj_optimizer=pm.adam(learning_rate=0.02), obj_n_mc=4,
                    random_seed=1, progressbar=False)  # fmt: skip
    np.testing.assert_allclose(approx.cov.eval(), EXACT, atol=0.08)
    assert len(approx.hist) == 3000 and approx.report.pareto_k < 0.5


def test_callbacks_see_each_step_and_end_the_fit():
    model, seen = straight(), []
    inference = pm.ADVI(model=model, random_seed=1)
    tracker = pm.callbacks.Tracker(mean=inference.approx.mean.eval, i=lambda approx, hist, i: i)

    def stop(approx, losses, i):
        seen.append(len(losses))
        if i == 10:
            raise StopIteration("enough")

    inference.fit(100, obj_optimizer=pm.sgd(learning_rate=0.01), callbacks=[tracker, stop], progressbar=False)
    assert seen == list(range(1, 11)) and tracker["i"] == seen
    assert len(inference.hist) == 10 and np.ptp(tracker["mean"], axis=0).min() > 0
    inference.refine(5, progressbar=False)
    assert len(inference.hist) == 10 + 5 and tracker["i"][-1] == 15


def test_a_fit_ends_when_parameters_change_little():
    check = pm.callbacks.CheckParametersConvergence(every=50, diff="absolute", tolerance=0.05)
    approx = pm.fit(20_000, model=straight(), obj_optimizer=pm.adagrad(learning_rate=0.1), obj_n_mc=20,
                    callbacks=[check], progressbar=False, random_seed=1)  # fmt: skip
    assert len(approx.hist) < 5000 and len(approx.hist) % 50 == 0


def test_the_same_seed_gives_the_same_fit_in_whatever_chunks():
    of = lambda callbacks: pm.fit(30, model=straight(), random_seed=4, obj_optimizer=pm.adam, callbacks=callbacks,
                                  progressbar=False).params[0].get_value()  # fmt: skip
    assert (of(None) == of([lambda *_: None])).all()


def test_minibatches_are_other_rows_each_step_and_settle():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2))
    y = X @ [1.0, -2.0] + rng.standard_normal(2000)
    rows, seen = pm.Minibatch(X, y, batch_size=100)
    with pm.Model():
        b = pm.Normal("b", 0, 10, shape=2)
        pm.Normal("y", rows @ b, 1.0, observed=seen, total_size=y.shape)
        approx = pm.fit(10_000, random_seed=1, progressbar=False)
    exact = np.linalg.inv(X.T @ X + np.eye(2) / 100)
    sd = np.sqrt(np.diagonal(exact))
    assert np.max(np.abs(approx.mean.eval() - exact @ X.T @ y) / sd) < 0.5
    np.testing.assert_allclose(approx.std.eval(), sd, rtol=0.15)
    assert approx.report.converged is not None and approx.report.pareto_k is None


def test_further_parameters_are_fitted_along():
    scale = tt.shared(np.array(0.0), "scale")
    with pm.Model():
        x = pm.Normal("x", 0, 1)
        pm.Normal("y", x + scale, 1.0, observed=np.full(50, 3.0))
        approx = pm.fit(2000, more_obj_params=[scale], obj_optimizer=pm.adam(learning_rate=0.02), obj_n_mc=4,
                        random_seed=1, progressbar=False)  # fmt: skip
    assert scale.get_value() > 1 and scale.get_value() + approx.mean.eval() == pytest.approx(3.0, abs=0.1)
    assert approx.report.pareto_k < 0.7


# --- particles, draws, groups


def test_particles_take_the_shape_of_the_posterior():
    approx = pm.SVGD(n_particles=60, model=straight(), random_seed=1).fit(600, progressbar=False)
    np.testing.assert_allclose(approx.mean.eval(), [4 / 9, 4 / 9], atol=0.1)
    np.testing.assert_allclose(approx.cov.eval(), EXACT, atol=0.2)
    assert approx.report.converged and approx.histogram.get_value().shape == (60, 2)


def test_particles_at_rest_in_the_wrong_place_have_not_converged():
    """In ten dimensions a kernel of all of them hardly keeps particles apart: they rest with two thirds of the spread,
    and the average of the direction is next to nothing."""
    approx = pm.SVGD(n_particles=60, model=straight(10), random_seed=1).fit(1500, progressbar=False)
    assert not approx.report.converged
    assert "at rest, but not those of the posterior" in approx.report.why
    assert 'along "x[' in approx.report.why
    exact = np.sqrt(np.linalg.inv(np.eye(10) + 4 * np.ones((10, 10)))[0, 0])
    assert np.all(approx.std.eval() < 0.8 * exact)


def test_amortized_particles_move_a_normal_law():
    with pytest.warns(UserWarning, match="experimental"):
        approx = pm.fit(400, "asvgd", model=straight(), obj_optimizer=pm.adam(learning_rate=0.03), obj_n_mc=50,
                        random_seed=1, progressbar=False)  # fmt: skip
    np.testing.assert_allclose(approx.mean.eval(), [4 / 9, 4 / 9], atol=0.2)


def test_draws_that_there_are_become_an_approximation(fitted):
    result = fitted.sample(300, random_seed=5)
    for trace in (result, fitted.sample(300, random_seed=5, return_inferencedata=False)):
        approx = pm.Empirical(trace, model=fitted.model)
        slope = result.posterior["slope"].values
        assert approx.mean.eval()[1] == pytest.approx(slope.mean())
        sigma = fitted.model["sigma"]
        np.testing.assert_allclose(approx.evaluate_over_trace(sigma), result.posterior["sigma"].values[0], rtol=1e-10)
        again = approx.sample(50, random_seed=1).posterior["slope"].values
        assert np.isin(again, slope).all()


def test_groups_are_independent_of_each_other():
    with pm.Model() as model:
        a, b, c = pm.Normal("a"), pm.Normal("b"), pm.Normal("c")
        pm.Normal("y", a + b + c, 0.5, observed=1.0)
        group = pm.Group([a, b], vfam="fr", random_seed=1)
        approx = pm.Approximation([group, pm.Group(None, vfam="mf")], random_seed=1)
        pm.KLqp(approx).fit(8000, obj_n_mc=4, progressbar=False)
    assert str(approx) == "Approximation{FullRankGroup[2] & MeanFieldGroup[1]}"
    precision = np.eye(3) + 4
    np.testing.assert_allclose(group.cov.eval(), np.linalg.inv(precision[:2, :2]), atol=0.06)
    assert approx.groups[1].std.eval() == pytest.approx(1 / np.sqrt(5), rel=0.1)
    assert set(approx.sample(5).posterior.data_vars) == {"a", "b", "c"}
    with model, pytest.raises(opvi.GroupError, match="No group has c"):
        pm.Approximation([pm.Group([a, b], vfam="mf")])
    with model, pytest.raises(opvi.GroupError, match="in two groups: a"):
        pm.Approximation([pm.Group([a], vfam="mf"), pm.Group([a], vfam="mf"), pm.Group(None, vfam="mf")])
    with pytest.raises(TypeError, match="Cannot specify both"):
        pm.Group([a], vfam="mf", params={})


def test_expressions_are_drawn_from_the_approximation(fitted):
    slope, intercept = fitted.model["slope"], fitted.model["intercept"]
    x = tt.shared(2.0, "x")
    line = intercept + slope * x
    rows = fitted.sample_node(line, size=2000).eval()
    assert rows.shape == (2000,) and rows.std() > 0.1
    other = fitted.sample_node(line, size=2000, more_replacements={x: np.array(0.0)}).eval()
    assert rows.mean() == pytest.approx(88.49 - 2 * 8.885, abs=1.5)
    assert other.mean() == pytest.approx(88.49, abs=1.5)
    mu = fitted.params[0].get_value()
    assert fitted.sample_node(slope, deterministic=True).eval() == pytest.approx(mu[1])
    draw = pm.function([], fitted.sample_node(slope))
    assert draw() != draw()


# --- what goes wrong


def nothing_free():
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=1.0)
    return model


def without_density():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("p", tt.log(-tt.abs(x)))
    return model


@pytest.mark.parametrize("call, error, text", [
    (lambda: pm.fit(model=nothing_free()), TypeError, "does not have any free RVs"),
    (lambda: pm.fit(method="unknown", model=straight()), KeyError, "method should be one of"),
    (lambda: pm.fit(method=3, model=straight()), TypeError, "Inference instance"),
    (lambda: pm.fit(method="fullrank_advi", start_sigma={"x": 1.0}, model=straight()), NotImplementedError, "advi"),
    (lambda: pm.fit(model=straight(), start_sigma={"z": 1.0}, rewrite=False), KeyError, "'z'"),
    (lambda: pm.fit(model=straight(), progressbar_theme="x"), TypeError, "one set of colors"),
    (lambda: pm.fit(method="pathfinder", model=straight(), score=True), TypeError, "score"),
    (lambda: pm.fit(model=straight(), no_such=1, rewrite=False), TypeError, "no argument 'no_such'"),
    (lambda: pm.fit(model=straight(), obj_optimizer="adam"), TypeError, "obj_optimizer is a function"),
    (lambda: pm.fit(model=without_density(), rewrite=False), SamplingError, "not finite at the start"),
    (lambda: pm.ADVI(model=straight()).refine(3), TypeError, "Need to call `.fit` first"),
    (lambda: pm.KLqp(pm.Empirical(size=3, model=straight())), opvi.ExplicitInferenceError, "requires logq"),
    (lambda: pm.SVGD(model=straight(), kernel="none"), ValueError, "kernel is a function or one of"),
    (lambda: pm.fit_pathfinder(model=straight(), importance_sampling="x"), ValueError, "importance_sampling is one"),
])  # fmt: skip
def test_what_cannot_be_fitted_is_said(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_losses_that_are_no_numbers_end_the_fit_and_leave_what_there_was():
    inference = pm.ADVI(model=straight(), random_seed=1)
    before = inference.approx.params[0].get_value()
    nan_after_five = lambda grads, params: {
        **pm.sgd(grads, params, learning_rate=0.01), params[0]: params[0] - 0.01 * grads[0] * bad
    }  # fmt: skip
    bad = tt.shared(np.array(1.0), "bad")

    def spoil(approx, losses, i):
        if i == 5:
            bad.set_value(np.array(np.nan))

    with pytest.raises(FloatingPointError, match=r"NaN occurred in optimization(.|\n)*The parameters are those before"):
        inference.fit(20, obj_optimizer=nan_after_five, callbacks=[spoil], progressbar=False)
    after = inference.approx.params[0].get_value()
    assert len(inference.hist) >= 5 and np.isfinite(after).all() and (after != before).any()


def test_an_interrupted_fit_keeps_what_it_has():
    def interrupt(approx, losses, i):
        if i == 3:
            raise KeyboardInterrupt

    approx = pm.fit(model=regression(), rewrite=False, callbacks=[interrupt], progressbar=False)
    assert len(approx.hist) == 3 and approx.report.converged is False and "interrupted" in approx.report.why
    assert approx.sample(5).posterior.sizes["draw"] == 5


def test_a_fit_that_has_not_arrived_says_so(caplog):
    approx = pm.fit(2, model=regression(), rewrite=False, progressbar=False)
    assert approx.report.converged is False
    assert "has not converged" in caplog.text
    assert "Pareto k" in " ".join(Report("x", True, "", 1, 1, 0.0, 0.9, 0.0, 0.0, 0.0).warnings)


def test_optimizers_that_stop_short_are_found_out(caplog):
    """PyMC's default steps do not reach the regression; the importance ratios tell."""
    approx = pm.fit(300, model=regression(), obj_optimizer=pm.adagrad_window, random_seed=1, progressbar=False)
    assert approx.report.pareto_k > 0.7 and "far from the posterior" in caplog.text


@pytest.mark.parametrize("init", ["advi", "advi+adapt_diag", "advi_map", "pathfinder"])
def test_chains_start_from_an_approximation(init):
    """Far from the support points: after no tuning at all, draws lie where the posterior is."""
    with pm.Model():
        x = pm.Normal("x", 0, 100, shape=3)
        pm.Normal("y", x, 0.1, observed=[50.0, -60.0, 70.0])
        result = pm.sample(5, tune=0, chains=2, init=init, n_init=1000 if "advi" in init else None, random_seed=1,
                           rewrite=False, progressbar=False, compute_convergence_checks=False)  # fmt: skip
    assert np.max(np.abs(result.posterior["x"].values - [50.0, -60.0, 70.0])) < 2
    first = result.posterior["x"].values[:, 0]
    assert (first[0] != first[1]).all()


def test_the_mode_comes_with_its_curvature():
    point, hessian = pm.find_MAP(model=straight(), progressbar=False, compute_hessian=True)
    np.testing.assert_allclose(point["x"], [4 / 9, 4 / 9], atol=1e-5)
    np.testing.assert_allclose(hessian, np.linalg.inv(EXACT), atol=1e-5)


def test_the_names_of_pymc_extras():
    import ppl.extras as pmx

    result = pmx.fit("Laplace", model=straight(), rewrite=False, chains=1, draws=7, progressbar=False)
    assert result.posterior.sizes == {"chain": 1, "draw": 7, "x_dim_0": 2}
    with pytest.raises(ValueError, match="method is one of pathfinder"):
        pmx.fit("advi")


def test_the_number_of_draws_may_be_symbolic_and_data_of_other_lengths(fitted):
    size = tt.iscalar("size")
    size.tag.test_value = 1
    drawn = fitted.sample_node(fitted.model["slope"], size=size)
    assert size.tag.test_value == 1 and drawn.eval({size: 7}).shape == (7,)
    X = tt.shared(np.ones((5, 2)), "X")
    with pm.Model():
        b = pm.Normal("b", shape=2)
        rows = pm.math.exp(X @ b)
        pm.Poisson("y", rows, observed=np.arange(5))
        approx = pm.SVGD(n_particles=10, random_seed=1).approx
    assert approx.sample_node(rows, size=4, more_replacements={X: np.ones((3, 2))}).eval().shape == (4, 3)


def test_modules_of_pymc_are_these():
    program = """if True:
        import ppl as pm
        with pm.as_pymc():
            import pymc
            from pymc.variational.callbacks import Tracker
            from pymc.variational.opvi import Group
            assert pymc.callbacks.Tracker is Tracker is pm.callbacks.Tracker
            assert pymc.Group is Group is pm.Group and pymc.fit is pm.fit
    """  # in a process of its own: here another test may have imported the real package
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_arguments_about_how_pymc_extras_computes_are_said_to_have_no_meaning(caplog):
    with pm.Model(), caplog.at_level(logging.INFO):
        pm.Normal("y", pm.Normal("x", shape=2), 1, observed=[0.5, 1.0])
        pm.fit_pathfinder(num_paths=1, num_draws=50, random_seed=1, cores=2, progressbar=False)
    assert "fit_pathfinder: cores says how pymc-extras computes" in caplog.text
