import functools
import math

import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, Param, param
from ppl.distributions.declaration.domains import nonnegative, real_matrix, real_vector
from ppl.distributions.declaration.normal_errors import Kronecker, NoisyKronecker
from ppl.distributions.formulas.covariance import check_positive_definite, square_matrix, wrong_length
from ppl.distributions.formulas.eigenbasis import Eigenbasis
from ppl.distributions.formulas.given_others import normal_given_others
from ppl.tensor import (
    all,
    as_tensor,
    broadcast_to,
    cholesky_of,
    constant,
    eigh,
    expand_dims,
    half_log_det,
    isnan,
    kron_times,
    maximum,
    moveaxis,
    reshape,
    solve_triangular,
    sqrt,
    sum,
    switch,
)
from ppl.tensor.tensor import is_constant, value_of


class KroneckerNormal(Distribution):
    r"""A normal vector with covariance K₁ ⊗ K₂ ⊗ ... + σ²I, without ever forming it.

    With K_i = Q_i diag(λ_i) Q_iᵀ, Q = Q₁ ⊗ Q₂ ⊗ ... and λ = λ₁ ⊗ λ₂ ⊗ ...

    .. math:: \log f(x) = -\tfrac12 \sum_j \frac{(Q^T(x - μ))_j^2}{λ_j + σ^2} - \tfrac12 \sum_j \log(λ_j + σ^2)
              - \tfrac n2 \log 2π

    and by Cholesky factors of the K_i where σ = 0.
    """

    mu, sigma = param(real_vector), param(nonnegative, 0.0)
    support = real_vector
    in_pytensor = InPyTensor(None, symbolic=True)

    @classmethod
    def make(cls, mu, covs=None, chols=None, evds=None, sigma=0.0, **options):
        matrices = covariances(covs=covs, chols=chols, evds=evds)
        n = math.prod(m.shape[-1] for m in matrices)
        mu = as_tensor(mu)
        if mu.ndim == 0 or mu.type.shape[-1] == 1:
            mu = broadcast_to(mu, (*mu.shape[:-1], n))
        if isinstance(n, int) and mu.type.shape[-1] not in (None, n):
            raise ValueError(wrong_length("KroneckerNormal", mu.type.shape[-1], n))
        given = {f"cov{i}": matrix for i, matrix in enumerate(matrices)}
        return Distribution.make.__func__(with_factors(len(matrices)), mu=mu, sigma=sigma, **given, **options)

    def logp(x, mu, sigma, *covs):
        d, n = x - mu, x.shape[-1]
        if surely_zero(sigma):
            return _by_roots(d, [cholesky_of(cov) for cov in covs]) - 0.5 * LOG_2PI * n
        basis = Eigenbasis.of(covs, sigma)
        density = -0.5 * (basis.square(d) + basis.log_det() + LOG_2PI * n)
        return switch(all(basis.variances > 0, axis=-1), density, -np.inf)

    def sample(key, shape, mu, sigma, *covs):
        if surely_zero(sigma):
            return mu + kron_times(key.normal(shape), *[cholesky_of(cov) for cov in covs])
        smooth = mu + kron_times(key.normal(shape), *map(_root_of_semidefinite, covs))
        return smooth + expand_dims(sigma, -1) * key.normal(shape)

    def mean(mu, sigma, *covs):
        return mu

    def mode(mu, sigma, *covs):
        return mu

    def given_others(x, mu, sigma, *covs):
        """The precision is diagonal in the eigenbasis: its own diagonal weighs squares of the eigenvectors."""
        basis = Eigenbasis.of(covs, sigma)
        precision = kron_times(1 / basis.variances, *[a.vectors**2 for a in basis.axes])
        return normal_given_others(basis.back(basis.turn(x - mu) / basis.variances), precision)

    def residuals(x, mu, sigma, *covs):
        if surely_zero(sigma):
            yield mu - x, Kronecker(tuple(map(cholesky_of, covs)))
        else:
            yield mu - x, NoisyKronecker(covs, sigma)


@functools.cache
def with_factors(count):
    """The family with `count` matrices among its parameters."""
    declared = {"mu": Param(real_vector), "sigma": Param(nonnegative, 0.0)}
    declared |= {f"cov{i}": Param(real_matrix) for i in range(count)}
    body = {
        **declared,
        "order": tuple(declared),
        "make": classmethod(Distribution.make.__func__),
        "__doc__": KroneckerNormal.__doc__,
    }
    return type(KroneckerNormal)("KroneckerNormal", (KroneckerNormal,), body, abstract=True)


def covariances(**given):
    """The matrices K_i, from themselves, from Cholesky factors or from eigenvalues and eigenvectors."""
    found = {key: value for key, value in given.items() if value is not None}
    if len(found) != 1:
        shown = " and ".join(found) or "none"
        raise ValueError(f"KroneckerNormal: give exactly one of covs, chols and evds, got {shown}")
    ((key, parts),) = found.items()
    if key == "evds":
        pairs = [(as_tensor(values), as_tensor(q)) for values, q in parts]
        return [constant_or(lambda v, q: (q * v) @ q.T, v, q) for v, q in pairs]
    matrices = [as_tensor(part) for part in parts]
    for i, matrix in enumerate(matrices):
        square_matrix(f"KroneckerNormal: {key}[{i}]", matrix)
        if key == "covs" and is_constant(matrix):
            check_positive_definite(f"KroneckerNormal: covs[{i}]", value_of(matrix))
    return [constant_or(lambda c: c @ c.T, m) for m in matrices] if key == "chols" else matrices


def constant_or(f, *parts):
    """f of the parts, computed now where they are constant."""
    return constant(f(*map(value_of, parts))) if all_constant(parts) else f(*parts)


def surely_zero(sigma):
    """Whether there is no noise, as far as that is known when the graph is built."""
    return is_constant(sigma) and not value_of(sigma).any()


def all_constant(parts):
    return not [part for part in parts if not is_constant(part)]


def _by_roots(d, roots):
    """-½ d'C⁻¹d - ½ log |C| by the Cholesky factors of the factors of C; -inf where one has none."""
    n = d.shape[-1]
    z = reshape(d, (*d.shape[:-1], *[root.shape[-1] for root in roots]))
    for i, root in enumerate(roots):
        z = _along(z, i - len(roots), functools.partial(solve_triangular, root, lower=True, b_ndim=2))
    scale = functools.reduce(add, [half_log_det(r) * (n // r.shape[-1]) for r in roots])
    density = -0.5 * sum(z**2, axis=tuple(range(-len(roots), 0))) - scale
    return switch(isnan(scale), -np.inf, density)


def _root_of_semidefinite(cov):
    """R with RRᵀ = K, which may have eigenvalues of zero where noise is added: a Cholesky factor would fail."""
    values, vectors = eigh(cov)
    return vectors * sqrt(maximum(values, 0.0))


def _along(x, axis, f):
    """f, which works on the columns of a matrix, on x along an axis."""
    front = moveaxis(x, axis, 0)
    columns = f(reshape(front, (front.shape[0], -1)))
    return moveaxis(reshape(columns, front.shape), 0, axis)


def add(a, b):
    return a + b
