"""Densities of random expressions: against PyMC, against slopes and draws, and what must raise."""

import contextlib
import functools
import warnings

import jax
import numpy as np
import pytest
from scipy import stats
from some_slow import every

import ppl
import ppl as pm
import ppl.tensor as tt
from ppl import distributions as d
from ppl.compile import function
from ppl.distributions import conditional_logp, icdf, logccdf, logcdf, logp
from ppl.distributions.log_probability.measure import NoDensityError

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

Normal, Gamma, Poisson, Bernoulli, Uniform = d.Normal, d.Gamma, d.Poisson, d.Bernoulli, d.Uniform


def on_a_line(expression, law=logp):
    """A law of an expression as a function of numbers, by one program."""
    x = tt.dscalar("x")
    program = function([x], law(expression, x))
    return lambda values: np.array([program(v) for v in np.asarray(values, dtype=float)])


CONTINUOUS = {
    "exp": lambda: tt.exp(Normal.dist(0.3, 1.2)),
    "affine": lambda: 2 * Normal.dist(0.3, 1.2) + 1,
    "affine, turned": lambda: 1 - 3 * Normal.dist(0.3, 1.2),
    "quotient": lambda: Normal.dist(0.3, 1.2) / -2.0,
    "sigmoid": lambda: tt.sigmoid(Normal.dist(0.3, 1.2)),
    "softplus": lambda: tt.softplus(Normal.dist(0.3, 1.2)),
    "tanh": lambda: tt.tanh(Normal.dist(0.3, 1.2)),
    "arctan": lambda: tt.arctan(Normal.dist(0.3, 1.2)),
    "arcsin": lambda: tt.arcsin(Uniform.dist(-1.0, 1.0)),
    "log": lambda: tt.log(Gamma.dist(2.0, 3.0)),
    "log1p": lambda: tt.log1p(Gamma.dist(2.0, 3.0)),
    "sqrt": lambda: tt.sqrt(Gamma.dist(2.0, 3.0)),
    "absolute": lambda: abs(Normal.dist(0.3, 1.2)),
    "square": lambda: Normal.dist(0.3, 1.2) ** 2,
    "cube": lambda: Normal.dist(0.3, 1.2) ** 3,
    "root": lambda: Gamma.dist(2.0, 3.0) ** 0.7,
    "negative power": lambda: Gamma.dist(4.0, 3.0) ** -1.5,
    "base": lambda: 2.0 ** Normal.dist(0.3, 1.2),
    "reciprocal": lambda: 1 / Gamma.dist(4.0, 3.0),
    "reciprocal of both signs": lambda: 1 / Normal.dist(0.3, 1.2),
    "composition": lambda: tt.exp(1 - 2 * tt.log1p(Gamma.dist(2.0, 3.0))),
    "cosh": lambda: tt.cosh(Normal.dist(0.3, 1.2)),
    "largest": lambda: tt.max(Normal.dist(np.array([0.0, 1.0, -0.5]), np.array([1.0, 2.0, 0.3]))),
    "smallest": lambda: tt.min(Gamma.dist(2.0, 3.0, size=4)),
    "median of five": lambda: tt.sort(Normal.dist(0.3, 1.2, size=5))[2],
    "sum": lambda: tt.sum(Normal.dist(np.array([0.0, 1.0, -0.5]), 2.0)),
    "choice": lambda: tt.switch(Bernoulli.dist(0.3), Normal.dist(-2.0, 0.5), Gamma.dist(2.0, 1.0)),
    "choice by comparison": lambda: tt.switch(Normal.dist(0, 1) > 0.7, Normal.dist(-2.0, 0.5), Normal.dist(2.0, 1.0)),
    "index": lambda: tt.stack([Normal.dist(-2.0, 0.5), Normal.dist(1.0, 1.0), Gamma.dist(2.0, 1.0)])[
        d.Categorical.dist(np.array([0.2, 0.5, 0.3]))
    ],
}


POINTS = np.array([-3.03, -0.81, 0.32, 0.93, 1.41, 2.53, 6.07])


