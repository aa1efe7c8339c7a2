"""Covariances between several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.tensor.tensor import Tensor, as_tensor


class Coregion(Covariance):
    r"""Covariances between outputs, whose numbers stand in one column of the inputs: :math:`k(i, j) = B_{ij}`.

    B is given as it is, or as :math:`WW' + \operatorname{diag} κ`.
    """

    def __init__(
        self, input_dim: int, W: Any = None, kappa: Any = None, B: Any = None, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, active_dims)
        if len(self.active_dims) != 1:
            raise ValueError("Coregion requires exactly one dimension to be active")
        parts = W is not None or kappa is not None
        if parts == (B is not None):
            raise ValueError("Exactly one of (W, kappa) and B must be provided to Coregion")
        if parts and (W is None or kappa is None):
            raise ValueError("Coregion: W and kappa go together, and one of them is missing")
        if parts:
            self.W, self.kappa = as_tensor(W), as_tensor(kappa)
            self.B = tt.dot(self.W, self.W.T) + tt.diag(self.kappa)
        else:
            self.B = as_tensor(B)

    def _outputs(self, X: Any) -> Tensor:
        return tt.cast(self._columns(X)[:, 0], "int32")

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        rows = self._outputs(X)
        columns = rows if Xs is None else self._outputs(Xs)
        return self.B[rows[:, None], columns[None, :]]

    def diag(self, X: Any) -> Tensor:
        return tt.diag(self.B)[self._outputs(X)]
