"""Variables that a loop wrote one by one become the entries of one: the same joint density, entry by entry."""

import numpy as np
import pytest
from vectors_of_loops import check_vectors

import ppl as pm
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.model.posterior.snapshot import at_present
from ppl.rewrites.plates.loops_as_plates import stacked

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(0)
DATA = [RNG.normal(size=3 + i % 3) for i in range(12)]
COUNTS = [RNG.poisson(3, size=2) for _ in range(12)]


def numbers():
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 2)
    for i in range(8):
        theta = pm.Normal(f"theta{i}", mu, tau)
        pm.Normal(f"y{i}", theta, 1.0 + i, observed=float(i))


def rows_of_any_length():
    scale = pm.HalfNormal("scale", 1)
    for i, y in enumerate(DATA):
        level = pm.StudentT(f"level{i}", 4, 0.1 * i, scale)
        pm.Laplace(f"y{i}", level, scale, observed=y)


def regressions():
    mu = pm.Normal("mu", 0, 1)
    for i, y in enumerate(DATA):
        a, b = pm.Normal(f"a{i}", mu, 1), pm.Normal(f"b{i}", 0, 2)
        pm.Deterministic(f"line{i}", a + b * y)
        pm.Bernoulli(f"y{i}", logit_p=a + b * np.cos(y), observed=y > 0)


