r"""Exponential and normal draws in doubles, by functions that run in vectors.

XLA calls a scalar function for the logarithm of each double, and its error function computes three polynomials; the
logarithm and the normal quantile here are arithmetic only, so a draw costs little more than its random bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl.xla import threefry
from ppl.xla.either import of_numpy, xp
from ppl.xla.later import jax, jnp, lax


def uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """On [0, 1)."""
    if np.dtype(dtype) != np.float64:
        return jax.random.uniform(key, shape, dtype)
    return uniform_of(threefry.bits(key, shape, np.uint64))


def exponential(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Of mean 1."""
    if np.dtype(dtype) != np.float64:
        return jax.random.exponential(key, shape, dtype)
    return exponential_of(threefry.bits(key, shape, np.uint64))


def normal(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Of mean 0 and variance 1."""
    if np.dtype(dtype) != np.float64:
        return jax.random.normal(key, shape, dtype)
    return normal_of(threefry.bits(key, shape, np.uint64))


def laplace(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Of location 0 and scale 1: an exponential, with the sign of a bit that it does not take."""
    if np.dtype(dtype) != np.float64:
        return jax.random.laplace(key, shape, dtype)
    words = threefry.bits(key, shape, np.uint64)
    return xp.where(words & np.uint64(1) == 1, -1.0, 1.0) * exponential_of(words)


def two_sided(key: Any, share: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """An exponential of mean 1, with a minus sign in a share of the draws: a uniform number below the share is, divided
    by it, uniform again."""
    u = _open_uniform(key, shape, dtype)
    left = u < share
    rest = xp.where(left, u, 1.0 - u) / xp.where(left, share, 1.0 - share)
    return xp.where(left, 1.0, -1.0) * (log if u.dtype == np.float64 else jnp.log)(rest)


def _open_uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform and symmetric on (0, 1): amid the steps of `jax.random.uniform`, whose 0 makes infinite draws."""
    if np.dtype(dtype) != np.float64:
        return jax.random.uniform(key, shape, dtype) + 0.5 * jnp.finfo(dtype).eps
    return open_uniform_of(threefry.bits(key, shape, np.uint64))


def gumbel(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Of location 0 and scale 1: minus the logarithm of an exponential."""
    if np.dtype(dtype) != np.float64:
        return jax.random.gumbel(key, shape, dtype)
    return -log(-log(open_uniform_of(threefry.bits(key, shape, np.uint64))))


def logistic(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Of location 0 and scale 1: the log odds of a uniform number."""
    if np.dtype(dtype) != np.float64:
        return jax.random.logistic(key, shape, dtype)
    u = open_uniform_of(threefry.bits(key, shape, np.uint64))
    return log(u / (1.0 - u))


# --- the same of random words: a program that needs several draws at a place takes their bits at once, as each source
# of bits is a tenth of a second to compile


def uniform_of(words: Any) -> Any:
    """In [0, 1)."""
    return _fraction(words) - 1.0


def open_uniform_of(words: Any) -> Any:
    """Uniform and symmetric on (0, 1): odd multiples of 2**-53."""
    return (_fraction(words) - 1.0) + 2.0**-53


def exponential_of(words: Any) -> Any:
    return -log(2.0 - _fraction(words))


def normal_of(words: Any) -> Any:
    return _normal_quantile(open_uniform_of(words))


# Wichura's algorithm AS 241 (1988): the quantile as two rational functions, near the middle and in the tails
_MIDDLE = (
    3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
)  # fmt: skip
_UNDER_MIDDLE = (
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
)  # fmt: skip
_TAIL = (
    1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
    1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
)  # fmt: skip
_UNDER_TAIL = (
    1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
)  # fmt: skip


_FAR_TAIL = (
    6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
)  # fmt: skip
_UNDER_FAR_TAIL = (
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
)  # fmt: skip


def _normal_quantile(u: Any) -> Any:
    """For u from 2**-53 to 1 - 2**-53. Its tails are those of AS 241 for u > 1e-11, 5e-13 off at the very ends."""
    q = u - 0.5
    near = xp.abs(q) <= 0.425
    z = 0.180625 - q * q
    r = xp.sqrt(-log(xp.minimum(u, 1.0 - u))) - 1.6
    above = xp.where(near, q * _polynomial(_MIDDLE, z), xp.sign(q) * _polynomial(_TAIL, r))
    below = xp.where(near, _polynomial(_UNDER_MIDDLE, z), _polynomial(_UNDER_TAIL, r))
    return above / below  # one division, at the end: XLA computes cheaper ends again for each use of the result


def normal_quantile_of_log(log_u: Any) -> Any:
    """The same for a u from 1e-316 on whose logarithm is given; as u nears 1, as exact as 1 - u is."""
    u = xp.exp(log_u)
    q = u - 0.5
    near = xp.abs(q) <= 0.425
    z = 0.180625 - q * q
    r = xp.sqrt(xp.where(q < 0, -log_u, -log(xp.maximum(1.0 - u, 2.0**-54))))
    far = r > 5.0
    r = r - xp.where(far, 5.0, 1.6)
    tail = xp.where(far, _polynomial(_FAR_TAIL, r), _polynomial(_TAIL, r))
    under = xp.where(far, _polynomial(_UNDER_FAR_TAIL, r), _polynomial(_UNDER_TAIL, r))
    above = xp.where(near, q * _polynomial(_MIDDLE, z), xp.sign(q) * tail)
    return above / xp.where(near, _polynomial(_UNDER_MIDDLE, z), under)


def _fraction(words: Any) -> Any:
    """A number in [1, 2) with the first 52 bits of each word as its fraction."""
    return double_of((words >> np.uint64(12)) | np.uint64(0x3FF << 52))


def double_of(words: Any) -> Any:
    """The doubles of which these are the bits."""
    return words.view(np.float64) if of_numpy(words) else lax.bitcast_convert_type(words, jnp.float64)


_LOG = (
    0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784,
    0.1818357216161805, 0.15313837699209373, 0.14798198605116586,
)  # fmt: skip


def log(x: Any) -> Any:
    """Of doubles that are positive, finite and not subnormal, within three units in the last place: fdlibm's method,
    without its last correction, which costs a quarter of the time."""
    if of_numpy(x):
        return np.log(x)
    words = lax.bitcast_convert_type(x, jnp.uint64)
    fraction = lax.bitcast_convert_type((words & np.uint64(2**52 - 1)) | np.uint64(0x3FF << 52), jnp.float64)
    # the exponent as a double, by its bits: there is no vector instruction for int64 to double
    exponent = lax.bitcast_convert_type((words >> np.uint64(52)) | np.uint64(0x433 << 52), jnp.float64)
    upper = fraction > math.sqrt(2.0)
    k = exponent - xp.where(upper, 2.0**52 + 1022, 2.0**52 + 1023)
    f = xp.where(upper, 0.5 * fraction, fraction) - 1.0
    s = f / (2.0 + f)
    z = s * s
    return k * math.log(2) + s * (2.0 + z * _polynomial(_LOG, z))


_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(12))


def sine_and_cosine_of_quarter_turn(a: Any) -> tuple[Any, Any]:
    """sin(πa/2) and cos(πa/2) for 0 ≤ a ≤ 1, the cosine as the sine of what is left to a quarter turn."""
    x, rest = 0.5 * math.pi * a, 0.5 * math.pi * (1 - a)
    return x * _polynomial(_SINE, x * x), rest * _polynomial(_SINE, rest * rest)


# arctan(y)/y in powers of y² for |y| ≤ tan(π/8): Chebyshev's polynomial, 4e-17 off
_ARCTAN = (
    1.0, -0.3333333333332844, 0.1999999999885511, -0.14285714180976467, 0.11111106180455946, -0.09090773074808414,
    0.07689953496306857, -0.06640233930429408, 0.056883492268090106, -0.04348052215716462, 0.021135373157693246,
)  # fmt: skip


def arctan(x: Any) -> Any:
    """From the nearest of 0, ±π/4 and ±π/2: arctan(x) = π/4 + arctan((x - 1)/(x + 1)) = π/2 - arctan(1/x) for x > 0."""
    size = xp.abs(x)
    near, far = size < math.tan(math.pi / 8), size > math.tan(3 * math.pi / 8)
    y = xp.where(near, size, xp.where(far, -1.0, size - 1.0)) / xp.where(near, 1.0, xp.where(far, size, size + 1.0))
    start = xp.where(near, 0.0, xp.where(far, math.pi / 2, math.pi / 4))
    return xp.sign(x) * (start + y * _polynomial(_ARCTAN, y * y))


def _polynomial(coefficients: Any, x: Any) -> Any:
    """By Horner's rule, the coefficient of the lowest power first; JAX traces primitives sooner than operators."""
    add, multiply = (np.add, np.multiply) if of_numpy(x) else (lax.add, lax.mul)
    result = xp.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        result = add(multiply(result, x), c)
    return result
