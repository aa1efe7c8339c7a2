"""Families of μ + σZ and of positive numbers sX, where the laws of Z and X depend on none of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LOCATION_AND_SCALE = {  # by the names of μ and σ
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma"),
    "SkewStudentT": ("mu", "sigma"),
    "Laplace": ("mu", "b"),
    "Logistic": ("mu", "s"),
    "Cauchy": ("alpha", "beta"),
    "Gumbel": ("mu", "beta"),
    "Moyal": ("mu", "sigma"),
    "SkewNormal": ("mu", "sigma"),
}
LOCATION = {**{family: names[0] for family, names in LOCATION_AND_SCALE.items()}, "MvNormal": "mu", "MvStudentT": "mu"}


class Scale(NamedTuple):
    """Which parameter of a family of sX is s, to which power, and the variance of log X, by the other parameters."""

    parameter: str
    power: float
    spread: Callable[..., Any]


def _of_log_gamma(alpha: Any) -> Any:
    """The variance of the logarithm of a gamma variable of shape α: ψ'(α)."""
    import scipy.special  # a tenth of the time of `import ppl`

    return scipy.special.polygamma(1, alpha)


SCALES = {
    "HalfNormal": Scale("sigma", 1.0, lambda: np.pi**2 / 8),
    "HalfCauchy": Scale("beta", 1.0, lambda: np.pi**2 / 4),
    "HalfStudentT": Scale("sigma", 1.0, lambda nu: np.pi**2 / 8 + _of_log_gamma(nu / 2) / 4),
    "Exponential": Scale("lam", -1.0, lambda: np.pi**2 / 6),
    "Gamma": Scale("beta", -1.0, _of_log_gamma),
    "InverseGamma": Scale("beta", 1.0, _of_log_gamma),
    "Weibull": Scale("beta", 1.0, lambda alpha: np.pi**2 / 6 / alpha**2),
}
