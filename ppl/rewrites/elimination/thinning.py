r"""Counts of which some are seen: a latent count N of which each is counted with probability p.

.. math:: N \sim \mathrm{Poisson}(λ),\; y \mid N \sim \mathrm{Binomial}(N, p)
   \quad\Rightarrow\quad y \sim \mathrm{Poisson}(pλ),\; N - y \mid y \sim \mathrm{Poisson}((1 - p)λ)

and the like for binomial and negative binomial counts. N has infinitely many values, so no sum over them takes it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.draw import draw
from ppl.graph import ancestors
from ppl.rewrites.elimination.affine import NotAffine, Select, affine, data_value, is_data, known_shape
from ppl.rewrites.elimination.program import NoMatch, Observation, Program, Recovery, Term, children, where_valid
from ppl.rewrites.simplify import simplify
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


@dataclass(frozen=True)
class Thinning:
    """The law of what is seen of a count, and the law of the rest, given what is seen."""

    seen: Callable[..., dict[str, Any]]  # of (p, the parameters of the count)
    rest: Callable[..., dict[str, Any]]  # of (y, p, the parameters of the count)


THINNINGS: dict[str, Thinning] = {
    "Poisson": Thinning(
        lambda p, mu: {"mu": p * mu},
        lambda y, p, mu: {"mu": (1.0 - p) * mu},
    ),
    "Binomial": Thinning(
        lambda p, n, q: {"n": n, "p": p * q},
        lambda y, p, n, q: {"n": n - y, "p": q * (1.0 - p) / (1.0 - p * q)},
    ),
    "NegativeBinomial": Thinning(
        lambda p, n, q: {"n": n, "p": q / (q + p * (1.0 - q))},
        lambda y, p, n, q: {"n": n + y, "p": 1.0 - (1.0 - p) * (1.0 - q)},
    ),
}


def eliminate_one(program: Program, count: RandomVariable) -> Program:
    """The program with a thinned count integrated out; raises `NoMatch` where it is none."""
    thinning = THINNINGS.get(count.family.__name__)
    if thinning is None or None in count.type.shape:
        raise NoMatch("it is no count that a binomial law thins")
    seen, p = _thinned(program, count)
    y, name = seen.value, seen.variable.name
    own = dict(zip(("mu",) if len(count.parameters) == 1 else ("n", "q"), count.parameters, strict=True))
    shape = known_shape(count)
    law = FAMILIES[count.family.__name__]
    kept, rest = thinning.seen(p=p, **own), thinning.rest(y=y, p=p, **own)
    in_order = lambda found: tuple(tt.broadcast_to(as_tensor(found[key]), shape) for key in law.params)
    observation = Observation(draw(law, in_order(kept), shape, name), y)
    recovery = Recovery(count, y + draw(law, in_order(rest), shape))
    conditions = [rv.family.in_domains(rv.parameters) for rv in (count, seen.variable.family.dist(n=1, p=p))]
    unproved = [c for c in conditions if c is not None and not _is_true(c)]
    domains = [Term(f"domains of {count.name}", where_valid(as_tensor(0.0), unproved))] if unproved else []
    return program.without([count, seen]).plus(observed=[observation], terms=domains, recoveries=[recovery])


def _thinned(program: Program, count: RandomVariable) -> tuple[Observation, Tensor]:
    """The one observation of a count, each entry of which is seen once, and the probability of being seen."""
    factors = children(program, count)
    if len(factors) != 1 or not isinstance(factors[0], Observation) or factors[0].rows is not None:
        raise NoMatch("it has infinitely many values, and is not seen once through a binomial law")
    (seen,) = factors
    n, p = seen.variable.parameters[:2]
    if seen.variable.family.__name__ != "Binomial" or count in ancestors([p, seen.value]):
        raise NoMatch(f'it has infinitely many values, and "{seen.variable.name}" is not binomial out of it')
    shape = known_shape(count)
    if seen.variable.type.shape != shape:
        raise NoMatch(f'it has infinitely many values, and "{seen.variable.name}" sees it more than once')
    try:
        form = affine(tt.broadcast_to(n, shape), {count})
    except NotAffine as why:
        raise NoMatch(f'n of "{seen.variable.name}" is not it: {why}') from why
    part = form.parts[0] if len(form.parts) == 1 else None
    exact = isinstance(part, Select) and _all_equal(part.coefficient, 1.0) and _all_equal(form.offset, 0.0)
    if part is None or not exact or not np.array_equal(np.ravel(part.positions), np.arange(prod(shape))):
        raise NoMatch(f'n of "{seen.variable.name}" is not it, entry by entry')
    return seen, p


def _all_equal(x: Tensor, value: float) -> bool:
    return is_data(x) and bool(np.all(data_value(x) == value))


def _is_true(condition: Tensor) -> bool:
    """Whether a condition is proved."""
    known = simplify(condition)
    return is_constant(known) and bool(np.all(value_of(known)))
