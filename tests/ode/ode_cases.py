"""Equations whose solutions are known, and two that are stiff."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


class Case(NamedTuple):
    """y' = f(t, y, *parameters) from y0 at 0, and its solution at times, of y0 and the parameters."""

    f: Callable[..., Any]
    y0: list[float]
    parameters: list[float]
    solution: Callable[..., Any]


def _decay(t: Any, y0: Any, rate: Any) -> Any:
    return y0[0] * jnp.exp(-rate * t)[:, None]


def _oscillator(t: Any, y0: Any, frequency: Any) -> Any:
    cos, sin = jnp.cos(frequency * t), jnp.sin(frequency * t)
    return jnp.stack([y0[0] * cos + y0[1] / frequency * sin, y0[1] * cos - y0[0] * frequency * sin], axis=1)


def _logistic(t: Any, y0: Any, rate: Any, capacity: Any) -> Any:
    return (capacity / (1 + (capacity / y0[0] - 1) * jnp.exp(-rate * t)))[:, None]


def _forced(t: Any, y0: Any, rate: Any) -> Any:
    """y' = -rate (y - cos t): depends on time."""
    particular = lambda t: rate * (rate * jnp.cos(t) + jnp.sin(t)) / (1 + rate**2)
    return (particular(t) + (y0[0] - particular(0.0)) * jnp.exp(-rate * t))[:, None]


CASES = {
    "decay": Case(lambda t, y, rate: -rate * y, [2.0], [0.7], _decay),
    "oscillator": Case(lambda t, y, w: jnp.stack([y[1], -(w**2) * y[0]]), [1.0, 0.5], [1.3], _oscillator),
    "logistic": Case(lambda t, y, r, k: r * y * (1 - y / k), [0.1], [1.1, 2.5], _logistic),
    "forced": Case(lambda t, y, rate: -rate * (y - jnp.cos(t)), [0.3], [1.7], _forced),
}
TIMES = np.array([0.0, 0.4, 0.4, 1.0, 3.0, 5.5])  # the first is t0, and one comes twice


def robertson(t, y, a, b, c):
    """H. Robertson's reactions: rates from 4e-2 to 3e7."""
    first, second, third = a * y[0], c * y[1] * y[1], b * y[1] * y[2]
    return [-first + third, first - third - second, second]


def van_der_pol(t, y, mu):
    """The oscillator of van der Pol: slow arcs and sudden turns."""
    return [y[1], mu * (1 - y[0] * y[0]) * y[1] - y[0]]
