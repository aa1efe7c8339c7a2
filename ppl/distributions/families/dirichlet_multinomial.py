from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import counts_with_sum, natural, positive_vector
from ppl.distributions.families.multinomial import near_mean
from ppl.distributions.families.negative_binomial import NegativeBinomial
from ppl.tensor import expand_dims, maximum, sum


class DirichletMultinomial(Distribution):
    r"""Multinomial(n, p) with p ~ Dirichlet(a).

    .. math:: f(x) = \frac{n!\, Γ(A)}{Γ(n + A)} \prod_k \frac{Γ(x_k + a_k)}{x_k!\, Γ(a_k)}, \qquad A = \sum_k a_k

    These are negative binomial numbers of means n a_k/A and shapes a_k, given their sum, which has mean n and shape A:
    written so, no large terms cancel.
    """

    n, a = param(natural), param(positive_vector)
    in_pytensor = InPyTensor("dirichlet_multinomial", signature="(),(p)->(p)", symbolic=True)

    def support(n, a):
        return counts_with_sum(n)

    def event_shape(n, a):
        return (a.shape[-1],)

    def logp(x, n, a):
        total = sum(a, axis=-1)
        p = total / (total + maximum(n, 1))  # the same for any p; with this one, each is near its mean
        return sum(NegativeBinomial.stated_logp(x, a, expand_dims(p, -1)), axis=-1) - NegativeBinomial.stated_logp(
            n, total, p
        )

    def sample(key, shape, n, a):
        return key.multinomial(n, key.dirichlet(a, shape), shape)

    def mean(n, a):
        return expand_dims(n, -1) * a / sum(a, axis=-1, keepdims=True)

    def variance(n, a):
        total, n = sum(a, axis=-1, keepdims=True), expand_dims(n, -1)
        return n * a / total * (1 - a / total) * (n + total) / (1 + total)

    def support_point(n, a):
        return near_mean(n, a / sum(a, axis=-1, keepdims=True))
