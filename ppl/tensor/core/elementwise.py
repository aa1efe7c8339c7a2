"""Elementwise operations: one line each, with the facts that algebra uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.arrays import steady
from ppl.tensor.core.later import Functions, jnf, jsp
from ppl.tensor.core.ops import Elementwise, JaxOp, cast_to, unify
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor, function
from ppl.xla.either import xp
from ppl.xla.later import custom_jvp, jax, jnp, lax

INF = np.inf

# --- arithmetic
add = Elementwise("add", jnf.add, unit=0.0, commutative=True, associative=True)
subtract = Elementwise("subtract", jnf.subtract, also=("sub",))
multiply = Elementwise("multiply", jnf.multiply, also=("mul",), unit=1.0, zero=0.0, commutative=True, associative=True)
true_divide = Elementwise("true_divide", jnf.true_divide, "float", also=("divide", "true_div", "div_proxy", "truediv"))
floor_divide = Elementwise("floor_divide", jnf.floor_divide, also=("int_div", "floor_div", "floordiv"))
mod = Elementwise("mod", jnf.mod, also=("remainder",))
fmod = Elementwise("fmod", jnf.fmod)
power = Elementwise("power", jnf.power, also=("pow", "float_power"))
negative = Elementwise("negative", jnf.negative, also=("neg",), inverse="negative", monotone="decreasing", odd=True)
positive = Elementwise("positive", jnf.positive, inverse="positive", monotone="increasing", odd=True)
reciprocal = Elementwise("reciprocal", jnf.reciprocal, "float", also=("inv_elemwise",), inverse="reciprocal", odd=True)
abs = Elementwise("abs", steady.absolute, "real", also=("absolute", "fabs", "abs_"), range=(0, INF), even=True)
sign = Elementwise("sign", jnf.sign, also=("sgn",), range=(-1, 1), odd=True)
square = Elementwise("square", jnf.square, also=("sqr",), range=(0, INF), even=True)
whole = Elementwise("whole", lambda x: lax.optimization_barrier(jnp.asarray(x)))  # x, which XLA does not take apart
sqrt = Elementwise("sqrt", jnf.sqrt, "float", inverse="square", monotone="increasing", range=(0, INF))
cbrt = Elementwise("cbrt", jnf.cbrt, "float", monotone="increasing", odd=True)
rsqrt = Elementwise("rsqrt", Functions("jax.lax").rsqrt, "float", monotone="decreasing", range=(0, INF))
hypot = Elementwise("hypot", steady.hypot, "float", commutative=True, range=(0, INF))
maximum = Elementwise("maximum", jnf.maximum, also=("fmax",), commutative=True, associative=True, idempotent=True)
minimum = Elementwise("minimum", jnf.minimum, also=("fmin",), commutative=True, associative=True, idempotent=True)

# --- exponentials and logarithms
exp = Elementwise("exp", jnf.exp, "float", inverse="log", monotone="increasing", range=(0, INF))
exp2 = Elementwise("exp2", jnf.exp2, "float", inverse="log2", monotone="increasing", range=(0, INF))
expm1 = Elementwise("expm1", jnf.expm1, "float", inverse="log1p", monotone="increasing", range=(-1, INF))
log = Elementwise("log", jnf.log, "float", inverse="exp", monotone="increasing")
log2 = Elementwise("log2", jnf.log2, "float", inverse="exp2", monotone="increasing")
log10 = Elementwise("log10", jnf.log10, "float", monotone="increasing")
log1p = Elementwise("log1p", jnf.log1p, "float", inverse="expm1", monotone="increasing")
logaddexp = Elementwise("logaddexp", jnf.logaddexp, "float", commutative=True, associative=True)
logaddexp2 = Elementwise("logaddexp2", jnf.logaddexp2, "float", commutative=True, associative=True)


@custom_jvp
def _softplus(x: Any) -> Any:
    """log(1 + exp(x)); JAX's own goes through logaddexp, which takes XLA twice as long to compile."""
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


