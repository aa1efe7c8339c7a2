r"""Coordinates: what the sampler moves in the place of a variable that could not be integrated out.

A coordinate is a number z, a one-to-one map from z to the variable x given its parents, and the log-density of z:

.. math:: \log p(z) = \log p(x(z)) + \log |dx/dz|

Whatever the map, the law of x is the same; the choice is about geometry. The logarithm of a standard deviation has a
long left tail where the data do not exclude zero, since its density falls like exp(z) there, and NUTS walks along such
a tail: a *short* logarithm draws it in. A *score* is the z for which x is a function of a standard normal. A *balanced*
z and a *partially centred* one lie between θ and (θ - μ)/σ, as far as the data decide θ (Papaspiliopoulos et al. 2007):
the first at every σ, the second at one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, GaussianRandomWalk, RandomVariable
from ppl.distributions.constants import LOG_2, LOG_2PI
from ppl.rewrites.elimination.affine import is_data
from ppl.tensor.block_chains import chain_factor, chain_substitution
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


@dataclass(frozen=True)
class ShortLog(Coordinate):
    """Positive x by log(x/s) = log 2Φ(z) + z/2: exponential tails on the left, where x is near zero, become normal."""

    family: str
    scale: Callable[..., Any]  # s, of the parameters
    name: str = "short_log"

    def words(self) -> str:
        return "is moved by a short logarithm, since data rarely exclude zero for it"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return self.scale(*parameters) * tt.exp(_log_ratio(as_tensor(z)))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        y = tt.log(as_tensor(x) / self.scale(*parameters))
        z = tt.switch(y < 0, -tt.sqrt(2.0 * abs(y)), 0.0)
        for _ in range(12):  # Newton's method from the left, for a concave function: no step goes too far
            z = z - (_log_ratio(z) - y) / (0.5 + _hazard(z))
        return z

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        z = as_tensor(z)
        x = self.backward(z, *parameters)
        inner = FAMILIES[self.family].log_density(x, *parameters, checked=False)
        return inner + tt.log(self.scale(*parameters)) + _log_ratio(z) + tt.log(0.5 + _hazard(z))


def _hazard(z: Any) -> Tensor:
    """The slope of log Φ(z)."""
    return tt.exp(-0.5 * z**2 - 0.5 * LOG_2PI - tt.log_ndtr(z))


@dataclass(frozen=True)
class Score(Coordinate):
    """x by the standard normal of the same rank: x = F⁻¹(Φ(z)), so that the prior of z is Normal(0, 1)."""

    quantile: Callable[..., Tensor]  # x of (z, parameters)
    rank: Callable[..., Tensor]  # z of (x, parameters)
    name: str = "score"

    def words(self) -> str:
        return "is moved by its normal score"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return self.quantile(as_tensor(z), *parameters)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return self.rank(as_tensor(x), *parameters)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        return -0.5 * as_tensor(z) ** 2 - 0.5 * LOG_2PI


def _cauchy(z: Any, alpha: Any, beta: Any) -> Tensor:
    """The tangent, in the tails that of what is left to 1."""
    far = abs(z) > 0.5
    tail = 1.0 / tt.tan(np.pi * tt.ndtr(-tt.switch(far, abs(z), 0.5)))
    middle = tt.tan(np.pi * (tt.ndtr(tt.switch(far, 0.0, z)) - 0.5))
    return alpha + beta * tt.switch(far, tt.sign(z) * tail, middle)


def _cauchy_rank(x: Any, alpha: Any, beta: Any) -> Tensor:
    d = (x - alpha) / beta
    return -tt.sign(d) * tt.ndtri_exp(tt.log(tt.arctan2(1.0, abs(d)) / np.pi))


def _uniform(z: Any, lower: Any, upper: Any) -> Tensor:
    """From the nearer end."""
    negative = z < 0
    below, above = tt.ndtr(tt.switch(negative, z, -1.0)), tt.ndtr(tt.switch(negative, -1.0, -z))
    return tt.switch(negative, lower + (upper - lower) * below, upper - (upper - lower) * above)


def _uniform_rank(x: Any, lower: Any, upper: Any) -> Tensor:
    below, above = (x - lower) / (upper - lower), (upper - x) / (upper - lower)
    return tt.switch(below < above, tt.ndtri(below), -tt.ndtri(above))


LOCATION_AND_SCALE = {  # families of μ + σZ, by the names of μ and σ
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma"),
    "SkewStudentT": ("mu", "sigma"),
    "Laplace": ("mu", "b"),
    "Logistic": ("mu", "s"),
    "Cauchy": ("alpha", "beta"),
    "Gumbel": ("mu", "beta"),
    "Moyal": ("mu", "sigma"),
    "SkewNormal": ("mu", "sigma"),
}


class OfLocationAndScale(Coordinate):
    """A coordinate of θ = μ + σZ; its density is that of Z."""

    family: str

    def _location_and_scale(self, parameters: Sequence[Any]) -> tuple[Any, Any]:
        given = dict(zip(FAMILIES[self.family].params, parameters, strict=True))
        location, scale = LOCATION_AND_SCALE[self.family]
        return given[location], given[scale]

    def _of_standard(self, d: Any, parameters: Sequence[Any]) -> Tensor:
        """The log-density of (θ - μ)/σ."""
        standard = dict(zip(LOCATION_AND_SCALE[self.family], (as_tensor(0.0), as_tensor(1.0)), strict=True))
        law = [standard.get(name, p) for name, p in zip(FAMILIES[self.family].params, parameters, strict=True)]
        return FAMILIES[self.family].log_density(d, *law, checked=False)


@dataclass(frozen=True)
class Balanced(OfLocationAndScale):
    r"""z = (θ - μ)/s + κμ with the spread s that prior and data leave to θ, whatever σ is:

    .. math:: s^{-2} = σ^{-2} + I, \qquad κ = I s_0

    Of small σ this is (θ - μ)/σ, of a large one θ√I. Given normal data z has the variance 1 for each σ, and at the σ
    where s = s₀ its mean does not depend on μ.
    """

    information: np.ndarray  # I
    spread: np.ndarray  # s₀
    family: str = "Normal"
    name: str = "balanced"

    def words(self) -> str:
        share = self.information * self.spread**2
        low, high = share.min(), share.max()
        span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
        return f"is moved between centred and not, by the share of the data in its precision ({span} at the start)"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        return mu + sigma * self._standard(z, mu, sigma)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        return (x - mu) / sigma * tt.sqrt(1.0 + self.information * sigma**2) + self.information * self.spread * mu

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        d = self._standard(z, mu, sigma)
        return self._of_standard(d, parameters) - 0.5 * tt.log1p(self.information * sigma**2)

    def _standard(self, z: Any, mu: Any, sigma: Any) -> Tensor:
        """(θ - μ)/σ."""
        return (z - self.information * self.spread * mu) / tt.sqrt(1.0 + self.information * sigma**2)


@dataclass(frozen=True)
class PartiallyCentred(OfLocationAndScale):
    r"""η with θ = μ + σ^{1-λ}(η - λμ), for θ of location μ and scale σ: centred for λ = 1, non-centred for 0.

    With λ the share of the data in the precision of θ, η does not depend on μ given the data (Gaussian case).
    """

    weight: np.ndarray
    family: str = "Normal"
    name: str = "partly_centred"

    def words(self) -> str:
        low, high = self.weight.min(), self.weight.max()
        span = f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"
        return f"is centred by the share of the data in its precision, {span}"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        return mu + sigma ** (1.0 - self.weight) * (z - self.weight * mu)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        return self.weight * mu + sigma ** (self.weight - 1.0) * (x - mu)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        mu, sigma = self._location_and_scale(parameters)
        d = (z - self.weight * mu) * sigma**-self.weight
        return self._of_standard(d, parameters) - self.weight * tt.log(sigma)


@dataclass(frozen=True)
class Whitened(Coordinate):
    """z = R x for a vector x whose posterior has about the precision R'R: columns of a design that say nearly the same
    are turned into columns that do not."""

    family: str
    root: np.ndarray
    name: str = "whitened"

    def words(self) -> str:
        return "is moved by the triangle R of its design X = QR, since columns of X are much alike"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return tt.matmul(np.linalg.inv(self.root), as_tensor(z))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return tt.matmul(self.root, as_tensor(x))

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        volume = float(np.sum(np.log(np.abs(np.diagonal(self.root)))))
        return tt.sum(FAMILIES[self.family].log_density(self.backward(z), *parameters)) - volume


def _pull(information: np.ndarray, first: Any, scale: Any) -> tuple[Tensor, Tensor]:
    """The diagonal of L and what is below it, LL' the precision of a walk; its first entry has a scale of its own."""
    n = len(information)
    steps = tt.broadcast_to(as_tensor(scale), (n - 1,)) ** -2.0
    before = tt.concatenate([as_tensor(first).reshape((1,)) ** -2.0, steps])
    after = tt.concatenate([steps, np.zeros(1)])
    below = tt.concatenate([np.zeros(1), -steps]).reshape((n, 1, 1))
    return chain_factor((before + after + information).reshape((n, 1, 1)), below)


