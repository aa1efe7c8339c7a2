"""Laws of coordinates: whatever is moved, the variable keeps its law."""

import re
from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import FAMILIES, GaussianRandomWalk, Laplace, Logistic, Normal, StudentT
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.reparameterization.centering import (
    Balanced,
    BalancedLogarithm,
    BalancedProcess,
    BalancedVectors,
    KnownProcess,
    PartiallyCentered,
    ScaledLogarithm,
    Whitened,
)
from ppl.rewrites.reparameterization.coordinates import NearScore, coordinate_of
from ppl.rewrites.reparameterization.covariances import SpreadAndCorrelation
from ppl.rewrites.reparameterization.fisher_information import jitter_in_groups
from ppl.rewrites.reparameterization.random_walks import Pulled, PulledSteps

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(4)
LOCATION_AND_SCALE = {name: family.location_scale for name, family in FAMILIES.items() if family.location_scale}
SCALES = [name for name, family in FAMILIES.items() if family.log_variance]
POINTS = (-7.0, -3.0, -0.5, 0.0, 0.4, 2.0, 4.0)
PARTLY = {family: PartiallyCentered(np.array(0.3), family) for family in LOCATION_AND_SCALE}
BALANCED = {family: Balanced(np.array(2.0), np.array(0.6), family) for family in LOCATION_AND_SCALE}
ALL = {
    **{name: found for name, family in FAMILIES.items() if (found := coordinate_of(family))},
    "StudentT, partly centered": PARTLY["StudentT"],
    "StudentT, balanced": BALANCED["StudentT"],
    "StudentT, near score": NearScore(),
    "LogNormal, balanced": BalancedLogarithm(np.array(2.0), np.array(0.6)),
    **{f"{family}, scaled": ScaledLogarithm(np.array(0.3), family) for family in SCALES},
}
each_coordinate = pytest.mark.parametrize("name", ALL)


def family_of(name):
    return FAMILIES[name.split(",")[0]]


def parameters(name):
    """Two settings of a family: its domains' example values."""
    examples = [p.domain.examples for p in family_of(name).params.values()]
    if name == "Uniform":
        return [(-1.0, 3.0), (0.0, 0.5)]
    return [tuple(e[0] for e in examples), tuple(e[-1] for e in examples)]


@each_coordinate
def test_density_is_that_of_the_variable_times_the_slope(name):
    for given in parameters(name):
        fixed = [tt.as_tensor(float(p)) for p in given]
        z = tt.dscalar("z")
        x = ALL[name].backward(z, *fixed)
        whole = family_of(name).stated_logp(x, *fixed) + tt.log(tt.grad(x, z))
        f = function([z], [ALL[name].log_density(z, *fixed), whole])
        for at in POINTS[1:-1]:
            np.testing.assert_allclose(*f(at + 1e-3), rtol=1e-7, atol=1e-9)


@each_coordinate
def test_the_way_there_and_back(name):
    for given in parameters(name):
        fixed = [tt.as_tensor(float(p)) for p in given]
        z = tt.dscalar("z")
        f = function([z], ALL[name].forward(ALL[name].backward(z, *fixed), *fixed))
        for at in POINTS:
            np.testing.assert_allclose(f(at), at, rtol=1e-4, atol=1e-7)


@each_coordinate
def test_the_gradient_has_no_gap(name):
    fixed = [tt.as_tensor(float(p)) for p in parameters(name)[0]]
    z = tt.dscalar("z")
    slope = function([z], tt.grad(tt.log(tt.grad(ALL[name].backward(z, *fixed), z)) + 0.0 * z, z))
    for at in (-0.5, 0.0, 0.5):
        np.testing.assert_allclose(slope(at - 1e-7), slope(at + 1e-7), atol=1e-5)


def test_location_and_scale_are_what_they_are_called():
    """The law of (θ - μ)/σ, which moves in the place of θ without centering, is the same for all μ and σ; the density
    of what moves is that of θ times the slope. All families in one program."""
    z, mu, sigma = tt.dscalar("z"), tt.dscalar("mu"), tt.dscalar("sigma")
    densities, gaps = [], []
    for name, coordinate in (*PARTLY.items(), *BALANCED.items()):
        given = dict(zip(FAMILIES[name].params, parameters(name)[0], strict=True))
        given.update(zip(LOCATION_AND_SCALE[name], (mu, sigma), strict=True))
        there = [tt.as_tensor(x) for x in given.values()]
        densities.append(FAMILIES[name].stated_logp(mu + sigma * z, *there) + tt.log(sigma))
        x = coordinate.backward(z, *there)
        whole = FAMILIES[name].stated_logp(x, *there) + tt.log(tt.grad(x, z))
        gaps += [coordinate.log_density(z, *there) - whole, coordinate.forward(x, *there) - z]
    f = function([z, mu, sigma], [tt.stack(densities), tt.stack(gaps)])
    for at in (-1.3, 0.4, 2.0):
        (far, gap), (near, _) = f(at, 3.0, 0.2), f(at, 0.0, 1.0)
        np.testing.assert_allclose(far, near, rtol=1e-9, err_msg=str(list(PARTLY)))
        np.testing.assert_allclose(gap, 0.0, atol=1e-9, err_msg=str(list(PARTLY)))


