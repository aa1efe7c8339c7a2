"""Compacted densities equal those of all rows, in value and gradient, also far from zero."""

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import (
    FAMILIES,
    AsymmetricLaplace,
    Bernoulli,
    Binomial,
    Categorical,
    Censored,
    Dirichlet,
    Exponential,
    Gamma,
    HalfNormal,
    Laplace,
    Mixture,
    Multinomial,
    MvNormal,
    NegativeBinomial,
    Normal,
    OrderedLogistic,
    Poisson,
    StudentT,
    Truncated,
    Uniform,
    Wald,
)
from ppl.graph import substitute
from ppl.rewrites.marginalization import Observation, Program, plan

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(3)
N = 300
GROUP = RNG.integers(0, 4, N)
WIDE, HEIGHT = RNG.normal(size=(N, 3)), RNG.normal(size=N)
FLAT = np.stack([HEIGHT, 2 * HEIGHT, np.ones(N)], axis=1)  # two columns say the same, and one is an intercept
OTHER, FAR = np.random.default_rng(8), np.array([1e3, 0.0, -5.0])
LEVELS = RNG.integers(0, 2, (N, 3)).astype(float)


def rows_and_cells(family, data, **parameters):
    """The density of all rows, and the compacted one, as functions of the random variables' values."""
    a = HalfNormal.dist(1.0, shape=(4,), name="a")
    b = HalfNormal.dist(1.0, shape=(3,), name="b")
    given = {key: make(a, b) for key, make in parameters.items()}
    variable = family.dist(**given, shape=np.shape(data), name="y")
    observed = Observation(variable, tt.as_tensor(data))
    made = plan(Program((a, b), (observed,)), protect=["a", "b"])
    assert [s.rule for s in made.steps] == ["sufficient statistics"] and not made.program.observed
    x, z = tt.dvector("x"), tt.dvector("z")
    here = {a: x, b: z}
    full = tt.sum(family.log_density(observed.value, *substitute(list(variable.parameters), here)))
    short = substitute(made.program.terms[0].density, here)
    return [function([x, z], [e, *tt.grad(e, [x, z], disconnected_inputs="ignore")]) for e in (full, short)]


def linear(a, b):
    return a[GROUP] + tt.dot(LEVELS, b)


