"""Laws that hold for every rule, with no line of test code for any one of them."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
import zlib

import mpmath
import numpy as np
import pytest
from high_precision import NoTruthError, UndefinedError, true_slopes, truth
from rule_cases import case, gradients, run, values_for

from ppl.graph import ancestors
from ppl.rewrites import Trace, books, everything, strict
from ppl.rewrites.books.simplify import normal_forms
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.rule import Equation, Procedure, Rule, Safety
from ppl.rewrites.facts.facts import CONDITIONS
from ppl.rewrites.sharing.lower import lowered

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

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
UNKNOWN = (NoTruthError, UndefinedError, ArithmeticError, ValueError, mpmath.libmp.NoConvergence)
ANY = 100  # operations, of a rule that does not look at which one it is


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    monkeypatch.setattr(strict, "check_measure", True)


def test_every_rule_stands_in_a_book():
    """A rule that is written and not entered in the book at the foot of its file is never tried."""
    modules = [importlib.import_module(f"{books.__name__}.{m.name}") for m in pkgutil.iter_modules(books.__path__)]
    written = {name for module in modules for name, value in vars(module).items() if isinstance(value, Rule)}
    assert len(written) > 100 and written - {rule.name for rule in everything} == set()


def book_for(rule) -> Book:
    return everything if rule.safety is Safety.nan_unsafe else everything.safe()


def rewritten(rule, c, trace=None):
    return lowered(normal_forms([c.expression], book_for(rule), trace))[0][0]


def seeded(rule, *more) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr((rule.name, *more)).encode()))


@each_example
def test_fires_after_all_others(rule, i):
    trace = Trace()
    rewritten(rule, case(rule.examples()[i]), trace)
    assert rule.name in trace.rules, f"{rule.name} is dead: {trace}"


KINDS = [("broadcast", "float64"), ("vectors", "float32")]


def _kinds_of_each_example():
    """The first example of a rule in both kinds, further ones in turn; the others are for the slow suite."""
    for rule, i in EXAMPLES:
        for at, (shapes, dtype) in enumerate(KINDS):
            marks = [pytest.mark.slow] if i and at != i % 2 else []
            yield pytest.param(rule, i, shapes, dtype, marks=marks, id=f"{rule.name}-{i}-{dtype}")


@pytest.mark.parametrize(("rule", "i", "shapes", "dtype"), list(_kinds_of_each_example()))
def test_both_sides_have_the_same_value_and_gradient(rule, i, shapes, dtype):
    """That with 80 digits where there is one, else that of the left side; or nearer to it than the left side is."""
    c = case(rule.examples()[i], SHAPES[shapes], dtype)
    new = rewritten(rule, c)
    assert new.type == c.expression.type
    for n in range(2):
        values = values_for(c, seeded(rule, i, shapes, n))
        before, after = run([c.expression, new], c, values)
        if before.dtype.kind != "f":
            assert np.array_equal(before, after), f"{values}: {before} became {after}"
            continue
        exact = true_values(c, values, before, digits=80)
        assert agree(after, before, exact, SLACK[dtype]), f"{values}: {before} became {after}, in truth {exact}"
        if not np.isfinite(before).all():
            continue
        old_slopes, new_slopes = (gradients(node, c, values) for node in (c.expression, new))
        names = [name for name, x in c.inputs.items() if x.dtype[0] == "f"]
        exact_slopes = known_slopes(c, values, names, old_slopes)
        for name, old, found, slope in zip(names, old_slopes, new_slopes, exact_slopes, strict=True):
            told = f"gradient by {name} at {values}: {old} became {found}, in truth {slope}"
            assert agree(found, old, slope, 10 * SLACK[dtype]), told


def by_input(c, values):
    return {x: values[name] for name, x in c.inputs.items()}


def true_values(c, values, otherwise, digits=700):
    """The expression's values with many digits, as floats; where they cannot be found, what floats say."""
    try:
        return truth([c.expression], by_input(c, values), digits, partial=True)[0].astype(float)
    except UNKNOWN:
        return otherwise


def known_slopes(c, values, names, otherwise):
    try:
        return true_slopes(c.expression, by_input(c, values), [c.inputs[name] for name in names])
    except UNKNOWN:
        return otherwise


def agree(new, old, exact, slack) -> bool:
    """Whether each entry is as near to the truth as rounding allows, or as the old one was."""
    exact = np.where(np.isnan(exact), old, exact)
    usual = np.isfinite(old) & np.isfinite(exact)
    new, old, exact = new[usual], old[usual], exact[usual]
    near = np.abs(new - exact) <= slack * (1 + np.abs(exact))
    return bool(np.all(near | (np.abs(new - exact) <= 2 * np.abs(old - exact))))


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


