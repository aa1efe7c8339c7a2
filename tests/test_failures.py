"""What a result tells of points where numbers ended, in its chains and after them: no finished run is lost."""

import logging
import re

import arviz as az
import numpy as np
import pytest
from scipy.stats import truncnorm
from some_slow import some_slow

import ppl as pm
import ppl.tensor as tt
from ppl.model.errors import CertificateError
from ppl.rewrites.limits import LIMITS

QUICK = {"chains": 4, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False}


def basis(x, functions, factor=1.5):
    """Eigenfunctions of the Laplacian on an interval around x, and the square roots of their eigenvalues."""
    centered = x - (x.max() + x.min()) / 2
    end = factor * np.abs(centered).max()
    roots = np.arange(1, functions + 1) * np.pi / (2 * end)
    return np.sin(roots * (centered[:, None] + end)) / np.sqrt(end), roots


def two_processes(scale_of, functions=(40, 20)):
    """A process in the mean and one in the log-scale of normal rows, in Hilbert spaces (Solin & Särkkä 2020)."""
    x = np.linspace(0, 1, 100)
    mean = np.where(x < 0.25, 0.0, -1.5 * np.exp(-(((x - 0.4) / 0.1) ** 2)) + 0.8 * np.exp(-(((x - 0.62) / 0.1) ** 2)))
    scale = np.exp(-2.5 + 2.2 / (1 + np.exp(-(x - 0.3) / 0.03)) - 0.5 * x)
    y = mean + scale * np.random.default_rng(0).normal(size=x.size)

    def process(name, number):
        waves, roots = basis(x, number)
        size = scale_of(f"size_{name}")
        length = pm.InverseGamma(f"length_{name}", 1.12, 0.018)
        z = pm.Normal(f"z_{name}", 0, 1, shape=number)
        density = size * pm.math.sqrt(np.sqrt(2 * np.pi) * length) * pm.math.exp(-0.25 * (length * roots) ** 2)
        return pm.math.dot(waves, density * z)

    with pm.Model() as model:
        mu = pm.StudentT("level", 3, -0.3, 1.0) + process("mean", functions[0])
        log_scale = pm.StudentT("level_of_scale", 3, 0, 2.5) + process("scale", functions[1])
        pm.Normal("y", mu, pm.math.exp(log_scale), observed=y)
    return model


@pytest.mark.parametrize("seed", some_slow(range(5), fast=lambda seed: seed == 1))
def test_two_processes_are_sampled(seed):
    """As in posteriordb's mcycle_gp: a process in the mean, one in the log-scale, lengths with a wide prior."""
    with two_processes(lambda name: pm.HalfStudentT(name, 3, 2.5)):
        found = pm.sample(random_seed=seed, chains=4, target_accept=0.97, progressbar=False, quiet=True)
    assert float(az.rhat(found).max().to_array().max()) < 1.05


@pytest.mark.parametrize("seed", some_slow(range(5), fast=lambda seed: seed == 1))
@pytest.mark.parametrize("size", some_slow([50, 500], fast=lambda size: size == 50))
def test_log_scales_of_any_size_end_no_chain(seed, size):
    """Scales down to e^-50 and below: gradients lie tens of digits apart, and their covariance has no factor."""
    with two_processes(lambda name: pm.HalfNormal(name, size)):
        found = pm.sample(100, tune=1000, **(QUICK | {"random_seed": seed}), quiet=True)
    assert found.posterior.sizes["draw"] == 100 and found.posterior.sizes["chain"] == 4
    assert all(np.isfinite(found.posterior[name]).all() for name in found.posterior)


@pytest.mark.parametrize("jitter", some_slow([0.0, 1e-6], fast=lambda jitter: jitter == 0))
def test_a_covariance_that_becomes_singular_rejects_the_proposal(jitter):
    """The squared exponential covariance on a grid has no factor at lengths that the prior allows; a jitter helps."""
    x = np.linspace(0, 1, 20)
    with pm.Model():
        length, size = pm.LogNormal("length", -2.5, 0.5), pm.HalfNormal("size", 1.0)
        covariance = size**2 * pm.math.exp(-0.5 * ((x[:, None] - x) / length) ** 2)
        pm.MvNormal("y", np.zeros(20), covariance + jitter * np.eye(20), observed=np.sin(3 * x))
        found = pm.sample(200, tune=200, **QUICK, quiet=True)
    attrs = found.sample_stats.attrs
    assert np.isfinite(found.posterior["length"]).all()
    assert (attrs["not_finite"] + attrs["not_finite_in_tuning"] > 0) is (jitter == 0)
    assert jitter or 'the term "y" is -inf at length = ' in attrs["not_finite_at"]


# What is told


