from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.declaration.law import law_of
from ppl.distributions.families.gamma import Gamma
from ppl.tensor import maximum


class ChiSquared(Distribution):
    r"""The sum of ν squares of standard normals, which is Gamma(ν/2, 1/2).

    .. math:: \log f(x) = (ν/2 - 1)\log x - x/2 - \tfrac ν2\log 2 - \log Γ(ν/2), \qquad x \ge 0
    """

    nu = param(positive)
    support = nonnegative
    law = law_of(lambda nu: Gamma.dist(nu / 2, 0.5))
    in_pytensor = InPyTensor(same_as=lambda nu: Gamma.dist(nu / 2, 0.5))

    def mean(nu):
        return nu

    def variance(nu):
        return 2 * nu

    def mode(nu):
        return maximum(nu - 2, 0.0)

    def entropy(nu):
        return Gamma.entropy(nu / 2, 0.5)

    def natural(nu):
        return nu / 2 - 1, -0.5

    def statistics(x):
        return Gamma.statistics(x)

    def log_normalizer(nu):
        return Gamma.log_normalizer(nu / 2, 0.5)

    def law_of_sum(along, nu):
        return ChiSquared.dist(along.added(nu))