def _walk(z: Any, lower: Tensor, links: Tensor) -> Tensor:
    """L'⁻¹ z."""
    return chain_substitution(lower, links, as_tensor(z).reshape((-1, 1)), reverse=True)[:, 0]


def _numbers(d: Any, lower: Tensor, links: Tensor) -> Tensor:
    """L' d."""
    return lower[:, 0, 0] * d + tt.concatenate([links[1:, 0, 0] * d[1:], np.zeros(1)])


@dataclass(frozen=True)
class Pulled(Coordinate):
    r"""A Gaussian random walk x by z = L'(x - m), with m its mean and LL' its precision and that of its rows:

    .. math:: LL' = D'D/σ^2 + \mathrm{diag}(I)

    Neighbours pull at each other by the scale σ of the steps, and data by their information I, whatever σ is: z has
    about a standard normal law given σ.
    """

    information: np.ndarray
    name: str = "pulled"

    def words(self) -> str:
        return (
            "is moved by numbers that are about independent, given the scale of its steps and the information of rows"
        )

    def _parts(self, init: Any, step: Any, steps: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, and the diagonals of L and beside it."""
        mean = GaussianRandomWalk.support_point(init, step, steps)
        pulled = _pull(self.information, init.parameters[1], step.parameters[1])
        return tt.broadcast_to(mean, self.information.shape), *pulled

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        mean, *pulled = self._parts(*parameters)
        return mean + _walk(z, *pulled)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        mean, *pulled = self._parts(*parameters)
        return _numbers(as_tensor(x) - mean, *pulled)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        _, lower, _ = self._parts(*parameters)
        inner = GaussianRandomWalk.log_density(self.backward(z, *parameters), *parameters)
        return tt.sum(inner) - tt.sum(tt.log(lower))


@dataclass(frozen=True)
class PulledSteps(Coordinate):
    """Standard normal steps e of a walk c = cumsum(σ e), by z = L'c: the same for a walk written as its steps."""

    information: np.ndarray
    further: tuple[Tensor, ...]  # σ
    name: str = "pulled_steps"

    def words(self) -> str:
        return "is moved by numbers of its running total that are about independent, given its scale and its rows"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        *_, scale = parameters
        c = _walk(z, *_pull(self.information, scale, scale))
        return (c - tt.concatenate([np.zeros(1), c[:-1]])) / scale

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        *_, scale = parameters
        return _numbers(tt.cumsum(scale * as_tensor(x)), *_pull(self.information, scale, scale))

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        *own, scale = parameters
        lower, _ = _pull(self.information, scale, scale)
        inner = FAMILIES["Normal"].log_density(self.backward(z, *parameters), *own)
        return tt.sum(inner) - tt.sum(tt.log(lower)) - len(self.information) * tt.log(scale)


SHORT_LOGS = [
    ShortLog("HalfNormal", lambda sigma: sigma),
    ShortLog("HalfCauchy", lambda beta: beta),
    ShortLog("HalfStudentT", lambda nu, sigma: sigma),
    ShortLog("Exponential", lambda lam: 1.0 / lam),
    ShortLog("Gamma", lambda alpha, beta: tt.maximum(alpha, 1.0) / beta),
]
COORDINATES: dict[str, Coordinate] = {
    **{c.family: c for c in SHORT_LOGS},
    "Uniform": Score(_uniform, _uniform_rank),
    "Cauchy": Score(_cauchy, _cauchy_rank),
}


def fixed_coordinate(rv: RandomVariable) -> Coordinate | None:
    """The coordinate of a variable whose law does not depend on others, where there is one for its family."""
    return COORDINATES.get(rv.family.__name__) if all(is_data(p) for p in rv.parameters) else None
