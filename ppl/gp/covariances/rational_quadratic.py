"""The rational quadratic kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.stationary import CorrelationOfDistance
from ppl.tensor.tensor import Tensor


class RatQuad(CorrelationOfDistance):
    r"""The rational quadratic: :math:`k = (1 + r^2/2α)^{-α}`, a mixture of exponentiated quadratics over their lengths.

    .. math:: S(ω) = \frac{2(2πα)^{D/2}\prod_i ℓ_i}{Γ(α)} (z/2)^ν K_ν(z),\qquad
              z = \sqrt{2α\textstyle\sum_i ℓ_i^2 ω_i^2},\; ν = α - D/2
    """

    def __init__(
        self, input_dim: int, alpha: Any, ls: Any = None, ls_inv: Any = None, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, ls, ls_inv, active_dims)
        self.alpha = alpha

    def _correlation(self, squares: Any) -> Tensor:
        return tt.rational_quadratic(squares, self.alpha)

    def power_spectral_density(self, omega: Any) -> Tensor:
        ls, alpha = self._lengths(), self.alpha
        nu = alpha - self.n_dims / 2
        z = tt.sqrt(2 * alpha * tt.dot(omega**2, ls**2))
        at_zero = tt.eq(z, 0)
        inside = tt.switch(at_zero, 1.0, z)
        shape = tt.switch(at_zero, tt.gamma(nu) / 2, (inside / 2) ** nu * tt.kv(nu, inside))
        return 2 * (2 * pi * alpha) ** (self.n_dims / 2) * tt.prod(ls) / tt.gamma(alpha) * shape
