"""Gaussian blocks given labels: the density is that of the blocks of all states of the labels, added up; the draws are
those of the posterior."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

import ppl as pm
import ppl.tensor as tt
from ppl.distributions import DiscreteUniform
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites import strict

rng = np.random.default_rng(7)
ROWS = rng.normal(size=12) + np.repeat([0.0, 1.5], 6)
DESIGN = rng.normal(size=(12, 3))
TIME = np.arange(12)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def levels():
    tau = pm.DiscreteUniform("tau", 1, 11)
    a, b = pm.Normal("a", 0, 5), pm.Normal("b", 1, 5)
    pm.Normal("y", pm.math.switch(tau > TIME, a, b), pm.HalfNormal("s"), observed=ROWS)


def levels_of_a_vector():
    t1, t2 = pm.DiscreteUniform("t1", 1, 4), pm.DiscreteUniform("t2", 5, 8)
    mu = pm.Normal("mu", pm.Normal("center", 0, 5), pm.HalfNormal("spread"), shape=3)
    part = tt.cast(t1 <= TIME, "int64") + tt.cast(t2 <= TIME, "int64")
    pm.Normal("y", mu[part], pm.HalfNormal("s"), observed=ROWS)


def slopes():
    tau = pm.DiscreteUniform("tau", 2, 10)
    level, slope = pm.Normal("level", 0, 5), pm.Normal("slope", 0, 1, shape=2)
    mean = level + slope[0] * TIME + slope[1] * pm.math.switch(tau > TIME, 0.0, TIME - tau)
    pm.Normal("y", mean, pm.HalfNormal("s"), observed=ROWS)


def spikes():
    z, b = pm.Bernoulli("z", 0.4, shape=3), pm.Normal("b", 0, 2, shape=3)
    pm.Normal("y", pm.math.dot(DESIGN, z * b), pm.HalfNormal("s"), observed=ROWS)


def slabs():
    z = pm.Bernoulli("z", pm.Beta("share", 1, 1), shape=3)
    b = pm.Normal("b", 0, pm.math.switch(z, 2.0, 0.05), shape=3)
    pm.Normal("y", pm.math.dot(DESIGN, b), pm.HalfNormal("s"), observed=ROWS)


def own_levels_and_scales():
    z = pm.Bernoulli("z", 0.5)
    b, s = pm.Normal("b", [0.0, 1.0], 2, shape=2), pm.HalfNormal("s", shape=2)
    pm.Normal("y", b[z], s[z], observed=ROWS)


def with_a_common_scale():
    z, v = pm.Categorical("z", [0.3, 0.7], shape=4), pm.InverseGamma("v", 2, 1)
    mu = pm.Normal("mu", 0, 3 * pm.math.sqrt(v), shape=2)
    pm.Normal("y", mu[z], pm.math.sqrt(v), observed=ROWS[4:8])


def groups():
    z, tau = pm.Bernoulli("z", 0.4), pm.HalfNormal("tau")
    theta = pm.Normal("theta", 0, tau, shape=4)
    pm.Normal("y", theta[TIME % 4] * pm.math.switch(z, 1.0, 0.5), pm.HalfNormal("s"), observed=ROWS)


def beside_rates():
    tau, r = pm.DiscreteUniform("tau", 1, 11), pm.Gamma("r", 2, 1, shape=2)
    a, b = pm.Normal("a", 0, 5), pm.Normal("b", 1, 5)
    pm.Normal("y", pm.math.switch(tau > TIME, a, b), 1.0, observed=ROWS)
    pm.Poisson("k", pm.math.switch(tau > TIME, r[0], r[1]), observed=np.abs(ROWS).astype(int))


def a_walk():
    z, step = pm.Bernoulli("z", 0.4), pm.HalfNormal("step")
    path = pm.GaussianRandomWalk("path", sigma=step, init_dist=pm.Normal.dist(0, 1), steps=11)
    pm.Normal("y", path + pm.Normal("shift", 0, 2) * z, 0.5, observed=ROWS)


MODELS = {  # what is left to sample
    levels: {"s"},
    levels_of_a_vector: {"spread", "s"},
    slopes: {"s"},
    spikes: {"s"},
    slabs: {"share", "s"},
    own_levels_and_scales: {"s"},
    with_a_common_scale: set(),
    groups: {"tau", "s"},
    a_walk: {"step"},
    beside_rates: set(),
}


def made(write):
    with pm.Model() as model:
        write()
    return model


def states(model):
    """All values of the labels, by name."""
    labels = [rv for rv in model.free_RVs if rv.dtype[0] != "f"]
    values = []
    for rv in labels:
        low, high = (int(p.eval()) for p in rv.parameters) if rv.family is DiscreteUniform else (0, 1)
        entries = product(range(low, high + 1), repeat=int(np.prod(rv.type.shape)))
        values.append([np.reshape(v, rv.type.shape).astype(rv.dtype) for v in entries])
    for chosen in product(*values):
        yield {rv.name: v for rv, v in zip(labels, chosen, strict=True)}


def density_of(model, left):
    posterior = rewritten(model, protect=left)
    assert {name for names in posterior.names.values() for name in np.atleast_1d(names)} == left
    return model.compile_fn(posterior.logp(), inputs=posterior.values)


@pytest.mark.parametrize("write", MODELS, ids=lambda f: f.__name__)
def test_the_density_is_the_sum_over_the_states_of_ordinary_blocks(write):
    model, left = made(write), MODELS[write]
    assert set(pm.explain(model).free) == left
    assert any("for each value of" in step.why for step in pm.explain(model).steps)
    whole = density_of(model, left)
    each = [density_of(pm.observe(model, state), left) for state in states(model)]
    for _ in range(2):
        point = {v.name: rng.normal(size=v.type.shape) for v in rewritten(model, protect=left).values}
        np.testing.assert_allclose(whole(point), special.logsumexp([f(point) for f in each]), rtol=1e-11)


def of_levels(y, sigma, prior):
    """log p(y, τ) for every τ, and mean and variance of the level before it, by the textbook."""
    found = []
    for k in range(1, len(y)):
        total = 0.0
        for part in (y[:k], y[k:]):
            n, mean, v = len(part), part.mean(), prior**2 + sigma**2 / len(part)
            total += stats.norm(0, np.sqrt(v)).logpdf(mean) - 0.5 * (n - 1) * np.log(2 * np.pi * sigma**2)
            total -= 0.5 * np.log(n) + 0.5 * ((part - mean) ** 2).sum() / sigma**2
        share = prior**2 / (prior**2 + sigma**2 / k)
        found.append((total, share * y[:k].mean(), share * sigma**2 / k))
    return np.array(found).T


def write_levels(y, sigma, away=0.0):
    tau = pm.DiscreteUniform("tau", 1, len(y) - 1)
    a, b = pm.Normal("a", away, 5), pm.Normal("b", away, 5)
    pm.Normal("y", pm.math.switch(np.arange(len(y)) < tau, a, b), sigma, observed=y)


@pytest.mark.parametrize(("floatX", "away", "digits"), [("float64", 1e6, 1e-9), ("float32", 1e3, 1e-4)])
def test_digits_are_kept_far_from_zero(floatX, away, digits):
    y = np.asarray(away + rng.normal(size=300) + np.repeat([0.0, 0.7], [120, 180]), floatX)
    with pm.config.change_flags(floatX=floatX), pm.Model() as model:
        write_levels(y, pm.HalfNormal("s"), away)
        assert pm.explain(model).free == ("s",)
        density = model.compile_logp(rewrite=True)
        weights = of_levels(np.asarray(y, np.float64) - away, np.exp(0.2), 5.0)[0]
        expected = special.logsumexp(weights) - np.log(299) + stats.halfnorm.logpdf(np.exp(0.2)) + 0.2
        np.testing.assert_allclose(density({"s_log__": np.asarray(0.2, floatX)}), expected, rtol=digits)


def test_labels_and_levels_are_drawn_together():
    """τ by its probabilities, at p > 1e-4; the level before it by mean and variance, to five standard errors."""
    with pm.Model():
        write_levels(ROWS, 1.3)
        drawn = pm.sample(5000, chains=4, random_seed=3, progressbar=False, quiet=True).posterior
    weights, mean, variance = of_levels(ROWS, 1.3, 5.0)
    p = np.exp(weights - special.logsumexp(weights))
    assert stats.chisquare(np.bincount(drawn["tau"].values.ravel(), minlength=12)[1:], 20_000 * p).pvalue > 1e-4
    center = (p * mean).sum()
    spread = np.sqrt((p * (variance + (mean - center) ** 2)).sum())
    a = drawn["a"].values.ravel()
    assert abs(a.mean() - center) < 5 * spread / np.sqrt(20_000)
    assert abs(a.std() / spread - 1) < 0.05
    before = a[drawn["tau"].values.ravel() == 6]
    assert abs(before.mean() - mean[5]) < 5 * np.sqrt(variance[5] / before.size)


def _labels_of_rows():
    z = pm.Bernoulli("z", 0.3, shape=12)
    pm.Normal("y", pm.Normal("mu", [0.0, 1.0], 5, shape=2)[z], 1, observed=ROWS)


def _flat():
    level = pm.Flat("level", shape=2)
    pm.Normal("y", pm.math.switch(pm.DiscreteUniform("tau", 0, 12) > TIME, level[0], level[1]), 1, observed=ROWS)


def _in_another_law():
    a = pm.Normal("a", 0, 1)
    z = pm.Bernoulli("z", pm.math.invlogit(a))
    pm.Normal("y", z + a, 1, observed=ROWS)


def _in_a_scale():
    b = pm.Normal("b", 0, 1)
    z = pm.Bernoulli("z", 0.3)
    pm.Normal("y", b * z, pm.math.exp(b), observed=ROWS)


@pytest.mark.parametrize("write", [_labels_of_rows, _flat, _in_another_law, _in_a_scale], ids=lambda f: f.__name__)
def test_what_would_join_labels_or_is_no_block_given_them_stays(write):
    """Twelve labels of rows apart, or one with 4,096 values; a level without rows for some labels; a law that is not
    normal given the labels."""
    plan = pm.explain(made(write))
    assert [step.rule for step in plan.steps] == ["enumeration"]
    assert set(plan.free) <= {"mu", "level", "a", "b"} and plan.free


def test_what_is_protected_stays():
    model = made(levels)
    assert {"a", "s"} <= set(pm.explain(model, protect=["a"]).free)
    assert set(pm.explain(model, protect=["tau"]).free) == {"a", "b", "tau", "s"}


def test_a_sum_that_takes_too_much_work_is_left_to_step_methods():
    """4,096 states of twelve labels and 500 rows; the coefficients are marginalized given them. Who insists gets them
    summed out."""
    design = rng.normal(size=(500, 12))
    with pm.Model() as model:
        z, b = pm.Bernoulli("z", 0.3, shape=12), pm.Normal("b", 0, 1, shape=12)
        pm.Normal("y", pm.math.dot(design, z * b), pm.HalfNormal("s"), observed=design[:, 0])
    plan = pm.explain(model)
    assert set(plan.free) == {"z", "s"}
    assert "times the arithmetic of the rows as written" in {k.name: k.why for k in plan.kept}["z"]
    assert "z" not in pm.explain(model, eliminate=["z"]).free
