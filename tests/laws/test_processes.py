"""Processes that a loop wrote step by step become vectors: the same joint density, and the theorems of vectors hold."""

import numpy as np
import pytest
from vectors_of_loops import check_vectors

import ppl as pm
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.model.posterior.snapshot import at_present
from ppl.rewrites.plates.loops_as_processes import unrolled

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(0)
T = 15
DATA = np.cumsum(RNG.normal(size=T)).round(3)


def seen(name, x, t, noise=1.0):
    pm.Normal(f"{name}{t}", x, noise, observed=DATA[t])


def walk():
    scale, x = pm.HalfNormal("scale", 1), pm.Normal("x0", 0, 5)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", x, scale)
        seen("y", x, t)


def walk_with_a_drift():
    scale, drift, x = pm.HalfNormal("scale", 1), pm.Normal("drift", 0, 1), pm.Normal("x0", 0, 5)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", drift + x, scale)
        seen("y", x, t)


def autoregression():
    rho, scale = pm.Uniform("rho", -1, 1), pm.HalfNormal("scale", 1)
    x = [pm.Normal("x0", 0, 5)]
    for t in range(1, T):
        x.append(pm.Normal(f"x{t}", rho * x[-1], scale))
        seen("y", x[-1], t)


def autoregression_of_second_order():
    rho, scale = pm.Normal("rho", 0, 0.5, shape=2), pm.HalfNormal("scale", 1)
    x = [pm.Normal("x0", 0, 5), pm.Normal("x1", 0, 5)]
    for t in range(2, T):
        x.append(pm.Normal(f"x{t}", rho[0] * x[-1] + rho[1] * x[-2], scale))
        seen("y", x[-1], t)


def local_trend():
    scale, turn = pm.HalfNormal("scale", 1), pm.HalfNormal("turn", 1)
    level, slope = pm.Normal("level0", 0, 5), pm.Normal("slope0", 0, 1)
    for t in range(1, T):
        level, slope = pm.Normal(f"level{t}", level + slope, scale), pm.Normal(f"slope{t}", slope, turn)
        seen("y", level, t)


def two_walks():
    x, scale = [pm.Normal(f"{k}0", 0, 1) for k in "ab"], [pm.HalfNormal(f"scale_{k}", 1) for k in "ab"]
    for t in range(1, T):
        x = [pm.Normal(f"{k}{t}", x[i], scale[i]) for i, k in enumerate("ab")]
        seen("y", x[0] + DATA[t] * x[1], t)


def steps_of_their_own():
    x = pm.Normal("x0", 0, 5)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", x, 0.1 * t)
        seen("y", x, t)


def nonlinear():
    scale, x = pm.HalfNormal("scale", 1), pm.Normal("x0", 0, 1)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", 0.5 * x + pm.math.sin(x), scale)
        seen("y", x, t)


def heavy_steps():
    scale, x = pm.HalfNormal("scale", 1), pm.StudentT("x0", 4, 0, 1)
    for t in range(1, T):
        x = pm.StudentT(f"x{t}", 4, x, scale)
        pm.Poisson(f"y{t}", pm.math.exp(0.1 * x), observed=t % 3)


def counts():
    scale, x = pm.HalfNormal("scale", 1), pm.Normal("x0", 0, 1)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", x, scale)
        pm.Poisson(f"y{t}", pm.math.exp(x), observed=t % 3)


def volatility_that_walks():
    h, x = pm.Normal("h0", 0, 1), pm.Normal("x0", 0, 1)
    for t in range(1, T):
        h = pm.Normal(f"h{t}", h, 0.2)
        x = pm.Normal(f"x{t}", x, pm.math.exp(h))
        seen("y", x, t)


def what_else_uses_a_step():
    """Missing values of any shape, a label, and a potential."""
    scale, x = pm.HalfNormal("scale", 1), pm.Normal("x0", 0, 1)
    for t in range(1, T):
        x = pm.Normal(f"x{t}", 0.9 * x, scale)
        seen("y", x, t)
    pm.Normal("next", x + np.arange(3.0), 1)
    z = pm.Bernoulli("z", logit_p=x)
    pm.Cauchy("seen", z + x, 1, observed=0.5)
    pm.Potential("far", -(x**4))


