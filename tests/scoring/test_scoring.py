"""Evidence from draws, sensitivity, calibration: against closed forms, ArviZ and planted faults."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import kstest, multivariate_normal

import ppl as pm
from ppl.scoring.uniformity import band_of

Y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
SIGMA = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


@pytest.fixture(scope="module")
def schools():
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        effect = pm.Normal("effect", 0, 1, shape=8)
        pm.Normal("y", mu + tau * effect, SIGMA, observed=Y)
        return model, pm.sample(1000, chains=4, random_seed=1, quiet=True)


# Bridge sampling


@pytest.mark.parametrize("options", [{}, {"rewrite": False}, {"rewrite": False, "method": "warp3"}], ids=str)
def test_the_evidence_of_eight_schools(schools, options):
    model, draws = schools
    found = pm.bridge(draws, model, **options)
    assert abs(found.log_z + 31.31135) < 4 * found.se
    assert found.se < 0.01
    assert f"log evidence {found.log_z:.4f}" in str(found)


def test_the_evidence_of_thirty_coefficients():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 30))
    y = x @ np.full(30, 0.3) + rng.normal(size=100)
    exact = multivariate_normal(np.zeros(100), np.eye(100) + x @ x.T).logpdf(y)
    covariance = np.linalg.inv(np.eye(30) + x.T @ x)
    draws = rng.multivariate_normal(covariance @ x.T @ y, covariance, size=(4, 1000))
    with pm.Model() as model:
        b = pm.Normal("b", 0, 1, shape=30)
        pm.Normal("y", pm.math.dot(x, b), 1.0, observed=y)
    found = pm.bridge([{"b": each} for each in draws.reshape(-1, 30)], model, rewrite=False)
    assert found.se < 0.01
    assert abs(found.log_z - exact) < 4 * found.se


def test_where_nothing_is_left_the_evidence_is_exact_and_transforms_count():
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Bernoulli("y", p, observed=np.repeat([0, 1], 50))
        draws = pm.sample(1000, chains=2, random_seed=1, quiet=True)
    exact = pm.bridge(draws, model)
    assert exact.log_z == pytest.approx(betaln(51, 51), abs=1e-9)
    assert exact.se == 0
    bridged = pm.bridge(draws, model, rewrite=False)
    assert abs(bridged.log_z - exact.log_z) < 4 * bridged.se < 0.01


def test_what_bridge_refuses(schools):
    model, draws = schools
    with pytest.raises(ValueError, match="method is one of normal, warp3, got 'best'"):
        pm.bridge(draws, model, method="best")
    with pytest.raises(KeyError, match="no values of effect"):
        pm.bridge(draws.posterior[["mu", "tau"]], model)
    with pm.Model() as counts:
        k = pm.Poisson("k", 3.0)
        pm.Normal("y", k**2, 1.0, observed=4.0)
    with pytest.raises(ValueError, match="k discrete"):
        pm.bridge([{"k": np.array(2)}] * 10, counts, rewrite=False)
    with pm.Model() as other:
        x = pm.HalfNormal("x")
        pm.Normal("y", x, 1.0, observed=1.0)
    with pytest.raises(ValueError, match=r"no finite log-density"):
        pm.bridge([{"x": np.array(v)} for v in np.linspace(-1, 1, 50)], other, rewrite=False)


# Power-scaling


def test_sensitivities_are_those_of_arviz(schools):
    import arviz as az

    if not hasattr(az, "psens"):
        pytest.skip("this ArviZ has no psens")
    model, draws = schools
    found = pm.sensitivity(draws, model, alphas=(1 / 1.01, 1.01))
    pm.compute_log_prior(draws, model=model)
    pm.compute_log_likelihood(draws, model=model)
    for part in ("prior", "likelihood"):
        theirs = az.psens(draws, component=part, coords={}, component_coords={})
        for name in ("mu", "tau"):
            assert found.loc[name, part] == pytest.approx(float(theirs[name]), rel=2e-3)
        assert found.loc["effect[3]", part] == pytest.approx(float(theirs["effect"][3]), rel=2e-3)


def test_a_prior_far_from_the_data_is_a_conflict():
    with pm.Model() as model:
        mu = pm.Normal("mu", 10, 1)
        pm.Normal("y", mu, 1, observed=np.zeros(5))
        far = pm.sensitivity(pm.sample(1000, chains=2, random_seed=1, quiet=True))
    assert far.loc["mu", "diagnosis"] == "potential prior-data conflict"
    with pm.Model():
        mu = pm.Normal("mu", 0, 100)
        pm.Normal("y", mu, 1, observed=np.zeros(50))
        vague = pm.sensitivity(pm.sample(1000, chains=2, random_seed=1, quiet=True))
    assert vague.loc["mu", "diagnosis"] == "-"
    assert vague.loc["mu", "prior"] < 0.01 < vague.loc["mu", "likelihood"]
    assert model.free_RVs


def test_what_sensitivity_refuses(schools):
    model, draws = schools
    with pytest.raises(ValueError, match="a power below 1 and one above"):
        pm.sensitivity(draws, model, alphas=(1.1, 1.2))
    with pytest.raises(KeyError, match="nonsense"):
        pm.sensitivity(draws, model, prior=["nonsense"])
    with pm.Model() as nothing:
        pm.Normal("x")
    with pytest.raises(ValueError, match="so no likelihood"):
        pm.sensitivity(draws, nothing)


# Simulation-based calibration


def regression(sd_of_density=1.0):
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        b = pm.HalfNormal("b", 1)
        pm.Normal("y", a + b * np.linspace(-1, 1, 6), sd_of_density, observed=np.zeros(6))
    return model


def test_a_sound_model_is_calibrated():
    found = pm.sbc(regression(), 150, draws=300, tune=300, random_seed=1, progressbar=False)
    again = pm.sbc(regression(), 20, draws=300, tune=300, random_seed=1, progressbar=False, cores=1)
    assert found.calibrated
    assert set(found.ranks) == {"a", "b", "log_likelihood"}
    assert found.ranks["a"].shape == (150,)
    assert np.array_equal(again.ranks["a"], pm.sbc(
        regression(), 20, draws=300, tune=300, random_seed=1, progressbar=False, cores=2).ranks["a"])  # fmt: skip
    assert str(found).startswith("calibrated: 150 replications")


def test_replications_run_on_an_executor_and_are_kept(tmp_path):
    few = {"draws": 50, "tune": 50, "random_seed": 1, "progressbar": False}
    here = pm.sbc(regression(), 4, **few)
    with ThreadPoolExecutor(2) as threads:
        there = pm.sbc(regression(), 4, executor=threads, checkpoint=tmp_path / "sbc", **few)
    again = pm.sbc(regression(), 4, checkpoint=tmp_path / "sbc", **few)
    for found in (there, again):
        assert all(np.array_equal(found.ranks[name], here.ranks[name]) for name in here.ranks)
    assert len(list((tmp_path / "sbc").glob("fit-*"))) == 4


def test_a_density_that_is_not_that_of_the_data_is_found():
    """Data drawn with a standard deviation of 1, and a density that takes it for 2."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        pm.CustomDist(
            "y", a, observed=np.zeros(6),
            logp=lambda y, a: pm.logp(pm.Normal.dist(a, 2.0), y),
            random=lambda a, rng, size: rng.normal(a, 1.0, size),
        )  # fmt: skip
    found = pm.sbc(model, 150, draws=300, tune=300, random_seed=1, progressbar=False)
    assert not found.calibrated
    assert found.p_values["log_likelihood"] < 1e-3


def test_the_band_holds_uniform_numbers_all_along():
    band = band_of(200, 0.9)
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        ecdf = np.searchsorted(np.sort(rng.random(200)), band.at, "right") / 200
        inside.append(np.all((ecdf >= band.low) & (ecdf <= band.high)))
    assert 0.85 < np.mean(inside) < 0.96
    assert kstest(band.at, "uniform").pvalue > 0.5


def test_what_sbc_refuses():
    with pm.Model() as whole:
        k = pm.Poisson("k", 3.0)
        pm.Normal("y", k, 1.0, observed=1.0)
    with pytest.raises(ValueError, match='"k" discrete'):
        pm.sbc(whole)
    with pm.Model() as potential:
        x = pm.Normal("x")
        pm.Normal("y", x, 1.0, observed=1.0)
        pm.Potential("p", -(x**2))
    with pytest.raises(ValueError, match='potentials "p"'):
        pm.sbc(potential)
    with pm.Model() as nothing:
        pm.Normal("x")
    with pytest.raises(pm.SamplingError, match="free and observed variables"):
        pm.sbc(nothing)
