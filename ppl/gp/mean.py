"""Mean functions of Gaussian processes, by PyMC's names."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.inputs import rows
from ppl.tensor.tensor import Tensor, as_tensor


class Mean:
    """A function of points; users' own subclasses define `__call__(X)`, of a table with a row for each point."""

    def __call__(self, X: Any) -> Tensor:
        """The values at the rows of X."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Add:
        return Add(self, other)

    def __mul__(self, other: Any) -> Prod:
        return Prod(self, other)


class Zero(Mean):
    """Zero everywhere."""

    def __call__(self, X: Any) -> Tensor:
        return tt.zeros((rows(X),))


class Constant(Mean):
    """The same number everywhere, or one given for each point."""

    def __init__(self, c: Any = 0) -> None:
        self.c = c

    def __call__(self, X: Any) -> Tensor:
        return tt.ones((rows(X),)) * self.c


class Linear(Mean):
    """A linear function: X @ coeffs + intercept."""

    def __init__(self, coeffs: Any, intercept: Any = 0) -> None:
        self.b, self.A = intercept, coeffs

    def __call__(self, X: Any) -> Tensor:
        return tt.squeeze(tt.dot(as_tensor(X), self.A) + self.b)


class Add(Mean):
    """The sum of two mean functions."""

    def __init__(self, first_mean: Mean, second_mean: Mean) -> None:
        self.m1, self.m2 = first_mean, second_mean

    def __call__(self, X: Any) -> Tensor:
        return self.m1(X) + self.m2(X)


class Prod(Mean):
    """The product of two mean functions."""

    def __init__(self, first_mean: Mean, second_mean: Mean) -> None:
        self.m1, self.m2 = first_mean, second_mean

    def __call__(self, X: Any) -> Tensor:
        return self.m1(X) * self.m2(X)
