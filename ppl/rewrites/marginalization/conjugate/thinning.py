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
from ppl.distributions import FAMILIES, Binomial, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import ancestors
from ppl.rewrites.marginalization.expressions.affine import NotAffine, Select, affine, is_always, known_shape
from ppl.rewrites.marginalization.expressions.positive import known_inside
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery, Term, children, where_valid
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass(frozen=True)
class Thinning:
    """The law of what is seen of a count, and the law of the rest, given what is seen."""

    seen: Callable[..., dict[str, Any]]  # of (p, the parameters of the count)
    rest: Callable[..., dict[str, Any]]  # of (y, p, the parameters of the count)


def _missed(p: Any, q: Any) -> Tensor:
    """How probable it is that a trial that was not seen to succeed did; 0 where no trial fails or is missed."""
    both = q * (1.0 - p)
    unseen = (1.0 - q) + both
    return both / tt.switch(tt.eq(unseen, 0.0), 1.0, unseen)


THINNINGS: dict[str, Thinning] = {
    "Poisson": Thinning(
        lambda p, mu: {"mu": p * mu},
        lambda y, p, mu: {"mu": (1.0 - p) * mu},
    ),
    "Binomial": Thinning(
        lambda p, n, q: {"n": n, "p": p * q},
        lambda y, p, n, q: {"n": n - y, "p": _missed(p, q)},
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
        raise NoMatch("it is not a count of which a binomial distribution sees a part")
    seen, p = _thinned(program, count)
    y, name = seen.value, seen.variable.name
    own = dict(zip(("mu",) if len(count.parameters) == 1 else ("n", "q"), count.parameters, strict=True))
    shape = known_shape(count)
    law = FAMILIES[count.family.__name__]
    kept, rest = thinning.seen(p=p, **own), thinning.rest(y=y, p=p, **own)
    in_order = lambda found: tuple(tt.broadcast_to(as_tensor(found[key]), shape) for key in law.params)
    observation = Observation(draw(law, in_order(kept), shape, name), y)
    recovery = Recovery(count, y + draw(law, in_order(rest), shape))
    laws: list[tuple[Any, Any]] = [(law, count.parameters), (Binomial, (as_tensor(1), p))]
    proved = all(known_inside(d.domain, x) for f, given in laws for d, x in zip(f.params.values(), given, strict=True))
    conditions = [] if proved else [c for f, given in laws if (c := f.in_domains(given)) is not None]
    domains = [Term(f"domains of {count.name}", where_valid(as_tensor(0.0), conditions))] if conditions else []
    return program.without([count, seen]).plus(observed=[observation], terms=domains, recoveries=[recovery])


def _thinned(program: Program, count: RandomVariable) -> tuple[Observation, Tensor]:
    """The one observation of a count, each entry of which is seen once, and the probability of being seen."""
    factors = children(program, count)
    seen = factors[0]
    if len(factors) != 1 or not isinstance(seen, Observation) or seen.rows is not None:
        raise NoMatch("it has infinitely many values, and is not observed once through a binomial distribution")
    if seen.variable.family is not Binomial or count in ancestors([seen.variable.parameters[1], seen.value]):
        raise NoMatch(f'it has infinitely many values, and "{seen.variable.name}" is not a binomial count out of it')
    n, p = seen.variable.parameters
    if count.family is Binomial and count.parameters[0].dtype[0] == "f":
        raise NoMatch("the number of its trials need not be whole, and then its probabilities do not add up to one")
    shape = known_shape(count)
    if seen.variable.type.shape != shape:
        raise NoMatch(f'it has infinitely many values, and "{seen.variable.name}" observes it more than once')
    try:
        form = affine(tt.broadcast_to(n, shape), {count})
    except NotAffine as why:
        raise NoMatch(f'n of "{seen.variable.name}" is not it: {why}') from why
    part = form.parts[0]
    if len(form.parts) == 1 and isinstance(part, Select):
        in_order = np.array_equal(np.ravel(part.positions), np.arange(prod(shape)))
        if in_order and is_always(part.coefficient, 1.0) and is_always(form.offset, 0.0):
            return seen, p
    raise NoMatch(f'n of "{seen.variable.name}" is not it, entry by entry')