@pytest.mark.parametrize("prior", [Normal, StudentT, Laplace, Logistic], ids=lambda f: f.__name__)
def test_groups_of_any_family_of_location_and_scale_are_balanced(prior):
    """By the information of their rows: none in the group that has no rows, y + 1/2 of a count elsewhere."""
    with pm.Model() as model:
        slots = dict(
            zip(LOCATION_AND_SCALE[prior.__name__], (pm.Normal("m", 0, 1), pm.HalfNormal("s", 1)), strict=True)
        )
        more = {"nu": 4.0} if prior is StudentT else {}
        u = getattr(pm, prior.__name__)("u", **slots, **more, shape=3)
        pm.Poisson("y", tt.exp(u[np.array([0, 0, 2])]), observed=[3, 1, 7])
    (chosen,) = [c for c in pm.explain(model).coordinates.values() if c.name == "balanced"]
    np.testing.assert_allclose(chosen.information, [5.0, 0.0, 7.5])
    np.testing.assert_allclose(chosen.spread, 1.0 / np.sqrt(1.0 + chosen.information))  # of the 1 at which "s" starts


CHILDREN = {  # of a number u; parameters of a child that the information of its rows is known for
    "Poisson": lambda u: {"mu": tt.exp(u + 1.0)},
    "ZeroInflatedPoisson": lambda u: {"psi": 0.9, "mu": tt.exp(u + 1.0)},
    "NegativeBinomial": lambda u: {"mu": tt.exp(u + 1.0), "alpha": 2.0},
    "Bernoulli": lambda u: {"logit_p": u},
    "Binomial": lambda u: {"n": 4, "p": pm.math.invprobit(u)},
    "OrderedLogistic": lambda u: {"eta": u, "cutpoints": np.array([-1.0, 1.0])},
    "OrderedProbit": lambda u: {"eta": u, "cutpoints": np.array([-1.0, 0.5]), "sigma": 1.5},
    "Weibull": lambda u: {"alpha": 1.5, "beta": tt.exp(u)},
    "Logistic": lambda u: {"mu": u, "s": 0.5},
    "StudentT": lambda u: {"nu": 8.0, "mu": u, "sigma": 0.5},
    "Normal": lambda u: {"mu": 0.3, "sigma": tt.exp(-0.5 * u)},
}


@pytest.mark.parametrize("child", CHILDREN)
def test_the_information_of_rows_is_about_that_of_their_law(child):
    """Within a third of E[(∂ log p(y | u) / ∂u)²], over 20,000 rows drawn at u = 0.4."""
    rows, at = 20_000, np.full(20_000, 0.4)
    y = pm.draw(getattr(pm, child).dist(**CHILDREN[child](tt.as_tensor(at))), random_seed=1)
    u = tt.dvector("u")
    law = getattr(pm, child).dist(**CHILDREN[child](u))
    slopes = function([u], tt.grad(tt.sum(pm.logp(law, y)), u))(at)
    with pm.Model() as model:
        groups = pm.Normal("groups", 0.0, pm.HalfNormal("scale", 1.0), shape=1)
        getattr(pm, child)("y", **CHILDREN[child](groups[np.zeros(rows, int)]), observed=y)
    (chosen,) = [c for c in pm.explain(model).coordinates.values() if c.name == "balanced"]
    np.testing.assert_allclose(chosen.information.item() / rows, np.mean(slopes**2), rtol=1 / 3)


BENT = {  # of a variable at 0 and one at √e; what rows say of the first, up to one from these and a factor e
    "a function of it": (lambda u, a: tt.exp(2.0 * u), (4 * np.exp(-4), 4 * np.exp(4))),
    "a random factor": (lambda u, a: a * u, (np.exp(-1), np.exp(3))),
    "both": (lambda u, a: 3.0 - a * tt.exp(u), (np.exp(-3), np.exp(5))),
}


@pytest.mark.parametrize("name", BENT)
def test_rows_that_bend_tell_by_their_slopes_around_the_start(name):
    line, (least, most) = BENT[name]
    with pm.Model() as model:
        u = pm.StudentT("u", nu=5.0, mu=0.0, sigma=pm.HalfNormal("scale", 1.0), shape=3)
        a = pm.LogNormal("a", 0.0, 1.0)
        pm.Normal("y", line(u, a)[np.array([0, 0, 1])], 0.5, observed=np.zeros(3))
    (chosen,) = [c for rv, c in pm.explain(model).coordinates.items() if rv.name == "u"]
    assert chosen.name == "balanced" and chosen.information[2] == 0.0
    each = (
        chosen.information[:2] / np.array([2.0, 1.0]) * 0.5**2
    )  # by its rows, of which each has the information 1/0.5²
    assert np.all((least < each) & (each < most))


@pytest.mark.parametrize("shuffled", [False, True])
def test_noise_that_is_not_known_is_told_by_the_rows_of_a_group(shuffled):
    """Of a curve through each group the noise is σ; of rows without order at least that, and at most their spread."""
    groups, t, noise = np.repeat(np.arange(5), 40), np.tile(np.linspace(0.0, 3.0, 40), 5), 0.05
    order = RNG.permutation(groups.size) if shuffled else np.arange(groups.size)
    groups, t = groups[order], t[order]
    y = np.array([4.0, -2.0, 1.0, 0.0, 7.0])[groups] + np.exp(-t) + noise * RNG.normal(size=t.size)
    found = jitter_in_groups(y, groups)
    assert 0.8 * noise < found < (0.6 if shuffled else 1.2 * noise)
    with pm.Model() as model:
        u = pm.StudentT("u", nu=5.0, mu=0.0, sigma=pm.HalfNormal("scale", 1.0), shape=5)
        pm.Normal("y", u[groups] + pm.math.exp(-t), pm.HalfCauchy("noise", 20.0), observed=y)
    (chosen,) = [c for rv, c in pm.explain(model).coordinates.items() if rv.name == "u"]
    np.testing.assert_allclose(chosen.information, 40.0 * found**-2.0)


