"""Transforms that a user chooses, and those that laws of laws have: PyMC's, refused where they do not suit."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import stats

import ppl
import ppl as pm
from ppl.distributions.families.mixture import MixtureTransformWarning
from ppl.distributions.transforms import Interval, log, logodds, ordered, simplex
from ppl.model.conditioning import change_value_transforms
from ppl.model.prediction import restricted_priors

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def value_names(lib, write):
    """The names of the values of a model, and whether it warned of a mixture without a transform."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with lib.Model() as model:
            write(lib)
    warned = any(w.category.__name__ == "MixtureTransformWarning" for w in told)
    return [v.name for v in model.value_vars], warned, model


# --- refusals
@pytest.mark.parametrize("option", ["transform", "default_transform"])
def test_counts_have_no_transform(option):
    with pm.Model(), pytest.raises(ValueError, match='Transformations for discrete distributions: "x" is int64'):
        pm.Binomial("x", 5, 0.5, **{option: log})
    told = pytest.warns(UserWarning, match="default_transform=None") if option == "transform" else nullcontext()
    with pm.Model() as model, told:
        pm.Binomial("x", 5, 0.5, **{option: None})
    with pytest.raises(ValueError, match="Transformations for discrete distributions"):
        change_value_transforms(model, {"x": log})


@pytest.mark.parametrize("transform", [log, logodds, Interval(0.1, 0.9)], ids=str)
def test_entries_that_depend_on_each_other_are_not_moved_one_by_one(transform):
    text = f"Univariate transform {type(transform).__name__} cannot be applied to multivariate Dirichlet"
    with pm.Model(), pytest.raises(NotImplementedError, match=text):
        pm.Dirichlet("x", np.ones(3), transform=transform, default_transform=None)
    with pm.Model() as model:
        pm.Dirichlet("x", np.ones(3))
        pm.MvNormal("y", np.zeros(2), np.eye(2), transform=log)  # a density on the plane: each entry may be positive
    with pytest.raises(NotImplementedError, match=text):
        change_value_transforms(model, {"x": transform})
    found = model.compile_logp(vars=[model["y"]])({"x_simplex__": np.zeros(2), "y_log__": np.array([0.3, -0.2])})
    expected = stats.multivariate_normal(np.zeros(2)).logpdf(np.exp([0.3, -0.2])) + 0.1
    np.testing.assert_allclose(found, expected)


def test_bounds_come_from_parameters_only():
    with pm.Model():
        mu = pm.Normal("mu")
        with pytest.raises(ValueError, match='"x": the bounds of its transform use mu itself'):
            pm.Normal("x", mu, 1, default_transform=Interval(bounds_fn=lambda *parameters: (mu, None)))
        with pytest.raises(TypeError, match="bounds_fn is called with the 2 parameters of the law"):
            pm.Normal("x", mu, 1, default_transform=Interval(bounds_fn=lambda a, b, c: (a, None)))


# --- bounds of intervals
@pytest.mark.parametrize(
    "bounds",
    [
        lambda rng, size, mu, sigma: (mu - sigma, None),
        lambda *args: (args[2] - args[3], None),
        lambda mu, sigma: (mu - sigma, None),
    ],
)
def test_bounds_are_functions_of_parameters(bounds):
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("x", mu, 0.5, default_transform=Interval(bounds_fn=bounds))
    value = model.compile_logp(vars=[model["x"]])({"mu": np.array(0.7), "x_interval__": np.array(0.2)})
    np.testing.assert_allclose(value, stats.norm(0.7, 0.5).logpdf(0.2 + np.exp(0.2)) + 0.2)


