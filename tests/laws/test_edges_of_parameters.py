"""Slopes where a parameter is at an end of its domain that belongs to it: a mean of 0, a probability of 0 or 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions.declaration.domains import real
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

STEP = 1e-5


class Edge(NamedTuple):
    """A parameter of some parametrization, its edge, the way inside, and a draw by the parameter."""

    name: str
    at: float
    step: float
    draw: Any


def edges_of(case: Any) -> Iterator[Edge]:
    given = dict(zip(case.family.params, case.given, strict=True))
    ways = [(given, {key: p.domain for key, p in case.family.params.items()}, case.declared)]
    for each in [a for a in case.family.alternatives if a.domains]:  # the others take any real number
        values = {key: given[key] if key in given else each.domains.get(key, real).examples[-1] for key in each.takes}
        converted = each.convert(**values)
        values |= {key: value for key, value in given.items() if key not in converted}
        by_name = lambda found, names=tuple(values): case.family.dist(**dict(zip(names, found, strict=True)))
        ways.append((values, each.domains, by_name))
    for values, domains, build in ways:
        for name in [key for key in values if key in domains]:
            domain = domains[name]
            if domain.ndim or domain.discrete:
                continue
            for end, step in ((domain.lower, STEP), (domain.upper, -STEP)):
                if isinstance(end, float) and domain.contains(np.asarray(end)):
                    draw = lambda p, name=name, values=values, build=build: build((values | {name: p}).values())
                    yield Edge(name, end, step, draw)


def some_values(case: Any) -> np.ndarray:
    """Likely ones, and small counts or atoms, which alone have a probability at some edges."""
    if case.support.ndim:
        return case.draws(40)
    x, weights, density = case.grid
    below = np.cumsum(weights * density)
    likely = np.flatnonzero((below > 0.05) & (below < 0.95) & (weights > 0))
    start = np.ceil(case.bounds[0]) if np.isfinite(case.bounds[0]) else 0
    few = np.arange(13) + start if case.support.discrete else case.atoms
    spread = x[likely[np.linspace(0, len(likely) - 1, 27).astype(int)]] if likely.size else []
    return np.append(few, spread).astype(x.dtype)


TAILS = [pytest.param(fact, marks=pytest.mark.slow) for fact in ("log_cdf", "log_ccdf")]


@pytest.mark.parametrize("fact", ["log_density", *TAILS])
def test_slopes_at_an_edge_of_the_domain_of_a_parameter_are_quotients(case: Any, fact: str) -> None:
    if fact != "log_density":
        case.scalar()
        case.need("logcdf")
    found = list(edges_of(case))
    if not found:
        pytest.skip(f"{case}: no domain of its parameters has an edge that belongs to it")
    for edge in found:
        x = some_values(case)
        p, value = placeholder(TensorType("float64", ())), placeholder(TensorType(x.dtype, x.shape))
        total = getattr(case.family, fact)(value, *edge.draw(p).parameters)
        slope = tt.grad(tt.sum(tt.switch(tt.isfinite(total), total, 0.0)), p)
        program = function([p, value], [total, slope])
        near = lambda x, edge=edge, program=program: [program(edge.at + k * edge.step, x) for k in range(3)]
        with np.errstate(invalid="ignore"):
            change = np.abs(near(x)[2][0] - near(x)[0][0])
        smooth = np.flatnonzero(change < 1e-2)  # finite, and not curved too much for quotients
        if not smooth.size:
            assert fact != "log_density" or case.support.ndim  # of a law that is a point there may be no tail
            continue
        (a, slope), (b, _), (c, _) = near(x[np.resize(smooth, len(x))])
        quotients = (4 * b - 3 * a - c) / (2 * edge.step)
        room = 1e-4 * np.abs(quotients).sum() + 1e-13 * np.abs(a).sum() / STEP + 1e-6
        assert abs(slope - quotients.sum()) <= room, edge.name
