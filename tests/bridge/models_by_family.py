"""A small model for each family, transform, op and feature of PyMC: functions of (pm, pt) run in a model's block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MODELS: dict[str, Callable[[Any, Any], Any]] = {}
RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=12).round(3), RNG.normal(size=12).round(3)
POSITIVE, UNIT = np.exp(X).round(3), (1 / (1 + np.exp(-Y))).round(3)
COUNTS, GROUPS = RNG.poisson(3, 12), np.repeat(np.arange(4), 3)
ROWS = RNG.normal(size=(5, 3)).round(3)
COV = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, -0.2], [0.1, -0.2, 0.7]])
W = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
# Log-densities that differ from PyMC's by a constant, which no posterior sees; see tests/test_against_pymc.py.
BY_A_CONSTANT = {"lkj_cholesky", "lkj_packed", "lkj_correlation", "car"}


def model(build: Callable[[Any, Any], Any]) -> Any:
    MODELS[build.__name__] = build
    return build


def one(name: str, build: Callable[[Any], Any]) -> None:
    """A model of one latent variable, which scalar data follow."""

    def whole(pm: Any, pt: Any) -> None:
        x = build(pm)
        pm.Normal("y", pt.sum(pt.as_tensor(x)), 1.5, observed=Y)

    MODELS[name] = whole


def seen(name: str, build: Callable[[Any, Any, Any], Any]) -> None:
    """A model of data by one family, whose location and scale are latent."""

    def whole(pm: Any, pt: Any) -> None:
        build(pm, pm.Normal("m", 0.3, 0.4), pm.HalfNormal("s", 1.3))

    MODELS[name] = whole


# --- priors -----------------------------------------------------------------------------------------------------------
one("normal", lambda pm: pm.Normal("x", 1.2, 2.3))
one("normal_tau", lambda pm: pm.Normal("x", 1.2, tau=2.3, shape=3))
one("half_normal", lambda pm: pm.HalfNormal("x", 2.3))
one("half_normal_tau", lambda pm: pm.HalfNormal("x", tau=2.3))
one("log_normal", lambda pm: pm.LogNormal("x", 0.3, 0.4))
one("truncated_normal", lambda pm: pm.TruncatedNormal("x", 0.3, 1.4, lower=-1.0, upper=2.5))
one("truncated_normal_below", lambda pm: pm.TruncatedNormal("x", 0.3, 1.4, lower=-1.0, shape=2))
one("truncated_normal_above", lambda pm: pm.TruncatedNormal("x", 0.3, 1.4, upper=2.5))
one("skew_normal", lambda pm: pm.SkewNormal("x", alpha=-2.0, mu=0.3, sigma=1.4))
one("uniform", lambda pm: pm.Uniform("x", -1.5, 2.5))
one("flat", lambda pm: pm.Flat("x"))
one("half_flat", lambda pm: pm.HalfFlat("x"))
one("exponential", lambda pm: pm.Exponential("x", 0.7))
one("exponential_scale", lambda pm: pm.Exponential("x", scale=0.7))
one("gamma", lambda pm: pm.Gamma("x", 2.5, 1.7))
one("gamma_mean", lambda pm: pm.Gamma("x", mu=2.5, sigma=1.7))
one("inverse_gamma", lambda pm: pm.InverseGamma("x", 2.5, 1.7))
one("inverse_gamma_mean", lambda pm: pm.InverseGamma("x", mu=2.5, sigma=1.7))
one("beta", lambda pm: pm.Beta("x", 2.5, 1.7))
one("beta_mean", lambda pm: pm.Beta("x", mu=0.3, nu=7.0))
one("beta_deviation", lambda pm: pm.Beta("x", mu=0.3, sigma=0.2))
one("kumaraswamy", lambda pm: pm.Kumaraswamy("x", 2.5, 1.7))
one("cauchy", lambda pm: pm.Cauchy("x", 0.3, 1.7))
one("half_cauchy", lambda pm: pm.HalfCauchy("x", 1.7))
one("student_t", lambda pm: pm.StudentT("x", 4.0, mu=0.3, sigma=1.7))
one("half_student_t", lambda pm: pm.HalfStudentT("x", 4.0, 1.7))
one("skew_student_t", lambda pm: pm.SkewStudentT("x", a=2.0, b=3.0, mu=0.3, sigma=1.2))
one("laplace", lambda pm: pm.Laplace("x", 0.3, 1.7, initval=0.5))
one("asymmetric_laplace", lambda pm: pm.AsymmetricLaplace("x", kappa=1.3, mu=0.3, b=1.7, initval=0.7))
one("logistic", lambda pm: pm.Logistic("x", 0.3, 1.7))
one("logit_normal", lambda pm: pm.LogitNormal("x", 0.3, 1.7))
one("gumbel", lambda pm: pm.Gumbel("x", 0.3, 1.7))
one("moyal", lambda pm: pm.Moyal("x", 0.3, 1.7))
one("pareto", lambda pm: pm.Pareto("x", 2.5, 1.7))
one("rice", lambda pm: pm.Rice("x", 2.5, 1.7))
one("rice_b", lambda pm: pm.Rice("x", b=1.2, sigma=1.7))
one("triangular", lambda pm: pm.Triangular("x", lower=-1.0, c=0.3, upper=2.0, initval=0.5))
one("von_mises", lambda pm: pm.VonMises("x", 0.3, 2.7))
one("wald", lambda pm: pm.Wald("x", 1.3, 2.7))
one("wald_shifted", lambda pm: pm.Wald("x", 1.3, 2.7, alpha=0.2, initval=1.9))
one("weibull", lambda pm: pm.Weibull("x", 1.3, 2.7))
one("ex_gaussian", lambda pm: pm.ExGaussian("x", mu=0.3, sigma=1.2, nu=2.7))
one("chi_squared", lambda pm: pm.ChiSquared("x", 5.5))
one("interpolated", lambda pm: pm.Interpolated("x", np.linspace(-2, 2, 9), np.exp(-(np.linspace(-2, 2, 9) ** 2))))
one("dirichlet", lambda pm: pm.Dirichlet("x", np.array([1.5, 2.5, 0.7]))[:2])
one("dirichlet_rows", lambda pm: pm.Dirichlet("x", np.ones(3) * 1.2, shape=(2, 3))[:, 0])
one("stick_breaking_weights", lambda pm: pm.StickBreakingWeights("x", 1.7, K=4)[1])
one("mv_normal", lambda pm: pm.MvNormal("x", np.arange(3.0), COV))
one("mv_normal_tau", lambda pm: pm.MvNormal("x", np.arange(3.0), tau=COV))
one("mv_normal_chol", lambda pm: pm.MvNormal("x", np.arange(3.0), chol=np.linalg.cholesky(COV)))
one("mv_normal_rows", lambda pm: pm.MvNormal("x", np.zeros(3), COV, shape=(4, 3)))
one("mv_student_t", lambda pm: pm.MvStudentT("x", nu=4.0, mu=np.zeros(3), scale=COV))
one("matrix_normal", lambda pm: pm.MatrixNormal("x", mu=np.zeros((2, 3)), rowcov=COV[:2, :2], colcov=COV))
one("kronecker_normal", lambda pm: pm.KroneckerNormal("x", mu=np.zeros(6), covs=[COV[:2, :2], COV], sigma=0.3))
one("zero_sum_normal", lambda pm: pm.ZeroSumNormal("x", 1.7, shape=4)[:2])
one("zero_sum_normal_axes", lambda pm: pm.ZeroSumNormal("x", 1.7, n_zerosum_axes=2, shape=(2, 3, 4))[0, 0, 0])
one("car", lambda pm: pm.CAR("x", np.zeros(4), W, 0.4, 1.7))
one("icar", lambda pm: pm.ICAR("x", W))
one("icar_scaled", lambda pm: pm.ICAR("x", W, sigma=pm.HalfNormal("scale"), zero_sum_stdev=0.01))
one("lkj_correlation", lambda pm: pm.LKJCorr("x", n=3, eta=2.0))
one(
    "gaussian_random_walk", lambda pm: pm.GaussianRandomWalk("x", 0.1, 0.7, init_dist=pm.Normal.dist(0.2, 2.0), steps=5)
)
one("random_walk_shape", lambda pm: pm.GaussianRandomWalk("x", 0.1, 0.7, init_dist=pm.Normal.dist(0, 2), shape=(3, 6)))
one("garch", lambda pm: pm.GARCH11("x", 0.5, 0.2, 0.3, 1.2, steps=5))


@model
def wishart(pm, pt):
    scale = pm.HalfNormal("scale")  # a free Wishart matrix is moved off the symmetric matrices, where it has no density
    pm.Wishart("x", nu=5, V=COV * scale, observed=COV * 3)


@model
def lkj_cholesky(pm, pt):
    chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.3), compute_corr=True)
    pm.MvNormal("x", np.zeros(3), chol=chol, observed=ROWS)


@model
def lkj_packed(pm, pt):
    packed = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.HalfNormal.dist(np.ones(3)), compute_corr=False)
    chol = pm.expand_packed_triangular(3, packed)
    z = pm.Normal("z", shape=(4, 3))
    pm.Normal("y", pt.dot(z, chol.T)[GROUPS, 0], 1.0, observed=Y)


# --- data -------------------------------------------------------------------------------------------------------------
seen("seen_bernoulli", lambda pm, m, s: pm.Bernoulli("y", logit_p=m + s * X, observed=(Y > 0).astype(int)))
seen("seen_bernoulli_p", lambda pm, m, s: pm.Bernoulli("y", pm.math.sigmoid(m), observed=(Y > 0).astype(int)))
seen("seen_binomial", lambda pm, m, s: pm.Binomial("y", 20, logit_p=m + X, observed=COUNTS))
seen("seen_beta_binomial", lambda pm, m, s: pm.BetaBinomial("y", s, s + 1, n=20, observed=COUNTS))
seen("seen_poisson", lambda pm, m, s: pm.Poisson("y", pm.math.exp(m + X), observed=COUNTS))
seen("seen_negative_binomial", lambda pm, m, s: pm.NegativeBinomial("y", pm.math.exp(m), s, observed=COUNTS))
seen("seen_negative_binomial_p", lambda pm, m, s: pm.NegativeBinomial("y", n=3, p=pm.math.sigmoid(m), observed=COUNTS))
seen("seen_geometric", lambda pm, m, s: pm.Geometric("y", pm.math.sigmoid(m), observed=COUNTS + 1))
seen("seen_hyper_geometric", lambda pm, m, s: pm.HyperGeometric("y", N=40, k=20, n=15, observed=COUNTS))
seen("seen_discrete_uniform", lambda pm, m, s: pm.DiscreteUniform("y", 0, 12, observed=COUNTS))
seen("seen_discrete_weibull", lambda pm, m, s: pm.DiscreteWeibull("y", pm.math.sigmoid(m), s, observed=COUNTS))
seen("seen_categorical", lambda pm, m, s: pm.Categorical("y", logit_p=[m, s, 0.0, 1.0], observed=GROUPS))
seen("seen_categorical_p", lambda pm, m, s: pm.Categorical("y", pm.math.softmax([m, s, 0.2, 1.0]), observed=GROUPS))
seen(
    "seen_multinomial", lambda pm, m, s: pm.Multinomial("y", 9, pm.math.softmax([m, s, 0.5]), observed=[[2, 3, 4]] * 2)
)
seen(
    "seen_dirichlet_multinomial", lambda pm, m, s: pm.DirichletMultinomial("y", 9, [s, 1.0, 2.0], observed=[[2, 3, 4]])
)
seen(
    "seen_ordered_logistic",
    lambda pm, m, s: pm.OrderedLogistic("y", m * X, np.array([-1.0, 0.2, 1.0]), observed=GROUPS),
)
seen("seen_ordered_probit", lambda pm, m, s: pm.OrderedProbit("y", m * X, np.array([-1.0, 0.2, 1.0]), observed=GROUPS))
seen(
    "seen_ordered_multinomial",
    lambda pm, m, s: pm.OrderedMultinomial("y", m, np.array([-1.0, 0.5]), 9, observed=[2, 3, 4]),
)
seen(
    "seen_zero_inflated_poisson", lambda pm, m, s: pm.ZeroInflatedPoisson("y", 0.7, pm.math.exp(m + X), observed=COUNTS)
)
seen(
    "seen_zero_inflated_binomial",
    lambda pm, m, s: pm.ZeroInflatedBinomial("y", 0.7, 20, pm.math.sigmoid(m), observed=COUNTS),
)
seen(
    "seen_zero_inflated_nb",
    lambda pm, m, s: pm.ZeroInflatedNegativeBinomial("y", pm.math.sigmoid(m), 3.0, s, observed=COUNTS),
)
seen("seen_hurdle_poisson", lambda pm, m, s: pm.HurdlePoisson("y", pm.math.sigmoid(m), s + 1, observed=COUNTS))
seen("seen_hurdle_nb", lambda pm, m, s: pm.HurdleNegativeBinomial("y", 0.7, 2 + s, 1.3, observed=COUNTS))
seen("seen_hurdle_gamma", lambda pm, m, s: pm.HurdleGamma("y", 0.7, 2 + s, 1.3, observed=POSITIVE * (X > -0.5)))
seen("seen_hurdle_log_normal", lambda pm, m, s: pm.HurdleLogNormal("y", 0.7, m, s, observed=POSITIVE * (X > -0.5)))
seen(
    "seen_dirac",
    lambda pm, m, s: pm.Mixture("y", [0.3, 0.7], [pm.DiracDelta.dist(2), pm.Poisson.dist(s + 1)], observed=COUNTS),
)
seen("seen_asymmetric_laplace", lambda pm, m, s: pm.AsymmetricLaplace("y", kappa=1.3, mu=m, b=s, observed=Y))
seen("seen_weibull", lambda pm, m, s: pm.Weibull("y", s, pm.math.exp(m), observed=POSITIVE))
seen("seen_student", lambda pm, m, s: pm.StudentT("y", nu=s + 2, mu=m, lam=1.2, observed=Y))
seen("seen_interval", lambda pm, m, s: pm.Uniform("y", -4 - s, 4 + s, observed=Y))
seen("seen_mv_student", lambda pm, m, s: pm.MvStudentT("y", nu=4, mu=[m, m, m], scale=COV * s, observed=ROWS))
seen(
    "seen_truncated",
    lambda pm, m, s: pm.Truncated("y", pm.Gamma.dist(s + 1, 1.0), lower=0.1, upper=20.0, observed=POSITIVE),
)
seen("seen_truncated_count", lambda pm, m, s: pm.Truncated("y", pm.Poisson.dist(s + 2), lower=1, observed=COUNTS + 1))
seen(
    "seen_truncated_student",
    lambda pm, m, s: pm.Truncated("y", pm.StudentT.dist(4, mu=m, sigma=s), lower=-5, observed=Y),
)
seen(
    "seen_censored",
    lambda pm, m, s: pm.Censored("y", pm.Normal.dist(m, s), lower=-0.5, upper=0.5, observed=Y.clip(-0.5, 0.5)),
)
seen(
    "seen_censored_rows",
    lambda pm, m, s: pm.Censored(
        "y", pm.Weibull.dist(1.3, s), lower=None, upper=np.where(X > 0, 2.0, np.inf), observed=POSITIVE.clip(0, 2)
    ),
)
seen("seen_normal_mixture", lambda pm, m, s: pm.NormalMixture("y", [0.3, 0.7], [m, m + 1], s, observed=Y))
seen(
    "seen_mixture",
    lambda pm, m, s: pm.Mixture(
        "y", pm.math.softmax([m, s]), [pm.Normal.dist(m, s), pm.StudentT.dist(4, mu=m, sigma=2.0)], observed=Y
    ),
)
seen(
    "seen_mixture_one_law",
    lambda pm, m, s: pm.Mixture("y", [0.2, 0.3, 0.5], pm.Normal.dist([m, 1.0, 2.0], s), observed=Y),
)
seen(
    "seen_mixture_mv",
    lambda pm, m, s: pm.Mixture(
        "y", [0.2, 0.8], [pm.MvNormal.dist([m, m, 0.0], COV), pm.MvNormal.dist(np.zeros(3), 2 * COV)], observed=ROWS
    ),
)
seen(
    "seen_poisson_mixture",
    lambda pm, m, s: pm.Mixture("y", [0.2, 0.8], [pm.Poisson.dist(s), pm.Poisson.dist(s + 3)], observed=COUNTS),
)


# --- processes --------------------------------------------------------------------------------------------------------
@model
def ar1(pm, pt):
    rho = pm.Normal("rho", 0.2, 0.3)
    pm.AR("x", rho, sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(0, 2), shape=6)


@model
def ar2_with_constant(pm, pt):
    rho = pm.Normal("rho", 0.2, 0.3, shape=3)
    pm.AR("x", rho, sigma=1.2, init_dist=pm.Normal.dist(0, 2, size=2), constant=True, steps=10, observed=Y)


@model
def ar_batch(pm, pt):
    rho = pm.Normal("rho", 0.2, 0.3, shape=(3, 2))
    pm.AR("x", rho, sigma=1.2, init_dist=pm.Normal.dist(0, 2), shape=(3, 5))


@model
def ar_by_precision(pm, pt):
    pm.AR("x", [0.3, 0.2], tau=1.7, init_dist=pm.MvNormal.dist(np.zeros(2), COV[:2, :2]), steps=5)


@model
def random_walk_of_vectors(pm, pt):
    pm.MvGaussianRandomWalk("x", mu=np.ones(3) * 0.1, cov=COV, init_dist=pm.MvNormal.dist(np.zeros(3), COV), steps=4)


@model
def student_random_walk_of_vectors(pm, pt):
    pm.MvStudentTRandomWalk(
        "x", nu=5, mu=np.zeros(3), scale=COV, init_dist=pm.MvStudentT.dist(5, mu=np.zeros(3), scale=COV), steps=4
    )


@model
def random_walk_by_other_laws(pm, pt):
    pm.RandomWalk(
        "x",
        init_dist=pm.StudentT.dist(4, mu=0, sigma=1),
        innovation_dist=pm.Laplace.dist(0, 1.0),
        steps=5,
        initval=np.arange(6.0) ** 2,
    )


@model
def random_walk_with_latent_scale(pm, pt):
    s = pm.HalfNormal("s", 1.0, shape=2)
    pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, s), shape=(2, 7))


@model
def observed_random_walk(pm, pt):
    pm.GaussianRandomWalk("x", pm.Normal("m"), pm.HalfNormal("s"), init_dist=pm.Flat.dist(), observed=Y)


@model
def euler_maruyama(pm, pt):
    rate = pm.HalfNormal("rate")
    pm.EulerMaruyama("x", 0.1, lambda x, a: (-a * x, 0.5), (rate,), init_dist=pm.Normal.dist(0, 1), shape=6)


@model
def euler_maruyama_two_parameters(pm, pt):
    a, s = pm.HalfNormal("a"), pm.HalfNormal("s")
    pm.EulerMaruyama(
        "x",
        0.1,
        lambda x, a, s: (a * (1.0 - x), s * pt.sqrt(1.0 + x**2)),
        (a, s),
        init_dist=pm.Normal.dist(0, 1),
        observed=Y,
    )


# --- users' families --------------------------------------------------------------------------------------------------
@model
def custom_by_density(pm, pt):
    m = pm.Normal("m")
    logp = lambda value, mu, s: -0.5 * ((value - mu) / s) ** 2 - pt.log(s)
    pm.CustomDist("x", m, 1.5, logp=logp)
    pm.CustomDist("y", m, 1.5, logp=logp, random=lambda mu, s, rng, size: rng.normal(mu, s, size), observed=Y)


@model
def custom_by_density_of_vectors(pm, pt):
    m = pm.Normal("m", shape=3)
    logp = lambda value, mu: -0.5 * pt.sum((value - mu) ** 2, axis=-1)
    pm.CustomDist("y", m, logp=logp, signature="(n)->(n)", observed=ROWS)


@model
def custom_by_draws(pm, pt):
    m, s = pm.Normal("m"), pm.HalfNormal("s")
    pm.CustomDist("y", m, s, dist=lambda m, s, size: pm.math.exp(pm.Normal.dist(m, s, size=size)), observed=POSITIVE)


@model
def custom_latent_by_draws(pm, pt):
    m = pm.Normal("m")
    pm.CustomDist("x", m, dist=lambda m, size: 2.0 + 3.0 * pm.StudentT.dist(4, mu=m, sigma=1.0, size=size), shape=3)


@model
def custom_by_a_loop(pm, pt):
    import pytensor

    rho, s = pm.Normal("rho", 0.3, 0.1), pm.HalfNormal("s")

    def series(rho, s, size):
        def step(before, rho, s):
            x = pm.Normal.dist(rho * before, s)
            return x, pm.pytensorf.collect_default_updates([x])

        rows, _ = pytensor.scan(step, outputs_info=[pt.as_tensor(0.3)], non_sequences=[rho, s], n_steps=6, strict=True)
        return rows

    pm.CustomDist("y", rho, s, dist=series, ndim_supp=1, observed=Y[:6])


@model
def custom_with_both(pm, pt):
    m = pm.Normal("m")
    logp = lambda value, mu: -pt.abs(value - mu)
    pm.CustomDist("y", m, dist=lambda m, size: pm.Laplace.dist(m, 1.0, size=size), logp=logp, observed=Y)


@model
def density_of_a_term(pm, pt):
    m, s = pm.Normal("m"), pm.HalfNormal("s")
    pm.Potential("p", pm.logp(pm.Normal.dist(m, s), Y).sum())
    pm.Potential("q", pm.logcdf(pm.Normal.dist(m, s), 0.3))


# --- transforms -------------------------------------------------------------------------------------------------------
one(
    "ordered",
    lambda pm: pm.Normal("x", 0, 2, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.3, 1.1]),
)
one(
    "ordered_positive",
    lambda pm: pm.Exponential(
        "x", 1.0, shape=3, transform=pm.distributions.transforms.Ordered(), initval=[0.2, 0.9, 1.5]
    ),
)
one(
    "own_interval",
    lambda pm: pm.Normal("x", 0, 2, transform=pm.distributions.transforms.Interval(-3.0, 1.5), initval=0.2),
)
one(
    "own_interval_below",
    lambda pm: pm.Normal("x", 0, 2, transform=pm.distributions.transforms.Interval(-3.0, None), initval=0.2),
)
one("no_transform", lambda pm: pm.Gamma("x", 2.0, 1.0, transform=None, initval=1.2, default_transform=None))
one("other_default", lambda pm: pm.Gamma("x", 2.0, 1.0, default_transform=pm.distributions.transforms.log_exp_m1))
one(
    "sum_to_1",
    lambda pm: pm.Dirichlet(
        "x", np.ones(3) * 1.5, default_transform=pm.distributions.transforms.sum_to_1, initval=[0.2, 0.3, 0.5]
    )[0],
)
one("circular", lambda pm: pm.VonMises("x", 0.3, 2.7, default_transform=pm.distributions.transforms.circular))
one(
    "zero_sum",
    lambda pm: pm.Normal("x", 0, 2, shape=4, transform=pm.distributions.transforms.ZeroSumTransform([-1]))[:2],
)


@model
def interval_of_a_variable(pm, pt):
    m = pm.Normal("m")
    bounds = pm.distributions.transforms.Interval(bounds_fn=lambda rng, size, mu, sigma: (mu - 1, None))
    pm.Normal("x", m, 2, transform=bounds, initval=0.7)


@model
def chained_transforms(pm, pt):
    transforms = pm.distributions.transforms
    pm.Uniform(
        "x",
        0,
        10,
        shape=3,
        transform=transforms.Chain([transforms.Interval(0, 10), transforms.ordered]),
        default_transform=None,
        initval=[1.0, 4.0, 7.0],
    )


@model
def a_users_transform(pm, pt):
    class Cubed(pm.distributions.transforms.Transform):
        name = "cubed"

        def forward(self, value, *inputs):
            return pt.sign(value) * pt.abs(value) ** 3

        def backward(self, value, *inputs):
            return pt.sign(value) * pt.abs(value) ** (1 / 3)

        def log_jac_det(self, value, *inputs):
            return -2 / 3 * pt.log(pt.abs(value)) - pt.log(3.0)

    pm.Normal("x", 0, 2, transform=Cubed(), initval=0.8)
