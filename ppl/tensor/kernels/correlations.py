r"""Correlations at a squared distance s, entry by entry: stationary kernels are these of a matrix of distances.

The Matérn family at ν = 1/2, 3/2, 5/2, with u = √(2νs), is closed under derivatives in s:

.. math:: m_0 = e^{-u},\quad m_1 = (1 + u)e^{-u},\quad m_2 = (1 + u + u^2/3)e^{-u};\qquad
          \frac{dm_2}{du^2} = -\tfrac16 m_1,\quad \frac{dm_1}{du^2} = -\tfrac12 m_0,\quad
          \frac{dm_0}{du^2} = -\frac{e^{-u}}{2u}

so that slopes at distance zero are right without a small number under the root; m₀ has a corner there, and the slope 0.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ppl.tensor.core.ops import Elementwise
from ppl.xla.either import of_numpy, xp
from ppl.xla.later import custom_jvp, jnp

FAR = 1e3  # a root at which exponentials are zero, so that infinite distances are no zero times infinity


def _root(s: Any) -> Any:
    """The square root, with slope zero at zero; nan stays, and negative squares count as zero."""
    return xp.where(s <= 0, 0, xp.sqrt(xp.where(s <= 0, 1, s)))


def _value(order: int, v: Any) -> Any:
    """m of this order at u² = v; negative squares count as zero."""
    v = xp.clip(v, 0, FAR**2)
    u = xp.sqrt(v)
    return xp.exp(-u) * (1, 1 + u, 1 + u + v / 3)[order]


_with_slope = custom_jvp(_value, nondiff_argnums=(0,))


@_with_slope.defjvp
def _slope(order: int, primals: Any, tangents: Any) -> Any:
    (v,), (dv,) = primals, tangents
    value = _with_slope(order, v)
    if order:
        return value, dv * (-1 / 2, -1 / 6)[order - 1] * _with_slope(order - 1, v)
    u = jnp.sqrt(jnp.where(v > 0, v, 1))
    return value, dv * jnp.where(v > 0, -value / (2 * u), 0 * value)


def _matern(order: int, s: Any) -> Any:
    v = (2 * order + 1) * s
    return _value(order, v) if of_numpy(v) else _with_slope(order, v)


def _rational_quadratic(s: Any, alpha: Any) -> Any:
    return xp.exp(-alpha * xp.log1p(s / (2 * alpha)))


exp_quad = Elementwise("exp_quad", lambda s: xp.exp(-0.5 * s), "float", monotone="decreasing")
matern12 = Elementwise("matern12", functools.partial(_matern, 0), "float", monotone="decreasing", range=(0, 1))
matern32 = Elementwise("matern32", functools.partial(_matern, 1), "float", monotone="decreasing", range=(0, 1))
matern52 = Elementwise("matern52", functools.partial(_matern, 2), "float", monotone="decreasing", range=(0, 1))
rational_quadratic = Elementwise("rational_quadratic", _rational_quadratic, "float")
cosine_wave = Elementwise("cosine_wave", lambda s: xp.cos(2 * np.pi * _root(s)), "float", range=(-1, 1))
CORRELATIONS = (exp_quad, matern12, matern32, matern52, rational_quadratic, cosine_wave)
