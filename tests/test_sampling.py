"""`sample`: its guarantees, its arguments, and what it does when sampling cannot start."""

import logging
import re

import jax
import numpy as np
import pytest
import scipy.stats

import ppl.model as pm
from ppl.distributions import (
    Bernoulli,
    Beta,
    Censored,
    CustomDist,
    Dirichlet,
    Flat,
    Gamma,
    HalfNormal,
    Normal,
    NormalMixture,
)
from ppl.samplers import PROGRAMS

Y = np.array([0.9, 1.7, 0.4, 1.3, 0.2])
FEW = {
    "draws": 60,
    "tune": 60,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
    "nuts": {},
}  # NUTS, also where rewriting leaves one dimension


def regression(y=Y, data=True):
    with pm.Model(coords={"row": range(len(y))}) as model:
        mu = Normal("mu", 0, 5)
        sigma = HalfNormal("sigma", 2)
        values = pm.Data("values", y, dims="row") if data else y
        pm.Deterministic("twice", 2 * mu)
        Normal("y", mu, sigma, observed=values, dims="row")
    return model


@pytest.fixture(scope="module")
def model():
    return regression()


@pytest.fixture(scope="module")
def run(model):
    return pm.sample(chains=2, random_seed=11, model=model, **FEW)


# --- guarantees


def test_the_same_seed_gives_the_same_draws_whatever_the_cores(model, run):
    again = pm.sample(chains=2, cores=1, random_seed=11, model=model, **FEW)
    assert np.array_equal(again.posterior.mu, run.posterior.mu)
    other = pm.sample(chains=2, random_seed=12, model=model, **FEW)
    assert not np.array_equal(other.posterior.mu, run.posterior.mu)


def test_the_first_chains_of_a_longer_run_are_those_of_a_shorter_one(model, run):
    longer = pm.sample(chains=3, random_seed=11, model=model, **FEW)
    assert np.array_equal(longer.posterior.twice.values[:2], run.posterior.twice.values)


def test_an_ensemble_finds_the_same_posterior_and_keeps_the_seed(model):
    many = {**FEW, "draws": 100, "tune": 200, "chains": 32, "model": model, "nuts": {"kernel": "chees"}}
    together = pm.sample(random_seed=5, **many)
    assert together.posterior.twice.dims == ("chain", "draw")
    assert together.posterior.sizes["chain"] == 32
    alone = pm.sample(random_seed=6, **{**many, "nuts": {}})
    for name, spread in (("mu", 0.25), ("sigma", 0.25)):
        assert abs(float(together.posterior[name].mean() - alone.posterior[name].mean())) < spread / 4
    again = pm.sample(random_seed=5, **many)
    assert np.array_equal(again.posterior.mu, together.posterior.mu)


def test_sampling_again_compiles_nothing_nor_does_new_data_of_the_same_shape(model, run):
    before = PROGRAMS.compilations
    pm.sample(chains=2, random_seed=3, model=model, **FEW)
    pm.set_data({"values": Y + 100}, model=model)
    moved = pm.sample(chains=2, random_seed=11, tune=300, model=model, **{k: v for k, v in FEW.items() if k != "tune"})
    pm.set_data({"values": Y}, model=model)
    assert PROGRAMS.compilations == before
    assert moved.posterior.mu.mean() > 5


def test_xla_is_not_asked_again_either(model, run):
    """Not for the sampler, not for the result, and not for small operations in between."""
    compiled = []
    watch = lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
    jax.monitoring.register_event_duration_secs_listener(watch)
    pm.sample(chains=2, random_seed=4, model=model, **FEW)
    pm.set_data({"values": Y + 1}, model=model)
    pm.sample(chains=2, random_seed=4, model=model, **FEW)
    pm.set_data({"values": Y}, model=model)
    assert compiled == []
    jax.jit(lambda x: x + len(Y))(1.0)
    assert len(compiled) == 1  # the watch is awake


def test_a_model_built_alike_compiles_nothing(run):
    before = PROGRAMS.compilations
    pm.sample(chains=2, random_seed=3, model=regression(Y * 2), **FEW)
    assert PROGRAMS.compilations == before


