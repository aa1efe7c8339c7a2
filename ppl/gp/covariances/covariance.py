"""Covariance functions and their algebra: sums, products and powers of kernels, numbers, arrays and tensors."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.gp.covariances.inputs import rows, table
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, told, value_of


class BaseCovariance:
    """A function of two points; called with tables of points, their covariance matrix.

    Users' own subclasses define `full(X, Xs=None)` and `diag(X)` by any expressions.
    """

    __array_ufunc__ = None  # NumPy's arrays and numbers on the left leave sums and products to this class

    def __call__(self, X: Any, Xs: Any = None, diag: bool = False) -> Tensor:
        """The covariances between the rows of X and of Xs (of X, where Xs is None), or with `diag` the variances."""
        return self.diag(X) if diag else self.full(X, Xs)

    def diag(self, X: Any) -> Tensor:
        """The variances at the rows of X."""
        raise NotImplementedError

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        """The covariances between the rows of X and those of Xs."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Add:
        # a number becomes a Constant, of which spectral densities of sums know
        return Add([self, Constant(c=other) if isinstance(other, numbers.Real) else other])

    def __mul__(self, other: Any) -> Prod:
        return Prod([self, other])

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, other: Any) -> Exponentiated:
        power = tt.squeeze(as_tensor(other))
        if power.ndim:
            raise ValueError("A covariance function can only be exponentiated by a scalar value")
        if not isinstance(self, Covariance):
            raise TypeError("Can only exponentiate covariance functions which inherit from `Covariance`")
        return Exponentiated(self, power)


class Covariance(BaseCovariance):
    """A covariance function of points of `input_dim` coordinates, of which it sees those in `active_dims`.

    >>> import ppl as pm
    >>> pm.gp.cov.ExpQuad(2, ls=1.0, active_dims=[1]).n_dims
    1
    """

    def __init__(self, input_dim: int, active_dims: Sequence[int] | np.ndarray | None = None) -> None:
        self.input_dim = input_dim
        self.active_dims = np.arange(input_dim) if active_dims is None else np.asarray(active_dims, int)
        if self.active_dims.max() > self.input_dim:
            raise ValueError("Values in `active_dims` can't be larger than `input_dim`.")

    @property
    def n_dims(self) -> int:
        """How many coordinates it sees."""
        return len(self.active_dims)

    def _slice(self, X: Any, Xs: Any = None) -> tuple[Any, Any]:
        """The columns that it sees, of one table or two."""
        return self._columns(X), None if Xs is None else self._columns(Xs)

    def _columns(self, X: Any) -> Tensor:
        who = f"gp.cov.{type(self).__name__}"
        x = table(who, X)
        width = x.type.shape[1]
        if width is not None and width != self.input_dim:
            if width <= self.active_dims.max():
                raise ValueError(
                    f"{who}: the inputs {told(x)} have {width} columns, and column {self.active_dims.max()} is among "
                    f"its active_dims. Give inputs of {self.input_dim} columns, or other active_dims."
                )
            warnings.warn(
                f"Only {self.input_dim} column(s) out of {width} are being used to compute the covariance function. If "
                "this is not intended, increase 'input_dim' parameter to the number of columns to use. Ignore "
                "otherwise.",
                UserWarning,
                stacklevel=2,
            )
        if np.array_equal(self.active_dims, np.arange(width or -1)):
            return x
        return as_tensor(value_of(x)[:, self.active_dims]) if is_constant(x) else x[:, self.active_dims]


