"""The system of an equation and its sensitivities as one compiled function: PyMC's `ode.utils`. Solvers here take
derivatives of steps and have no need of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.compile import function
from ppl.ode.differential_equation import DifferentialEquation
from ppl.tensor.arrays.shaping import reshape
from ppl.tensor.core.derivatives import jvp
from ppl.tensor.core.vectorizing import vectorize
from ppl.tensor.tensor import Tensor, TensorType, placeholder


def make_sens_ic(n_states: int, n_theta: int, floatX: str) -> np.ndarray:
    """The sensitivities at t0, as one vector: of the states in y0 the identity, in theta zero."""
    return np.eye(n_states, n_states + n_theta, dtype=floatX).ravel()


def augment_system(ode_func: Callable[..., Any], n_states: int, n_theta: int) -> Any:
    """A compiled function of y, t, p (starts and parameters in one vector) and the sensitivities as a vector, which
    gives the slopes of the states and of the sensitivities."""
    equation = DifferentialEquation(ode_func, [1.0], n_states=n_states, n_theta=n_theta)
    count = n_states + n_theta
    p, sens = (placeholder(TensorType("float64", (n,))) for n in (count, n_states * count))
    y, t = (placeholder(TensorType("float64", shape)) for shape in ((n_states,), ()))
    slopes = equation.slopes_at(y, t, p[n_states:])
    unit = np.eye(count)
    along: Callable[..., Tensor] = vectorize(lambda dy, dp: jvp(slopes, [y, p], [dy, dp]), "(s),(p)->(s)")
    changes = along(reshape(sens, (n_states, count)).T, unit).T
    return function([y, t, p, sens], [slopes, changes.flatten()], on_unused_input="ignore")
