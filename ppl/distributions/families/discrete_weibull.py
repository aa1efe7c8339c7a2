from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import natural, open_unit, positive
from ppl.distributions.formulas.probability import log_of
from ppl.tensor import cast, ceil, equal, exp, expm1, log, log1mexp, log1p, maximum, switch


class DiscreteWeibull(Distribution):
    r"""A count that survives x with probability q^{x^β}: a Weibull number rounded down.

    .. math:: f(x) = q^{x^β} - q^{(x + 1)^β}
    """

    q, beta = param(open_unit), param(positive)
    support = natural
    in_pytensor = InPyTensor("discrete_weibull", symbolic=True)

    def logp(x, q, beta):
        some = switch(equal(x, 0), 1, x)  # the power of zero has no logarithm
        power = exp(beta * log(some))
        step = power * expm1(beta * log1p(1 / some))
        return switch(equal(x, 0), log1p(-q), power * log_of(q) + log1mexp(step * log_of(q)))

    def logcdf(x, q, beta):
        return log1mexp(exp(beta * log1p(x)) * log_of(q))

    def logccdf(x, q, beta):
        return exp(beta * log1p(x)) * log_of(q)

    def icdf(p, q, beta):
        return cast(maximum(ceil((log1p(-p) / log_of(q)) ** (1 / beta)) - 1, 0), "int64")

    def sample(key, shape, q, beta):
        return cast(maximum(ceil((-key.exponential(shape) / log_of(q)) ** (1 / beta)) - 1, 0), "int64")

    def support_point(q, beta):
        return cast(maximum(ceil((log(0.5) / log_of(q)) ** (1 / beta)) - 1, 0), "int64")
