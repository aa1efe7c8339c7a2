"""Small programs at which the laws of theorems are tested: a latent variable, and rows that see it at usual values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.distributions import RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.rewrites.marginalization.program import Observation, Program
from ppl.rewrites.marginalization.starts import start_of
from ppl.tensor.tensor import as_tensor

COPIES = 3


def latent(family: Any, **given: Any) -> RandomVariable:
    """A variable of a family, three times, with the first example of each parameter that is not given."""
    parameters = {name: p.domain.examples[0] for name, p in family.params.items()} | given
    return draw(family, tuple(as_tensor(parameters[name]) for name in family.params), (COPIES,), "x")


def example(x: RandomVariable, *rows: Callable[[Any], Any], others: tuple[RandomVariable, ...] = ()) -> Program:
    """The program of a variable and rows that see it; data are usual values of the rows."""
    laws = [of(x) for of in rows]
    values = [start_of(Program((*others, x, law)), law) for law in laws]
    return Program((*others, x), tuple(Observation(law, as_tensor(y)) for law, y in zip(laws, values, strict=True)))