def test_another_model_of_the_same_form_is_another_program(run):
    before = PROGRAMS.compilations
    with pm.Model() as other:
        Normal("mu", 0, 7)
    with pm.Model() as same_form:
        Normal("mu", 0, 8)
    wide = pm.sample(chains=2, random_seed=3, model=same_form, rewrite=False, **FEW)
    narrow = pm.sample(chains=2, random_seed=3, model=other, rewrite=False, **FEW)
    assert PROGRAMS.compilations > before and not np.array_equal(wide.posterior.mu, narrow.posterior.mu)


def test_seeds_of_every_kind(model, run):
    def mu(seed):
        return pm.sample(chains=2, random_seed=seed, model=model, **FEW).posterior.mu.values

    generator = np.random.default_rng(5)
    assert np.array_equal(mu(generator), mu(np.random.default_rng(5)))
    assert np.array_equal(mu(np.array([1, 2])), mu(np.array([1, 2])))
    assert not np.array_equal(mu(None), mu(None))
    with pytest.warns(UserWarning, match="list of seeds"):
        mu([1, 2])


def test_draws_are_those_of_the_posterior():
    with pm.Model() as model:
        mu = Normal("mu", 0, 10)
        Normal("y", mu, 1, observed=Y)
    found = pm.sample(1000, tune=500, chains=4, random_seed=1, model=model, progressbar=False, quiet=True).posterior.mu
    precision = len(Y) + 1 / 100
    assert abs(found.mean() - Y.sum() / precision) < 0.05
    assert abs(found.std() - precision**-0.5) < 0.05


# --- arguments


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"drawz": 5}, TypeError, "draws"),
        ({"foo": 2}, TypeError, "foo"),
        ({"target_accept": 2}, ValueError, "between 0 and 1"),
        ({"nuts": {"chain_method": "processes"}}, ValueError, "chain_method must be one of auto"),
        ({"nuts": {"kernel": "chees"}, "chains": 2}, ValueError, "needs 8, got 2"),
        ({"target_accept": -1}, ValueError, "between 0 and 1"),
        ({"nuts": {"target_accept": 0.9}, "target_accept": 0.9}, ValueError, "twice"),
        ({"nuts": {"target_acept": 0.9}}, TypeError, "target_accept"),
        ({"potential": 1}, TypeError, "no counterpart"),
        ({"max_treedepth": 0}, ValueError, "max_treedepth"),
        ({"draws": -3}, ValueError, "draws"),
        ({"tune": 1.5}, ValueError, "tune"),
        ({"chains": 0}, ValueError, "chains"),
        ({"cores": 0}, ValueError, "cores"),
        ({"random_seed": -1}, ValueError, "random_seed"),
        ({"random_seed": "x"}, TypeError, "random_seed"),
        ({"var_names": ["mew"]}, KeyError, "mu"),
        ({"initvals": {"zzz": 1}}, KeyError, "zzz"),
        ({"initvals": [{}]}, ValueError, "chains"),
        ({"init": "jiter+adapt_diag"}, ValueError, "jitter"),
        ({"init": "avdi"}, ValueError, "advi"),
        ({"nuts_sampler": "stan"}, ValueError, "nuts_sampler"),
        ({"idata_kwargs": {"log_likelyhood": True}}, TypeError, "log_likelihood"),
        ({"nuts_sampler_kwargs": {"metrik": 1}}, TypeError, "metric"),
        ({"progressbar": "splitt"}, ValueError, "split"),
        ({"progressbar_theme": "x"}, TypeError, "theme"),
        ({"trace": []}, ValueError, "var_names"),
        ({"trace": object()}, TypeError, "resume"),
        ({"keep_warning_stat": True}, TypeError, "diverging"),
        ({"compile_kwargs": {"linker": "c"}}, TypeError, "linker"),
        ({"step": "metropolis"}, TypeError, "step"),
        ({"protect": ["nope"]}, KeyError, "nope"),
        ({"rewrite": "no"}, TypeError, "rewrite is True or False, got 'no'"),
        ({"blocking": 2}, TypeError, "blocking is True or False"),
        ({"quiet": "very"}, TypeError, "quiet is True or False"),
        ({"callback": 3}, TypeError, "callback is a function"),
        ({"jitter_max_retries": -1}, ValueError, "jitter_max_retries"),
        ({"initvals": {"mu": [0.0, 1.0]}}, ValueError, "mu.*shall start at a value of shape"),
        ({"step": pm.NUTS, "target_accept": 0.9}, ValueError, "step= brings NUTS with its own settings"),
        ({"model": 3}, TypeError, "model= is a Model, got 3"),
    ],
)
def test_arguments_that_cannot_be_are_refused_before_anything_compiles(model, run, arguments, error, text):
    before = PROGRAMS.compilations
    with pytest.raises(error, match=text):
        pm.sample(**{"model": model, **FEW, "chains": 2, **arguments})
    assert PROGRAMS.compilations == before


