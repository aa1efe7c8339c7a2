"""Random expressions: rewriting changes neither values nor gradients beyond rounding, and is done after one time."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest
from high_precision import NoTruthError, UndefinedError, truth
from random_expressions import Expressions

import ppl
import ppl.tensor as tt
from ppl.rewrites import simplify, strict, text
from ppl.rewrites.engine import Engine
from ppl.rewrites.preparation import entries
from ppl.rewrites.simplify import everything, normal_forms
from ppl.tensor import to_jax


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def value_and_slopes(node, inputs):
    given = list(inputs)
    f = to_jax(given, node)
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = [jax.numpy.asarray(v) for v in inputs.values()]
        value, pull = jax.vjp(lambda *xs: f(*xs) + 0.0, *arrays)
        return np.asarray(value), [np.asarray(g) for g in pull(jax.numpy.ones_like(value))]


def condition_number(node, inputs):
    """How far the value moves when inputs move by rounding: no form can do better than that."""
    f = to_jax(list(inputs), node)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        here = np.asarray(f(*inputs.values()))
        moved = [
            np.asarray(f(*[v * (1 + 1e-9 * rng.standard_normal(v.shape)) for v in inputs.values()])) for _ in range(3)
        ]
    return max(float(np.max(np.abs(m - here), initial=0)) for m in moved) / 1e-9


def check(seed, size):
    expressions = Expressions(np.random.default_rng(seed))
    e = expressions.draw(size)
    if e.dtype != "float64":
        return
    new = simplify(e)
    assert new.type == e.type, f"{text(e)}: {e.type} became {new.type}"
    before, slopes = value_and_slopes(e, expressions.inputs)
    after, new_slopes = value_and_slopes(new, expressions.inputs)
    usual = np.isfinite(before) & (np.abs(before) < 1e30)
    if not usual.all():
        return
    gap, rounding = np.abs(after - before), 1e-9 * (1 + np.abs(before))
    if not np.all(gap <= rounding) and not np.all(gap <= rounding + 1e-13 * condition_number(e, expressions.inputs)):
        _compare_with_truth(e, new, expressions.inputs, before, after)
        return
    if all(np.isfinite(g).all() and np.abs(g).max(initial=0) < 1e8 for g in slopes):
        for old, found in zip(slopes, new_slopes, strict=True):
            close = np.all(np.abs(found - old) <= 1e-6 * (1 + np.abs(old)))
            assert close or _at_a_kink(e, expressions.inputs), f"{text(e)}\n→ {text(new)}\n{old} became {found}"


def _compare_with_truth(e, new, inputs, before, after):
    try:
        exact = truth([e], inputs)[0].astype(float)
    except UndefinedError:
        return
    except NoTruthError:
        exact = None
    message = f"{text(e)}\n→ {text(new)}\n{before} became {after}, in truth {exact}"
    assert exact is not None, message
    assert np.all(np.abs(after - exact) <= 2 * np.abs(before - exact) + 1e-12 * np.abs(exact)), message


def _at_a_kink(e, inputs):
    """Whether the gradient jumps right here, as that of abs(x) at 0."""
    moved = {x: v + 1e-7 for x, v in inputs.items()}
    there, here = value_and_slopes(e, moved)[1], value_and_slopes(e, inputs)[1]
    return any(np.max(np.abs(a - b), initial=0) > 1e-3 for a, b in zip(there, here, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_values_and_gradients_stay(seed):
    check(seed, 4 + seed % 12)


def in_a_loop(expressions, e):
    """The values at the given inputs, at others half as large, and again, added up; the first input is held still."""
    _, *others = expressions.inputs
    rows = [tt.stack([x, 0.5 * x, x]) for x in others]
    step = lambda *arguments: arguments[-1] + ppl.clone_replace(e, dict(zip(others, arguments[:-1], strict=True)))
    if not rows:
        return ppl.scan(lambda total: total + e, outputs_info=tt.zeros_like(e), n_steps=3, return_updates=False)[-1]
    return ppl.scan(step, sequences=rows, outputs_info=tt.zeros_like(e), return_updates=False)[-1]


@pytest.mark.parametrize("seed", range(6))
def test_bodies_of_loops_and_gradients_keep_their_values(seed):
    """Both compiled as they stand and rewritten, inside and out."""
    expressions = Expressions(np.random.default_rng(seed))
    e = expressions.draw(4 + seed)
    inputs = list(expressions.inputs)
    slopes = ppl.grad(tt.sum(e), inputs, disconnected_inputs="ignore")
    outputs = [in_a_loop(expressions, e), *slopes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, new = (
            ppl.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*expressions.inputs.values())
            for mode in ("FAST_COMPILE", "FAST_RUN")
        )
    if not all(np.isfinite(each).all() and np.abs(each).max(initial=0) < 1e8 for each in plain):
        return
    for before, after in zip(plain, new, strict=True):
        close = np.all(np.abs(after - before) <= 1e-6 * (1 + np.abs(before)))
        assert close or _at_a_kink(e, expressions.inputs), f"{text(e)}\n{before} became {after}"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_values_and_gradients_stay_in_ten_thousand(block):
    for seed in range(1000 + block * 100, 1100 + block * 100):
        check(seed, 3 + seed % 15)


@pytest.mark.parametrize("seed", range(100))
def test_rewriting_twice_changes_nothing(seed):
    e = Expressions(np.random.default_rng(seed)).draw(4 + seed % 20)
    once = simplify(e)
    assert simplify(once) is once, f"{text(e)}\n→ {text(once)}\n→ {text(simplify(once))}"


def test_the_order_of_rules_does_not_matter():
    plain = entries(everything.safe())
    for seed in range(25):
        rng = np.random.default_rng(seed)
        e = Expressions(rng).draw(12)
        first = normal_forms([e], everything.safe())[0]
        mixed = {op: [rules[i] for i in rng.permutation(len(rules))] for op, rules in plain.items()}
        second = Engine(mixed).run([e])[0]
        assert first is second, f"{text(e)}\n→ {text(first)}\nor {text(second)}"
