"""Laws that hold for every rule, with no line of test code for any one of them."""

from __future__ import annotations

import inspect
import itertools
import re
import zlib

import mpmath
import numpy as np
import pytest
from high_precision import NoTruthError, UndefinedError, truth
from rule_cases import case, gradients, run, values_for

from ppl.rewrites import Trace, everything, strict
from ppl.rewrites.book import Book
from ppl.rewrites.facts import CONDITIONS
from ppl.rewrites.lower import lowered
from ppl.rewrites.rule import Equation, Procedure, Safety
from ppl.rewrites.simplify import normal_forms

EXAMPLES = [(rule, i) for rule in everything for i in range(len(rule.examples()))]
each_example = pytest.mark.parametrize(("rule", "i"), EXAMPLES, ids=[f"{r.name}-{i}" for r, i in EXAMPLES])
SHAPES = {"vectors": [(3,)], "broadcast": [(3, 1), (2,), ()]}
EDGES = [
    0.0,
    1e-300,
    -1e-300,
    1e-9,
    -1e-9,
    0.5,
    -1.0,
    1.0,
    30.0,
    -30.0,
    800.0,
    -800.0,
    1e200,
    -1e200,
    np.inf,
    -np.inf,
    np.nan,
]
SLACK = {"float64": 1e-11, "float32": 3e-4}


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    monkeypatch.setattr(strict, "check_measure", True)


def book_for(rule) -> Book:
    return everything if rule.safety is Safety.nan_unsafe else everything.safe()


def rewritten(rule, c, trace=None):
    return lowered(normal_forms([c.expression], book_for(rule), trace))[0][0]


def seeded(rule, *more) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr((rule.name, *more)).encode()))


def agree(new, old, slack) -> bool:
    usual = np.isfinite(old)
    scale = 1 + np.abs(np.where(usual, old, 0))
    return bool(
        np.all(np.where(usual, np.abs(np.where(usual, new - np.where(usual, old, 0), 0)) <= slack * scale, True))
    )


@each_example
def test_fires_after_all_others(rule, i):
    trace = Trace()
    rewritten(rule, case(rule.examples()[i]), trace)
    assert rule.name in trace.rules, f"{rule.name} is dead: {trace}"


@each_example
@pytest.mark.parametrize(("shapes", "dtype"), [("vectors", "float32"), ("broadcast", "float64")])
def test_both_sides_have_the_same_value_and_gradient(rule, i, shapes, dtype):
    if dtype == "float32" and i > 0:
        pytest.skip("the smaller dtype is tried on the first example")
    c = case(rule.examples()[i], SHAPES[shapes], dtype)
    new = rewritten(rule, c)
    assert new.type == c.expression.type
    for n in range(2):
        values = values_for(c, seeded(rule, i, shapes, n))
        before, after = run([c.expression, new], c, values)
        assert agree(after, before, SLACK[dtype]), f"{values}: {before} became {after}"
        if c.expression.type.dtype[0] == "f" and np.isfinite(before).all():
            for g_new, g_old in zip(gradients(new, c, values), gradients(c.expression, c, values), strict=True):
                assert agree(g_new, g_old, 10 * SLACK[dtype]), f"gradient at {values}: {g_old} became {g_new}"


def _admitted(condition, value) -> bool:
    if condition is None:
        return True
    fact = condition.fact
    if not np.isfinite(value) or (fact.integer and value != round(value)):
        return False
    inside = fact.low <= value <= fact.high
    return inside and not (value == fact.low and fact.above) and not (value == fact.high and fact.below) and not (
        value == 0 and "nonzero" in fact.marks
    )  # fmt: skip


@each_example
def test_at_the_edges_no_accuracy_is_lost(rule, i):
    c = case(rule.examples()[i])
    if any(x.type.shape or x.dtype == "bool" for x in c.inputs.values()) or c.expression.type.dtype[0] != "f":
        pytest.skip("edges are tried on scalars")
    new = rewritten(rule, c)
    names = list(c.inputs)
    grid = list(itertools.product(*[[v for v in EDGES if _admitted(c.conditions.get(n), v)] for n in names]))
    if len(grid) > 120:
        grid = [grid[j] for j in seeded(rule, i).choice(len(grid), 120, replace=False)]
    for point in grid:
        values = dict(zip(names, map(np.float64, point), strict=True))
        before, after = (float(v) for v in run([c.expression, new], c, values))
        if rule.safety is Safety.exact:
            assert after == before or (np.isnan(after) and np.isnan(before)), f"{values}: {before} became {after}"
            continue
        try:
            exact = float(truth([c.expression], {c.inputs[n]: values[n] for n in names})[0].item())
        except NoTruthError:
            exact = before
        except (UndefinedError, ArithmeticError, ValueError, mpmath.libmp.NoConvergence):
            continue
        if np.isnan(exact):
            continue
        if np.isnan(point).any() or np.isnan(before) or (np.isinf(point).any() and np.isnan(after)):
            continue  # what 1**nan is, or inf**0, is a convention of floats
        if np.isinf(exact) or np.isinf(before):
            assert after in (before, exact) or np.isfinite(after), f"{values}: {before} became {after}"
            if not np.isinf(exact):
                assert abs(after - exact) <= 1e-12 * abs(exact) + 1e-300 or after == before, (
                    f"{values}: {after}, in truth {exact}"
                )
            continue
        near_one = 1e-16 if abs(exact) < 1e-15 else 0.0  # the logarithm of a number next to 1
        allowed = max(abs(before - exact) if np.isfinite(before) else np.inf, 1e-12 * abs(exact), near_one, 1e-300)
        assert abs(after - exact) <= allowed * 4, f"{values}: {before} became {after}, in truth {exact}"


