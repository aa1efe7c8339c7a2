"""Laws of elimination: the joint equals marginal times conditional, for every theorem."""

import numpy as np
import pytest
from scipy import stats

import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import FAMILIES, Bernoulli, Categorical, Normal, Poisson
from ppl.graph import ancestors, substitute
from ppl.rewrites.elimination import Observation, Program, Term, plan
from ppl.rewrites.elimination.conjugate import PAIRS, PRIORS, NoMatch, eliminate_one

EXAMPLES = {
    "Gamma": {"alpha": 1.7, "beta": 0.6},
    "Exponential": {"lam": 0.8},
    "InverseGamma": {"alpha": 2.3, "beta": 1.4},
    "Beta": {"alpha": 1.3, "beta": 2.1},
}
OTHERS = {"Gamma": {"alpha": 1.9}, "Normal": {"mu": 0.4}, "Binomial": {"n": 5}, "NegativeBinomial": {"n": 3}}
LINKS = {"identity": lambda x: x, "sqrt": tt.sqrt, "rsqrt": lambda x: x**-0.5}
ROWS = np.array([0, 2, 2, 0, 3, 2, 3])  # entry 1 has no child
DATA = {
    "Poisson": [1, 0, 4, 2, 7, 1, 0],
    "Exponential": [0.3, 1.2, 0.05, 2.0, 0.7, 0.4, 0.9],
    "Gamma": [0.3, 1.2, 0.05, 2.0, 0.7, 0.4, 0.9],
    "Normal": [0.3, -1.2, 0.05, 2.0, 0.7, 0.4, -0.9],
    "Bernoulli": [1, 0, 0, 1, 1, 0, 1],
    "Binomial": [1, 0, 4, 2, 5, 1, 0],
    "Geometric": [1, 3, 4, 2, 7, 1, 2],
    "NegativeBinomial": [1, 3, 4, 2, 7, 1, 0],
}


def program_of_pair(pair, weights):
    """The pair in its indexed form, with a coefficient where it is allowed."""
    variable = FAMILIES[pair.prior].dist(**EXAMPLES[pair.prior], shape=(4,), name="x")
    slot = LINKS[pair.link](variable[ROWS] * weights if pair.scaled else variable[ROWS])
    child = FAMILIES[pair.child].dist(**{pair.slot: slot}, **OTHERS.get(pair.child, {}), name="y")
    return variable, Observation(child, tt.as_tensor(np.array(DATA[pair.child])))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.prior}-{p.child}")
def test_prior_times_likelihood_is_marginal_times_posterior(pair):
    variable, observed = program_of_pair(pair, np.linspace(0.5, 2.0, 7))
    result = eliminate_one(Program((variable,), (observed,)), variable)
    (term,), (recovery,) = result.terms, result.recoveries
    at = tt.dvector("at")
    posterior = recovery.draw
    joint = tt.sum(variable.family.log_density(at, *variable.parameters)) + tt.sum(
        observed.variable.family.log_density(
            observed.value, *substitute(list(observed.variable.parameters), {variable: at})
        )
    )
    difference = joint - tt.sum(posterior.family.log_density(at, *posterior.parameters)) - term.density
    f = function([at], difference)
    rng = np.random.default_rng(1)
    for _ in range(5):
        point = rng.uniform(0.1, 0.9, 4)
        assert abs(f(point)) < 1e-9


def test_every_prior_has_a_pair():
    assert {p.prior for p in PAIRS} | {"Uniform"} == set(PRIORS)


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


def test_a_child_of_another_family_keeps_the_variable():
    x = Normal.dist(0.0, 1.0, name="x")
    seen = Observation(Poisson.dist(tt.exp(x), name="y"), tt.as_tensor(3))
    assert "Poisson" in declined(x, [(seen,)])["x"]


def test_a_sum_of_rates_is_not_one_rate():
    x = FAMILIES["Gamma"].dist(2.0, 1.0, shape=(2,), name="x")
    seen = Observation(Poisson.dist(x[0] + x[1], name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="multiple"):
        eliminate_one(Program((x,), (seen,)), x)


def test_a_rate_with_an_offset_stays():
    x = FAMILIES["Gamma"].dist(2.0, 1.0, name="x")
    seen = Observation(Poisson.dist(x + 1.0, name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="multiple"):
        eliminate_one(Program((x,), (seen,)), x)


def test_a_scaled_probability_stays():
    x = FAMILIES["Beta"].dist(2.0, 1.0, name="x")
    seen = Observation(Bernoulli.dist(0.5 * x, name="y"), tt.as_tensor(1))
    with pytest.raises(NoMatch, match="not closed"):
        eliminate_one(Program((x,), (seen,)), x)


def test_a_factor_of_unknown_sign_stays():
    x, z = FAMILIES["Gamma"].dist(2.0, 1.0, name="x"), Normal.dist(0.0, 1.0, name="z")
    seen = Observation(Poisson.dist(x * z, name="y"), tt.as_tensor(3))
    with pytest.raises(NoMatch, match="positive"):
        eliminate_one(Program((x, z), (seen,)), x)


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
    assert "1 dimensions become 0" in text and "Gaussian block: x" in text and "independent and exact" in text


def test_only_the_variable_in_the_way_stays():
    a, b = Normal.dist(0.0, 1.0, name="a"), Normal.dist(0.0, 1.0, name="b")
    seen = Observation(Normal.dist(a + tt.exp(b), 1.0, name="y"), tt.as_tensor(0.3))
    assert plan(Program((a, b), (seen,))).free == ("b",)
    product = Observation(Normal.dist(a * b, 1.0, name="y"), tt.as_tensor(0.3))
    assert len(plan(Program((a, b), (product,))).free) == 1
