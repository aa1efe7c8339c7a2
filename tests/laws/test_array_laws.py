"""Laws of arrays: whatever a law makes of an expression has the law of the expression, in every projection."""

import jax
import numpy as np
import pytest
from scipy import stats

import ppl.tensor as tt
from ppl.distributions import (
    Bernoulli,
    Dirichlet,
    Exponential,
    Gamma,
    GaussianRandomWalk,
    Geometric,
    Gumbel,
    LogNormal,
    Multinomial,
    MvNormal,
    MvStudentT,
    Normal,
    Poisson,
    Uniform,
    Wishart,
    is_draw,
)
from ppl.distributions.draws.drawing import expand_draws
from ppl.graph import ancestors
from ppl.rewrites.laws import in_law
from ppl.tensor import to_jax
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.tensor import placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

DRAWS = 4000
MU, COV = np.array([0.5, -1.0, 2.0]), np.array([[1.5, 0.4, 0.2], [0.4, 1.0, -0.3], [0.2, -0.3, 0.8]])
P = np.array([0.2, 0.5, 0.3])
WIDE = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])


def normal():
    return MvNormal.dist(MU, COV)


def student():
    return MvStudentT.dist(nu=7.0, mu=MU, scale=COV)


def simplex():
    return Dirichlet.dist([1.5, 0.7, 2.0, 1.1])


def shared_gammas():
    x = Gamma.dist([1.5, 0.7, 2.0], 1.3)
    return x / tt.sum(x)


def rows_of_gammas():
    x = Gamma.dist([1.5, 0.7, 2.0], 1.3, shape=(2, 3))
    return x / tt.sum(x, axis=-1, keepdims=True)


def parts_of(x, *pairs):
    return tt.stack([x[i] + x[j] for i, j in pairs])


def pairs_of_one(x, i, j):
    return x[i] + x[j]


def written_choice(label, x, y):
    return label * x + (1 - label) * y


def neighbors(x):
    return x[1:] - x[:-1]


ARRAYS = {  # what is written, and the family that comes out
    "a wide matrix times a normal vector": (lambda: tt.dot(WIDE, normal()) + MU[:2], "MvNormal"),
    "a row times a normal vector": (lambda: tt.dot([1.0, -2.0, 0.5], normal()), "Normal"),
    "entries of a normal vector": (lambda: normal()[np.array([2, 0])], "MvNormal"),
    "a slice of a normal vector": (lambda: 2.0 * normal()[1:] - 1.0, "MvNormal"),
    "differences of a normal vector": (lambda: neighbors(normal()), "MvNormal"),
    "two entries of a normal vector": (lambda: pairs_of_one(normal(), 0, 2), "Normal"),
    "a wide matrix times independent normals": (lambda: tt.dot(WIDE, Normal.dist(MU, [1.0, 0.5, 2.0])), "MvNormal"),
    "entries of a t vector": (lambda: student()[np.array([2, 0])], "MvStudentT"),
    "a wide matrix times a t vector": (lambda: tt.dot(WIDE, student()), "MvStudentT"),
    "one entry of a t vector": (lambda: student()[1], "StudentT"),
    "two shares": (lambda: pairs_of_one(simplex(), 0, 2), "Beta"),
    "a slice of shares": (lambda: tt.sum(simplex()[1:3]), "Beta"),
    "merged shares": (lambda: parts_of(simplex(), (0, 3), (1, 2)), "Dirichlet"),
    "two cells": (lambda: pairs_of_one(Multinomial.dist(9, P), 0, 2), "Binomial"),
    "merged cells": (lambda: tt.stack([Multinomial.dist(9, P)[0]]), "Binomial"),
    "normal vectors": (lambda: normal() + MvNormal.dist(np.zeros(3), np.eye(3)), "MvNormal"),
    "less a normal vector": (lambda: normal() - MvNormal.dist(MU, np.eye(3)), "MvNormal"),
    "multinomial vectors": (lambda: Multinomial.dist(4, P) + Multinomial.dist(3, P), "Multinomial"),
    "multinomial rows": (lambda: tt.sum(Multinomial.dist(np.array([4, 2]), P, shape=(2, 3)), axis=0), "Multinomial"),
    "Wishart matrices": (lambda: Wishart.dist(4, np.eye(2)) + Wishart.dist(5, np.eye(2)), "Wishart"),
    "Gamma shares": (shared_gammas, "Dirichlet"),
    "Gamma shares in rows": (rows_of_gammas, "Dirichlet"),
    "the first of some waiting times": (lambda: tt.argmin(Exponential.dist([1.0, 2.0, 3.0])), "Categorical"),
    "the largest of Gumbels": (lambda: tt.argmax(Gumbel.dist(0, 1.5, shape=3) + MU), "Categorical"),
    "a product of uniforms": (lambda: -tt.log(tt.prod(Uniform.dist(0.0, 1.0, shape=(2, 3)), axis=1)), "Gamma"),
    "a product of log-normals": (lambda: tt.prod(LogNormal.dist([0.3, 0.5], 0.4)), "LogNormal"),
    "all of several labels": (lambda: tt.prod(Bernoulli.dist([0.7, 0.8, 0.5])), "Bernoulli"),
    "failures": (lambda: tt.sum(Geometric.dist(0.3, shape=4) - 1), "NegativeBinomial"),
    "steps of a walk": (
        lambda: neighbors(GaussianRandomWalk.dist(0.3, 0.7, init_dist=Normal.dist(0, 5), steps=3)),
        "Normal",
    ),
    "a choice as a sum": (
        lambda: written_choice(Bernoulli.dist(0.3), Normal.dist(0, 1), Normal.dist(4, 2)),
        "Normal",
    ),
}