def test_noise_is_not_told_by_groups_of_two_rows_or_by_equal_ones():
    groups = np.repeat(np.arange(4), 2)
    assert jitter_in_groups(RNG.normal(size=8), groups) is None
    assert jitter_in_groups(np.ones(8), 0 * groups) is None
    assert jitter_in_groups(RNG.normal(size=8), None) is None


def _poisson(rate, y):
    return y * tt.log(rate) - rate


GROUP, SHARES, COUNTS = np.array([0, 0, 1]), np.array([0.2, 0.6, 0.9]), np.array([1, 0, 3])
CURVED = {
    "a potential": lambda u, a: pm.Potential("y", tt.sum(_poisson(tt.exp(u), COUNTS))),
    "a mixture that is a potential": lambda u, a: pm.Potential(
        "y", 2.0 - 1.5 * tt.sum(-tt.logaddexp(_poisson(tt.exp(u), COUNTS), _poisson(a, COUNTS)))
    ),
    "a law without a formula": lambda u, a: pm.Beta("y", a * tt.sigmoid(u), a * tt.sigmoid(-u), observed=SHARES),
    "classes": lambda u, a: pm.Categorical(
        "y", p=pm.math.softmax(tt.stack([u, 0.0 * u, -u], axis=1), axis=1), observed=np.array([0, 2, 1])
    ),
}


@pytest.mark.parametrize("name", CURVED)
def test_rows_of_any_law_tell_by_the_curvature_of_their_densities(name):
    with pm.Model() as model:
        u = pm.Normal("u", 0.0, pm.HalfNormal("scale", 1.0), shape=3)
        CURVED[name](u[GROUP], pm.LogNormal("a", 0.0, 1.0))
    (chosen,) = [c for rv, c in pm.explain(model).coordinates.items() if rv.name == "u"]
    assert chosen.name == "balanced" and chosen.information[2] == 0.0
    assert np.all((chosen.information >= 0.0) & (chosen.information < 10.0)) and chosen.information.max() > 0.1
    if name == "a potential":  # the mean, one row at a time, up to a factor e
        each = chosen.information[:2] / np.array([2.0, 1.0])
        assert np.all((np.exp(-1) < each) & (each < np.e))


def test_vectors_are_balanced_by_the_curvature_of_a_potential():
    """The curvature of a normal log-density is its precision, wherever it is taken."""
    precision = np.array([[3.0, -1.0], [-1.0, 2.0]])
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        u = pm.MvNormal("u", np.zeros(2), chol=chol, shape=(3, 2))
        x, y = u[GROUP, 0], u[GROUP, 1]
        pm.Potential("y", -0.5 * tt.sum(3.0 * x**2 - 2.0 * x * y + 2.0 * y**2))
    (chosen,) = [c for rv, c in pm.explain(model).coordinates.items() if rv.name == "u"]
    np.testing.assert_allclose(chosen.information, [2.0 * precision, precision, 0.0 * precision], atol=1e-6)


def test_log_normal_groups_are_balanced_by_what_rows_say_of_their_logarithm():
    with pm.Model() as model:
        x = pm.LogNormal("x", 0.0, pm.HalfNormal("s", 1.0), shape=3)
        pm.Poisson("y", x[np.array([0, 0, 2])], observed=[3, 1, 7])
    (chosen,) = [c for c in pm.explain(model).coordinates.values() if c.name == "balanced_logarithm"]
    np.testing.assert_allclose(chosen.information, [3 + 1 + 1, 0, 7.5])


@pytest.mark.parametrize("nu", [1.0, 2.0, 3.0, 5.0])
def test_the_near_score_of_students_law_is_about_normal(nu):
    z = np.linspace(-3, 3, 61)
    density = np.exp(NearScore().log_density(z, tt.as_tensor(nu), tt.as_tensor(0.0), tt.as_tensor(1.0)).eval())
    np.testing.assert_allclose(density, stats.norm.pdf(z), atol=0.02)
    far = [
        NearScore().log_density(x, tt.as_tensor(nu), tt.as_tensor(0.0), tt.as_tensor(1.0)).eval() for x in (20.0, 60.0)
    ]
    assert np.isfinite(far).all() and far[1] < far[0] < -100.0


@pytest.mark.parametrize(("nu", "noise", "moved"), [(3.0, 10.0, True), (3.0, 0.5, False), (30.0, 10.0, False)])
def test_heavy_tails_are_drawn_in_where_rows_say_little(nu, noise, moved):
    with pm.Model() as model:
        x = pm.StudentT("x", nu, 0.0, 1.0, shape=3)
        pm.StudentT("y", 4, x, noise, observed=np.array([0.3, -20.0, 11.0]))
    assert any(isinstance(c, NearScore) for c in pm.explain(model).coordinates.values()) is moved