def test_whole_floats_are_counts_and_no_draws_are_allowed(model):
    found = pm.sample(60.0, tune=60, chains=2, random_seed=11, model=model, progressbar=False, quiet=True)
    assert found.posterior.sizes["draw"] == 60
    empty = pm.sample(0, tune=60, chains=2, random_seed=11, model=model, progressbar=False, quiet=True)
    assert empty.posterior.mu.shape == (2, 0)


def test_start_is_the_old_name_of_initvals(model):
    with pytest.warns(FutureWarning, match="initvals"):
        pm.sample(chains=2, start={"mu": 1.0}, random_seed=11, model=model, **FEW)


def test_n_init_has_no_meaning_here(model):
    with pytest.warns(UserWarning, match="n_init"):
        pm.sample(chains=2, n_init=500, random_seed=11, model=model, **FEW)


@pytest.mark.parametrize("init", ["adapt_diag", "jitter+adapt_full", "map"])
def test_starts_and_metrics_by_pymc_names(model, init):
    assert pm.sample(chains=2, init=init, random_seed=1, model=model, **FEW).posterior.sizes["draw"] == 60


def test_only_the_names_that_were_asked_for(model):
    found = pm.sample(chains=2, var_names=["twice"], random_seed=11, model=model, **FEW)
    assert list(found.posterior.data_vars) == ["twice"]


def test_a_model_without_free_variables_cannot_be_sampled():
    with pm.Model() as model:
        Normal("y", 0, 1, observed=Y)
    with pytest.raises(pm.SamplingError, match="no free random variables"):
        pm.sample(model=model)


def test_a_result_that_cannot_fit_is_refused():
    with pm.Model() as model:
        mu = Normal("mu", 0, 1)
        pm.Deterministic("huge", mu + np.zeros(10**6))
    with pytest.raises(pm.SamplingError, match='"huge" alone has 1,000,000 entries'):
        pm.sample(10**7, model=model, progressbar=False, quiet=True)


# --- other ways to sample


def test_warm_up_draws_can_be_kept(model):
    found = pm.sample(chains=2, random_seed=11, discard_tuned_samples=False, model=model, **FEW)
    assert found.warmup_posterior.twice.shape == (2, 60) and found.warmup_sample_stats.lp.shape == (2, 60)


def test_without_arviz_a_multitrace(model, run):
    trace = pm.sample(chains=2, random_seed=11, return_inferencedata=False, model=model, **FEW)
    assert np.array_equal(trace["mu"], run.posterior.mu.values.ravel()) and len(trace) == 60 and trace.nchains == 2
    assert np.array_equal(trace.get_values("mu", burn=10, chains=1), run.posterior.mu.values[1, 10:])
    assert trace[20:]["mu"].shape == (80,) and trace.point(3)["mu"] == run.posterior.mu.values[1, 3]
    assert np.array_equal(trace["mu", 10::2], run.posterior.mu.values[:, 10::2].ravel())
    with pytest.raises(TypeError, match="by a variable, a draw, a slice"):
        trace["mu", 10]
    assert trace.get_sampler_stats("diverging").dtype == bool
    assert np.array_equal(trace.get_sampler_stats("tree_size"), trace.get_sampler_stats("n_steps"))
    assert np.allclose(np.exp(trace["sigma_log__"]), trace["sigma"]) and "sigma_log__" in trace.point(0)
    assert set(pm.to_inference_data(trace, model=model).posterior.data_vars) == {"mu", "sigma", "twice"}
    with pytest.raises(KeyError, match="sigma"):
        trace["nope"]