CASES = {
    "normal": (Normal, RNG.normal(size=N), {"mu": linear, "sigma": lambda a, b: a[0]}),
    "normal with scales of groups": (
        Normal,
        RNG.normal(size=N),
        {"mu": lambda a, b: b[0], "sigma": lambda a, b: a[GROUP]},
    ),
    "normal with a line": (
        Normal,
        RNG.normal(size=N),
        {"mu": lambda a, b: a[0] + tt.dot(WIDE, b) - 0.5 * HEIGHT * tt.exp(b[1]), "sigma": lambda a, b: a[1]},
    ),
    "normal with groups, a line and products of variables": (
        Normal,
        RNG.normal(size=N),
        {"mu": lambda a, b: a[GROUP] * HEIGHT + HEIGHT + tt.dot(WIDE, b * a[0]), "sigma": lambda a, b: a[1] * b[0]},
    ),
    "normal with a design of lower rank and known scales": (
        Normal,
        RNG.normal(size=N),
        {"mu": lambda a, b: tt.dot(FLAT, b) / 3.0 + a[2], "sigma": lambda a, b: np.exp(HEIGHT)},
    ),
    "normal with a column of a matrix of groups": (
        Normal,
        np.random.default_rng(9).normal(size=N),
        {"mu": lambda a, b: tt.stack([a, a**2], axis=1)[GROUP, 1], "sigma": lambda a, b: b[1]},
    ),
    "poisson": (Poisson, RNG.poisson(3, N), {"mu": lambda a, b: tt.exp(linear(a, b))}),
    "bernoulli": (Bernoulli, RNG.integers(0, 2, N), {"logit_p": linear}),
    "binomial": (
        Binomial,
        RNG.integers(0, 4, N),
        {"n": lambda a, b: 4 + GROUP, "p": lambda a, b: tt.sigmoid(linear(a, b))},
    ),
    "counted": (NegativeBinomial, RNG.poisson(3, N), {"mu": lambda a, b: a[GROUP], "alpha": lambda a, b: b[0]}),
    "dirichlet": (Dirichlet, OTHER.dirichlet(np.ones(3), N), {"a": lambda a, b: b}),
    "dirichlet of groups": (
        Dirichlet,
        OTHER.dirichlet(np.ones(3), N),
        {"a": lambda a, b: (tt.expand_dims(a, 1) * b)[GROUP]},
    ),
    "multinomial": (
        Multinomial,
        OTHER.multinomial(5, [0.2, 0.3, 0.5], N),
        {"n": lambda a, b: 5, "p": lambda a, b: tt.softmax(tt.expand_dims(a, 1) * b, axis=-1)[GROUP]},
    ),
    "multinomial with an empty category": (
        Multinomial,
        OTHER.multinomial(5, [0.2, 0.8, 0.0], N),
        {"n": lambda a, b: 5, "p": lambda a, b: tt.stack([b[0] / (b[0] + b[1]), b[1] / (b[0] + b[1]), 0.0 * b[2]])},
    ),
    "categorical": (Categorical, OTHER.integers(0, 3, N), {"p": lambda a, b: tt.softmax(b)}),
    "categorical of groups": (
        Categorical,
        OTHER.integers(0, 3, N),
        {"p": lambda a, b: tt.softmax(tt.expand_dims(a, 1) * b, axis=-1)[GROUP]},
    ),
    "ordered": (OrderedLogistic, OTHER.integers(0, 3, N), {"eta": linear, "cutpoints": lambda a, b: tt.cumsum(b[:2])}),
    "normal vectors": (
        MvNormal,
        OTHER.normal(size=(N, 3)) + FAR,
        {
            "mu": lambda a, b: b + FAR,
            "chol": lambda a, b: tt.diag(a[:3]) + 0.3 * np.tril(np.ones((3, 3)), -1),
        },
    ),
    "laplace": (Laplace, 0.5 + OTHER.normal(size=N), {"mu": lambda a, b: b[0], "b": lambda a, b: a[1]}),
    "laplace far away": (Laplace, 1e4 + OTHER.normal(size=N), {"mu": lambda a, b: b[0], "b": lambda a, b: a[1]}),
    "asymmetric laplace": (
        AsymmetricLaplace,
        0.5 + OTHER.normal(size=N),
        {"kappa": lambda a, b: a[0], "mu": lambda a, b: b[0], "b": lambda a, b: a[1]},
    ),
    "normal with scales that are multiples of one": (
        Normal,
        RNG.normal(size=N),
        {"mu": lambda a, b: a[0] + tt.dot(WIDE, b), "sigma": lambda a, b: a[1] * np.exp(0.3 * HEIGHT)},
    ),
    "waiting times": (
        Wald,
        0.5 + OTHER.wald(1.0, 2.0, N),
        {"mu": lambda a, b: a[GROUP], "lam": lambda a, b: b[0], "alpha": lambda a, b: np.array([0.5])},
    ),
    "between unknown bounds": (
        Uniform,
        OTHER.uniform(0.0, 0.2, N),
        {"lower": lambda a, b: -b[0], "upper": lambda a, b: a[GROUP]},
    ),
    "counts with exposures": (
        Poisson,
        OTHER.poisson(3, N),
        {"mu": lambda a, b: np.exp(HEIGHT) * tt.exp(tt.log(a)[GROUP] + b[0])},
    ),
    "counts with logarithms of exposures": (
        Poisson,
        OTHER.poisson(3, N),
        {"mu": lambda a, b: tt.exp(HEIGHT + a[GROUP] * b[1])},
    ),
    "waiting times with multiples of rates": (
        Exponential,
        OTHER.exponential(size=N),
        {"lam": lambda a, b: np.exp(HEIGHT) * a[GROUP] / b[0]},
    ),
    "gamma with multiples of rates": (
        Gamma,
        OTHER.gamma(2.0, size=N),
        {"alpha": lambda a, b: b[2], "beta": lambda a, b: a[GROUP] * tt.sqrt(b[0] * np.exp(HEIGHT))},
    ),
    "cells of a table of parameters": (
        Bernoulli,
        OTHER.integers(0, 2, N),
        {"logit_p": lambda a, b: (tt.expand_dims(a, 1) * b)[GROUP, LEVELS[:, 0].astype(int)] - b[GROUP % 3]},
    ),
    "table of counts": (
        Poisson,
        OTHER.poisson(3, (100, 3)),
        {"mu": lambda a, b: b * a[0]},
    ),
    "table of normal rows with effects of both sides": (
        Normal,
        OTHER.normal(size=(2, 4, 60)),
        {"mu": lambda a, b: tt.expand_dims(a, 1) + b[:2][:, None, None], "sigma": lambda a, b: b[2]},
    ),
    "table of vectors": (
        Dirichlet,
        OTHER.dirichlet(np.ones(3), (4, 75)),
        {"a": lambda a, b: (tt.expand_dims(a, 1) * b)[:, None, :]},
    ),
    "censored by sums": (
        Censored,
        np.clip(OTHER.normal(size=N), -0.7, 1),
        {
            "dist": lambda a, b: Normal.dist(linear(a, b), a[1]),
            "lower": lambda a, b: np.where(GROUP == 0, -0.7, -np.inf),
            "upper": lambda a, b: 1.0,
        },
    ),
    "censored from one side": (
        Censored,
        np.minimum(OTHER.exponential(size=N), 1.5),
        {"dist": lambda a, b: Exponential.dist(a[GROUP]), "lower": lambda a, b: None, "upper": lambda a, b: 1.5},
    ),
    "truncated": (
        Truncated,
        OTHER.uniform(-1, 1, N),
        {
            "dist": lambda a, b: Normal.dist(a[GROUP], b[0]),
            "lower": lambda a, b: -1.0,
            "upper": lambda a, b: 1.0 + LEVELS[:, 0],
        },
    ),
    "truncated counts": (
        Truncated,
        1 + OTHER.poisson(2, N),
        {"dist": lambda a, b: Poisson.dist(a[GROUP]), "lower": lambda a, b: 1, "upper": lambda a, b: None},
    ),
    "mixture of groups": (
        Mixture,
        OTHER.poisson(3, N),
        {
            "w": lambda a, b: np.array([0.3, 0.7]),
            "comp_dists": lambda a, b: [Poisson.dist(a[GROUP]), Poisson.dist(b[0] + a[GROUP])],
        },
    ),
    "mixture": (
        Mixture,
        OTHER.poisson(3, N),
        {"w": lambda a, b: np.array([0.3, 0.7]), "comp_dists": lambda a, b: Poisson.dist(a[:2])},
    ),
    "censored": (
        Censored,
        np.clip(np.round(OTHER.normal(size=N), 1), -1, 1),
        {"dist": lambda a, b: Normal.dist(b[0], a[1]), "lower": lambda a, b: -1.0, "upper": lambda a, b: 1.0},
    ),
}


