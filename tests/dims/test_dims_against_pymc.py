"""Families and models with named dims are those of PyMC: log-densities, gradients, dims, draws; and so are converted
ones."""

import warnings

import numpy as np
import pytest
from some_slow import every

import ppl
import ppl.dims as own

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc
    import pymc.dims as theirs

RNG = np.random.default_rng(11)
COORDS = {"a": list("uvw"), "b": [0, 1], "k": list("pqrs"), "l": list("pqrs"), "t": list(range(8))}
LENGTHS = {dim: len(labels) for dim, labels in COORDS.items()}


def vector(m, dim, low=0.5, high=2.0):
    return m.as_xtensor(np.linspace(low, high, LENGTHS[dim]), dims=(dim,))


ROOT = RNG.normal(size=(4, 4))
COV = ROOT @ ROOT.T + np.eye(4)


def matrix(m, dims=("k", "l")):
    return m.as_xtensor(COV, dims=dims)


FREE = {
    "Normal": lambda m, f: f(vector(m, "a"), 2.0, dims=("b", "a")),
    "Normal_tau": lambda m, f: f(0.5, tau=vector(m, "b"), dims=("a", "b")),
    "Normal_wide": lambda m, f: f(vector(m, "a"), vector(m, "b")),
    "Flat": lambda m, f: f(dims=("a",)), "HalfFlat": lambda m, f: f(dims=("a",)),
    "Uniform": lambda m, f: f(-1, 3, dims=("a", "b")), "HalfNormal": lambda m, f: f(vector(m, "a"), dims=("a", "b")),
    "Uniform_labelled": lambda m, f: f(vector(m, "a", -2, -1), vector(m, "b")),
    "TruncatedNormal": lambda m, f: f(0.3, 1.5, lower=-1, upper=2, dims="a"),
    "TruncatedNormal_one": lambda m, f: f(vector(m, "a"), 1.5, lower=0, dims=("a",)),
    "LogNormal": lambda m, f: f(0.2, vector(m, "a")), "StudentT": lambda m, f: f(4, vector(m, "a"), 2.0, dims=("a",)),
    "StudentT_lam": lambda m, f: f(4, 0.0, lam=vector(m, "a")), "HalfStudentT": lambda m, f: f(5, 2.0, dims=("a",)),
    "Cauchy": lambda m, f: f(vector(m, "a"), vector(m, "b")), "HalfCauchy": lambda m, f: f(2.0, dims=("b",)),
    "Beta": lambda m, f: f(vector(m, "a"), 2.0), "Beta_mean": lambda m, f: f(mu=vector(m, "a", 0.2, 0.6), sigma=0.1),
    "Beta_nu": lambda m, f: f(mu=0.3, nu=vector(m, "a", 5, 9)), "Laplace": lambda m, f: f(vector(m, "a"), 1.5),
    "Exponential": lambda m, f: f(vector(m, "a"), dims=("a", "b")), "Exponential_scale": lambda m, f: f(scale=2.0),
    "Gamma": lambda m, f: f(2.0, vector(m, "a")), "Gamma_mean": lambda m, f: f(mu=vector(m, "a"), sigma=0.7),
    "InverseGamma": lambda m, f: f(3.0, vector(m, "a")),
    "InverseGamma_mean": lambda m, f: f(mu=vector(m, "a"), sigma=0.7),
    "Weibull": lambda m, f: f(vector(m, "a"), 2.0),
    "Dirichlet": lambda m, f: f(vector(m, "k"), core_dims="k", dims=("a", "k")),
    "Dirichlet_first": lambda m, f: f(vector(m, "k"), core_dims=("k",), dims=("k", "a")),
    "MvNormal": lambda m, f: f(vector(m, "k"), matrix(m), core_dims=("k", "l"), dims=("a", "k")),
    "MvNormal_other": lambda m, f: f(vector(m, "l"), cov=matrix(m), core_dims=("k", "l")),
    "MvNormal_chol": lambda m, f: f(vector(m, "k"), chol=m.as_xtensor(np.linalg.cholesky(COV), dims=("k", "l")),
                                    core_dims=("k", "l")),
    "MvNormal_upper": lambda m, f: f(vector(m, "k"), chol=m.as_xtensor(np.linalg.cholesky(COV).T, dims=("k", "l")),
                                     lower=False, core_dims=("k", "l")),
    "ZeroSumNormal": lambda m, f: f(core_dims="a"), "ZeroSumNormal_two": lambda m, f: f(2.0, core_dims=("a", "k")),
    "ZeroSumNormal_first": lambda m, f: f(vector(m, "b"), core_dims="a", dims=("a", "b")),
}  # fmt: skip
OBSERVED = {
    "Categorical": lambda m, f, **o: f(m.as_xtensor([[0.1, 0.2, 0.3, 0.4]] * 3, dims=("a", "k")), core_dims="k", **o),
    "Categorical_logit": lambda m, f, **o: f(logit_p=m.as_xtensor(RNG_LOGITS, dims=("k", "a")), core_dims="k", **o),
    "Censored": lambda m, f, **o: f(m.Normal.dist(vector(m, "a"), 2.0), lower=0, upper=2, **o),
    "Censored_wide": lambda m, f, **o: f(m.Normal.dist(vector(m, "a"), 2.0), lower=None, upper=vector(m, "b"), **o),
}
RNG_LOGITS = RNG.normal(size=(4, 3))