def test_in_the_background(model, run):
    sampling = pm.sample(chains=2, random_seed=11, blocking=False, model=model, **FEW)
    assert np.array_equal(sampling.wait(60).posterior.mu, run.posterior.mu) and sampling.is_finished
    long = pm.sample(10**6, chains=2, random_seed=11, blocking=False, model=model, progressbar=False, quiet=True)
    with pytest.raises(TimeoutError):
        long.wait(0.2)
    part = long.abort()
    assert 0 < part.posterior.sizes["draw"] < 10**6 and part.posterior.attrs["interrupted"] == 1


def test_a_callback_sees_every_draw_and_may_stop(model, run):
    seen = []
    look = lambda trace, draw: seen.append((len(trace), draw))
    pm.sample(chains=2, random_seed=11, callback=look, model=model, rewrite=False, **FEW)
    assert len(seen) == 2 * 120
    last = [draw for _, draw in seen if draw.is_last]
    assert {d.chain for d in last} == {0, 1} and not last[0].tuning
    assert set(last[0].point) == {"mu", "sigma", "twice", "sigma_log__"} and "tree_depth" in last[0].stats[0]

    with pytest.raises(ZeroDivisionError):
        pm.sample(chains=2, random_seed=11, callback=lambda trace, draw: 1 / 0, model=model, **FEW)


def test_a_run_that_was_stopped_goes_on_to_the_same_draws(model, run, tmp_path):
    place = tmp_path / "run"

    def stop(trace, draw):
        if draw.draw_idx == 80:
            raise KeyboardInterrupt

    part = pm.sample(chains=2, cores=1, random_seed=11, resume=place, callback=stop, model=model, **FEW)
    whole = pm.sample(chains=2, random_seed=11, resume=place, model=model, **FEW)
    assert part.posterior.attrs["interrupted"] == 1 and whole.posterior.attrs["interrupted"] == 0
    assert np.array_equal(whole.posterior.mu, run.posterior.mu)


def test_a_run_that_was_stopped_while_tuning_says_so(model, caplog):
    def stop(trace, draw):
        raise KeyboardInterrupt

    settings = {"chains": 2, "random_seed": 11, "model": model, "progressbar": False}
    with caplog.at_level("INFO"):
        part = pm.sample(30, tune=10_000, cores=1, callback=stop, **settings)
        pm.sample(0, tune=60, **settings)
    assert part.posterior.sizes["draw"] == 0 and part.posterior.attrs["interrupted"] == 1
    stopped, none_wanted = [text for text in caplog.messages if "no draw to check" in text]
    assert "stopped while it was tuning" in stopped and "No draws were asked for" in none_wanted


@pytest.mark.parametrize("sampler", ["nutpie", "numpyro", "blackjax"])
@pytest.mark.filterwarnings("default")
def test_other_packages_give_the_same_contract(model, run, sampler):
    pytest.importorskip(sampler, reason=f"{sampler} is not installed")
    found = pm.sample(
        200, tune=200, chains=2, random_seed=1, nuts_sampler=sampler, model=model, progressbar=False, quiet=True
    )
    assert list(found.posterior.data_vars) == list(run.posterior.data_vars)
    missing = set(run.sample_stats.data_vars) - set(found.sample_stats.data_vars)
    assert not missing
    kinds = {name: str(found.sample_stats[name].dtype) for name in run.sample_stats.data_vars}
    assert kinds == {name: str(run.sample_stats[name].dtype) for name in run.sample_stats.data_vars}
    assert abs(found.posterior.mu.mean() - Y.mean()) < 0.5


