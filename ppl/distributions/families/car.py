import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import Domain, positive, real_vector
from ppl.distributions.declaration.normal_errors import NotNormal
from ppl.distributions.formulas.adjacency import adjacency, borders, times_neighbors
from ppl.distributions.formulas.covariance import vector_like
from ppl.tensor import cast, cholesky, diagonal, dot, expand_dims, eye, half_log_det, log, log1p, solve_triangular, sum
from ppl.tensor.tensor import is_constant, value_of

correlation = Domain(
    "between -1 and 1, neither included", lambda x: (x > -1) & (x < 1), lower=-1.0, upper=1.0, examples=(-0.4, 0.7)
)


class CAR(Distribution):
    r"""A normal vector with precision τ(D - αW): each entry centers on α times the mean of its neighbors.

    W is a symmetric matrix of weights, D the diagonal matrix of its row sums.

    .. math:: \log f(x) = -\tfrac τ2 (x - μ)^T(D - αW)(x - μ) + \tfrac12 \log\det(D - αW) + \tfrac n2 \log \frac τ{2π}
    """

    mu, W, alpha, tau = param(real_vector), param(borders), param(correlation), param(positive)
    support = real_vector
    in_pytensor = InPyTensor(
        signature="(m),(m,m),(),(),()->(m)", parameters=lambda mu, W, alpha, tau: (mu, W, alpha, tau, True)
    )

    def accept(mu, W, alpha, tau):
        W = adjacency("CAR", W)
        if is_constant(W) and not (value_of(W).sum(axis=0) > 0).all():
            lonely = int(np.argmin(value_of(W).sum(axis=0)))
            raise ValueError(f"CAR: area {lonely} has no neighbor in W, so its precision is 0. Leave it out.")
        return {"mu": vector_like("CAR", mu, W), "W": W, "alpha": alpha, "tau": tau}

    def event_shape(mu, W, alpha, tau):
        return (mu.shape[-1],)

    def logp(x, mu, W, alpha, tau):
        d, n = x - mu, x.shape[-1]
        square = sum(sum(cast(W, "floatX"), axis=0) * d**2, axis=-1) - alpha * times_neighbors(W, d)
        return 0.5 * (n * (log(tau) - LOG_2PI) - tau * square) + half_log_det_precision(W, alpha)

    def sample(key, shape, mu, W, alpha, tau):
        root = cholesky(expand_dims(tau, (-1, -2)) * precision(W, alpha))
        return mu + solve_triangular(root, key.normal(shape), trans=1, lower=True, b_ndim=1)

    def mean(mu, W, alpha, tau):
        return mu

    def mode(mu, W, alpha, tau):
        return mu

    def residuals(x, mu, W, alpha, tau):
        """Each area given those after it: with CC' = D - αW, C'(x - μ) has independent entries of variance 1/τ."""
        if x.ndim != 1 or alpha.ndim or tau.ndim:
            raise NotNormal("it is more than one vector")
        root = cholesky(precision(W, alpha))
        lengths = diagonal(root)
        yield dot(mu - x, root) / lengths, tau**-0.5 / lengths


def precision(W, alpha):
    """D - αW."""
    W = cast(W, "floatX")
    return expand_dims(sum(W, axis=0), -1) * eye(W.shape[0]) - expand_dims(alpha, (-1, -2)) * W


def half_log_det_precision(W, alpha):
    r"""½ log det(D - αW) = ½ Σ [log D_i + log(1 - αλ_i)], λ the eigenvalues of D^{-1/2} W D^{-1/2} where W is known."""
    if not is_constant(W):
        return half_log_det(cholesky(precision(W, alpha)))
    weights = value_of(W).astype(float)
    degree = weights.sum(axis=0)
    eigenvalues = np.linalg.eigvalsh(weights / np.sqrt(np.outer(degree, degree)))
    return 0.5 * np.log(degree).sum() + 0.5 * sum(log1p(-expand_dims(alpha, -1) * eigenvalues), axis=-1)
