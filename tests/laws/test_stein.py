"""Draws of rewritten models satisfy Stein's identities and detailed balance under the model as written."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import proof_models
import pytest
import random_models
import stein
from some_slow import some_slow

import ppl as pm

RUN = {"draws": 1500, "tune": 1000, "chains": 4, "random_seed": 11}
LIMIT = 5.5  # standard errors, of some ten thousand identities in all: one in ten million by chance, were they normal
RANDOM = [(seed, rows) for seed in range(16) for rows in (32, 60, 151)]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROOF = {
    name: make
    for name, make in vars(proof_models).items()
    if callable(make) and getattr(make, "__module__", "") == "proof_models" and not isinstance(make, type)
    and make.__code__.co_argcount == 0 and not name.startswith("_")
}  # fmt: skip


def check(model, **options):
    found = stein.scores(model, **RUN | options)
    assert found, "no identity was looked at"
    worst = max(found, key=found.get)
    assert found[worst] < LIMIT, f"{worst}: off by {found[worst]:.1f} standard errors\n{pm.explain(model)}"


def test_a_wrong_density_is_found():
    """The oracle has teeth: draws of a posterior whose rows were counted twice."""
    with pm.Model() as right:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu, sigma, observed=[1.2, 0.4, 2.1])
    with pm.Model() as wrong:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu, sigma, observed=[1.2, 0.4, 2.1, 1.2, 0.4, 2.1])
    check(right)
    result = pm.sample(model=wrong, progressbar=False, quiet=True, idata_kwargs={"include_transformed": True}, **RUN)
    columns = [np.asarray(result.posterior[v.name]) for v in right.value_vars]
    assert max(stein._of_gradients(right, list(right.value_vars), columns).values()) > LIMIT


@pytest.mark.parametrize("name", some_slow(sorted(PROOF), fast=lambda name: name == "eight_schools"))
def test_proof_models(name):
    check(PROOF[name]())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    "schools radon regression iid pumps rats counts votes election slopes coal nile rates process latent loop".split(
        " "
    ),
)
def test_benchmark_models(name):
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from rewrites_models import MODELS
    finally:
        sys.path.remove(str(BENCHMARKS))
    with pm.Model() as model:
        MODELS[name](pm)
    check(model)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "rows"), RANDOM)
def test_random_models_of_many_rows(seed, rows):
    """From 32 rows on these are compacted."""
    check(random_models.built(random_models.Models(np.random.default_rng(seed), rows).draw(), rows))