def test_some_bounds_may_be_infinite(pymc5):
    lower, upper = np.array([-np.inf, 0.0, -np.inf, -1.0]), np.array([1.0, 2.0, np.inf, np.inf])
    point = {"x_interval__": np.array([0.3, -0.4, 0.2, -0.6])}

    def write(lib):
        with lib.Model() as model:
            lib.Truncated("x", lib.Normal.dist(0, 1), lower=lower, upper=upper)
        return model

    ours, theirs = write(pm), write(pymc5)
    np.testing.assert_allclose(ours.compile_logp()(point), theirs.compile_logp()(point), rtol=1e-6)
    np.testing.assert_allclose(ours.compile_dlogp()(point), theirs.compile_dlogp()(point), rtol=1e-6)
    transform, x = ours.rvs_to_transforms[ours["x"]], np.array([0.3, 0.4, -2.0, 0.6])
    parameters = ours["x"].parameters
    np.testing.assert_allclose(transform.backward(transform.forward(x, *parameters), *parameters).eval(), x)


# --- laws of laws
MIXTURES = {
    "equal": lambda lib: [lib.Uniform.dist(0, 1), lib.Uniform.dist(0, 1)],
    "unequal": lambda lib: [lib.Uniform.dist(0, 1), lib.Uniform.dist(0, 2)],
    "line and half": lambda lib: [lib.Normal.dist(), lib.HalfNormal.dist()],
    "positive": lambda lib: [lib.Gamma.dist(2, 1), lib.HalfNormal.dist()],
    "positive and counted from 0": lambda lib: [lib.Gamma.dist(2, 1), lib.Exponential.dist(1)],
    "above 0": lambda lib: [lib.TruncatedNormal.dist(0, 1, lower=0), lib.TruncatedNormal.dist(1, 2, lower=0)],
    "truncated": lambda lib: [lib.Truncated.dist(lib.Gamma.dist(a, 1), upper=3) for a in (1, 2)],
    "shares": lambda lib: [lib.Beta.dist(1, 2), lib.Beta.dist(2, 2)],
    "share and interval": lambda lib: [lib.Beta.dist(1, 2), lib.Uniform.dist(0, 1)],
    "angles": lambda lib: [lib.VonMises.dist(0, 1), lib.VonMises.dist(0, 2)],
    "triangle": lambda lib: [lib.Triangular.dist(lower=0, c=0.5, upper=1), lib.Uniform.dist(0, 1)],
    "counts": lambda lib: [lib.Poisson.dist(1), lib.Poisson.dist(2)],
}  # fmt: skip


@pytest.mark.parametrize("laws", MIXTURES.values(), ids=MIXTURES)
def test_mixtures_have_the_transform_that_their_components_share(pymc5, laws):
    write = lambda lib: lib.Mixture("x", [0.3, 0.7], laws(lib))
    (names, warned, ours), (theirs, told, model) = value_names(ppl, write), value_names(pymc5, write)
    assert (names, warned) == (theirs, told)
    point = {names[0]: np.array(0.4 if ours.value_vars[0].dtype[0] == "f" else 1)}
    np.testing.assert_allclose(ours.compile_logp()(point), model.compile_logp()(point), rtol=1e-6)


@pytest.mark.parametrize("upper, name", [(1.0, "x_interval__"), ([1.0, 1.0], "x_interval__"), ([1.0, 2.0], "x")])
def test_a_mixture_along_an_axis_has_the_bounds_that_are_the_same_along_it(upper, name):
    """PyMC takes bounds with the axis of the components, and a value of one number fails."""
    write = lambda lib: lib.Mixture("x", [0.3, 0.7], lib.Uniform.dist(0, upper, shape=2))
    names, warned, model = value_names(ppl, write)
    assert (names, warned) == ([name], name == "x")
    point, volume = (0.4, 0.0) if name == "x" else (1 / (1 + np.exp(-0.4)), stats.logistic.logpdf(0.4))
    density = 0.3 * stats.uniform(0, 1).pdf(point) + 0.7 * stats.uniform(0, np.max(upper)).pdf(point)
    np.testing.assert_allclose(model.compile_logp()({name: np.array(0.4)}), np.log(density) + volume)