GROUPS = np.array([0, 2, 2, 0, 0, 3])
TOLD = {  # rows of groups 0, 2 and 3, and the information that they have of the logarithm of each x
    "a scale": (lambda x: pm.Normal("y", 0, x[GROUPS], observed=np.ones(6)), [6, 0, 4, 2]),
    "a precision": (lambda x: pm.Normal("y", 0, tau=x[GROUPS], observed=np.ones(6)), [1.5, 0, 1, 0.5]),
    "a mean of counts": (lambda x: pm.Poisson("y", x[GROUPS], observed=np.arange(6)), [7 + 1.5, 0, 3 + 1, 5.5]),
    "exposures": (lambda x: pm.Poisson("y", np.arange(1.0, 7.0) * x[GROUPS], observed=np.arange(6)), [8.5, 0, 4, 5.5]),
    "a mean of times": (lambda x: pm.Exponential("y", 1 / x[GROUPS], observed=np.ones(6)), [3, 0, 2, 1]),
}


@pytest.mark.parametrize("prior", [pm.HalfNormal, pm.HalfCauchy], ids=lambda f: f.__name__)
@pytest.mark.parametrize("child", TOLD)
def test_a_random_scale_is_taken_out_by_the_share_of_the_prior(child, prior):
    rows, information = TOLD[child]
    with pm.Model() as model:
        s = pm.LogNormal("s", 0, 1)
        rows(prior("x", s, shape=4))
    plan = pm.explain(model)
    (coordinate,) = [c for rv, c in plan.coordinates.items() if rv.name == "x"]
    spread = prior.log_variance()
    np.testing.assert_allclose(coordinate.weight, 1 / (1 + np.array(information) * spread), rtol=1e-9)
    assert "x is moved on the log scale, partially non-centered" in str(plan)


def test_a_known_scale_stays_where_it_is_and_so_does_a_random_one_beside_many_rows():
    rows = np.random.default_rng(0).normal(size=(50, 4))
    for scale, many in ((2.0, False), (None, True)):
        with pm.Model() as model:
            s = pm.LogNormal("s", 0, 1) if scale is None else scale
            x = pm.HalfCauchy("x", s, shape=4)
            pm.Normal("y", 0, x, observed=rows if many else rows[:1])
        assert not any(isinstance(c, ScaledLogarithm) for c in pm.explain(model).coordinates.values())


def test_rows_that_pick_several_entries_in_a_bent_way_tell_nothing():
    with pm.Model() as model:
        u = pm.Normal("u", 0.0, pm.HalfNormal("scale", 1.0), shape=3)
        pm.Normal("y", u[np.array([0, 1])] * u[np.array([1, 2])], 0.5, observed=np.zeros(2))
    assert "u" not in [rv.name for rv in pm.explain(model).coordinates]


@pytest.mark.parametrize("sigma", [1e-3, 0.4, 1e3])
def test_balanced_numbers_of_normal_data_have_unit_variance_whatever_the_scale(sigma):
    """The posterior of θ ~ N(μ, σ) with one datum of information I, through the coordinate; its mean does not move with
    μ at the σ that the coordinate was made for."""
    information, start, y, mu = 3.0, 0.4, 1.7, tt.dscalar("mu")
    coordinate = Balanced(np.array(information), (start**-2 + information) ** -0.5)
    mean = (mu * sigma**-2 + information * y) / (sigma**-2 + information)
    spread = (sigma**-2 + information) ** -0.5
    ends = [coordinate.forward(mean + d * spread, mu, tt.as_tensor(sigma)) for d in (-1.0, 1.0)]
    low, high, slope = function([mu], [*ends, tt.grad(ends[0], mu)])(0.7)
    np.testing.assert_allclose(high - low, 2.0, rtol=1e-9)
    if sigma == start:
        np.testing.assert_allclose(slope, 0.0, atol=1e-12)


INFORMATION = np.array([[[2.0, 0.3, -0.4], [0.3, 1.0, 0.2], [-0.4, 0.2, 5.0]], np.zeros((3, 3)), 30.0 * np.eye(3)])
CHOL = np.array([[0.7, 0.0, 0.0], [0.5, 1.3, 0.0], [-0.2, 0.4, 0.1]])


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_balanced_vectors_keep_their_law_and_have_the_covariance_one_given_normal_data(scale):
    """Three vectors, one of them without data: the density by the determinant of the map, the way there and back, and
    the posterior covariance (Σ⁻¹ + I)⁻¹ through the map at a covariance it was not made for."""
    coordinate, mu = BalancedVectors.at(INFORMATION, np.eye(3)), tt.as_tensor([0.3, -1.0, 2.0])
    chol = tt.as_tensor(scale * CHOL)
    z = tt.TensorType("float64", (3, 3))("z")
    x = coordinate.backward(z, mu, chol)
    slopes = tt.jacobian(x.reshape((9,)), z).reshape((9, 9))
    volume = tt.log(abs(tt.det(slopes)))
    whole = tt.sum(pm.logp(pm.MvNormal.dist(mu, chol=chol), x)) + volume
    f = function([z], [tt.sum(coordinate.log_density(z, mu, chol)), whole, coordinate.forward(x, mu, chol), slopes])
    for at in (np.zeros((3, 3)), RNG.normal(size=(3, 3))):
        density, wanted, back, map_ = f(at)
        np.testing.assert_allclose(density, wanted, rtol=1e-9)
        np.testing.assert_allclose(back, at, atol=1e-9)
    for j, information in enumerate(INFORMATION):
        own = map_[3 * j : 3 * j + 3, 3 * j : 3 * j + 3]
        left = np.linalg.inv(np.linalg.inv(scale**2 * CHOL @ CHOL.T) + information)
        np.testing.assert_allclose(own @ own.T, left, rtol=1e-6, atol=1e-12 * scale**2)


