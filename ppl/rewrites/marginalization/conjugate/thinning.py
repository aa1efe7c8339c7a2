r"""Counts of which some are seen: a latent count N of which each is counted with probability p.

.. math:: N \sim \mathrm{Poisson}(λ),\; y \mid N \sim \mathrm{Binomial}(N, p)
   \quad\Rightarrow\quad y \sim \mathrm{Poisson}(pλ),\; N - y \mid y \sim \mathrm{Poisson}((1 - p)λ)

and the like for binomial and negative binomial counts. N has infinitely many values, so no sum over them takes it out.
"""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions import FAMILIES, Binomial, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import ancestors
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import NotAffine, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.expressions.positive import known_inside
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery, Term, children, where_valid
from ppl.rewrites.marginalization.theorem import Match, Theorem
from ppl.rewrites.marginalization.words import THINNING
from ppl.tensor.tensor import Tensor, as_tensor


def integrated_out(program: Program, count: RandomVariable) -> Match:
    """A thinned count with what is seen of it; raises `NoMatch` where it is none."""
    law = count.family
    if not law.thinned or None in count.type.shape:
        raise NoMatch("it is not a count of which a binomial distribution sees a part")
    seen, p = _thinned(program, count)
    y, name = seen.value, seen.variable.name
    shape = known_shape(count)
    kept, rest = law.thinned(p, *count.parameters), law.unseen(y, p, *count.parameters)
    in_order = lambda found: tuple(tt.broadcast_to(as_tensor(x), shape) for x in found)
    observation = Observation(draw(law, in_order(kept), shape, name), y)
    recovery = Recovery(count, y + draw(law, in_order(rest), shape))
    laws: list[tuple[Any, Any]] = [(law, count.parameters), (Binomial, (as_tensor(1), p))]
    proved = all(known_inside(d.domain, x) for f, given in laws for d, x in zip(f.params.values(), given, strict=True))
    conditions = [] if proved else [c for f, given in laws if (c := f.in_domains(given)) is not None]
    domains = (Term(f"domains of {count.name}", where_valid(as_tensor(0.0), conditions)),) if conditions else ()
    return Match((count,), (seen,), (observation,), domains, (recovery,))


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
        found = picks(n, count, shape)
    except NotAffine as why:
        raise NoMatch(f'n of "{seen.variable.name}" is not it: {why}') from why
    if not (found.are(1.0, 0.0) and found.power == 1.0 and found.in_order(count)):
        raise NoMatch(f'n of "{seen.variable.name}" is not it, entry by entry')
    return seen, p


def _examples() -> list[Program]:
    counts = [law for law in FAMILIES.values() if law.thinned]
    return [example(latent(law), lambda x: Binomial.dist(x, [0.3, 0.5, 0.9], name="y")) for law in counts]


THEOREM = Theorem(THINNING, integrated_out, lambda rv: bool(rv.family.thinned), examples=_examples)