@pytest.mark.parametrize("which", CASES)
def test_compaction_changes_nothing(which):
    family, data, parameters = CASES[which]
    full, short = rows_and_cells(family, data, **parameters)
    rng = np.random.default_rng(1)
    for _ in range(3):
        point = rng.uniform(0.3, 1.5, 4), rng.uniform(0.3, 1.5, 3)
        for a, b in zip(full(*point), short(*point), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-9)


def test_normal_data_far_from_zero_keep_their_digits():
    data = RNG.normal(size=N) + 1e6
    full, short = rows_and_cells(Normal, data, mu=lambda a, b: 1e6 + b[0], sigma=lambda a, b: a[0])
    point = np.ones(4), np.full(3, 0.2)
    np.testing.assert_allclose(short(*point)[0], full(*point)[0], rtol=1e-9)


def test_a_regression_far_from_zero_keeps_its_digits():
    """Means 1e6 standard deviations from zero: an intercept explains them."""
    data = 1e6 + WIDE @ [1.0, 2.0, 3.0] + np.random.default_rng(0).normal(size=N)
    full, short = rows_and_cells(Normal, data, mu=lambda a, b: 1e6 * a[1] + tt.dot(WIDE, b), sigma=lambda a, b: a[0])
    found, wanted = short(np.ones(4), np.arange(1.0, 4)), full(np.ones(4), np.arange(1.0, 4))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
    own = 1e6 * N * np.spacing(1e6) / 2  # the slope along the intercept, a sum of differences by their last digit
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-9, atol=own)
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-9, atol=1e-9 * np.max(np.abs(wanted[2])))


