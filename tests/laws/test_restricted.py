"""A user's transform restricts a law: the rewritten posterior is that of the model as written, for every theorem.

The model as written has the density of its variables where those lie in the images of their transforms. So a restricted
variable stays, as does what the bounds of its transform follow from; what went is told by the law of elimination
(`exact_elimination`), and the density that is sampled is that of what is left, with the Jacobians of the transforms.
"""

import numpy as np
import pytest
from exact_elimination import both_sides, joint
from proof_models import PROOFS
from rows_of_pairs import OTHERS, SEVEN_ROWS
from scipy import integrate, stats

import ppl as pm
import ppl.tensor as tt
from ppl.distributions.transforms import Chain, Interval, log, ordered
from ppl.graph import substitute
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.rewrites import strict
from ppl.rewrites.marginalization.conjugate.pairs import PAIRS
from ppl.tensor.tensor import constant

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(8)
COUNTS, NUMBERS = RNG.poisson(2.0, 6), RNG.normal(size=6)
GROUP = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def check(model, stays):
    """The rewritten posterior of a model in which the variables `stays` are restricted."""
    plan = pm.explain(model)
    assert set(stays) <= set(plan.free), plan
    sides = both_sides(program_of(model), plan.program, 5)
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-8, atol=1e-8, err_msg=str(plan))
    for moved in (True, False):
        posterior = rewritten(model, moved=moved)
        names = {v.name for v in posterior.values}
        assert {model.rvs_to_values[model[name]].name for name in stays} <= names, "in the coordinates of the user"
    at = {v: constant((0.7 * RNG.normal(size=v.type.shape)).astype(v.dtype)) for v in posterior.values}
    values, volume = {}, tt.as_tensor(0.0)
    for rv in posterior.plan.program.free:
        transform, value = model.rvs_to_transforms[model[rv.name]], model.rvs_to_values[model[rv.name]]
        inputs = [substitute(p, values) for p in rv.parameters]
        values[rv] = at[value] if transform is None else transform.backward(at[value], *inputs)
        volume = volume + (0.0 if transform is None else tt.sum(transform.log_jac_det(at[value], *inputs)))
    expected = (joint(posterior.plan.program, values) + volume).eval()
    np.testing.assert_allclose(substitute(posterior.logp(), at).eval(), expected, rtol=1e-10)


def narrower(model, rv):
    """A transform after that of the family, whose image is smaller than the support."""
    usual = model.rvs_to_transforms[rv]
    return Interval(-1.1, 1.3) if usual is None else Chain([usual, Interval(-1.1, 1.3)])


def restricted_proofs():
    for proof in PROOFS:
        for name in [rv.name for rv in proof.model().free_RVs if rv.dtype[0] == "f"]:
            yield pytest.param(proof, name, id=f"{proof.name}-{name}")


@pytest.mark.parametrize("proof, name", list(restricted_proofs()))
def test_a_restricted_variable_of_a_proof_model_stays(proof, name):
    model = proof.model()
    check(pm.model.transform.conditioning.change_value_transforms(model, {name: narrower(model, model[name])}), [name])


PRIORS = {
    "Gamma": lambda t: pm.Gamma("x", 2.0, 1.5, shape=3, default_transform=t),
    "InverseGamma": lambda t: pm.InverseGamma("x", 3.0, 2.0, shape=3, default_transform=t),
    "Beta": lambda t: pm.Beta("x", 2.0, 1.5, shape=3, default_transform=t),
    "Dirichlet": lambda t: pm.Dirichlet("x", [1.2, 2.0, 0.7], shape=(3, 3), transform=t),
}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p.prior}-{p.child}")
def test_a_restricted_conjugate_variable_stays(pair):
    with pm.Model() as model:
        x = PRIORS[pair.prior](Interval(-1.0, 1.0) if pair.prior == "Dirichlet" else Interval(0.2, 0.6))
        slot = x[GROUP] if pair.power == 1.0 else x[GROUP] ** pair.power
        others = {key: value for key, value in OTHERS.get(pair.child, {}).items() if key != pair.slot}
        getattr(pm, pair.child)("y", **{pair.slot: slot}, **others, observed=SEVEN_ROWS[pair.child][:6])
    check(model, ["x"])


