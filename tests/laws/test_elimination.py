"""Laws of elimination: the joint equals marginal times conditional, for every theorem."""

from dataclasses import replace

import jax
import mpmath
import numpy as np
import pytest
from by_numpy import by_numpy
from rows_of_pairs import OTHERS, SEVEN_ROWS
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import (
    FAMILIES,
    Bernoulli,
    Binomial,
    Categorical,
    Censored,
    Exponential,
    LogNormal,
    Normal,
    Poisson,
)
from ppl.graph import ancestors, substitute
from ppl.rewrites.marginalization import Observation, Program, Term, plan
from ppl.rewrites.marginalization.conjugate import conjugate, thinning
from ppl.rewrites.marginalization.conjugate.conjugate import integrated_out
from ppl.rewrites.marginalization.conjugate.gamma_ratios import log_rising
from ppl.rewrites.marginalization.conjugate.pairs import PAIRS, PRIORS
from ppl.rewrites.marginalization.expressions.affine import affine
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.expressions.maps import Select
from ppl.rewrites.marginalization.planning.bijections import closed, opened
from ppl.rewrites.marginalization.program import NoMatch, log_density
from ppl.tensor import to_jax

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

EXAMPLES = {
    "Gamma": {"alpha": 1.7, "beta": 0.6},
    "Exponential": {"lam": 0.8},
    "ChiSquared": {"nu": 3.0},
    "InverseGamma": {"alpha": 2.3, "beta": 1.4},
    "Beta": {"alpha": 1.3, "beta": 2.1},
    "Uniform": {"lower": 0.0, "upper": 1.0},
    "Dirichlet": {"a": [1.3, 0.6, 2.1]},
}
ROWS = np.array([0, 2, 2, 0, 3, 2, 3])  # entry 1 has no child
WEIGHTS = np.linspace(0.5, 2.0, 7)
CASES = [(prior, pair) for prior, known in PRIORS.items() for pair in PAIRS if pair.prior == known.family]


def program_of_pair(prior, pair, reflected=False):
    """The pair in its indexed form, with coefficients where they are allowed."""
    variable = FAMILIES[prior].dist(**EXAMPLES[prior], shape=(4, 3) if prior == "Dirichlet" else (4,), name="x")
    slot = variable[ROWS] * WEIGHTS if pair.scaled else variable[ROWS]
    slot = slot if pair.power == 1.0 else slot**pair.power
    slot = 1.0 - slot if reflected else slot
    others = {name: value for name, value in OTHERS.get(pair.child, {}).items() if name != pair.slot}
    child = FAMILIES[pair.child].dist(**{pair.slot: slot}, **others, name="y")
    return variable, Observation(child, tt.as_tensor(np.array(SEVEN_ROWS[pair.child])))


NUMBERS, SHARES = tt.dvector("numbers"), tt.dmatrix("shares")


def gap(variable, observed):
    """log p(x) + log p(y | x) - log p(x | y) - log p(y) at a point x: zero, if the theorem holds."""
    at = SHARES if variable.event_ndim else NUMBERS
    result = integrated_out(Program((variable,), (observed,)), variable)
    (term,), (recovery,) = result.terms, result.recoveries
    joint = tt.sum(variable.family.log_density(at, *variable.parameters)) + tt.sum(
        observed.variable.family.log_density(
            observed.value, *substitute(list(observed.variable.parameters), {variable: at})
        )
    )
    posterior = recovery.draw
    return joint - tt.sum(posterior.family.log_density(at, *posterior.parameters)) - term.density


def largest(gaps):
    """Each gap at the worst of three points, all from one program."""
    rng = np.random.default_rng(1)
    points = rng.uniform(0.1, 0.9, (3, 4)), rng.dirichlet(np.ones(3), (3, 4))
    with jax.enable_x64(True):
        found = by_numpy(jax.vmap(to_jax([NUMBERS, SHARES], gaps)), *points)
    return np.abs(found).max(axis=1)


def test_prior_times_likelihood_is_marginal_times_posterior():
    """For every pair, under every prior that belongs to its family, and with 1 - θ for θ where that is known."""
    cases = [(prior, pair, False) for prior, pair in CASES]
    cases += [(prior, pair, True) for prior, pair in CASES if pair.prior == "Beta"]
    found = largest([gap(*program_of_pair(*case)) for case in cases])
    wrong = [f"{prior} and {pair.child}: {d}" for d, (prior, pair, _) in zip(found, cases, strict=True) if not d < 1e-9]
    assert not wrong, wrong