_softplus.defjvps(lambda slope, value, x: slope * jax.nn.sigmoid(x))
softplus = Elementwise("softplus", _softplus, "float", also=("log1pexp",), monotone="increasing", range=(0, INF))
sigmoid = Elementwise(
    "sigmoid",
    steady.sigmoid,
    "float",
    also=("expit", "invlogit"),
    inverse="logit",
    monotone="increasing",
    range=(0, 1),
)
logit = Elementwise("logit", jsp.logit, "float", inverse="sigmoid", monotone="increasing")
share = Elementwise("share", lambda x, y: x / (x + y), "float", range=(0, 1))  # of x in x + y, for x, y ≥ 0
log_sigmoid = Elementwise(
    "log_sigmoid", Functions("jax.nn").log_sigmoid, "float", monotone="increasing", range=(-INF, 0)
)


def _log1mexp(x: Any) -> Any:
    """log(1 - exp(x)) for x < 0 (Mächler 2012); both branches see safe arguments, so gradients stay finite."""
    near_zero = x > -np.log(2.0)
    small = xp.where(near_zero, x, -1.0)
    large = xp.where(near_zero, -1.0, x)
    return xp.where(near_zero, xp.log(-xp.expm1(small)), xp.log1p(-xp.exp(large)))


log1mexp = Elementwise("log1mexp", _log1mexp, "float", monotone="decreasing", range=(-INF, 0))

# --- circular and hyperbolic
sin = Elementwise("sin", jnf.sin, "float", range=(-1, 1), odd=True)
cos = Elementwise("cos", jnf.cos, "float", range=(-1, 1), even=True)
tan = Elementwise("tan", jnf.tan, "float", odd=True)
arcsin = Elementwise("arcsin", jnf.arcsin, "float", also=("asin",), inverse="sin", monotone="increasing", odd=True)
arccos = Elementwise("arccos", jnf.arccos, "float", also=("acos",), inverse="cos", monotone="decreasing")
arctan = Elementwise("arctan", jnf.arctan, "float", also=("atan",), inverse="tan", monotone="increasing", odd=True)
arctan2 = Elementwise("arctan2", jnf.arctan2, "float", also=("atan2",))
sinh = Elementwise("sinh", jnf.sinh, "float", inverse="arcsinh", monotone="increasing", odd=True)
cosh = Elementwise("cosh", jnf.cosh, "float", range=(1, INF), even=True)
tanh = Elementwise("tanh", jnf.tanh, "float", inverse="arctanh", monotone="increasing", range=(-1, 1), odd=True)
arcsinh = Elementwise("arcsinh", jnf.arcsinh, "float", also=("asinh",), inverse="sinh", monotone="increasing", odd=True)
arccosh = Elementwise("arccosh", jnf.arccosh, "float", also=("acosh",), inverse="cosh", monotone="increasing")
arctanh = Elementwise("arctanh", jnf.arctanh, "float", also=("atanh",), inverse="tanh", monotone="increasing", odd=True)
deg2rad = Elementwise(
    "deg2rad", jnf.deg2rad, "float", also=("radians",), inverse="rad2deg", monotone="increasing", odd=True
)
rad2deg = Elementwise(
    "rad2deg", jnf.rad2deg, "float", also=("degrees",), inverse="deg2rad", monotone="increasing", odd=True
)
sinc = Elementwise("sinc", steady.sinc, "float", even=True)

# --- rounding
floor = Elementwise("floor", jnf.floor, "float")
ceil = Elementwise("ceil", jnf.ceil, "float")
trunc = Elementwise("trunc", jnf.trunc, "float", also=("fix",))
rint = Elementwise("rint", jnf.rint, "float", odd=True)