def walled(kind):
    """A standard normal of two dimensions, of which nothing is known where x[0] > 1/2."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=2)
        known = {
            "sqrt": lambda: pm.math.sqrt(0.5 - x[0]),
            "overflow": lambda: pm.math.exp(1419 * x[0]),
            "factor": lambda: tt.sum(tt.cholesky(np.eye(10) * (0.5 - x[0]))),
        }[kind]()
        pm.Potential("wall", 0 * known + 0 * x[1])
    return model


STEPS = {"nuts": None, "metropolis": pm.Metropolis, "slice": pm.Slice, "past": pm.DEMetropolisZ}
SAID = {
    "sqrt": "The sqrt of -0.[0-9]+ is not finite: keep the parameters away from there by a prior",
    "overflow": "The exp of [0-9.]+ is not finite: keep",
    "factor": r"A matrix is not positive definite as far as rounding tells \(its eigenvalues go from -.* to .*jitter",
}


@pytest.mark.parametrize(
    ("kind", "step"),
    [("sqrt", "nuts"), ("overflow", "metropolis"), ("factor", "nuts"), ("factor", "slice"), ("sqrt", "past")],
)
def test_the_result_tells_how_many_points_were_not_finite_and_why(kind, step, caplog):
    with caplog.at_level(logging.WARNING, logger="ppl"), walled(kind):
        found = pm.sample(400, tune=300, step=STEPS[step] and STEPS[step](), **QUICK)
    attrs, stats = found.sample_stats.attrs, found.sample_stats
    counted = stats["not_finite"].sum() if step != "nuts" else np.isinf(stats["max_energy_error"]).sum()
    assert attrs["not_finite"] == int(counted) > 0
    lines = attrs["not_finite_at"].splitlines()
    assert 0 < len(lines) <= 5
    assert all('the term "wall" is nan at x = [' in line and line.startswith("chain ") for line in lines)
    told = [message for message in caplog.messages if message.startswith(f"At {attrs['not_finite']} points")]
    assert len(told) == 1 and lines[0] in told[0]
    assert re.search(SAID[kind], told[0])
    means = found.posterior["x"][..., 0].mean("draw").values
    assert found.posterior["x"][..., 0].max() < 0.501
    assert abs(means.mean() - truncnorm(-np.inf, 0.5).mean()) < 0.2


def test_nothing_is_told_where_numbers_do_not_end(caplog):
    with caplog.at_level(logging.WARNING, logger="ppl"), pm.Model():
        pm.MvNormal("x", np.zeros(2), np.eye(2))
        found = pm.sample(50, tune=100, **QUICK, rewrite=False)
    assert [found.sample_stats.attrs[name] for name in ("not_finite", "not_finite_in_tuning", "not_finite_at")] == [
        0,
        0,
        "",
    ]
    assert not any("not finite" in message for message in caplog.messages)


def test_points_of_a_part_are_told_as_well(monkeypatch):
    """Parts that nothing joins have chains of their own, and positions of a part are told as positions of all."""
    monkeypatch.setattr(LIMITS, "much_arithmetic", 0.0)
    monkeypatch.setattr(LIMITS, "most_of_the_arithmetic", 0.5)
    with pm.Model():
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("wall", 0 * pm.math.sqrt(0.5 - x[0] - x[1]))
        slopes = pm.Normal("slopes", 0, 1, shape=5)
        rows = np.random.default_rng(0).normal(size=(200, 5))
        pm.Bernoulli("y", logit_p=pm.math.dot(rows, slopes), observed=np.arange(200) % 2)
        found = pm.sample(200, tune=200, **QUICK, quiet=True)
    attrs = found.sample_stats.attrs
    assert "; NUTS of" in attrs["drawn_by"]
    assert attrs["not_finite"] == int(np.isinf(found.sample_stats["max_energy_error"]).sum()) > 0
    assert 'the term "wall" is nan at x = [' in attrs["not_finite_at"]


# Starts


@pytest.mark.parametrize("step", STEPS)
def test_a_start_that_never_succeeds_names_the_term_the_values_and_the_remedy(step):
    with pm.Model():
        a = pm.Normal("a", 0, 1)
        pm.MvNormal("y", np.zeros(10), np.eye(10) * (a - 50), observed=np.zeros(10))
        with pytest.raises(pm.SamplingError) as error:
            pm.sample(20, tune=20, step=STEPS[step] and STEPS[step](), **QUICK, quiet=True, rewrite=False)
    text = str(error.value)
    assert "found no starting point" in text and "Starting values: a = " in text and "y: -inf" in text
    assert "A matrix is not positive definite" in text and "add a jitter to its diagonal" in text


def test_an_error_of_the_user_still_ends_the_run():
    with pm.Model():
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("checked", 0 * tt.sum(tt.Assert("x[0] is too large")(x, x[0] < 1)))
        with pytest.raises(Exception, match=r"x\[0\] is too large"):
            pm.sample(200, tune=200, **QUICK, quiet=True)

    def report(trace, draw):
        raise ZeroDivisionError("of the callback")

    with pm.Model():
        pm.Normal("x", 0, 1, shape=2)
        with pytest.raises(ZeroDivisionError, match="of the callback"):
            pm.sample(20, tune=20, **QUICK, quiet=True, callback=report)


# After the chains


def draws_of(**values):
    return az.from_dict(posterior={name: np.asarray(value)[None] for name, value in values.items()})


def test_a_deterministic_and_a_recovered_variable_are_nan_where_numbers_end(caplog):
    with caplog.at_level(logging.WARNING, logger="ppl"), pm.Model():
        a = pm.Normal("a", 0, 1)
        pm.Normal("z", a, 1, observed=0.3)
        pm.Deterministic("root", pm.math.sqrt(1 - a))
        pm.Deterministic("padded", pm.math.stack([a, np.nan + 0 * a]))
        pm.MvNormal("y", np.zeros(10), np.eye(10) * (1.5 - a))
        found = pm.sample(300, tune=10, certificate=False, **QUICK)  # as written, no draw has a beyond 1.5
    draws = found.posterior
    np.testing.assert_array_equal(np.isnan(draws["root"]), draws["a"] > 1)
    np.testing.assert_array_equal(np.isnan(draws["y"]).any("y_dim_0"), draws["a"] >= 1.5)
    told = "\n".join(caplog.messages)
    assert f'"root" is nan in {int((draws["a"] > 1).sum())} of 1200 draws' in told
    assert f'"y" is nan in {int((draws["a"] >= 1.5).sum())} of 1200 draws' in told and "jitter" in told
    assert '"padded"' not in told  # nan in every draw, so that is meant


def test_nan_of_a_recovered_variable_keeps_the_draws_where_the_certificate_fails():
    with pm.Model():
        a = pm.Normal("a", 0, 1)
        pm.Normal("z", a, 1, observed=0.3)
        pm.MvNormal("y", np.zeros(10), np.eye(10) * (0.5 - a))
        with pytest.raises(CertificateError) as error:
            pm.sample(300, tune=10, **QUICK, quiet=True)
    assert np.isnan(error.value.result.posterior["y"]).any() and np.isfinite(error.value.result.posterior["a"]).all()


def counts_or_vectors(kind):
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        covariance = np.eye(10) * (1.5 - a)
        if kind == "counts":
            pm.Poisson("y", pm.math.exp(tt.cholesky(covariance)[0, 0]), observed=[1, 2, 3])
        else:
            pm.MvNormal("y", np.zeros(10), covariance, observed=np.zeros(10))
        pm.Normal("w", a, 1, observed=0.5)
    return model


@pytest.mark.parametrize("kind", ["counts", "vectors"])
def test_predictive_draws_are_nan_where_a_draw_has_no_factor(kind, caplog):
    a = np.linspace(-1, 2, 100)
    with caplog.at_level(logging.WARNING, logger="ppl"), counts_or_vectors(kind):
        found = pm.sample_posterior_predictive(draws_of(a=a), random_seed=1, progressbar=False)
    y = found.posterior_predictive["y"].values[0]
    np.testing.assert_array_equal(np.isnan(y).all(axis=1), a >= 1.5)
    assert np.isfinite(y[a < 1.5]).all() and np.isfinite(found.posterior_predictive["w"]).all()
    assert caplog.messages[-1].startswith(f'"y" is nan in {(a >= 1.5).sum()} of 100 predictive draws, first in draw 83')


def test_predictive_draws_of_which_none_has_a_factor_are_an_error():
    with counts_or_vectors("vectors"), pytest.raises(pm.ParameterValueError, match="chol"):
        pm.sample_posterior_predictive(draws_of(a=np.linspace(2, 3, 10)), progressbar=False)


def test_a_parameter_outside_its_domain_is_an_error_in_whatever_draw():
    with pm.Model():
        a = pm.Normal("a", 0, 1)
        pm.Normal("y", 0, a, observed=0.0)
        with pytest.raises(pm.ParameterValueError, match='Normal "y": sigma must be positive'):
            pm.sample_posterior_predictive(draws_of(a=np.linspace(-1, 3, 10)), progressbar=False)


@pytest.mark.parametrize("kind", ["counts", "vectors"])
def test_a_log_likelihood_that_is_not_finite_is_told(kind, caplog):
    a = np.linspace(-1, 2, 100)
    with caplog.at_level(logging.WARNING, logger="ppl"), counts_or_vectors(kind):
        found = pm.compute_log_likelihood(draws_of(a=a), progressbar=False)
    assert np.isfinite(found.log_likelihood["y"].values[0, a < 1.5]).all()
    assert not np.isfinite(found.log_likelihood["y"].values[0, a >= 1.5]).any()
    assert f"in {(a >= 1.5).sum()} of 100 draws of the log_likelihood, first in draw 83 of chain 0" in caplog.text
