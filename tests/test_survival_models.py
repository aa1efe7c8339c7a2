"""Survival models as Poisson rows: hazards by interval, exposures that may be 0, frailties of persons and of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.graph import substitute
from ppl.model.posterior.rewriting import program_of
from ppl.rewrites import strict
from ppl.rewrites.sufficient_statistics.compaction import compact_all
from ppl.rewrites.values.present_sizes import at_present_sizes

RNG = np.random.default_rng(3)
PERSONS, FIRST = 40, 18  # the first ones are of one sex
TIMES = np.round(RNG.exponential(5.0, PERSONS)) + 1.0
SEEN = RNG.integers(0, 2, PERSONS)
STARTS = np.arange(int(TIMES.max()))
LAST = (TIMES - 0.01).astype(int)
DEATHS = np.zeros((PERSONS, len(STARTS)), dtype=int)
DEATHS[np.arange(PERSONS), LAST] = SEEN
EXPOSURE = np.clip(TIMES[:, None] - STARTS, 0.0, 1.0)  # 0 where a person is not at risk any more
X = RNG.normal(size=(PERSONS, 2))
GROUP = RNG.integers(0, 4, PERSONS)
SPREAD = RNG.integers(0, 2, PERSONS)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "on", True)


def _hazard(x: Any, beta: Any, baseline: Any) -> Any:
    return tt.outer(tt.exp(pm.math.dot(beta, x.T)), baseline)


def group_frailty_by_sex() -> None:
    """Covariates are data whose length may change; the rows of both sexes are put together."""
    men, women = pm.Data("men", X[FIRST:]), pm.Data("women", X[:FIRST])
    baseline = pm.Gamma("baseline", 0.5, 0.5, shape=(len(STARTS), 2))
    frailty = pm.Gamma("frailty", pm.HalfNormal("a", 5.0), 5.0, shape=4)
    beta = pm.Normal("beta", 0.0, 1.0, shape=2)
    rates = tt.concatenate([_hazard(women, beta, baseline[:, 0]), _hazard(men, beta, baseline[:, 1])], axis=0)
    pm.Poisson("deaths", EXPOSURE * frailty[GROUP, None] * rates, observed=DEATHS)


def frailty_of_persons() -> None:
    x = pm.Data("x", X)
    frailty = pm.Gamma("frailty", 3.0, 3.0, shape=PERSONS)
    rates = _hazard(x, pm.Normal("beta", 0.0, 1.0, shape=2), pm.Gamma("baseline", 0.5, 0.5, shape=len(STARTS)))
    pm.Poisson("deaths", frailty.reshape((-1, 1)) * EXPOSURE * rates, observed=DEATHS)


def cumulative_hazards() -> None:
    x, group = pm.Data("x", X), pm.Data("group", GROUP)
    theta = pm.HalfNormal("theta", 1.0)
    frailty = pm.Gamma("frailty", 1 / theta, 1 / theta, shape=4)
    cumulative = tt.cumsum(EXPOSURE * pm.Gamma("baseline", 0.5, 0.5, shape=len(STARTS)), axis=1)[:, -1]
    risk = tt.exp(x @ pm.Normal("beta", 0.0, 1.0, shape=2)).reshape((-1,))
    pm.Poisson("deaths", frailty[group] * cumulative * risk, observed=SEEN)


def effects_that_vary_in_time() -> None:
    """Its rows are few distinct ones, of which those without exposure have the mean 0."""
    baseline = pm.Gamma("baseline", 0.5, 0.5, shape=len(STARTS))
    beta = pm.GaussianRandomWalk("beta", init_dist=pm.Normal.dist(), sigma=1.0, shape=len(STARTS))
    pm.Poisson("deaths", EXPOSURE * baseline * tt.exp(tt.outer(SPREAD, beta)), observed=DEATHS)


MODELS = [group_frailty_by_sex, frailty_of_persons, cumulative_hazards, effects_that_vary_in_time]


@pytest.mark.parametrize("write", MODELS, ids=lambda f: f.__name__)
def test_survival_models_are_explained_and_have_a_start(write: Any) -> None:
    with pm.Model() as model:
        write()
        assert pm.explain(model).free
        drawn = pm.sample(4, tune=4, chains=1, random_seed=1, progressbar=False, quiet=True).posterior
    assert all(np.isfinite(drawn[name]).all() for name in drawn)


def test_what_is_reshaped_by_the_length_that_is_left_has_a_length_once_data_have() -> None:
    with pm.Model():
        x = pm.Data("x", X)
    (now,) = at_present_sizes([tt.outer(x[:, 0], np.ones(3)) + x.reshape((-1, 1, 2))[:, :, 0]], {})
    assert now.type.shape == (PERSONS, 3)


def _rows(family: str, weight: np.ndarray, counts: np.ndarray) -> pm.Model:
    """Rows of few kinds whose parameter may be at an end of its domain that belongs to it."""
    with pm.Model() as model:
        share = pm.Beta("share", 2.0, 2.0, shape=2)[np.arange(len(weight)) % 2]
        if family == "Poisson":
            pm.Poisson("y", weight * share, observed=counts)
        elif family == "Bernoulli":
            pm.Bernoulli("y", p=weight * share, observed=counts > 0)
        elif family == "all succeed":
            pm.Bernoulli("y", p=1.0 - weight * share, observed=counts == 0)
        elif family == "Binomial":
            pm.Binomial("y", n=5, p=weight * share, observed=counts)
        elif family == "Geometric":
            pm.Geometric("y", p=1.0 - weight * share, observed=1 + counts)
        else:
            pm.NegativeBinomial("y", n=2.5, p=1.0 - weight * share, observed=counts)
    return model


@pytest.mark.parametrize("possible", [True, False])
@pytest.mark.parametrize("family", ["Poisson", "Bernoulli", "all succeed", "Binomial", "Geometric", "NegativeBinomial"])
def test_statistics_of_rows_at_an_end_are_those_of_a_point(family: str, possible: bool) -> None:
    """Values and slopes as the rows have them: of laws that are one point, which is what is seen there or is not."""
    weight = np.repeat([0.0, 1.0, 0.5], 16)
    counts = np.where(weight == 0, 0, RNG.integers(0, 3, 48))
    counts[3] = 0 if possible else 2
    model = _rows(family, weight, counts)
    (term,) = compact_all(program_of(model)).program.terms
    assert term.kind == "rows"
    (share,) = model.free_RVs
    rows = model.observed_RVs[0]
    written = tt.sum(rows.family.log_density(model.rvs_to_values[rows], *rows.parameters))
    at = {share: tt.as_tensor([0.3, 0.6])}
    values = [substitute(e, at).eval() for e in (tt.sum(term.density), written)]
    np.testing.assert_allclose(*values, rtol=1e-12)
    assert np.isfinite(values[0]) == possible
    if possible:
        point = tt.dvector("point")
        slopes = [tt.grad(substitute(e, {share: point}), point) for e in (tt.sum(term.density), written)]
        found = [s.eval({point: np.array([0.3, 0.6])}) for s in slopes]
        np.testing.assert_allclose(*found, rtol=1e-10)


@pytest.mark.parametrize("held", [False, True])
def test_hazards_of_intervals_are_marginalized_where_some_exposures_are_zero(held):
    # three patients in three intervals; who has died or left is exposed no longer
    exposure = np.array([[1.0, 0.5, 0.0], [1.0, 1.0, 0.3], [0.4, 0.0, 0.0]])
    died = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    group = np.array([0.0, 1.0, 1.0])
    with pm.Model() as model:
        hazard = pm.Gamma("hazard", 0.5, 0.7, shape=3)
        effect = pm.Normal("effect", 0, 2)
        times = pm.Data("times", exposure) if held else exposure
        risk = pm.Deterministic("risk", pm.math.exp(effect * group)[:, None] * hazard)
        pm.Poisson("died", times * risk, observed=died)
    assert list(pm.explain(model).free) == ["effect"]

    def exact(b):
        rate = 0.7 + np.exp(b * group) @ exposure
        return b * (died.sum(axis=1) @ group) - (0.5 + died.sum(axis=0)) @ np.log(rate) - b**2 / 8

    def change():
        density = model.compile_logp(rewrite=True)
        return density({"effect": 0.4}) - density({"effect": -1.0})

    assert change() == pytest.approx(exact(0.4) - exact(-1.0), rel=1e-10)
    if held:
        exposure = exposure * 2 + np.diag([0.0, 0.0, 0.1])
        pm.set_data({"times": exposure}, model)
        assert change() == pytest.approx(exact(0.4) - exact(-1.0), rel=1e-10)
