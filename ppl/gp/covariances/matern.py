r"""Matérn kernels: processes with a given number of derivatives.

.. math:: S(ω) = \frac{2^D π^{D/2}\,Γ(ν + D/2)\,(2ν)^ν}{Γ(ν)} \prod_i ℓ_i \,
                 \big(2ν + \textstyle\sum_i ℓ_i^2 ω_i^2\big)^{-(ν + D/2)}
"""

from __future__ import annotations

from math import gamma, pi
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.stationary import CorrelationOfDistance
from ppl.tensor.tensor import Tensor


def _spectral_density(omega: Any, ls: Tensor, nu: float) -> Tensor:
    half = nu + ls.type.shape[0] / 2
    number = 2 ** (2 * half - 2 * nu) * pi ** (half - nu) * gamma(half) * (2 * nu) ** nu / gamma(nu)
    return number * tt.prod(ls) * (2 * nu + tt.dot(omega**2, ls**2)) ** -half


class Matern12(CorrelationOfDistance):
    r"""Matérn with ν = 1/2: :math:`k = e^{-r}`, the Ornstein-Uhlenbeck process, which has no derivative."""

    def _correlation(self, squares: Any) -> Tensor:
        return tt.matern12(squares)

    def power_spectral_density(self, omega: Any) -> Tensor:
        return _spectral_density(omega, self._lengths(), 0.5)


class Matern32(CorrelationOfDistance):
    r"""Matérn with ν = 3/2: :math:`k = (1 + \sqrt3 r)\,e^{-\sqrt3 r}`, with one derivative."""

    def _correlation(self, squares: Any) -> Tensor:
        return tt.matern32(squares)

    def power_spectral_density(self, omega: Any) -> Tensor:
        return _spectral_density(omega, self._lengths(), 1.5)


class Matern52(CorrelationOfDistance):
    r"""Matérn with ν = 5/2: :math:`k = (1 + \sqrt5 r + \tfrac53 r^2)\,e^{-\sqrt5 r}`, with two derivatives."""

    def _correlation(self, squares: Any) -> Tensor:
        return tt.matern52(squares)

    def power_spectral_density(self, omega: Any) -> Tensor:
        return _spectral_density(omega, self._lengths(), 2.5)


class Exponential(CorrelationOfDistance):
    r"""PyMC's exponential kernel, :math:`k = e^{-r/2}`: Matérn with ν = 1/2 at twice the length scale."""

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        return tt.matern12(tt.squared_distance(X, X if Xs is None else Xs, 2 * self.ls))

    def _correlation(self, squares: Any) -> Tensor:
        return tt.matern12(squares / 4)

    def power_spectral_density(self, omega: Any) -> Tensor:
        return _spectral_density(omega, 2 * self._lengths(), 0.5)
