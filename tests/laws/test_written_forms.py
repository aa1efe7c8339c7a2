"""Conjugate variables, labels and counts as users write them: each form is found, and what is made of it is exact."""

from __future__ import annotations

import numpy as np
import pytest
from exact_elimination import both_sides

import ppl as pm
from ppl.model.posterior.rewriting import program_of

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(0)
GROUP = np.array([0, 0, 1, 2, 2, 2, 1, 0])
COUNTS, X = RNG.poisson(3, 8), RNG.normal(size=8)
TIMES, WAITS = np.arange(8), COUNTS + 0.5
DISTANCES = np.abs(X)


def exactly(model):
    plan = pm.explain(model)
    sides = both_sides(program_of(model), plan.program, 1)
    assert np.isfinite(sides.joint).any() and np.array_equal(np.isfinite(sides.joint), np.isfinite(sides.product))
    usual = np.isfinite(sides.joint)
    np.testing.assert_allclose(sides.product[usual], sides.joint[usual], rtol=1e-9, atol=1e-9, err_msg=str(plan))
    return plan


def rates():
    """An exposure in the logarithm, a mean in place of a rate, a half, one prior for children of five families."""
    offset, mean, half = pm.Gamma("offset", 2, 2, shape=3), pm.Gamma("mean", 2, 2), pm.Gamma("half", 2, 2)
    pm.Poisson("y1", pm.math.exp(0.3 * X + pm.math.log(offset[GROUP])), observed=COUNTS)
    pm.Exponential("y2", scale=1 / mean, observed=WAITS)
    pm.Poisson("y3", half / 2, observed=COUNTS)
    pm.Exponential("y4", 2 * half, observed=WAITS)
    pm.Gamma("y5", 2.0, half * np.linspace(1, 2, 8), observed=WAITS)
    pm.Normal("y6", X, tau=half, observed=X[::-1])
    pm.Weibull("y7", 2.0, half**-0.5, observed=WAITS)
    pm.Pareto("y8", half, 0.4, observed=WAITS)


def precisions_and_variances():
    """A variance by its root, as a power, behind a name; precisions of values that have logarithms or no sign."""
    first, second, third = (pm.InverseGamma(f"v{i}", 3, 2) for i in range(3))
    pm.Normal("y1", 1.0, pm.Deterministic("s", first**0.5), observed=X)
    pm.Normal("y2", 1.0, tau=1 / second, observed=X)
    pm.Exponential("y3", 1 / second, observed=WAITS)
    pm.Gamma("y4", 2.0, 3 / third, observed=WAITS)
    pm.Laplace("y5", 0.5, third, observed=X)
    tau = pm.ChiSquared("tau", 4)
    pm.LogNormal("y6", 0.3, tau=tau, observed=DISTANCES)
    pm.HalfNormal("y7", tau=2 * tau, observed=DISTANCES)
    pm.InverseGamma("y8", 2.0, tau, observed=DISTANCES)


def shares():
    """Complements, and vectors of shares picked by groups, for categories and for counts."""
    p, q = pm.Beta("p", 2, 2), pm.Uniform("q", 0, 1, shape=3)
    pm.Bernoulli("y1", 1 - p, observed=COUNTS > 2)
    pm.Binomial("y2", 9, (1 - q)[GROUP], observed=COUNTS)
    weights = pm.Dirichlet("weights", [1.0, 2.0, 0.5], shape=(4, 3))  # the last has no children
    pm.Categorical("y3", weights[GROUP], observed=[0, 1, 2, 2, 1, 0, 0, 1])
    pm.Multinomial("y4", n=4, p=weights[1], observed=[[1, 2, 1], [0, 0, 4]])


def counts_seen_in_part():
    """Animals that are there, of which some are seen, at rates that are not known."""
    rate = pm.Gamma("rate", 2, 1)
    present = pm.Poisson("present", rate, shape=8)
    pm.Binomial("seen", present, np.linspace(0.3, 0.8, 8), observed=COUNTS)


def a_change_by_an_index():
    change, rate = pm.DiscreteUniform("change", 0, 7), pm.Gamma("rate", 2, 1, shape=2)
    pm.Poisson("y", rate[(change <= TIMES).astype("int64")], observed=COUNTS)


def two_changes():
    first, second = pm.DiscreteUniform("first", 0, 7), pm.DiscreteUniform("second", 0, 7)
    rate = pm.Gamma("rate", 2, 1, shape=3)
    pm.Poisson("y", rate[1 * (first < TIMES) + 1 * (second < TIMES)], observed=COUNTS)


def a_change_by_products():
    change, early, late = pm.DiscreteUniform("change", 0, 7), pm.Exponential("early", 1), pm.Exponential("late", 1)
    pm.Poisson("y", early * (change > TIMES) + late * (change <= TIMES), observed=COUNTS)


def a_choice_of_models():
    z, rate, other = pm.Bernoulli("z", 0.5), pm.Gamma("rate", 2, 1), pm.Gamma("other", 3, 1)
    pm.Poisson("y", pm.math.stack([rate, other])[z], observed=COUNTS)


FORMS = [
    rates, precisions_and_variances, shares, counts_seen_in_part, a_change_by_an_index, two_changes,
    a_change_by_products, a_choice_of_models,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
def test_a_form_is_found_and_leaves_nothing_to_sample(form):
    with pm.Model() as model:
        form()
    assert exactly(model).free == ()


def test_zeros_of_two_kinds_leave_what_all_rows_share():
    """Each row has its label: they are summed, row by row, and the rate that all of them share is sampled."""
    seen = np.array([0, 0, 3, 0, 2, 5, 0, 1])
    with pm.Model() as model:
        rate, present = pm.Gamma("rate", 2, 1), pm.Bernoulli("present", 0.6, shape=8)
        pm.Poisson("y", pm.math.switch(present, rate, 0), observed=seen)
    assert pm.explain(model).free == ("rate",)
    rewritten = model.compile_logp(rewrite=True)
    found = rewritten({"rate_log__": 0.4})
    by_hand = np.logaddexp(
        np.log(0.6) + pm.logp(pm.Poisson.dist(np.exp(0.4)), seen).eval(), np.where(seen, -np.inf, np.log(0.4))
    )
    prior = pm.logp(pm.Gamma.dist(2, 1), np.exp(0.4)).eval() + 0.4
    np.testing.assert_allclose(found, by_hand.sum() + prior, rtol=1e-12)


def test_a_regression_of_logarithms_is_a_normal_one():
    x, y = RNG.normal(size=200), RNG.lognormal(size=200)
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        pm.LogNormal("y", a + b * x, pm.HalfNormal("sigma", 1), observed=y)
    plan = exactly(model)
    assert plan.free == ("sigma",)
    assert [s.why for s in plan.steps if s.rule == "change of variables"] == ["LogNormal is Normal in log y."]
