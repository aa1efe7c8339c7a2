import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import integers_between, ordered, real
from ppl.distributions.families.categorical import Categorical, entry
from ppl.tensor import (
    as_tensor,
    cast,
    concatenate,
    expand_dims,
    expm1,
    log1mexp,
    log_sigmoid,
    maximum,
    minimum,
    sigmoid,
    sum,
    switch,
)


class OrderedLogistic(Distribution):
    r"""The number of cutpoints below η + L with L standard logistic.

    .. math:: f(x) = σ(c_x - η) - σ(c_{x-1} - η), \qquad c_{-1} = -\infty, \; c_{K-1} = \infty
    """

    eta, cutpoints = param(real), param(ordered)
    in_pytensor = InPyTensor(same_as=lambda *parameters: Categorical.dist(OrderedLogistic.probabilities(*parameters)))

    def support(eta, cutpoints):
        return integers_between(0, as_tensor(cutpoints).shape[-1])

    def logp(x, eta, cutpoints):
        low, high, last = ends(x, cutpoints)
        below = switch(x < last, log_sigmoid(high - eta), 0.0)
        above = switch(x > 0, log_sigmoid(eta - low), 0.0)
        inner = (x > 0) & (x < last)
        return below + above + switch(inner, log1mexp(switch(inner, low - high, -1.0)), 0.0)

    def logcdf(x, eta, cutpoints):
        _, high, last = ends(x, cutpoints)
        return switch(x < last, log_sigmoid(high - eta), 0.0)

    def logccdf(x, eta, cutpoints):
        _, high, last = ends(x, cutpoints)
        return switch(x < last, log_sigmoid(eta - high), -np.inf)

    def sample(key, shape, eta, cutpoints):
        reached = sigmoid(cutpoints - expand_dims(eta, -1)) < expand_dims(key.uniform(shape), -1)
        return sum(cast(reached, "int64"), axis=-1)

    def support_point(eta, cutpoints):
        return sum(cast(cutpoints < expand_dims(eta, -1), "int64"), axis=-1)

    def fisher_information(eta, cutpoints):
        return {"eta": (1 - sum(OrderedLogistic.probabilities(eta, cutpoints) ** 3, axis=-1)) / 3}

    def estimates(y):
        """Cutpoints by the frequencies of the values that are seen."""
        below = frequencies_below(y)
        return {"eta": 0.0, "cutpoints": np.log(below) - np.log1p(-below)}

    def result(draw, store, compute_p=True):
        if compute_p:
            store("probs", OrderedLogistic.probabilities(*draw.parameters))
        return draw

    @staticmethod
    def probabilities(eta, cutpoints):
        """The probability of each value, along a last axis."""
        below = sigmoid(cutpoints - expand_dims(eta, -1))
        above = sigmoid(expand_dims(eta, -1) - cutpoints)
        inner = below[..., 1:] * above[..., :-1] * -expm1(cutpoints[..., :-1] - cutpoints[..., 1:])
        return concatenate([below[..., :1], inner, above[..., -1:]], axis=-1)


def frequencies_below(y):
    """How often values up to each of those that are seen occur, but for the largest."""
    counts = np.unique(y, return_counts=True)[1]
    return np.cumsum(counts)[: max(1, counts.size - 1)] / counts.sum()


def ends(x, cutpoints):
    """The cutpoints below and above x (any at the open ends), and the largest x."""
    last = as_tensor(cutpoints).shape[-1]
    return entry(cutpoints, maximum(x - 1, 0)), entry(cutpoints, minimum(x, last - 1)), last
