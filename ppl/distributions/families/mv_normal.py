from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import cholesky_factor, real_vector
from ppl.distributions.formulas.covariance import factor_from, vector_like
from ppl.tensor import expand_dims, eye, half_log_det, matmul, solve_lower, solve_triangular, sum, times_vectors


class MvNormal(Distribution):
    r"""X = μ + Lz with z standard normal: mean μ and covariance Σ = LLᵀ, L lower triangular.

    .. math:: \log f(x) = -\tfrac12 |z|^2 - \log\det L - \tfrac n2 \log 2π, \qquad z = L^{-1}(x - μ)
    """

    mu, chol = param(real_vector), param(cholesky_factor)
    support = real_vector
    location_parameter = mu

    def accept(mu=0.0, cov=None, *, tau=None, chol=None, lower=True):
        factor = factor_from("MvNormal", lower, cov=cov, tau=tau, chol=chol)
        return {"mu": vector_like("MvNormal", mu, factor), "chol": factor}

    def logp(x, mu, chol):
        z = solve_lower(chol, x - mu)
        return -0.5 * sum(z**2, axis=-1) - half_log_det(chol) - 0.5 * LOG_2PI * x.shape[-1]

    def sample(key, shape, mu, chol):
        return mu + times_vectors(chol, key.normal(shape))

    def mean(mu, chol):
        return mu

    def variance(mu, chol):
        return sum(chol**2, axis=-1)

    def mode(mu, chol):
        return mu

    def entropy(mu, chol):
        return half_log_det(chol) + 0.5 * (1 + LOG_2PI) * mu.shape[-1]

    def natural(mu, chol):
        inverse = solve_triangular(chol, eye(mu.shape[-1]), lower=True, b_ndim=2)
        precision = matmul(inverse.mT, inverse)
        return times_vectors(precision, mu), -0.5 * precision

    def statistics(x):
        return x, expand_dims(x, -1) * expand_dims(x, -2)

    def log_normaliser(mu, chol):
        return 0.5 * sum(solve_lower(chol, mu) ** 2, axis=-1) + half_log_det(chol) + 0.5 * LOG_2PI * mu.shape[-1]
