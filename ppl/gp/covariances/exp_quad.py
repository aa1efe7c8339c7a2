"""The exponentiated quadratic kernel."""

from __future__ import annotations

from math import pi
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.stationary import CorrelationOfDistance
from ppl.tensor.tensor import Tensor


class ExpQuad(CorrelationOfDistance):
    r"""The exponentiated quadratic: :math:`k = e^{-r^2/2}`, also called squared exponential or radial basis function.

    .. math:: S(ω) = (2π)^{D/2} \prod_i ℓ_i\; e^{-\frac12 \sum_i ℓ_i^2 ω_i^2}
    """

    def _correlation(self, squares: Any) -> Tensor:
        return tt.exp_quad(squares)

    def power_spectral_density(self, omega: Any) -> Tensor:
        ls = self._lengths()
        return (2 * pi) ** (self.n_dims / 2) * tt.prod(ls) * tt.exp(-0.5 * tt.dot(omega**2, ls**2))
