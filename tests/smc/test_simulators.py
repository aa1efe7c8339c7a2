"""Approximate Bayesian computation: distances, summaries, functions of the user's, what is refused."""

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.distributions.families.simulator import kullback_leibler

QUIET = {"progressbar": False, "compute_convergence_checks": False}
DATA = np.random.default_rng(0).normal(1.0, 1.0, 50)


def normal(rng, mu, size):
    return rng.normal(mu, 1.0, size)


def fitted(draws=600, **options):
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        pm.Simulator("s", normal, mu, observed=DATA, **options)
    return model, pm.sample_smc(draws, model=model, random_seed=1, chains=2, **QUIET)


@pytest.mark.parametrize("summary", ["mean", lambda x: x.mean()])
def test_a_mean_compared_by_a_normal_kernel_has_a_posterior_in_closed_form(summary):
    """The kernel convolved with the law of a mean is normal: of variance ε² + 1/n."""
    epsilon = 0.3
    _, result = fitted(1500, sum_stat=summary, epsilon=epsilon)
    precision = 1 / (epsilon**2 + 1 / 50)
    variance = 1 / (precision + 1 / 4)
    assert abs(float(result.posterior.mu.mean()) - variance * precision * DATA.mean()) < 0.05
    assert abs(float(result.posterior.mu.std()) - np.sqrt(variance)) < 0.03
    total = epsilon**2 + 1 / 50 + 4
    exact = -0.5 * DATA.mean() ** 2 / total - 0.5 * np.log(total) + np.log(epsilon)
    attrs = result.sample_stats.attrs
    assert abs(attrs["log_marginal_likelihood"] - exact) < 4 * attrs["log_marginal_likelihood_se"]
    assert "simulators" in attrs["path"]


@pytest.mark.parametrize(
    "options",
    [
        {"distance": "laplace", "sum_stat": "median", "epsilon": 0.1},
        {"distance": "gaussian", "sum_stat": "sort", "epsilon": 1.0},
        {"distance": "kullback_leibler", "epsilon": 0.2},
        {"distance": lambda epsilon, observed, simulated: -tt.abs(observed.mean() - simulated.mean()) / epsilon},
    ],
    ids=["laplace", "sort", "kullback_leibler", "own"],
)
def test_distances_find_the_parameter(options):
    _, result = fitted(300, **options)
    assert abs(float(result.posterior.mu.mean()) - DATA.mean()) < 0.4


def test_two_simulators_with_parameters_in_a_list_and_predictions():
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 2), pm.HalfNormal("b", 2)
        simulate = lambda rng, a, b, size: rng.normal(a, b, size)
        pm.Simulator("first", simulate, params=(a, b), sum_stat="sort", observed=DATA)
        pm.Simulator("second", normal, a, sum_stat="mean", epsilon=0.2, observed=DATA[:10])
        result = pm.sample_smc(200, random_seed=1, chains=2, **QUIET)
        again = pm.sample_smc(200, random_seed=1, chains=2, **QUIET)
        predicted = pm.sample_posterior_predictive(result, progressbar=False)
    assert predicted.posterior_predictive["first"].shape == (2, 200, 50)
    assert predicted.posterior_predictive["second"].shape == (2, 200, 10)
    assert np.array_equal(result.posterior.a, again.posterior.a)
    assert model.observed_RVs


def test_the_divergence_of_neighbors():
    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 1, 3000), rng.normal(0.5, 1, 3000)
    assert abs(float(kullback_leibler(1.0, x, y).eval()) + 0.125) < 0.1


def test_what_is_refused():
    def refused(simulate, match, error=ValueError):
        with pm.Model() as model:
            pm.Simulator("s", simulate, pm.Normal("mu"), observed=DATA)
        with pytest.raises(error, match=match):
            pm.sample_smc(10, model=model, chains=1, **QUIET)

    refused(
        lambda rng, mu, size: rng.normal(mu, 1, 7), r'"s": the simulator gave an array of shape \(7,\) where \(50,\)'
    )
    refused(lambda rng, mu, size: 1 / 0, "division by zero", ZeroDivisionError)
    refused(lambda rng, mu, size: np.full(size, np.nan), "distance between what is simulated", pm.SamplingError)
    with pm.Model() as unobserved:
        pm.Simulator("s", normal, pm.Normal("mu"))
    with pytest.raises(pm.SamplingError, match='Simulator "s" is not observed'):
        pm.sample_smc(10, model=unobserved, chains=1, **QUIET)
    with pm.Model() as model:
        pm.Simulator("s", normal, pm.Normal("mu"), observed=DATA)
    with pytest.raises(ValueError, match=r"simulations without a gradient: use pm\.smc\.IMH"):
        pm.sample_smc(10, pm.smc.HMC, model=model, chains=1, **QUIET)


def test_without_smc_a_simulator_says_that_it_has_no_density():
    with pm.Model() as model:
        pm.Simulator("s", normal, pm.Normal("mu"), observed=DATA)
    for fails in (lambda: pm.sample(10, model=model, **QUIET), lambda: model.logp(rewrite=True)):
        with pytest.raises(NotImplementedError, match="Simulator s has no density, only simulations: use sample_smc"):
            fails()
