"""Laws of the theorems by which variables are integrated out, for every theorem of the registry at its own examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exact_elimination import both_sides

import ppl.tensor as tt
from ppl.graph import substitute
from ppl.rewrites.marginalization import Observation, Program, Term
from ppl.rewrites.marginalization.discrete.branches import settled
from ppl.rewrites.marginalization.planning.registry import THEOREMS
from ppl.rewrites.marginalization.theorem import Match, Refusal, Search

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")
EXAMPLES = [
    pytest.param(theorem, program, id=f"{theorem.name}-{i}")
    for theorem in THEOREMS
    for i, program in enumerate(theorem.examples())
]


def latent_of(program: Program) -> Any:
    """The variable of an example that its theorem is about."""
    return next(rv for rv in program.free if rv.name == "x")


def is_small(program: Program) -> bool:
    """Whether a variable is some numbers, at which densities are compared; for matrices and large vectors
    `test_recoveries_at_limits` does it."""
    x = latent_of(program)
    return x.event_ndim < 2 and bool(np.prod(x.type.shape) < 100)


def is_exact(program: Program, match: Match) -> None:
    """The joint density is the marginal times the law of what comes back."""
    sides = both_sides(program, settled(match.applied(program)), 7)
    possible = np.isfinite(sides.joint)
    np.testing.assert_array_equal(np.isfinite(sides.product), possible)
    np.testing.assert_allclose(sides.product[possible], sides.joint[possible], rtol=1e-8, atol=1e-8)


def test_every_theorem_has_an_example() -> None:
    assert [t.name for t in THEOREMS if not t.examples()] == []
    assert len({t.name for t in THEOREMS}) == len(THEOREMS)


@pytest.mark.parametrize(("theorem", "program"), EXAMPLES)
def test_the_joint_is_the_marginal_times_the_conditional(theorem: Any, program: Program) -> None:
    match = theorem.match(program, latent_of(program))
    assert isinstance(match, Match), match
    if is_small(program):
        is_exact(program, match)


@pytest.mark.parametrize(("theorem", "program"), EXAMPLES)
def test_a_match_says_what_goes_and_what_comes_back(theorem: Any, program: Program) -> None:
    match = theorem.match(program, latent_of(program))
    assert {r.variable for r in match.recoveries} == set(match.variables)
    assert match.told.endswith(".") and match.operations > 0
    mine = {id(f) for f in program.factors}
    assert all(id(f) in mine for f in (*match.variables, *match.factors))
    after = match.applied(program)
    assert after.ndim < program.ndim and after.variables == program.variables


@pytest.mark.parametrize(("theorem", "program"), EXAMPLES)
def test_the_planner_takes_what_matches_and_a_protected_variable_stays(theorem: Any, program: Program) -> None:
    found = [m for m in theorem.matches(Search(program)) if isinstance(m, Match)]
    x = latent_of(program)
    assert any(x in m.variables for m in found)
    for match in theorem.matches(search := Search(program, kept=frozenset({x}))):
        if isinstance(match, Match):
            assert x not in match.variables
            search.program = match.applied(search.program)


def of_rows(program: Program, changed: Any) -> Program:
    """The program in which rows see a function of the variable."""
    x = latent_of(program)
    seen = tuple(
        Observation(substitute(o.variable, {x: tt.cast(changed(x), x.dtype)}), o.value) for o in program.observed
    )
    return Program(program.free, seen)


ALTERED = {  # near misses: what makes a theorem wrong if one of its conditions is forgotten
    "a potential on it": lambda p: p.plus(terms=[Term("p", -0.1 * tt.sum(latent_of(p) ** 4), "potential")]),
    "seen twice": lambda p: Program(p.free, (*p.observed, *(Observation(o.variable, o.value) for o in p.observed))),
    "its square": lambda p: of_rows(p, lambda x: x * x),
    "another order": lambda p: of_rows(p, lambda x: x[::-1]),
    "one entry for all": lambda p: of_rows(p, lambda x: tt.broadcast_to(x[:1], x.type.shape)),
    "a sum of entries": lambda p: of_rows(p, lambda x: (x + x[::-1]) / 2),
    "half of it": lambda p: of_rows(p, lambda x: x / 2),
    "the rest of it": lambda p: of_rows(p, lambda x: 1 - x),
    "something added": lambda p: of_rows(p, lambda x: x + x.dtype.startswith("f") * 0.01),
    "a threshold": lambda p: of_rows(p, lambda x: tt.maximum(x, x.mean() / 2)),
}
NEAR = [
    pytest.param(theorem, program, name, id=f"{theorem.name}-{i}-{name}")
    for theorem in THEOREMS
    for i, program in enumerate(theorem.examples())
    for name in (ALTERED if i < 1 else ["its square", "half of it"])
    if program.observed and is_small(program)
]


@pytest.mark.parametrize(("theorem", "program", "name"), NEAR)
def test_a_near_miss_is_refused_or_exact(theorem: Any, program: Program, name: str) -> None:
    try:
        altered = ALTERED[name](program)
    except (ValueError, TypeError):
        pytest.skip("no program")
    found = theorem.match(altered, latent_of(altered))
    if isinstance(found, Match):
        is_exact(altered, found)
    else:
        assert isinstance(found, Refusal) and found.why
