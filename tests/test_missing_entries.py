"""Entries that are missing inside of vectors: their law is that of the whole, given what is observed of it."""

import numpy as np
import pytest

import ppl as pm
from ppl.model.output.results import group_of

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.9, -0.3], [0.9, 1.5, 0.4], [-0.3, 0.4, 1.0]])
ROWS = np.array([[0.3, np.nan, 1.0], [np.nan, -1.0, np.nan], [np.nan] * 3, [1.5, -2.5, 0.0]])
MISSING = np.isnan(ROWS)
WHERE = {"row": list("abcd"), "part": list("xyz")}
pytestmark = pytest.mark.filterwarnings("ignore::ppl.ImputationWarning")


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords=WHERE) as model, pytest.warns(pm.ImputationWarning, match='MvNormal "y"'):
        y = pm.MvNormal("y", MEAN, COVARIANCE, observed=pm.Data("rows", ROWS), dims=("row", "part"))
        pm.Normal("sum", y.sum(-1), 1.0, observed=np.zeros(4), dims="row")
    return model


@pytest.fixture(scope="module")
def result(model):
    return pm.sample(
        draws=1000, tune=500, chains=2, random_seed=7, progressbar=False, compute_convergence_checks=False, model=model,
        idata_kwargs={"log_likelihood": True},
    )  # fmt: skip


def posterior():
    """Mean and covariance of all missing entries: each row is normal, with its sum seen under noise 1, given the seen
    entries."""
    means, parts = [], []
    for row in ROWS:
        gone = np.isnan(row)
        ones = np.ones(3)
        gain = COVARIANCE @ ones / (ones @ COVARIANCE @ ones + 1.0)
        mean, cov = MEAN - gain * MEAN.sum(), COVARIANCE - np.outer(gain, ones @ COVARIANCE)
        if (~gone).any():
            slope = cov[np.ix_(gone, ~gone)] @ np.linalg.inv(cov[np.ix_(~gone, ~gone)])
            mean, cov = mean[gone] + slope @ (row - mean)[~gone], cov[np.ix_(gone, gone)] - slope @ cov[~gone][:, gone]
        means.append(mean)
        parts.append(cov)
    whole, at = np.zeros((MISSING.sum(),) * 2), 0
    for cov in parts:
        whole[at : at + len(cov), at : at + len(cov)] = cov
        at += len(cov)
    return np.concatenate(means), whole


def test_the_density_is_the_conditional_normal_one(model):
    mean, cov = posterior()
    slope, bend = model.compile_fn([model.dlogp(), model.d2logp()])({"y_unobserved": mean})
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    np.testing.assert_allclose(bend, np.linalg.inv(cov), atol=1e-12)


def test_draws_are_conditional_normal_ones(result):
    """2,000 draws, of at least 400 effective ones: 5 standard errors are a false alarm in 10⁶, of 12 numbers."""
    mean, cov = posterior()
    draws = result.posterior.y_unobserved.values.reshape(-1, len(mean))
    error = np.sqrt(np.diag(cov) / 400)
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * error)
    assert np.all(np.abs(draws.var(0) / np.diag(cov) - 1) < 5 * np.sqrt(2 / 400))


def test_results_hold_the_entries_and_the_whole_in_its_dimensions(model, result):
    y = result.posterior.y
    assert y.dims == ("chain", "draw", "row", "part") and y.part.values.tolist() == WHERE["part"]
    np.testing.assert_array_equal(y.values[..., MISSING], result.posterior.y_unobserved.values)
    np.testing.assert_array_equal(y.values[0, 0][~MISSING], ROWS[~MISSING])
    np.testing.assert_array_equal(group_of(result, "observed_data").y_observed, ROWS[~MISSING])
    density = group_of(result, "log_likelihood").y_observed.values[0, 0]
    off = y.values[0, 0] - MEAN
    whole = -0.5 * np.einsum("ni,ij,nj->n", off, np.linalg.inv(COVARIANCE), off)
    constant = -0.5 * np.log(np.linalg.det(2 * np.pi * COVARIANCE))
    np.testing.assert_allclose(density, whole + constant, rtol=1e-10)  # one number a row, with what is imputed in it


