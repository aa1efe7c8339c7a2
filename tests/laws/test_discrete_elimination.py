"""Labels summed out together: chains, tables of several labels, switches; by enumeration, and as exact joint draws."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from exact_elimination import both_sides
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp, softmax

import ppl as pm
import ppl.tensor as tt
from ppl.graph import ancestors, substitute
from ppl.model.inference.steps import assign
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.rewrites import strict
from ppl.tensor.linear_algebra.chains import by_products, one_by_one

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(11)
START, MOVES, LEVELS = (
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]),
    [-1.0, 0.5, 2.0],
)


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def forward(y, start=START, moves=MOVES, levels=LEVELS, sigma=1.0):
    """The log-likelihood of a hidden Markov model, state by state."""
    emission = stats.norm(np.array(levels), sigma).logpdf(np.asarray(y)[:, None])
    with np.errstate(divide="ignore"):
        alpha = np.log(start) + emission[0]
        for e in emission[1:]:
            alpha = logsumexp(alpha[:, None] + np.log(moves), axis=0) + e
    return logsumexp(alpha)


def as_a_loop(y):
    with pm.Model() as model:
        z = [pm.Categorical("z0", START)]
        for t in range(1, len(y)):
            z.append(pm.Categorical(f"z{t}", pm.math.constant(MOVES)[z[-1]]))
        pm.Normal("y", pm.math.constant(LEVELS)[pm.math.stack(z)], 1.0, observed=y)
    return model


def as_a_loop_with_its_data(y):
    with pm.Model() as model:
        z = pm.Categorical("z0", START)
        pm.Normal("y0", pm.math.constant(LEVELS)[z], 1.0, observed=y[0])
        for t in range(1, len(y)):
            z = pm.Categorical(f"z{t}", pm.math.constant(MOVES)[z])
            pm.Normal(f"y{t}", pm.math.constant(LEVELS)[z], 1.0, observed=y[t])
    return model


def as_a_family(y):
    with pm.Model() as model:
        z = pm.DiscreteMarkovChain("z", P=MOVES, init_dist=pm.Categorical.dist(START), shape=len(y))
        pm.Normal("y", pm.math.constant(LEVELS)[z], 1.0, observed=y)
    return model


def exactly(model, seed=1):
    """The plan of a model, after both sides of the law of elimination were compared."""
    plan, before = pm.explain(model), program_of(model)
    sides = both_sides(before, plan.program, seed)
    assert np.array_equal(np.isfinite(sides.joint), np.isfinite(sides.product))
    usual = np.isfinite(sides.joint)
    np.testing.assert_allclose(sides.product[usual], sides.joint[usual], rtol=1e-9, err_msg=str(plan))
    return plan


@pytest.mark.parametrize("steps", [4, 12])
@pytest.mark.parametrize("written", [as_a_loop, as_a_loop_with_its_data, as_a_family], ids=lambda f: f.__name__)
def test_a_hidden_markov_model_is_summed_by_the_forward_algorithm(written, steps):
    y = RNG.normal(size=steps)
    plan = exactly(written(y))
    assert plan.free == ()
    np.testing.assert_allclose(sum(t.density.eval() for t in plan.program.terms), forward(y), rtol=1e-10)


def test_sequences_go_side_by_side():
    y = RNG.normal(size=(6, 15))
    with pm.Model() as model:
        z = pm.DiscreteMarkovChain("z", P=MOVES, init_dist=pm.Categorical.dist(START), shape=(6, 15))
        pm.Normal("y", pm.math.constant(LEVELS)[z], 1.0, observed=y)
    plan = exactly(model)
    (term,) = plan.program.terms
    np.testing.assert_allclose(term.density.eval(), sum(map(forward, y)), rtol=1e-10)


def test_both_ways_of_summing_a_chain_agree():
    first, steps = RNG.normal(size=(4, 3)), RNG.normal(size=(17, 4, 3, 3))
    np.testing.assert_allclose(by_products(first, steps), one_by_one(first, steps), rtol=2e-5)


def test_slopes_of_a_chain_with_forbidden_moves_are_finite():
    y = RNG.normal(size=10)
    moves = np.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0]])
    with pm.Model() as model:
        level = pm.Normal("level", [-1.0, 0.0, 1.0], 1.0, shape=3)
        z = pm.DiscreteMarkovChain("z", P=moves, init_dist=pm.Categorical.dist([1.0, 0.0, 0.0]), shape=10)
        pm.Normal("y", pm.math.exp(0.1 * level)[z], 1.0, observed=y)
    assert pm.explain(model).free == ("level",)
    posterior = rewritten(model)
    (slope,) = tt.grad(posterior.logp(), list(posterior.values))
    assert np.isfinite(slope.eval({posterior.values[0]: np.zeros(3)})).all()


def test_labels_that_meet_in_a_row_are_summed_jointly():
    table, y = RNG.normal(size=(2, 3)), RNG.normal(size=7)
    with pm.Model() as model:
        a = pm.Bernoulli("a", 0.4, shape=7)
        b = pm.Categorical("b", START, shape=7)
        pm.Normal("y", pm.math.constant(table)[a, b], 1.0, observed=y)
    plan = exactly(model)
    weights = np.array([0.6, 0.4])[:, None] * START
    parts = weights * stats.norm(table).pdf(y[:, None, None])
    np.testing.assert_allclose(plan.program.terms[0].density.eval(), np.log(parts.sum((1, 2))).sum(), rtol=1e-10)


def test_a_network_of_labels_is_summed_in_any_order():
    """Rain, sprinkler, wet grass, and a second garden."""
    with pm.Model() as model:
        rain = pm.Bernoulli("rain", 0.2)
        sprinkler = pm.Bernoulli("sprinkler", pm.math.switch(rain, 0.01, 0.4))
        wet = pm.Bernoulli("wet", pm.math.constant([[0.0, 0.9], [0.8, 0.99]])[rain, sprinkler])
        other = pm.Bernoulli("other", pm.math.switch(rain, 0.9, 0.1))
        pm.Normal("y", wet + 2.0 * other, 1.0, observed=1.3)
    plan = exactly(model)
    total = 0.0
    for r, s, w, o in product([0, 1], repeat=4):
        p = [0.8, 0.2][r] * (lambda q: q if s else 1 - q)([0.4, 0.01][r])
        p *= (lambda q: q if w else 1 - q)([[0.0, 0.9], [0.8, 0.99]][r][s]) * (lambda q: q if o else 1 - q)(
            [0.1, 0.9][r]
        )
        total += p * stats.norm(w + 2.0 * o).pdf(1.3)
    assert plan.free == ()
    np.testing.assert_allclose(plan.program.terms[0].density.eval(), np.log(total), rtol=1e-10)


def labels_of_censored_rows(z, mu):
    pm.Censored("y", pm.Normal.dist(mu[z], 1.0), lower=None, upper=1.0, observed=[0.1, 1.0, -1.0])


def labels_of_truncated_rows(z, mu):
    pm.Truncated("y", pm.Normal.dist(mu[z], 1.0), lower=-2.0, upper=1.0, observed=[0.1, 0.9, -1.0])


def labels_in_components(z, mu):
    pm.Mixture("y", [0.2, 0.8], [pm.Normal.dist(mu[z], 1.0), pm.Normal.dist(0.0, 2.0)], observed=[0.1, 1.0, -1.0])


def labels_of_mixtures_side_by_side(z, mu):
    means = pm.math.stack([mu, mu + 1.0], axis=-1)[z]
    pm.Mixture("y", [0.2, 0.8], pm.Normal.dist(means, 1.0), observed=[0.1, 1.0, -1.0])


def truncated_counts(z, mu):
    seen = pm.Truncated("seen", pm.Poisson.dist(1.0 + z), upper=9, shape=3)
    pm.Normal("y", mu[0] + 1.0 * seen, 1.0, observed=[0.1, 1.0, -1.0])


@pytest.mark.parametrize(
    "rows",
    [
        labels_of_censored_rows,
        labels_of_truncated_rows,
        labels_in_components,
        labels_of_mixtures_side_by_side,
        truncated_counts,
    ],
    ids=lambda f: f.__name__,
)
def test_labels_in_the_laws_of_modified_families_are_summed_out(rows):
    with pm.Model() as model:
        z, mu = pm.Categorical("z", [0.3, 0.7], shape=3), pm.Laplace("mu", 0.0, 3.0, shape=2)
        rows(z, mu)
    assert exactly(model).free == ("mu",)


def test_animals_that_were_counted_several_times_are_summed_out_up_to_the_limit_that_is_stated():
    counted = np.array([[3, 4, 2], [1, 0, 2]])
    with pm.Model() as model:
        mean, seen = pm.Exponential("mean", 0.2), pm.Beta("seen", 1.0, 1.0)
        animals = pm.Truncated("animals", pm.Poisson.dist(mean), upper=40, shape=2)
        pm.Binomial("y", animals[:, None], seen, observed=counted)
    plan = exactly(model)
    assert plan.free == ("mean", "seen")
    lam, p, n = 4.0, 0.6, np.arange(41)
    law = stats.poisson(lam).logpmf(n) - stats.poisson(lam).logcdf(40)
    expected = sum(logsumexp(law + stats.binom(n[:, None], p).logpmf(row).sum(axis=1)) for row in counted)
    here = {rv: tt.as_tensor({"mean": lam, "seen": p}[rv.name]) for rv in plan.program.free}
    found = sum(float(substitute(t.density, here).sum().eval()) for t in plan.program.terms)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("counted", [[16, 18, 27], [3]])
def test_a_number_of_questions_below_the_answers_that_were_counted_has_no_probability(counted):
    with pm.Model() as model:
        asked, returned = pm.DiscreteUniform("asked", 0, 60), pm.Beta("returned", 2.0, 1.0)
        pm.Binomial("y", asked, returned, observed=counted)
    plan = exactly(model)
    assert plan.free == ()
    n, y = np.arange(max(counted), 61)[:, None], np.array(counted)
    choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
    marginal = choices.sum(axis=1) + betaln(2 + y.sum(), 1 + (n - y).sum(axis=1)) - betaln(2, 1)
    found = sum(float(t.density.sum().eval()) for t in plan.program.terms)
    np.testing.assert_allclose(found, logsumexp(marginal) - np.log(61), rtol=1e-10)


def test_labels_that_weigh_classes_are_summed_out_row_by_row():
    """Along the axis of a softmax classes depend on each other, not from row to row."""
    with pm.Model() as model:
        z, shift = pm.Bernoulli("z", 0.4, shape=20), pm.Laplace("shift", 0.0, 1.0)
        logits = pm.math.stack([1.0 * z, shift - z, 0.0 * z], axis=1)
        pm.Categorical("y", p=pm.math.softmax(logits, axis=1), observed=np.arange(20) % 3)
    assert exactly(model).free == ("shift",)


def test_what_is_too_wide_is_declined_with_its_width():
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=30)
        pm.Normal("y", pm.math.sum(z), 1.0, observed=9.0)
    (kept,) = pm.explain(model).kept
    assert kept.why == "one number depends on 30 entries at once, more than 12"


def test_labels_that_cannot_be_summed_out_are_moved_by_steps():
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=30)
        pm.Normal("y", pm.math.sum(z), 1.0, observed=9.0)
    posterior = rewritten(model)
    moved = assign(replace(posterior, values=list(posterior.values)), None)
    assert not moved.nuts and moved.describe() == "Step\n>BinaryGibbsMetropolis: [z]"
    assert "one number depends on 30 entries" in str(posterior.plan)


@pytest.mark.parametrize("side", ["time < tau", "tau > time", "time >= tau"])
def test_a_change_point_goes_by_prefix_sums(side):
    time, y = np.arange(40), RNG.poisson(3, 40)
    with pm.Model() as model:
        tau = pm.DiscreteUniform("tau", 0, 40)
        early, late = pm.LogNormal("early", 1.0, 1.0), pm.LogNormal("late", 1.0, 1.0)
        steered = {"time < tau": time < tau, "tau > time": tau > time, "time >= tau": time >= tau}[side]
        first, second = (late, early) if side == "time >= tau" else (early, late)
        pm.Poisson("y", pm.math.switch(steered, first, second), observed=y)
    plan = exactly(model)
    assert plan.free == ("early", "late") and "cumsum" in {n.op.name for n in nodes_of(plan)}
    assert plan.nodes < 400


times, counts_of_phases = np.arange(9), np.array([6, 5, 8, 1, 2, 0, 9, 12, 7])


def two_free_labels():
    return [pm.DiscreteUniform("first", 0, 9), pm.DiscreteUniform("second", 0, 9)]


def one_begins_where_the_other_ends():
    return [first := pm.DiscreteUniform("first", 0, 9), pm.DiscreteUniform("second", first, 9)]


def sorted_by_a_potential():
    first, second = two_free_labels()
    pm.Potential("order", pm.math.switch(first <= second, 0.0, -np.inf))
    return [first, second]


def a_sorted_vector():
    both = pm.DiscreteUniform("both", 0, 9, shape=2).sort()
    return [both[0], both[1]]


def by_switches(first, second, rate):
    a, b, c = rate("a"), rate("b"), rate("c")
    return pm.math.switch(times < first, a, pm.math.switch(times < second, b, c))


def by_a_number(first, second, rate):
    return rate("r", shape=3)[(times >= first) * 1 + (times >= second) * 1]


RATES = {
    "conjugate": lambda *name, **shape: pm.Exponential(*name, 0.2, **shape),
    "lognormal": lambda *name, **shape: pm.LogNormal(*name, 1.0, 1.0, **shape),
}


@pytest.mark.parametrize(
    ("places", "phases", "rates"),
    [
        (two_free_labels, by_a_number, "conjugate"),
        (one_begins_where_the_other_ends, by_switches, "conjugate"),
        (sorted_by_a_potential, by_switches, "lognormal"),
        (a_sorted_vector, by_switches, "conjugate"),
        (a_sorted_vector, by_a_number, "lognormal"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_several_change_points_go_together(places, phases, rates):
    with pm.Model() as model:
        pm.Poisson("y", phases(*places(), RATES[rates]), observed=counts_of_phases)
    plan = exactly(model)
    assert plan.ndim == (0 if rates == "conjugate" else 3) and plan.nodes < 250


def test_two_change_points_of_a_long_series_by_hand():
    """120 years and three rates: each pair of years by the marginals of its three parts, all draws independent."""
    y = RNG.poisson(np.repeat([6.0, 2.0, 5.0], 40))
    with pm.Model() as model:
        first = pm.DiscreteUniform("first", 0, 120)
        rate = by_years(np.arange(120), first, pm.DiscreteUniform("second", first, 120))
        pm.Poisson("y", rate, observed=y)
    (term,) = pm.explain(model).program.terms
    sums = np.concatenate([[0], np.cumsum(y)])
    part = lambda i, j: gammaln(1 + sums[j] - sums[i]) - (1 + sums[j] - sums[i]) * np.log(1 + j - i)
    i, j = np.triu_indices(121)
    total = logsumexp(part(0, i) + part(i, j) + part(j, 120) - np.log(121 - i)) - np.log(121)
    np.testing.assert_allclose(term.density.eval(), total - gammaln(y + 1).sum(), rtol=1e-12)


def by_years(years, first, second):
    a, b, c = (pm.Exponential(name, 1.0) for name in "abc")
    return pm.math.switch(years < first, a, pm.math.switch(years < second, b, c))


def test_rates_whose_own_law_has_a_simpler_form_stay_the_variables_that_they_are():
    """Branches are simplified; the draws in them are not, else the model would hold a second variable."""
    with pm.Model() as model:
        shape = 2.0 * pm.math.exp(pm.math.log(pm.HalfNormal("k", 1.0)))
        first, second = two_free_labels()
        a, b, c = (pm.Gamma(name, shape, 1.0) for name in "abc")
        late = pm.math.switch(times < first, c, pm.math.switch(times < second, b, c))
        pm.Poisson("y", pm.math.switch(times < first, a, late), observed=counts_of_phases)
    assert exactly(model).free == ("k",)


DISASTERS = np.array([
    4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3,
    np.nan, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0,
    1, 1, 0, 2, 3, 3, 1, np.nan, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
])  # fmt: skip
YEARS = np.arange(1851, 1962)


def coal_mining():
    """Disasters in coal mines, with a change of rate and two missing years, as PyMC's gallery writes it."""
    with pm.Model() as model:
        switchpoint = pm.DiscreteUniform("switchpoint", lower=YEARS.min(), upper=YEARS.max())
        early, late = pm.Exponential("early_rate", 1.0), pm.Exponential("late_rate", 1.0)
        rate = pm.math.switch(switchpoint >= YEARS, early, late)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pm.Poisson("disasters", rate, observed=np.ma.masked_invalid(DISASTERS))
    return model


