r"""Coordinates of what has a location and a scale: groups and coefficients, between centered and not.

A *balanced* z and a *partially centered* one lie between θ and (θ - μ)/σ, as far as the data decide θ (Papaspiliopoulos
et al. 2007): the first at every σ, the second at one. *Whitened* coefficients are those of a design whose columns say
nearly the same.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES
from ppl.distributions.declaration.constants import LOG_2PI
from ppl.graph.records import record
from ppl.rewrites.marginalization.gaussian.spd import Factor
from ppl.rewrites.reparameterization.coordinates import Coordinate
from ppl.tensor.tensor import Tensor, as_tensor


def _span(shares: np.ndarray) -> str:
    """The least and the largest of some shares, in words."""
    low, high = shares.min(), shares.max()
    return f"{low:.2f}" if high - low < 0.005 else f"{low:.2f} to {high:.2f}"


class OfLocationAndScale(Coordinate):
    """A coordinate of θ = μ + σZ; its density is that of Z."""

    family: str

    def _location_and_scale(self, parameters: Sequence[Any]) -> tuple[Any, Any]:
        given = dict(zip(FAMILIES[self.family].params, parameters, strict=True))
        location, scale = FAMILIES[self.family].location_scale
        return given[location], given[scale]

    def _of_standard(self, d: Any, parameters: Sequence[Any]) -> Tensor:
        """The log-density of (θ - μ)/σ."""
        standard = dict(zip(FAMILIES[self.family].location_scale, (as_tensor(0.0), as_tensor(1.0)), strict=True))
        law = [standard.get(name, p) for name, p in zip(FAMILIES[self.family].params, parameters, strict=True)]
        return FAMILIES[self.family].log_density(d, *law, checked=False)


@record
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
        span = _span(self.information * self.spread**2)
        return f"is partially centered, by the share of the data in its precision ({span} at the start)"

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


@record
class BalancedLogarithm(Balanced):
    """The same for the logarithm of a log-normal variable, of which I is the information."""

    name: str = "balanced_logarithm"

    def words(self) -> str:
        return f"{super().words()}, on the log scale"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return tt.exp(super().backward(z, *parameters))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return super().forward(tt.log(as_tensor(x)), *parameters)


@record
class ScaledLogarithm(Coordinate):
    """z = log x - w log s of a positive x of scale s. With w the share of the prior in what is known of log x, z does
    not depend on s given the data (Gaussian case)."""

    weight: np.ndarray
    family: str
    name: str = "scaled_logarithm"

    def words(self) -> str:
        return f"is moved on the log scale, partially non-centered by the share of the prior, {_span(self.weight)}"

    def _shift(self, parameters: Sequence[Any]) -> Tensor:
        """w log s."""
        family = FAMILIES[self.family]
        given = dict(zip(family.params, parameters, strict=True))
        if family.scale_parameter:
            return self.weight * tt.log(as_tensor(given[family.scale_parameter]))
        return -self.weight * tt.log(as_tensor(given[family.rate_parameter]))

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return tt.exp(z + self._shift(parameters))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return tt.log(as_tensor(x)) - self._shift(parameters)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        logarithm = z + self._shift(parameters)
        return FAMILIES[self.family].log_density(tt.exp(logarithm), *parameters, checked=False) + logarithm


@record
class BalancedVectors(Coordinate):
    r"""The same for vectors θ = μ + Le of a multivariate normal law, with I the information matrix of each:

    .. math:: z = Ge + Kμ, \qquad G'G = 1 + L'IL, \; G \text{ lower triangular}

    Where the data say much, Ge is √I θ, whatever L is; K is such that the mean of z given normal data does not depend
    on μ at the L where sampling starts.
    """

    information: np.ndarray  # (..., d, d)
    shift: np.ndarray  # (..., d, d): K
    name: str = "balanced_vectors"

    @classmethod
    def at(cls, information: np.ndarray, start: np.ndarray) -> BalancedVectors:
        """With the K of the factor L at the start, which is G'⁻¹L'I."""
        pull = start.T @ information
        backwards = np.linalg.cholesky((np.eye(len(start)) + pull @ start)[..., ::-1, ::-1])
        return cls(information, np.linalg.solve(backwards[..., ::-1, ::-1], pull))

    def words(self) -> str:
        return "is partially centered along its covariance, by the Fisher information of the data on each vector"

    def backward(self, z: Any, mu: Any, chol: Any) -> Tensor:
        return mu + tt.times_vectors(chol, self._standard(z, mu, self._factor(chol)))

    def forward(self, x: Any, mu: Any, chol: Any) -> Tensor:
        e = tt.solve_lower(chol, x - mu)
        return _reversed(self._factor(chol).adjoint(_reversed_entries(e))) + tt.times_vectors(self.shift, mu)

    def log_density(self, z: Any, mu: Any, chol: Any) -> Tensor:
        factor = self._factor(chol)
        e = self._standard(z, mu, factor)
        return tt.sum(-0.5 * e**2 - 0.5 * LOG_2PI, axis=-1) - 0.5 * factor.log_det()

    def _standard(self, z: Any, mu: Any, factor: Factor) -> Tensor:
        """e."""
        return _reversed(factor.backward(_reversed_entries(z - tt.times_vectors(self.shift, mu))))

    def _factor(self, chol: Any) -> Factor:
        """That of 1 + L'IL with rows and columns in reverse, whose adjoint is G in reverse."""
        chol = as_tensor(chol)
        matrix = np.eye(len(self.information[-1])) + tt.matmul(chol.mT, tt.matmul(self.information, chol))
        last = self.information.shape[-1] - 1
        return Factor([[matrix[..., last - i, last - j] for j in range(last + 1)] for i in range(last + 1)])


