"""Conjugate pairs, stated by their updates, and the priors that they are of.

A prior that is a special case of another family stands for it: an exponential law is a Gamma(1, λ) and a uniform one on
[0, 1] a Beta(1, 1), so they make every pair that these make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.constants import LOG_2
from ppl.rewrites.elimination.rising import log_rising
from ppl.tensor.tensor import Tensor, is_constant, value_of

Increments = Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """θ ~ prior; y ~ child with `slot` = (c θ)^power; the update gives what is added to the prior's parameters.

    A location pair has `slot` = c θ + b, for any b and for c of any sign.
    """

    prior: str
    child: str
    slot: str
    update: Callable[..., Increments]  # of (y, c, the child's other parameters)
    power: float = 1.0
    scaled: bool = True  # whether c other than 1 is allowed
    location: bool = False


PAIRS: list[Pair] = []


def conjugate(prior: str, child: str, slot: str, **form: Any) -> Callable[..., Any]:
    """State a pair by its update."""

    def state(update: Callable[..., Increments]) -> Callable[..., Increments]:
        PAIRS.append(Pair(prior, child, slot, update, **form))
        return update

    return state


@conjugate("Gamma", "Poisson", "mu")
def gamma_poisson(y: Any, c: Any) -> Increments:
    return {"alpha": y, "beta": c}


@conjugate("Gamma", "Exponential", "lam")
def gamma_exponential(y: Any, c: Any) -> Increments:
    return {"alpha": 1.0, "beta": c * y}


@conjugate("Gamma", "Gamma", "beta")
def gamma_gamma(y: Any, c: Any, alpha: Any) -> Increments:
    return {"alpha": alpha, "beta": c * y}


@conjugate("Gamma", "Normal", "sigma", power=-0.5)
def gamma_normal(y: Any, c: Any, mu: Any) -> Increments:
    return {"alpha": 0.5, "beta": 0.5 * c * (y - mu) ** 2}


@conjugate("InverseGamma", "Normal", "sigma", power=0.5)
def inverse_gamma_normal(y: Any, c: Any, mu: Any) -> Increments:
    return {"alpha": 0.5, "beta": 0.5 * (y - mu) ** 2 / c}


@conjugate("InverseGamma", "Exponential", "lam", power=-1.0)
def inverse_gamma_exponential(y: Any, c: Any) -> Increments:
    return {"alpha": 1.0, "beta": y / c}


@conjugate("InverseGamma", "Gamma", "beta", power=-1.0)
def inverse_gamma_gamma(y: Any, c: Any, alpha: Any) -> Increments:
    return {"alpha": alpha, "beta": y / c}


@conjugate("Beta", "Bernoulli", "p", scaled=False)
def beta_bernoulli(y: Any) -> Increments:
    return {"alpha": y, "beta": 1 - y}


@conjugate("Beta", "Binomial", "p", scaled=False)
def beta_binomial(y: Any, n: Any) -> Increments:
    return {"alpha": y, "beta": n - y}


@conjugate("Beta", "Geometric", "p", scaled=False)
def beta_geometric(y: Any) -> Increments:
    return {"alpha": 1.0, "beta": y - 1}


@conjugate("Beta", "NegativeBinomial", "p", scaled=False)
def beta_negative_binomial(y: Any, n: Any) -> Increments:
    return {"alpha": n, "beta": y}


@conjugate("Dirichlet", "Categorical", "p", scaled=False)
def dirichlet_categorical(y: Any, categories: int) -> Increments:
    return {"a": tt.eq(tt.expand_dims(y, -1), np.arange(categories))}


@conjugate("Dirichlet", "Multinomial", "p", scaled=False)
def dirichlet_multinomial(y: Any, categories: int, n: Any) -> Increments:
    return {"a": y}


@conjugate("Normal", "Normal", "mu", location=True)
def normal_normal(y: Any, c: Any, b: Any, sigma: Any) -> Increments:
    return {"precision": (c / sigma) ** 2, "weighted": c * (y - b) / sigma**2}


# --- priors -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Prior:
    """What a prior is in its family: the numbers that updates are added to, and a point inside the support; where whole
    numbers are added, also the ratio of the densities at the point before and after, in few logarithms."""

    family: str
    parameters: Callable[..., Mapping[str, Any]]  # to which updates are added, of the prior's own
    point: Callable[..., Any]  # of the parameters of the updated law, broadcast to the shape of the variable
    law: Callable[..., tuple[Any, ...]] = lambda **updated: tuple(updated.values())  # the family's parameters
    ratio: Callable[..., Tensor] | None = (
        None  # its logarithm, of pairs (parameter, what is added); may raise NotRising
    )


def _gamma(alpha: Any, beta: Any) -> Mapping[str, Any]:
    return {"alpha": alpha, "beta": beta}


def _one(alpha: Any, beta: Any) -> Any:
    return tt.ones_like(alpha)


def _half(alpha: Any, beta: Any) -> Any:
    return 0.5 * tt.ones_like(alpha)


def _normal(mu: Any, sigma: Any) -> Mapping[str, Any]:
    return {"precision": 1.0 / sigma**2, "weighted": mu / sigma**2}


Change = tuple[Any, Any]  # a parameter, and what is added to it


def _at_one(alpha: Change, beta: Change) -> Tensor:
    """Gamma and inverse gamma laws have the same density at one."""
    (a, more), (b, rate) = alpha, beta
    return log_rising(a, more) - tt.sum((a + more) * tt.log1p(rate / b) - rate) - tt.sum(more * tt.log(b))


def _at_half(alpha: Change, beta: Change) -> Tensor:
    (a, yes), (b, no) = alpha, beta
    every = yes + no
    return log_rising(a, yes) + log_rising(b, no) - log_rising(a + b, every) + LOG_2 * tt.sum(every)


def _in_the_middle(a: Change) -> Tensor:
    (each, more), every = a, tt.sum(a[1], axis=-1)
    return (
        log_rising(each, more) - log_rising(tt.sum(each, axis=-1), every) + np.log(each.type.shape[-1]) * tt.sum(every)
    )


PRIORS: dict[str, Prior] = {
    "Gamma": Prior("Gamma", _gamma, _one, ratio=_at_one),
    "Exponential": Prior("Gamma", lambda lam: _gamma(1.0, lam), _one, ratio=_at_one),
    "ChiSquared": Prior("Gamma", lambda nu: _gamma(0.5 * nu, 0.5), _one, ratio=_at_one),
    "InverseGamma": Prior("InverseGamma", _gamma, _one, ratio=_at_one),
    "Beta": Prior("Beta", _gamma, _half, ratio=_at_half),
    "Uniform": Prior("Beta", lambda lower, upper: _gamma(1.0, 1.0), _half, ratio=_at_half),
    "Dirichlet": Prior(
        "Dirichlet", lambda a: {"a": a}, lambda a: tt.ones_like(a) / a.type.shape[-1], ratio=_in_the_middle
    ),
    "Normal": Prior(
        "Normal",
        _normal,
        lambda mu, sigma: mu,  # where the data are, so that no digits cancel
        lambda precision, weighted: (weighted / precision, precision**-0.5),
    ),
}


def prior_of(variable: RandomVariable) -> Prior | None:
    """What a variable is as a prior; None where no pair is known for its family."""
    name = variable.family.__name__
    if name == "Uniform" and not all(map(_is, variable.parameters, (0.0, 1.0))):
        return None
    return PRIORS.get(name)


def _is(parameter: Tensor, value: float) -> bool:
    return is_constant(parameter) and bool(np.all(value_of(parameter) == value))