def trees():
    """Each variable is followed by two."""
    scale, x = pm.HalfNormal("scale", 1), [pm.Normal("x0", 0, 1)]
    for t in range(1, 31):
        x.append(pm.Normal(f"x{t}", x[(t - 1) // 2], scale))
        pm.Cauchy(f"y{t}", x[-1], 1, observed=0.1 * t)


# How many vectors there are, how many factors are left before other theorems, and how many numbers after them.
MODELS = {
    walk: (1, 3, 1),
    walk_with_a_drift: (1, 4, 1),
    autoregression: (1, 6, 2),
    autoregression_of_second_order: (1, 7, 3),
    local_trend: (2, 7, 2),
    two_walks: (2, 5, 2),
    steps_of_their_own: (1, 4, 0),
    nonlinear: (1, 5, 16),
    heavy_steps: (1, 5, 16),
    counts: (1, 3, 16),
    volatility_that_walks: (2, 5, 15),  # the level is integrated out, given the volatility
    what_else_uses_a_step: (3, 9, 16),
    trees: (1, 5, 32),
}


@pytest.mark.parametrize("build", MODELS, ids=lambda f: f.__name__)
def test_vectors_have_the_joint_density_of_the_steps(build):
    with pm.Model() as model:
        build()
    before = program_of(at_present(model))
    found = unrolled(before, ())
    left = rewritten(model).plan.program.ndim
    assert (len(found.members), len(found.program.factors), left) == MODELS[build]
    check_vectors(before, found)


@pytest.mark.parametrize("build", MODELS, ids=lambda f: f.__name__)
def test_values_of_the_model_serve_where_they_may_not_move(build):
    with pm.Model() as model:
        build()
    kept = [rv.name for rv in model.free_RVs if rv.ndim == 0 and rv.name[-1] == "0"]
    point = {v.name: 0.1 + 0.1 * RNG.random(v.type.shape) for v in model.value_vars}
    if build is what_else_uses_a_step:
        point["z"] = 1
    assert np.isfinite(model.compile_logp(rewrite=True)(point))
    assert set(rewritten(model, protect=kept).plan.free) >= set(kept)


def a_random_process(seed):
    """One to three processes of some order, that use each other or not, with missing values and data in any order."""
    rng = np.random.default_rng(seed)
    family = [pm.Normal, pm.Normal, pm.Laplace, pm.Logistic][rng.integers(4)]
    order, count, length = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(12, 16))
    scale = [pm.HalfNormal(f"scale{k}", 1) for k in range(count)]
    rho = pm.Normal("rho", 0, 0.5, shape=(count, order))
    own, cross, known = rng.integers(3), rng.random() < 0.5, rng.random() < 0.3
    x = [[family(f"x{k}_{t}", 0.1 * t, 1.0 + k) for t in range(order)] for k in range(count)]
    for t in range(order, length):
        now = []
        for k, path in enumerate(x):
            before = [path[-1], rho[k, 0] * path[-1], pm.math.tanh(path[-1])][own]
            before = before + rho[k, 1] * path[-2] if order == 2 else before
            before = before + 0.5 * x[k - 1][-1] if cross and k else before
            now.append(family(f"x{k}_{t}", before, 0.5 + 0.1 * t if known else scale[k]))
        for path, new in zip(x, now, strict=True):
            path.append(new)
    for k, path in enumerate(x):
        for i in rng.permutation(length)[: int(rng.integers(4, length))]:
            pm.Poisson(f"n{k}_{i}", pm.math.exp(0.2 * path[i]), observed=int(i) % 4)
        pm.Normal(f"missing{k}", path[rng.integers(length)], 1)


@pytest.mark.parametrize("seed", range(40))
def test_random_processes_have_the_density_of_their_vectors(seed):
    with pm.Model() as model:
        a_random_process(seed)
    before = program_of(at_present(model))
    found = unrolled(before, ())
    assert found.linked
    check_vectors(before, found)


def test_a_loop_has_the_posterior_of_the_random_walk():
    with pm.Model() as loop:
        walk()
        one_by_one = pm.sample(500, chains=2, random_seed=1, progressbar=False).posterior
    with pm.Model():
        scale = pm.HalfNormal("scale", 1)
        x = pm.GaussianRandomWalk("x", sigma=scale, init_dist=pm.Normal.dist(0, 5), shape=T)
        pm.Normal("y", x[1:], 1, observed=DATA[1:])
        at_once = pm.sample(500, chains=2, random_seed=1, progressbar=False).posterior
    assert list(one_by_one.data_vars) == [rv.name for rv in loop.free_RVs]
    np.testing.assert_allclose(one_by_one["scale"], at_once["scale"], rtol=1e-9)
    for t in range(T):
        np.testing.assert_allclose(one_by_one[f"x{t}"], at_once["x"].isel(x_dim_0=t), rtol=1e-6, atol=1e-9)


def test_short_and_protected_processes_stay_as_they_were_written():
    with pm.Model() as model:
        x = pm.Normal("x0", 0, 1)
        for t in range(1, 8):
            x = pm.Normal(f"x{t}", x, 1)
            pm.Cauchy(f"y{t}", x, 1, observed=float(t))
    before = program_of(at_present(model))
    assert unrolled(before, ()).program is before
    with pm.Model() as model:
        walk()
        pm.Exponential("later", pm.math.exp(model["x3"]))
    assert pm.explain(model, protect=["later"]).free[-1] == "later"


def test_the_plan_says_what_became_a_vector():
    with pm.Model() as model:
        walk()
    told = str(pm.explain(model))
    assert 'plate: x0, x1, x2, 12 more follow each other: the entries of "x0 … x14".' in told
    assert "a block-tridiagonal chain of 15 groups of 1 number" in told