def two_levels():
    scale = pm.Exponential("scale", 1)
    towns = [pm.Gamma(f"town{i}", 2 + i, scale) for i in range(4)]
    for i in range(12):
        house = pm.Gamma(f"house{i}", 3, towns[i // 3])
        pm.Poisson(f"y{i}", house, observed=COUNTS[i])


def matches():
    """Each observation uses two entries of one vector, in any order, and none in the order of the other."""
    attack = [pm.Normal(f"attack{i}", 0, 1) for i in range(6)]
    defence = [pm.Normal(f"defence{i}", 0, 1) for i in range(6)]
    home = pm.Normal("home", 0, 1)
    for k, (i, j) in enumerate(RNG.integers(0, 6, (20, 2))):
        pm.Poisson(f"goals{k}", pm.math.exp(home + attack[i] - defence[j]), observed=k % 4)


def one_row_for_all():
    x = pm.Data("x", np.arange(5.0))
    noise = pm.HalfNormal("noise", 1)
    for i in range(6):
        slope = pm.Normal(f"slope{i}", 0, 1)
        pm.Normal(f"y{i}", slope * x, noise, observed=np.arange(5.0) * i)


def vectors_of_coefficients():
    """Each taken whole, by a matrix, and by its entries."""
    common = pm.Normal("common", 0, 1, shape=3)
    for i, y in enumerate(DATA):
        x = RNG.normal(size=(len(y), 3))
        beta = pm.Normal(f"beta{i}", common, 1.0 + i, shape=3)
        pm.Normal(f"y{i}", pm.math.dot(x, beta) + pm.math.dot(x, common), pm.math.exp(beta[-1]), observed=y)


def vectors_of_several_lengths():
    tau = pm.HalfNormal("tau", 1)
    for i, y in enumerate(DATA):
        at = pm.Laplace(f"at{i}", 0, tau, shape=len(y))
        pm.Cauchy(f"y{i}", at * 2, 1 + i, observed=y)


def data_that_may_change():
    for i in range(5):
        y = pm.Data(f"data{i}", np.arange(3.0) + i)
        size = pm.HalfNormal(f"size{i}", 1)
        pm.Normal(f"y{i}", 0, size, observed=y)


def potentials():
    for i in range(5):
        x = pm.Normal(f"x{i}", 0, 1)
        pm.Potential(f"p{i}", -(x**4) * (i + 1))


def entries_of_what_is_a_vector_already():
    x, table = pm.Normal("x", 0, 1, shape=20), pm.Normal("table", 0, 1, shape=(5, 4))
    for i in range(20):
        pm.Poisson(f"y{i}", pm.math.exp(x[i] * table[i % 5, i // 5]), observed=i % 3)
        pm.Cauchy(f"last{i}", x[-1 - i], 1, observed=0.1 * i)


def the_same_written_twice():
    for name in "ab":
        x = pm.Normal(name, 0, 1)
        for i in range(6):
            pm.Poisson(f"{name}{i}", pm.math.exp(x + i), observed=i)


def labels():
    p, low = pm.Beta("p", 2, 2), pm.Normal("low", 0, 1)
    for i in range(6):
        z = pm.Bernoulli(f"z{i}", p)
        pm.Normal(f"y{i}", pm.math.switch(z, 2.0, low), 1, observed=float(i))


def the_same_data_again():
    noise = pm.HalfNormal("noise", 1)
    for i in range(5):
        pm.Normal(f"y{i}", 0, noise, observed=[1.0, 2.0])


def nothing_observed():
    tau = pm.HalfNormal("tau", 1)
    for i in range(5):
        pm.Normal(f"x{i}", i, tau)


# How many vectors of variables there are, and how many factors are left.
MODELS = {
    numbers: (1, 4),
    rows_of_any_length: (1, 3),
    regressions: (2, 4),
    two_levels: (2, 4),
    matches: (2, 4),
    one_row_for_all: (1, 3),
    vectors_of_coefficients: (1, 3),
    vectors_of_several_lengths: (1, 3),
    data_that_may_change: (1, 2),
    potentials: (1, 2),
    entries_of_what_is_a_vector_already: (0, 4),
    the_same_written_twice: (0, 4),
    labels: (1, 4),
    the_same_data_again: (0, 2),
    nothing_observed: (1, 2),
}


@pytest.mark.parametrize("build", MODELS, ids=lambda f: f.__name__)
def test_vectors_have_the_joint_density_of_their_entries(build):
    with pm.Model() as model:
        build()
    before = program_of(at_present(model))
    found = stacked(before, ())
    assert (len(found.members), len(found.program.factors)) == MODELS[build]
    assert found.program.variables == before.variables | set(found.members)
    check_vectors(before, found)


def test_what_is_used_one_by_one_stays_as_it_was_written():
    with pm.Model() as model:
        mean, x = pm.Normal("mean", 0, 1), [pm.Normal(f"x{i}", 0, 1) for i in range(8)]
        for i in range(6):  # the last two have other children
            pm.Cauchy(f"y{i}", x[i], 1, observed=float(i))
        pm.Cauchy("together", x[6] * x[7] + mean, 1, observed=1.0)
    found = stacked(program_of(at_present(model)), ())
    assert [[rv.name for rv in each] for each in found.members.values()] == [[f"x{i}" for i in range(6)]]


def test_a_chain_of_variables_is_no_vector():
    with pm.Model() as model:
        x = pm.Normal("x0", 0, 1)
        for i in range(8):
            x = pm.Normal(f"x{i + 1}", x, 1)
            pm.Cauchy(f"y{i}", x, 1, observed=float(i))
    before = program_of(at_present(model))
    assert stacked(before, ()).program is before


def test_protected_variables_and_those_that_must_go_are_not_entries():
    with pm.Model() as model:
        numbers()
    assert pm.explain(model, protect=["theta3"]).free == ("mu", "tau", "theta3")
    assert "theta3" in str(pm.explain(model, eliminate=["theta3"]))


def test_counts_that_stay_are_moved_one_by_one():
    with pm.Model() as model:
        for i in range(4):
            n = pm.Poisson(f"n{i}", 5)
            pm.Normal(f"y{i}", n**2, 1, observed=20.0)
    assert pm.explain(model).free == ("n0", "n1", "n2", "n3")


def test_the_plan_says_what_became_a_vector():
    with pm.Model() as model:
        rows_of_any_length()
    told = str(pm.explain(model))
    assert 'plate: level0, level1, level2, 9 more are alike: the entries of "level0 … level11".' in told


def test_values_of_the_model_serve_where_they_may_not_move():
    with pm.Model() as model:
        regressions()
    point = {value.name: 0.1 * i for i, value in enumerate(model.value_vars)}
    assert model.compile_logp(rewrite=True)(point) == pytest.approx(model.compile_logp()(point), rel=1e-12)


def test_starts_of_entries_are_starts_of_the_vector():
    with pm.Model() as model:
        two_levels()
    posterior = rewritten(model, protect=["scale"])
    start = posterior.start({"town2": 7.0})
    assert sorted(start) == ["scale_log__", "town0 … town3_log__"]
    assert start["town0 … town3_log__"][2] == pytest.approx(np.log(7.0))
    assert [list(names) for names in posterior.entries.values()] == [["town0", "town1", "town2", "town3"]]


def test_a_loop_has_the_posterior_of_the_vector_with_an_index():
    with pm.Model() as loop:
        rows_of_any_length()
    with pm.Model(coords={"group": range(12)}):
        scale = pm.HalfNormal("scale", 1)
        level = pm.StudentT("level", 4, 0.1 * np.arange(12), scale, dims="group")
        owner = np.repeat(np.arange(12), [len(y) for y in DATA])
        pm.Laplace("y", level[owner], scale, observed=np.concatenate(DATA))
        one = pm.sample(500, tune=500, chains=2, random_seed=1, progressbar=False).posterior
    with loop:
        results = pm.sample(500, tune=500, chains=2, random_seed=1, progressbar=False)
    many = results.posterior
    assert list(many.data_vars) == ["scale", *[f"level{i}" for i in range(12)]]
    np.testing.assert_array_equal(many["scale"], one["scale"])
    for i in range(12):
        np.testing.assert_allclose(many[f"level{i}"], one["level"].sel(group=i), rtol=1e-12, atol=1e-15)


def a_random_loop(seed):
    """Two levels of variables, some vectors, and observations that use any of them in any order."""
    rng = np.random.default_rng(seed)
    n, length = int(rng.integers(4, 7)), int(rng.integers(1, 4))
    level, spread = pm.Normal("level", 0, 1), pm.HalfNormal("spread", 1)
    numbers_in_upper = rng.random() < 0.6
    order, reach = rng.permutation(n), rng.integers(0, n, 2 * n)
    kind, link, observe = rng.integers(0, 4), rng.integers(0, 4), rng.integers(0, 3)
    alone = rng.random() < 0.2
    upper, lower = [], []
    for i in range(n):
        shape = () if numbers_in_upper else (length,)
        law = [pm.Normal, pm.Laplace, pm.Gumbel, pm.Logistic][kind]
        upper.append(law(f"upper{i}", level * (i + 1.0), spread, shape=shape))
    for i in range(n):
        parent = upper[order[i]] if numbers_in_upper else upper[order[i]][-1]
        if link == 0:
            lower.append(pm.Gamma(f"lower{i}", 2.0, pm.math.exp(parent) + 0.5))
        elif link == 1:
            lower.append(pm.LogNormal(f"lower{i}", parent, spread))
        else:
            lower.append(pm.Exponential(f"lower{i}", 1.0))
    for k in range(2 * n):
        a, b = upper[reach[k]], lower[k % n]
        x = rng.normal(size=(int(rng.integers(1, 4)), length))
        at = a if numbers_in_upper else pm.math.dot(x, a)
        rows = len(x) if observe or not numbers_in_upper else None
        y = rng.normal() if rows is None else rng.normal(size=rows)
        if observe == 2:
            pm.Potential(f"y{k}", -(pm.math.sqr(y - at) + 1.0) * b)
        else:
            pm.Normal(f"y{k}", pm.math.tanh(at) + k, b, observed=y)
    if alone:
        pm.Normal("alone", lower[0], 1, observed=0.5)


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_have_the_density_of_their_vectors(seed):
    with pm.Model() as model:
        a_random_loop(seed)
    before = program_of(at_present(model))
    found = stacked(before, ())
    if found.program is before:
        pytest.skip("what is used one by one leaves too few that are alike")
    check_vectors(before, found)
