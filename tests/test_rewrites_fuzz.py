"""Random expressions: rewriting changes neither values nor gradients beyond rounding, and is done after one time."""

from __future__ import annotations

import warnings

import node_by_node
import numpy as np
import pytest
from high_precision import NoTruthError, UndefinedError, truth
from random_expressions import Expressions

import ppl
import ppl.tensor as tt
from ppl.graph import topological
from ppl.rewrites import simplify, strict, text
from ppl.rewrites.books.simplify import everything, normal_forms
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.preparation import entries
from ppl.rewrites.facts.facts import Knowledge

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def value_and_slopes(node, inputs, asked=None):
    """The entries asked for (all, unless said otherwise), and the slopes of their sum."""
    done = node_by_node.values([node], inputs)
    cotangent = np.ones_like(done[node]) if asked is None else asked.astype(node.dtype)
    return done[node], node_by_node.slopes(node, done, list(inputs), cotangent)


def condition_number(node, inputs):
    """How far the value moves when inputs move by rounding: no form can do better than that."""
    rng = np.random.default_rng(0)
    here = node_by_node.values([node], inputs)[node]
    moves = [{x: v * (1 + 1e-9 * rng.standard_normal(v.shape)) for x, v in inputs.items()} for _ in range(3)]
    moved = [node_by_node.values([node], each)[node] for each in moves]
    return max(float(np.nanmax(np.abs(m - here), initial=0)) for m in moved) / 1e-9


def check(seed, size, structured=False, open=False):
    expressions = Expressions(np.random.default_rng(seed), structured=structured, open=open)
    e = expressions.draw(size)
    if e.dtype != "float64" or (open and _fails(e, expressions.inputs)):
        return
    new = simplify(e)
    assert new.type == e.type, f"{text(e)}: {e.type} became {new.type}"
    compare(e, new, expressions.inputs)


def _fails(e, inputs):
    """Whether lengths that were not known when an expression was built turn out not to fit."""
    try:
        node_by_node.values([e], inputs)
    except (TypeError, ValueError):
        return True
    return False


def compare(e, new, inputs):
    """Every entry that is a number, and every slope of their sum that is one, is the same after rewriting."""
    done = node_by_node.values([e], inputs)
    facts_hold(e, done)
    before = done[e]
    usual = np.isfinite(before) & (np.abs(before) < 1e30)
    before, slopes = value_and_slopes(e, inputs, usual)
    after, new_slopes = value_and_slopes(new, inputs, usual)
    before, after = before[usual], after[usual]
    gap, rounding = np.abs(after - before), 1e-9 * (1 + np.abs(before))
    if not np.all(gap <= rounding) and not np.all(gap <= rounding + 1e-13 * condition_number(e, inputs)):
        _compare_with_truth(e, new, inputs, before, after, usual)
        return
    elsewhere = slopes if usual.all() else value_and_slopes(new, inputs, ~usual)[1]  # 0·nan comes from there
    for old, found, other in zip(slopes, new_slopes, elsewhere, strict=True):
        known = np.isfinite(old) & (np.abs(old) < 1e8) & np.isfinite(other)
        close = np.all(np.abs(found - old)[known] <= 1e-6 * (1 + np.abs(old))[known])
        assert close or _at_a_kink(e, inputs, usual), f"{text(e)}\n→ {text(new)}\n{old} became {found}"


def facts_hold(e, done):
    """What is said to be known of each part of an expression is so, but for what rounding does at the ends."""
    know = Knowledge()
    for node in topological([e]):
        fact, numbers = know(node), np.asarray(done[node], float)
        told = f"{text(node)} is {numbers}, and known as {fact}"
        assert np.all((numbers >= fact.low - 1e-9) | (numbers >= fact.low * (1 + 1e-9)) | np.isnan(numbers)), told
        assert np.all((numbers <= fact.high + 1e-9) | (numbers <= fact.high * (1 + 1e-9)) | np.isnan(numbers)), told
        if fact.integer:
            assert np.all((numbers == np.round(numbers)) | ~np.isfinite(numbers)), told
        if fact.finite and all(np.isfinite(done[x]).all() for x in node.inputs):
            assert not np.isnan(numbers).any(), told


def _compare_with_truth(e, new, inputs, before, after, usual):
    try:
        exact = truth([e], inputs)[0].astype(float)[usual]
    except UndefinedError:
        return
    except NoTruthError:
        exact = None
    message = f"{text(e)}\n→ {text(new)}\n{before} became {after}, in truth {exact}"
    assert exact is not None, message
    assert np.all(np.abs(after - exact) <= 2 * np.abs(before - exact) + 1e-12 * np.abs(exact)), message


def _at_a_kink(e, inputs, usual=None):
    """Whether the gradient jumps right here, as that of abs(x) at 0."""
    moved = {x: v + 1e-7 for x, v in inputs.items()}
    there, here = value_and_slopes(e, moved, usual)[1], value_and_slopes(e, inputs, usual)[1]
    return any(np.max(np.abs(a - b), initial=0) > 1e-3 for a, b in zip(there, here, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_values_and_gradients_stay(seed):
    check(seed, 4 + seed % 12)


@pytest.mark.parametrize("seed", range(30))
def test_values_and_gradients_stay_where_lengths_are_not_known(seed):
    check(seed, 3 + seed % 8, structured=True, open=True)


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
        check(seed, 3 + seed % 15, structured=seed % 2 == 1, open=seed % 6 == 5)


def one_normal_form(seed):
    """The order of the rules is of no consequence, and a second rewriting changes nothing."""
    rng = np.random.default_rng(seed)
    e = Expressions(rng, structured=seed % 4 > 0).draw(4 + seed % 20)
    plain = entries(everything.safe())
    first = normal_forms([e], everything.safe())[0]
    mixed = {op: [rules[i] for i in rng.permutation(len(rules))] for op, rules in plain.items()}
    second = Engine(mixed).run([e])[0]
    assert first is second, f"{seed}: {text(e)}\n→ {text(first)}\nor {text(second)}"
    once = simplify(e)
    twice = simplify(once)
    assert once is twice, f"{seed}: {text(e)}\n→ {text(once)}\n→ {text(twice)}"


@pytest.mark.parametrize("block", range(4))
def test_there_is_one_normal_form(block):
    for seed in range(block * 100, block * 100 + 100):
        one_normal_form(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_there_is_one_normal_form_of_each_of_twenty_thousand(block):
    for seed in range(1000 + block * 1000, 2000 + block * 1000):
        one_normal_form(seed)
