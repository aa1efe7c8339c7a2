from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import counts_with_sum, natural, ordered, real
from ppl.distributions.families.multinomial import Multinomial, near_mean
from ppl.distributions.families.ordered_logistic import OrderedLogistic
from ppl.tensor import expand_dims


class OrderedMultinomial(Distribution):
    r"""How n draws from OrderedLogistic(η, c) fall on its values.

    .. math:: f(x) = n! \prod_k p_k^{x_k} / x_k!, \qquad p_k = σ(c_k - η) - σ(c_{k-1} - η)
    """

    eta, cutpoints, n = param(real), param(ordered), param(natural)
    in_pytensor = InPyTensor(
        same_as=lambda eta, cutpoints, n: Multinomial.dist(n, OrderedLogistic.probabilities(eta, cutpoints))
    )

    def support(eta, cutpoints, n):
        return counts_with_sum(n)

    def event_shape(eta, cutpoints, n):
        return (cutpoints.shape[-1] + 1,)

    def logp(x, eta, cutpoints, n):
        return Multinomial.stated_logp(x, n, OrderedLogistic.probabilities(eta, cutpoints))

    def sample(key, shape, eta, cutpoints, n):
        return key.multinomial(n, OrderedLogistic.probabilities(eta, cutpoints), shape)

    def mean(eta, cutpoints, n):
        return expand_dims(n, -1) * OrderedLogistic.probabilities(eta, cutpoints)

    def support_point(eta, cutpoints, n):
        return near_mean(n, OrderedLogistic.probabilities(eta, cutpoints))

    def result(draw, store, compute_p=True):
        eta, cutpoints, _ = draw.parameters
        if compute_p:
            store("probs", OrderedLogistic.probabilities(eta, cutpoints))
        return draw
