r"""Coordinates: what the sampler moves in the place of a variable that could not be integrated out.

A coordinate is a number z, a one-to-one map from z to the variable x given its parents, and the log-density of z:

.. math:: \log p(z) = \log p(x(z)) + \log |dx/dz|

Whatever the map, the law of x is the same; the choice is about geometry. The logarithm of a standard deviation has a
long left tail where the data do not exclude zero, since its density falls like exp(z) there, and NUTS walks along such
a tail: a *short* logarithm draws it in. A *score* is the z for which x is a function of a standard normal, or of about
one. Those of groups and coefficients stand in `centering`, of random walks in `walks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.declaration.constants import LOG_2, LOG_2PI
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.transforms import IntervalTransform, between_ends
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.tensor import Tensor, as_tensor


class Coordinate:
    """A one-to-one map from what is sampled to a variable; parameters are those of the variable's family, and `further`
    expressions of variables that were made before it."""

    name: str
    further: tuple[Tensor, ...] = ()

    def words(self) -> str:
        """How the variable is moved, after its name."""
        raise NotImplementedError

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        """The variable."""
        raise NotImplementedError

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        """The coordinate of a value of the variable."""
        raise NotImplementedError

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        """The log-density of the coordinate, under the law of the variable."""
        raise NotImplementedError


def _log_ratio(z: Any) -> Tensor:
    """log 2Φ(z) + z/2: a parabola on the left, a line on the right."""
    return tt.log_ndtr(z) + 0.5 * z + LOG_2


@record
class ShortLog(Coordinate):
    """Positive x by log(x/s) = log 2Φ(z) + z/2: exponential tails on the left, where x is near zero, become normal."""

    family: type[Distribution]
    name: str = "short_log"

    def words(self) -> str:
        return "is moved by a logarithm with a lighter left tail, since data rarely exclude zero for it"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return self.family.typical_size(*parameters) * tt.exp(_log_ratio(as_tensor(z)))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        y = tt.log(as_tensor(x) / self.family.typical_size(*parameters))
        z = tt.switch(y < 0, -tt.sqrt(2.0 * abs(y)), 0.0)
        for _ in range(12):  # Newton's method from the left, for a concave function: no step goes too far
            z = z - (_log_ratio(z) - y) / (0.5 + _hazard(z))
        return z

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        z = as_tensor(z)
        x = self.backward(z, *parameters)
        inner = self.family.log_density(x, *parameters, checked=False)
        return inner + tt.log(self.family.typical_size(*parameters)) + _log_ratio(z) + tt.log(0.5 + _hazard(z))


def _hazard(z: Any) -> Tensor:
    """The slope of log Φ(z)."""
    return tt.exp(-0.5 * z**2 - 0.5 * LOG_2PI - tt.log_ndtr(z))


@record
class BetweenEnds(Coordinate):
    """A number between the ends of its support, where the transform of the model leads beyond them."""

    family: type[Distribution]
    name: str = "between_ends"

    def words(self) -> str:
        return "is moved between the bounds of its support, which the transform of the model would leave"

    @property
    def _transform(self) -> IntervalTransform:
        return between_ends(self.family)

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return self._transform.backward(z, *parameters)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return self._transform.forward(x, *parameters)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        inner = self.family.log_density(self.backward(z, *parameters), *parameters, checked=False)
        return inner + self._transform.log_jac_det(z, *parameters)


@record
class Score(Coordinate):
    """x by the standard normal of the same rank: x = F⁻¹(Φ(z)), so that the prior of z is Normal(0, 1)."""

    family: type[Distribution]
    name: str = "score"

    def words(self) -> str:
        return "is moved by its normal score"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return self.family.of_normal_score(as_tensor(z), *parameters)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return self.family.normal_score(as_tensor(x), *parameters)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        return -0.5 * as_tensor(z) ** 2 - 0.5 * LOG_2PI


@record
class NearScore(Coordinate):
    r"""Student's t about by the standard normal of the same rank (Wallace 1959):

    .. math:: z = c \sqrt{ν \log(1 + t²/ν)}, \qquad c = (8ν + 1)/(8ν + 3), \; t = (x - μ)/σ

    with the sign of t; so the density of t falls like a power, that of z about like the normal one.
    """

    family: str = "StudentT"
    name: str = "near_score"

    def words(self) -> str:
        return "is moved by about its normal score, since its tails are heavy and the data say little about it"

    def backward(self, z: Any, nu: Any, mu: Any, sigma: Any) -> Tensor:
        w, q = self._inner(z, nu)
        return mu + sigma * w * tt.sqrt(_of_small(q, tt.expm1, 0.5))

    def forward(self, x: Any, nu: Any, mu: Any, sigma: Any) -> Tensor:
        t = (as_tensor(x) - mu) / sigma
        return _share_of_score(nu) * t * tt.sqrt(_of_small(t**2 / nu, tt.log1p, -0.5))

    def log_density(self, z: Any, nu: Any, mu: Any, sigma: Any) -> Tensor:
        _, q = self._inner(z, nu)
        middle = FAMILIES[self.family].log_density(0.0 * q, nu, as_tensor(0.0), as_tensor(1.0), checked=False)
        far = q > _SMALL
        log_slope = tt.switch(far, q + tt.log1mexp(-tt.switch(far, q, 1.0)) - tt.log(tt.switch(far, q, 1.0)), 0.5 * q)
        return middle - 0.5 * (nu - 1.0) * q - 0.5 * log_slope - tt.log(_share_of_score(nu))

    def _inner(self, z: Any, nu: Any) -> tuple[Tensor, Tensor]:
        """z/c, and the logarithm of 1 + t²/ν."""
        w = as_tensor(z) / _share_of_score(nu)
        return w, w**2 / nu


_SMALL = 1e-7


def _share_of_score(nu: Any) -> Any:
    return (8.0 * nu + 1.0) / (8.0 * nu + 3.0)


def _of_small(q: Tensor, f: Callable[[Any], Tensor], slope: float) -> Tensor:
    """f(q)/q, which is 1 + slope q near zero."""
    far = q > _SMALL
    safe = tt.switch(far, q, 1.0)
    return tt.switch(far, f(safe) / safe, 1.0 + slope * q)


def coordinate_of(family: type[Distribution]) -> Coordinate | None:
    """The coordinate that a family declares: a score, or a typical size."""
    if family.normal_score:
        return Score(family)
    return ShortLog(family) if family.typical_size else None


def fixed_coordinate(rv: RandomVariable) -> Coordinate | None:
    """The coordinate of a variable whose law does not depend on others, where there is one for its family."""
    return coordinate_of(rv.family) if all(is_data(p) for p in rv.parameters) else None
