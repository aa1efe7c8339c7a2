"""Special functions as operations, one line each: JAX's where they are right, else our own (each says why)."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ppl.tensor.arrays import steady
from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.core.elementwise import INF, equal, exp, log, log1mexp, multiply, power, switch
from ppl.tensor.core.later import jsp
from ppl.tensor.core.ops import Elementwise, JaxOp, floats, keeping_dtype, unify
from ppl.tensor.special_functions import bessel as bessel
from ppl.tensor.special_functions.incomplete import betaln, gammainc, gammaincc
from ppl.tensor.tensor import Tensor, as_tensor, constant, function
from ppl.xla.either import xp
from ppl.xla.later import custom_jvp, jnp

# --- the gamma function, the error function, entropies
gammaln = Elementwise("gammaln", jsp.gammaln, "float", also=("loggamma",))
gamma = Elementwise("gamma", jsp.gamma, "float")
digamma = Elementwise("digamma", steady.digamma, "float", also=("psi",))
polygamma = Elementwise("polygamma", steady.polygamma, "float")
erf = Elementwise("erf", jsp.erf, "float", inverse="erfinv", monotone="increasing", range=(-1, 1), odd=True)
erfc = Elementwise("erfc", jsp.erfc, "float", inverse="erfcinv", monotone="decreasing", range=(0, 2))
erfinv = Elementwise("erfinv", jsp.erfinv, "float", inverse="erf", monotone="increasing", odd=True)
erfcinv = Elementwise(
    "erfcinv", lambda x: -jsp.ndtri(x / 2) / math.sqrt(2), "float", inverse="erfc", monotone="decreasing"
)
ndtr = Elementwise("ndtr", jsp.ndtr, "float", inverse="ndtri", monotone="increasing", range=(0, 1))
ndtri = Elementwise("ndtri", jsp.ndtri, "float", inverse="ndtr", monotone="increasing")


def _log_exp_difference(x: Any, y: Any) -> Any:
    """log(exp(x) - exp(y)) for x >= y; -inf where both are."""
    nothing = xp.isneginf(x)
    rest = x + log1mexp.lower(y - xp.where(nothing, 0.0, x))
    return xp.where(nothing, xp.where(xp.isneginf(y), x, np.nan), rest)


log_exp_difference = Elementwise("log_exp_difference", _log_exp_difference, "float")
xlogy = Elementwise("xlogy", jsp.xlogy, "float")
xlog1py = Elementwise("xlog1py", jsp.xlog1py, "float")
entr = Elementwise("entr", jsp.entr, "float")
zeta = Elementwise("zeta", jsp.zeta, "float")
i0 = Elementwise("i0", jsp.i0, "float", range=(1, INF), even=True)
i0e = Elementwise("i0e", jsp.i0e, "float", range=(0, 1), even=True)


def _log_i0(x: Any) -> Any:
    """log I₀(x); both branches see safe arguments, so gradients stay finite."""
    small = jnp.abs(x) < 1
    near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, x)
    return jnp.where(small, jnp.log(jsp.i0(near)), jnp.log(jsp.i0e(far)) + jnp.abs(far))


log_i0 = Elementwise("log_i0", _log_i0, "float", range=(0, INF), even=True)
i1 = Elementwise("i1", jsp.i1, "float", odd=True)
i1e = Elementwise("i1e", jsp.i1e, "float", odd=True)


# --- gamma and beta
def _beta(a: Any, b: Any) -> Any:
    """B(a, b), by its logarithm where both are positive."""
    positive = (a > 0) & (b > 0)
    value = jnp.exp(betaln.lower(jnp.where(positive, a, 1.0), jnp.where(positive, b, 1.0)))
    return jnp.where(positive, value, jsp.beta(jnp.where(positive, 0.5, a), jnp.where(positive, 0.5, b)))


beta = Elementwise("beta", _beta, "float", commutative=True)
trigamma = Elementwise("trigamma", steady.trigamma, "float", also=("tri_gamma",))
gammasgn = Elementwise("gammasgn", jsp.gammasgn, "float", range=(-1, 1))


# --- Bessel
iv = Elementwise("iv", keeping_dtype(bessel.iv), "float")
ive = Elementwise("ive", keeping_dtype(bessel.ive), "float")
kv = Elementwise("kv", keeping_dtype(bessel.kv), "float", also=("kn",), range=(0, INF))
kve = Elementwise("kve", keeping_dtype(bessel.kve), "float", range=(0, INF))
log_kve = Elementwise("log_kve", keeping_dtype(bessel.log_kve), "float")


def _j1(x: Any) -> Any:
    """By its series near 0, where the general way has no digits."""
    small = jnp.abs(x) < 0.01
    y = jnp.where(small, x, 0.0) ** 2
    return jnp.where(small, 0.5 * x * (1 - y / 8 * (1 - y / 24)), bessel.jn(1, jnp.where(small, 1.0, x)))


j0 = Elementwise("j0", keeping_dtype(lambda x: bessel.jn(0, x)), "float", range=(-1, 1), even=True)
j1 = Elementwise("j1", keeping_dtype(_j1), "float", range=(-1, 1), odd=True)


# --- entropies, integrals, hypergeometric functions
def _rel_entr(x: Any, y: Any) -> Any:
    """x ln(x/y), 0 at x = 0, infinite outside; JAX's is infinite where an argument is nan."""
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, jsp.rel_entr(x, y))


