"""Numbers of a posterior that do not depend on each other: which they are, their densities, and draws of them."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import scipy.stats
from random_models import Models, built

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.factorization.independence import by_number
from ppl.rewrites.limits import LIMITS, limited
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")
GROUP = np.array([0, 2, 1, 1, 0, 2, 2])


def check(terms, values):
    """Whether the numbers are independent; then their densities add up, and each depends on its own number alone."""
    found = by_number(terms, values)
    if found is None:
        return False
    rng = np.random.default_rng(0)
    total = tt.sum(tt.stack([tt.sum(term) for term in terms]))
    f = function(list(values), [found, total])
    for _ in range(2):
        at = [np.asarray(0.4 * rng.normal(size=value.type.shape)) for value in values]
        densities, joint = f(*at)
        np.testing.assert_allclose(np.sum(densities), joint, rtol=1e-11, atol=1e-11)
        places = [(k, place) for k, x in enumerate(at) for place in np.ndindex(x.shape)]
        for i, (k, place) in enumerate(places):
            moved = [x.copy() for x in at]
            moved[k][place] += 0.3
            np.testing.assert_array_equal(np.delete(f(*moved)[0], i), np.delete(densities, i))
    return True


x, y = placeholder(TensorType("float64", (3,)), "x"), placeholder(TensorType("float64", ()), "y")
z = placeholder(TensorType("float64", (2, 3)), "z")
DENSITIES = {  # terms, values, and whether these are independent
    "entries of a vector": ([-(x**2)], [x], True),
    "a sum of them": ([tt.sum(-(x**2)) + 3.0], [x], True),
    "the square of a sum": ([-(tt.sum(x) ** 2)], [x], False),
    "a product": ([-(x**2), x[0] * y], [x, y], False),
    "two sums": ([-tt.exp(x), -(y**2) - tt.sum(x)], [x, y], True),
    "a number for all": ([-tt.exp(x) - y], [x, y], True),
    "a number in all": ([-tt.exp(x - y)], [x, y], False),
    "rows that pick entries": ([-tt.exp(x[GROUP]) + GROUP * x[GROUP]], [x], True),
    "rows that pick two": ([-tt.exp(x[GROUP[:2]] + x[GROUP[1:3]])], [x], False),
    "sums of columns": ([-(tt.sum(z, axis=0) ** 2)], [z], False),
    "columns of sums": ([-tt.sum(tt.sum(z**2, axis=0))], [z], True),
    "a matrix turned": ([-((z.T + 1) ** 2) + x[:, None]], [z, x], True),
    "a matrix beside a vector": ([-((z.T + x[:, None]) ** 2)], [z, x], False),
    "a matrix end to end": ([-(tt.reshape(z, (6,))[::2] ** 2), -tt.exp(z)], [z], True),
    "end to end": ([-tt.exp(tt.concatenate([x, np.ones(2), y[None]]))], [x, y], True),
    "end to end with data": ([-tt.exp(tt.concatenate([x, np.ones(1)]) * tt.concatenate([y[None], np.ones(3)]))],
                             [x, y], False),
    "a sum in each group": ([-tt.exp(segment_sum(x[[0, 2]], np.array([2, 0]), 4)), -tt.exp(x[1])], [x], True),
    "a sum of two in a group": ([-(segment_sum(x, np.array([0, 1, 0]), 2) ** 2)], [x], False),
    "sums of rows": ([-(segment_sum(z, np.array([1, 0]), 2) ** 2)], [z], True),
    "sums of both rows": ([-(segment_sum(z, np.array([1, 1]), 2) ** 2)], [z], False),
    "a sort": ([-tt.sort(x) * np.arange(3.0)], [x], False),
    "a product with a matrix": ([-(tt.dot(np.ones((3, 3)), x) ** 2)], [x], False),
    "a decomposition": ([tt.linalg.slogdet(tt.diag(tt.exp(x)) + 1.0)[1]], [x], False),
    "a condition on all": ([tt.switch(tt.all(x > -3), tt.sum(-(x**2)), -np.inf)], [x], True),
    "another condition on all": ([tt.switch(tt.all(x > 0), tt.sum(-(x**2)), -1.0)], [x], False),
    "a number times a sum": ([2.0 * (tt.sum(-(x**2)) - 0.5 * y**2)], [x, y], True),
    "a sum twice": ([tt.sum(-(x**2)) + y, tt.sum(-(x**2))], [x, y], True),
    "a sum subtracted and spread": ([-(x**2) - tt.sum(y**2), -(z - tt.sum(x))], [x, y, z], True),
    "a single number": ([-(tt.sum(tt.exp(y - np.ones(4))) ** 2)], [y], True),
    "data alone": ([-(x**2), tt.as_tensor(np.arange(5.0))], [x], True),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSITIES)
def test_numbers_are_independent_where_they_meet_in_no_summand(name):
    terms, values, expected = DENSITIES[name]
    assert check(terms, values) is expected


def test_deep_expressions():
    deep = x
    for i in range(5000):
        deep = tt.sin(deep) + 0.1 * i
    assert by_number([deep], [x]) is not None and by_number([deep * y], [x, y]) is None


def test_numbers_of_random_models():
    independent = 0
    for seed in range(90):
        model = built(Models(np.random.default_rng(seed)).draw())
        for rewrite in (False, True):
            posterior = rewritten(model, rewrite)
            terms, values = list(posterior.terms.values()), posterior.values
            if sum(prod(v.type.shape) for v in values) > 1 and all(v.dtype[0] == "f" for v in values):
                independent += check(terms, values)
    assert independent >= 8, "too few models have independent numbers to mean anything"


def test_a_length_that_is_not_known_leaves_them_together():
    n = placeholder(TensorType("float64", (None,)), "n")
    assert by_number([-(n**2)], [n]) is None
    assert by_number([-tt.exp(tt.unique(x))], [x]) is None


HEADS, TOSSES = np.array([3, 12, 7, 0]), np.array([10, 30, 7, 20])


def rates(extra: bool = False, sized: bool = False):
    """The logits of four rates that nothing joins, and perhaps a fifth number."""
    with pm.Model() as model:
        heads = pm.Data("heads", HEADS) if sized else HEADS
        theta = pm.Normal("theta", 0, 1.5, shape=heads.shape[0])
        pm.Binomial("y", TOSSES, pm.math.invlogit(theta), observed=heads)
        if extra:
            nu = pm.Gamma("nu", 2, 0.1)
            pm.StudentT("t", nu, 0, 1, observed=np.array([0.3, -4.0, 1.1]))
    return model


FEW = {"chains": 2, "random_seed": 5, "progressbar": False, "quiet": True}


@pytest.mark.parametrize("sized", [False, True])
def test_each_number_has_its_own_law(sized):
    model = rates(sized=sized)
    assert "the 4 dimensions left are independent, and draws too" in str(pm.explain(model))
    found = pm.sample(2000, model=model, **FEW)
    assert found.posterior.attrs["drawn_by"] == "quadrature of the 4 dimensions left, which are independent"
    assert 0 < found.posterior.attrs["quadrature_error"] < 1e-10
    draws = found.posterior.theta.values.reshape(-1, 4)
    grid = np.linspace(-15, 10, 100_001)
    for j, (heads, tosses) in enumerate(zip(HEADS, TOSSES, strict=True)):
        density = np.exp(-(grid**2) / 4.5 + heads * grid - tosses * np.logaddexp(0, grid))
        cdf = np.cumsum(density) / density.sum()
        assert scipy.stats.kstest(draws[:, j], lambda v, cdf=cdf: np.interp(v, grid, cdf)).pvalue > 1e-6
    correlations = np.corrcoef(draws.T) - np.eye(4)
    assert np.abs(correlations).max() < 5.5 / np.sqrt(len(draws))  # false alarms: 3e-7
    logp = model.compile_logp()
    lp = found.sample_stats.lp.values[0, :5]
    np.testing.assert_allclose([logp({"theta": v}) for v in draws[:5]], lp, rtol=1e-9)


def test_draws_of_a_number_do_not_depend_on_what_stands_beside_it():
    alone, beside = (pm.sample(100, model=rates(extra), **FEW).posterior for extra in (False, True))
    assert "quadrature of the 5" in beside.attrs["drawn_by"]
    np.testing.assert_allclose(alone.theta, beside.theta, rtol=1e-9)


def test_numbers_that_a_loop_wrote_are_named_like_others():
    rng = np.random.default_rng(2)
    with pm.Model() as model:
        for i in range(3):
            mu, sigma = pm.Normal(f"mu{i}", 0, 10), pm.HalfCauchy(f"sigma{i}", 5)
            pm.Normal(f"y{i}", mu, sigma, observed=rng.normal(i, 1 + i, 20))
    found = pm.sample(500, model=model, **FEW).posterior
    assert "quadrature of the 3 dimensions" in found.attrs["drawn_by"]
    assert set(found.data_vars) == {f"{v}{i}" for v in ("mu", "sigma") for i in range(3)}
    assert found.sigma0.mean() < found.sigma1.mean() < found.sigma2.mean()


def joined_by_a_potential(theta):
    pm.Potential("near", -((theta[0] - theta[1]) ** 2))


def joined_by_a_sum(theta):
    pm.Normal("total", tt.exp(tt.sum(theta)), 1, observed=0.5)


@pytest.mark.parametrize("join", [joined_by_a_potential, joined_by_a_sum])
def test_numbers_that_meet_go_to_nuts(join):
    model = rates()
    with model:
        join(model["theta"])
    assert "quadrature" not in str(pm.explain(model))
    with limited(few_numbers=1):
        assert pm.sample(5, tune=5, model=model, **FEW).posterior.attrs["drawn_by"] == "NUTS"


@pytest.mark.parametrize("transform", ["ordered", None])
def test_transforms_that_join_entries_are_seen(transform):
    with pm.Model() as model:
        own = {"transform": pm.distributions.transforms.ordered} if transform else {}
        theta = pm.Normal("theta", 0, 1.5, shape=4, initval=np.arange(4.0), **own)
        pm.Poisson("y", tt.exp(theta), observed=HEADS)
    assert pm.explain(model).apart is (transform is None)


def test_a_number_without_a_law_sends_all_to_nuts_and_is_named():
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1)
        pm.Flat("free")
        pm.Poisson("y", tt.exp(theta), observed=3)
    attrs = pm.sample(5, tune=5, model=model, **FEW, protect=["free"]).posterior.attrs
    assert attrs["drawn_by"].startswith("NUTS, since") and "free: the left tail has no finite mass" in attrs["drawn_by"]


def test_many_numbers_go_to_nuts(monkeypatch):
    monkeypatch.setattr(LIMITS, "numbers_by_quadrature", 3)
    assert not pm.explain(rates()).apart
