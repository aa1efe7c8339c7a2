import warnings

import numpy as np

from ppl.distributions.distribution import Distribution, param
from ppl.distributions.domains import counts_with_sum, natural, simplex
from ppl.tensor import (
    all,
    arange,
    argmax,
    as_tensor,
    cast,
    equal,
    expand_dims,
    floor,
    gammaln,
    log,
    round,
    sum,
    switch,
    xlogy,
)
from ppl.tensor.tensor import is_constant, value_of


class Multinomial(Distribution):
    r"""How n trials fall on categories with probabilities p_k.

    .. math:: f(x) = n! \prod_k p_k^{x_k} / x_k!, \qquad \sum_k x_k = n
    """

    n, p = param(natural), param(simplex)

    def accept(n, p):
        return {"n": n, "p": rescaled(p)}

    def support(n, p):
        return counts_with_sum(n)

    def event_shape(n, p):
        return (p.shape[-1],)

    def logp(x, n, p):
        return gammaln(n + 1.0) + sum(xlogy(x, p) - gammaln(x + 1.0), axis=-1)

    def sample(key, shape, n, p):
        return key.multinomial(n, p, shape)

    def mean(n, p):
        return expand_dims(n, -1) * p

    def variance(n, p):
        return expand_dims(n, -1) * p * (1 - p)

    def support_point(n, p):
        return near_mean(n, p)

    fixed = ("n",)

    def natural(n, p):
        return (log(p),)

    def statistics(x):
        return (x,)

    def log_normaliser(n, p):
        return 0.0 * sum(p, axis=-1)


def near_mean(n, p):
    """Counts near n p that sum to n: rounded, what is left over given to the largest."""
    mean = expand_dims(n, -1) * p
    largest = equal(arange(p.shape[-1]), expand_dims(argmax(mean, axis=-1), -1))
    rounded, floored = round(mean), floor(mean)
    rounded = rounded + largest * (expand_dims(n, -1) - sum(rounded, axis=-1, keepdims=True))
    floored = floored + largest * (expand_dims(n, -1) - sum(floored, axis=-1, keepdims=True))
    return cast(switch(all(rounded >= 0, axis=-1, keepdims=True), rounded, floored), "int64")


def rescaled(p):
    """Constant weights divided by their sum, with a warning where that changes them."""
    p = as_tensor(p)
    if not is_constant(p) or p.ndim == 0:
        return p
    weights = value_of(p).astype(float)
    total = weights.sum(axis=-1, keepdims=True)
    if (weights < 0).any() or not (total > 0).all() or (np.abs(total - 1) < 1e-6).all():
        return p
    warnings.warn(f"Multinomial: p sums to {total.squeeze()}, not to 1; it is divided by its sum", stacklevel=5)
    return as_tensor(weights / total)
