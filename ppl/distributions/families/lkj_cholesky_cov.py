import numpy as np

from ppl.distributions.declaration.constants import LOG_PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import Domain, a_distribution, counting, positive
from ppl.distributions.declaration.inner import log_density_of, sample_of
from ppl.distributions.declaration.sizes import known_size
from ppl.distributions.transforms.multivariate import CholeskyCovPacked
from ppl.tensor import (
    all,
    concatenate,
    diagonal_of,
    expand_dims,
    expand_packed_triangular,
    gammaln,
    log,
    matmul,
    moveaxis,
    ones,
    pack_triangular,
    sqrt,
    sum,
    zeros,
)  # fmt: skip


class LKJCholeskyCov(Distribution):
    r"""The packed Cholesky factor L of a covariance: standard deviations s ~ sd_dist, correlations R ~ LKJ(η).

    .. math:: \log f(L) = \log p(s) + \sum_i \big[(2η - 2 + n - i) \log(L_{ii}/s_i) - i \log s_i\big] - \log Z(η, n)

    with rows i = 0, ..., n - 1 and s_i the length of row i.
    """

    n, eta, sd_dist = param(counting), param(positive), param(a_distribution)
    in_pytensor = InPyTensor(
        None,
        kind="_LKJCholeskyCovRV",
        shown="_lkjcholeskycov",
        signature="(),(),(n)->(n)",
        inputs="rng *",
        symbolic=True,
    )

    def accept(eta, n, sd_dist):
        _check(sd_dist, n)
        return {"n": n, "eta": eta, "sd_dist": sd_dist}

    def support(n, eta, sd_dist):
        return packed_factor(rows(n))

    def event_shape(n, eta, sd_dist):
        return (rows(n) * (rows(n) + 1) // 2,)

    def logp(x, n, eta, sd_dist):
        n = rows(n)
        chol = expand_packed_triangular(n, x)
        s = sqrt(sum(chol**2, axis=-1))
        i = np.arange(n)
        shape = expand_dims(2 * eta, -1) - 2 + n - i
        density = sum(shape * log(diagonal_of(chol) / s) - i * log(s), axis=-1)
        return density + log_density_of(sd_dist, s, axes=1) - log_volume(eta, n)

    def sample(key, shape, n, eta, sd_dist):
        n, batch = rows(n), tuple(shape)[:-1]
        s = sample_of(key.fold_in(0), (*batch, n), sd_dist)
        return pack_triangular(correlation_factor(key.fold_in(1), batch, n, eta) * expand_dims(s, -1))

    def support_point(n, eta, sd_dist):
        return pack_triangular(np.eye(rows(n)))

    def result(draw, store, compute_corr=True, store_in_trace=True):
        if not compute_corr:
            return draw
        chol = expand_packed_triangular(rows(draw.parameters[0]), draw)
        s = sqrt(sum(chol**2, axis=-1))
        unit = chol / expand_dims(s, -1)
        corr = matmul(unit, unit.mT)
        if store_in_trace:
            corr, s = store("corr", corr), store("stds", s)
        return chol, corr, s

    @classmethod
    def event_axes(cls, parameters):
        return [0, 0, min(parameters[2].ndim, 1)]


def _check(sd_dist, n):
    if getattr(sd_dist, "event_ndim", 2) > 1:
        raise TypeError(
            "LKJCholeskyCov: sd_dist must be a distribution of scalars or vectors, made with .dist(...); "
            f"got {sd_dist!r}"
        )
    known = sd_dist.type.shape[-1:]
    if known not in ((), (1,), (None,), (rows(n),)):
        raise ValueError(f"LKJCholeskyCov: sd_dist has {known[0]} entries, but n is {rows(n)}")


def rows(n):
    """The number of rows, which must be known when the model is built."""
    return known_size(n, "the n of an LKJ distribution")


def packed_factor(n):
    """Packed lower triangular matrices with a positive diagonal."""
    return Domain(
        "a packed Cholesky factor",
        lambda x: all(expand_packed_triangular(n, x, diagonal_only=True) > 0, axis=-1),
        ndim=1,
        transform=CholeskyCovPacked(n),
    )


def log_volume(eta, n):
    r"""log Z(η, n): the integral of det(R)^{η-1} over correlation matrices (Lewandowski et al. 2009, eq. 17)."""
    k = np.arange(1, n)
    total = sum(0.5 * LOG_PI * k + gammaln(expand_dims(eta, -1) + 0.5 * (n - 1 - k)), axis=-1)
    return total - (n - 1) * gammaln(eta + 0.5 * (n - 1))


def correlation_rows(key, batch, n, eta):
    """The Cholesky factor of an LKJ correlation matrix, axes of independent draws last: row i has the direction of i
    normals followed by √2G with G ~ Gamma(η + (n - 1 - i)/2), so that all but the last have the squared length
    Beta(i/2, η + (n - 1 - i)/2) (the onion method, section 3.2)."""
    len_z = n * (n - 1) // 2
    z = key.normal((len_z, *batch))
    last = sqrt(2 * key.gamma(eta + (n - 1 - np.arange(1, n).reshape(-1, *[1] * len(batch))) / 2, (n - 1, *batch)))
    i, j = np.indices((n, n))  # entries of the triangle below the diagonal, on it, and above it
    place = np.where(j < i, i * (i - 1) // 2 + j, np.where(j == i, len_z + i, len_z + n))
    numbers = concatenate([z, ones((1, *batch)), last, zeros((1, *batch))])[place]
    return numbers / sqrt(sum(numbers**2, axis=1, keepdims=True))


def correlation_factor(key, batch, n, eta):
    """The same, the matrix last."""
    return moveaxis(correlation_rows(key, batch, n, eta), (0, 1), (-2, -1))