def altered(pair):
    """The pair with each of its increments a tenth too large, and with the double power."""
    for key in PRIORS[pair.prior].parameters(**{name: tt.as_tensor(x) for name, x in EXAMPLES[pair.prior].items()}):

        def update(key=key, **given):
            found = dict(pair.update(**given))
            return {**found, key: 1.1 * tt.cast(tt.as_tensor(found[key]), "float64")}

        yield f"{pair.prior} and {pair.child}, {key}", replace(pair, update=update)
    if pair.scaled:
        yield f"{pair.prior} and {pair.child}, power", replace(pair, power=2.0 * pair.power)


def test_a_pair_with_a_wrong_update_or_power_is_found(monkeypatch):
    planted = [fault for pair in PAIRS for fault in altered(pair)]
    gaps = []
    for _, wrong in planted:
        monkeypatch.setattr(conjugate, "PAIRS", [wrong])
        gaps.append(gap(*program_of_pair(wrong.prior, wrong)))
    missed = [name for d, (name, _) in zip(largest(gaps), planted, strict=True) if not d > 1e-3]
    assert not missed, missed


def test_whole_counts_take_logarithms_and_no_gamma_functions():
    for prior, pair in CASES:
        if pair.child in ("Poisson", "Bernoulli", "Binomial", "Geometric", "Categorical", "Multinomial"):
            variable, child = program_of_pair(prior, pair)
            (term,) = integrated_out(Program((variable,), (child,)), variable).terms
            moving = [n for n in ancestors(term.density) if not is_data(n) and n not in ancestors(child.value)]
            assert not [n for n in moving if n.op.name in ("gammaln", "stirling", "betaln")], (prior, pair.child)


@pytest.mark.parametrize("x", [1e-9, 0.3, 7.0, 1e9])
def test_ratios_of_gamma_functions_keep_their_digits(x):
    steps = np.array([[0, 3], [1, 5], [3, 2]])
    with mpmath.workdps(60):
        exact = lambda b, n: mpmath.log(mpmath.rf(mpmath.mpf(b), int(n)))
        for base in (x, np.array([x, 2 * x]), np.array([[x], [0.5], [2 * x]])):
            wanted = sum(exact(b, n) for b, n in zip(np.broadcast_to(base, (3, 2)).ravel(), steps.ravel(), strict=True))
            found = log_rising(tt.as_tensor(base), tt.as_tensor(steps)).eval()
            np.testing.assert_allclose(found, float(wanted), rtol=1e-14)


