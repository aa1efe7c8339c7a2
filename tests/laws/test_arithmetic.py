"""Terms and factors are collected only where that is right: the same value, and no value where there was none."""

from __future__ import annotations

import itertools

import node_by_node
import numpy as np
import pytest
from arithmetic_forms import EXPRESSIONS
from high_precision import UndefinedError, truth

import ppl.tensor as tt
from ppl.rewrites import assume, simplify, strict, text
from ppl.rewrites.facts.facts import CONDITIONS

a, b = tt.dscalar("a"), tt.dscalar("b")
POINTS = [0.0, 0.25, 1.0, 2.0, 300.0, 1e-60, 1e60, -0.5, -1.0, -3.0, -1e-60, -1e60]


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


@pytest.mark.parametrize("known", [None, "nonnegative", "positive", "nonzero"])
@pytest.mark.parametrize("i", range(len(EXPRESSIONS)))
def test_collecting_changes_no_number_and_makes_none_up(i, known):
    """At every point where the expression has a value among the real numbers, and at every point where it has none."""
    fact = CONDITIONS[known].fact if known else None
    lasting = [v for v in POINTS if fact is None or (v >= fact.low and (v != 0 or known == "nonnegative"))]
    points = np.array(list(itertools.product(lasting, POINTS)))
    x, y = (tt.tensor(name, "float64", (len(points),)) for name in "xy")
    e = EXPRESSIONS[i](x if known is None else assume(x, **{known: True}), y)
    new = simplify(e)
    done = node_by_node.values([e, new], {x: points[:, 0], y: points[:, 1]})
    for (at_x, at_y), before, after in zip(points, done[e], done[new], strict=True):
        if before == after:
            continue
        found = f"{text(e)} → {text(new)} at {at_x}, {at_y}: {before} became {after}"
        try:
            exact = float(truth([EXPRESSIONS[i](a, b)], {a: at_x, b: at_y})[0].item())
        except UndefinedError:
            assert not np.isfinite(after), f"{found}, where there is none"
            continue
        near = abs(after - exact) <= max(2 * abs(before - exact), 1e-13 * abs(exact), 1e-300)
        assert near or not np.isfinite(before), f"{found}, in truth {exact}"