def alone(t):
    p = pm.Uniform("p", 0, 1, default_transform=t)
    pm.Binomial("y", 10, p, observed=3)


def vector(t):
    p = pm.Uniform("p", np.zeros(3), 1, default_transform=t)
    pm.Binomial("y", 10, p[GROUP], observed=COUNTS)


def above_a_label(t):
    p = pm.Uniform("p", 0, 1, default_transform=t)
    z = pm.Bernoulli("z", p, shape=6)
    pm.Normal("y", 2.0 * z, 1, observed=NUMBERS)


def childless(t):
    pm.Uniform("p", 0, 1, default_transform=t)
    mu = pm.Normal("mu", 0, 1)
    pm.Normal("y", mu, 1, observed=NUMBERS)


def bound_of_rows(t):
    p = pm.Pareto("p", 2.0, 0.1, default_transform=t)
    pm.Uniform("y", 0, p, observed=[0.05, 0.15])


def of_a_mean(t):
    mu = pm.Normal("mu", 0, 2)
    p = pm.Normal("p", mu, 1, default_transform=t)
    pm.Normal("y", p, 1, observed=NUMBERS)


def of_a_childless_mean(t):
    """The mean is told by the restriction alone."""
    mu = pm.Normal("mu", 0, 2)
    pm.Normal("p", mu, 1, default_transform=t)


def below_a_label(t):
    z = pm.Categorical("z", [0.3, 0.7])
    p = pm.Normal("p", tt.as_tensor(np.array([-1.0, 1.0]))[z], 1, default_transform=t)
    pm.Normal("y", p, 1, observed=NUMBERS)


def scale_of_a_block(t):
    p = pm.Uniform("p", 0, 5, default_transform=t)
    theta = pm.Normal("theta", 0, p, shape=6)
    pm.Normal("y", theta, 1, observed=NUMBERS)


def rate_of_a_compound(t):
    p = pm.Uniform("p", 0, 5, default_transform=t)
    theta = pm.Exponential("theta", p, shape=6)
    pm.Poisson("y", theta, observed=COUNTS)


def thinned(t):
    p = pm.Uniform("p", 0, 1, default_transform=t)
    n = pm.Poisson("n", 4.0, shape=6)
    pm.Binomial("y", n, p, observed=COUNTS)


MODELS = (alone, vector, above_a_label, childless, bound_of_rows, of_a_mean, of_a_childless_mean, below_a_label,
          scale_of_a_block, rate_of_a_compound, thinned)  # fmt: skip


@pytest.mark.parametrize("write", MODELS, ids=lambda f: f.__name__)
def test_an_interval_of_the_user_is_kept(write):
    with pm.Model() as model:
        write(Interval(0.2, 0.6))
    check(model, ["p"])


@pytest.mark.parametrize("of_law", [pm.Uniform, pm.Normal], ids=lambda f: f.__name__)
def test_members_of_a_loop_keep_their_interval(of_law):
    with pm.Model() as model:
        for i, y in enumerate(COUNTS):
            p = of_law(f"p{i}", 0, 1, default_transform=Interval(0.2, 0.6) if i != 2 else Interval(0.1, 0.6))
            pm.Binomial(f"y{i}", 10, p, observed=y)
    check(model, [f"p{i}" for i in range(6)])


def test_bounds_keep_what_they_follow_from():
    bounds = Interval(bounds_fn=lambda rng, size, mu, sigma: (mu - sigma, None))
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 2)
        x = pm.Normal("x", mu, tau, shape=6, default_transform=bounds)
        pm.Normal("y", x, 1, observed=NUMBERS)
    check(model, ["mu", "tau", "x"])
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.4)
        x = pm.Normal("x", z, 1.0, default_transform=bounds)
        pm.Normal("y", x, 1, observed=NUMBERS)
    assert set(pm.explain(model).free) == {"z", "x"}
    with pm.Model() as model:
        u = pm.Pareto("u", 2.0, 1.0)
        x = pm.Uniform("x", 0, u, default_transform=Interval(bounds_fn=lambda low, high: (low, 0.5 * high)))
    check(model, ["u", "x"])