def test_a_regression_on_nearly_dependent_columns_keeps_its_digits():
    """The columns of a basis of functions, whose least squares are numbers of many digits that cancel."""
    x = np.linspace(0.4, 0.6, N)
    columns = np.stack([x**0, x, x**2 * (1 + 1e-9)], axis=1) @ np.vander([1.0, 1 + 1e-6, 1 - 1e-6])
    data = np.random.default_rng(0).normal(size=N)
    full, short = rows_and_cells(Normal, data, mu=lambda a, b: tt.dot(columns, b), sigma=lambda a, b: a[0])
    point = np.ones(4), np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(short(*point)[0], full(*point)[0], rtol=1e-13)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_scale_outside_its_domain_is_as_impossible_as_before(scale):
    full, short = rows_and_cells(Normal, RNG.normal(size=N), mu=lambda a, b: tt.dot(WIDE, b), sigma=lambda a, b: a[0])
    point = np.full(4, scale), np.ones(3)
    assert full(*point)[0] == short(*point)[0] == -np.inf


def test_predictors_that_are_not_linear_or_too_wide_stay_rows():
    a = HalfNormal.dist(1.0, shape=(4,), name="a")
    wide = HalfNormal.dist(1.0, shape=(N,), name="wide")
    for mu, free in ((tt.exp(HEIGHT * a[0]), a), (tt.dot(RNG.normal(size=(N, N)), wide), wide)):
        seen = Normal.dist(mu, 1.0, name="y")
        made = plan(Program((free,), (Observation(seen, tt.as_tensor(RNG.normal(size=N))),)), protect=[free.name])
        assert made.steps == [] and len(made.program.observed) == 1


def test_a_vector_that_is_as_long_as_there_are_rows_is_no_column():
    data = np.repeat(np.arange(40), 8)[:40]
    a = HalfNormal.dist(1.0, shape=(40,), name="a")
    seen = Categorical.dist(a / tt.sum(a), shape=(40,), name="y")
    made = plan(Program((a,), (Observation(seen, tt.as_tensor(data)),)), protect=["a"])
    x = tt.dvector("x")
    full = tt.sum(Categorical.log_density(tt.as_tensor(data), *substitute(list(seen.parameters), {a: x})))
    short = substitute(made.program.terms[0].density, {a: x})
    point = OTHER.uniform(0.3, 1.5, 40)
    np.testing.assert_allclose(*function([x], [full, short])(point), rtol=1e-12)


def test_rows_that_all_differ_stay_rows():
    a = HalfNormal.dist(1.0, name="a")
    seen = StudentT.dist(5.0, a * RNG.normal(size=N), 1.0, name="y")
    made = plan(Program((a,), (Observation(seen, tt.as_tensor(RNG.normal(size=N))),)), protect=["a"])
    assert made.steps == [] and len(made.program.observed) == 1


def is_scalar_exponential(family):
    domains = [p.domain.ndim for p in family.params.values()]
    return bool(family.natural and family.statistics and family.log_normalizer) and not any(domains)


EXPONENTIAL = [f for f in FAMILIES.values() if is_scalar_exponential(f)]


@pytest.mark.parametrize("exponential", EXPONENTIAL, ids=lambda f: f.__name__)
def test_the_base_measure_does_not_depend_on_free_parameters(exponential):
    """What is left of the density beside η·T - A changes with the declared fixed parameters alone."""
    family = exponential
    inner = {key: [e for e in p.domain.examples if e not in (0, 1)] for key, p in family.params.items()}
    if not all(len(each) > 1 for each in inner.values()):
        pytest.skip(f"{family.__name__} has a parameter without two example values")
    first = [tt.as_tensor(each[0]) for each in inner.values()]
    domain = family.support_for(first)
    x = tt.as_tensor(1 if domain.discrete else (*domain.examples, 0.3)[0])
    found = {}
    for name in (None, *family.params):
        values = [tt.as_tensor(each[-1 if key == name else 0]) for key, each in inner.items()]
        base = family.stated_logp(x, *values) + family.log_normalizer(*values)
        for w, t in zip(family.natural(*values), family.statistics(x), strict=True):
            base = base - w * t
        found[name] = base.eval()
    for name in family.params:
        assert (abs(found[name] - found[None]) < 1e-9) == (name not in family.fixed)