@pytest.mark.parametrize("x", [1e-9, 0.3, 7.0, 1e9])
@pytest.mark.parametrize("steps", [[0.0], [0.5], [2.5, 1e-7], [1_000_000.0, 3.0]])
def test_steps_that_are_not_counted_keep_their_digits_too(x, steps):
    n = tt.dvector("n")
    with mpmath.workdps(60):
        exact = [mpmath.loggamma(mpmath.mpf(x) + mpmath.mpf(k)) - mpmath.loggamma(mpmath.mpf(x)) for k in steps]
    for given, values in ((tt.as_tensor(np.array(steps)), {}), (n, {n: np.array(steps)})):
        found = log_rising(tt.as_tensor(x), given).eval(values)
        np.testing.assert_allclose(found, float(sum(exact)), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_a_coefficient_is_a_scale_of_the_prior(size):
    """c θ with a large c is θ with a wide prior, to all digits."""
    for pair in (p for p in PAIRS if p.scaled):
        prior, found = EXAMPLES[pair.prior], []
        rate = prior["beta"] * size if pair.prior == "InverseGamma" else prior["beta"] / size
        for beta, c in ((prior["beta"], size), (rate, 1.0)):
            x = FAMILIES[pair.prior].dist(prior["alpha"], beta, shape=(4,), name="x")
            others = {name: value for name, value in OTHERS.get(pair.child, {}).items() if name != pair.slot}
            slot = (x[ROWS] * c * WEIGHTS) ** pair.power
            seen = Observation(
                FAMILIES[pair.child].dist(**{pair.slot: slot}, **others), tt.as_tensor(SEVEN_ROWS[pair.child])
            )
            (term,) = integrated_out(Program((x,), (seen,)), x).terms
            found.append(float(term.density.eval()))
        np.testing.assert_allclose(*found, rtol=1e-13, err_msg=f"{pair.prior} and {pair.child}")


def test_a_regression_of_rates_has_the_density_of_its_compound_far_out():
    """Exposures e^{bx} of 1e13 and 1e-13: their sums must not be added and taken away."""
    x, y, group = np.linspace(-1, 1, 6), np.array([3, 0, 1, 2, 5, 1]), np.array([0, 1, 0, 2, 1, 1])
    f, b = FAMILIES["Gamma"].dist(1.7, 0.6, shape=(3,), name="f"), Normal.dist(0.0, 1.0, name="b")
    seen = Observation(Poisson.dist(f[group] * tt.exp(b * x), name="y"), tt.as_tensor(y))
    (term,) = integrated_out(Program((f, b), (seen,)), f).terms
    for at in (-30.0, 0.4, 30.0):
        with mpmath.workdps(50):
            c, wanted = [mpmath.exp(at * mpmath.mpf(v)) for v in x], mpmath.mpf(0)
            for row, count in zip(c, map(int, y), strict=True):
                wanted += count * mpmath.log(row) - mpmath.loggamma(count + 1)
            for j in range(3):
                count, rate = int(y[group == j].sum()), mpmath.mpf(0.6) + sum(c[i] for i in np.flatnonzero(group == j))
                wanted += mpmath.loggamma(count + mpmath.mpf(1.7)) - mpmath.loggamma(mpmath.mpf(1.7))
                wanted += mpmath.mpf(1.7) * mpmath.log(mpmath.mpf(0.6)) - (count + mpmath.mpf(1.7)) * mpmath.log(rate)
        np.testing.assert_allclose(substitute(term.density, {b: tt.as_tensor(at)}).eval(), float(wanted), rtol=1e-13)


def test_every_prior_has_a_pair():
    assert {p.prior for p in PAIRS} == {p.family for p in PRIORS.values()}


CHANGED = {name: family.change_of_variables for name, family in FAMILIES.items() if family.change_of_variables}
WAITING = ["Exponential", *(name for name, to in CHANGED.items() if to.base is Exponential and to.increasing)]


@pytest.mark.parametrize("written", CHANGED)
def test_a_value_in_other_coordinates_has_the_same_density(written):
    """Up to the slope, at data that are shared by many families; with the example values of its parameters."""
    seen = Observation(inside_unit_interval(written, shape=(4,), name="y"), tt.as_tensor(SHARED))
    same_density_in_other_coordinates(seen, CHANGED[written].base.__name__)


@pytest.mark.parametrize("law", WAITING)
def test_a_waiting_time_that_may_be_cut_off_has_the_density_of_a_count(law):
    bound = tt.as_tensor(np.array([1.0, 0.45, 0.8, 0.93]))
    inner = inside_unit_interval(law)
    seen = Observation(Censored.dist(inner, None, bound, shape=(4,), name="y"), tt.as_tensor(SHARED))
    same_density_in_other_coordinates(seen, "Poisson")
    for bounds, y in (((0.31, 1.0), SHARED), ((None, 0.9), SHARED)):  # cut off at the start, and beyond the bound
        seen = Observation(Censored.dist(inner, *bounds, shape=(4,), name="y"), tt.as_tensor(y))
        assert opened(Program((), (seen,)))[1] == {}


SHARED = np.array([0.31, 0.45, 0.7, 0.93])


def inside_unit_interval(family, **options):
    """A law with the example values of its parameters, on whose support all of SHARED lies."""
    law = FAMILIES[family]
    given = {name: tt.as_tensor(0.3 if name == "m" else p.domain.examples[0]) for name, p in law.params.items()}
    return law.dist(**given, **options)


def same_density_in_other_coordinates(seen, becomes):
    program, (known,) = (made := opened(Program((), (seen,))))[0], made[1].values()
    (new,) = program.observed
    change = log_density(new) + known.slope.density - log_density(seen)
    np.testing.assert_allclose(change.eval(), 0.0, atol=1e-12)
    assert new.variable.family.__name__ == becomes
    assert closed(program, made[1])[0] == Program((), (seen,))


def test_values_outside_their_support_stay_as_they_are_written():
    seen = Observation(LogNormal.dist(0.0, 1.0, shape=(2,), name="y"), tt.as_tensor([1.0, -2.0]))
    assert opened(Program((), (seen,))) == (Program((), (seen,)), {})


@pytest.mark.parametrize("of", [name for name, family in FAMILIES.items() if family.thinned])
def test_a_count_seen_in_part_is_a_count_again(of):
    """p(n) p(y | n) = p(y) p(n - y | y) at every n."""
    law = FAMILIES[of]
    parameters = {"Poisson": {"mu": 3.1}, "Binomial": {"n": 9, "p": 0.6}, "NegativeBinomial": {"n": 2.5, "p": 0.4}}
    count = law.dist(**parameters[of], shape=(3,), name="n")
    seen = Observation(Binomial.dist(count, [0.3, 0.5, 0.9], name="y"), tt.as_tensor(np.array([2, 0, 4])))
    made = thinning.integrated_out(Program((count,), (seen,)), count)
    (new,), (recovery,) = made.observed, made.recoveries
    (rest,) = [n for n in ancestors(recovery.draw) if n.op.name == "draw"]
    more = tt.lvector("more")
    n = more + seen.value
    joint = law.log_density(n, *count.parameters) + log_density(seen, {count: n})
    product = log_density(new) + law.log_density(more, *rest.parameters)
    f = function([more], joint - product)
    for unseen in ([0, 1, 2], [3, 0, 1]):
        np.testing.assert_allclose(f(unseen), 0.0, atol=1e-11)


RNG = np.random.default_rng(5)
GROUPS = RNG.integers(0, 5, 30)
GROUPS[GROUPS == 2] = 3  # an empty group


def test_a_mixture_is_the_sum_over_its_labels():
    w, m, y = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.0, 2.0]), RNG.normal(size=20)
    z = Categorical.dist(w, shape=(20,), name="z")
    seen = Normal.dist(tt.as_tensor(m)[z], 0.7, name="y")
    made = plan(Program((z,), (Observation(seen, tt.as_tensor(y)),)))
    terms = w * stats.norm(m, 0.7).pdf(y[:, None])
    np.testing.assert_allclose(made.program.terms[0].density.eval(), np.log(terms.sum(1)).sum(), rtol=1e-12)
    (recovery,) = made.program.recoveries
    (choice,) = [n for n in ancestors(recovery.draw) if n.op.name == "draw"]
    np.testing.assert_allclose(choice.parameters[0].eval(), terms / terms.sum(1, keepdims=True), rtol=1e-10)


