"""A model fitted to other data of the same sizes compiles nothing: data are arguments of programs, not part of them."""

import logging

import jax
import numpy as np
import pytest

import ppl as pm
from ppl.compile.pure import Program
from ppl.graph import digest
from ppl.rewrites import optimize
from ppl.samplers import PROGRAMS
from ppl.tensor.core.structural import is_structural

FEW = {"draws": 20, "tune": 20, "chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}


def fixed(name, value):
    return value


def student_schools(rng, data):
    """Observations and their scales; folding makes one number of the logarithms of all scales."""
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.StudentT("y", 4, theta, data("scale", rng.uniform(9, 18, 8)), observed=data("seen", rng.normal(8, 10, 8)))


def grouped_counts(rng, data):
    """Groups of sizes that differ from data to data, in tables of places."""
    groups = np.concatenate([np.arange(20), rng.integers(0, 20, 380)])
    effects = pm.Normal("effects", pm.Normal("m"), pm.HalfNormal("s", 1), shape=20)
    pm.Poisson("y", pm.math.exp(effects[data("group", groups)]), observed=data("seen", rng.poisson(3, 400)))


def grouped_rows(rng, data):
    effects = pm.Normal("effects", pm.Normal("m", 0, 5), pm.HalfNormal("t", 2), shape=8)
    slope, sigma = pm.Normal("slope", 0, 3), pm.HalfNormal("sigma", 3)
    mean = effects[np.repeat(np.arange(8), 6)] + slope * data("x", rng.normal(size=48))
    pm.Normal("y", mean, sigma, observed=data("seen", rng.normal(size=48)))


def yes_and_no(rng, data):
    """Truth values."""
    linear = pm.Normal("a") + pm.math.dot(data("X", rng.normal(size=(50, 5))), pm.Normal("b", 0, 1, shape=5))
    pm.Bernoulli("y", logit_p=linear, observed=data("seen", rng.integers(0, 2, 50)))


def other_priors(rng, data):
    """Numbers of priors count as numbers, too."""
    mu, sigma = pm.Normal("mu", *rng.uniform(1.1, 1.9, 2)), pm.HalfNormal("sigma", rng.uniform(5, 9))
    pm.Laplace("y", mu, sigma, observed=data("seen", rng.normal(size=20)))


CASES = [
    (student_schools, False), (student_schools, True), (grouped_counts, False), (grouped_rows, False),
    (yes_and_no, False), (other_priors, False),
]  # fmt: skip


def compilations(build, seed, data, rewrite):
    """How many programs a run compiles."""
    before = PROGRAMS.compilations
    with pm.Model():
        build(np.random.default_rng(seed), data)
        pm.sample(rewrite=rewrite, random_seed=1, **FEW)
    return PROGRAMS.compilations - before


@pytest.mark.parametrize(("build", "rewrite"), CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_other_data_compile_nothing(build, rewrite, caplog):
    caplog.set_level(logging.CRITICAL)
    compilations(build, 0, fixed, rewrite)
    assert [compilations(build, seed, fixed, rewrite) for seed in (1, 2)] == [0, 0]
    compilations(build, 0, pm.Data, rewrite)
    assert [compilations(build, seed, pm.Data, rewrite) for seed in (1, 2)] == [0, 0]


def density(build, seed):
    with pm.Model() as model:
        build(np.random.default_rng(seed), fixed)
    return Program(model.value_vars, optimize([model.logp()]))


def value(program, point, data):
    with jax.enable_x64(True):
        return float(program(point, *data)[0])


@pytest.mark.parametrize("build", [student_schools, yes_and_no, other_priors], ids=lambda x: x.__name__)
def test_programs_of_other_data_have_one_key_and_each_its_own_values(build):
    first, second = density(build, 0), density(build, 1)
    assert first.key == second.key and digest(first.outputs) != digest(second.outputs)
    point = [np.full(v.type.shape, 0.3) for v in first.inputs]
    for program in (first, second):
        swapped = first if program is second else second
        assert value(swapped, point, program.data) == value(program, point, program.data)
    assert value(first, point, first.data) != value(second, point, second.data)


@pytest.mark.parametrize(
    ("value", "structural"),
    [
        (2.0, True), (-0.5, True), (np.inf, True), (0.3, False), (17.0, False), (17, True), (True, True),
        (np.ones(5), True), (np.ones(5, bool), True), (np.array([True, False]), False), (np.full(5, 0.3), False),
        (np.arange(5), False), (np.zeros((0, 3)), True), (np.full(3, np.nan), False),
    ],
)  # fmt: skip
def test_numbers_are_arguments_and_facts_are_not(value, structural):
    assert is_structural(np.asarray(value)) is structural


def test_facts_stay_in_the_program():
    """Weights that are all one are another program than weights that are not."""
    x = pm.tensor.dvector("x")
    keys = {Program([x], [pm.math.sum(x * weights)]).key for weights in (np.ones(3), np.array([1.0, 2.0, 7.0]))}
    assert len(keys) == 2
