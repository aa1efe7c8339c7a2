"""Kernels steered by functions of the inputs: warped inputs, scales and lengths that change from place to place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.inputs import rows
from ppl.tensor.tensor import Tensor, as_tensor

Function = Callable[..., Any]


def _with_arguments(who: str, function: Function, args: Any) -> Function:
    """A function of inputs, with its further arguments filled in."""
    if not callable(function):
        raise TypeError(f"{who} must be callable")
    more = () if args is None else args if isinstance(args, tuple) else (args,)
    return lambda x: function(x, *more)


def _needs_a_covariance(cov_func: Any) -> None:
    if not isinstance(cov_func, Covariance):
        raise TypeError("Must be or inherit from the Covariance class")


class WarpedInput(Covariance):
    r"""A kernel of warped inputs: :math:`k(w(x), w(x'))`; `warp_func` takes the inputs and `args`."""

    def __init__(
        self, input_dim: int, cov_func: Covariance, warp_func: Function, args: Any = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_dim, active_dims)
        self.w = _with_arguments("warp_func", warp_func, args)
        _needs_a_covariance(cov_func)
        self.cov_func, self.args = cov_func, args

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        return self.cov_func(self.w(X), None if Xs is None else self.w(Xs))

    def diag(self, X: Any) -> Tensor:
        X, _ = self._slice(X)
        return self.cov_func(self.w(X), diag=True)


class ScaledCov(Covariance):
    r"""A kernel whose scale changes with the input: :math:`φ(x)\,k(x, x')\,φ(x')`; `scaling_func` is φ."""

    def __init__(
        self, input_dim: int, cov_func: Covariance, scaling_func: Function, args: Any = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_dim, active_dims)
        self.scaling_func = _with_arguments("scaling_func", scaling_func, args)
        _needs_a_covariance(cov_func)
        self.cov_func, self.args = cov_func, args

    def _scales(self, X: Any) -> Tensor:
        return tt.flatten(as_tensor(self.scaling_func(X)))

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        left = self._scales(X)
        return tt.outer(left, left if Xs is None else self._scales(Xs)) * self.cov_func(X, Xs)

    def diag(self, X: Any) -> Tensor:
        X, _ = self._slice(X)
        return self.cov_func(X, diag=True) * self._scales(X) ** 2


class Gibbs(Covariance):
    r"""The exponentiated quadratic with a length scale that changes with the input, in one dimension:

    .. math:: k = \sqrt{\frac{2ℓ(x)ℓ(x')}{ℓ(x)^2 + ℓ(x')^2}}\; \exp\Big[-\frac{(x - x')^2}{ℓ(x)^2 + ℓ(x')^2}\Big]
    """

    def __init__(
        self, input_dim: int, lengthscale_func: Function, args: Any = None, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, active_dims)
        if self.n_dims != 1:
            raise NotImplementedError(("Higher dimensional inputs ", "are untested"))
        self.lfunc = _with_arguments("lengthscale_func", lengthscale_func, args)
        self.args = args

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        other = X if Xs is None else Xs
        left, right = tt.reshape(self.lfunc(X), (-1, 1)), tt.reshape(self.lfunc(other), (1, -1))
        squares = left**2 + right**2
        return tt.sqrt(2 * left * right / squares) * tt.exp(-tt.squared_distance(X, other, 1.0) / squares)

    def diag(self, X: Any) -> Tensor:
        return tt.ones((rows(X),))
