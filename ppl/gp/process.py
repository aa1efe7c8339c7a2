"""What processes have in common: a mean and a covariance function, sums, and points to condition on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import ppl.tensor as tt
from ppl.gp.covariances.covariance import BaseCovariance, Constant
from ppl.gp.covariances.white_noise import WhiteNoise
from ppl.gp.mean import Zero
from ppl.model.registry.variable_registry import home_of
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

JITTER_DEFAULT = 1e-6


class Conditioned:
    """A value that a process keeps once it has met points; reading it before that is an error."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, process: Any, owner: type | None = None) -> Any:
        if process is None:
            return self
        value = process.__dict__.get("_" + self.name)
        if value is None:
            raise AttributeError(f"'{self.name}' not set.  Provide as argument to condition, or call 'prior' first")
        return value

    def __set__(self, process: Any, value: Any) -> None:
        process.__dict__["_" + self.name] = value


def conditioned_vars(varnames: list[str]) -> Callable[[type], type]:
    """A decorator of classes of processes: attributes of these names are errors until they are set."""

    def with_attributes(cls: type) -> type:
        for name in varnames:
            attribute = Conditioned()
            attribute.__set_name__(cls, name)
            setattr(cls, name, attribute)
        return cls

    return with_attributes


class Base:
    """A process with a mean and a covariance function; processes of one class are added by adding both."""

    def __init__(self, *, mean_func: Any = None, cov_func: Any = None) -> None:
        self.mean_func = Zero() if mean_func is None else mean_func
        self.cov_func = Constant(0.0) if cov_func is None else cov_func

    def __add__(self, other: Any) -> Any:
        same = isinstance(other, Base) and self.__dict__.keys() == other.__dict__.keys()
        if not same or not isinstance(self, type(other)):
            raise TypeError("Cannot add different GP types")
        return type(self)(mean_func=self.mean_func + other.mean_func, cov_func=self.cov_func + other.cov_func)

    def prior(self, name: str, X: Any, *args: Any, **kwargs: Any) -> Any:
        """The process at points, a priori."""
        self._has_no("prior")

    def marginal_likelihood(self, name: str, X: Any, *args: Any, **kwargs: Any) -> Any:
        """The law of data that are the process and noise."""
        self._has_no("marginal_likelihood")

    def conditional(self, name: str, Xnew: Any, *args: Any, **kwargs: Any) -> Any:
        """The process at new points, given what it has met."""
        self._has_no("conditional")

    def predict(self, Xnew: Any, *args: Any, **kwargs: Any) -> Any:
        """Mean and covariance at new points, for one value of the parameters."""
        self._has_no("predict")

    def _has_no(self, what: str) -> NoReturn:
        raise NotImplementedError(f"gp.{type(self).__name__} has no {what}")

    def _total(self, given: dict[str, Any]) -> tuple[Any, Any]:
        """The covariance and mean functions of the sum that was observed: of `given["gp"]`, or its own."""
        process = given.get("gp", self)
        return process.cov_func, process.mean_func


def point_by_point(observed: Any) -> Any:
    """Data of a process whose pointwise log-likelihood is that of each point given the others: the joint density, which
    is one number, tells of no point. For cross-validation it is the right one, p(y_i | y_-i, θ)."""
    model = home_of(observed)
    if model is not None:
        model.processes.append(observed)
    return observed


def stabilize(K: Any, jitter: float = JITTER_DEFAULT) -> Tensor:
    """A covariance matrix with a small number added to its diagonal, so that rounding leaves it positive definite."""
    K = as_tensor(K)
    return K + jitter * tt.eye(K.shape[-1], dtype=K.dtype)


def noise_of(sigma: Any, given: dict[str, Any]) -> Any:
    """The noise of data; `noise=` is what `sigma=` was called before PyMC 4."""
    if "noise" in given:
        if sigma is not None:
            raise TypeError("sigma is given twice, as sigma= and as noise=. Leave noise= out.")
        warnings.warn("noise= is called sigma= since PyMC 4: write sigma=.", FutureWarning, stacklevel=3)
        sigma = given.pop("noise")
    if sigma is None:
        raise TypeError("missing a required argument: 'sigma', the standard deviation of the noise")
    return sigma


def as_noise(sigma: Any) -> BaseCovariance:
    """A covariance function of noise, from its standard deviation or as it is."""
    return sigma if isinstance(sigma, BaseCovariance) else WhiteNoise(sigma)


def observations(who: str, y: Any, n: Any) -> Any:
    """Data with an entry for each point; refuses another number of them, and what is nan."""
    given = as_tensor(y)
    length = given.type.shape[-1] if given.ndim else None
    if given.ndim == 0 or (isinstance(n, int) and length is not None and length != n):
        raise ValueError(f"{who}: y has shape {given.type.shape}, but there are {n} points. Give one value for each.")
    if is_constant(given) and given.dtype[0] == "f" and np.isnan(value_of(given)).any():
        at = int(np.argwhere(np.isnan(value_of(given)))[0, -1])
        raise ValueError(
            f"{who}: y is nan at position {at}. Leave such points out of y and X; conditional gives the process there."
        )
    return y
