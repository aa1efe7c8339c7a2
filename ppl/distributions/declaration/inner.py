"""Distributions among the parameters of others: draws that stand for their law only."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions.declaration.distribution import default_point
from ppl.distributions.declaration.domains import Domain, a_distribution, a_whole
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.graph import Node
from ppl.tensor.tensor import Tensor


def log_density_of(law: RandomVariable, x: Any, axes: int | None = None) -> Tensor:
    """log p(x) under the law of a draw; independent values along further axes, `axes` in all, are summed."""
    density = law.family.log_density(x, *law.parameters)
    extra = 0 if axes is None else axes - law.event_ndim
    return tt.sum(density, axis=tuple(range(-extra, 0))) if extra else density


def sample_of(key: Any, shape: Any, law: RandomVariable) -> Tensor:
    """A value of the given shape by the law of a draw."""
    return law.family.sample(key, tuple(shape), *law.parameters)


def support_point_of(law: RandomVariable) -> Tensor:
    """Where the law of a draw is centered, in the shape of one value."""
    return tt.as_tensor(default_point(law.family, law.parameters, law.family.support_for(law.parameters)))


def as_law(dist: Any, who: str) -> RandomVariable:
    """A draw that stands for its law; an error says what else was given."""
    if not isinstance(dist, RandomVariable):
        raise TypeError(f"{who} must be a distribution made with .dist(...), as Normal.dist(0, 1); got {dist!r}")
    if dist.name is not None:
        raise ValueError(f"{who}: {dist.name!r} is a variable of a model already. Make an unnamed one by .dist(...).")
    return dist


def laws_of(rv: Node, also: Domain | None = None) -> tuple[RandomVariable, ...]:
    """The draws among the parameters of a draw that stand for their laws only: where a distribution is asked for, or
    `also` what another domain is asked for, and all draws that a family takes beyond its declared parameters."""
    if not isinstance(rv, RandomVariable):
        return ()
    domains = [p.domain for p in rv.family.params.values()]
    further = len(rv.parameters) - len(domains)
    domains += [a_distribution] * min(further, further if rv.family.laws is None else rv.family.laws)
    pairs = zip(rv.parameters, domains, strict=False)
    laws = (a_distribution, also or a_distribution)
    return tuple(p for p, domain in pairs if any(domain is d for d in laws) and isinstance(p, RandomVariable))


def laws_in_density(rv: Node) -> tuple[RandomVariable, ...]:
    """The draws of which the density of a draw asks the law only."""
    return laws_of(rv, also=a_whole)


def unsized(law: RandomVariable) -> RandomVariable:
    """The same law with no more independent draws than its parameters ask for."""
    return law if law.attrs["size"] is None else draw(law.family, law.parameters)


def require_distribution_function(law: Any, who: str) -> None:
    """Refuse a law of which the probability between two bounds cannot be had."""
    if not law.family.logcdf:
        name = law.family.__name__
        raise NotImplementedError(
            f"{who}: {name} has no distribution function, so the probability beyond a bound is not known. Take a "
            f"family that has one{', as Uniform, or HalfNormal' if 'Flat' in name else ''}."
        )