def test_labels_of_groups_collect_their_rows():
    y = RNG.normal(size=30)
    z = Bernoulli.dist(0.3, shape=(5,), name="z")
    seen = Normal.dist(tt.switch(tt.eq(z[GROUPS], 1), 2.0, -1.0), 1.0, name="y")
    made = plan(Program((z,), (Observation(seen, tt.as_tensor(y)),)))
    total = 0.0
    for j in range(5):
        rows = y[j == GROUPS]
        total += np.logaddexp(
            np.log(0.3) + stats.norm(2.0).logpdf(rows).sum(), np.log(0.7) + stats.norm(-1.0).logpdf(rows).sum()
        )
    np.testing.assert_allclose(made.program.terms[0].density.eval(), total, rtol=1e-12)


# --- what must be declined
def declined(variable, factors, **options):
    made = plan(Program((variable,), *factors), **options)
    return {kept.name: kept.why for kept in made.kept}


def test_a_variable_in_a_potential_stays():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = Observation(Normal.dist(x, 1.0, name="y"), tt.as_tensor(0.3))
    assert '"p" depends on it' in declined(x, [(seen,), (Term("p", -(x**4)),)])["x"]


def test_a_scale_that_depends_on_the_variable_stays():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = Observation(Normal.dist(x, tt.exp(x), name="y"), tt.as_tensor(0.3))
    assert 'the scale of "y" depends on it' in declined(x, [(seen,)])["x"]


def test_a_square_is_not_affine():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = Observation(Normal.dist(x * x, 1.0, name="y"), tt.as_tensor(0.3))
    assert "not affine" in declined(x, [(seen,)])["x"]


CHOICE = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]])
AFFINE = {  # in x (3, 4), v (4,) and a number a that is no variable of the map
    "a mean of all": lambda x, v, a: x.mean(),
    "means along an axis": lambda x, v, a: a * x.mean(axis=0) + v,
    "deviations from means": lambda x, v, a: (x - x.mean(axis=1, keepdims=True)) * a,
    "a choice": lambda x, v, a: tt.switch(CHOICE, a * x, 3.0 - v),
    "a choice by columns": lambda x, v, a: tt.switch(CHOICE[0], x, 1.0),
    "a choice of a dense map": lambda x, v, a: tt.switch(CHOICE[:, 0], tt.dot(x, np.arange(4.0)), 2.0),
    "an entry set": lambda x, v, a: tt.index_update(tt.zeros((5,)), a * v[0], 3),
    "rows set": lambda x, v, a: tt.index_update(x, v + 1.0, [2, 0]),
    "a column set among what varies": lambda x, v, a: tt.index_update(tt.exp(a) * x, v[:3], (slice(None), 1)),
    "rows set by a dense map": lambda x, v, a: tt.index_update(tt.zeros((5,)), tt.dot(x, np.ones(4)) - a, slice(1, 4)),
}


