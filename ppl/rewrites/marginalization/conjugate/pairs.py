"""Conjugate pairs, stated by their updates, and the priors that they are of.

A prior that is a special case of another family stands for it: an exponential law is a Gamma(1, λ) and a uniform one on
[0, 1] a Beta(1, 1), so they make every pair that these make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.declaration.constants import LOG_2
from ppl.graph.records import record
from ppl.rewrites.marginalization.conjugate.gamma_ratios import log_rising
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

Increments = Mapping[str, Any]


@record
class Pair:
    """θ ~ prior; y ~ child with `slot` = (c θ)^power; the update gives what is added to the prior's parameters."""

    prior: str
    child: str
    slot: str
    update: Callable[..., Increments]  # of (y, c, the child's other parameters)
    power: float = 1.0
    scaled: bool = True  # whether c other than 1 is allowed


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


# --- priors -------------------------------------------------------------------------------------------------------
@record
class Prior:
    r"""What a prior is in its family of densities :math:`h(θ) e^{⟨η, T(θ)⟩ - A(η)}`: the numbers η that updates Δ are
    added to, how A grows by them, and a point θ₀ at which rows are looked at.

    The density of a row is :math:`g e^{⟨Δ, T(cθ)⟩}`, and g is its density where cθ = θ₀, without the second factor.
    """

    family: str
    parameters: Callable[..., Mapping[str, Any]]  # η, of the prior's own parameters
    point: float | None  # θ₀; None for the middle of a simplex
    free_of_point: Callable[..., Any]  # -⟨Δ, T(θ₀)⟩, of the increments of a row at c = 1
    growth: Callable[..., Tensor]  # A(η + Δ) - A(η), of pairs (parameter, what is added)
    by_scale: float = 0.0  # T(cθ) has this times log c more than T(θ) beside the first of η


def _two(alpha: Any, beta: Any) -> Mapping[str, Any]:
    return {"alpha": alpha, "beta": beta}


Change = tuple[Any, Any]  # a parameter, and what is added to it


def _growth_of_gamma(alpha: Change, beta: Change) -> Tensor:
    """A = log Γ(α) - α log β; a large α and β, whose quotient alone tells, do not cancel."""
    (a, more), (b, rate) = alpha, beta
    rest = tt.sum((a + more) * tt.log1p(rate / b)) + tt.sum(more * tt.log(b))
    return log_rising(a, more) - rest


def _growth_of_beta(alpha: Change, beta: Change) -> Tensor:
    """A = log B(α, β)."""
    (a, yes), (b, no) = alpha, beta
    return log_rising(a, yes) + log_rising(b, no) - log_rising(a + b, yes + no)


def _growth_of_dirichlet(a: Change) -> Tensor:
    """A = Σ log Γ(a_k) - log Γ(Σ a_k)."""
    each, more = a
    return log_rising(each, more) - log_rising(tt.sum(each, axis=-1), tt.sum(more, axis=-1))


# So near to the end of the support that what rows lose and gain there, y θ₀ say, is a trillionth of their size
NEAR_ZERO = 2.0**-40


def _near_zero(alpha: Any, beta: Any) -> Any:
    """T(θ) = (log θ, -θ), and of an inverse gamma law the same of 1/θ."""
    return NEAR_ZERO * beta - np.log(NEAR_ZERO) * alpha


def _half(alpha: Any, beta: Any) -> Any:
    return LOG_2 * (alpha + beta)


def _middle(a: Any) -> Any:
    a = tt.cast(as_tensor(a), "floatX")
    return np.log(a.type.shape[-1]) * tt.sum(a, axis=-1)


def _gamma(parameters: Callable[..., Mapping[str, Any]]) -> Prior:
    return Prior("Gamma", parameters, NEAR_ZERO, _near_zero, _growth_of_gamma, 1.0)


def _beta(parameters: Callable[..., Mapping[str, Any]]) -> Prior:
    return Prior("Beta", parameters, 0.5, _half, _growth_of_beta)


PRIORS: dict[str, Prior] = {
    "Gamma": _gamma(_two),
    "Exponential": _gamma(lambda lam: _two(1.0, lam)),
    "ChiSquared": _gamma(lambda nu: _two(0.5 * nu, 0.5)),
    "InverseGamma": Prior("InverseGamma", _two, 1.0 / NEAR_ZERO, _near_zero, _growth_of_gamma, -1.0),
    "Beta": _beta(_two),
    "Uniform": _beta(lambda lower, upper: _two(1.0, 1.0)),
    "Dirichlet": Prior("Dirichlet", lambda a: {"a": a}, None, _middle, _growth_of_dirichlet),
}


def prior_of(variable: RandomVariable) -> Prior | None:
    """What a variable is as a prior; None where no pair is known for its family."""
    name = variable.family.__name__
    if name == "Uniform" and not all(map(_is, variable.parameters, (0.0, 1.0))):
        return None
    return PRIORS.get(name)


def _is(parameter: Tensor, value: float) -> bool:
    return is_constant(parameter) and bool(np.all(value_of(parameter) == value))