@pytest.mark.parametrize(
    ("law", "parameters"),
    [
        (Normal, {"mu": lambda a, b: b[0], "sigma": lambda a, b: a[0] - 2.0}),
        (Exponential, {"lam": lambda a, b: a[0] - 2.0}),
        (Poisson, {"mu": lambda a, b: a[0] - 2.0}),
        (Wald, {"mu": lambda a, b: a[0] - 2.0, "lam": lambda a, b: b[0]}),
        (Uniform, {"lower": lambda a, b: 0.0, "upper": lambda a, b: a[0] - 2.0}),
        (
            Censored,
            {"dist": lambda a, b: Normal.dist(b[0], a[0] - 2.0), "lower": lambda a, b: 2, "upper": lambda a, b: 3},
        ),
        (
            Truncated,
            {"dist": lambda a, b: Normal.dist(b[0], a[0] - 2.0), "lower": lambda a, b: 1, "upper": lambda a, b: 5},
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_parameters_without_a_law_are_as_impossible_as_before(law, parameters, value):
    data = (
        1.0 + np.arange(N) % 5
        if law is Poisson
        else np.clip(1.0 + 4.0 * OTHER.uniform(size=N), *((2.0, 3.0) if law is Censored else (1.0, 5.0)))
    )
    full, short = rows_and_cells(law, data, **parameters)
    point = np.full(4, value + 2.0), np.ones(3)
    assert full(*point)[0] == short(*point)[0] == -np.inf


# --- densities that users write


def total(value, mu):
    return -0.5 * pm.math.sum(value - mu) ** 2


def about_the_mean(value, mu):
    return -0.5 * (value - mu + pm.math.mean(mu)) ** 2


def row_by_row(value, mu):
    return -0.5 * (value - mu) ** 2


@pytest.mark.parametrize("logp", [total, about_the_mean, row_by_row])
@pytest.mark.parametrize("groups", [1, 3])
def test_rows_that_a_users_density_joins_are_not_counted(logp, groups):
    """What a function of the user's makes of rows is known by its expression alone: a sum of them is one number."""
    group = np.arange(60) % groups
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1, shape=groups)
        pm.CustomDist("y", a[group], logp=logp, observed=np.round(np.random.default_rng(1).normal(size=60)))
    written, rewritten = model.compile_logp(), model.compile_logp(rewrite=True)
    points = [{"a": np.full(groups, 0.3) * np.arange(1, groups + 1)}, {"a": np.linspace(-1.0, 2.0, groups)}]
    ends = [written(p) for p in points], [rewritten(p) for p in points]
    np.testing.assert_allclose(np.diff(ends[1]), np.diff(ends[0]), rtol=1e-10)
    assert bool(pm.explain(model).steps) == (logp is not total)  # a mean is one number, which all rows share


@pytest.mark.parametrize("logp", [total, about_the_mean, row_by_row])
def test_labels_of_rows_that_a_users_density_joins_are_summed_together(logp):
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        z = pm.Bernoulli("z", 0.3, shape=4)
        pm.CustomDist("y", a + z, logp=logp, observed=np.array([0.0, 1.0, -1.0, 2.0]))
    assert pm.explain(model).free == ("a",)
    whole = model.compile_logp()
    labels = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    at = [np.logaddexp.reduce([whole({"a": a, "z": z}) for z in labels]) for a in (0.2, 1.1)]
    rewritten = model.compile_logp(rewrite=True)
    assert rewritten({"a": 1.1}) - rewritten({"a": 0.2}) == pytest.approx(at[1] - at[0], rel=1e-10)