@pytest.mark.parametrize("name", AFFINE)
def test_an_affine_map_is_its_expression(name):
    x, v = Normal.dist(0.0, 1.0, shape=(3, 4), name="x"), Normal.dist(0.0, 1.0, shape=(4,), name="v")
    a, rng = tt.dscalar("a"), np.random.default_rng(2)
    expression = AFFINE[name](x, v, a)
    form = affine(expression, {x, v})
    total = tt.broadcast_to(form.offset, form.shape)
    for part in form.parts:
        flat = part.variable.ravel()
        picked = isinstance(part, Select)
        total = total + (part.coefficient * flat[part.positions] if picked else tt.dot(part.design, flat))
    there = {rv: tt.tensor(None, "float64", shape=rv.type.shape) for rv in (x, v)}
    both = [substitute(total, there), substitute(expression, there)]
    found, wanted = function([*there.values(), a], both, on_unused_input="ignore")(
        rng.normal(size=(3, 4)), rng.normal(size=4), 0.7
    )
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)


def test_a_child_of_another_family_keeps_the_variable():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = Observation(Poisson.dist(tt.exp(x), name="y"), tt.as_tensor(3))
    assert "Poisson" in declined(x, [(seen,)])["x"]


def test_a_sum_of_rates_is_not_one_rate():
    x = FAMILIES["Gamma"].dist(2.0, 1.0, shape=(2,), name="x")
    seen = Observation(Poisson.dist(x[0] + x[1], name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="multiple"):
        integrated_out(Program((x,), (seen,)), x)


def test_a_rate_with_an_offset_stays():
    x = FAMILIES["Gamma"].dist(2.0, 1.0, name="x")
    seen = Observation(Poisson.dist(x + 1.0, name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="multiple"):
        integrated_out(Program((x,), (seen,)), x)


def test_a_scaled_probability_stays():
    x = FAMILIES["Beta"].dist(2.0, 1.0, name="x")
    seen = Observation(Bernoulli.dist(0.5 * x, name="y"), tt.as_tensor(1))
    with pytest.raises(NoMatch, match="not closed"):
        integrated_out(Program((x,), (seen,)), x)


def test_a_factor_of_unknown_sign_stays():
    x, z = FAMILIES["Gamma"].dist(2.0, 1.0, name="x"), Normal.dist(0.0, 1.0, name="z")
    seen = Observation(Poisson.dist(x * z, name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="positive"):
        integrated_out(Program((x, z), (seen,)), x)


def test_protected_variables_stay_and_wrong_requests_are_refused():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = (Observation(Normal.dist(x, 1.0, name="y"), tt.as_tensor(0.3)),)
    assert declined(x, [seen], protect=["x"]) == {"x": "protected"}
    assert plan(Program((x,), seen)).free == ()
    with pytest.raises(KeyError, match="no free variable 'zz'"):
        plan(Program((x,), seen), protect=["zz"])
    y = Normal.dist(x**2, 1.0, name="y2")
    with pytest.raises(ValueError, match="cannot eliminate x"):
        plan(Program((x,), (Observation(y, tt.as_tensor(0.3)),)), eliminate=["x"])


def test_the_plan_reads_as_text():
    x = Normal.dist(0.0, 1.0, name="x")
    text = str(plan(Program((x,), (Observation(Normal.dist(x, 1.0, name="y"), tt.as_tensor(0.3)),))))
    assert "1 dimension becomes 0" in text and "Gaussian block: x" in text and "independent and exact" in text


def test_only_the_variable_in_the_way_stays():
    a, b = Normal.dist(0.0, 1.0, name="a"), Normal.dist(0.0, 1.0, name="b")
    seen = Observation(Normal.dist(a + tt.exp(b), 1.0, name="y"), tt.as_tensor(0.3))
    assert plan(Program((a, b), (seen,))).free == ("b",)
    product = Observation(Normal.dist(a * b, 1.0, name="y"), tt.as_tensor(0.3))
    assert len(plan(Program((a, b), (product,))).free) == 1


def test_reasons_name_the_law_that_the_model_has():
    with pm.Model() as model:
        b = pm.Normal("b")
        pm.Censored("y", pm.Exponential.dist(tt.exp(b * np.linspace(-1.0, 1.0, 4))), None, 1.0, observed=SHARED)
    assert [k.why for k in pm.explain(model).kept] == ['"y" is Censored, not Normal, given it']
