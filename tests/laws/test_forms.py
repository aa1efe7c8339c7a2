"""What is read of an expression is the expression: forms of random expressions are evaluated beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ppl.tensor as tt
from ppl.distributions import Gamma, Normal
from ppl.graph import substitute
from ppl.rewrites.marginalization.expressions.affine import affine
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value
from ppl.rewrites.marginalization.expressions.maps import Dense
from ppl.rewrites.marginalization.expressions.picks import picks

N = 3
THETA = Gamma.dist(2.0, 1.0, name="theta")  # a parameter
AT_THETA = tt.as_tensor(1.7)
LINEAR: list[Callable[[Any, np.random.Generator], Any]] = [
    lambda x, r: x[r.integers(0, x.type.shape[0], N)],
    lambda x, r: x[::-1],
    lambda x, r: x * r.uniform(0.5, 2.0, x.type.shape),
    lambda x, r: THETA * x,
    lambda x, r: x / THETA,
    lambda x, r: -x,
    lambda x, r: x + r.normal(),
    lambda x, r: r.normal() - x,
    lambda x, r: x + x,
    lambda x, r: x - x[::-1],
    lambda x, r: 2.0 * x - x,
    lambda x, r: np.eye(x.type.shape[0])[r.integers(0, x.type.shape[0], N)] @ x,
    lambda x, r: r.normal(size=(N, x.type.shape[0])) @ x,
    lambda x, r: r.normal(size=(N, x.type.shape[0])) @ (THETA ** np.arange(x.type.shape[0]) * x),
    lambda x, r: (r.normal(size=(N, x.type.shape[0])) * THETA ** np.arange(x.type.shape[0])) @ x,
    lambda x, r: (np.eye(x.type.shape[0]) * x).sum(-1),
    lambda x, r: tt.concatenate([x[:1], x[1:] * 2.0]),
    lambda x, r: tt.stack([x[i] for i in range(x.type.shape[0])]),
    lambda x, r: tt.switch(r.random(x.type.shape) < 0.5, x, x * 3.0),
    lambda x, r: tt.switch(r.random(x.type.shape) < 0.5, x, 0.0),
    lambda x, r: tt.broadcast_to(x, (2, *x.type.shape)).mean(axis=0),
    lambda x, r: x[:, None].T[0],
    lambda x, r: tt.index_update(tt.zeros(x.type.shape), x, slice(None)),
    lambda x, r: tt.cumsum(x),
]
POWERS: list[Callable[[Any, np.random.Generator], Any]] = [
    lambda x, r: tt.sqrt(x),
    lambda x, r: 1.0 / x,
    lambda x, r: THETA / x,
    lambda x, r: x**2.0,
    lambda x, r: x ** r.choice([-0.5, 0.5, 1.5, -1.0]),
    lambda x, r: tt.exp(r.choice([-1.0, 0.5, 1.0]) * tt.log(x) + 0.3),
    lambda x, r: tt.exp(THETA + tt.log(x)),
    lambda x, r: x * tt.sqrt(x),
    lambda x, r: x / x**0.5,
    lambda x, r: abs(x),
]


def drawn(x: Any, steps: list[Callable[[Any, np.random.Generator], Any]], rng: np.random.Generator) -> Any:
    """A random expression of a variable."""
    e = x
    for _ in range(int(rng.integers(1, 6))):
        e = steps[rng.integers(len(steps))](e, rng)
    return e


def value(e: Any, at: dict[Any, Any]) -> np.ndarray:
    return data_value(substitute(tt.as_tensor(e), {**at, THETA: AT_THETA}))


def test_an_affine_map_is_its_expression() -> None:
    rng, x = np.random.default_rng(3), Normal.dist(0.0, 1.0, shape=(N,), name="x")
    numbers = rng.normal(size=N)
    at, found = {x: tt.as_tensor(numbers)}, 0
    for _ in range(300):
        e = drawn(x, LINEAR, rng)
        try:
            form = affine(e, {x})
        except NotAffine:
            continue
        total: Any = value(form.offset, at)
        for part in form.parts:
            if isinstance(part, Dense):
                total = total + value(part.design, at) @ numbers
            else:
                total = total + value(part.coefficient, at) * numbers[part.positions]
        np.testing.assert_allclose(np.broadcast_to(total, e.type.shape), value(e, at), rtol=1e-10, atol=1e-10)
        found += 1
    assert found > 280


@pytest.mark.parametrize("steps", [LINEAR, POWERS, [*LINEAR, *POWERS, *POWERS]], ids=["linear", "powers", "both"])
def test_what_is_picked_is_the_expression(steps: Any) -> None:
    rng, x = np.random.default_rng(4), Gamma.dist(2.0, 1.0, shape=(N,), name="x")
    numbers = rng.gamma(2.0, size=N)
    at, found = {x: tt.as_tensor(numbers)}, 0
    for _ in range(300):
        e = drawn(x, steps, rng)
        try:
            form = picks(e, x, e.type.shape)
        except NotAffine:
            continue
        with np.errstate(invalid="ignore"):
            total = value(form.coefficient, at) * numbers[form.positions] ** form.power + value(form.offset, at)
            expected = value(e, at)
        possible = np.isfinite(expected)  # roots of what is negative
        np.testing.assert_allclose(np.broadcast_to(total, e.type.shape)[possible], expected[possible], rtol=1e-9)
        found += 1
    assert found > 60
