import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import integers_between, ordered, positive, real
from ppl.distributions.families.categorical import Categorical
from ppl.distributions.families.ordered_logistic import ends, frequencies_below
from ppl.tensor import (
    as_tensor,
    cast,
    concatenate,
    exp,
    expand_dims,
    log1mexp,
    log_ndtr,
    ndtri,
    sum,
    switch,
    zeros_like,
)


class OrderedProbit(Distribution):
    r"""The number of cutpoints below η + σZ with Z standard normal.

    .. math:: f(x) = Φ((c_x - η)/σ) - Φ((c_{x-1} - η)/σ), \qquad c_{-1} = -\infty, \; c_{K-1} = \infty
    """

    eta, cutpoints, sigma = param(real), param(ordered), param(positive, 1.0)
    in_pytensor = InPyTensor(same_as=lambda *parameters: Categorical.dist(OrderedProbit.probabilities(*parameters)))

    def support(eta, cutpoints, sigma):
        return integers_between(0, as_tensor(cutpoints).shape[-1])

    def logp(x, eta, cutpoints, sigma):
        low, high, last = ends(x, cutpoints)
        low, high, inner = (low - eta) / sigma, (high - eta) / sigma, (x > 0) & (x < last)
        between = log_between(switch(inner, low, -1.0), switch(inner, high, 1.0))
        return switch(inner, between, switch(x > 0, log_ndtr(-low), log_ndtr(high)))

    def logcdf(x, eta, cutpoints, sigma):
        _, high, last = ends(x, cutpoints)
        return switch(x < last, log_ndtr((high - eta) / sigma), 0.0)

    def logccdf(x, eta, cutpoints, sigma):
        _, high, last = ends(x, cutpoints)
        return switch(x < last, log_ndtr((eta - high) / sigma), -np.inf)

    def sample(key, shape, eta, cutpoints, sigma):
        return sum(cast(cutpoints < expand_dims(eta + sigma * key.normal(shape), -1), "int64"), axis=-1)

    def support_point(eta, cutpoints, sigma):
        return sum(cast(cutpoints < expand_dims(eta, -1), "int64"), axis=-1)

    def fisher_information(eta, cutpoints, sigma):
        p = OrderedProbit.probabilities(eta, cutpoints, sigma)
        z = (cutpoints - expand_dims(eta, -1)) / expand_dims(sigma, -1)
        density = exp(-0.5 * z**2 - 0.5 * LOG_2PI)
        end = zeros_like(p[..., :1])
        slopes = concatenate([density, end], axis=-1) - concatenate([end, density], axis=-1)
        return {"eta": sum(switch(p > 0, slopes**2 / switch(p > 0, p, 1.0), 0.0), axis=-1) / sigma**2}

    def estimates(y, sigma=1.0):
        """Cutpoints by the frequencies of the values that are seen."""
        return {"eta": 0.0, "cutpoints": sigma * ndtri(frequencies_below(y)), "sigma": sigma}

    def result(draw, store, compute_p=True):
        if compute_p:
            store("probs", OrderedProbit.probabilities(*draw.parameters))
        return draw

    @staticmethod
    def probabilities(eta, cutpoints, sigma):
        """The probability of each value, along a last axis."""
        z = (cutpoints - expand_dims(eta, -1)) / expand_dims(sigma, -1)
        parts = [log_ndtr(z[..., :1]), log_between(z[..., :-1], z[..., 1:]), log_ndtr(-z[..., -1:])]
        return exp(concatenate(parts, axis=-1))


def log_between(a, b):
    """log(Φ(b) - Φ(a)) for a < b, taken in the tail where both are small."""
    flipped = a > 0
    far, near = log_ndtr(switch(flipped, -b, a)), log_ndtr(switch(flipped, -a, b))
    return near + log1mexp(far - near)
