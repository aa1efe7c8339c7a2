import functools

import numpy as np

from ppl.distributions.distribution import Distribution, param
from ppl.distributions.domains import Domain, counting, positive
from ppl.distributions.lkj_cholesky_cov import correlation_rows, log_volume, rows
from ppl.distributions.transforms import IntervalTransform
from ppl.tensor import (
    add,
    all,
    cholesky,
    diagonal_of,
    expand_dims,
    half_log_det,
    moveaxis,
    sum,
    unpack_triangular,
    zeros,
)


class LKJCorr(Distribution):
    r"""The upper triangle, row by row and without the diagonal, of a correlation matrix R of density ∝ det(R)^{η-1}.

    .. math:: \log f(R) = (η - 1) \log\det R - \log Z(η, n)
    """

    n, eta = param(counting), param(positive)

    def support(n, eta):
        return correlations(rows(n))

    def event_shape(n, eta):
        return (rows(n) * (rows(n) - 1) // 2,)

    def logp(x, n, eta):
        n = rows(n)
        return 2 * (eta - 1) * half_log_det(cholesky(correlation_matrix(x, n))) - log_volume(eta, n)

    def sample(key, shape, n, eta):
        n = rows(n)
        columns = moveaxis(correlation_rows(key, tuple(shape)[:-1], n, eta), 1, 0)
        products = [expand_dims(column, 1) * expand_dims(column, 0) for column in columns]
        return moveaxis(functools.reduce(add, products)[np.triu_indices(n, 1)], 0, -1)

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
