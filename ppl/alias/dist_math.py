"""What PyMC offers to densities that users write: checks of parameters, and some functions of counts and powers."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor, as_tensor


def check_parameters(expr: Any, *conditions: Any, msg: str = "", can_be_replaced_by_ninf: bool = True) -> Tensor:
    """The expression where all conditions hold; elsewhere its value is -inf (`msg` is for those who read the code)."""
    return _where_all_hold(expr, conditions, -float("inf") if can_be_replaced_by_ninf else float("nan"))


def check_icdf_parameters(expr: Any, *conditions: Any, msg: str = "") -> Tensor:
    """The expression where all conditions hold; elsewhere nan."""
    return _where_all_hold(expr, conditions, float("nan"))


def check_icdf_value(expr: Any, value: Any) -> Tensor:
    """The quantile where `value` is a probability; elsewhere nan."""
    value = as_tensor(value)
    return _where_all_hold(expr, [value >= 0, value <= 1], float("nan"))


def _where_all_hold(expr: Any, conditions: Any, otherwise: float) -> Tensor:
    held = as_tensor(True)
    for condition in conditions:
        held = held & tt.all(as_tensor(condition))
    return tt.switch(held, expr, otherwise)


def logpow(x: Any, m: Any) -> Tensor:
    """log(xᵐ), which is 0 at x = m = 0."""
    return tt.switch(tt.eq(x, 0), tt.switch(tt.eq(m, 0), 0.0, -float("inf")), m * tt.log(x))


def factln(n: Any) -> Tensor:
    """log n!"""
    return tt.gammaln(as_tensor(n) + 1)


def binomln(n: Any, k: Any) -> Tensor:
    """The logarithm of the number of ways to choose k of n."""
    return factln(n) - factln(k) - factln(as_tensor(n) - k)


def betaln(x: Any, y: Any) -> Tensor:
    """The logarithm of the beta function."""
    return tt.gammaln(x) + tt.gammaln(y) - tt.gammaln(as_tensor(x) + y)


def normal_lcdf(mu: Any, sigma: Any, x: Any) -> Tensor:
    """The log of the distribution function of a normal law."""
    return tt.log_ndtr((as_tensor(x) - mu) / sigma)


def normal_lccdf(mu: Any, sigma: Any, x: Any) -> Tensor:
    """The log of the upper tail of a normal law."""
    return tt.log_ndtr((as_tensor(mu) - x) / sigma)


def std_cdf(x: Any) -> Tensor:
    """The distribution function of the standard normal law."""
    return tt.exp(tt.log_ndtr(x))


def zvalue(value: Any, sigma: Any, mu: Any) -> Tensor:
    """How many deviations a value is from its mean."""
    return (as_tensor(value) - mu) / sigma