CONDITIONED = [(r, i, name) for r, i in EXAMPLES for name in r.examples()[i].conditions]


@pytest.mark.parametrize(("rule", "i", "name"), CONDITIONED, ids=[f"{r.name}-{i}-{n}" for r, i, n in CONDITIONED])
def test_each_condition_is_needed(rule, i, name):
    """Taken for granted where it does not hold, the condition gives another value; unproved, the rule does not fire."""
    example = rule.examples()[i]
    assumed = case(example)
    trace = Trace()
    new = rewritten(rule, assumed, trace)
    differs = False
    for outsider in example.conditions[name].outsiders or [None]:  # of a matrix with structure: any matrix
        for n in range(20):
            rng = seeded(rule, i, outsider, n)
            values = values_for(assumed, rng)
            for free in sorted(set(values) - set(example.conditions)):
                if values[free].dtype.kind == "f" and values[free].ndim < 2:  # a matrix of equal entries has no inverse
                    values[free] = np.full_like(values[free], rng.choice([0.5, 2.0, 1.5, -1.0]))
            if outsider is None:
                values[name] = rng.normal(size=values[name].shape)
            else:
                some = (rng.random(values[name].shape) < 0.7) | (values[name].ndim == 0)
                values[name] = np.where(some, np.asarray(outsider, values[name].dtype), values[name])
            before, after = run([assumed.expression, new], assumed, values)
            differs |= not np.allclose(before, after, rtol=1e-9, equal_nan=True)
    assert differs, f"without {example.conditions[name]} on {name} the rule would still be right"
    trace = Trace()
    rewritten(rule, case(example, without=[name]), trace)
    assert rule.name not in trace.rules, f"{rule.name} fired without {example.conditions[name]} of {name} being proved"


@pytest.mark.parametrize("rule", everything, ids=[rule.name for rule in everything])
def test_conditions_in_the_code_of_a_rule_are_stated(rule):
    """What its code asks of an operand, an example promises: so the law above has tried what happens without it."""
    code = inspect.getsource(rule.rewrite) if isinstance(rule, Procedure) else ""
    stated = {condition.name for e in rule.examples() for condition in e.conditions.values()}
    implied = {"finite", "nonnegative"} if stated & {"positive", "negative", "at_least_one"} else set()
    asked = set(re.findall(r"(\w+)\.holds\(", code[code.index("def ") :] if code else "")) & set(CONDITIONS)
    assert asked <= stated | implied, f"{rule.name} asks for {asked - stated - implied}, and no example states it"
    if rule.safety is Safety.domain:
        assert stated


@each_example
def test_a_nan_stays_one_unless_the_rule_says_so(rule, i):
    """Where an operand is nan and so is the expression, it stays nan; of a rule that is `nan_unsafe`, not always."""
    example = rule.examples()[i]
    c = case(example)
    floats = [name for name, x in c.inputs.items() if x.dtype[0] == "f"]
    if c.expression.type.dtype[0] != "f" or not floats:
        pytest.skip("no nan can come in or out")
    unsafe = rule.safety is Safety.nan_unsafe
    new = rewritten(rule, c)
    hidden = False
    for name in floats:
        if name in example.conditions:
            continue  # of which it was promised that it is a number
        values = values_for(c, seeded(rule, i, name))
        values[name] = np.full_like(values[name], np.nan)
        before, after = run([c.expression, new], c, values)
        hidden |= bool(np.isnan(before).any() and not np.isnan(after).any())  # a block without it may be known apart
    assert hidden == unsafe, f"{rule.name} is {rule.safety.name}, and a nan {'was' if hidden else 'was not'} hidden"
    assert rule.name in everything
    assert (rule.name in everything.safe()) != unsafe


def test_every_rule_says_its_theorem():
    assert all(rule.doc.endswith((".", "!")) for rule in everything)


def test_equations_are_most_of_the_rules():
    assert sum(isinstance(rule, Equation) for rule in everything) > len(everything) / 3