def test_a_package_that_is_missing_is_named(model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "nutpie", None)
    monkeypatch.setitem(sys.modules, "nutpie.compiled_pyfunc", None)
    with pytest.raises(ImportError, match="nutpie"):
        pm.sample(nuts_sampler="nutpie", model=model, **FEW)


# --- starts


def test_a_potential_that_is_not_a_number_is_named():
    with pm.Model() as model:
        mu = Normal("mu", 0, 1)
        pm.Potential("broken", mu * np.nan)
    with pytest.raises(pm.SamplingError, match='"broken" is nan'):
        pm.sample(model=model, progressbar=False, quiet=True)


def test_a_parameter_outside_its_domain_is_named_with_its_row():
    x = np.array([1.0, 2.0, -400.0])
    with pm.Model() as model:
        scale = HalfNormal("scale", 1)
        Normal("y", 0, scale * x, observed=np.zeros(3))
    with pytest.raises(pm.SamplingError, match=r'Normal "y": sigma must be positive, it is .* at index 2'):
        pm.sample(model=model, progressbar=False, quiet=True)


@pytest.mark.parametrize(
    ("child", "message"),
    [
        (lambda w, mu: NormalMixture("y", w, mu, 1.0, observed=np.zeros(3)), 'Mixture "y": w must be probabilities'),
        (lambda w, mu: Censored("y", Normal.dist(mu[0], -w[0]), -1, 1, observed=0.5), "sigma of Normal must be"),
        (lambda w, mu: CustomDist("y", mu[0], logp=lambda v, m: -np.inf + m, observed=1.0), "CustomDist(parameter"),
    ],
)
def test_a_start_that_is_not_finite_names_the_parameter_of_a_law_inside_too(child, message):
    with pm.Model():
        w, mu = Beta("w", 1, 1, shape=2), Normal("mu", shape=2)
        child(w, mu)
        with pytest.raises(pm.SamplingError, match=re.escape(message)):
            pm.sample(10, tune=10, chains=1, progressbar=False, random_seed=1)


def test_the_reason_is_named_where_rewriting_moves_other_values_than_the_user_wrote():
    with pm.Model():
        left = Beta("left", 1, Gamma("alpha", 1, 1), shape=3)
        tau = Gamma("tau", 1, 1, shape=3)
        NormalMixture("y", left, Normal("mu", 0, tau=tau, shape=3), tau=tau, observed=np.zeros(3))
        with pytest.raises(pm.SamplingError, match='NormalMixture "y": w must be probabilities that sum to 1, it is'):
            pm.sample(10, tune=10, chains=1, progressbar=False, random_seed=1)


def test_a_nan_in_a_predictor_is_named():
    with pm.Model() as model:
        slope = Normal("slope", 0, 1)
        Normal("y", slope * pm.math.arcsin(np.array([1.0, 2.0, 0.5])), 1, observed=np.zeros(3))
    with pytest.raises(pm.SamplingError, match=r'Normal "y": mu is nan at index 1'):
        pm.sample(model=model, rewrite=False, progressbar=False, quiet=True)


def test_findings_are_told_and_kept(caplog):
    with pm.Model() as model:
        x = Normal("x", 0, 1)
        Normal("y", x * 1e6, 1e-9, observed=0.0)
    with caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample(100, tune=5, chains=2, random_seed=1, model=model, progressbar=False, rewrite=False)
    told = "\n".join(record.message for record in caplog.records)
    kept = found.posterior.attrs["sampler_warnings"]
    assert "at least 4 chains" in told and "at least 4 chains" in kept
    assert np.isfinite(found.posterior.x).all()


