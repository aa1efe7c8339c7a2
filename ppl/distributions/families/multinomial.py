from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import counts_with_sum, natural, simplex
from ppl.distributions.declaration.sums import same
from ppl.distributions.families.binomial import Binomial
from ppl.distributions.formulas.probability import rescaled
from ppl.tensor import (
    all,
    arange,
    argmax,
    broadcast_to,
    cast,
    deviance,
    equal,
    expand_dims,
    floor,
    gammaln,
    log,
    maximum,
    not_equal,
    round,
    stirling,
    sum,
    switch,
)


class Multinomial(Distribution):
    r"""How n trials fall on categories with probabilities p_k.

    .. math:: f(x) = n! \prod_k p_k^{x_k} / x_k!, \qquad \sum_k x_k = n

    These are Poisson numbers of means n p_k, given their sum: written so, no large terms cancel.
    """

    n, p = param(natural), param(simplex)
    in_pytensor = InPyTensor(signature="(),(p)->(p)")

    def accept(n, p):
        return {"n": n, "p": rescaled(p, "Multinomial")}

    def support(n, p):
        return counts_with_sum(n)

    def event_shape(n, p):
        return (p.shape[-1],)

    def logp(x, n, p):
        rows = expand_dims(n, -1)
        log_mean = switch(equal(x, 0), 0.0, log(maximum(rows, 1)) + log(switch(equal(x, 0), 1.0, p)))
        return stirling(n) - sum(stirling(x) + deviance(x, rows * p, log_mean), axis=-1)

    def sample(key, shape, n, p):
        return key.multinomial(n, p, shape)

    def mean(n, p):
        return expand_dims(n, -1) * p

    def variance(n, p):
        return expand_dims(n, -1) * p * (1 - p)

    def support_point(n, p):
        return near_mean(n, p)

    fixed = ("n",)

    def natural(n, p):
        return (log(p),)

    def statistics(x):
        return (x,)

    def log_normalizer(n, p):
        return 0.0 * sum(p, axis=-1)

    def law_of_sum(along, n, p):
        return Multinomial.dist(along.added(n), along.alike(p, own=1))

    def plus(a, b):
        (n, p), (m, q) = a, b
        return n + m, same(p, q)

    def law_of_entry(k, n, p):
        return Binomial, (n, p[..., k])

    def merged(groups, n, p):
        return n, groups @ broadcast_to(p, groups.type.shape[1:])

    def logp_of_rows(rows, n, p):
        """By the totals of each category; none of a category without probability is no reproach."""
        whole = sum(rows.counts * gammaln(n + 1.0)) - sum(gammaln(rows.values + 1.0))
        totals = rows.sums(rows.values)
        seen = not_equal(totals, 0)
        return sum(switch(seen, totals * log(switch(seen, p, 1.0)), 0.0)) + whole


def near_mean(n, p):
    """Counts near n p that sum to n: rounded, what is left over given to the largest."""
    mean = expand_dims(n, -1) * p
    largest = equal(arange(p.shape[-1]), expand_dims(argmax(mean, axis=-1), -1))
    rounded, floored = round(mean), floor(mean)
    rounded = rounded + largest * (expand_dims(n, -1) - sum(rounded, axis=-1, keepdims=True))
    floored = floored + largest * (expand_dims(n, -1) - sum(floored, axis=-1, keepdims=True))
    return cast(switch(all(rounded >= 0, axis=-1, keepdims=True), rounded, floored), "int64")
