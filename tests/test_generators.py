"""NumPy's generators in graphs, as PyTensor's programs have them, and draws of `ppl.tensor.random` with a density."""

import inspect

import numpy as np
import pytest
from ppl.tensor.random.type import random_generator_type
from scipy import stats
from test_random_streams import CONTINUOUS, DISCRETE

import ppl
import ppl as pm
import ppl.tensor as tt


def generator(seed=1):
    return np.random.default_rng(seed)


def test_a_shared_generator_moves_by_its_update_alone():
    rng = ppl.shared(generator(), name="rng")
    after, x = tt.random.normal(2.0, 1.0, size=3, rng=rng).owner.outputs
    still = ppl.function([], x)
    assert np.array_equal(still(), still())
    moving = ppl.function([], x, updates={rng: after})
    first, second = moving(), moving()
    assert not np.array_equal(first, second)
    rng.set_value(generator())
    assert np.array_equal(moving(), first) and np.array_equal(moving(), second)
    assert isinstance(rng.get_value(), np.random.Generator)


def test_draws_one_after_another_differ_and_those_of_one_state_do_not():
    rng = ppl.shared(generator())
    after, x = tt.random.normal(rng=rng).owner.outputs
    _, y = tt.random.normal(rng=after).owner.outputs
    a, b, c = ppl.function([], [x, y, pm.Normal.dist(0, 1, rng=rng)])()
    assert a != b and a == c


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_an_input_takes_a_generator_which_moves_if_it_may(trusted, kind):
    rng, size = random_generator_type("rng"), tt.tensor("size", shape=(1,), dtype="int64")
    x = tt.random.gamma(2.0, scale=3.0, size=size, rng=rng)
    given = lambda **how: ppl.function([size, ppl.In(rng, **how)], x, trust_input=trusted)
    copied, moved, source, five = given(), given(mutable=True), kind(3), np.array([5])
    assert np.array_equal(copied(five, source), copied(five, source))
    first = moved(five, source)
    assert first.shape == (5,) and not np.array_equal(first, moved(five, source))
    assert np.array_equal(first, moved(five, kind(3)))


def test_a_generator_of_numpy_is_no_part_of_a_graph():
    with pytest.raises(TypeError, match=r"random\.normal: rng= is a tensor, got Generator.*ppl\.shared\(generator\)"):
        tt.random.normal(rng=generator())
    with pytest.warns(UserWarning, match="rng= has no effect"):
        pm.Normal.dist(0, 1, rng=generator())


def test_a_seed_of_pm_draw_comes_before_a_generator():
    x = tt.random.normal(rng=ppl.shared(generator()))
    y = tt.random.normal()
    assert pm.draw(x, random_seed=1) == pm.draw(x, random_seed=1) != pm.draw(x, random_seed=2)
    assert pm.draw(y, random_seed=1) == pm.draw(y, random_seed=1) != pm.draw(y, random_seed=2)


NAMES = {"truncexpon", "gengamma", "rayleigh", "truncated_normal", "randint"}  # which are no families of PyMC


@pytest.mark.parametrize("law", sorted((CONTINUOUS.keys() | DISCRETE.keys()) - NAMES))
def test_a_draw_has_the_density_of_its_law(law):
    parameters, oracle = (CONTINUOUS | DISCRETE)[law]
    if law.startswith("half"):
        parameters, oracle = (0.0, 2.0), {"halfnormal": stats.halfnorm, "halfcauchy": stats.halfcauchy}[law](0, 2)
    value = np.round(oracle.median()) if law in DISCRETE else oracle.median() + 0.1
    wanted = oracle.logpmf(value) if law in DISCRETE else oracle.logpdf(value)
    x = getattr(tt.random, law)(*parameters)
    assert pm.logp(x, value).eval() == pytest.approx(wanted, rel=1e-9)
    assert len(x.owner.outputs) == 2 or law in ("halfcauchy", "weibull")  # which PyTensor has no operation for
    assert getattr(tt.random, law)(*parameters, size=(2, 3)).eval().shape == (2, 3)


def test_a_half_law_that_begins_elsewhere_is_drawn_without_a_density():
    assert tt.random.halfnormal(1.0, 2.0).eval() >= 1.0
    with pytest.raises(TypeError, match="depends on no draw"):
        pm.logp(tt.random.halfnormal(1.0, 2.0), 1.5)


def test_a_custom_law_may_be_written_by_random_tensors():
    with pm.Model() as model:
        pm.CustomDist("x", 1.0, dist=lambda mu, size: tt.exp(tt.random.normal(mu, 2.0, size=size)), observed=[1.0, 3.0])
    wanted = stats.lognorm(2.0, scale=np.exp(1.0)).logpdf([1.0, 3.0]).sum()
    assert model.point_logps(round_vals=9)["x"] == pytest.approx(wanted, abs=1e-8)


def test_a_seed_of_the_module_makes_draws_repeatable():
    seeds = inspect.getmodule(tt.random.seed)._seeds
    try:
        drawn = []
        for _ in range(2):
            tt.random.seed(4)
            drawn.append(ppl.function([], [tt.random.normal(), tt.random.normal()])())
        assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]
    finally:
        seeds.seed = None