def test_one_dimension_is_drawn_from_independently(caplog):
    """Without NUTS and its findings, by the same seed for all chains; a sampler that is chosen or steered is obeyed."""
    y = np.array([1, 0, 1, 1, 1])
    with pm.Model() as model:
        x = Normal("x", 0, 2)
        pm.Deterministic("twice", 2 * x)
        Bernoulli("y", logit_p=x, observed=y)
    assert "draws are independent, by quadrature" in str(pm.explain(model))
    assert "draws are independent, by quadrature" in pm.explain(model)._repr_html_()
    common = {"draws": 2000, "tune": 50, "random_seed": 3, "model": model, "progressbar": False}
    with caplog.at_level(logging.INFO, logger="ppl"):
        found = pm.sample(chains=2, discard_tuned_samples=False, **common)
    assert found.posterior.attrs["drawn_by"] == "quadrature of the one dimension left"
    assert not found.posterior.sampler_warnings
    assert 0 < found.posterior.attrs["quadrature_error"] < 1e-10
    assert "Made 2 × 2_000 independent draws" in caplog.text and "tune" not in caplog.text
    draws = found.posterior.x.values
    assert np.array_equal(found.posterior.twice, 2 * draws) and found.warmup_posterior.x.shape == (2, 50)
    logp = model.compile_logp()
    shift = [logp({"x": x}) - lp for x, lp in zip(draws[0, :20], found.sample_stats.lp.values[0, :20], strict=True)]
    assert np.allclose(shift, 0, atol=1e-8) and np.isnan(found.sample_stats.step_size).all()
    more = pm.sample(chains=3, cores=1, **common)
    assert np.array_equal(more.posterior.x.values[:2], draws) and not hasattr(more, "warmup_posterior")

    grid = np.linspace(-20, 20, 200_001)
    density = np.exp(-(grid**2) / 8 + y.sum() * grid - len(y) * np.logaddexp(0, grid))
    cdf = lambda x: np.interp(x, grid, np.cumsum(density) / density.sum())
    assert scipy.stats.kstest(draws.ravel(), cdf).pvalue > 1e-6

    common |= {"draws": 5, "tune": 5, "chains": 1, "quiet": True}
    for chosen in ({"nuts": {}}, {"max_treedepth": 9}, {"init": "adapt_diag"}, {"step": pm.NUTS}, {"rewrite": False},
                   {"nuts_sampler": "pymc"}):  # fmt: skip
        with model:
            assert pm.sample(**common, **chosen).posterior.attrs["drawn_by"] == "NUTS"


def test_where_one_dimension_has_no_law_to_be_followed_nuts_draws_and_says_why():
    with pm.Model() as model:
        Flat("x")
    attrs = pm.sample(5, tune=5, chains=1, model=model, progressbar=False, quiet=True).posterior.attrs
    assert attrs["drawn_by"].startswith("NUTS, since") and "left tail has no finite mass" in attrs["drawn_by"]
    assert "quadrature_error" not in attrs


def test_quiet_says_nothing(model, caplog, capsys):
    pm.sample(chains=2, random_seed=1, model=model, **FEW)
    assert not caplog.records and not capsys.readouterr().err


def test_discrete_variables_refuse_a_sampler_of_gradients_only():
    with pm.Model() as model:
        Bernoulli("z", 0.3)
    with pytest.raises(ValueError, match="NUTS alone"):
        pm.sample(nuts_sampler="numpyro", rewrite=False, model=model, **FEW)


def test_a_callback_sees_every_variable_and_what_it_sees_is_the_result():
    seen = {}

    def look(trace, draw):
        seen[draw.chain, draw.draw_idx] = draw.point
        assert len(trace) == draw.draw_idx + 1 and np.array_equal(trace["mu"][-1], draw.point["mu"])

    with pm.Model():
        Normal("mu", 0, 1)
        HalfNormal("s", 1)
        found = pm.sample(40, tune=30, chains=2, random_seed=3, callback=look, progressbar=False, quiet=True)
    assert {"mu", "s", "s_log__"} <= set(seen[0, 0]) and len(seen) == 140
    for name in ("mu", "s"):
        points = np.array([[seen[c, 30 + i][name] for i in range(40)] for c in range(2)])
        assert np.allclose(points, found.posterior[name].values, rtol=1e-12)


def test_transformed_values_of_variables_that_were_rewritten_away():
    with pm.Model():
        HalfNormal("s", 1)
        found = pm.sample(
            30,
            tune=30,
            chains=2,
            random_seed=3,
            progressbar=False,
            quiet=True,
            idata_kwargs={"include_transformed": True},
        )
    assert np.allclose(np.exp(found.posterior.s_log__), found.posterior.s)


