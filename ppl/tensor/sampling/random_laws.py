"""The laws of `ppl.tensor.random`: functions of a key, of parameters and of the shape of independent copies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ppl.tensor.core.elementwise import abs as absolute
from ppl.tensor.core.elementwise import arctan2, cos, exp, expm1, log1p, maximum, power, sin, switch
from ppl.tensor.core.elementwise import sqrt as root
from ppl.tensor.core.ops import cast_to
from ppl.tensor.core.sizes import common_shape, sizes_of
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.linear_algebra.products import matmul
from ppl.tensor.sampling import draws
from ppl.tensor.sampling.hypergeometric import hypergeometric as taken_from_urn
from ppl.tensor.sampling.keys import Key
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor

LAWS: dict[str, Callable[..., Tensor]] = {}
WITH_DENSITY: dict[str, Callable[..., Tensor]] = {}  # draws of laws that are families, by size and parameters


def drawn_with_density(law: str, parameters: tuple[Any, ...], options: dict[str, Any], rng: Any) -> Tensor | None:
    """A draw of a law that is a family; None where it is none, or where a dtype, or another way to name parameters than
    NumPy's, is asked for."""
    draw, signature = WITH_DENSITY.get(law), inspect.signature(LAWS[law])
    if draw is None or options.get("dtype") is not None:
        return None
    names = {"name": options.get("name"), "rng": rng}
    given = signature.bind(None, *parameters, **{k: v for k, v in options.items() if k not in ("name", "dtype")})
    given.apply_defaults()
    said = dict(list(given.arguments.items())[1:])
    size, named = said.pop("size"), {k: p for k, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
    if any(said.pop(key) is not None for key in named):
        return None
    return draw({"size": None if size is None else sizes_of(size), **names}, **said)


def _law(*also: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Enter a law: a function of a key, of parameters and of `size`."""

    def enter(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
        for name in (f.__name__.strip("_"), *also):
            LAWS[name] = f
        return f

    return enter


def _full(size: Any, *params: Any) -> Any:
    """The shape of the result: `size` where given, else that of the parameters."""
    return common_shape([as_tensor(p) for p in params]) if size is None else sizes_of(size)


# --- continuous
@_law("randn")
def _normal(
    key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, avg: Any = None, std: Any = None
) -> Tensor:
    """Normal; `avg` and `std` are Theano's names of the parameters."""
    loc, scale = loc if avg is None else avg, scale if std is None else std
    return loc + scale * key.normal(_full(size, loc, scale))


@_law("rand")
def _uniform(
    key: Key, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, minval: Any = None, maxval: Any = None
) -> Tensor:
    """Uniform between two numbers; `minval` and `maxval` are SymJAX's names of them."""
    low, high = low if minval is None else minval, high if maxval is None else maxval
    return low + (high - as_tensor(low)) * key.uniform(_full(size, low, high))


@_law()
def _lognormal(key: Key, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Tensor:
    """The exponential of a normal."""
    return exp(_normal(key, mean, sigma, size))


@_law()
def _halfnormal(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """`loc` plus the absolute value of a centered normal."""
    return loc + scale * absolute(key.normal(_full(size, loc, scale)))


@_law()
def _cauchy(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Cauchy."""
    return loc + scale * key.cauchy(_full(size, loc, scale))


@_law()
def _halfcauchy(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """`loc` plus the absolute value of a centered Cauchy."""
    return loc + scale * absolute(key.cauchy(_full(size, loc, scale)))


@_law()
def _laplace(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Laplace."""
    return loc + scale * key.laplace(_full(size, loc, scale))


@_law()
def _logistic(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Logistic."""
    return loc + scale * key.logistic(_full(size, loc, scale))


@_law()
def _gumbel(key: Key, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Gumbel of the maximum."""
    return loc + scale * key.gumbel(_full(size, loc, scale))


@_law()
def _exponential(key: Key, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Exponential with mean `scale`."""
    return scale * key.exponential(_full(size, scale))


@_law()
def _gamma(key: Key, shape: Any, rate: Any = None, scale: Any = None, size: Any = None) -> Tensor:
    """Gamma by its shape and either rate or scale."""
    if rate is not None and scale is not None:
        raise TypeError("gamma takes rate= or scale=, not both")
    width = scale if scale is not None else (1.0 if rate is None else 1.0 / as_tensor(rate))
    return width * key.gamma(shape, _full(size, shape, width))


@_law()
def _chisquare(key: Key, df: Any, size: Any = None) -> Tensor:
    """The sum of `df` squared normals."""
    return 2.0 * key.gamma(as_tensor(df) / 2.0, _full(size, df))


@_law()
def _invgamma(key: Key, shape: Any, scale: Any = 1.0, size: Any = None) -> Tensor:
    """`scale` over a gamma."""
    return scale * exp(-key.loggamma(shape, _full(size, shape, scale)))


@_law()
def _gengamma(key: Key, alpha: Any, p: Any, lambd: Any = 1.0, size: Any = None) -> Tensor:
    """A power of a gamma: Gamma(alpha / p) to the power 1 / p, times `lambd`."""
    return lambd * exp(key.loggamma(as_tensor(alpha) / p, _full(size, alpha, p, lambd)) / p)


@_law()
def _beta(key: Key, a: Any, b: Any, size: Any = None) -> Tensor:
    """Beta."""
    return key.beta(a, b, _full(size, a, b))


@_law()
def _t(key: Key, df: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Student's t."""
    return loc + scale * key.student_t(df, _full(size, df, loc, scale))


@_law()
def _pareto(key: Key, b: Any, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Pareto, from `scale` up."""
    return scale * exp(key.exponential(_full(size, b, scale)) / b)


@_law()
def _weibull(key: Key, shape: Any, size: Any = None) -> Tensor:
    """A power of an exponential."""
    return power(key.exponential(_full(size, shape)), 1.0 / as_tensor(shape))


@_law()
def _rayleigh(key: Key, scale: Any = 1.0, size: Any = None) -> Tensor:
    """The length of a vector of two normals."""
    return scale * root(2.0 * key.exponential(_full(size, scale)))


@_law()
def _triangular(key: Key, left: Any, mode: Any, right: Any, size: Any = None) -> Tensor:
    """Triangular, by inversion."""
    left, mode, right = map(as_tensor, (left, mode, right))
    u, share = key.uniform(_full(size, left, mode, right)), (mode - left) / (right - left)
    up = left + root(u * (right - left) * (mode - left))
    down = right - root((1.0 - u) * (right - left) * (right - mode))
    return switch(u < share, up, down)


@_law()
def _truncexpon(key: Key, b: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Tensor:
    """Exponential cut off at `b`, then moved and stretched."""
    u = key.uniform(_full(size, b, loc, scale))
    return loc - scale * log1p(u * expm1(-as_tensor(b)))


@_law()
def _truncated_normal(key: Key, lower: Any, upper: Any, size: Any = None) -> Tensor:
    """Standard normal between two numbers."""
    return key.truncated_normal(lower, upper, _full(size, as_tensor(lower), as_tensor(upper)))


@_law()
def _wald(key: Key, mean: Any, scale: Any, size: Any = None) -> Tensor:
    """Inverse Gaussian, by Michael, Schucany and Haas (1976): a root of a quadratic, chosen at random."""
    mean, scale = as_tensor(mean), as_tensor(scale)
    sizes = _full(size, mean, scale)
    y, u = key.normal(sizes) ** 2 * mean / (2.0 * scale), key.uniform(sizes)
    smaller = mean / (1.0 + y + root(y * (y + 2.0)))
    return switch(u * (mean + smaller) <= mean, smaller, mean**2 / smaller)


@_law()
def _vonmises(key: Key, mu: Any, kappa: Any, size: Any = None) -> Tensor:
    """Von Mises, an angle between -π and π."""
    mu, kappa = as_tensor(mu), as_tensor(kappa)
    angle = draws.von_mises(key.next(), kappa, shape=_full(size, mu, kappa)) + mu
    return arctan2(sin(angle), cos(angle))


# --- discrete
@_law()
def _bernoulli(key: Key, p: Any = 0.5, size: Any = None) -> Tensor:
    """1 with probability `p`, else 0."""
    return cast_to(key.bernoulli(p, _full(size, p)), "int64")


@_law()
def _binomial(key: Key, n: Any = 1, p: Any = 0.5, size: Any = None) -> Tensor:
    """The number of successes in `n` trials."""
    return key.binomial(n, p, _full(size, n, p))


@_law()
def _negative_binomial(key: Key, n: Any, p: Any, size: Any = None) -> Tensor:
    """Failures before the `n`-th success: Poisson with a gamma mean."""
    p = as_tensor(p)
    sizes = _full(size, n, p)
    return key.negative_binomial(n, (1.0 - p) / p, sizes)


@_law()
def _beta_binomial(key: Key, n: Any, a: Any, b: Any, size: Any = None) -> Tensor:
    """Binomial with a beta probability."""
    sizes = _full(size, n, a, b)
    return key.binomial(n, key.beta(a, b, sizes), sizes)


@_law()
def _geometric(key: Key, p: Any, size: Any = None) -> Tensor:
    """The number of the first success: 1, 2, ..."""
    return key.geometric(p, _full(size, p))


@_law()
def _hypergeometric(key: Key, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Tensor:
    """How many good ones are among `nsample` taken from `ngood` good and `nbad` bad ones."""
    return taken_from_urn(key.next(), ngood, nbad, nsample, shape=_full(size, ngood, nbad, nsample))


@_law()
def _poisson(key: Key, lam: Any = 1.0, size: Any = None) -> Tensor:
    """Poisson."""
    return key.poisson(lam, _full(size, lam))


@_law()
def _integers(key: Key, low: Any, high: Any = None, size: Any = None) -> Tensor:
    """Uniform on low, ..., high - 1; with one number, on 0, ..., low - 1."""
    low, high = (0, low) if high is None else (low, high)
    return key.randint(low, high, _full(size, low, high))


@_law()
def _randint(
    key: Key, low: Any = None, high: Any = None, size: Any = None, *, minval: Any = None, maxval: Any = None
) -> Tensor:
    """`integers`; `minval` and `maxval` are SymJAX's names of the limits."""
    low, high = low if minval is None else minval, high if maxval is None else maxval
    return _integers(key, low, high, size)


@_law()
def _categorical(key: Key, p: Any, size: Any = None) -> Tensor:
    """A position along the last axis of `p`."""
    return key.categorical(p, None if size is None else sizes_of(size))


# --- vectors
@_law()
def _dirichlet(key: Key, alphas: Any, size: Any = None) -> Tensor:
    """Dirichlet along the last axis."""
    return key.dirichlet(alphas, _stacked(size, as_tensor(alphas)))


@_law()
def _multinomial(key: Key, n: Any, p: Any, size: Any = None) -> Tensor:
    """How `n` trials fall on the last axis of `p`."""
    return key.multinomial(n, p, _stacked(size, as_tensor(p)))


@_law()
def _multivariate_normal(key: Key, mean: Any, cov: Any, size: Any = None, method: str | None = None) -> Tensor:
    """Normal vectors with a covariance matrix; by "svd" and "eigh" it may be singular."""
    if method not in (None, "cholesky", "svd", "eigh"):
        raise ValueError(f"multivariate_normal: method is 'cholesky', 'svd' or 'eigh', got {method!r}")
    mean, factor = as_tensor(mean), _root(cov, of_singular=method in ("svd", "eigh"))
    stack = common_shape([mean[..., None], factor])[:-1]
    z = key.normal(stack if size is None else (*sizes_of(size), stack[-1]))
    return mean + matmul(factor, z[..., None])[..., 0]


def _root(cov: Any, of_singular: bool) -> Tensor:
    """A matrix whose product with its transpose is the covariance."""
    if not of_singular:
        return FUNCTIONS["cholesky"](cov)
    roots, vectors = FUNCTIONS["eigh"](cov)
    return vectors * root(maximum(roots, 0.0))[..., None, :]


def _stacked(size: Any, params: Tensor) -> Any:
    return None if size is None else (*sizes_of(size), shape_of(params)[-1])


# --- rearrangements
@_law("shuffle")
def _permutation(key: Key, x: Any, axis: int = 0) -> Tensor:
    """The array in random order along an axis."""
    return key.permutation(x, axis)


@_law()
def _choice(key: Key, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Tensor:
    """Entries of `a`."""
    return key.choice(a, () if size is None else size, replace, p)