def edge_points(c, rng, count):
    """Values at the edges of what is allowed: of scalars all combinations (or some), of arrays some entries; there no
    huge ones, beside which any order of adding loses the others."""
    names = list(c.inputs)
    allowed = {n: [v for v in EDGES if _admitted(c.conditions.get(n), v)] for n in names}
    if not any(x.type.shape or x.dtype[0] != "f" for x in c.inputs.values()):
        grid = list(itertools.product(*allowed.values()))
        chosen = range(len(grid)) if len(grid) <= count else rng.choice(len(grid), count, replace=False)
        return [dict(zip(names, map(np.float64, grid[j]), strict=True)) for j in chosen]
    points = []
    for _ in range(count // 4):
        values = values_for(c, rng)
        for name, x in c.inputs.items():
            if x.dtype[0] == "f":
                moderate = [v for v in allowed[name] if not 100 < abs(v) < np.inf]
                extreme = rng.random(values[name].shape) < 0.4
                values[name] = np.where(extreme, rng.choice(moderate, extreme.shape), values[name]).astype(x.dtype)
        points.append(values)
    return points


@each_example
def test_at_the_edges_no_accuracy_is_lost(rule, i):
    c = case(rule.examples()[i])
    new = rewritten(rule, c)
    matrices = any(node.op.name in OF_MATRICES for node in ancestors(c.expression))
    points = scaled_points if matrices else edge_points
    for values in points(c, seeded(rule, i), 120):
        before, after = run([c.expression, new], c, values)
        if rule.safety is Safety.exact or c.expression.type.dtype[0] != "f":
            assert np.array_equal(before, after, equal_nan=before.dtype.kind == "f"), (
                f"{values}: {before} became {after}"
            )
            continue
        if matrices:
            largest = np.max(np.abs(before), initial=0, where=np.isfinite(before))
            assert np.allclose(after, before, rtol=1e-8, atol=1e-8 * largest, equal_nan=True), f"{values}"
            continue
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        if same.all():
            continue
        if any(np.isnan(v).any() for v in values.values()):
            continue  # what 1**nan is, or nan**0, is a convention of floats
        exact = true_values(c, values, before)
        infinite = any(np.isinf(v).any() for v in values.values())
        for old, found, wanted in zip(before[~same], after[~same], exact[~same], strict=True):
            told = f"{values}: {old} became {found}, in truth {wanted}"
            assert accurate(old, found, wanted, infinite), told


def accurate(old, found, wanted, infinite, slack=1e-12) -> bool:
    """Whether a value is as near to the truth as the old one was, or nearer."""
    if np.isnan(wanted) or np.isnan(old) or (infinite and np.isnan(found)):
        return True  # what inf**0 is, or 0 times inf, is a convention too
    if np.isinf(wanted):
        return found == wanted or np.isfinite(found)
    if np.isinf(old):
        return abs(found - wanted) <= slack * abs(wanted) + 1e-300
    near_one = 1e-16 if abs(wanted) < 1e-15 else 0.0  # the logarithm of a number next to 1
    return abs(found - wanted) <= 4 * max(abs(old - wanted), slack * abs(wanted), near_one, 1e-300)


OF_MATRICES = frozenset("inv det slogdet cholesky solve_general solve_triangular_op qr lu lu_factor svdvals".split(" "))


def scaled_points(c, rng, count):
    """Matrices that can be inverted, very small and very large."""
    points = []
    for _ in range(count // 30):
        scale = float(rng.choice([1e-3, 1e3]))
        points.append({n: v * scale if v.dtype.kind == "f" else v for n, v in values_for(c, rng).items()})
    return points


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
    unsafe = rule.safety is Safety.nan_unsafe
    new = rewritten(rule, c)
    hidden = False
    for name in floats:
        if name in example.conditions:
            continue  # of which it was promised that it is a number
        values = values_for(c, seeded(rule, i, name))
        values[name] = np.full_like(values[name], np.nan)
        before, after = run([c.expression, new], c, values)
        if before.dtype.kind != "f":
            assert np.array_equal(before, after), f"{name} is nan: {before} became {after}"
        else:
            hidden |= bool(np.isnan(before).any() and not np.isnan(after).any())  # a block without it may be known
    assert hidden == unsafe, f"{rule.name} is {rule.safety.name}, and a nan {'was' if hidden else 'was not'} hidden"
    assert rule.name in everything
    assert (rule.name in everything.safe()) != unsafe


def test_each_operation_of_a_rule_has_an_example():
    """So that no operation is rewritten by a rule that no law has tried; but for rules about any function at all."""
    for rule in everything:
        if isinstance(rule, Procedure) and len(rule.ops) < ANY:
            tried = set()
            for example in rule.examples():
                trace = Trace()
                normal_forms([case(example).expression], book_for(rule), trace)
                tried |= {step.before.op for step in trace.steps if step.rule == rule.name}
            missing = [op.name for op in rule.ops if op not in tried]
            assert not missing, f"{rule.name}: no example for {', '.join(missing)}"


def test_every_rule_says_its_theorem():
    assert all(rule.doc.endswith((".", "!")) for rule in everything)


def test_equations_are_most_of_the_rules():
    assert sum(isinstance(rule, Equation) for rule in everything) > len(everything) / 3