@functools.cache
def laws(name):
    """The expression of a case, and its logp, logcdf and logccdf at numbers, by one program."""
    expression, x = CONTINUOUS[name](), tt.dscalar("x")
    results = function([x], [logp(expression, x), logcdf(expression, x), logccdf(expression, x)])
    return expression, lambda values: np.array([[float(r) for r in results(v)] for v in values]).T


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_density_is_the_slope_of_the_distribution_function(name):
    _, law = laws(name)
    h = 1e-5
    density, below, above = np.exp(law(POINTS))
    slope = (np.exp(law(POINTS + h)[1]) - np.exp(law(POINTS - h)[1])) / (2 * h)
    np.testing.assert_allclose(density, slope, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(below + above, 1.0, atol=1e-12)


@pytest.mark.parametrize("name", every(2, CONTINUOUS))
def test_draws_of_the_expression_follow_the_distribution_function(name):
    expression, law = laws(name)
    draws = many_draws(expression, 20_000)
    share = np.mean(draws[:, None] <= POINTS, axis=0)
    np.testing.assert_allclose(share, np.exp(law(POINTS)[1]), atol=4.5 * 0.5 / 20_000**0.5)


def many_draws(expression, count):
    with jax.enable_x64(True):
        keys = jax.vmap(lambda i: jax.random.key_data(jax.random.fold_in(jax.random.key(0), i)))(np.arange(count))
        return np.asarray(jax.jit(jax.vmap(d.sampler([expression])))(keys)[0])


@pytest.mark.parametrize("name", CONTINUOUS)
def test_quantiles_invert_the_distribution_function(name):
    expression, law = laws(name)
    q = np.array([0.01, 0.3, 0.5, 0.9])
    at = tt.dscalar("q")
    quantile = function([at], icdf(expression, at))
    x = np.array([quantile(each) for each in q])
    np.testing.assert_allclose(np.exp(law(x)[1]), q, rtol=1e-9)


DISCRETE = {
    "floor": (lambda: tt.floor(Normal.dist(0.3, 1.2)), range(-20, 20)),
    "ceil": (lambda: tt.ceil(Gamma.dist(2.0, 1.0)), range(-1, 60)),
    "round": (lambda: tt.round(Normal.dist(0.3, 1.2)), range(-20, 20)),
    "shifted count": (lambda: Poisson.dist(3.0) + 4, range(-1, 60)),
    "turned count": (lambda: 10 - 2 * Poisson.dist(3.0), range(-110, 12)),
    "comparison": (lambda: Normal.dist(0.3, 1.2) > 0.7, range(-1, 3)),
    "comparison of counts": (lambda: Poisson.dist(3.0) <= 2, range(-1, 3)),
    "equal": (lambda: tt.equal(Poisson.dist(3.0), 2), range(-1, 3)),
    "clipped count": (lambda: tt.clip(Poisson.dist(3.0), 2, 5), range(8)),
    "largest count": (lambda: tt.max(Poisson.dist(np.array([3.0, 1.0]))), range(-1, 40)),
    "smallest count": (lambda: tt.min(Poisson.dist(np.array([3.0, 1.0]))), range(-1, 40)),
    "absolute count": (lambda: abs(d.Skellam.dist(2.0, 3.0)), range(-1, 60)),
    "inflated count": (lambda: tt.switch(Bernoulli.dist(0.3), 0, Poisson.dist(3.0)), range(-1, 40)),
    "root of a count": (lambda: tt.sqrt(Poisson.dist(3.0)), np.sqrt(np.arange(40))),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_of_counts_sum_to_one_and_to_the_distribution_function(name):
    make, values = DISCRETE[name]
    expression, values, x = make(), np.sort(np.array(list(values), dtype=float)), tt.dscalar("x")
    wanted = [logp(expression, x)]
    with contextlib.suppress(NoDensityError):
        wanted.append(logcdf(expression, x))
    program = function([x], wanted)
    p, *below = np.exp([program(value) for value in values]).T
    assert p.sum() == pytest.approx(1, abs=1e-12)
    for each in below:
        np.testing.assert_allclose(np.cumsum(p), each, atol=1e-12)


def test_clip_is_a_censored_law():
    x = np.array([-2.0, -1.0, 0.2, 2.0, 3.0])
    censored = d.Censored.dist(Normal.dist(0.3, 1.2), -1.0, 2.0, size=5)
    expected = censored.family.log_density(x, *censored.parameters).eval()
    np.testing.assert_array_equal(logp(tt.clip(Normal.dist(0.3, 1.2, size=5), -1.0, 2.0), x).eval(), expected)


def pymc_case(build):
    """An expression in ours and in PyMC's words: `build(family namespace, tensor namespace, array)`."""
    pm = pytest.importorskip("pymc")
    pt = pytest.importorskip("pytensor.tensor")
    return build(d, tt), build(pm, pt), pm


f = np.array
PYMC = {
    "exp": (lambda m, t: t.exp(m.Normal.dist(f(0.3), f(1.2))), f(0.7)),
    "affine": (lambda m, t: f(1.5) - f(2.5) * m.Normal.dist(f(0.3), f(1.2)), f(0.7)),
    "abs": (lambda m, t: t.abs(m.Normal.dist(f(0.3), f(1.2))), f(0.7)),
    "square": (lambda m, t: m.Normal.dist(f(0.3), f(1.2)) ** 2, f(0.7)),
    "abs at its end": (lambda m, t: t.abs(m.Normal.dist(f(0.3), f(1.2))), f(0.0)),
    "square at its end": (lambda m, t: m.Normal.dist(f(0.3), f(1.2)) ** 2, f(0.0)),
    "flip": (lambda m, t: m.Normal.dist(f([0.3, 1.0, 2.0]), f(1.2))[::-1], f([0.1, 0.5, -0.3])),
    "clip": (lambda m, t: t.clip(m.Normal.dist(f(0.3), f(1.2), size=3), f(-1.0), f(1.0)), f([-1.0, 0.3, 1.0])),
    "round": (lambda m, t: t.floor(m.Normal.dist(f(0.3), f(1.2))), f(1.0)),
    "cumsum": (lambda m, t: t.cumsum(m.Normal.dist(f(0.3), f(1.2), size=4)), f([0.1, 0.5, -0.3, 2.0])),
    "concatenate": (
        lambda m, t: t.concatenate([m.Normal.dist(f(0.3), f(1.2), size=2), m.Gamma.dist(f(2.0), f(3.0), size=2)]),
        f([0.1, 0.5, 0.3, 2.0]),
    ),
    "stack": (lambda m, t: t.stack([m.Normal.dist(f(0.3), f(1.2)), m.Gamma.dist(f(2.0), f(3.0))]), f([0.1, 0.5])),
    "max": (lambda m, t: t.max(m.Normal.dist(f(0.3), f(1.2), size=4)), f(0.9)),
    "min": (lambda m, t: t.min(m.Uniform.dist(f(0.0), f(1.0), size=4)), f(0.2)),
    "MvNormal, scaled": (
        lambda m, t: t.exp(m.MvNormal.dist(f([0.0, 1.0]), f([[1.0, 0.3], [0.3, 2.0]]))),
        f([0.9, 1.7]),
    ),
}


@pytest.mark.parametrize("name", PYMC)
def test_densities_are_those_of_pymc(name):
    build, value = PYMC[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs, pm = pymc_case(build)
        digits = (
            1e-7 if name in ("clip", "round", "max") else 1e-10
        )  # PyMC's normal logcdf rounds a constant to float32
        expected = pm.logp(theirs, value).eval(mode="FAST_COMPILE")
        np.testing.assert_allclose(logp(ours, value).eval(), expected, rtol=digits)
        np.testing.assert_allclose(ppl.logp(ours, value).eval(), expected, rtol=digits, strict=True)


x, y = Normal.dist(0.0, 1.0), Normal.dist(np.zeros(3), 1.0)
MUST_RAISE = {
    "the same number twice": (lambda: logp(x + x, 1.0), "used twice"),
    "a number times 0": (lambda: logp(x * 0.0, 0.0), "always 0"),
    "a number and a function of it": (lambda: logp(x * tt.exp(x), 1.0), "dependent"),
    "a sum of two draws": (lambda: logp(x + Normal.dist(), 1.0), "both random"),
    "one draw repeated by broadcasting": (lambda: logp(x + np.zeros(3), np.zeros(3)), "repeated by broadcasting"),
    "one entry taken twice": (lambda: logp(y[[0, 0]], np.zeros(2)), "more than once"),
    "one draw stacked twice": (lambda: logp(tt.stack([x, x]), np.zeros(2)), "used twice"),
    "tails of one draw stacked twice": (lambda: logcdf(tt.stack([x, x]), np.zeros(2)), "no distribution function"),
    "a draw and its double, stacked": (lambda: logp(tt.stack([x, 2 * x]), np.zeros(2)), "determined by"),
    "maximum of dependent entries": (lambda: logp(tt.max(tt.cumsum(y)), 1.0), "not independent"),
    "components shared by places": (
        lambda: logp(tt.stack([x, Normal.dist()])[Bernoulli.dist(0.3, shape=5)], np.zeros(5)),
        "share components",
    ),
    "a choice between a draw and its negative": (
        lambda: logp(tt.switch(np.array([True, False, True]), y, -y), y),
        "depend",
    ),
    "not one to one": (lambda: logp(tt.sin(x), 0.1), "'sin'"),
    "sum and maximum of one draw": (lambda: conditional_logp({tt.sum(y): 1.0, tt.max(y): 1.0}), "dependent"),
    "rows and columns of one matrix": (
        lambda: (lambda m: conditional_logp({tt.sum(m, axis=0): np.zeros(2), tt.sum(m, axis=1): np.ones(2)}))(
            Normal.dist(np.zeros((2, 2)), 1.0)
        ),
        "dependent",
    ),
    "a draw and a function of it": (lambda: conditional_logp({x: 1.0, tt.exp(x): 2.0}), "determined by"),
    "two functions of one draw": (lambda: conditional_logp({x + 1: 1.0, 2 * x: 2.0}), "dependent"),
    "two children of a draw without a value": (
        lambda: conditional_logp({Normal.dist(x, 1.0): 1.0, Normal.dist(x, 2.0): 2.0}),
        "dependent",
    ),
}


@pytest.mark.parametrize("case", MUST_RAISE)
def test_what_is_dependent_or_unknown_raises_and_says_why(case):
    build, words = MUST_RAISE[case]
    with pytest.raises(NoDensityError, match=words):
        build()


def test_joint_densities_of_dependent_variables_are_conditional():
    m = Normal.dist(0.3, 1.0)
    child = Normal.dist(2 * m, 0.5)
    factors = conditional_logp({m: 0.2, tt.exp(child): 1.5})
    normal = lambda v, mu, s: -0.5 * ((v - mu) / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)
    got = [factor.eval() for factor in factors.values()]
    np.testing.assert_allclose(got, [normal(0.2, 0.3, 1.0), normal(np.log(1.5), 0.4, 0.5) - np.log(1.5)], rtol=1e-12)
    np.testing.assert_allclose(logp(tt.stack([m, child]), np.array([0.2, 0.7])).eval().sum(),
                               normal(0.2, 0.3, 1.0) + normal(0.7, 0.4, 0.5), rtol=1e-12)  # fmt: skip


def test_terms_by_values_as_in_pymc():
    """`pm.conditional_logp` has the values as keys, knows laws of sums, and tells what it cannot tell apart."""
    variance, v, y = pm.InverseGamma.dist(2.0, 1.0), tt.dscalar("v"), tt.dscalar("y")
    terms = pm.conditional_logp({variance: v, Normal.dist(0.0, tt.sqrt(variance)): y})
    assert list(terms) == [v, y]
    got = [term.eval({v: 0.5, y: 0.7}) for term in terms.values()]
    expected = [stats.invgamma.logpdf(0.5, 2.0), stats.norm.logpdf(0.7, 0.0, 0.5**0.5)]
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    (term,) = pm.conditional_logp({Normal.dist(1.0, 3.0) + Normal.dist(2.0, 4.0): y}).values()
    np.testing.assert_allclose(term.eval({y: 3.0}), stats.norm.logpdf(3.0, 3.0, 5.0), rtol=1e-12)
    whole = tt.lscalar("whole")  # stays the key, and counts as a float
    assert list(pm.conditional_logp({Normal.dist(0.0, 1.0): whole})) == [whole]
    with pytest.warns(UserWarning, match="have no value"):
        pm.conditional_logp({Normal.dist(Normal.dist(0.0, 1.0, name="a"), 1.0): y})
    with pytest.raises(ValueError, match="two expressions have the same value"):
        pm.conditional_logp({Normal.dist(0.0, 1.0): y, Normal.dist(1.0, 1.0): y})
    with pytest.raises(TypeError, match="the keys are random variables"):
        pm.conditional_logp({"x": y})
    import ppl.logprob
    import ppl.logprob.basic

    assert ppl.logprob.conditional_logp is ppl.logprob.basic.conditional_logp is pm.conditional_logp


MANY_VALUES = {
    "largest": (lambda: tt.max(y), 0),
    "smallest of rows": (lambda: tt.min(Gamma.dist(2.0, np.ones((2, 3))), axis=1), 1),
    "running sums": (lambda: tt.cumsum(y), 1),
    "running sums of columns": (lambda: tt.cumsum(Normal.dist(np.zeros((3, 2)), 1.0), axis=0), 2),
    "stacked": (lambda: tt.stack([x, Normal.dist(x, 2.0)]), 1),
    "joined": (lambda: tt.concatenate([y, Normal.dist(np.ones(2), 2.0)]), 1),
    "transposed": (lambda: tt.transpose(Normal.dist(np.zeros((3, 2)), 1.0)), 2),
    "sorted": (lambda: tt.sort(y), 1),
    "a matrix times a vector": (lambda: tt.matmul(np.array([[2.0, 0, 0], [1, 1, 0], [0, 0, 3]]), y), 1),
    "a function of the largest": (lambda: tt.exp(2 * tt.max(y)), 0),
}


@pytest.mark.parametrize("case", MANY_VALUES)
@pytest.mark.parametrize("fact", [logp, logcdf, icdf])
def test_many_values_at_once_are_scored_one_by_one(case, fact):
    """Each along the first axis; what has no such fact says so for one value and for many."""
    make, ndim = MANY_VALUES[case]
    expression = make()
    assert expression.ndim == ndim
    values = np.sort(np.random.default_rng(1).random((4, *expression.type.shape)), axis=-1)
    try:
        alone = [fact(expression, v).eval() for v in values]
    except NoDensityError:
        with pytest.raises(NoDensityError):
            fact(expression, values)
        return
    np.testing.assert_allclose(fact(expression, values).eval(), np.stack(alone), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "value", "words"),
    [
        (lambda: y, np.zeros(4), r"Normal draw has the shape \(3,\); a value of the shape \(4,\) does not fit"),
        (lambda: tt.cumsum(y), np.zeros(4), r"cumsum\(Normal draw\) has the shape \(3,\)"),
        (lambda: tt.sort(y), 0.5, "whose last axis makes up one value"),
        (lambda: d.MvNormal.dist(np.zeros(3), np.eye(3)), np.zeros(2), "whose last axis makes up one value"),
        (lambda: d.Wishart.dist(5, np.eye(3)), np.eye(2), "whose last 2 axes make up one value"),
    ],
)
def test_a_value_of_another_shape_is_refused(make, value, words):
    with pytest.raises(ValueError, match=words):
        logp(make(), value)


def test_sorted_entries_have_n_factorial_times_the_product():
    v = np.array([-0.5, 0.1, 0.9])
    alone = Normal.log_density(v, *y.parameters).eval().sum()
    np.testing.assert_allclose(logp(tt.sort(y), v).eval(), np.log(6) + alone, rtol=1e-12)
    assert logp(tt.sort(y), v[::-1].copy()).eval() == -np.inf


def test_matrix_times_vector_of_normals():
    a = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [0.5, 0.0, 2.0]])
    v = np.array([0.3, -0.2, 1.0])
    mv = d.MvNormal.dist(np.zeros(3), a @ a.T)
    np.testing.assert_allclose(
        logp(tt.matmul(a, y), v).eval(), mv.family.log_density(v, *mv.parameters).eval(), rtol=1e-10
    )