@pytest.fixture(scope="module")
def samples():
    """Of what is written and of what laws make of it, by one program; with the steps, by name."""
    pairs = {}
    for name, (written, _) in ARRAYS.items():
        expression = written()
        pairs[name] = (expression, *in_law(expression))
    key = placeholder(KEY_TYPE, "key")
    with jax.enable_x64(True):
        both = to_jax([key], expand_draws([x for before, after, _ in pairs.values() for x in (before, after)], key))
        keys = np.random.default_rng(1).integers(0, 2**32, (2, DRAWS, 2), dtype=np.uint32)
        run = jax.jit(jax.vmap(both))
        befores, afters = run(keys[0])[::2], run(keys[1])[1::2]
    flat = lambda x: np.asarray(x, dtype=float).reshape(DRAWS, -1)
    return {name: (*pairs[name], flat(b), flat(a)) for name, b, a in zip(pairs, befores, afters, strict=True)}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_law_of_arrays_fires(name):
    written, family = ARRAYS[name]
    expression = written()
    found, steps = in_law(expression)
    assert steps and family in {n.family.__name__ for n in ancestors(found) if is_draw(n)}
    assert found.type.shape == expression.type.shape and found.dtype == expression.dtype


@pytest.mark.slow  # a program that draws 60 laws takes half a minute to compile
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_and_its_law_have_one_law(name, samples):
    """In three directions of the array, each a two-sample test at p > 1e-4, of counts by a chi-squared test."""
    expression, _, _, before, after = samples[name]
    rng = np.random.default_rng(3)
    whole = expression.dtype[0] != "f"
    for direction in [np.ones(before.shape[1]), *rng.integers(-2, 3, (2, before.shape[1]))]:
        a, b = (np.round(x @ direction, 9) for x in (before, after))
        if whole:
            table = np.array([[np.sum(x == v) for v in np.unique(np.concatenate([a, b]))] for x in (a, b)])
            table = table[:, table.sum(axis=0) > 10]
            assert table.shape[1] < 2 or stats.chi2_contingency(table).pvalue > 1e-4
        else:
            assert stats.ks_2samp(a, b).pvalue > 1e-4


REFUSED = {
    "rows that depend on each other": lambda: tt.dot([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]], normal()),
    "weighted shares": lambda: tt.dot([1.0, 2.0, 0.0, 0.0], simplex()),
    "all shares": lambda: tt.sum(simplex()),
    "overlapping cells": lambda: parts_of(Multinomial.dist(9, P), (0, 1), (1, 2)),
    "cells that leave some out": lambda: Multinomial.dist(9, P)[np.array([0, 1])],
    "other probabilities": lambda: Multinomial.dist(4, P) + Multinomial.dist(3, P[::-1].copy()),
    "a difference of counts": lambda: Multinomial.dist(4, P) - Multinomial.dist(3, P),
    "matrices of other scales": lambda: Wishart.dist(4, np.eye(2)) + Wishart.dist(5, 2 * np.eye(2)),
    "rates that differ": lambda: (lambda x: x / tt.sum(x))(Gamma.dist(1.0, [1.0, 2.0])),
    "scales that differ": lambda: tt.argmax(Gumbel.dist(0.0, [1.0, 2.0])),
    "the last waiting time": lambda: tt.argmax(Exponential.dist([1.0, 2.0])),
    "the smallest Gumbel": lambda: tt.argmin(Gumbel.dist([1.0, 2.0], 1.0)),
    "uniforms elsewhere": lambda: tt.prod(Uniform.dist(0.0, 2.0, shape=3)),
    "steps of two": lambda: (lambda x: x[2:] - x[:-2])(
        GaussianRandomWalk.dist(0.3, 0.7, init_dist=Normal.dist(0, 5), steps=3)
    ),
    "two labels": lambda: Bernoulli.dist(0.3) * Normal.dist(0, 1) + (1 - Bernoulli.dist(0.3)) * Normal.dist(4, 2),
    "a sum and its entry": lambda: (lambda x: tt.sum(x) + x[0])(Poisson.dist(1.0, shape=3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_law_says_stays(name):
    assert in_law(REFUSED[name]())[1] == []