@record
class BalancedProcess(Coordinate):
    r"""The same for one vector of many entries x = μ + Le with a known mean μ, such as a Gaussian process:

    .. math:: z = R'e, \qquad RR' = 1 + L' \mathrm{diag}(I) L
    """

    information: np.ndarray
    name: str = "balanced_process"

    def words(self) -> str:
        return "is whitened, given its covariance and the Fisher information of its observations"

    def _root(self, chol: Tensor) -> Tensor:
        """R."""
        precision = tt.matmul(chol.mT * self.information, chol)
        return tt.cholesky(np.eye(len(self.information)) + precision)

    def backward(self, z: Any, mu: Any, chol: Any) -> Tensor:
        return mu + tt.times_vectors(chol, tt.solve_triangular(self._root(chol).mT, z, lower=False))

    def forward(self, x: Any, mu: Any, chol: Any) -> Tensor:
        return tt.times_vectors(self._root(chol).mT, tt.solve_lower(chol, x - mu))

    def log_density(self, z: Any, mu: Any, chol: Any) -> Tensor:
        root = self._root(chol)
        e = tt.solve_triangular(root.mT, z, lower=False)
        return tt.sum(-0.5 * e**2 - 0.5 * LOG_2PI) - tt.sum(tt.log(tt.diagonal(root)))


@record
class KnownProcess(Coordinate):
    r"""The same where the covariance is known up to a number, L = tL₀. With L₀' diag(I) L₀ = QΛQ', found once,

    .. math:: z = (1 + t^2 Λ)^{1/2} Q'e

    does, and an evaluation takes a product with a matrix, not a decomposition.
    """

    known: np.ndarray  # L₀
    information: np.ndarray
    name: str = "known_process"

    def words(self) -> str:
        return "is whitened by the eigenvectors of the Fisher information of its observations"

    @functools.cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh((self.known.T * self.information) @ self.known)
        return np.maximum(values, 0.0), vectors

    def _number(self, chol: Any) -> Tensor:
        """t."""
        return as_tensor(chol)[0, 0] / self.known[0, 0]

    def _lengths(self, number: Tensor) -> Tensor:
        """(1 + t²Λ)^½"""
        return tt.sqrt(1.0 + number**2 * self._eigen[0])

    def backward(self, z: Any, mu: Any, chol: Any) -> Tensor:
        t = self._number(chol)
        return mu + t * tt.times_vectors(self.known @ self._eigen[1], z / self._lengths(t))

    def forward(self, x: Any, mu: Any, chol: Any) -> Tensor:
        t = self._number(chol)
        return self._lengths(t) * tt.times_vectors(self._eigen[1].T, tt.solve_lower(self.known, x - mu)) / t

    def log_density(self, z: Any, mu: Any, chol: Any) -> Tensor:
        lengths = self._lengths(self._number(chol))
        return tt.sum(-0.5 * (z / lengths) ** 2 - 0.5 * LOG_2PI - tt.log(lengths))


def _reversed_entries(vectors: Tensor) -> list[Tensor]:
    return [vectors[..., i] for i in reversed(range(int(vectors.type.shape[-1] or 0)))]


def _reversed(entries: list[Tensor]) -> Tensor:
    return tt.stack(entries[::-1], axis=-1)


@record
class PartiallyCentered(OfLocationAndScale):
    r"""η with θ = μ + σ^{1-λ}(η - λμ), for θ of location μ and scale σ: centered for λ = 1, non-centered for 0.

    With λ the share of the data in the precision of θ, η does not depend on μ given the data (Gaussian case).
    """

    weight: np.ndarray
    family: str = "Normal"
    name: str = "partly_centered"

    def words(self) -> str:
        return f"is partially centered, by the share of the data in its precision, {_span(self.weight)}"

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


@record
class Whitened(Coordinate):
    """z = R x for a vector x whose posterior has about the precision R'R: columns of a design that say nearly the same
    are turned into columns that do not."""

    family: str
    root: np.ndarray
    name: str = "whitened"

    def words(self) -> str:
        return "is moved by the QR decomposition of its design matrix, whose columns are strongly correlated"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        return tt.matmul(np.linalg.inv(self.root), as_tensor(z))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        return tt.matmul(self.root, as_tensor(x))

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        volume = float(np.sum(np.log(np.abs(np.diagonal(self.root)))))
        return tt.sum(FAMILIES[self.family].log_density(self.backward(z), *parameters)) - volume
