r"""Logarithms of :math:`e^{-a} I_j(a)`, j = 0, 1, ...: the variances of the harmonics of a periodic kernel.

The ratios :math:`ρ_j = I_j/I_{j-1}` come by :math:`1/ρ_j = 2j/a + ρ_{j+1}`, downwards: a recurrence that forgets where
it starts; its slopes need no further work:

.. math:: \frac{d}{da} \log\big(e^{-a} I_j\big) = \tfrac12\Big(\frac1{ρ_j} + ρ_{j+1}\Big) - 1,\qquad
          \frac{d}{da} \log\big(e^{-a} I_0\big) = ρ_1 - 1
"""

from __future__ import annotations

from typing import Any

from ppl.tensor.core.later import jsp
from ppl.tensor.core.ops import JaxOp
from ppl.xla.later import custom_jvp, jnp, lax

BEYOND = 200  # orders above the highest, from which the recurrence starts


def _ratios(a: Any, count: int) -> Any:
    """ρ_1, ..., ρ_count."""
    top = count + BEYOND
    start = a / (top - 0.5 + jnp.sqrt((top + 0.5) ** 2 + a**2))

    def down(above: Any, j: Any) -> Any:
        ratio = a / (2 * j + a * above)
        return ratio, ratio

    orders = jnp.arange(top - 1, 0, -1, dtype=a.dtype)
    return lax.scan(down, start, orders)[1][::-1][:count]


def _from_ratios(a: Any, ratios: Any) -> Any:
    first = jnp.log(jsp.i0e(a)) + 0 * a  # nan at infinity
    return first + jnp.concatenate([jnp.zeros(1, a.dtype), jnp.cumsum(jnp.log(ratios[:-1]))])


@custom_jvp
def _log_harmonics(a: Any, orders: Any) -> Any:
    return _from_ratios(a, _ratios(a, orders.shape[0]))


@_log_harmonics.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    (a, orders), (da, _) = primals, tangents
    ratios = _ratios(a, orders.shape[0])
    inner = 0.5 * (1 / ratios[:-1] + ratios[1:]) - 1
    return _from_ratios(a, ratios), da * jnp.concatenate([ratios[:1] - 1, inner])


def _of_count(a: Any, *, count: int) -> Any:
    return _log_harmonics(a, jnp.arange(count, dtype=a.dtype))


log_harmonics = JaxOp("log_harmonics", _of_count, to_float=True)
log_harmonics.__doc__ = "log(exp(-a) I_j(a)) for a number a and j = 0, ..., count - 1, the modified Bessel functions."
