import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import cholesky_factor, real_vector
from ppl.distributions.declaration.normal_errors import Correlated
from ppl.distributions.declaration.rows import NotSummed
from ppl.distributions.families.normal import Normal
from ppl.distributions.formulas.covariance import factor_from, is_factor_of_moving, square_of, vector_like
from ppl.distributions.formulas.given_others import normal_given_others
from ppl.tensor import (
    cast,
    cholesky,
    diagonal,
    expand_dims,
    eye,
    half_log_det,
    isnan,
    log,
    matmul,
    qr,
    solve_lower,
    solve_triangular,
    sqrt,
    sum,
    switch,
    times_vectors,
)
from ppl.tensor import mean as average
from ppl.tensor.linear_algebra.definite import normal_log_density


class MvNormal(Distribution):
    r"""X = μ + Lz with z standard normal: mean μ and covariance Σ = LLᵀ, L lower triangular.

    .. math:: \log f(x) = -\tfrac12 |z|^2 - \log\det L - \tfrac n2 \log 2π, \qquad z = L^{-1}(x - μ)
    """

    mu, chol = param(real_vector), param(cholesky_factor)
    support = real_vector
    location_parameter = mu
    in_pytensor = InPyTensor(
        "multivariate_normal",
        shown="MultivariateNormal",
        signature="(n),(n,n)->(n)",
        parameters=lambda mu, chol: (mu, square_of(chol)),
        given=lambda mu, cov: (mu, factor_from("MvNormal", cov=cov)),
    )

    def accept(mu=0.0, cov=None, *, tau=None, chol=None, lower=True, method="cholesky"):
        """`method` is PyMC's choice of a factor for draws. Here they are by Cholesky's, which a singular covariance
        does not have: for "eigh" and "svd", by which PyMC draws it, a small multiple of the identity is added then."""
        if method not in ("cholesky", "eigh", "svd"):
            raise ValueError(f"MvNormal: method is 'cholesky', 'eigh' or 'svd', got {method!r}")
        factor = factor_from("MvNormal", lower, cov=cov, tau=tau, chol=chol, singular=method != "cholesky")
        return {"mu": vector_like("MvNormal", mu, factor), "chol": factor}

    @classmethod
    def in_domains(cls, parameters):
        """That a covariance has a factor shows in its density, which is not taken by the factor where that is large."""
        return None if is_factor_of_moving(parameters[1]) else Distribution.in_domains.__func__(cls, parameters)

    def logp(x, mu, chol):
        if is_factor_of_moving(chol):
            density = normal_log_density(x - mu, chol.inputs[0]) - 0.5 * LOG_2PI * x.shape[-1]
            return switch(isnan(density) & ~isnan(sum(x - mu, axis=-1)), -np.inf, density)
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

    def given_others(x, mu, chol):
        r"""With Q = Σ⁻¹, entry i has variance 1/Q_ii and is (Q(x - μ))_i / Q_ii above its mean."""
        half = solve_triangular(chol, eye(mu.shape[-1]), lower=True, b_ndim=2)
        precision = sum(half**2, axis=-2)
        pull = times_vectors(half.mT, times_vectors(half, x - mu))
        return normal_given_others(pull, precision)

    def natural(mu, chol):
        inverse = solve_triangular(chol, eye(mu.shape[-1]), lower=True, b_ndim=2)
        precision = matmul(inverse.mT, inverse)
        return times_vectors(precision, mu), -0.5 * precision

    def statistics(x):
        return x, expand_dims(x, -1) * expand_dims(x, -2)

    def log_normalizer(mu, chol):
        return 0.5 * sum(solve_lower(chol, mu) ** 2, axis=-1) + half_log_det(chol) + 0.5 * LOG_2PI * mu.shape[-1]

    def plus(a, b):
        (m, k), (n, l) = a, b
        return m + n, cholesky(k @ k.mT + l @ l.mT)

    def minus(a, b):
        (m, k), (n, l) = a, b
        return m - n, cholesky(k @ k.mT + l @ l.mT)

    def law_of_entry(k, mu, chol):
        return Normal, (mu[..., k], sqrt(sum(chol[..., k, :] ** 2, axis=-1)))

    def affine_image(a, b, mu, chol):
        root = a @ chol
        if len(a) == 1:
            return Normal.dist(a @ mu + b, sqrt(sum(root**2, axis=-1)))
        return MvNormal.dist(a @ mu + b, chol=cholesky(root @ root.T))

    def logp_of_rows(rows, mu, chol):
        """By n, the mean and the triangle of the deviations from it, S = R'R; all are measured from one row."""
        if rows.cells > 1:
            raise NotSummed("vectors of several means or covariances stay as they are")
        mu, chol = (p[0] if p.ndim > own else p for p, own in ((mu, 1), (chol, 2)))
        y = cast(rows.values, "floatX")
        n, width = y.type.shape
        d = y - y[:1]
        mean = average(d, axis=0)
        _, triangle = qr(d - mean, "reduced")
        spread = solve_triangular(chol, triangle.T, lower=True, b_ndim=2)
        off = solve_triangular(chol, (y[0] - mu) + mean, lower=True)
        squares = sum(spread**2) + n * sum(off**2)
        return -n * (sum(log(diagonal(chol))) + 0.5 * width * LOG_2PI) - 0.5 * squares

    def residuals(x, mu, chol):
        yield mu - x, Correlated(chol)