@pytest.mark.parametrize("same", [True, False])
def test_mixtures_share_bounds_that_are_the_same_variable(pymc5, same):
    def write(lib):
        u, v = lib.HalfNormal("u"), lib.HalfNormal("v")
        lib.Mixture("x", [0.3, 0.7], [lib.Uniform.dist(0, u), lib.Uniform.dist(0, u if same else v)])

    (names, warned, ours), (theirs, told, model) = value_names(ppl, write), value_names(pymc5, write)
    assert (names, warned) == (theirs, told)
    assert (names[-1] == "x_interval__") is same
    point = {name: np.array(0.4) for name in names}
    np.testing.assert_allclose(ours.compile_logp()(point), model.compile_logp()(point), rtol=1e-6)


def test_a_mixture_warns_where_it_is_sampled_without_a_transform_only():
    laws = lambda: [pm.Uniform.dist(0, 1), pm.Uniform.dist(0, 2)]
    with pm.Model():
        with pytest.warns(MixtureTransformWarning, match='Mixture distribution "x"') as told:
            pm.Mixture("x", [0.3, 0.7], laws())
        assert told[0].filename == __file__
        pm.Mixture("y", [0.3, 0.7], laws(), default_transform=None)
        pm.Mixture("z", [0.3, 0.7], laws(), observed=0.5)
        pm.Mixture.dist([0.3, 0.7], laws())


TRUNCATED = {
    "gamma below 3": lambda lib: lib.Truncated("x", lib.Gamma.dist(2, 1), upper=3),
    "gamma above 1": lambda lib: lib.Truncated("x", lib.Gamma.dist(2, 1), lower=1),
    "beta": lambda lib: lib.Truncated("x", lib.Beta.dist(2, 3), lower=-1, upper=0.5),
    "normal": lambda lib: lib.Truncated("x", lib.Normal.dist(0, 1), lower=-1, upper=2),
}


@pytest.mark.parametrize("write", TRUNCATED.values(), ids=TRUNCATED)
def test_points_of_truncated_laws_mean_what_they_mean_in_pymc(pymc5, write):
    (names, _, ours), (theirs, _, model) = value_names(ppl, write), value_names(pymc5, write)
    assert names == theirs == ["x_interval__"]
    for value in (-0.7, 0.3, 2.0):
        point = {"x_interval__": np.array(value)}
        np.testing.assert_allclose(ours.compile_logp()(point), model.compile_logp()(point), rtol=1e-6, atol=1e-6)
        assert np.isfinite(ours.compile_dlogp()(point)).all()


def test_a_truncated_law_is_sampled_between_the_ends_of_its_support():
    with pm.Model() as model:
        x = pm.Truncated("x", pm.Gamma.dist(0.7, 1), upper=3)
        pm.Normal("y", x, 1, observed=0.1)
        found = pm.sample(1000, tune=500, chains=2, progressbar=False, random_seed=1, nuts={"target_accept": 0.9})
    assert "x is moved between the bounds of its support" in str(pm.explain(model))
    assert not found.sample_stats["diverging"].any()
    grid = np.linspace(0, 3, 300_001)[1:]
    weight = stats.gamma(0.7).pdf(grid) * stats.norm(grid, 1).pdf(0.1)
    assert abs(found.posterior["x"].mean() - np.sum(grid * weight) / np.sum(weight)) < 0.08


def test_a_wishart_that_is_left_to_a_sampler_is_warned_of():
    with pm.Model():
        w = pm.Wishart("w", 4, np.eye(2))
        pm.Normal("y", w[0, 0], 1, observed=1.0)
        text = '"w": the Wishart distribution cannot be used for MCMC sampling'
        with pytest.raises(pm.exceptions.SamplingError), pytest.warns(UserWarning, match=text) as told:
            pm.sample(5, tune=5, chains=1, progressbar=False)
        assert told[0].filename == __file__


