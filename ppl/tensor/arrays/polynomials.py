"""Polynomials by their coefficients, the highest power first, as NumPy's older functions have them."""

from __future__ import annotations

from typing import Any

from ppl.tensor.core.ops import JaxOp
from ppl.xla.later import jnp


def _divided(a: Any, b: Any) -> Any:
    """The quotient, and the remainder with the coefficients that it can have: one fewer than the divisor."""
    quotient, rest = jnp.polydiv(a, b)
    return quotient, rest[-max(len(b) - 1, 1) :]


poly = JaxOp("poly", lambda roots: jnp.poly(roots), to_float=True)
polyval = JaxOp("polyval", lambda p, x: jnp.polyval(p, x), one_dtype=True)
polyadd = JaxOp("polyadd", lambda a, b: jnp.polyadd(a, b), one_dtype=True)
polysub = JaxOp("polysub", lambda a, b: jnp.polysub(a, b), one_dtype=True)
polymul = JaxOp("polymul", lambda a, b: jnp.polymul(a, b), one_dtype=True)
polydiv = JaxOp("polydiv", lambda a, b: _divided(a, b), to_float=True)
polyder = JaxOp("polyder", lambda p, *, m=1: jnp.polyder(p, m), to_float=True)
polyint = JaxOp("polyint", lambda p, *, m=1: jnp.polyint(p, m), to_float=True)
polyfit = JaxOp("polyfit", lambda x, y, *, deg: jnp.polyfit(x, y, deg), to_float=True)
roots = JaxOp("roots", lambda p: jnp.roots(p, strip_zeros=False), to_float=True)
