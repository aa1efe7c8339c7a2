from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import cholesky_factor, real_matrix
from ppl.distributions.declaration.normal_errors import Kronecker
from ppl.distributions.formulas.covariance import factor_from
from ppl.tensor import as_tensor, broadcast_to, expand_dims, half_log_det, matmul, reshape, solve_triangular, sum


class MatrixNormal(Distribution):
    r"""X = M + A Z Bᵀ with Z standard normal: covariance AAᵀ among the m rows, BBᵀ among the n columns.

    .. math:: \log f(X) = -\tfrac12 |A^{-1}(X - M)B^{-T}|^2 - n\log\det A - m\log\det B - \tfrac{mn}2 \log 2π
    """

    mu, rowchol, colchol = param(real_matrix), param(cholesky_factor), param(cholesky_factor)
    support = real_matrix
    in_pytensor = InPyTensor(signature="(m,n),(m,m),(n,n)->(m,n)")

    def accept(mu, rowcov=None, rowchol=None, colcov=None, colchol=None):
        row = _factor(rowcov=rowcov, rowchol=rowchol)
        column = _factor(colcov=colcov, colchol=colchol)
        mu = as_tensor(mu)
        return {
            "mu": broadcast_to(mu, (*mu.shape[:-2], row.shape[-1], column.shape[-1])),
            "rowchol": row,
            "colchol": column,
        }

    def logp(x, mu, rowchol, colchol):
        m, n = x.shape[-2:]
        half = solve_triangular(rowchol, x - mu, lower=True, b_ndim=2)
        z = solve_triangular(colchol, half.mT, lower=True, b_ndim=2)
        return (
            -0.5 * sum(z**2, axis=(-1, -2))
            - n * half_log_det(rowchol)
            - m * half_log_det(colchol)
            - 0.5 * LOG_2PI * m * n
        )

    def sample(key, shape, mu, rowchol, colchol):
        return mu + matmul(matmul(rowchol, key.normal(shape)), colchol.mT)

    def mean(mu, rowchol, colchol):
        return mu

    def variance(mu, rowchol, colchol):
        return expand_dims(sum(rowchol**2, axis=-1), -1) * expand_dims(sum(colchol**2, axis=-1), -2)

    def mode(mu, rowchol, colchol):
        return mu

    def residuals(x, mu, rowchol, colchol):
        """Row after row, the covariance is a Kronecker product."""
        *batch, rows, columns = x.type.shape
        yield reshape(mu - x, (*batch, rows * columns)), Kronecker((rowchol, colchol))


def _factor(**given):
    (cov, chol) = given
    if given[cov] is not None and given[chol] is not None:
        raise ValueError(f"MatrixNormal: give {cov} or {chol}, not both")
    if given[cov] is None and given[chol] is None:
        raise ValueError(f"MatrixNormal needs {cov} or {chol}")
    return factor_from("MatrixNormal", chol=given[chol], **{cov: given[cov]})