# --- what follows from restricted laws
def test_starts_lie_in_the_image_of_a_transform():
    with pm.Model() as model:
        pm.Normal("a", 0, 1, shape=3, transform=ordered)
        pm.Normal("b", 0, 1, transform=Interval(1, 3))
        pm.Normal("c", 2, 1, transform=Interval(1, 4))
        pm.Normal("d", 0, 1, transform=Interval(1, 3), initval=1.5)
    point = model.initial_point()
    np.testing.assert_allclose(point["a_ordered__"], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(
        [point["b_interval__"], point["c_interval__"], point["d_interval__"]], [0, -np.log(2), -np.log(3)]
    )


def prior_of(write, draws=2000):
    with pm.Model() as model:
        write()
    return pm.sample_prior_predictive(draws, model, random_seed=4)


@pytest.mark.parametrize("mu", [0.0, np.zeros(3), np.array([-1.0, 0.0, 1.5])], ids=["one", "alike", "different"])
def test_prior_draws_of_cutpoints_increase(mu):
    def write():
        cuts = pm.Normal("cuts", mu, 2.0, shape=3, transform=ordered, initval=[-1, 0, 1])
        pm.OrderedLogistic("y", 0.0, cuts, observed=[0, 1, 2, 3])

    found = prior_of(write)
    cuts = found.prior["cuts"].values[0]
    assert (np.diff(cuts) > 0).all()
    proposed = np.random.default_rng(0).normal(mu, 2.0, (200_000, 3))
    expected = proposed[(np.diff(proposed) > 0).all(axis=1)]
    np.testing.assert_allclose(cuts.mean(axis=0), expected.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(cuts.std(axis=0), expected.std(axis=0), atol=0.12)
    assert set(np.unique(found.prior_predictive["y"])) == {0, 1, 2, 3}


def test_prior_draws_are_of_the_restricted_law():
    def write():
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("x", mu, 1, transform=log)
        pm.Exponential("many", 1.0, shape=40, default_transform=Interval(0.5, 1.0))
        pm.HalfNormal("descending", 1.0, shape=2, transform=pm.distributions.transforms.Ordered(ascending=False))

    prior = prior_of(write).prior
    assert float(prior["x"].min()) > 0
    assert abs(float(prior["mu"].mean()) - 1 / np.sqrt(np.pi)) < 0.07  # told by x > 0, as in the joint density
    assert 0.5 <= float(prior["many"].min()) < float(prior["many"].max()) <= 1.0
    mean = stats.expon.expect(lb=0.5, ub=1.0, conditional=True)
    assert abs(float(prior["many"].mean()) - mean) < 0.005
    assert (prior["descending"][..., 0] > prior["descending"][..., 1]).all()


def test_a_restriction_that_is_never_met_is_told(monkeypatch):
    monkeypatch.setattr(restricted_priors, "MOST", 10_000)
    with pytest.raises(pm.exceptions.SamplingError, match=r'1.,... draws of the prior as written 0 lie where .* "x"'):
        prior_of(lambda: pm.Normal("x", 0, 1, shape=3, transform=simplex), 10)


def test_names_like_those_of_unconstrained_values_are_hidden():
    with pm.Model() as model:
        a = pm.Normal("a__")
        b = pm.Normal("b_log__", a, 1)
        pm.Normal("y", b, 1, observed=0.3)
        pm.Deterministic("twice_of_y__", 2 * b)
        options = {"draws": 10, "tune": 10, "chains": 1, "progressbar": False, "random_seed": 1}
        shown = pm.sample(**options, idata_kwargs={"log_prior": True})
        everything = pm.sample(**options, idata_kwargs={"include_transformed": True})
        asked = pm.sample(**options, var_names=["b_log__"])
    assert set(shown.posterior) == {"a__"}
    assert set(shown.log_prior) == {"a__", "b_log__"}
    assert {"a__", "b_log__", "twice_of_y__"} <= set(everything.posterior)
    assert set(asked.posterior) == {"b_log__"}
    assert set(pm.sample_prior_predictive(5, model).prior) == {"a__"}
    with pytest.raises(ValueError, match='the draws do not hold "b_log__", whose name looks like'):
        pm.sample_posterior_predictive(shown, model, progressbar=False)
    pm.sample_posterior_predictive(everything, model, progressbar=False)
