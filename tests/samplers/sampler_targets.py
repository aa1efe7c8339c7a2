"""Targets with known answers, used by all sampler tests."""

import jax.numpy as jnp
import numpy as np
from jax import Array


def standard_normal(x: Array) -> Array:
    return -0.5 * jnp.sum(x**2)


def normal(x: Array, mean: Array, precision: Array) -> Array:
    """N(mean, precision⁻¹); written without a dot product, which would not fold."""
    d = x - mean
    return -0.5 * jnp.sum(d * jnp.sum(precision * d[None, :], axis=1))


def oscillator(x: Array) -> Array:
    """An anharmonic oscillator: energy errors at every order of the step size."""
    return -jnp.sum(0.5 * x**2 + 0.1 * x**4 + jnp.cos(x))


def eight_schools(q: Array, y: Array, sigma: Array) -> Array:
    """Non-centered eight schools: mu ~ N(0, 5), tau ~ HalfCauchy(5) on the log scale, theta = mu + tau z."""
    mu, log_tau, z = q[0], q[1], q[2:]
    tau = jnp.exp(log_tau)
    theta = mu + tau * z
    prior = -0.5 * jnp.sum(z**2) - 0.5 * (mu / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + log_tau
    return prior - 0.5 * jnp.sum(((y - theta) / sigma) ** 2)


SCHOOLS = (
    np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]),
)


def funnel(q: Array) -> Array:
    """Neal's funnel, centered: v ~ N(0, 3), x | v ~ N(0, exp(v / 2)), nine of them."""
    v, x = q[0], q[1:]
    return -0.5 * (v / 3) ** 2 - 0.5 * jnp.sum(x**2) * jnp.exp(-v) - 0.5 * x.shape[0] * v