def coal_by_hand():
    """log p(data, switchpoint) for each year: Gamma-Poisson marginals before and after it."""
    seen = ~np.isnan(DISASTERS)
    y = DISASTERS[seen]

    def rate(part):
        k, n = y[part].sum(), part.sum()
        return gammaln(1 + k) - (1 + k) * np.log(1 + n)

    sums = [rate(YEARS[seen] <= s) + rate(YEARS[seen] > s) for s in YEARS]
    return np.array(sums) - gammaln(y + 1).sum() - np.log(len(YEARS))


def test_the_change_of_rate_in_coal_mining_leaves_nothing_to_sample():
    plan = exactly(coal_mining())
    assert plan.ndim == 0
    (term,) = plan.program.terms
    np.testing.assert_allclose(term.density.eval(), logsumexp(coal_by_hand()), rtol=1e-12)
    recoveries = {r.variable.name: r.draw for r in plan.program.recoveries}
    (choice,) = [n for n in ancestors(recoveries["switchpoint"]) if n.op.name == "draw"]
    np.testing.assert_allclose(choice.parameters[0].eval().ravel(), softmax(coal_by_hand()), rtol=1e-9)


def test_a_chain_is_drawn_as_its_density_says():
    chain = pm.DiscreteMarkovChain.dist(P=MOVES, init_dist=pm.Categorical.dist(START), shape=3)
    draws = pm.draw(chain, draws=20_000, random_seed=3)
    paths = np.array(list(product(range(3), repeat=3)))
    with np.errstate(divide="ignore"):
        chances = START[paths[:, 0]] * MOVES[paths[:, 0], paths[:, 1]] * MOVES[paths[:, 1], paths[:, 2]]
    np.testing.assert_allclose([np.exp(pm.logp(chain, p).eval()) for p in paths[:5]], chances[:5], rtol=1e-12)
    counts = np.array([(draws == p).all(axis=1).sum() for p in paths])
    possible = chances > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], 20_000 * chances[possible]).pvalue > 1e-4


def nodes_of(plan):
    return ancestors([t.density for t in plan.program.terms])