def test_the_mean_of_balanced_vectors_does_not_move_with_theirs_where_they_start():
    coordinate, chol = BalancedVectors.at(INFORMATION, CHOL), tt.as_tensor(CHOL)
    mu = tt.dvector("mu")
    precision = np.linalg.inv(CHOL @ CHOL.T)
    mean = tt.matvec(np.linalg.inv(precision + INFORMATION) @ precision, mu)  # beside what the data say
    f = function([mu], coordinate.forward(mean, mu, chol))
    np.testing.assert_allclose(f([0.3, -1.0, 2.0]), f([5.0, 1.0, -3.0]), atol=1e-9)


def test_vectors_of_a_random_covariance_are_balanced_by_the_information_of_their_rows():
    """Rows pick a level and a slope of one group; where they pick entries of several groups, the vector stays."""
    group, x, y = np.array([0, 0, 1]), np.array([-1.0, 2.0, 3.0]), np.array([4, 0, 2])

    def chosen(other):
        with pm.Model() as model:
            chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
            u = pm.MvNormal("u", pm.Normal("m", 0.0, 1.0, shape=2), chol=chol, shape=(2, 2))
            pm.Poisson("y", tt.exp(u[group, 0] + x * u[other, 1]), observed=y)
        coordinates = list(pm.explain(model).coordinates.values())
        assert "spread_and_correlation" in [c.name for c in coordinates]  # of chol
        return [c for c in coordinates if c.name == "balanced_vectors"]

    (found,) = chosen(group)
    rows = [np.outer(row, row) * (n + 0.5) for row, n in zip(np.stack([np.ones(3), x], axis=1), y, strict=True)]
    np.testing.assert_allclose(found.information, [rows[0] + rows[1], rows[2]])
    assert chosen(1 - group) == []


SHARED = RNG.normal(size=(60, 1)) + 0.1 * RNG.normal(size=(60, 3))  # columns that are much alike
APART = np.linalg.qr(RNG.normal(size=(60, 3)))[0] * 8.0


@pytest.mark.parametrize("prior", [Normal, StudentT, Laplace], ids=lambda f: f.__name__)
def test_whitened_coefficients_keep_their_law(prior):
    """The density by the determinant of the map, and the way there and back."""
    root = np.linalg.qr(SHARED)[1]
    coordinate = Whitened(prior.__name__, root)
    fixed = prior.dist(**{name: p.domain.examples[0] for name, p in prior.params.items()}).parameters
    z = tt.TensorType("float64", (3,))("z")
    x = coordinate.backward(z, *fixed)
    whole = tt.sum(prior.stated_logp(x, *fixed)) + tt.log(abs(tt.det(tt.jacobian(x, z))))
    f = function([z], [coordinate.log_density(z, *fixed), whole, coordinate.forward(x, *fixed)])
    for at in (np.zeros(3), np.array([0.3, -2.0, 1.5])):
        density, wanted, back = f(at)
        np.testing.assert_allclose(density, wanted, rtol=1e-12)
        np.testing.assert_allclose(back, at, atol=1e-12)


@pytest.mark.parametrize("child", ["Bernoulli", "Poisson", "StudentT"])
@pytest.mark.parametrize("design", [SHARED, APART], ids=["alike", "apart"])
def test_columns_that_are_alike_are_whitened(child, design):
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, 2.0, shape=3)
        line = tt.dot(design, b) + 0.3
        if child == "Bernoulli":
            pm.Bernoulli("y", logit_p=line, observed=RNG.integers(0, 2, 60))
        elif child == "Poisson":
            pm.Poisson("y", tt.exp(line), observed=RNG.poisson(2, 60))
        else:
            pm.StudentT("y", 4, line, 1.0, observed=RNG.normal(size=60))
    chosen = pm.explain(model).coordinates
    assert [c.name for c in chosen.values()] == (["whitened"] if design is SHARED else [])


def test_coefficients_with_a_random_scale_are_not_whitened():
    with pm.Model() as model:
        b = pm.Normal("b", 0.0, pm.HalfNormal("s", 1), shape=3)
        pm.Bernoulli("y", logit_p=tt.dot(SHARED, b), observed=RNG.integers(0, 2, 60))
    assert "whitened" not in [c.name for c in pm.explain(model).coordinates.values()]


@pytest.mark.parametrize("prior", [Normal, StudentT, Laplace], ids=lambda f: f.__name__)
def test_coefficients_of_a_dense_design_are_centered_so_that_their_spread_does_not_move_with_the_scale(prior):
    """[P⁻¹]ⱼⱼ τ^{2λ-2} with P = X'wX + 1/τ² has no slope in τ."""
    y = RNG.integers(0, 2, 60)
    with pm.Model() as model:
        scale = {LOCATION_AND_SCALE[prior.__name__][1]: pm.HalfNormal("s", 1)}
        b = getattr(pm, prior.__name__)("b", mu=0.0, **scale, **({"nu": 4.0} if prior is StudentT else {}), shape=3)
        pm.Bernoulli("y", logit_p=tt.dot(SHARED, b), observed=y)
    (chosen,) = [c for c in pm.explain(model).coordinates.values() if c.name == "partly_centered"]
    p, tau = (y + y.mean()) / 2.0, LIMITS.low_scale  # of the 1 at which "s" starts
    information = SHARED.T @ (SHARED * (p * (1.0 - p))[:, None])
    log_v = lambda t: np.log(np.diagonal(np.linalg.inv(information + np.eye(3) / t**2)))
    slope = (log_v(tau * 1.001) - log_v(tau / 1.001)) / (2.0 * np.log(1.001))
    np.testing.assert_allclose(2.0 * chosen.weight - 2.0, -slope, atol=1e-5)
    assert np.all((chosen.weight > 0.0) & (chosen.weight < 1.0))