def test_forwards_one_whole_is_drawn(model, result):
    """Prior and posterior predictive: 2,000 draws, all moments within 5 standard errors, false alarms below 10⁻⁴."""
    prior = pm.sample_prior_predictive(2000, model=model, random_seed=1)
    again = pm.sample_posterior_predictive(result, model=model, random_seed=2, progressbar=False)
    seen = group_of(prior, "prior_predictive").y_observed.values
    for whole, observed in (
        (group_of(prior, "prior").y.values, seen),
        (again.posterior_predictive.y.values, again.posterior_predictive.y_observed.values),
    ):
        np.testing.assert_array_equal(whole[..., ~MISSING], observed)
        rows = whole.reshape(-1, 4, 3)
        assert np.all(np.abs(rows.mean(0) - MEAN) < 5 * np.sqrt(np.diag(COVARIANCE) / 2000))
        for row in range(4):
            spread = np.sqrt((np.outer(np.diag(COVARIANCE), np.diag(COVARIANCE)) + COVARIANCE**2) / 2000)
            assert np.all(np.abs(np.cov(rows[:, row].T) - COVARIANCE) < 5 * spread)
    unobserved = group_of(prior, "prior").y_unobserved.values
    np.testing.assert_array_equal(group_of(prior, "prior").y.values[..., MISSING], unobserved)


def test_data_change_where_they_are_not_missing(model):
    copy = model.copy()
    before = copy.compile_logp()(copy.initial_point())
    copy.set_data("rows", ROWS + 1.0)
    assert copy.compile_logp()(copy.initial_point()) != before
    filled = np.where(MISSING & (np.arange(4) == 0)[:, None], 0.0, ROWS)
    with pytest.raises(
        ValueError, match="missing values are variables of the model, so they must stay where they were"
    ):
        copy.set_data("rows", filled)
    frozen = pm.freeze_dims_and_data(model)
    point = model.initial_point()
    np.testing.assert_allclose(frozen.compile_logp()(point), model.compile_logp()(point), rtol=1e-13)


def test_gaps_in_a_walk_are_filled_from_both_sides():
    """Given its neighbors at times 1 and 4, a walk between them is a bridge."""
    with pm.Model() as model:
        pm.GaussianRandomWalk("y", sigma=2.0, init_dist=pm.Normal.dist(0, 1), observed=[0.0, np.nan, np.nan, 3.0])
    slope, bend = model.compile_fn([model.dlogp(), model.d2logp()])({"y_unobserved": np.array([1.0, 2.0])})
    np.testing.assert_allclose(slope, 0.0, atol=1e-13)
    np.testing.assert_allclose(bend, np.array([[2.0, -1.0], [-1.0, 2.0]]) / 4, atol=1e-13)


def test_counts_are_moved_by_steps():
    """The state between two known ones: P(0 | 0, 1) = 0.9 · 0.1 / (0.9 · 0.1 + 0.1 · 0.8), each draw worth a fifth."""
    from ppl.distributions import DiscreteMarkovChain

    with pm.Model():
        DiscreteMarkovChain("s", P=[[0.9, 0.1], [0.2, 0.8]], observed=np.ma.masked_equal([0, 9, 1], 9))
        found = pm.sample(draws=2000, tune=200, chains=2, random_seed=1, progressbar=False,
                          compute_convergence_checks=False)  # fmt: skip
    share = 0.09 / 0.17
    assert abs(np.mean(found.posterior.s_unobserved.values == 0) - share) < 5 * np.sqrt(share * (1 - share) / 800)
    assert found.posterior.s.values[0, 0, [0, 2]].tolist() == [0, 1]


BOUND = {
    "Dirichlet": (lambda: pm.Dirichlet("y", [1.0, 2, 3], observed=[0.2, np.nan, 0.3]), "sum to 1"),
    "Multinomial": (lambda: pm.Multinomial("y", 4, [0.2, 0.3, 0.5], observed=[1, np.nan, 2]), "sum 4"),
    "ZeroSumNormal": (lambda: pm.ZeroSumNormal("y", 1.0, observed=[1.0, np.nan, -2.0]), "zero in sum"),
    "LKJCorr": (lambda: pm.LKJCorr("y", n=3, eta=2.0, observed=[0.1, np.nan, 0.2]), "positive definite"),
    "RandomWalk": (lambda: pm.RandomWalk("y", init_dist=pm.Normal.dist(), innovation_dist=pm.Gamma.dist(2, 1),
                                         observed=[0.1, np.nan, 0.2]), "bound to each other"),
}  # fmt: skip


@pytest.mark.parametrize("family", BOUND)
def test_entries_bound_to_each_other_are_refused(family):
    """PyMC scores them as if they were free: a row of shares then has a density of no law."""
    make, why = BOUND[family]
    with pm.Model(), pytest.raises(pm.DataError, match=rf'{family} "y": 1 values are missing inside .*{why}.*Drop'):
        make()


def test_debug_shows_the_parameters_of_laws_inside(model, capsys):
    model.debug(verbose=True)
    shown = capsys.readouterr().out
    assert "chol of MvNormal" in shown and "No problems found" in shown
