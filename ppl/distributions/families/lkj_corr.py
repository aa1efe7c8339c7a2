import functools
import itertools

import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import Domain, counting, positive
from ppl.distributions.families.lkj_cholesky_cov import correlation_factor, log_volume, rows
from ppl.distributions.transforms import IntervalTransform
from ppl.tensor import (
    add,
    all,
    cholesky,
    diagonal_of,
    half_log_det,
    matmul,
    multiply,
    ones,
    sqrt,
    stack,
    sum,
    unpack_triangular,
    zeros,
)

WRITTEN_OUT = 6  # rows up to which entries are terms of their own, added in vectors; of more, that compiles long


class LKJCorr(Distribution):
    r"""The upper triangle, row by row and without the diagonal, of a correlation matrix R of density ∝ det(R)^{η-1}.

    .. math:: \log f(R) = (η - 1) \log\det R - \log Z(η, n)
    """

    n, eta = param(counting), param(positive)
    in_pytensor = InPyTensor(shown="LKJCorrRV", signature="(),()->(n)", symbolic=True)

    def support(n, eta):
        return correlations(rows(n))

    def event_shape(n, eta):
        return (rows(n) * (rows(n) - 1) // 2,)

    def logp(x, n, eta):
        n = rows(n)
        return 2 * (eta - 1) * half_log_det(cholesky(correlation_matrix(x, n))) - log_volume(eta, n)

    def sample(key, shape, n, eta):
        n, batch = rows(n), tuple(shape)[:-1]
        if n == 1 or n > WRITTEN_OUT:
            factor = correlation_factor(key, batch, n, eta)
            return matmul(factor, factor.mT)[..., *np.triu_indices(n, 1)]
        unit = separate_rows(key, batch, n, eta)
        return stack([inner_product(a, b) for a, b in itertools.combinations(unit, 2)], axis=-1)

    def mean(n, eta):
        return zeros((rows(n) * (rows(n) - 1) // 2,))

    def result(draw, store, return_matrix=False):
        return correlation_matrix(draw, rows(draw.parameters[0])) if return_matrix else draw


class VectorInterval(IntervalTransform):
    """Vectors with entries between bounds: the interval transform of each, its log-determinant summed."""

    ndim_supp = 1

    def log_jac_det(self, value, *inputs):
        return sum(super().log_jac_det(value, *inputs), axis=-1)


def correlations(n):
    """Vectors that are the upper triangle of a correlation matrix."""
    return Domain(
        f"the correlations of a positive definite matrix with {n} rows",
        lambda x: all(diagonal_of(cholesky(correlation_matrix(x, n))) > 0, axis=-1),
        ndim=1,
        transform=VectorInterval(-1.0, 1.0),
    )


def correlation_matrix(x, n):
    """The symmetric matrix with unit diagonal whose upper triangle, row by row, is x."""
    above = unpack_triangular(x, n, lower=False, strict=True)
    return above + above.mT + np.eye(n)


def separate_rows(key, batch, n, eta):
    """The rows of `correlation_factor`, each entry an array of independent draws."""
    z = key.normal((n * (n - 1) // 2, *batch))
    g = key.gamma(eta + (n - 1 - np.arange(1, n).reshape(-1, *[1] * len(batch))) / 2, (n - 1, *batch))
    unit = [[ones(batch)]]
    for i in range(1, n):
        row = [*(z[i * (i - 1) // 2 + k] for k in range(i)), sqrt(2 * g[i - 1])]
        length = sqrt(inner_product(row, row))
        unit.append([entry / length for entry in row])
    return unit


def inner_product(a, b):
    """Σ a_k b_k over the shorter of two rows of arrays."""
    return functools.reduce(add, map(multiply, a, b))