def test_other_random_variables_in_a_derived_density_are_warned_of():
    z = Normal.dist(x, 1.0)
    with pytest.warns(UserWarning, match="found in the derived graph"):
        logp(tt.exp(z), 1.0)
    with pytest.warns(UserWarning, match=r"\(Normal draw\) were found in the derived graph of Normal draw"):
        logp(z, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logp(tt.exp(z), 1.0, warn_rvs=False)
        logp(z, 1.0, warn_rvs=False)
        with pm.Model():
            logp(Normal.dist(pm.Normal("mu"), 1.0), 1.0)
        logp(tt.exp(Normal.dist(0, 1)), tt.exp(x))


def test_what_is_not_random_has_no_density():
    with pytest.raises(TypeError, match="depends on no draw"):
        logp(tt.as_tensor(1.0) + 2, 1.0)
    with pytest.raises(TypeError, match="random expression"):
        logp(1.0, 1.0)


def test_a_draw_used_twice_is_one_draw_when_terms_are_collected():
    x, at = d.Normal.dist(0.0, 1.0), np.linspace(-3, 3, 7)
    got, want = pm.logp(x + 2 * x, at), logp(d.Normal.dist(0.0, 3.0), at)
    np.testing.assert_allclose(got.eval(), want.eval(), rtol=1e-13)


N = tt.iscalar("n")
OF_A_SIZE = {
    "a draw": (lambda size: d.Normal.dist(0.0, 1.0, size=size), ()),
    "a map of a draw": (lambda size: tt.arctan(d.Normal.dist(0.0, 1.0, size=size)), ()),
    "a law by a rule": (lambda size: tt.exp(d.Normal.dist(0.0, 1.0, size=size)), ()),
    "a vector": (lambda size: d.MvNormal.dist(np.zeros(2), np.eye(2), size=size), (2,)),
    "a mixture": (lambda size: d.Mixture.dist([0.5, 0.5], d.Normal.dist([0.0, 1.0], 1.0), size=size), ()),
    "a user's law": (lambda size: d.CustomDist.dist(0.0, logp=lambda x, m: -((x - m) ** 2), size=size), ()),
}


@pytest.mark.parametrize("size", [3, (2, 3), N, (2, N)], ids=str)
@pytest.mark.parametrize("kind", OF_A_SIZE)
def test_each_of_the_draws_that_were_asked_for_has_its_number(kind, size):
    make, event = OF_A_SIZE[kind]
    rv, shape = make(size), (2, 3) if isinstance(size, tuple) else (3,)
    given = {N: 3} if any(n is N for n in (size if isinstance(size, tuple) else (size,))) else {}
    for f in (pm.logp,) if kind in ("a vector", "a user's law") else (pm.logp, pm.logcdf, pm.logccdf, pm.icdf):
        one, full = (f(rv, np.full(form, 0.4)).eval(given) for form in (event, (*shape, *event)))
        assert one.shape == shape
        np.testing.assert_array_equal(one, full)
    many = np.full((5, *(1,) * len(shape), *event), 0.4)
    assert pm.logp(rv, many).eval(given).shape == (5, *shape)


def test_a_value_of_one_entry_may_stand_for_all():
    value = tt.dvector("value")
    density = logp(d.Normal.dist(0.0, 1.0, size=N), value)
    assert density.eval({N: 3, value: [1.0]}).shape == density.eval({N: 3, value: [1.0, 2.0, 3.0]}).shape == (3,)
    draws = d.Normal.dist(0.0, 1.0, size=3)
    (factor,) = d.conditional_logp({draws: 1.0}).values()
    np.testing.assert_array_equal(factor.eval(), logp(draws, np.ones(3)).eval())


def test_sizes_agree_with_pymc(pymc5):
    for value in (5.0, [5.0], np.zeros((3, 1))):
        theirs = pymc5.logp(pymc5.Normal.dist(size=2), value).eval()
        np.testing.assert_allclose(pm.logp(d.Normal.dist(size=2), value).eval(), theirs, rtol=1e-12)


def test_a_constant_beside_draws_is_itself():
    joined = tt.stack([Normal.dist(), tt.constant(0.5), Gamma.dist(2.0, 1.0)])
    wanted = [stats.norm.logpdf(1.0), 0.0, stats.gamma.logpdf(2.0, 2.0)]
    np.testing.assert_allclose(logp(joined, [1.0, 0.5, 2.0]).eval(), wanted)
    assert logp(joined, [1.0, 0.6, 2.0]).eval()[1] == -np.inf


def test_vectors_joined_end_to_end_have_the_density_of_all():
    joined = tt.concatenate([d.MvNormal.dist(np.zeros(2), np.eye(2)), Normal.dist(0.0, 2.0, size=3)])
    at = np.array([1.0, 0.5, 0.2, -1.0, 3.0])
    wanted = stats.norm.logpdf(at[:2]).sum() + stats.norm.logpdf(at[2:], 0, 2).sum()
    np.testing.assert_allclose(logp(joined, at).eval(), wanted)


def test_axes_are_shuffled_by_a_list_of_them():
    x = Normal.dist(size=(2, 3))
    assert x.dimshuffle((1, "x", 0)).type.shape == x.dimshuffle(1, "x", 0).type.shape == (3, 1, 2)
