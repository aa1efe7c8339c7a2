from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import integers_between, natural, positive
from ppl.distributions.families.binomial import left, near
from ppl.distributions.formulas.summation import log_tails, summed_where_few
from ppl.distributions.formulas.urn import log_urn
from ppl.tensor import cast, clip, floor, log_beta_below_beta, switch


class BetaBinomial(Distribution):
    r"""The number of successes in n trials whose common probability is Beta(α, β).

    .. math:: f(x) = \binom{n}{x} \frac{B(x + α, n - x + β)}{B(α, β)}
    """

    alpha, beta, n = param(positive), param(positive), param(natural)
    in_pytensor = InPyTensor(
        "beta_binomial",
        parameters=lambda alpha, beta, n: (n, alpha, beta),
        given=lambda n, alpha, beta: (alpha, beta, n),
    )

    def support(alpha, beta, n):
        return integers_between(0, n)

    def logp(x, alpha, beta, n):
        return log_urn(x, n - x, alpha, beta)

    def logcdf(x, alpha, beta, n):
        integral = lambda: log_beta_below_beta(left(n, x), x + 1, beta, alpha)
        return summed_where_few(n, lambda n: _log_tails(x, alpha, beta, n)[0], integral)

    def logccdf(x, alpha, beta, n):
        integral = lambda: log_beta_below_beta(beta, alpha, left(n, x), x + 1)
        return summed_where_few(n, lambda n: _log_tails(x, alpha, beta, n)[1], integral)

    def sample(key, shape, alpha, beta, n):
        return key.binomial(n, key.beta(alpha, beta, shape), shape)

    def mean(alpha, beta, n):
        return n * alpha / (alpha + beta)

    def variance(alpha, beta, n):
        total = alpha + beta
        return n * (alpha / total) * (beta / total) * (total + n) / (total + 1)

    def mode(alpha, beta, n):
        total = alpha + beta - 2
        inner = floor((n * (alpha - 1) - (beta - 1)) / switch(total > 0, total, 1.0)) + 1
        end = switch(alpha > beta, n, 0)  # where the density is flat or has its valley inside
        return cast(switch(total > 0, clip(inner, 0, n), end), "int64")

    def support_point(alpha, beta, n):
        return near(n, n * alpha / (alpha + beta))


def _log_tails(x, alpha, beta, n):
    return log_tails(BetaBinomial, x, BetaBinomial.mean(alpha, beta, n), x + 1, n - x, alpha, beta, n)
