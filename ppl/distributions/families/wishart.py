import numpy as np

from ppl.distributions.declaration.constants import LOG_2, LOG_PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param, requires
from ppl.distributions.declaration.domains import cholesky_factor, positive, symmetric_positive_definite
from ppl.distributions.declaration.sums import same
from ppl.distributions.formulas.covariance import factor_from, square_of
from ppl.tensor import cholesky, diagonal_of, expand_dims, gammaln, half_log_det, matmul, solve_triangular, sqrt, sum


class Wishart(Distribution):
    r"""The sum of ν outer products zzᵀ with z ~ MvNormal(0, V); V = LLᵀ.

    .. math:: \log f(X) = \tfrac{ν - p - 1}2 \log\det X - \tfrac12 \mathrm{tr}(V^{-1}X) - \tfrac{νp}2 \log 2
              - \tfrac ν2 \log\det V - \log Γ_p(\tfrac ν2)
    """

    nu, chol = param(positive), param(cholesky_factor)
    support = symmetric_positive_definite
    enough = requires(
        lambda nu, chol: nu > chol.shape[-1] - 1,
        "nu must exceed the number of rows of V, of which chol is the factor, less 1",
        "raise nu",
    )
    in_pytensor = InPyTensor(
        signature="(),(p,p)->(p,p)",
        parameters=lambda nu, chol: (nu, square_of(chol)),
        given=lambda nu, V: (nu, factor_from("Wishart", V=V)),
    )

    def accept(nu, V):
        return {"nu": nu, "chol": factor_from("Wishart", V=V)}

    def logp(x, nu, chol):
        p, root = x.shape[-1], cholesky(x)
        whitened = solve_triangular(chol, root, lower=True, b_ndim=2)
        density = (nu - p - 1) * half_log_det(root) - 0.5 * sum(whitened**2, axis=(-1, -2))
        return density - 0.5 * LOG_2 * nu * p - nu * half_log_det(chol) - log_multigamma(nu / 2, p)

    def sample(key, shape, nu, chol):
        root = matmul(chol, bartlett(key, shape, nu))
        return matmul(root, root.mT)

    def mean(nu, chol):
        return expand_dims(nu, (-1, -2)) * matmul(chol, chol.mT)

    def variance(nu, chol):
        v = matmul(chol, chol.mT)
        d = diagonal_of(v)
        return expand_dims(nu, (-1, -2)) * (v**2 + expand_dims(d, -1) * expand_dims(d, -2))

    def plus(a, b):
        (nu, scale), (more, other) = a, b
        return nu + more, same(scale, other)


def log_multigamma(a, p):
    """log Γ_p(a), the normalizer of Wishart laws."""
    return 0.25 * LOG_PI * p * (p - 1) + sum(gammaln(expand_dims(a, -1) - np.arange(p) / 2), axis=-1)


def bartlett(key, shape, nu):
    """The Cholesky factor of a Wishart(ν, I) matrix: normals below a diagonal of roots of χ²(ν), χ²(ν - 1), ..."""
    p = shape[-1]
    squares = 2 * key.gamma((expand_dims(nu, -1) - np.arange(p)) / 2, (*shape[:-2], p))
    below = key.normal(shape) * np.tril(np.ones((p, p)), -1)
    return below + expand_dims(sqrt(squares), -1) * np.eye(p)
