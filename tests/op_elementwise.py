"""The rows of elementwise operations."""

from __future__ import annotations

import functools

import numpy as np
import scipy.special as sp
from op_rows import elementwise, named, oracle_of
from scipy import integrate, stats

REAL, POSITIVE, UNIT, INSIDE = (-4.0, 4.0), (0.3, 6.0), (0.05, 0.95), (-0.9, 0.9)
FINITE = (0.0, 1.0, -1.0)
NUMBERS = (1.0, 2.5, np.nan)
E = elementwise


def to_float(*domains, oracle=None, **options):
    """A function with results of floating dtype: bool becomes float32 first (float16, NumPy's choice, has three digits,
    and SciPy chooses now this, now that), integers become floatX."""

    def row(name):
        plain = oracle or oracle_of(name)

        def by_floats(*xs):
            return plain(
                *[np.asarray(x).astype(np.float32 if np.asarray(x).dtype == bool else np.asarray(x).dtype) for x in xs]
            )

        return E(*domains, oracle=by_floats, **options)(name)

    return row


def _log1mexp(x):
    return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _softplus(x):
    return np.logaddexp(x, np.zeros_like(x))


def _gelu(x):
    return x * sp.ndtr(x)


def _selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def _stirling(x):
    return sp.gammaln(x + 1) - sp.xlogy(x, x) + x


@np.vectorize
def _log_beta_below_beta(a, b, c, d):
    both = lambda x: stats.beta.pdf(x, c, d) * stats.beta.cdf(x, a, b)
    return np.log(integrate.quad(both, 0, 1, epsabs=1e-13, epsrel=1e-12)[0])


def _bessel_remainder(n, w):
    z = np.sqrt(w**2 - n**2)
    return np.log(sp.ive(n, z)) + z - w + n * np.arcsinh(n / z)


def _matern(order, s):
    """By the modified Bessel function: 2^(1-ν)/Γ(ν) u^ν K_ν(u), u = √(2νs); negative squares count as zero."""
    nu = order + 0.5
    u = np.sqrt(np.maximum(2 * nu * s, 0))
    far = np.where((u > 0) & (u < np.inf), u, 1.0)
    inside = 2 ** (1 - nu) / sp.gamma(nu) * far**nu * sp.kv(nu, far)
    return np.where(np.isnan(u), u, np.where(u == 0, 1.0, np.where(u == np.inf, 0.0, inside))).astype(u.dtype)