def likelihood(p):
    return np.prod(stats.norm(p, 1).pdf(NUMBERS))


def quadrature_mean(density, low, high):
    mass, first = (integrate.quad(lambda p, k=k: p**k * density(p), low, high)[0] for k in (0, 1))
    return first / mass


N = stats.norm.pdf
SINGLE = {
    "alone": (alone, lambda p: stats.binom(10, p).pmf(3)),
    "above a label": (above_a_label, lambda p: np.prod(p * N(NUMBERS - 2) + (1 - p) * N(NUMBERS))),
    "childless": (childless, lambda p: 1.0),
    "bound of rows": (bound_of_rows, lambda p: p**-3.0 * p**-2.0 * (p > 0.15)),
    "of a mean": (of_a_mean, lambda p: stats.norm(0, np.sqrt(5)).pdf(p) * likelihood(p)),
    "below a label": (below_a_label, lambda p: (0.3 * N(p + 1) + 0.7 * N(p - 1)) * likelihood(p)),
}  # fmt: skip


@pytest.mark.parametrize("write, density", SINGLE.values(), ids=SINGLE)
def test_draws_are_of_the_restricted_posterior(write, density):
    with pm.Model():
        write(Interval(0.2, 0.6))
        found = pm.sample(500, tune=500, chains=2, progressbar=False, random_seed=3).posterior["p"].values
    assert 0.2 <= found.min() < 0.25
    assert 0.55 < found.max() <= 0.6
    expected = quadrature_mean(density, 0.2, 0.6)
    assert abs(found.mean() - expected) < 0.02


def test_unconstrained_values_are_those_of_the_users_bounds():
    with pm.Model():
        u = pm.Uniform("u", 1, 2)
        y = pm.Uniform("y", 0, u, default_transform=Interval(bounds_fn=lambda low, high: (low, 0.5 * high)))
        pm.Normal("z", y, 1, observed=0.2)
        found = pm.sample(
            200, tune=200, chains=1, progressbar=False, random_seed=1, idata_kwargs={"include_transformed": True}
        ).posterior
    assert np.isfinite(found["y_interval__"]).all()
    assert (found["y"] < 0.5 * found["u"]).all()


def test_transforms_are_compared_by_value():
    free = lambda make: set(_explained(make).free)
    same = Interval(0, 1), Interval(bounds_fn=lambda rng, size, low, high: (low, high)), Interval(0.0, np.float64(1.0))
    for transform in same:
        assert not free(lambda t=transform: alone(t))
    assert not free(lambda: _rate(log))
    assert free(lambda: _rate(Interval(0.0, None))) == {"p"}  # another map onto the same set: the user's coordinates


def _rate(t):
    p = pm.Exponential("p", 1.0, default_transform=t)
    pm.Poisson("y", p, observed=COUNTS)


def _explained(make):
    with pm.Model() as model:
        make()
    return pm.explain(model)


def test_what_must_stay_cannot_be_eliminated():
    with pm.Model() as model:
        alone(Interval(0.2, 0.6))
    with pytest.raises(ValueError, match='cannot eliminate "p": its transform was chosen by the user: "interval"'):
        pm.explain(model, eliminate=["p"])
    assert 'p: its transform was chosen by the user: "interval"' in str(pm.explain(model))


def test_ordered_values_outside_the_support_have_no_density():
    with pm.Model() as model:
        pm.LogNormal("x", 0, 1, shape=3, transform=ordered, default_transform=None)
    point = {"x_ordered__": np.array([-1.0, 0.0, 0.0])}
    assert model.compile_logp()(point) == -np.inf
    np.testing.assert_array_equal(model.compile_dlogp()(point), [-1.0, 0.0, 0.0])