def _kl_div(x: Any, y: Any) -> Any:
    """x ln(x/y) - x + y, without loss of digits where x and y are close."""
    inside = (x > 0) & (y > 0)
    x_in, y_in = jnp.where(inside, x, 1.0), jnp.where(inside, y, 1.0)
    close = jnp.abs(y_in - x_in) < x_in / 2
    near = -jnp.log1p(jnp.where(close, y_in - x_in, 0.0) / jnp.where(close, x_in, 1.0))
    log_ratio = jnp.where(close, near, jnp.log(x_in) - jnp.log(y_in))
    value = jnp.where(inside, x_in * log_ratio + (y_in - x_in), jnp.where(x == 0, y, jnp.inf))
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, jnp.where((x < 0) | (y < 0), jnp.inf, value))


def _expi(x: Any) -> Any:
    """JAX's is nan at 0."""
    return jnp.where(x == 0, -jnp.inf, jsp.expi(jnp.where(x == 0, 1.0, x)))


def _exp1(x: Any) -> Any:
    """JAX's is nan at infinity."""
    return jnp.where(x == jnp.inf, 0.0, jsp.exp1(jnp.where(x == jnp.inf, 1.0, x)))


kl_div = Elementwise("kl_div", _kl_div, "float", range=(0, INF))
rel_entr = Elementwise("rel_entr", _rel_entr, "float")
expi = Elementwise("expi", _expi, "float")
exp1 = Elementwise("exp1", _exp1, "float", range=(0, INF))
spence = Elementwise("spence", jsp.spence, "float")
hyp1f1 = Elementwise("hyp1f1", jsp.hyp1f1, "float")
hyp2f1 = Elementwise("hyp2f1", jsp.hyp2f1, "float")
dawsn = Elementwise("dawsn", jsp.dawsn, "float", odd=True)
boxcox = Elementwise("boxcox", jsp.boxcox, "float")
boxcox1p = Elementwise("boxcox1p", jsp.boxcox1p, "float")


@functools.partial(custom_jvp, nondiff_argnums=(1,))
def _expn(x: Any, n: int) -> Any:
    """The integral of exp(-x t) / tⁿ from 1 on; JAX's is 1/2 at x = 0 whatever n is, nan at infinity."""
    at_zero = 1 / (n - 1) if n > 1 else math.inf
    inside = jsp.expn(n, jnp.where((x == 0) | (x == jnp.inf), 1.0, x))
    return jnp.where(x == 0, at_zero, jnp.where(x == jnp.inf, 0.0, inside))


@_expn.defjvp
def _expn_slope(n: int, inputs: Any, slopes: Any) -> Any:
    ((x,), (slope,)) = inputs, slopes
    return _expn(x, n), slope * (-_expn(x, n - 1) if n else -jnp.exp(-x) * (1 / x + 1 / x**2))


sici = JaxOp("sici", lambda x: tuple(jsp.sici(x)), to_float=True)
wofz = JaxOp("wofz", lambda z: jsp.wofz(z))
expn = JaxOp("expn", lambda x, *, n: _expn(x, n), to_float=True)
fresnel = JaxOp("fresnel", lambda x: tuple(jsp.fresnel(x)), to_float=True)


@function()
def xlogx(x: Any) -> Tensor:
    """x ln x, 0 at 0."""
    return xlogy(x, x)


@function()
def logdiffexp(a: Any, b: Any) -> Tensor:
    """ln(exp(a) - exp(b)) for a >= b; where exp(b) is 0, a, which may be -inf too."""
    a, b = floats((a, b))
    none = equal(b, -INF)
    return switch(none, a, a + log1mexp(switch(none, -1.0, b - a)))


@function()
def factorial(n: Any) -> Tensor:
    """n! = Γ(n + 1)."""
    return gamma(as_tensor(n) + 1.0)


@function()
def poch(z: Any, m: Any) -> Tensor:
    """Γ(z + m) / Γ(z), the rising factorial."""
    z, m = unify(floats((z, m)))
    return switch(equal(m, 0), 1, gammasgn(z + m) * gammasgn(z) * exp(gammaln(z + m) - gammaln(z)))


@function("binom")
def comb(n: Any, k: Any) -> Tensor:
    """How many ways there are to choose k of n."""
    n, k = unify(floats((n, k)))
    return exp(-betaln(1.0 + n - k, 1.0 + k) - log(n + 1.0)) * ((k >= 0) & (k <= n))


@function()
def multigammaln(a: Any, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    (a,) = unify(floats((a,)))
    steps = constant((np.arange(p) / 2.0).astype(a.dtype))
    return 0.25 * p * (p - 1) * np.log(np.pi) + sum_along(gammaln(a[..., None] - steps), -1)


@function()
def chi2sf(x: Any, k: Any) -> Tensor:
    """The probability that a chi-squared variable with k degrees of freedom exceeds x."""
    return gammaincc(as_tensor(k) / 2.0, as_tensor(x) / 2.0)


@function()
def gammau(a: Any, x: Any) -> Tensor:
    """The upper incomplete gamma function, not normalized."""
    a, x = unify(floats((a, x)))
    return multiply(gammaincc(a, x), gamma(a))


@function()
def gammal(a: Any, x: Any) -> Tensor:
    """The lower incomplete gamma function, not normalized."""
    a, x = unify(floats((a, x)))
    return multiply(gammainc(a, x), gamma(a))


@function()
def complex_from_polar(radius: Any, angle: Any) -> Tensor:
    """radius exp(i angle)."""
    radius, angle = unify(floats((radius, angle)))
    return multiply(radius, power(np.e, multiply(1j, angle)))