@pytest.mark.parametrize("sd", [pm.Exponential.dist(1.5), pm.LogNormal.dist(0.0, 1.0)], ids=["short", "plain"])
def test_spreads_and_correlations_of_a_covariance_keep_its_law(sd):
    """The density by the determinant of the map, and the way there and back, for one to four rows in one program."""
    coordinate, inputs, found = SpreadAndCorrelation(), [], []
    for n in (1, 2, 4):
        packed = pm.LKJCholeskyCov.dist(n=n, eta=1.7, sd_dist=sd, compute_corr=False)
        inputs.append(z := tt.TensorType("float64", (n * (n + 1) // 2,))(f"z{n}"))
        x = coordinate.backward(z, *packed.parameters)
        whole = tt.sum(pm.logp(packed, x)) + tt.log(abs(tt.det(tt.jacobian(x, z))))
        found += [coordinate.log_density(z, *packed.parameters), whole, coordinate.forward(x, *packed.parameters)]
    f = function(inputs, found)
    for seed in range(3):
        at = [1.3 * np.random.default_rng(seed).normal(size=z.type.shape) for z in inputs]
        values = f(*at)
        for k, z in enumerate(at):
            density, wanted, back = values[3 * k : 3 * k + 3]
            np.testing.assert_allclose(density, wanted, rtol=1e-10)
            np.testing.assert_allclose(back, z, atol=1e-12)


STEPS = 5


@pytest.mark.parametrize("scale", [0.05, 3.0])
def test_a_pulled_walk_keeps_its_law(scale):
    """The density by the determinant of the map, and the way there and back; with data and without."""
    coordinate = Pulled(np.array([0.5, 0.0, 2.0, 7.0, 0.0]), GaussianRandomWalk)
    walk = GaussianRandomWalk.dist(0.3, scale, init_dist=Normal.dist(1.0, 2.0), shape=STEPS)
    fixed = walk.parameters
    z = tt.TensorType("float64", (STEPS,))("z")
    x = coordinate.backward(z, *fixed)
    whole = tt.sum(GaussianRandomWalk.log_density(x, *fixed)) + tt.log(abs(tt.det(tt.jacobian(x, z))))
    f = function([z], [coordinate.log_density(z, *fixed), whole, coordinate.forward(x, *fixed)])
    for at in (np.zeros(STEPS), np.array([0.3, -2.0, 1.5, 0.4, 1.0])):
        density, wanted, back = f(at)
        np.testing.assert_allclose(density, wanted, rtol=1e-10)
        np.testing.assert_allclose(back, at, atol=1e-10)


@pytest.mark.parametrize("scale", [0.05, 3.0])
def test_pulled_steps_keep_their_law(scale):
    coordinate = PulledSteps(np.array([0.5, 0.0, 2.0, 7.0, 0.0]), (tt.as_tensor(scale),))
    fixed = (*Normal.dist(0.0, 1.0).parameters, tt.as_tensor(scale))
    z = tt.TensorType("float64", (STEPS,))("z")
    x = coordinate.backward(z, *fixed)
    whole = tt.sum(Normal.logp(x, 0.0, 1.0)) + tt.log(abs(tt.det(tt.jacobian(x, z))))
    f = function([z], [coordinate.log_density(z, *fixed), whole, coordinate.forward(x, *fixed)])
    for at in (np.zeros(STEPS), np.array([0.3, -2.0, 1.5, 0.4, 1.0])):
        density, wanted, back = f(at)
        np.testing.assert_allclose(density, wanted, rtol=1e-10)
        np.testing.assert_allclose(back, at, atol=1e-10)


def of_steps(write, count=200, rate=1.0):
    with pm.Model() as model:
        scale, start = pm.Exponential("scale", rate), pm.Normal("start", 0, 1)
        e = pm.Normal("e", 0, 1, shape=count)
        write(scale, start, e)
    return pm.explain(model)


def steps_of(write):
    return [c.name for c in of_steps(write).coordinates.values()]


def returns(walk):
    return pm.Normal("y", 0, tt.exp(walk), observed=np.linspace(-1, 1, walk.type.shape[0]))


WRITTEN = {
    "steps": (lambda s, x, e: returns(x + tt.cumsum(s * e)), True),
    "steps of half the scale": (lambda s, x, e: returns(x + 0.5 * tt.cumsum(e * (2.0 * s)) + 1.0), True),
    "steps that are also seen": (
        lambda s, x, e: (returns(tt.cumsum(s * e)), pm.Normal("z", tt.exp(e), 1.0, observed=np.zeros(200))),
        False,
    ),
    "a scale that comes later": (lambda s, x, e: returns(tt.cumsum(pm.HalfNormal("late", 1) * e)), False),
    "a scale of any sign": (lambda s, x, e: returns(tt.cumsum(x * e)), False),
    "scales of their own": (lambda s, x, e: returns(tt.cumsum(s * np.linspace(1, 2, 200) * e)), False),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_walks_that_are_written_as_steps_are_pulled(name):
    write, pulled = WRITTEN[name]
    assert ("pulled_steps" in steps_of(write)) == pulled


def test_steps_of_a_walk_stay_as_written_where_whitening_costs_more_than_it_saves():
    """Its numbers wait for each other; where data say little of each step, the walk mixes nearly as well without."""
    for count, rate in ((30, 10.0), (200, 10.0)):
        made = of_steps(lambda s, x, e: returns(x + tt.cumsum(s * e)), count, rate)
        (why,) = [k.why for k in made.kept if k.name == "e"]
        assert not made.coordinates and re.search(r"stays non-centered, since a draw would cost 1\.[0-9]+ times", why)


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_a_walk_that_data_tell_well_stays_as_it_is_written(noise):
    """Where every row says much more of its place than the walk does, none of its numbers pulls at another."""
    with pm.Model() as model:
        walk = pm.GaussianRandomWalk("walk", sigma=1.0, init_dist=pm.Normal.dist(0, 1), shape=200)
        pm.StudentT("y", 4.0, walk, noise, observed=np.sin(np.arange(200.0)))
    names = [c.name for c in pm.explain(model).coordinates.values()]
    assert names == ([] if noise == 0.01 else ["pulled"])


def test_pulled_steps_are_the_model_as_written():
    """Densities of both differ by the slope of the coordinate alone, so that from point to point they agree."""
    with pm.Model() as model:
        scale = pm.Exponential("scale", 1.0)
        returns(tt.cumsum(scale * pm.Normal("e", 0, 1, shape=200)))
    ours, plain = rewritten(model), rewritten(model, rewrite=False)
    (coordinate,) = pm.explain(model).coordinates.values()
    by_name = {v.name: v for v in ours.values}
    there = function(list(by_name.values()), [ours.logp(), ours.outputs["e"], ours.outputs["scale"]])
    here = function(list(plain.values), plain.logp())
    for seed in range(3):
        rng = np.random.default_rng(seed)
        z = {name: rng.normal(size=v.type.shape) for name, v in by_name.items()}
        density, e, s = there(*z.values())
        numbers = [tt.as_tensor(x) for x in (z[f"e_{coordinate.name}__"], 0.0, 1.0, float(s))]
        spread = function([], coordinate.log_density(*numbers))()
        own = {"scale_log__": np.log(s), "e": e}
        written = here(*[own[v.name] for v in plain.values])
        np.testing.assert_allclose(density - spread, written - stats.norm.logpdf(e).sum(), rtol=1e-9)


def volatility(child, **init):
    with pm.Model() as model:
        scale = pm.Exponential("scale", 10.0)
        walk = pm.GaussianRandomWalk("walk", sigma=scale, shape=30, **init)
        child(walk)
    return model


RETURNS = {
    "normal": lambda w: pm.Normal("y", 0, tt.exp(w / 2), observed=RNG.normal(size=30)),
    "t by its precision": lambda w: pm.StudentT("y", 5.0, lam=tt.exp(-2 * w), observed=RNG.normal(size=30)),
    "counts": lambda w: pm.Poisson("y", tt.exp(w), observed=RNG.poisson(2, 30)),
}


@pytest.mark.parametrize("name", RETURNS)
def test_walks_that_stay_are_pulled(name):
    """With the information of a row: 1/2 of a variance e^w, 2ν/(ν + 3) of a scale e^w, y + 1/2 of a rate e^w."""
    (walk,) = [
        c
        for c in pm.explain(volatility(RETURNS[name], init_dist=pm.Normal.dist(0, 1))).coordinates.values()
        if c.name == "pulled"
    ]
    known = {"normal": 0.5, "t by its precision": 10.0 / 8.0}
    if name in known:
        np.testing.assert_allclose(walk.information, known[name])


def test_a_walk_that_starts_otherwise_is_not_pulled():
    model = volatility(RETURNS["normal"], init_dist=pm.StudentT.dist(3, 0, 1))
    assert "pulled" not in [c.name for c in pm.explain(model).coordinates.values()]


GAPS = np.arange(6.0)[:, None] - np.arange(6.0)
AT_ONE = 2.0 * np.exp(-0.5 * GAPS**2) + 0.1 * np.eye(6)
PROCESSES = {
    "unknown": lambda i, t: (BalancedProcess(i), 2.0 * tt.exp(-0.5 * (GAPS / t) ** 2) + 0.1 * np.eye(6)),
    "known up to a number": lambda i, t: (KnownProcess(np.linalg.cholesky(AT_ONE), i), t**2 * AT_ONE),
}


@pytest.mark.parametrize("covariance", PROCESSES)
def test_a_process_keeps_its_law(covariance):
    """There and back, and the density of what moves is that of the vector times the slope, at two covariances."""
    z, t = tt.tensor("z", "float64", (6,)), tt.dscalar("t")
    coordinate, cov = PROCESSES[covariance](np.array([0.5, 0.0, 2.0, 7.0, 0.0, 1.0]), t)
    mu, chol = tt.as_tensor(np.arange(6.0)), tt.cholesky(cov)
    x = coordinate.backward(z, mu, chol)
    slope = tt.stack([tt.grad(x[i], z) for i in range(6)])
    whole = FAMILIES["MvNormal"].log_density(x, mu, chol) + tt.slogdet(slope)[1]
    f = function([z, t], [coordinate.log_density(z, mu, chol), whole, coordinate.forward(x, mu, chol), x])
    for at in (0.3, 2.0):
        point = RNG.normal(size=6)
        moved, expected, back, _ = f(point, at)
        np.testing.assert_allclose(moved, expected, rtol=1e-9)
        np.testing.assert_allclose(back, point, rtol=1e-9)


@pytest.mark.parametrize("amplitude", ["unknown", "known"])
def test_a_process_of_a_known_shape_is_turned_once(amplitude):
    known = np.exp(-0.5 * (np.arange(9.0)[:, None] - np.arange(9.0)) ** 2) + 1e-3 * np.eye(9)
    with pm.Model() as model:
        cov = known if amplitude == "known" else pm.HalfNormal("eta") ** 2 * known
        f = pm.MvNormal("f", np.zeros(9), cov=cov)
        pm.Poisson("y", tt.exp(f), observed=np.arange(9))
    ((_, chosen),) = [(rv, c) for rv, c in pm.explain(model).coordinates.items() if rv.name == "f"]
    assert chosen.name == "known_process"
    np.testing.assert_allclose(chosen.information, np.arange(9) + 0.5)
    np.testing.assert_allclose(chosen.known @ chosen.known.T, known, atol=1e-12)


def test_a_matrix_that_is_no_covariance_has_no_eigenvectors_to_move_along():
    with pm.Model() as model:
        f = pm.MvNormal("f", np.zeros(9), cov=pm.HalfNormal("eta") ** 2 * (1.0 - 2.0 * np.eye(9)))
        pm.Poisson("y", tt.exp(f), observed=np.arange(9))
    assert "f" not in {rv.name for rv in pm.explain(model).coordinates}
    assert model.compile_logp()(model.initial_point()) == -np.inf


@pytest.mark.parametrize("mean", ["known", "random"])
def test_a_process_of_a_known_mean_is_balanced_by_its_rows(mean):
    gaps = np.arange(8.0)[:, None] - np.arange(8.0)
    with pm.Model() as model:
        length = pm.InverseGamma("length", 5, 5)
        center = pm.Normal("center", 0, 1) * np.ones(8) if mean == "random" else np.zeros(8)
        f = pm.MvNormal("f", center, tt.exp(-0.5 * (gaps / length) ** 2) + 1e-6 * np.eye(8))
        pm.Poisson("y", tt.exp(f[:6]), observed=[3, 1, 0, 2, 7, 4])
    chosen = {rv.name: c for rv, c in pm.explain(model).coordinates.items()}.get("f")
    if mean == "random":
        assert chosen is None
    else:
        np.testing.assert_allclose(chosen.information, [3.5, 1.5, 0.5, 2.5, 7.5, 4.5, 0.0, 0.0])


SERIES = {
    "walk": lambda: GaussianRandomWalk.dist(0.3, 0.7, init_dist=Normal.dist(1.0, 2.0), shape=STEPS),
    "steps of their own": lambda: GaussianRandomWalk.dist(
        0.3, [0.7, 0.1, 2.0, 1.0], init_dist=Normal.dist(1.0, 2.0), steps=STEPS - 1
    ),
    "autoregression": lambda: pm.AR.dist([0.7], sigma=0.5, init_dist=Normal.dist(0.3, 2.0), shape=STEPS),
    "one that turns its sign": lambda: pm.AR.dist([-0.9], sigma=0.5, init_dist=Normal.dist(0.3, 2.0), shape=STEPS),
    "one that forgets": lambda: pm.AR.dist([0.0], sigma=0.5, init_dist=Normal.dist(0.3, 2.0), shape=STEPS),
    "one around a level": lambda: pm.AR.dist(
        [0.2, 0.7], sigma=0.5, init_dist=Normal.dist([0.3], [2.0]), constant=True, shape=STEPS
    ),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_of_normal_steps_keeps_its_law(name):
    """The steps have the density of the series; the coordinate goes there and back, with the density by its slope."""
    law = SERIES[name]()
    family, fixed = law.family, law.parameters
    coordinate = Pulled(np.array([0.5, 0.0, 2.0, 7.0, 0.0]), family)
    z = tt.TensorType("float64", (STEPS,))("z")
    x = coordinate.backward(z, *fixed)
    own = tt.sum(family.log_density(x, *fixed))
    steps = family.normal_steps(*fixed)
    found = [coordinate.log_density(z, *fixed), own + tt.log(abs(tt.det(tt.jacobian(x, z)))), own]
    f = function([z], [*found, coordinate.forward(x, *fixed), x])
    mean, first, carried, scale = (np.asarray(tt.as_tensor(each).eval()) for each in astuple(steps))
    for at in (np.zeros(STEPS), np.array([0.3, -2.0, 1.5, 0.4, 1.0])):
        density, wanted, plain, back, value = f(at)
        np.testing.assert_allclose(density, wanted, rtol=1e-10)
        np.testing.assert_allclose(back, at, atol=1e-10)
        d = value - mean
        errors = d - np.concatenate([[0.0], carried * d[:-1]])
        spread = np.concatenate([[first], np.broadcast_to(scale, STEPS - 1)])
        np.testing.assert_allclose(stats.norm(0.0, spread).logpdf(errors).sum(), plain, rtol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_autoregressions_that_stay_are_pulled(sign):
    def chosen(order, init):
        with pm.Model() as model:
            phi, scale = pm.Beta("phi", 20, 1.5), pm.HalfNormal("scale", 0.5)
            h = pm.AR("h", [sign * phi] + [0.1] * (order - 1), sigma=scale, init_dist=init, shape=30)
            pm.Poisson("y", tt.exp(h), observed=RNG.poisson(2, 30))
        return [c.name for c in pm.explain(model).coordinates.values()]

    assert "pulled" in chosen(1, Normal.dist(0, 1))
    assert "pulled" not in chosen(2, Normal.dist(0, 1))
    assert "pulled" not in chosen(1, StudentT.dist(3, 0, 1))