def model_of(m, pm, build, name, values=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pm.Model(coords=COORDS) as model:
            family = getattr(m, name.split("_")[0])
            x = build(m, lambda *args, **options: family("x", *args, **options))
    return model, x


def equal_at_points(models, real, with_slope=True):
    """Log-density and gradient, at the starting point and around it, of several models and of PyMC's. PyMC keeps
    numbers such as 1.5 in single precision, so that some of its constants have seven digits."""
    values = real.initial_point()
    points = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        moved = lambda v, rng=rng: v + 0.3 * rng.normal(size=np.shape(v)) if v.dtype.kind == "f" else v
        points.append({k: moved(v) for k, v in values.items()})
    logp, slope = (list(map(f, points)) if f else None for f in compiled(real, with_slope))
    for mine in models:
        assert set(mine.initial_point()) == set(values)
        own_logp, own_slope = mine.compile_logp(), mine.compile_dlogp() if with_slope else None
        for i, point in enumerate(points):
            given = {k: in_order(mine, real, k, v) for k, v in point.items()}
            np.testing.assert_allclose(float(own_logp(given)), float(logp[i]), rtol=1e-7)
            if with_slope:
                np.testing.assert_allclose(np.sort(own_slope(given)), np.sort(slope[i]), rtol=1e-7, atol=1e-9)


def compiled(real, with_slope):
    """PyMC's functions, without the rewriting that takes it most of the time."""
    return [real.compile_logp(mode="FAST_COMPILE"), real.compile_dlogp(mode="FAST_COMPILE") if with_slope else None]


def in_order(mine, real, value, array):
    """A point of PyMC's model with its axes as they are in ours: dims of one value stand last there."""
    names = {v.name: rv.name for rv, v in real.rvs_to_values.items()}
    name = names[value]
    dims, own_dims = real.named_vars_to_dims.get(name) or (), mine.named_vars_to_dims.get(name) or ()
    return np.transpose(array, [dims.index(d) for d in own_dims]) if tuple(dims) != tuple(own_dims) else array


@pytest.mark.parametrize("name", every(3, FREE))
def test_a_free_variable_has_pymcs_density_dims_and_conversion(name):
    (mine, x), (real, y) = (model_of(m, pm, FREE[name], name) for m, pm in ((own, ppl), (theirs, pymc)))
    assert x.dims == y.dims
    converted = ppl.from_pymc(real)
    equal_at_points([mine, converted], real, name != "Flat")
    assert converted["x"].dims == tuple(mine.named_vars_to_dims["x"])


@pytest.mark.parametrize("name", OBSERVED)
def test_an_observed_variable_has_pymcs_density_and_conversion(name):
    dims = ("a", "b") if "wide" in name else ("a",)
    data = (
        RNG.integers(0, 4, size=3)
        if "Cat" in name
        else np.clip(RNG.normal(1, 1, size=[LENGTHS[d] for d in dims]), 0, 1.9)
    )
    if "wide" in name:
        data[:, 0] = 0.5
    results = []
    for m, pm in ((own, ppl), (theirs, pymc)):
        build = lambda m, f: OBSERVED[name](m, f, observed=m.as_xtensor(data, dims=dims))
        results.append(model_of(m, pm, build, name)[0])
    real = np.sum(results[1].compile_logp(sum=False)({})[0])
    assert float(results[0].compile_logp()({})) == pytest.approx(float(real), rel=1e-7)
    assert float(ppl.from_pymc(results[1]).compile_logp()({})) == pytest.approx(float(real), rel=1e-7)


@pytest.mark.parametrize("name", [n for n in FREE if "Flat" not in n])
def test_draws_have_pymcs_dims_and_spread(name):
    (_, x), (_, y) = (model_of(m, pm, FREE[name], name) for m, pm in ((own, ppl), (theirs, pymc)))
    mine, real = ppl.draw(x, 2000, random_seed=1), pymc.draw(y, 2000, random_seed=2)
    assert mine.shape == real.shape
    ends = np.quantile(mine, [0.25, 0.5, 0.75], axis=0), np.quantile(real, [0.25, 0.5, 0.75], axis=0)
    wide = np.abs(ends[0][2] - ends[0][0]) + 1e-9
    assert np.all(np.abs(ends[0] - ends[1]) < 0.2 * wide + 0.01)


# --- models -----------------------------------------------------------------------------------------------------------
X = RNG.normal(size=(8, 4))
GROUP = np.array([0, 1, 2, 0, 1, 2, 0, 1])
Y = RNG.normal(size=8)


def hierarchical(m, pm):
    with pm.Model(coords=COORDS) as model:
        x = m.Data("x", X, dims=("t", "k"))
        group = m.Data("group", GROUP, dims=("t",))
        mu, tau = m.Normal("mu", 0, 1), m.HalfNormal("tau", 1)
        level = m.Normal("level", mu, tau, dims=("a",))
        beta = m.Normal("beta", 0, 1, dims=("k",))
        sigma = m.HalfNormal("sigma", 1)
        fit = m.Deterministic("fit", level.isel(a=group) + x.dot(beta), dims=("t",))
        m.Normal("y", fit, sigma, observed=m.as_xtensor(Y, dims=("t",)))
    return model


SPEND = RNG.gamma(2, 1, size=(8, 4, 2))
SALES = RNG.normal(3, 1, size=(8, 2))


def media_mix(m, pm):
    """Sales of each date and country from what was spent: geometric carry-over, then saturation."""
    with pm.Model(coords={"date": range(8), "channel": list("pqrs"), "country": ["N", "S"], "lag": range(3)}) as model:
        spend = m.Data("spend", SPEND, dims=("date", "channel", "country"))
        carry = m.Beta("carry", 2, 3, dims=("channel",))
        lam = m.Gamma("lam", 3, 1, dims=("channel", "country"))
        beta = m.HalfNormal("beta", 2, dims=("channel", "country"))
        lag = m.as_xtensor(np.arange(3.0), dims=("lag",))
        weights = carry**lag
        weights = weights / weights.sum("lag")
        before = m.concat([m.zeros_like(spend.isel(date=slice(0, 2))), spend], dim="date")
        carried = sum(before.isel(date=slice(2 - i, 10 - i)) * weights.isel(lag=i) for i in range(3))
        saturated = (1 - m.math.exp(-lam * carried)) / (1 + m.math.exp(-lam * carried))
        share = m.Deterministic("share", saturated * beta, dims=("date", "country", "channel"))
        base = m.ZeroSumNormal("base", sigma=1.0, core_dims="country")
        level = m.Normal("level", 2, 1)
        sigma = m.HalfNormal("sigma", 1, dims=("country",))
        m.Normal(
            "sales", level + base + share.sum("channel"), sigma, observed=m.as_xtensor(SALES, dims=("date", "country"))
        )
    return model


def with_potential(m, pm):
    with pm.Model(coords=COORDS) as model:
        beta = m.Normal("beta", 0, 1, dims=("k", "a"))
        m.Potential("near", -(beta**2).sum("k"), dims=("a",))
        m.Potential("far", beta.mean())
    return model


def test_potentials_are_pymcs():
    """Without the gradient, which PyMC 5.28 does not find through labelled potentials."""
    mine, real = built_twice(with_potential)
    equal_at_points([mine, ppl.from_pymc(real)], real, with_slope=False)


def built_twice(build):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(own, ppl), build(theirs, pymc)


@pytest.mark.parametrize("build", [hierarchical, media_mix])
def test_models_are_pymcs_written_here_and_converted(build):
    mine, real = built_twice(build)
    converted = ppl.from_pymc(real)
    equal_at_points([mine, converted], real)
    assert {k: tuple(v) for k, v in converted.named_vars_to_dims.items()} == {
        k: tuple(v) for k, v in mine.named_vars_to_dims.items()
    }
    assert ppl.explain(converted).ndim == ppl.explain(mine).ndim
