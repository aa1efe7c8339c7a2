"""Numbers cut into whole parts, fractions and powers of two."""

from __future__ import annotations

from typing import Any

from ppl.tensor.core.elementwise import abs as absolute
from ppl.tensor.core.elementwise import ceil as ceiling
from ppl.tensor.core.elementwise import copysign, floor_divide, isinf, mod, multiply, rint, sign, switch, trunc
from ppl.tensor.core.later import jnf
from ppl.tensor.core.ops import Elementwise, JaxOp, cast_to, floats, unify
from ppl.tensor.tensor import Tensor, as_tensor, function
from ppl.xla.later import jnp


@function()
def iround(a: Any, mode: str = "half_to_even") -> Tensor:
    """Rounded, as integers."""
    if mode not in ("half_to_even", "half_away_from_zero"):
        raise ValueError(f"iround: mode is 'half_to_even' or 'half_away_from_zero', got {mode!r}")
    return cast_to(rint(a) if mode == "half_to_even" else round_half_away_from_zero(a), "int64")


@function()
def round_half_to_even(x: Any) -> Tensor:
    """To the nearest whole number, halves to the even one."""
    return rint(x)


@function()
def round_half_away_from_zero(x: Any) -> Tensor:
    """To the nearest whole number, halves away from zero."""
    (x,) = unify(floats((x,)))
    whole = trunc(x)
    return whole + switch(absolute(x - whole) >= 0.5, sign(x), 0)


@function()
def ceil_intdiv(a: Any, b: Any) -> Tensor:
    """The quotient rounded up, in whole numbers."""
    return -floor_divide(-as_tensor(a), b)


@function()
def iceil(x: Any) -> Tensor:
    """Rounded up, as integers."""
    return cast_to(ceiling(x), "int64")


@function()
def divmod(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Quotient and remainder."""
    return floor_divide(x, y), mod(x, y)


@function()
def modf(x: Any) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part, both with the sign of the number."""
    x = as_tensor(x) * 1.0
    whole = trunc(x)
    return copysign(switch(isinf(x), 0.0, x - whole), x), whole


@function()
def ldexp(x: Any, exponent: Any) -> Tensor:
    """`x` times two to the power `exponent`."""
    (x,) = unify(floats((x,)))
    return multiply(x, cast_to(2.0 ** as_tensor(exponent), x.dtype))


frexp = JaxOp("frexp", lambda x: tuple(jnp.frexp(x)), to_float=True)


spacing = Elementwise("spacing", jnf.spacing, "float")


bitwise_count = JaxOp("bitwise_count", lambda x: jnp.bitwise_count(x))
