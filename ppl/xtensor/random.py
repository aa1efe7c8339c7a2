"""Draws with named axes by the names and parameters of PyTensor: `pytensor.xtensor.random`.

Each function takes the parameters of NumPy's generator, labelled or single numbers, `core_dims`, and `extra_dims`: the
lengths of further axes of independent draws. Without a model, and with a density: `pm.logp` knows them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.distributions as d
from ppl.distributions.declaration.arguments import tell_of_rng
from ppl.xtensor.draws import labelled_draw, recipe_for
from ppl.xtensor.type import FUNCTIONS, XTensorVariable, as_xtensor


def _drawn(family: Any, arguments: dict[str, Any], core_dims: Any, extra_dims: Any, *beside: Any) -> XTensorVariable:
    """A draw of a family; along the dims of what it is moved or scaled by, too."""
    held = {d for x in arguments.values() if isinstance(x, XTensorVariable) for d in x.dims}
    if both := sorted(held & set(extra_dims or ())):
        raise ValueError(f"Size dimensions {both} conflict with parameter dimensions. They should be unique.")
    sizes = dict(extra_dims or {}) | {d: n for x in beside for d, n in x.sizes.items() if d not in held}
    return labelled_draw(recipe_for(family, (), arguments, core_dims, sizes))


# PyTensor's name, its parameters, the family, and the family's parameters where they are not those in this order.
_LAWS: dict[str, tuple[str, Any, Callable[..., dict[str, Any]] | str]] = {
    "bernoulli": ("p", d.Bernoulli, "p"),
    "beta": ("alpha beta", d.Beta, "alpha beta"),
    "betabinom": ("n alpha beta", d.BetaBinomial, "n alpha beta"),
    "binomial": ("n p", d.Binomial, "n p"),
    "categorical": ("p", d.Categorical, "p"),
    "cauchy": ("loc scale", d.Cauchy, "alpha beta"),
    "dirichlet": ("alphas", d.Dirichlet, "a"),
    "exponential": ("scale", d.Exponential, "scale"),
    "gamma": ("shape scale", d.Gamma, lambda shape, scale: {"alpha": shape, "beta": 1 / scale}),
    "geometric": ("p", d.Geometric, "p"),
    "gumbel": ("loc scale", d.Gumbel, "mu beta"),
    "hypergeometric": (
        "ngood nbad nsample",
        d.HyperGeometric,
        lambda ngood, nbad, nsample: {"N": ngood + nbad, "k": ngood, "n": nsample},
    ),
    "integers": ("low high", d.DiscreteUniform, lambda low, high: {"lower": low, "upper": high - 1}),
    "invgamma": ("shape scale", d.InverseGamma, "alpha beta"),
    "laplace": ("loc scale", d.Laplace, "mu b"),
    "logistic": ("loc scale", d.Logistic, "mu s"),
    "lognormal": ("mean sigma", d.LogNormal, "mu sigma"),
    "multinomial": ("n p", d.Multinomial, "n p"),
    "negative_binomial": ("n p", d.NegativeBinomial, "n p"),
    "nbinom": ("n p", d.NegativeBinomial, "n p"),
    "normal": ("loc scale", d.Normal, "mu sigma"),
    "pareto": ("b scale", d.Pareto, "alpha m"),
    "poisson": ("lam", d.Poisson, "mu"),
    "t": ("df loc scale", d.StudentT, "nu mu sigma"),
    "triangular": ("left mode right", d.Triangular, "lower c upper"),
    "uniform": ("low high", d.Uniform, "lower upper"),
    "vonmises": ("mu kappa", d.VonMises, "mu kappa"),
    "wald": ("mean scale", d.Wald, "mu lam"),
    "weibull": ("shape", d.Weibull, lambda shape: {"alpha": shape, "beta": 1.0}),
    "multivariate_normal": ("mean cov", d.MvNormal, "mu cov"),
}


def _function(name: str) -> Callable[..., XTensorVariable]:
    words, family, convert = _LAWS[name]
    takes = words.split()

    def law(*params: Any, core_dims: Any = None, extra_dims: Any = None, rng: Any = None, **named: Any) -> Any:
        tell_of_rng(name, rng)
        given = dict(zip(takes, params, strict=False)) | named
        if len(params) > len(takes) or set(given) != set(takes):
            raise TypeError(f"{name} takes {', '.join(takes)}, got {len(params)} by place and {list(named)} by name")
        labelled = {key: x if isinstance(x, int | float | np.number) else as_xtensor(x) for key, x in given.items()}
        if isinstance(convert, str):
            arguments = dict(zip(convert.split(), (labelled[key] for key in takes), strict=True))
        else:
            arguments = convert(**labelled)
        return _drawn(family, arguments, core_dims, extra_dims)

    law.__name__ = law.__qualname__ = name
    law.__doc__ = f"Draws of {family.__name__} by PyTensor's parameters: {', '.join(takes)}."
    return law


for _name in _LAWS:
    setattr(sys.modules[__name__], _name, _function(_name))


def _from(loc: Any, scale: Any, family: Any, key: str, core_dims: Any, extra_dims: Any, rng: Any) -> XTensorVariable:
    tell_of_rng(family.__name__, rng)
    at = as_xtensor(loc)
    draw = _drawn(family, {key: as_xtensor(scale)}, core_dims, extra_dims, at)
    return draw if isinstance(loc, int | float) and loc == 0 else FUNCTIONS["add"](draw, at)


def halfnormal(loc: Any, scale: Any, *, core_dims: Any = None, extra_dims: Any = None, rng: Any = None) -> Any:
    """`loc` and the size of a Normal draw of mean zero."""
    return _from(loc, scale, d.HalfNormal, "sigma", core_dims, extra_dims, rng)


def halfcauchy(loc: Any, scale: Any, *, core_dims: Any = None, extra_dims: Any = None, rng: Any = None) -> Any:
    """`loc` and the size of a Cauchy draw around zero."""
    return _from(loc, scale, d.HalfCauchy, "beta", core_dims, extra_dims, rng)


def gengamma(alpha: Any, p: Any, lambd: Any, *, core_dims: Any = None, extra_dims: Any = None, rng: Any = None) -> Any:
    """λ G^(1/p) with G a Gamma draw of shape α/p: the generalized gamma law."""
    tell_of_rng("gengamma", rng)
    alpha, p, lambd = map(as_xtensor, (alpha, p, lambd))
    draw = _drawn(d.Gamma, {"alpha": alpha / p, "beta": 1.0}, core_dims, extra_dims, lambd)
    return lambd * draw ** (1 / p)


def truncexpon(b: Any, loc: Any, scale: Any, *, core_dims: Any = None, extra_dims: Any = None, rng: Any = None) -> Any:
    """`loc` and an Exponential draw of mean `scale` below `b` times the scale."""
    tell_of_rng("truncexpon", rng)
    b, loc, scale = map(as_xtensor, (b, loc, scale))
    law = _drawn(d.Exponential, {"scale": scale}, None, None)
    return _drawn(d.Truncated, {"dist": law, "upper": b * scale}, core_dims, extra_dims, loc) + loc


def standard_normal(extra_dims: Any = None, rng: Any = None) -> XTensorVariable:
    """Draws of N(0, 1)."""
    return normal(0, 1, extra_dims=extra_dims, rng=rng)  # type: ignore[name-defined]  # noqa: F821


def chisquare(df: Any, extra_dims: Any = None, rng: Any = None) -> XTensorVariable:
    """Sums of the squares of `df` draws of N(0, 1)."""
    return gamma(as_xtensor(df) / 2.0, 2.0, extra_dims=extra_dims, rng=rng)  # type: ignore[name-defined]  # noqa: F821


def rayleigh(scale: Any, extra_dims: Any = None, rng: Any = None) -> XTensorVariable:
    """The length of a vector of two draws of N(0, scale)."""
    tell_of_rng("rayleigh", rng)
    return _drawn(d.Rayleigh, {"sigma": as_xtensor(scale)}, None, extra_dims)
