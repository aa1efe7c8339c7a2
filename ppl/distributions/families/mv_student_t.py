import numpy as np

from ppl.distributions.declaration.constants import LOG_PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import cholesky_factor, positive, real_vector
from ppl.distributions.families.student_t import StudentT
from ppl.distributions.formulas.covariance import factor_from, square_of, vector_like
from ppl.tensor import (
    cholesky,
    digamma,
    exp,
    expand_dims,
    gammaln,
    half_log_det,
    log,
    log1p,
    solve_lower,
    sqrt,
    sum,
    switch,
    times_vectors,
)


class MvStudentT(Distribution):
    r"""X = μ + Lz / √(c/ν) with z standard normal and c chi-squared with ν degrees of freedom.

    .. math:: \log f(x) = -\tfrac{ν + n}2 \log\Big(1 + \frac{|z|^2}ν\Big) - \log\det L
              + \log\frac{Γ(\frac{ν+n}2)}{Γ(\frac ν2)} - \tfrac n2 \log νπ, \qquad z = L^{-1}(x - μ)
    """

    nu, mu, chol = param(positive), param(real_vector), param(cholesky_factor)
    support = real_vector
    location_parameter = mu
    in_pytensor = InPyTensor(
        "multivariate_studentt",
        signature="(),(n),(n,n)->(n)",
        parameters=lambda nu, mu, chol: (nu, mu, square_of(chol)),
        given=lambda nu, mu, scale: (nu, mu, factor_from("MvStudentT", scale=scale)),
        symbolic=True,
    )

    def accept(nu, *, Sigma=None, mu=0.0, scale=None, tau=None, chol=None, lower=True, cov=None):
        factor = factor_from("MvStudentT", lower, Sigma=Sigma, scale=scale, cov=cov, tau=tau, chol=chol)
        return {"nu": nu, "mu": vector_like("MvStudentT", mu, factor), "chol": factor}

    def logp(x, nu, mu, chol):
        n = x.shape[-1]
        square = sum(solve_lower(chol, x - mu) ** 2, axis=-1)
        scale = gammaln((nu + n) / 2) - gammaln(nu / 2) - 0.5 * n * (log(nu) + LOG_PI)
        return scale - 0.5 * (nu + n) * log1p(square / nu) - half_log_det(chol)

    def sample(key, shape, nu, mu, chol):
        log_share = key.loggamma(nu / 2, tuple(shape)[:-1]) - log(nu / 2)
        return mu + times_vectors(chol, key.normal(shape)) * expand_dims(exp(-0.5 * log_share), -1)

    def mean(nu, mu, chol):
        return switch(expand_dims(nu, -1) > 1, mu, np.nan)

    def variance(nu, mu, chol):
        nu = expand_dims(nu, -1)
        return switch(nu > 2, nu / switch(nu > 2, nu - 2, 1.0), np.nan) * sum(chol**2, axis=-1)

    def mode(nu, mu, chol):
        return mu

    def entropy(nu, mu, chol):
        n, share = chol.shape[-1], (nu + chol.shape[-1]) / 2
        scale = gammaln(nu / 2) - gammaln(share) + 0.5 * n * (log(nu) + LOG_PI)
        return scale + share * (digamma(share) - digamma(nu / 2)) + half_log_det(chol)

    def support_point(nu, mu, chol):
        return mu

    def affine_image(a, b, nu, mu, chol):
        root = a @ chol
        if len(a) == 1:
            return StudentT.dist(nu, a @ mu + b, sigma=sqrt(sum(root**2, axis=-1)))
        return MvStudentT.dist(nu=nu, mu=a @ mu + b, chol=cholesky(root @ root.T))
