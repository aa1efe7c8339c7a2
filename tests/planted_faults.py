"""Small models with one fault each: its kind, the variables that a report must name, and a word of its remedy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ppl as pm
import ppl.tensor as tt

RNG = np.random.default_rng(7)
N = 24
X, Z = RNG.normal(size=N), RNG.normal(size=N)
Y = 0.5 + X + 0.7 * RNG.normal(size=N)
GROUP = np.repeat(np.arange(4), 6)
ONE_HOT = np.eye(4)[GROUP]
BINARY = (RNG.random(N) < 0.5).astype(int)
COUNTS = RNG.poisson(3.0, N)
TWO_HUMPS = np.concatenate([RNG.normal(-2, 1, 12), RNG.normal(2, 1, 12)])


class Fault(NamedTuple):
    """A model, and what must be said of it."""

    build: Callable[[], Any]
    kind: str
    names: tuple[str, ...]
    remedy: str

    @property
    def name(self) -> str:
        return self.build.__name__

    def model(self) -> Any:
        with pm.Model() as model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.build()
        return found or model


FAULTS: list[Fault] = []


def fault(kind: str, names: str, remedy: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def keep(build: Callable[[], Any]) -> Callable[[], Any]:
        FAULTS.append(Fault(build, kind, tuple(names.split()), remedy))
        return build

    return keep


def noise() -> Any:
    return pm.HalfNormal("sigma", 1)


# --- parameters without influence


@fault("no influence", "b", "leave it out")
def a_slope_that_was_forgotten():
    a, _ = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Normal("y", a, noise(), observed=Y)


@fault("no influence", "tau", "leave it out")
def a_scale_of_effects_that_are_not_used():
    tau, a = pm.HalfNormal("tau", 1), pm.Normal("a", 0, 1)
    pm.Normal("u", 0, tau, shape=4)
    pm.Normal("y", a, noise(), observed=Y)


@fault("no influence", "b", "multiplied by")
def a_column_of_zeros():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Normal("y", a + b * np.zeros(N), noise(), observed=Y)


@fault("no influence", "u", "begins at 0")
def an_index_that_begins_at_one():
    u = pm.Normal("u", 0, 1, shape=5)
    pm.Normal("y", u[GROUP + 1], noise(), observed=Y)


@fault("no influence", "lost", "Leave")
def a_term_that_depends_on_nothing():
    a = pm.Normal("a", 0, 1)
    pm.Potential("lost", tt.as_tensor(-3.0))
    pm.Normal("y", a, noise(), observed=Y)


@fault("no data", "", "observed")
def a_model_whose_data_were_forgotten():
    a = pm.Normal("a", 0, 1)
    pm.Normal("y", a, noise(), shape=N)


# --- what data do not tell apart


@fault("not identified", "a b", "Leave one")
def two_flat_intercepts():
    a, b = pm.Flat("a"), pm.Flat("b")
    pm.Normal("y", a + b, noise(), observed=Y)


@fault("not identified", "a b", "Leave one")
def two_intercepts_with_priors():
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Normal("y", a + b + X, noise(), observed=Y)


@fault("not identified", "a u", "reference")
def an_intercept_beside_flat_effects_of_all_groups():
    a, u = pm.Flat("a"), pm.Flat("u", shape=4)
    pm.Normal("y", a + u[GROUP], noise(), observed=Y)


@fault("not identified", "a u", "reference")
def an_intercept_beside_all_dummies():
    a, u = pm.Normal("a", 0, 10), pm.Normal("u", 0, 10, shape=4)
    pm.Normal("y", a + pm.math.dot(ONE_HOT, u), noise(), observed=Y)


@fault("not identified", "u v", "ZeroSumNormal")
def two_full_sets_of_effects():
    u, v = pm.Normal("u", 0, 5, shape=4), pm.Normal("v", 0, 5, shape=3)
    pm.Normal("y", u[GROUP] + v[np.tile(np.arange(3), 8)], noise(), observed=Y)


@fault("collinear columns", "a b", "constant column")
def an_intercept_beside_a_column_of_ones():
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10, shape=2)
    pm.Normal("y", a + pm.math.dot(np.column_stack([np.ones(N), X]), b), noise(), observed=Y)


@fault("collinear columns", "b c", "Leave one")
def a_covariate_twice():
    b, c = pm.Normal("b", 0, 1), pm.Normal("c", 0, 1)
    pm.Normal("y", b * X + c * (2.54 * X), noise(), observed=Y)


@fault("not identified", "a b", "combination")
def a_product_of_two_slopes():
    a, b = pm.HalfNormal("a", 1), pm.HalfNormal("b", 1)
    pm.Normal("y", a * b * X, noise(), observed=Y)


@fault("not identified", "s1 s2", "combination")
def two_variances_that_are_added():
    a, s1, s2 = pm.Normal("a", 0, 1), pm.HalfNormal("s1", 1), pm.HalfNormal("s2", 1)
    pm.Normal("y", a, pm.math.sqrt(s1**2 + s2**2), observed=Y)


@fault("not identified", "alpha beta", "Leave one")
def two_means_of_effects():
    alpha, beta, tau = pm.Normal("alpha", 0, 1), pm.Normal("beta", 0, 1), pm.HalfNormal("tau", 1)
    theta = pm.Normal("theta", alpha + beta, tau, shape=4)
    pm.Normal("y", theta[GROUP], noise(), observed=Y)


@fault("not identified", "a cut", "out")
def an_intercept_beside_cutpoints():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    ordered = pm.distributions.transforms.ordered
    cut = pm.Normal("cut", 0, 2, shape=3, transform=ordered, initval=[-1.0, 0.0, 1.0])
    pm.OrderedLogistic("y", a + b * X, cut, observed=GROUP)


@fault("not identified", "b", "reference class")
def coefficients_for_every_class():
    b = pm.Normal("b", 0, 1, shape=(2, 3))
    design = np.column_stack([np.ones(N), X])
    pm.Categorical("y", logit_p=pm.math.dot(design, b), observed=np.arange(N) % 3)


@fault("not identified", "tau sigma", "several rows")
def a_spread_and_a_noise_with_one_row_each():
    mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1)
    theta = pm.Normal("theta", mu, tau, shape=N)
    pm.Normal("y", theta, noise(), observed=Y)


@fault("collinear columns", "b", "column")
def a_column_that_is_the_sum_of_others():
    b = pm.Normal("b", 0, 1, shape=3)
    pm.Normal("y", pm.math.dot(np.column_stack([X, Z, X + Z]), b), noise(), observed=Y)


@fault("collinear columns", "b", "column")
def a_dummy_for_each_class_and_a_constant():
    b = pm.Flat("b", shape=5)
    pm.Normal("y", pm.math.dot(np.column_stack([np.ones(N), ONE_HOT]), b), noise(), observed=Y)


@fault("collinear columns", "b", "column")
def a_column_in_two_units():
    b = pm.Normal("b", 0, 1, shape=2)
    pm.Normal("y", pm.math.dot(np.column_stack([X, 2.54 * X]), b), noise(), observed=Y)


@fault("collinear columns", "b", "difference")
def two_columns_that_nearly_agree():
    b = pm.Normal("b", 0, 1, shape=2)
    pm.Normal("y", pm.math.dot(np.column_stack([X, X + 1e-3 * Z]), b), noise(), observed=Y)


# --- improper posteriors


@fault("improper posterior", "b", "proper prior")
def a_flat_variable_that_is_not_used():
    a, _ = pm.Normal("a", 0, 1), pm.Flat("b")
    pm.Normal("y", a, noise(), observed=Y)


@fault("improper posterior", "u", "proper prior")
def a_flat_effect_of_a_group_without_rows():
    u = pm.Flat("u", shape=5)
    pm.Normal("y", u[GROUP], noise(), observed=Y)


@fault("improper posterior", "b", "fewer columns")
def more_flat_coefficients_than_rows():
    b = pm.Flat("b", shape=6)
    pm.Normal("y", pm.math.dot(RNG.normal(size=(4, 6)), b), noise(), observed=Y[:4])


@fault("improper posterior", "s", "proper prior")
def a_flat_scale_of_one_row():
    a, s = pm.Normal("a", 0, 1), pm.HalfFlat("s")
    pm.Normal("y", a, s, observed=Y[:1])


@fault("improper posterior", "s", "proper prior")
def a_flat_scale_beside_as_many_flat_coefficients():
    a, b, s = pm.Flat("a"), pm.Flat("b"), pm.HalfFlat("s")
    pm.Normal("y", a + b * X[:3], s, observed=Y[:3])


@fault("improper posterior", "tau", "proper prior")
def a_flat_spread_of_two_groups_about_a_flat_mean():
    mu, tau = pm.Flat("mu"), pm.HalfFlat("tau")
    theta = pm.Normal("theta", mu, tau, shape=2)
    pm.Normal("y", theta[GROUP % 2], 1.0, observed=Y)


@fault("improper posterior", "log_tau", "scale itself")
def a_flat_logarithm_of_a_spread():
    mu, log_tau = pm.Normal("mu", 0, 1), pm.Flat("log_tau")
    theta = pm.Normal("theta", mu, pm.math.exp(log_tau), shape=8)
    pm.Normal("y", theta[np.repeat(np.arange(8), 3)], 1.0, observed=Y)


@fault("improper posterior", "b", "proper prior")
def separated_outcomes():
    a, b = pm.Flat("a"), pm.Flat("b")
    pm.Bernoulli("y", logit_p=a + b * X, observed=(X > 0.1).astype(int))


@fault("improper posterior", "u", "proper prior")
def a_group_whose_outcomes_are_all_alike():
    u = pm.Flat("u", shape=4)
    pm.Bernoulli("y", logit_p=u[GROUP], observed=np.where(GROUP == 2, 1, np.tile([0, 1], 12)))


@fault("improper posterior", "a", "proper prior")
def counts_that_are_all_zero():
    a = pm.Flat("a")
    pm.Poisson("y", pm.math.exp(a), observed=np.zeros(10, int))


@fault("improper posterior", "a", "proper prior")
def data_without_rows():
    a = pm.Flat("a")
    pm.Normal("y", a, 1.0, observed=np.zeros(0))


@fault("improper posterior", "nu", "proper prior")
def flat_degrees_of_freedom():
    mu, nu = pm.Normal("mu", 0, 1), pm.HalfFlat("nu")
    pm.StudentT("y", nu, mu, noise(), observed=Y)


@fault("improper posterior", "alpha", "proper prior")
def a_flat_dispersion():
    mu, alpha = pm.Gamma("mu", 2, 0.5), pm.HalfFlat("alpha")
    pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=COUNTS)


@fault("improper posterior", "mu", "proper prior")
def flat_means_of_a_mixture():
    mu = pm.Flat("mu", shape=2)
    pm.NormalMixture("y", [0.3, 0.7], mu, 1.0, observed=TWO_HUMPS)


# --- label switching


@fault("label switching", "mu", "ordered")
def a_mixture_without_an_order():
    w, mu = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", 0, 3, shape=2)
    pm.NormalMixture("y", w, mu, 1.0, observed=TWO_HUMPS)


@fault("label switching", "mu s", "ordered")
def a_mixture_of_three_with_equal_weights():
    mu, s = pm.Normal("mu", 0, 3, shape=3), pm.HalfNormal("s", 1, shape=3)
    pm.NormalMixture("y", np.ones(3) / 3, mu, s, observed=TWO_HUMPS)


@fault("label switching", "mu", "ordered")
def labels_that_choose_a_level():
    w, mu = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", 0, 3, shape=2)
    z = pm.Categorical("z", w, shape=N)
    pm.Normal("y", mu[z], 1.0, observed=TWO_HUMPS)


@fault("label switching", "m1 m2", "one vector")
def components_written_one_by_one():
    w, m1, m2 = pm.Dirichlet("w", np.ones(2)), pm.Normal("m1", 0, 3), pm.Normal("m2", 0, 3)
    pm.Mixture("y", w, [pm.Normal.dist(m1, 1), pm.Normal.dist(m2, 1)], observed=TWO_HUMPS)


@fault("label switching", "m1 m2", "one vector")
def a_label_that_chooses_between_two():
    m1, m2 = pm.Normal("m1", 0, 3), pm.Normal("m2", 0, 3)
    z = pm.Bernoulli("z", 0.5, shape=N)
    pm.Normal("y", pm.math.switch(z, m1, m2), 1.0, observed=TWO_HUMPS)


@fault("label switching", "level", "ordered")
def states_of_a_chain_without_an_order():
    moves, level = pm.Dirichlet("moves", np.ones((2, 2))), pm.Normal("level", 0, 2, shape=2)
    z = pm.DiscreteMarkovChain("z", P=moves, init_dist=pm.Categorical.dist([0.5, 0.5]), shape=N)
    pm.Normal("y", level[z], 1.0, observed=TWO_HUMPS)


@fault("label switching", "rate", "ordered")
def a_mixture_summed_by_hand():
    w, rate = pm.Dirichlet("w", np.ones(2)), pm.Gamma("rate", 2, 0.5, shape=2)
    terms = pm.math.log(w) + pm.logp(pm.Poisson.dist(rate, shape=(N, 2)), COUNTS[:, None])
    pm.Potential("y", pm.math.logsumexp(terms, axis=1).sum())


# --- priors and the scale of the data


@fault("prior conflict", "y", "units")
def heights_in_centimetres_with_a_prior_for_metres():
    mu = pm.Normal("mu", 1.7, 0.5)
    pm.Normal("y", mu, noise(), observed=170 + 8 * Y)


@fault("prior conflict", "y", "Standardize")
def data_that_vary_far_more_than_the_prior():
    mu, b = pm.Normal("mu", 0, 100), pm.Normal("b", 0, 1)
    pm.Normal("y", mu + b * X, noise(), observed=400 * (Y - Y.mean()))


@fault("prior conflict", "y", "priors of")
def counts_of_thousands_with_a_rate_near_one():
    a = pm.Normal("a", 0, 1)
    pm.Poisson("y", pm.math.exp(a), observed=1_000_000 + COUNTS)


@fault("prior conflict", "y", "smaller spread")
def coefficients_whose_exponential_overflows():
    a, b = pm.Normal("a", 0, 1000), pm.Normal("b", 0, 1000)
    pm.Exponential("y", pm.math.exp(a + b * X), observed=np.exp(Y))


@fault("vague prior", "tau", "HalfNormal")
def a_gamma_that_is_not_uninformative():
    mu, tau = pm.Normal("mu", 0, 1), pm.Gamma("tau", 0.001, 0.001)
    pm.Normal("y", mu, tau=tau, observed=Y)


@fault("vague prior", "b", "tau=0.001")
def a_precision_in_place_of_a_standard_deviation():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 0.001)
    pm.Normal("y", a + b * X, noise(), observed=Y)


# --- supports and domains


@fault("support", "y", "Widen")
def data_beyond_the_bound_of_the_prior():
    top = pm.Uniform("top", 0, 5)
    pm.Uniform("y", 0, top, observed=np.linspace(0.5, 7, 9))


@fault("support", "y", "Widen")
def data_below_a_truncation():
    low, mu = pm.Uniform("low", 1, 2), pm.Normal("mu", 0, 1)
    pm.TruncatedNormal("y", mu, 1, lower=low, observed=np.abs(Y))


@fault("parameter outside its domain", "y", "exp")
def a_scale_that_may_be_negative():
    mu, s = pm.Normal("mu", 0, 1), pm.Normal("s", 0, 1)
    pm.Normal("y", mu, s, observed=Y)


@fault("parameter outside its domain", "y", "sigmoid")
def a_chance_without_a_link():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Bernoulli("y", p=a + b * X, observed=BINARY)


@fault("parameter outside its domain", "y", "exp")
def a_rate_without_a_link():
    a, b = pm.Normal("a", 3, 1), pm.Normal("b", 0, 2)
    pm.Poisson("y", a + b * X, observed=COUNTS)


@fault("support", "y", "Binomial")
def shares_that_are_zero_or_one():
    pm.Beta("y", pm.HalfNormal("a", 2), pm.HalfNormal("b", 2), observed=np.linspace(0, 1, 9))


@fault("support", "y", "data")
def trials_that_became_fewer():
    trials = pm.Data("trials", np.full(4, 9))
    pm.Binomial("y", trials, pm.Beta("p", 1, 1), observed=[3, 8, 4, 5])
    pm.set_data({"trials": np.full(4, 6)})


# --- what a sampler finds hard


@fault("funnel", "theta tau", "theta_z")
def effects_that_rewriting_does_not_move():
    tau = pm.HalfNormal("tau", 1)
    theta = pm.Normal("theta", 0, tau, shape=4)
    pm.Poisson("y", pm.math.exp(tt.cumsum(pm.math.sin(theta)))[GROUP], observed=COUNTS)


@fault("funnel", "u tau", "sigma=1")
def effects_that_sum_to_zero():
    tau, mu = pm.HalfNormal("tau", 1), pm.Normal("mu", 0, 1)
    u = pm.ZeroSumNormal("u", sigma=tau, shape=4)
    pm.Bernoulli("y", logit_p=mu + u[GROUP], observed=BINARY)


@fault("discrete variable", "k", "finite support")
def a_count_that_no_rule_sums_out():
    rate = pm.Gamma("rate", 2, 1)
    k = pm.Poisson("k", rate, shape=3)
    pm.Normal("y", tt.log1p(k)[GROUP % 3], noise(), observed=Y)


@fault("column scale", "b", "Divide")
def a_column_in_dollars():
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Normal("y", a + b * (60_000 + 25_000 * X), noise(), observed=Y)


@fault("column scale", "b", "Divide")
def a_column_of_tiny_numbers():
    b = pm.Normal("b", 0, 1, shape=2)
    pm.Normal("y", pm.math.dot(np.column_stack([X, 1e-6 * Z]), b), noise(), observed=Y)


@fault("column scale", "b", "Subtract the mean")
def a_year_that_is_not_centered():
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Normal("y", a + b * np.arange(1990, 1990 + N), noise(), observed=Y)


# --- data


@fault("constant data", "y", "right column")
def data_that_do_not_vary():
    mu = pm.Normal("mu", 0, 10)
    pm.Normal("y", mu, noise(), observed=np.full(N, 3.0))


@fault("family", "y", "Poisson")
def counts_with_the_law_of_a_positive_number():
    alpha, beta = pm.HalfNormal("alpha", 5), pm.HalfNormal("beta", 5)
    pm.Gamma("y", alpha, beta, observed=COUNTS + 1.0)


@fault("family", "y", "Bernoulli")
def outcomes_with_the_law_of_a_normal_number():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Normal("y", a + b * X, noise(), observed=BINARY)


@fault("integer range", "y", "int64")
def counts_that_end_where_a_byte_ends():
    rate = pm.Gamma("rate", 2, 0.01)
    pm.Poisson("y", rate, observed=np.minimum(RNG.poisson(130, N), 127).astype(np.int8))


@fault("integer overflow", "y", "float")
def a_product_of_bytes():
    b = pm.Normal("b", 0, 1)
    x = tt.as_tensor(np.arange(100, 100 + N, dtype=np.int8))
    pm.Normal("y", b * (x * x), noise(), observed=Y)


@fault("integer overflow", "y", "float")
def a_power_of_whole_numbers():
    b = pm.Normal("b", 0, 1)
    year = pm.Data("year", np.arange(1990, 1990 + N))
    pm.Normal("y", b * year**7, noise(), observed=Y)


@fault("missing data", "theta age", "imputed")
def nan_among_covariates_of_effects():
    b = pm.Normal("b", 0, 1)
    age = pm.Data("age", np.where(np.arange(4) == 3, np.nan, X[:4]))
    theta = pm.Normal("theta", b * age, 1)
    pm.Normal("y", theta[GROUP], noise(), observed=Y)


@fault("missing data", "y age", "fill")
def nan_that_an_index_picks():
    b = pm.Normal("b", 0, 1)
    age = pm.Data("age", np.where(np.arange(4) == 3, np.nan, X[:4]))
    pm.Normal("y", b * age[GROUP], noise(), observed=Y)


@fault("missing data", "y", "nan")
def a_number_that_stands_for_missing():
    mu = pm.Normal("mu", 0, 300)
    pm.Normal("y", mu, pm.HalfNormal("sigma", 300), observed=np.where(np.arange(N) < 3, -999.0, Y))


@fault("unused coordinate", "city", "dims")
def coordinates_without_a_variable():
    model = pm.Model(coords={"city": ["Oslo", "Rome"], "row": range(N)})
    with model:
        pm.Normal("y", pm.Normal("mu", 0, 1), noise(), observed=Y, dims="row")
    return model


@fault("unused data", "age", "leave it out")
def data_that_nothing_uses():
    pm.Data("age", X)
    pm.Normal("y", pm.Normal("mu", 0, 1), noise(), observed=Y)


@fault("hidden name", "logp", 'model["logp"]')
def a_variable_called_as_a_method():
    pm.Normal("y", pm.Normal("logp", 0, 1), noise(), observed=Y)


@fault("hidden name", "inner::mu mu", "otherwise")
def a_nested_model_with_the_same_name():
    mu = pm.Normal("mu", 0, 1)
    with pm.Model("inner"):
        s = pm.HalfNormal("mu", 1)
    pm.Normal("y", mu, s, observed=Y)


@fault("minibatch", "y", "total_size")
def random_rows_of_an_unknown_number():
    batch = pm.Minibatch(Y, batch_size=8)
    pm.Normal("y", pm.Normal("mu", 0, 1), noise(), observed=batch)


@fault("constant deterministic", "double", "pm.Data")
def a_deterministic_of_data():
    pm.Deterministic("double", tt.as_tensor(2 * X))
    pm.Normal("y", pm.Normal("mu", 0, 1), noise(), observed=Y)


@fault("model", "", "Mend")
def a_draw_without_a_name():
    mu = pm.Normal.dist(0, 1)
    pm.Normal("y", mu, noise(), observed=Y)