class Combination(Covariance):
    """Several covariance functions and other factors, which are applied to the same points."""

    def __init__(self, factor_list: Sequence[Any]) -> None:
        kernels = [factor for factor in factor_list if isinstance(factor, Covariance)]
        if len({kernel.input_dim for kernel in kernels}) != 1:
            raise ValueError("All covariances must have the same `input_dim`.")
        for factor in factor_list:
            if not isinstance(factor, BaseCovariance) and (axes := as_tensor(factor).ndim) > 2:
                raise ValueError(f"cannot combine a covariance function with an array of {axes} axes: it is a matrix")
        seen = sorted({int(column) for kernel in kernels for column in kernel.active_dims})
        super().__init__(kernels[0].input_dim, seen)
        self._factor_list: list[Any] = []
        for factor in factor_list:
            self._factor_list += factor._factor_list if isinstance(factor, type(self)) else [factor]

    def _merge_factors_cov(self, X: Any, Xs: Any = None, diag: bool = False) -> list[Any]:
        """The matrices of all factors, or their diagonals."""
        return [factor(X, Xs, diag) if isinstance(factor, BaseCovariance) else _of_array(factor, diag)
                for factor in self._factor_list]  # fmt: skip

    def _merge_factors_psd(self, omega: Any) -> list[Any]:
        """The spectral densities of stationary kernels of the same coordinates, and numbers as they are."""
        return [self._psd(factor, omega) if isinstance(factor, Covariance) else factor for factor in self._factor_list]

    def _psd(self, factor: Any, omega: Any) -> Tensor:
        if set(self.active_dims) != set(factor.active_dims):
            raise ValueError(
                "For power spectral density calculations `active_dims` must be the same for all covariances in the sum."
            )
        try:
            density: Tensor = factor.power_spectral_density(omega)
        except (AttributeError, NotImplementedError) as error:
            if hasattr(factor, "full_from_distance"):  # it is stationary
                raise NotImplementedError(
                    f"No power spectral density method has been implemented for {factor}."
                ) from error
            raise ValueError(
                "Power spectral densities, `.power_spectral_density(omega)`, can only be calculated for `Stationary` "
                f"covariance functions.  {factor} is non-stationary."
            ) from error
        return density


def _of_array(factor: Any, diag: bool) -> Any:
    """A factor that is no kernel; of a matrix the diagonal, where that is asked for."""
    given = as_tensor(factor)
    return tt.diagonal(given) if diag and given.ndim == 2 else factor


class Add(Combination):
    """The sum of covariance functions, numbers and matrices."""

    def __call__(self, X: Any, Xs: Any = None, diag: bool = False) -> Tensor:
        return as_tensor(reduce(add, self._merge_factors_cov(X, Xs, diag)))

    def power_spectral_density(self, omega: Any) -> Tensor:
        """The sum of the spectral densities."""
        return as_tensor(reduce(add, self._merge_factors_psd(omega)))


class Prod(Combination):
    """The product of covariance functions, numbers and matrices, entry by entry."""

    def __call__(self, X: Any, Xs: Any = None, diag: bool = False) -> Tensor:
        return as_tensor(reduce(mul, self._merge_factors_cov(X, Xs, diag)))

    def power_spectral_density(self, omega: Any) -> Tensor:
        """The spectral density of one kernel times numbers."""
        if sum(isinstance(factor, Covariance) for factor in self._factor_list) > 1:
            raise NotImplementedError(
                "The power spectral density of products of covariance functions is not implemented."
            )
        return as_tensor(reduce(mul, self._merge_factors_psd(omega)))


class Exponentiated(Covariance):
    """A covariance function to a power, entry by entry."""

    def __init__(self, kernel: Covariance, power: Any) -> None:
        self.kernel, self.power = kernel, power
        super().__init__(kernel.input_dim, kernel.active_dims)

    def __call__(self, X: Any, Xs: Any = None, diag: bool = False) -> Tensor:
        return as_tensor(self.kernel(X, Xs, diag=diag) ** self.power)


class Constant(BaseCovariance):
    r"""The same covariance everywhere: :math:`k(x, x') = c`."""

    def __init__(self, c: Any) -> None:
        self.c = c

    def diag(self, X: Any) -> Tensor:
        return tt.full((rows(X),), self.c)

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        return tt.full((rows(X), rows(X if Xs is None else Xs)), self.c)
