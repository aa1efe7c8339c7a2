"""Models written once, for both packages: a model is a function of the package and its tensors, run in a model's block.

What PyMC says of them is kept in a file, so that every run compares and only the slow ones build them with PyMC.
`python tests/models_of_pymc.py` writes the file anew, for models that were changed or are new.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent / "golden" / "pymc_densities.json"
MODELS: dict[str, Any] = {}
RNG = np.random.default_rng(20)
X, Y = RNG.normal(size=12).round(3), RNG.normal(size=12).round(3)
COUNTS, GROUPS = RNG.poisson(3, 12), np.repeat(np.arange(4), 3)
W = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
COV = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, -0.2], [0.1, -0.2, 0.7]])


def model(build: Callable[[Any, Any], Any]) -> Any:
    MODELS[build.__name__] = build
    return build


# --- priors, each with its transform


@model
def priors_on_the_line(pm, pt):
    pm.Normal("normal", 1.0, 2.0)
    pm.StudentT("student", 4.0, 0.5, sigma=2.0)
    pm.Cauchy("cauchy", 0.0, 2.0)
    pm.Laplace("laplace", 1.0, 2.0)
    pm.Logistic("logistic", 1.0, 2.0)
    pm.Gumbel("gumbel", 1.0, 2.0)
    pm.SkewNormal("skew", mu=1.0, sigma=2.0, alpha=3.0)
    pm.ExGaussian("exgaussian", 1.0, 2.0, nu=3.0)
    pm.AsymmetricLaplace("alaplace", kappa=2.0, mu=1.0, b=0.5)
    pm.Moyal("moyal", 1.0, 2.0)
    pm.SkewStudentT("skew_student", a=2.0, b=3.0, mu=1.0, sigma=2.0)


@model
def positive_priors(pm, pt):
    pm.HalfNormal("half_normal", 2.0)
    pm.HalfCauchy("half_cauchy", 2.0)
    pm.HalfStudentT("half_student", 4.0, 2.0)
    pm.Exponential("exponential", 0.5)
    pm.Exponential("exponential_scale", scale=3.0)
    pm.Gamma("gamma", 2.0, 3.0)
    pm.Gamma("gamma_mu", mu=2.0, sigma=1.0)
    pm.InverseGamma("inverse_gamma", 2.0, 3.0)
    pm.InverseGamma("inverse_gamma_mu", mu=2.0, sigma=3.0)
    pm.LogNormal("log_normal", 1.0, 0.5)
    pm.Weibull("weibull", 2.0, 3.0)
    pm.ChiSquared("chi_squared", 3.0)
    pm.Rice("rice", 2.0, 1.0)


@model
def priors_above_a_bound(pm, pt):
    pm.Pareto("pareto", 2.0, 0.5)
    pm.Wald("wald", 1.0, 2.0)
    pm.Wald(
        "shifted_wald", mu=2.0, lam=1.0, alpha=0.5, default_transform=pm.distributions.transforms.log
    )  # in PyMC by default
    m = pm.HalfNormal("m", 1.0)
    pm.Pareto("moving", 2.0, m)


@model
def priors_between_bounds(pm, pt):
    pm.Beta("beta", 2.0, 3.0)
    pm.Beta("beta_mu", mu=0.3, sigma=0.1)
    pm.Beta("beta_nu", mu=0.3, nu=5.0)
    pm.Uniform("uniform", -1.0, 3.0)
    pm.Kumaraswamy("kumaraswamy", 2.0, 3.0)
    pm.LogitNormal("logit_normal", 0.5, 2.0, default_transform=pm.distributions.transforms.logodds)  # PyMC has none
    pm.Triangular("triangular", -1.0, 2.0, 0.5)
    pm.VonMises("von_mises", 0.5, 2.0)
    pm.TruncatedNormal("truncated", 1.0, 2.0, lower=-1.0, upper=2.0)


@model
def bounds_that_are_variables(pm, pt):
    low = pm.Normal("low", 0.0, 1.0)
    pm.Uniform("u", low, low + 2.0)
    pm.TruncatedNormal("t", 0.0, 1.0, lower=low)
    pm.TruncatedNormal("s", 0.0, 1.0, upper=low)


@model
def improper_priors(pm, pt):
    pm.Flat("flat", shape=2)
    pm.HalfFlat("half_flat")


@model
def discrete_priors(pm, pt):
    pm.Bernoulli("bernoulli", 0.3)
    pm.Bernoulli("bernoulli_logit", logit_p=0.3)
    pm.Binomial("binomial", 5, 0.3)
    pm.Poisson("poisson", 3.0)
    pm.Geometric("geometric", 0.3)
    pm.NegativeBinomial("negative_binomial", mu=3.0, alpha=2.0)
    pm.NegativeBinomial("negative_binomial_n", n=3.0, p=0.2)
    pm.BetaBinomial("beta_binomial", 2.0, 3.0, 5)
    pm.DiscreteUniform("discrete_uniform", -1, 4)
    pm.DiscreteWeibull("discrete_weibull", 0.5, 2.0)
    pm.HyperGeometric("hyper_geometric", 20, 7, 5)
    pm.Categorical("categorical", [0.2, 0.3, 0.5])
    pm.Categorical("categorical_logit", logit_p=[0.2, 0.3, 0.5])


@model
def precisions(pm, pt):
    tau = pm.Gamma("tau", 2.0, 2.0)
    pm.Normal("normal", 0.0, tau=tau)
    pm.HalfNormal("half", tau=tau)
    pm.LogNormal("log_normal", 0.0, tau=tau)
    pm.StudentT("student", 3.0, 0.0, lam=tau)


@model
def an_interpolated_prior(pm, pt):
    x = np.linspace(-2, 3, 40)
    pm.Interpolated("x", x, np.exp(-0.5 * x**2) + 0.05)


@model
def transforms_by_hand(pm, pt):
    transforms = pm.distributions.transforms
    pm.Normal("ordered", 0.0, 1.0, shape=3, transform=transforms.ordered, initval=[-1.0, 0.0, 1.0])
    pm.Normal("interval", 0.0, 1.0, transform=transforms.Interval(-1.0, 2.0))
    pm.Normal("above", 1.0, 1.0, transform=transforms.Interval(lower=0.0, upper=None), initval=1.0)
    pm.HalfNormal("plain", 1.0, default_transform=None, initval=1.0)
    pm.Gamma("log_exp_m1", 2.0, 2.0, transform=transforms.log_exp_m1, default_transform=None)
    pm.Normal("sum_to_1", 0.0, 1.0, shape=3, transform=transforms.sum_to_1, initval=[0.2, 0.3, 0.5])


@model
def ordered_positive_values(pm, pt):
    transforms = pm.distributions.transforms
    pm.Exponential("rates", 1.0, shape=3, transform=transforms.ordered, initval=[0.5, 1.0, 2.0])


# --- hierarchies and linear models


@model
def eight_schools(pm, pt):
    mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
    theta = pm.Normal("theta", mu, tau, shape=4)
    pm.Normal("y", theta, np.array([1.0, 2.0, 3.0, 4]), observed=Y[:4])


@model
def eight_schools_not_centred(pm, pt):
    mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
    theta = pm.Deterministic("theta", mu + tau * pm.Normal("eta", 0.0, 1.0, shape=4))
    pm.Normal("y", theta, np.array([1.0, 2.0, 3.0, 4]), observed=Y[:4])


@model
def varying_intercepts_and_slopes(pm, pt):
    a = pm.Normal("a", pm.Normal("mu_a", 0.0, 1.0), pm.HalfNormal("s_a", 1.0), shape=4)
    b = pm.Normal("b", pm.Normal("mu_b", 0.0, 1.0), pm.Exponential("s_b", 1.0), shape=4)
    pm.Normal("y", a[GROUPS] + b[GROUPS] * X, pm.HalfNormal("s", 1.0), observed=Y)


@model
def coords_and_dims(pm, pt):
    pm.modelcontext(None).add_coords({"group": list("abcd"), "row": np.arange(12)})
    a = pm.Normal("a", 0.0, 1.0, dims="group")
    index = pm.Data("index", GROUPS, dims="row")
    mu = pm.Deterministic("mu", a[index], dims="row")
    pm.Normal("y", mu, 1.0, observed=Y, dims="row")


@model
def two_dims(pm, pt):
    pm.modelcontext(None).add_coords({"group": list("abc"), "item": list("uvwx")})
    a = pm.Normal("a", 0.0, 1.0, dims=("group", "item"))
    pm.Normal("y", a, pm.HalfNormal("s", 1.0, dims="item"), observed=Y.reshape(3, 4), dims=("group", "item"))


@model
def robust_regression(pm, pt):
    a, b = pm.Normal("a", 0.0, 2.0), pm.Normal("b", 0.0, 2.0)
    pm.StudentT("y", nu=pm.Gamma("nu", 2.0, 0.1), mu=a + b * X, sigma=pm.HalfNormal("s", 2.0), observed=Y)


@model
def regression_by_matrix(pm, pt):
    design = np.column_stack([np.ones(12), X, X**2])
    beta = pm.Normal("beta", 0.0, 2.0, shape=3)
    pm.Normal("y", pt.dot(design, beta), pm.HalfNormal("s", 2.0), observed=Y)


@model
def logistic_regression(pm, pt):
    beta = pm.Normal("beta", 0.0, 1.0, shape=2)
    pm.Bernoulli("y", logit_p=beta[0] + beta[1] * X, observed=(Y > 0).astype(int))


@model
def logistic_regression_by_probability(pm, pt):
    beta = pm.Normal("beta", 0.0, 1.0, shape=2)
    pm.Bernoulli("y", p=pm.math.sigmoid(beta[0] + beta[1] * X), observed=Y > 0)


@model
def probit_regression(pm, pt):
    pm.Bernoulli("y", p=pm.math.invprobit(pm.Normal("a") + pm.Normal("b") * X), observed=Y > 0.0)


@model
def binomial_regression(pm, pt):
    pm.Binomial("y", n=np.full(12, 9), p=pm.math.invlogit(pm.Normal("a") + pm.Normal("b") * X), observed=COUNTS)


@model
def poisson_regression(pm, pt):
    pm.Poisson("y", pm.math.exp(pm.Normal("a") + pm.Normal("b") * X), observed=COUNTS)


@model
def negative_binomial_regression(pm, pt):
    mu = pm.math.exp(pm.Normal("a") + pm.Normal("b") * X)
    pm.NegativeBinomial("y", mu=mu, alpha=pm.Exponential("alpha", 1.0), observed=COUNTS)


@model
def softmax_regression(pm, pt):
    b = pm.Normal("b", 0.0, 1.0, shape=(2, 3))
    p = pm.math.softmax(np.column_stack([np.ones(12), X]) @ b, axis=1)
    pm.Categorical("y", p=p, observed=COUNTS % 3)


@model
def gamma_regression(pm, pt):
    mu = pm.math.exp(pm.Normal("a") + pm.Normal("b") * X)
    pm.Gamma("y", mu=mu, sigma=pm.HalfNormal("s", 1.0), observed=np.exp(Y))


@model
def beta_regression(pm, pt):
    mu = pm.math.invlogit(pm.Normal("a") + pm.Normal("b") * X)
    pm.Beta("y", mu=mu, nu=pm.Gamma("nu", 2.0, 0.5), observed=1 / (1 + np.exp(-Y)))


@model
def ordinal_logistic(pm, pt):
    transforms = pm.distributions.transforms
    cut = pm.Normal("cut", 0.0, 2.0, shape=3, transform=transforms.ordered, initval=[-1.0, 0.0, 1.0])
    pm.OrderedLogistic("y", eta=pm.Normal("b") * X, cutpoints=cut, observed=COUNTS % 4.0, compute_p=False)


@model
def ordinal_probit(pm, pt):
    transforms = pm.distributions.transforms
    cut = pm.Normal("cut", 0.0, 2.0, shape=3, transform=transforms.ordered, initval=[-1.0, 0.0, 1.0])
    pm.OrderedProbit("y", eta=pm.Normal("b") * X, cutpoints=cut, observed=COUNTS % 4.0, compute_p=False)


@model
def ordinal_with_probabilities(pm, pt):
    pm.OrderedLogistic("y", eta=pm.Normal("b") * X, cutpoints=np.array([-1.0, 0.5]), observed=COUNTS % 3.0)


# --- survival, censoring, truncation, missing values


@model
def censored_weibull(pm, pt):
    alpha, beta = pm.HalfNormal("alpha", 2.0), pm.HalfNormal("beta", 3.0)
    latent = pm.Weibull.dist(alpha, beta)
    pm.Censored("y", latent, lower=None, upper=1.5, observed=np.minimum(np.exp(Y), 1.5))


@model
def censored_on_both_sides(pm, pt):
    latent = pm.Normal.dist(pm.Normal("mu"), pm.HalfNormal("s", 1.0))
    pm.Censored("y", latent, lower=-1, upper=1, observed=np.clip(2 * Y, -1, 1))


@model
def censored_counts(pm, pt):
    pm.Censored("y", pm.Poisson.dist(pm.Gamma("mu", 2.0, 1.0)), lower=None, upper=4.0, observed=np.minimum(COUNTS, 4.0))


@model
def truncated_normal_by_hand(pm, pt):
    latent = pm.Normal.dist(pm.Normal("mu"), pm.HalfNormal("s", 1.0))
    pm.Truncated("y", latent, lower=-3, upper=3, observed=Y)


@model
def truncated_gamma(pm, pt):
    pm.Truncated("y", pm.Gamma.dist(pm.HalfNormal("a", 2.0), 1.0), lower=0.1, observed=np.exp(Y) + 0.1)


@model
def truncated_counts(pm, pt):
    pm.Truncated("y", pm.Poisson.dist(pm.Gamma("mu", 2.0, 1.0)), lower=1.0, upper=20.0, observed=COUNTS + 1.0)


@model
def a_truncated_prior(pm, pt):
    pm.Truncated("x", pm.StudentT.dist(nu=4.0, mu=0.0, sigma=1.0), lower=-1.0, upper=2.0)


@model
def survival_by_potential(pm, pt):
    rate = pm.Gamma("rate", 2.0, 1.0)
    pm.Exponential("y", rate, observed=np.exp(Y[:8]))
    pm.Potential("censored", -rate * np.exp(Y[8:]))


@model
def missing_values(pm, pt):
    y = np.where(np.arange(12) % 5 == 0, np.nan, Y)
    pm.Normal("y", pm.Normal("mu") + X, pm.HalfNormal("s", 1.0), observed=y)


@model
def missing_positive_values(pm, pt):
    y = np.ma.masked_where(np.arange(12) % 5 == 0, np.exp(Y))
    pm.Gamma("y", pm.HalfNormal("a", 1.0), pm.HalfNormal("b", 1.0), observed=y)


@model
def missing_counts(pm, pt):
    y = np.where(np.arange(12) % 5 == 0, np.nan, COUNTS)
    pm.Poisson("y", pm.Gamma("mu", 2.0, 1.0), observed=y)


@model
def missing_entries_of_vectors(pm, pt):
    mu, s = pm.Normal("mu", shape=2), pm.HalfNormal("s", 1.0)
    rows = np.where(np.arange(12) % 5 == 0, np.nan, Y).reshape(6, 2)
    pm.MvNormal("rows", mu, cov=np.array([[2.0, 0.5], [0.5, 1.0]]), observed=rows)
    pm.MvStudentT("heavy", nu=5.0, mu=mu, scale=np.array([[2.0, 0.5], [0.5, 1.0]]), observed=rows[:3])
    pm.MatrixNormal("table", pt.stack([mu, mu]), rowcov=np.eye(2) + 0.2, colcov=np.eye(2) + 0.3, observed=rows[:2])
    times = np.ma.masked_where(np.arange(12) % 4 == 0, Y)
    pm.GaussianRandomWalk("walk", mu=0.1, sigma=s, init_dist=pm.Normal.dist(0.0, 2.0), observed=times)
    pm.AR("back", pt.stack([mu[0], 0.3]), s, init_dist=pm.Normal.dist(0.0, 2.0), observed=times)
    parts = [pm.MvNormal.dist(mu, np.eye(2)), pm.MvNormal.dist(-mu, 2 * np.eye(2))]
    pm.Mixture("mixed", np.array([0.3, 0.7]), parts, observed=rows)


# --- mixtures


@model
def a_mixture_of_normals(pm, pt):
    w = pm.Dirichlet("w", np.ones(3))
    mu = pm.Normal("mu", np.array([-1, 0.0, 1]), 1.0, shape=3)
    pm.NormalMixture("y", w=w, mu=mu, sigma=pm.HalfNormal("s", 1.0, shape=3), observed=Y)


@model
def a_mixture_of_two_families(pm, pt):
    w = pm.Dirichlet("w", np.array([2.0, 3.0]))
    parts = [pm.Normal.dist(pm.Normal("mu"), 1.0), pm.StudentT.dist(nu=3.0, mu=0.0, sigma=pm.HalfNormal("s", 1.0))]
    pm.Mixture("y", w=w, comp_dists=parts, observed=Y)


@model
def a_mixture_of_counts(pm, pt):
    w = pm.Dirichlet("w", np.ones(2))
    pm.Mixture("y", w=w, comp_dists=pm.Poisson.dist(pm.Gamma("mu", 2.0, 1.0, shape=2)), observed=COUNTS)


@model
def a_latent_mixture(pm, pt):
    pm.NormalMixture("x", w=np.array([0.3, 0.7]), mu=np.array([-1.0, 2.0]), sigma=0.5)


@model
def a_mixture_of_vectors(pm, pt):
    parts = [pm.MvNormal.dist(np.zeros(3), COV), pm.MvNormal.dist(np.ones(3), np.eye(3))]
    pm.Mixture("y", w=pm.Dirichlet("w", np.ones(2)), comp_dists=parts, observed=Y.reshape(4, 3))


@model
def zero_inflation(pm, pt):
    psi, mu = pm.Beta("psi", 2.0, 2.0), pm.Gamma("mu", 2.0, 1.0)
    y = COUNTS * (X > 0)
    pm.ZeroInflatedPoisson("poisson", psi, mu, observed=y)
    pm.ZeroInflatedBinomial("binomial", psi, 10.0, pm.Beta("p", 2.0, 2.0), observed=y)
    pm.ZeroInflatedNegativeBinomial("negative", psi, mu=mu, alpha=pm.Exponential("alpha", 1.0), observed=y)


@model
def hurdles(pm, pt):
    psi, mu = pm.Beta("psi", 2.0, 2.0), pm.Gamma("mu", 2.0, 1.0)
    y = COUNTS * (X > 0)
    pm.HurdlePoisson("poisson", psi, mu, observed=y)
    pm.HurdleNegativeBinomial("negative", psi, mu=mu, alpha=pm.Exponential("alpha", 1.0), observed=y)
    pm.HurdleGamma("gamma", psi, mu, 1.0, observed=y * 0.7)
    pm.HurdleLogNormal("log_normal", psi, mu, 1.0, observed=y * 0.7)


@model
def a_mixture_by_hand(pm, pt):
    p, mu = pm.Beta("p", 2.0, 2.0), pm.Normal("mu", 0.0, 1.0, shape=2)
    each = [pm.math.log(w) + pm.logp(pm.Normal.dist(m, 1.0), Y) for w, m in ((p, mu[0]), (1 - p, mu[1]))]
    pm.Potential("y", pm.math.logaddexp(*each))


# --- time series


@model
def autoregression(pm, pt):
    rho = pm.Normal("rho", 0.0, 0.5, shape=2)
    pm.AR("y", rho, sigma=pm.HalfNormal("s", 1.0), init_dist=pm.Normal.dist(0.0, 10.0), observed=Y)


@model
def autoregression_with_a_constant(pm, pt):
    rho = pm.Normal("rho", 0.0, 0.5, shape=3)
    pm.AR("x", rho, sigma=0.5, constant=True, init_dist=pm.Normal.dist(0.0, 10.0, shape=2), steps=5)


@model
def random_walks(pm, pt):
    s = pm.HalfNormal("s", 1.0)
    pm.GaussianRandomWalk("x", mu=0.1, sigma=s, init_dist=pm.Normal.dist(0.0, 1.0), steps=5)
    pm.GaussianRandomWalk("y", sigma=s, init_dist=pm.Normal.dist(0.0, 10.0), observed=Y)


@model
def a_random_walk_with_other_steps(pm, pt):
    pm.RandomWalk(
        "x", init_dist=pm.Normal.dist(0.0, 1.0), innovation_dist=pm.StudentT.dist(nu=4.0, mu=0.0, sigma=0.5), steps=5
    )


@model
def a_random_walk_of_vectors(pm, pt):
    pm.MvGaussianRandomWalk("x", mu=np.zeros(3), cov=COV, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), steps=3)


@model
def stochastic_volatility(pm, pt):
    step = pm.Exponential("step", 10.0)
    h = pm.GaussianRandomWalk("h", sigma=step, init_dist=pm.Normal.dist(0.0, 10.0), shape=12)
    pm.StudentT("y", nu=pm.Exponential("nu", 0.1), mu=0.0, lam=pm.math.exp(-2 * h), observed=Y)


@model
def conditional_variance(pm, pt):
    pm.GARCH11(
        "y",
        omega=pm.HalfNormal("omega", 1.0),
        alpha_1=pm.Beta("alpha", 2.0, 5.0),
        beta_1=0.4,
        initial_vol=1.0,
        observed=Y,
    )


@model
def a_diffusion(pm, pt):
    sde = lambda x, lam: (lam * x, 0.5)
    pm.EulerMaruyama("x", 0.1, sde, (pm.HalfNormal("lam", 1.0),), init_dist=pm.Normal.dist(0.0, 1.0), steps=5)


# --- vectors and matrices


@model
def correlated_effects(pm, pt):
    chol, corr, stds = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
    ab = pm.MvNormal("ab", np.zeros(2), chol=chol, shape=(4, 2))
    pm.Normal("y", ab[GROUPS, 0] + ab[GROUPS, 1] * X, stds[0] + corr[0, 1] ** 2.0, observed=Y)


@model
def a_packed_covariance(pm, pt):
    packed = pm.LKJCholeskyCov("packed", n=3, eta=1.5, sd_dist=pm.HalfNormal.dist(2.0), compute_corr=False)
    chol = pm.expand_packed_triangular(3, packed, lower=True)
    pm.MvNormal("y", np.zeros(3), chol=chol, observed=Y.reshape(4, 3))


@model
def scales_of_several_kinds(pm, pt):
    pm.LKJCholeskyCov("chol", n=3, eta=1.0, sd_dist=pm.HalfNormal.dist(np.array([1.0, 2.0, 3.0])), store_in_trace=False)


@model
def a_correlation(pm, pt):
    pm.LKJCorr("corr", n=3, eta=2.0)


@model
def normal_vectors(pm, pt):
    mu = pm.MvNormal("mu", np.zeros(3), cov=COV)
    pm.MvNormal("tau", mu, tau=COV)
    pm.MvStudentT("student", nu=4.0, mu=mu, scale=COV)
    pm.MvNormal("y", mu, chol=np.linalg.cholesky(COV), observed=Y.reshape(4, 3))


@model
def vectors_on_the_simplex(pm, pt):
    pm.Dirichlet("a", np.array([1.0, 2.0, 3.0]))
    pm.Dirichlet("b", np.array([[1.0, 2.0], [3.0, 4.0]]))
    pm.StickBreakingWeights("sticks", alpha=2.0, K=3)


@model
def counts_in_classes(pm, pt):
    p = pm.Dirichlet("p", np.ones(3))
    pm.Multinomial("y", n=np.array([6, 4]), p=p, observed=np.array([[1, 2, 3], [0, 4, 0]]))
    pm.DirichletMultinomial("z", n=6, a=pm.HalfNormal("a", 1.0, shape=3), observed=np.array([1, 2, 3]))


@model
def vectors_that_sum_to_zero(pm, pt):
    pm.ZeroSumNormal("a", sigma=pm.HalfNormal("s", 1.0), shape=4)
    pm.ZeroSumNormal("b", sigma=2.0, n_zerosum_axes=2, shape=(3, 4))
    pm.ZeroSumNormal("c", sigma=2.0, shape=(3, 4))


@model
def areas(pm, pt):
    pm.CAR("car", mu=np.zeros(4), W=W, alpha=pm.Beta("alpha", 2.0, 2.0), tau=pm.Gamma("tau", 2.0, 2.0))
    pm.ICAR("icar", W=W, sigma=pm.HalfNormal("s", 1.0))


@model
def a_kronecker_product(pm, pt):
    pm.KroneckerNormal("y", np.zeros(6), covs=[COV, np.array([[1.0, 0.2], [0.2, 1.0]])], sigma=0.3, observed=Y[:6])


@model
def a_normal_matrix(pm, pt):
    pm.MatrixNormal("x", np.zeros((3, 2)), rowcov=COV, colcov=np.array([[1.0, 0.2], [0.2, 1.0]]))


# --- what users add


@model
def a_density_by_hand(pm, pt):
    mu = pm.Normal("mu")
    logp = lambda value, mu: -0.5 * (value - mu) ** 2 - 0.1 * (value - mu) ** 4
    pm.CustomDist("y", mu, logp=logp, observed=Y)
    pm.DensityDist("z", mu, logp=logp, observed=X)


@model
def a_law_by_hand(pm, pt):
    dist = lambda mu, sigma, size: pm.math.exp(pm.Normal.dist(mu, sigma, size=size))
    pm.CustomDist("y", pm.Normal("mu"), pm.HalfNormal("s", 1.0), dist=dist, observed=np.exp(Y))


@model
def a_latent_variable_with_a_density_by_hand(pm, pt):
    pm.CustomDist("x", 1.0, logp=lambda value, mu: -pm.math.abs(value - mu), shape=3)


@model
def potentials(pm, pt):
    x = pm.Normal("x", 0.0, 1.0, shape=3)
    pm.Potential("smooth", -0.5 * ((x[1:] - x[:-1]) ** 2).sum())
    pm.Potential("vector", -pm.math.abs(x))


@model
def a_soft_bound(pm, pt):
    a, b = pm.HalfNormal("a", 1.0), pm.HalfNormal("b", 1.0)
    pm.Potential("order", pm.math.switch(a < b, 0.0, -5.0))


@model
def functions_of_tensors(pm, pt):
    x = pm.Normal("x", 0.0, 1.0, shape=4)
    y = pt.concatenate([x[:2], pt.exp(x[2:])])
    z = pt.stack([y, pt.cumsum(y)]).sum(axis=0)
    pm.Normal("y", pt.where(z > 0.0, z, 0.1 * z), pt.sqrt(1 + pt.mean(x**2)), observed=Y[:4])


@model
def nested_models(pm, pt):
    pm.Normal("x")
    with pm.Model(name="inner"):
        a = pm.Normal("a", 0.0, 2.0)
        with pm.Model(name="most"):
            pm.HalfNormal("s", 1.0)
        pm.Normal("y", a, 1.0, observed=Y)


@model
def data_that_were_swapped(pm, pt):
    x = pm.Data("x", X)
    y = pm.Data("y", Y)
    pm.Normal("obs", pm.Normal("a") + pm.Normal("b") * x, 1.0, observed=y, shape=x.shape)
    pm.set_data({"x": X[:5], "y": Y[:5] + 1})


@model
def a_poisson_rate_that_switches(pm, pt):
    switch = pm.DiscreteUniform("switch", 0, 11)
    rate = pm.math.switch(switch >= np.arange(12), pm.Exponential("early", 1.0), pm.Exponential("late", 1.0))
    pm.Poisson("y", rate, observed=COUNTS)


@model
def a_part_of_the_data(pm, pt):
    pm.Normal("y", pm.Normal("mu"), 1.0, observed=Y, total_size=120)


@model
def indices_into_a_matrix(pm, pt):
    a = pm.Normal("a", 0.0, 1.0, shape=(4, 3))
    pm.Normal("y", a[GROUPS, COUNTS % 3] + a[:, 0].mean(), 1.0, observed=Y)


# --- what PyMC says

INCOMPLETE_GAMMA = {"censored_counts", "truncated_gamma", "truncated_counts", "hurdles"}
BOOKS = ("free_RVs", "observed_RVs", "value_vars", "deterministics", "potentials")


def built(package: Any, tensors: Any, build: Callable[[Any, Any], Any]) -> Any:
    with warnings.catch_warnings(), package.Model() as model:
        warnings.simplefilter("ignore")
        build(package, tensors)
    return model


def densities(model: Any) -> list[Any]:
    """The log-density, and one sum for each term."""
    named = [*model.basic_RVs, *model.potentials]
    return [model.logp(), *[part.sum() for part in model.logp(vars=named, sum=False)]]


def slopes(model: Any) -> list[Any]:
    return [model.dlogp()] if model.continuous_value_vars else []


def books(model: Any) -> dict[str, Any]:
    """The names of a model's variables, and their dims and shapes."""
    return {
        **{book: [v.name for v in getattr(model, book)] for book in BOOKS},
        "dims": {k: list(v) for k, v in model.named_vars_to_dims.items()},
        "shapes": {k: list(np.shape(v)) for k, v in model.initial_point().items()},
    }


