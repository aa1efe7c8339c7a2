"""What a transform is: see `transforms` for those there are."""

from __future__ import annotations

from typing import Any

from ppl.distributions.declaration.domains import Domain
from ppl.tensor.tensor import Tensor


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
        """log |d backward / d value| at an unconstrained value, summed over the axes of one value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_jac_det")

    def image(self, *inputs: Any) -> Domain | None:
        """A set that holds all values to which `backward` leads; None where no more is known of them."""
        return None

    def __repr__(self) -> str:
        return self.name
