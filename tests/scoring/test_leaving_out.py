"""Points left out: by refits and by moved draws, through what ArviZ asks of a model."""

import warnings

import arviz as az
import numpy as np
import pytest
from scipy.stats import norm

import ppl as pm
from ppl.samplers import PROGRAMS

FAR = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 6.0])
QUIET = {"random_seed": 1, "quiet": True, "compute_convergence_checks": False}


def plain():
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 10), 1.0, observed=FAR)
    return model


def drawn(model, **options):
    kept = {"idata_kwargs": {"log_likelihood": True}}
    return pm.sample(1000, tune=500, chains=2, model=model, **kept, **QUIET, **options)


def exact(i):
    """log p(y_i | the others), in closed form."""
    rest = np.delete(FAR, i)
    variance = 1 / (len(rest) + 0.01)
    return norm(variance * rest.sum(), np.sqrt(1 + variance)).logpdf(FAR[i])


def test_reloo_refits_without_the_point():
    model = plain()
    draws = drawn(model)
    wrapper = pm.loo_wrapper(draws, model, draws=1000, chains=2, random_seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loo = az.loo(draws, pointwise=True)
        loo.pareto_k[:] = 1.0  # every point by a refit
        found = az.reloo(wrapper, loo_orig=loo, verbose=False)
    np.testing.assert_allclose(found.loo_i.values, [exact(i) for i in range(6)], atol=0.05, rtol=0.02)


def test_refits_share_their_programs():
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 10), pm.HalfNormal("sigma", 2)
        pm.StudentT("y", 4, mu, sigma, observed=FAR)
    wrapper = pm.loo_wrapper(drawn(model), model, draws=100, chains=2)
    wrapper.sample(0)
    before = PROGRAMS.compilations
    first, second = wrapper.sample(5), wrapper.sample(2)
    assert PROGRAMS.compilations == before
    assert float(first.posterior["mu"].mean()) < float(second.posterior["mu"].mean())


def groups():
    where = np.array([0, 0, 1, 1, 2, 2])
    with pm.Model() as model:
        a = pm.Normal("a", pm.Normal("m", 0, 2), pm.HalfNormal("tau", 1), shape=3)
        pm.Poisson("y", pm.math.exp(a[where]), observed=[1, 2, 0, 1, 4, 9])
    return model


def table():
    with pm.Model(coords={"row": range(3), "column": range(2)}) as model:
        a = pm.Normal("a", 0, 2, dims="row")
        pm.Bernoulli("y", logit_p=a[:, None] + np.array([0.0, 1.0]), observed=np.eye(3, 2), dims=("row", "column"))
    return model


def mixture():
    with pm.Model() as model:
        laws = [pm.Normal.dist(pm.Normal("m", 0, 1), 1.0), pm.Normal.dist(3.0, 1.0)]
        pm.Mixture("y", w=[0.4, 0.6], comp_dists=laws, observed=[0.1, 2.8, 3.3, -0.4])
    return model


def ordered():
    with pm.Model() as model:
        cuts = pm.Normal("cuts", [-1.0, 1.0], 1.0, transform=pm.distributions.transforms.ordered, initval=[-1.0, 1.0])
        pm.OrderedLogistic("y", eta=pm.Normal("eta", 0, 1, shape=4), cutpoints=cuts, observed=[0, 1, 2, 1])
    return model


def process():
    X = np.linspace(0, 2, 8)[:, None]
    with pm.Model() as model:
        gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 3, 3)))
        gp.marginal_likelihood("y", X=X, y=np.sin(3 * X[:, 0]), sigma=pm.HalfNormal("sigma", 0.5))
    return model


@pytest.mark.parametrize("build", [groups, table, mixture, ordered, process])
@pytest.mark.filterwarnings("ignore")
def test_the_density_without_a_point_is_that_of_the_model_less_its_term(build):
    """Of the model that refits use, at any point: log-density = that of the whole model - the point's own term."""
    model = build()
    draws = drawn(model) if build is process else pm.sample(
        30, tune=50, chains=1, model=model, idata_kwargs={"log_likelihood": True}, **QUIET)  # fmt: skip
    wrapper = pm.loo_wrapper(draws, model)
    upars = wrapper.upars[:, :20]
    for place in (0, 3):
        reduced = wrapper._without
        reduced.set_data("points that are left in", np.delete(np.arange(int(np.prod(wrapper._shape))), place))
        logp = reduced.compile_logp()
        gaps = []
        for chain, draw in ((0, 2), (0, 11)):
            point, at = {}, 0
            for slot in wrapper._path.slots:
                row = upars.values[chain, draw, slot.start : slot.stop].reshape(slot.shape)
                point[slot.variable.name] = row
                at = slot.stop
            assert at == upars.shape[-1]
            whole = float(wrapper.log_prob_upars(upars)[chain, draw])
            own = float(wrapper.log_lik_i_upars(upars, place)[chain, draw])
            gaps.append(float(logp(point)) - (whole - own))
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-6)
    scores = wrapper.log_lik_i_upars(wrapper.upars, 1).values
    kept = draws.log_likelihood["y"].values.reshape(*scores.shape, -1)[..., 1]
    np.testing.assert_allclose(scores, kept, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("build", "options", "error", "words"),
    [
        (lambda: pm.Normal("y", pm.Normal("mu")), {}, ValueError, "the model has none"),
        (lambda: [pm.Normal(n, pm.Normal(f"mu_{n}"), observed=[1.0, 2.0]) for n in "ab"], {}, ValueError, "say which"),
        (lambda: pm.Normal("y", pm.Normal("mu"), observed=[1.0]), {"var_name": "mu"}, ValueError, "no observed"),
        (lambda: pm.MvNormal("y", pm.Normal("mu", shape=2), np.eye(2), observed=[1.0, 2.0]), {}, NotImplementedError,
         "whose values are vectors"),
    ],
)  # fmt: skip
def test_what_cannot_be_left_out_is_refused(build, options, error, words):
    with pm.Model() as model:
        build()
        draws = pm.sample(20, tune=20, chains=1, **QUIET)
    with pytest.raises(error, match=words):
        pm.loo_wrapper(draws, model, **options)


def test_draws_without_the_variables_are_refused():
    model = plain()
    draws = az.from_dict(posterior={"other": np.zeros((1, 5))})
    with pytest.raises(KeyError, match="no values of mu"):
        pm.loo_wrapper(draws, model)