ELEMENTWISE = named(
    {
        # arithmetic
        "add": E(REAL, REAL, kinds="fibc"),
        "subtract": E(REAL, REAL, kinds="fic"),
        "multiply": E(REAL, REAL, kinds="fibc"),
        "true_divide": E(REAL, POSITIVE, kinds="fic"),
        "floor_divide": E((0.1, 0.9), (1.0, 1.5), kinds="f", special=FINITE, slopes=False),
        "mod": E((4.1, 4.9), (2.0, 2.04), kinds="f", slopes=False),
        "fmod": E((4.1, 4.9), (2.0, 2.04), kinds="f", slopes=False),
        "power": E(POSITIVE, REAL, kinds="f"),
        "negative": E(REAL, kinds="fic"),
        "positive": E(REAL, kinds="fic"),
        "reciprocal": E(POSITIVE, kinds="fc"),
        "abs": E(POSITIVE, kinds="fibc"),
        "sign": E(POSITIVE, kinds="fi"),
        "square": E(REAL, kinds="fic"),
        "whole": E(REAL, oracle=lambda x: x, kinds="fic"),
        "sqrt": to_float(POSITIVE, kinds="fibc"),
        "cbrt": to_float(POSITIVE, kinds="fib"),
        "rsqrt": to_float(POSITIVE, oracle=lambda x: 1 / np.sqrt(x), special=(1.0, np.inf, np.nan, -1.0)),
        "hypot": to_float(REAL, POSITIVE),
        "maximum": E(REAL, (5, 6)),
        "minimum": E(REAL, (5, 6)),
        # exponentials and logarithms
        "exp": to_float(REAL, kinds="fibc"),
        "exp2": to_float(REAL),
        "expm1": to_float(REAL),
        "log": to_float(POSITIVE, kinds="fibc"),
        "log2": to_float(POSITIVE),
        "log10": to_float(POSITIVE),
        "log1p": to_float(POSITIVE),
        "logaddexp": to_float(REAL, REAL),
        "logaddexp2": to_float(REAL, REAL),
        "softplus": to_float(REAL, oracle=_softplus),
        "sigmoid": to_float(REAL, oracle=sp.expit),
        "share": to_float(POSITIVE, POSITIVE, oracle=lambda x, y: x / (x + y)),
        "log_i0e": to_float(POSITIVE, oracle=lambda x: np.log(sp.i0e(x))),
        "logit": to_float(UNIT, oracle=sp.logit),
        "log_sigmoid": to_float(REAL, oracle=sp.log_expit),
        "log1mexp": to_float((-3, -0.1), oracle=_log1mexp, kinds="f", special=(0.0, -1.0, -np.inf, np.nan, 1.0)),
        # circular and hyperbolic
        **{name: to_float(REAL, kinds="fibc") for name in ("sin", "cos", "sinh", "cosh", "tanh")},
        "tan": to_float((-1.4, 1.4), kinds="fibc"),
        "arcsin": to_float(INSIDE),
        "arccos": to_float(INSIDE),
        "arctan": to_float(REAL),
        "arctan2": to_float(REAL, POSITIVE),
        "arcsinh": to_float(REAL),
        "arccosh": to_float((1.1, 5)),
        "arctanh": to_float(INSIDE),
        "deg2rad": to_float(REAL),
        "rad2deg": to_float(REAL),
        "sinc": to_float(REAL, special=(0.0, 1.0, -1.0, np.nan)),
        # correlations at a squared distance
        "exp_quad": to_float(POSITIVE, oracle=lambda s: np.exp(-s / 2)),
        **{
            f"matern{2 * order + 1}2": to_float(POSITIVE, oracle=functools.partial(_matern, order))
            for order in range(3)
        },
        "rational_quadratic": to_float(
            POSITIVE,
            POSITIVE,
            oracle=lambda s, a: (1 + s / (2 * a)) ** -a,
            special=[(0.0, 1.0, np.nan), (1.0, 2.0)],
            kinds="f",
        ),
        "cosine_wave": to_float(POSITIVE, oracle=lambda s: np.cos(2 * np.pi * np.sqrt(s)), special=(0.0, 1.0, np.nan)),
        # rounding
        **{name: E(REAL, kinds="f", slopes=False) for name in ("floor", "ceil", "trunc", "rint")},
        # comparisons and logic
        **{
            name: E(REAL, REAL, slopes=False)
            for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
        },
        **{name: E(REAL, REAL, slopes=False) for name in ("logical_and", "logical_or", "logical_xor")},
        "logical_not": E(REAL, slopes=False),
        **{name: E((0, 9), (0, 9), kinds="ib") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
        "invert": E((0, 9), kinds="ib"),
        **{name: E((0, 99), (0, 5), kinds="i") for name in ("left_shift", "right_shift")},
        "isnan": E(REAL, kinds="fib", slopes=False),
        "isinf": E(REAL, kinds="fib", slopes=False),
        "isfinite": E(REAL, kinds="fib", slopes=False),
        "signbit": E(REAL, kinds="fi", slopes=False),
        "gcd": E((-99, 99), (-99, 99), kinds="i"),
        "lcm": E((-99, 99), (-99, 99), kinds="i"),
        "copysign": E(POSITIVE, POSITIVE, kinds="f"),
        "nextafter": E(REAL, REAL, kinds="f", slopes=False, rtol=0),
        "heaviside": E(REAL, REAL, kinds="f", slopes=False),
        # complex
        "real": E(REAL, kinds="fc"),
        "imag": E(REAL, kinds="fc", slopes=False),
        "conjugate": E(REAL, kinds="fic"),
        "angle": E(REAL, kinds="fc", slopes=False, special=(1.0, -1.0, np.inf)),
        # the gamma function and its kin
        "gammaln": to_float(POSITIVE, special=(1.0, 2.0, np.inf, np.nan)),
        "gamma": to_float(POSITIVE, special=(1.0, 2.0, 0.5, -0.5, -1.5, np.inf, np.nan)),
        "digamma": to_float(POSITIVE, special=(1.0, 2.0, -0.5, np.inf, np.nan)),
        "trigamma": to_float(POSITIVE, oracle=lambda x: sp.polygamma(1, x).astype(x.dtype), kinds="f", special=NUMBERS),
        "gammasgn": E(POSITIVE, slopes=False, special=(1.0, -0.5, -1.5, 3.0), kinds="f"),
        "zeta": E((1.5, 6), POSITIVE, oracle=sp.zeta, kinds="f", special=(2.0, 3.5, np.nan), slopes=False),
        "beta": E(POSITIVE, POSITIVE, kinds="F", special=NUMBERS, slow=True),
        "betaln": E(POSITIVE, POSITIVE, kinds="F", special=NUMBERS),
        "stirling": E(POSITIVE, oracle=_stirling, kinds="f", special=(0.0, 1.0, 40.0, np.nan)),
        # incomplete gamma and beta
        **{
            name: E(POSITIVE, POSITIVE, kinds="F", special=((0.5, 1.0, 40.0, np.nan), (0.0, 1.0, 30.0, np.inf, np.nan)))
            for name in ("gammainc", "gammaincc")
        },
        "log_gammainc": E(
            POSITIVE, POSITIVE, oracle=lambda a, x: np.log(sp.gammainc(a, x)), kinds="F", special=NUMBERS, slow=True
        ),
        "log_gammaincc": E(
            POSITIVE, POSITIVE, oracle=lambda a, x: np.log(sp.gammaincc(a, x)), kinds="F", special=NUMBERS, slow=True
        ),
        **{
            name: E(
                POSITIVE,
                UNIT,
                kinds="F",
                special=((0.5, 1.0, 40.0), (0.0, 0.5, 1.0)),
                rtol=1e-10,
                slope_tol=1e-5,
                slow=True,
            )
            for name in ("gammaincinv", "gammainccinv")
        },
        "betainc": E(
            POSITIVE, POSITIVE, UNIT, kinds="F", special=((0.5, 40.0), (1.0, 2.5), (0.0, 0.5, 1.0, np.nan)), slow=True
        ),
        "betaincinv": E(
            POSITIVE,
            POSITIVE,
            UNIT,
            kinds="F",
            special=((0.5, 40.0), (1.0, 2.5), (0.0, 0.5, 1.0)),
            rtol=1e-10,
            slope_tol=1e-5,
            slow=True,
        ),
        "logit_betaincinv": E(
            POSITIVE,
            POSITIVE,
            UNIT,
            oracle=lambda a, b, q: sp.logit(sp.betaincinv(a, b, q)),
            kinds="F",
            special=((0.5, 4.0), (1.0, 2.5), (0.0, 0.5, 1.0)),
            rtol=1e-9,
            slope_tol=1e-5,
            slow=True,
        ),
        "log_beta_cdf": E(
            POSITIVE,
            POSITIVE,
            REAL,
            oracle=lambda a, b, t: np.log(sp.betainc(a, b, sp.expit(t))),
            kinds="F",
            special=((0.5, 4.0), (1.0, 2.5), (-1.0, 0.0, 2.0)),
            slow=True,
        ),
        "log_beta_below_beta": E(
            *[POSITIVE] * 4,
            oracle=_log_beta_below_beta,
            kinds="F",
            special=((0.5, 4.0), (1.0, 2.5), (3.0, 0.7), (1.0, 2.0)),
            rtol=1e-9,
            slow=True,
        ),
        # the error function and its kin
        **{name: to_float(REAL, oracle=getattr(sp, name)) for name in ("erf", "erfc", "ndtr")},
        "erfcx": E(REAL, kinds="f"),
        "erfinv": E(INSIDE, kinds="f"),
        "erfcinv": E((0.1, 1.9), kinds="f"),
        "ndtri": E(UNIT, kinds="f"),
        "log_ndtr": E(REAL, kinds="f"),
        "ndtri_exp": E((-5, -0.1), kinds="F", special=(-1.0, -np.inf, -30.0, np.nan), rtol=1e-10, slow=True),
        "log_ndtr_between": E(
            (-2, 0),
            (0.5, 2),
            oracle=lambda a, b: np.log(sp.ndtr(b) - sp.ndtr(a)),
            kinds="F",
            special=((-1.0,), (0.0, 2.0)),
            slow=True,
        ),
        "owens_t": E(REAL, REAL, oracle=sp.owens_t, kinds="F", special=FINITE, atol=1e-15),
        # entropies
        "xlogy": E(POSITIVE, POSITIVE, kinds="f", special=(0.0, 1.0, 2.0, np.nan)),
        "xlog1py": E(POSITIVE, POSITIVE, kinds="f", special=(0.0, 1.0, 2.0, np.nan)),
        "entr": E(POSITIVE, kinds="f", special=(0.0, 1.0, -1.0, np.inf, np.nan)),
        "rel_entr": E(POSITIVE, POSITIVE, kinds="f", special=(0.0, 1.0, 2.0, -1.0, np.nan)),
        "kl_div": E(POSITIVE, POSITIVE, kinds="f", special=(0.0, 1.0, 2.0, -1.0, np.nan)),
        "log_exp_difference": E(
            (1, 2),
            (-1, 0.5),
            oracle=lambda x, y: x + np.log1p(-np.exp(y - x)),
            kinds="f",
            special=((1.0, 2.0), (0.0, -1.0, -np.inf)),
        ),
        "log1p_square": E(REAL, oracle=lambda z: np.log1p(z**2), kinds="f"),
        # Bessel
        **{name: to_float(REAL, oracle=getattr(sp, name)) for name in ("i0", "i0e", "i1", "i1e")},
        "log_i0": E(REAL, oracle=lambda x: np.log(sp.i0(x)), kinds="f", special=FINITE),
        "iv": E(
            (0.1, 30),
            (0.1, 90),
            kinds="F",
            special=((0.0, 1.0, 2.5, -1.0), (0.0, 1.0, 70.0, np.nan)),
            rtol=1e-10,
            slow=True,
        ),
        "ive": E(
            (0.1, 30),
            (0.1, 90),
            kinds="F",
            special=((0.0, 1.0, 2.5, -1.0), (0.0, 1.0, 70.0, np.nan)),
            rtol=1e-10,
            slow=True,
        ),
        "kv": E(
            (0.1, 30), (0.1, 90), kinds="F", special=((0.0, 1.0, 2.5, -1.0), (1.0, 70.0, np.nan)), rtol=1e-10, slow=True
        ),
        "kve": E(
            (0.1, 30), (0.1, 90), kinds="F", special=((0.0, 1.0, 2.5, -1.0), (1.0, 70.0, np.nan)), rtol=1e-10, slow=True
        ),
        "log_kve": E(
            (0.1, 30),
            (0.1, 90),
            oracle=lambda v, x: np.log(sp.kve(v, x)),
            kinds="F",
            special=NUMBERS,
            rtol=1e-10,
            slow=True,
        ),
        "j0": E((-90, 90), kinds="f", special=FINITE, rtol=1e-9, atol=1e-13),
        "j1": E((-90, 90), kinds="f", special=FINITE, rtol=1e-9, atol=1e-13, slow=True),
        "bessel_remainder": E(
            (2, 2),
            (4, 9),
            oracle=_bessel_remainder,
            kinds="F",
            special=((1.0, 2.0), (3.0, 8.0)),
            rtol=1e-10,
            slopes=False,
        ),
        # integrals and hypergeometric functions
        "expi": E(POSITIVE, kinds="f", special=(1.0, -1.0, 0.0, np.nan), slow=True),
        "exp1": E(POSITIVE, kinds="f", special=(1.0, 0.0, np.inf, np.nan), slow=True),
        "spence": E(POSITIVE, kinds="f", special=(0.0, 1.0, 2.0, -1.0, np.nan), slow=True),
        "hyp1f1": E(POSITIVE, POSITIVE, REAL, kinds="F", special=((1.0, 2.0), (1.5,), (0.0, 3.0))),
        "hyp2f1": E(
            POSITIVE,
            POSITIVE,
            POSITIVE,
            UNIT,
            kinds="F",
            special=((1.0,), (2.0,), (1.5,), (0.0, 0.5)),
            rtol=1e-9,
            slow=True,
        ),
        "dawsn": E(REAL, oracle=sp.dawsn, kinds="F", special=FINITE),
        "boxcox": E(POSITIVE, REAL, kinds="f", special=((1.0, 2.0), (0.0, 1.0, -1.0))),
        "boxcox1p": E(POSITIVE, REAL, kinds="f", special=((0.0, 2.0), (0.0, 1.0, -1.0))),
        "spacing": E(REAL, kinds="f", slopes=False, special=FINITE, rtol=0),
        # activations
        "relu6": E((0.1, 5.9), oracle=lambda x: np.clip(x, 0, 6), kinds="fi"),
        "positive_part": E(POSITIVE, oracle=lambda x: np.maximum(x, 0), kinds="fi"),
        "gelu": E(REAL, oracle=_gelu, kinds="f", special=FINITE),
        "selu": E(REAL, oracle=_selu, kinds="f"),
    }
)
