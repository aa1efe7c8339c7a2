from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import counting, positive, simplex
from ppl.tensor import arange, concatenate, cumsum, exp, expand_dims, expm1, log, sum, zeros
from ppl.tensor.tensor import is_constant, value_of


class StickBreakingWeights(Distribution):
    r"""Lengths of K pieces broken off a stick one after the other, each a Beta(1, α) share of the rest, and the rest.

    .. math:: \log f(x) = K \log α + α \log x_{K+1} - \sum_{k=1}^{K+1} \log \sum_{j \ge k} x_j
    """

    alpha, K = param(positive), param(counting)
    support = simplex
    in_pytensor = InPyTensor("stick_breaking_weights", signature="(),()->(k)")

    def event_shape(alpha, K):
        return (_count(K) + 1,)

    def logp(x, alpha, K):
        rests = cumsum(x[..., ::-1], axis=-1)
        return K * log(alpha) + alpha * log(x[..., -1]) - sum(log(rests), axis=-1)

    def sample(key, shape, alpha, K):
        steps = -key.exponential((*shape[:-1], shape[-1] - 1)) / expand_dims(alpha, -1)
        start = zeros((*shape[:-1], 1))
        rests = exp(concatenate([start, cumsum(steps, axis=-1)], axis=-1))
        return concatenate([rests[..., :-1] * -expm1(steps), rests[..., -1:]], axis=-1)

    def mean(alpha, K):
        share = expand_dims(1 / (1 + alpha), -1)
        pieces = share * (1 - share) ** arange(_count(K))
        return concatenate([pieces, (1 - share) ** _count(K)], axis=-1)


def _count(K):
    return int(value_of(K)) if is_constant(K) else K
