"""Operators: what an approximation is fitted by, as losses or slopes of its parameters.

An operator writes, for rows of draws of the approximation, what a step descends. `KL` is minus the evidence lower bound
log p - log q; `KSD` is Stein's operator, whose slope pushes each draw uphill and away from the others.
"""

from __future__ import annotations

from typing import Any

from ppl.variational.errors import ExplicitInferenceError, NotImplementedInference


class Operator:
    """What is minimized over the parameters of an approximation."""

    has_test_function = False
    returns_loss = True
    require_logq = True

    def __init__(self, approx: Any) -> None:
        if self.require_logq and not approx.has_logq:
            raise ExplicitInferenceError(f"{self} requires logq, and {approx} has none: it is a set of points")
        self.approx = approx

    @property
    def model(self) -> Any:
        """The model of the approximation."""
        return self.approx.model

    def __str__(self) -> str:
        return type(self).__name__


class KL(Operator):
    """The Kullback-Leibler divergence of the approximation q from the posterior, up to the log evidence:

    E_q[-log p(data | z) + β(log q(z) - log p(z))]; β = 1 is minus the evidence lower bound.
    """

    def __init__(self, approx: Any, beta: float = 1.0) -> None:
        super().__init__(approx)
        self.beta = float(beta)


class KSD(Operator):
    """Stein's operator (Liu & Wang 2016): for particles x_j with kernel k,

    φ(x) = (1/n) Σ_j [k(x_j, x) ∇log p(x_j)/T + ∇_{x_j} k(x_j, x)].
    """

    has_test_function = True
    returns_loss = False
    require_logq = False

    def __init__(self, approx: Any, temperature: float = 1) -> None:
        super().__init__(approx)
        if approx.problem.has_simulator:
            raise NotImplementedInference("SVGD needs a gradient, and a Simulator has none: use pm.sample_smc.")
        if approx.problem.random_rows:
            raise NotImplementedInference("SVGD has no minibatches: give it the whole data, or use ADVI.")
        self.temperature = float(temperature)
