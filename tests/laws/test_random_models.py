"""Random models: what rewriting makes of them is exact, marginal and recovery, at every point."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from exact_elimination import both_sides, brute_force
from random_models import Models, built

import ppl
from ppl.model.posterior.rewriting import program_of

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def check(seed: int, compound: bool = False) -> tuple[set[str], bool]:
    """The rules that fired on a random model, and whether brute force could follow."""
    text = Models(np.random.default_rng(seed)).draw(compound)
    model = built(text)
    before, plan = program_of(model), ppl.explain(model)
    told = f"seed {seed}\n{text}\n{plan}"
    sides = both_sides(before, plan.program, seed)
    assert np.array_equal(np.isfinite(sides.joint), np.isfinite(sides.product)), f"{told}\n{sides}"
    usual = np.isfinite(sides.joint)
    np.testing.assert_allclose(sides.product[usual], sides.joint[usual], rtol=1e-8, atol=1e-8, err_msg=told)
    summed = brute_force(before, plan.program, seed)
    if summed is not None:
        np.testing.assert_allclose(*summed, rtol=1e-6, atol=1e-6, err_msg=told)
    return {step.rule for step in plan.steps}, summed is not None


def check_all(seeds, **form) -> tuple[Counter, int]:
    rules: Counter = Counter()
    followed = 0
    for seed in seeds:
        fired, by_force = check(seed, **form)
        rules.update(fired)
        followed += by_force
    return rules, followed


@pytest.mark.parametrize("models", [15, pytest.param(140, marks=pytest.mark.slow)])
def test_random_models(models):
    rules, followed = check_all(range(models))
    assert followed >= models // 5, "brute force follows too few models to mean anything"
    for rule in ("no observed descendants", "enumeration", "Gaussian block", "conjugate"):
        assert rules[rule] >= models // 20, f"{rule} fired {rules[rule]} times in {models} models"


def test_rows_with_latents_of_their_own_among_other_things():
    rules, _ = check_all(range(8), compound=True)
    assert rules["compound distribution"] >= 4


def test_a_switch_that_takes_one_label_out_of_a_stack_of_them():
    assert "enumeration" in check(3063, compound=True)[0]


@pytest.mark.slow
def test_a_hundred_models_of_rows_with_latents_of_their_own():
    rules, _ = check_all(range(3000, 3100), compound=True)
    assert rules["compound distribution"] >= 50


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_a_thousand_models(block):
    check_all(range(1000 + 100 * block, 1100 + 100 * block))