# --- comparisons and logic
less = Elementwise("less", jnf.less, "bool", also=("lt",))
less_equal = Elementwise("less_equal", jnf.less_equal, "bool", also=("le",))
greater = Elementwise("greater", jnf.greater, "bool", also=("gt",))
greater_equal = Elementwise("greater_equal", jnf.greater_equal, "bool", also=("ge",))
equal = Elementwise("equal", jnf.equal, "bool", also=("eq",), commutative=True)
not_equal = Elementwise("not_equal", jnf.not_equal, "bool", also=("neq",), commutative=True)
logical_and = Elementwise("logical_and", jnf.logical_and, "bool", commutative=True, associative=True, idempotent=True)
logical_or = Elementwise("logical_or", jnf.logical_or, "bool", commutative=True, associative=True, idempotent=True)
logical_xor = Elementwise("logical_xor", jnf.logical_xor, "bool", commutative=True, associative=True)
logical_not = Elementwise("logical_not", jnf.logical_not, "bool", inverse="logical_not")
bitwise_and = Elementwise(
    "bitwise_and", jnf.bitwise_and, takes="biu", also=("and_",), commutative=True, associative=True, idempotent=True
)
bitwise_or = Elementwise(
    "bitwise_or", jnf.bitwise_or, takes="biu", also=("or_",), commutative=True, associative=True, idempotent=True
)
bitwise_xor = Elementwise(
    "bitwise_xor", jnf.bitwise_xor, takes="biu", also=("xor",), commutative=True, associative=True
)
invert = Elementwise("invert", jnf.invert, takes="biu", also=("bitwise_not", "bitwise_invert"), inverse="invert")
left_shift = Elementwise("left_shift", jnf.left_shift, takes="iu", also=("bitwise_left_shift",))
right_shift = Elementwise("right_shift", jnf.right_shift, takes="iu", also=("bitwise_right_shift",))
isnan = Elementwise("isnan", jnf.isnan, "bool")
isinf = Elementwise("isinf", jnf.isinf, "bool")
isfinite = Elementwise("isfinite", jnf.isfinite, "bool")
signbit = Elementwise("signbit", jnf.signbit, "bool")
gcd = Elementwise("gcd", jnf.gcd, takes="iu", commutative=True)
lcm = Elementwise("lcm", jnf.lcm, takes="iu", commutative=True)
copysign = Elementwise("copysign", jnf.copysign, "float")
nextafter = Elementwise("nextafter", jnf.nextafter, "float")
heaviside = Elementwise("heaviside", jnf.heaviside, "float")

# --- complex
real = Elementwise("real", jnf.real, "real")
imag = Elementwise("imag", jnf.imag, "real")
conjugate = Elementwise("conjugate", jnf.conjugate, also=("conj",))


@function()
def angle(z: Any) -> Tensor:
    """The argument of complex numbers."""
    return arctan2(imag(z), real(z))


@function("complex")
def complex_of(re: Any, im: Any) -> Tensor:
    """The complex numbers of two real parts (a product with 1j would make nan of infinite ones)."""
    return _complex(re, im)


_complex = JaxOp("complex_op", lambda re, im: jax.lax.complex(*jnp.broadcast_arrays(re, im)), to_float=True)


# --- choice
class _Switch(Elementwise):
    """Entry by entry: the second input where the first is true, else the third."""

    def __call__(self, cond: Any, ift: Any, iff: Any, *, name: str | None = None) -> Tensor:
        branches = unify((ift, iff))
        return self.build((cast_to(as_tensor(cond), "bool"), *branches), {}, name)


switch = _Switch("switch", jnf.where)


class _Clip(Elementwise):
    """Limited to an interval; a bound may be None. `a_min` and `a_max` are the bounds by NumPy's names."""

    def __call__(
        self,
        x: Any,
        min: Any = None,
        max: Any = None,
        *,
        a_min: Any = None,
        a_max: Any = None,
        name: str | None = None,
    ) -> Tensor:
        min, max = a_min if min is None else min, a_max if max is None else max
        if min is None and max is None:
            return as_tensor(x)
        if min is None or max is None:
            return minimum(x, max, name=name) if min is None else maximum(x, min, name=name)
        return self.build(unify((x, min, max)), {}, name)


clip = _Clip("clip", jnf.clip)


@function("round_", "around")
def round(a: Any, mode: Any = None, *, decimals: int = 0, name: str | None = None) -> Tensor:
    """To the nearest, halves to the even one or by `mode="half_away_from_zero"`; integers stay as they are. `decimals`
    is the number of digits that stay, which NumPy has in the place of `mode`."""
    if isinstance(mode, int | np.integer):
        mode, decimals = None, int(mode)
    if mode not in (None, "half_to_even", "half_away_from_zero"):
        raise ValueError(f"round: mode is 'half_to_even' or 'half_away_from_zero', got {mode!r}")
    a = as_tensor(a)
    if a.dtype[0] in "ui":
        return a
    nearest = FUNCTIONS["round_half_away_from_zero"] if mode == "half_away_from_zero" else rint
    scale = 10.0**decimals
    result = nearest(a) if decimals == 0 else true_divide(nearest(a * scale), scale)
    return result if name is None else result.copy(name)


@function()
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """|a - b| <= atol + rtol |b|, with infinities close to themselves."""
    a, b = unify((a, b))
    if a.dtype == "bool":
        return equal(a, b)
    close = (abs(a - b) <= atol + rtol * abs(b)) & isfinite(b) | equal(a, b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close
