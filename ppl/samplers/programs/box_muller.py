r"""Standard normal numbers from random bits, in operations that a compiler turns into vector instructions.

Box & Muller (1958): for independent u, θ, uniform on (0, 1] and on a circle, √(-2 log u) (cos θ, sin θ) are two
independent standard normals. XLA calls a function of the C library for each logarithm and each inverse error function;
here logarithm, sine and cosine are polynomials, exact to a few units in the last place, and a vector of momenta costs
less than half as much.
"""

from __future__ import annotations

from math import factorial, log, pi

import numpy as np

from ppl.xla.later import Array, jnp, lax

# Taylor's series: beyond these terms nothing is left in a double for |x| ≤ π/4 and for |s| ≤ (√2 - 1) / (√2 + 1).
SINE = [(-1) ** k / factorial(2 * k + 1) for k in range(8)]
COSINE = [(-1) ** k / factorial(2 * k) for k in range(9)]
AREA = [2 / (2 * k + 1) for k in range(12)]  # log((1 + s) / (1 - s)) = 2 (s + s³/3 + s⁵/5 + ...)

_ONE = np.uint64(0x3FF0000000000000)  # the double 1.0; its lowest 52 bits are the fraction
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)  # √½


def normals_from(radius_bits: Array, angle_bits: Array) -> Array:
    """Two standard normal numbers for each pair of 64 random bits, as a vector of twice the length."""
    radius = jnp.sqrt(-2 * logarithm(2 - _from_one_to_two(radius_bits)))
    # An eighth of the circle to each side, and a sign: the half of it that is left out swaps sine and cosine.
    sine, cosine = sine_and_cosine(0.5 * pi * (_from_one_to_two(angle_bits << np.uint64(12)) - 1.5))
    swapped, negative = angle_bits >> np.uint64(63) == 1, (angle_bits >> np.uint64(62)) & np.uint64(1) == 1
    radius = jnp.where(negative, -radius, radius)
    # Chosen by row, not concatenated: a fused concatenation is compiled into branches.
    upper = jnp.arange(2)[:, None] == swapped.astype(jnp.int64)
    return jnp.where(upper, radius * cosine, radius * sine).reshape(-1)


def logarithm(u: Array) -> Array:
    """log u of positive normal doubles: u = 2ᵉ m with m between √½ and √2."""
    bits = lax.bitcast_convert_type(u, jnp.int64)
    exponent = (bits - _ROOT_HALF) >> np.int64(52)
    m = lax.bitcast_convert_type(bits - (exponent << np.int64(52)), jnp.float64)
    s = (m - 1) / (m + 1)
    return exponent.astype(jnp.float64) * log(2) + s * _series(s * s, AREA)


def sine_and_cosine(x: Array) -> tuple[Array, Array]:
    """sin x and cos x for |x| ≤ π/4."""
    return x * _series(x * x, SINE), _series(x * x, COSINE)


def _from_one_to_two(bits: Array) -> Array:
    return lax.bitcast_convert_type((bits >> np.uint64(12)) | _ONE, jnp.float64)


def _series(y: Array, coefficients: list[float]) -> Array:
    total = jnp.full_like(y, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * y + coefficient
    return total