def of_pymc(pymc: Any, name: str) -> tuple[Any, Any]:
    """PyMC's model, and its outputs as a function of a point."""
    import pytensor
    import pytensor.tensor as pt

    # By default PyTensor keeps 5 as an 8-bit integer and 5.0 in single precision, so that log(5) has seven digits;
    # but the slope of its incomplete gamma function can only be built so.
    exact = {"cast_policy": "numpy+floatX"}
    with pytensor.config.change_flags(**exact):
        model = built(pymc, pt, MODELS[name])
        values = densities(model)
    with pytensor.config.change_flags(**({} if name in INCOMPLETE_GAMMA else exact)):
        return model, model.compile_fn([*values, *slopes(model)], mode="FAST_COMPILE")


def told_by_pymc(pymc: Any, name: str, points: int) -> dict[str, Any]:
    """The books of a model, points about its start, and at each the density, its terms and its gradient."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, his = of_pymc(pymc, name)
        start, his_books = theirs.initial_point(), books(theirs)
    rng = np.random.default_rng(5)
    found = []
    for _ in range(points):
        at = {k: v + rng.uniform(-1, 1, np.shape(v)) if v.dtype.kind == "f" else v for k, v in start.items()}
        values = [np.asarray(value).tolist() for value in his(at)]
        found.append({"at": {k: np.asarray(v).tolist() for k, v in at.items()}, "values": values})
    return {"source": source_of(name), **his_books, "points": found}


def source_of(name: str) -> str:
    """Stands for the text of a model and the data of this module."""
    data = b"".join(value.tobytes() for value in globals().values() if isinstance(value, np.ndarray))
    return hashlib.sha256(inspect.getsource(MODELS[name]).encode() + data).hexdigest()[:16]


def kept() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def main() -> None:
    import pymc

    old = kept()
    fresh = {
        name: old[name] if old.get(name, {}).get("source") == source_of(name) else told_by_pymc(pymc, name, 3)
        for name in MODELS
    }
    lines = [f" {json.dumps(name)}: {json.dumps(each)}" for name, each in fresh.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
