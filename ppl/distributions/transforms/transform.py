"""What a transform is: see `transforms` for those there are."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions.declaration.domains import Domain
from ppl.tensor.tensor import Tensor, as_tensor


class Transform:
    """A map from a support to unconstrained numbers and back."""

    name: str
    ndim_supp: int = 0  # axes of one value

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        """The unconstrained value."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        """The value in the support."""
        raise NotImplementedError(f"{type(self).__name__} has no backward")

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        """log |d backward / d value| at an unconstrained value, summed over the axes of one value: by derivatives,
        where a transform has no formula for it."""
        value = as_tensor(value)
        if self.ndim_supp == 0:
            return tt.log(tt.abs(tt.grad(tt.sum(self.backward(value, *inputs)), value)))
        if self.ndim_supp == 1 and value.ndim == 1:
            return tt.slogdet(tt.jacobian(self.backward(value, *inputs), value))[1]
        raise NotImplementedError(f"{type(self).__name__} has no log_jac_det, and its values are not single vectors")

    def image(self, *inputs: Any) -> Domain | None:
        """A set that holds all values to which `backward` leads; None where no more is known of them."""
        return None

    def __repr__(self) -> str:
        return self.name