# --- stochastic gradients


def test_a_minibatch_is_unbiased_and_refused_by_sample():
    x = np.arange(60.0)
    rows, twice = pm.Minibatch(x, 2 * x, batch_size=7)
    with pm.Model() as model:
        mu = Normal("mu", 0, 1)
        Normal("y", mu * rows, 50.0, observed=twice, total_size=60)
    logp, whole = model.compile_logp(model["y"]), -0.5 * ((2 * x - x) / 50) ** 2 - np.log(50 * np.sqrt(2 * np.pi))
    found = np.array([float(logp({"mu": 1.0})) for _ in range(400)])
    assert len(set(found)) > 300
    assert abs(found.mean() - whole.sum()) < 5 * found.std() / 20
    with pytest.raises(pm.SamplingError, match="random rows"):
        pm.sample(model=model, **FEW)
    with pytest.raises(ValueError, match="different numbers of rows"):
        pm.Minibatch(x, x[:5], batch_size=2)


def test_every_draw_has_its_own_random_rows_beside_it():
    with pm.Model() as model:
        mu = Normal("mu", 0, 1)
        pm.Deterministic("seen", mu + pm.Minibatch(np.arange(1000.0), batch_size=4))
        found, again = (pm.sample(**FEW, random_seed=1) for _ in range(2))
    others = pm.compute_deterministics(found.posterior, model=model, progressbar=False)
    for result in (found.posterior, others):
        rows = np.round((result.seen - found.posterior.mu).values, 6)
        assert (
            np.array_equal(rows, np.round(rows))
            and len(np.unique(rows.reshape(-1, 4), axis=0)) > 0.9 * rows[..., 0].size
        )
    assert np.array_equal(found.posterior.seen, again.posterior.seen)  # by random_seed
    with pm.Model() as model:
        Normal("y", Normal("mu"), 1.0, observed=pm.Minibatch(np.arange(60.0), batch_size=7), total_size=60)
    with pytest.raises(pm.SamplingError, match="random rows"):
        pm.compute_log_likelihood(found, model=model, progressbar=False)


def test_a_start_drawn_from_the_prior():
    with pm.Model() as model:
        scale = HalfNormal("scale", 1, initval="prior")
        Normal("x", 0, scale, shape=3, initval="prior")
    first, again, other = (model.initial_point(seed) for seed in (1, 1, 2))
    assert first["x"].shape == (3,) and np.array_equal(first["x"], again["x"])
    assert not np.isclose(first["scale_log__"], other["scale_log__"]) and len(set(first["x"])) == 3
    assert np.isfinite(model.compile_logp()(first))
    found = pm.sample(model=model, chains=2, random_seed=1, initvals={"x": "prior"}, **FEW)
    assert np.isfinite(found.posterior.x).all()


def test_a_long_sum_is_no_deep_recursion():
    with pm.Model() as model:
        parts = [Normal(f"x{i}", 0, 1) for i in range(3000)]
        Normal("y", sum(parts[1:], parts[0]), 1, observed=0.0)
    assert len(model.free_RVs) == 3000 and len(model.initial_point()) == 3000


def test_quiet_runs_in_several_threads_leave_no_silence_behind(caplog):
    """Blocks that overlap, the first of which ends before the second."""
    from ppl.model.log import log, silenced

    level = log.level
    first, second = silenced(True), silenced(True)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert log.level > logging.CRITICAL
    second.__exit__(None, None, None)
    assert log.level == level


def test_variables_of_several_shapes_beside_discrete_ones_move_as_written():
    with pm.Model() as model:
        z, level, shares = Bernoulli("z", 0.5, shape=4), Normal("level", 0, 1, shape=3), Dirichlet("p", [1, 1])
        Normal("y", level.sum() + shares[0] + z, 1, observed=np.ones(4))
    found = pm.sample(20, tune=20, chains=1, random_seed=1, model=model, rewrite=False, progressbar=False, quiet=True)
    assert found.posterior["level"].shape == (1, 20, 3) and found.posterior["p"].shape == (1, 20, 2)
