"""Compounds: the joint is the law of what is seen times the law of what comes back, at every point."""

from __future__ import annotations

import numpy as np
import pytest
from exact_elimination import both_sides
from scipy import integrate, stats

import ppl as pm
from ppl.model.posterior.rewriting import program_of
from ppl.rewrites.marginalization.conjugate.compounds import COMPOUNDS

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

Y = np.array([0.3, -1.2, 2.0, 0.7])
SIGNS = np.array([1.0, -0.5, 2.0, -1.0])
X = np.array([0.5, -1.0, 0.3, 1.1])


def reaction(coefficient):
    e = pm.Exponential("e", pm.HalfNormal("rate", 1), shape=4)
    pm.Normal("y", pm.Normal("a", 0, 1) + 0.3 * X + coefficient * e, pm.HalfNormal("sigma", 1), observed=Y)


def frontier(coefficient):
    e = pm.HalfNormal("e", pm.HalfNormal("slack", 1), shape=4)
    pm.Normal("y", pm.Normal("a", 0, 1) * X + coefficient * e, pm.HalfNormal("sigma", 1), observed=Y)


def laplace(coefficient):
    v = pm.Exponential("v", pm.HalfNormal("rate", 1), shape=4)
    pm.Normal("y", pm.Normal("a", 0, 1), pm.math.sqrt(abs(coefficient) * v), observed=Y)


def made(write, coefficient):
    with pm.Model() as model:
        write(coefficient)
    return model


@pytest.mark.parametrize("coefficient", [1.0, -0.7, SIGNS], ids=["one", "negative", "mixed"])
@pytest.mark.parametrize("write", [reaction, frontier, laplace], ids=lambda f: f.__name__)
def test_joint_is_marginal_times_recovery(write, coefficient):
    model = made(write, coefficient)
    plan = pm.explain(model, protect=["a"])
    assert "compound distribution" in [s.rule for s in plan.steps] and not {"e", "v"} & set(plan.free)
    sides = both_sides(program_of(model), plan.program, 3)
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-9)


def probit(size=4):
    u = pm.Normal("u", 0.4, pm.HalfNormal("s", 1), shape=size)
    pm.Bernoulli("y", pm.math.invprobit(-0.8 * u + 0.3), observed=[0, 1, 1, 0][:size])


def test_a_probit_of_a_normal_variable_is_integrated():
    model = made(lambda _: probit(), None)
    plan = pm.explain(model)
    assert plan.free == ("s",)
    scale = 1.3
    found = model.compile_logp(rewrite=True)({"s_log__": np.log(scale)})
    one = lambda y: integrate.quad(
        lambda u: stats.norm(0.4, scale).pdf(u) * stats.bernoulli(stats.norm.cdf(-0.8 * u + 0.3)).pmf(y), -12, 12
    )[0]
    prior = stats.halfnorm(0, 1).logpdf(scale) + np.log(scale)
    assert found == pytest.approx(prior + sum(np.log(one(y)) for y in (0, 1, 1, 0)), rel=1e-9)


def test_the_normal_variable_of_a_probit_comes_back_by_its_law():
    """By its distribution function: a KS test at p > 1e-4."""
    with pm.Model():
        u = pm.Normal("u", 0.4, 1.3, shape=2)
        pm.Bernoulli("y", pm.math.invprobit(-0.8 * u + 0.3), observed=[0, 1])
        drawn = pm.sample(4000, chains=1, random_seed=2, progressbar=False, quiet=True).posterior.u.values[0]
    grid = np.linspace(-6, 7, 4001)
    for k in (0, 1):
        density = stats.norm(0.4, 1.3).pdf(grid) * stats.bernoulli(stats.norm.cdf(-0.8 * grid + 0.3)).pmf(k)
        cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
        assert stats.kstest(drawn[:, k], lambda x, c=cdf: np.interp(x, grid, c / c[-1])).pvalue > 1e-4


def test_every_compound_has_a_model_here():
    assert len(COMPOUNDS) == 4


GROUP = np.array([0, 1, 1, 2])
DECLINED = {
    "a row shares it": lambda: pm.Normal("y", pm.Exponential("e", 1, shape=3)[GROUP], 1.0, observed=Y),
    "two rows see it": lambda: (
        pm.Normal("y", e := pm.Exponential("e", 1, shape=4), 1.0, observed=Y),
        pm.Normal("z", e, 1.0, observed=Y),
    ),
    "a coefficient is zero": lambda: pm.Normal("y", np.array([1.0, 0, 1, 1]) * pm.HalfNormal("e", 1, shape=4), 1.0,
                                               observed=Y),
    "the scale depends on it": lambda: pm.Normal("y", e := pm.HalfNormal("e", 1, shape=4), 1.0 + e, observed=Y),
    "it is squared": lambda: pm.Normal("y", pm.HalfNormal("e", 1, shape=4) ** 2, 1.0, observed=Y),
    "the order differs": lambda: pm.Normal("y", pm.HalfNormal("e", 1, shape=4)[::-1], 1.0, observed=Y),
    "logits": lambda: pm.Bernoulli("y", logit_p=pm.Normal("e", 0, 1, shape=4), observed=[0, 1, 1, 0]),
    "a sign is not known": lambda: pm.Normal("y", pm.Normal("c", 0, 1) * pm.Exponential("e", 1, shape=4), 1.0,
                                             observed=Y),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLINED)
def test_what_is_no_compound_stays(name):
    with pm.Model() as model:
        DECLINED[name]()
    assert "e" in pm.explain(model).free


def test_parameters_outside_their_domains_are_as_impossible_as_before():
    with pm.Model() as model:
        s = pm.Normal("s", 0, 1)
        pm.Normal("y", pm.HalfNormal("e", s, shape=4), 1.0, observed=Y)
    density = model.compile_logp(rewrite=True)
    assert density({"s": -0.3}) == -np.inf and np.isfinite(density({"s": 0.3}))
