"""Forms that neither overflow nor cancel: logarithms of sums, logistic and normal tails."""

from __future__ import annotations

import numpy as np

from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.statement import equal
from ppl.tensor.core.elementwise import (
    abs,
    cosh,
    exp,
    expm1,
    hypot,
    log,
    log1mexp,
    log1p,
    log_sigmoid,
    logaddexp,
    sigmoid,
    softplus,
    sqrt,
)
from ppl.tensor.special_functions.catalog import erf, erfc, i0, kv, kve, log_exp_difference, log_i0, log_kve, ndtr
from ppl.tensor.special_functions.normal import log_ndtr, log_ndtr_between

SQRT2 = float(np.sqrt(2.0))
LOG2 = float(np.log(2.0))


# --- near zero and near one
@equal
def log_of_one_plus(x):
    """log(1 + x) keeps its digits for small x as log1p."""
    return log(1 + x), log1p(x)


@equal
def exp_minus_one(x):
    """exp(x) - 1 keeps its digits for small x as expm1."""
    return exp(x) - 1, expm1(x)


@equal
def expm1_plus_one(x):
    """expm1(x) + 1 is the exponential."""
    return expm1(x) + 1, exp(x)


@equal
def softplus_of(x):
    """log(1 + e^x) grows like x and does not overflow as softplus."""
    return log1p(exp(x)), softplus(x)


@equal
def log_of_one_minus_exp(x):
    """log(1 - e^x) for x < 0 keeps its digits at both ends as log1mexp."""
    return log1p(-exp(x)), log1mexp(x)


@equal
def log_of_minus_expm1(x):
    """log(-(e^x - 1)) is log1mexp."""
    return log(-expm1(x)), log1mexp(x)


@equal
def log_of_expm1(x):
    """log(e^x - 1) = x + log(1 - e^-x), which does not overflow."""
    return log(expm1(x)), x + log1mexp(-x)


@equal
def log_of_exp_difference(x, y):
    """log(e^x - e^y) = x + log(1 - e^(y-x)) for x > y, as one function that also knows what -inf means."""
    return log(exp(x) - exp(y)), log_exp_difference(x, y)


@equal
def softplus_of_logaddexp(x):
    """log(e^x + e^0) is softplus."""
    return logaddexp(x, 0.0), softplus(x)


@equal
def exp_of_softplus(x):
    """exp(softplus x) = 1 + e^x."""
    return exp(softplus(x)), 1 + exp(x)


@equal
def exp_of_log1mexp(x):
    """exp(log1mexp x) = 1 - e^x."""
    return exp(log1mexp(x)), -expm1(x)


# --- the logistic function
@equal
def logistic(x):
    """1/(1 + e^x) is the logistic function of -x."""
    return 1 / (1 + exp(x)), sigmoid(-x)


@equal
def logistic_of_quotient(x):
    """e^x/(1 + e^x) is the logistic function."""
    return exp(x) * sigmoid(-x), sigmoid(x)


@equal
def one_minus_logistic(x):
    """1 - σ(x) = σ(-x)."""
    return 1 - sigmoid(x), sigmoid(-x)


@equal
def logistic_odds(x):
    """σ(x)/σ(-x) = e^x."""
    return sigmoid(x) / sigmoid(-x), exp(x)


@equal
def log_of_logistic(x):
    """log σ(x) = -softplus(-x)."""
    return log(sigmoid(x)), -softplus(-x)


@equal
def log_logistic(x):
    """log σ(x) is written as -softplus(-x), so that it meets its like."""
    return log_sigmoid(x), -softplus(-x)


@equal
def log_of_one_minus_logistic(x):
    """log(1 - σ(x)) = -softplus(x)."""
    return log1p(-sigmoid(x)), -softplus(x)


@equal
def softplus_difference(x):
    """softplus(x) - softplus(-x) = x."""
    return softplus(x) - softplus(-x), x


# --- the normal distribution
@equal
def one_minus_erf(x):
    """1 - erf x keeps its digits for large x as erfc."""
    return 1 - erf(x), erfc(x)


@equal
def one_plus_erf(x):
    """1 + erf x keeps its digits for large -x as erfc(-x)."""
    return 1 + erf(x), erfc(-x)


@equal
def one_minus_erfc(x):
    """1 - erfc x = erf x."""
    return 1 - erfc(x), erf(x)


@equal
def log_of_erfc(x):
    """log erfc x = log 2 + log Φ(-x√2), which has digits where erfc underflows."""
    return log(erfc(x)), LOG2 + log_ndtr(-SQRT2 * x)


@equal
def log_of_ndtr(x):
    """log Φ(x) has digits far in the tail as log_ndtr."""
    return log(ndtr(x)), log_ndtr(x)


@equal
def one_minus_ndtr(x):
    """1 - Φ(x) = Φ(-x)."""
    return 1 - ndtr(x), ndtr(-x)


@equal
def log_of_one_minus_ndtr(x):
    """log(1 - Φ(x)) = log Φ(-x)."""
    return log1p(-ndtr(x)), log_ndtr(-x)


@equal
def log_of_ndtr_difference(a, b):
    """log(Φ(a) - Φ(b)) for a > b, taken in the lower tail, where differences have digits."""
    return log(ndtr(a) - ndtr(b)), log_ndtr_between(b, a)


# --- others
@equal
def hypotenuse(x, y):
    """√(x² + y²) does not overflow as hypot."""
    return sqrt(x**2 + y**2), hypot(x, y)


@equal
def log_of_cosh(x):
    """log cosh x = ∣x∣ + softplus(-2∣x∣) - log 2, which does not overflow."""
    return log(cosh(x)), abs(x) + softplus(-2 * abs(x)) - LOG2


@equal
def log_of_i0(x):
    """log I₀(x) does not overflow as log_i0."""
    return log(i0(x)), log_i0(x)


@equal
def log_of_kv(v, x):
    """log K_v(x) does not underflow as log_kve(v, x) - x."""
    return log(kv(v, x)), log_kve(v, x) - x


@equal
def log_of_kve(v, x):
    """log(e^x K_v(x)) is log_kve."""
    return log(kve(v, x)), log_kve(v, x)


stable = Book(
    "stable",
    log_of_one_plus, exp_minus_one, expm1_plus_one, softplus_of, log_of_one_minus_exp, log_of_minus_expm1, log_of_expm1,
    log_of_exp_difference, softplus_of_logaddexp, exp_of_softplus, exp_of_log1mexp,
    logistic, logistic_of_quotient, one_minus_logistic, logistic_odds, log_of_logistic,
    log_logistic, log_of_one_minus_logistic, softplus_difference,
    one_minus_erf, one_plus_erf, one_minus_erfc, log_of_erfc, log_of_ndtr, one_minus_ndtr, log_of_one_minus_ndtr,
    log_of_ndtr_difference, hypotenuse, log_of_cosh, log_of_i0, log_of_kv, log_of_kve,
)  # fmt: skip
