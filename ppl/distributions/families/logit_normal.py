from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import open_unit, positive, real
from ppl.distributions.declaration.law import law_of
from ppl.distributions.families.normal import Normal
from ppl.tensor import logit, rsqrt, sigmoid


class LogitNormal(Distribution):
    r"""X = 1/(1 + exp(-Y)) with Y ~ Normal(μ, σ).

    .. math:: \log f(x) = -\tfrac12 z^2 - \log σ - \tfrac12\log 2π - \log x - \log(1 - x),
              \qquad z = (\mathrm{logit}\,x - μ)/σ
    """

    mu, sigma = param(real, 0.0), param(positive, 1.0)
    support = open_unit
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)
    law = law_of(lambda mu, sigma: sigmoid(Normal.dist(mu, sigma)), words="logit {}")
    in_pytensor = InPyTensor(None, kind="LogitNormal", inputs="size * rng", outputs="* rng", symbolic=True)

    def support_point(mu, sigma):
        return sigmoid(mu)

    def natural(mu, sigma):
        return Normal.natural(mu, sigma)

    def statistics(x):
        return Normal.statistics(logit(x))

    def log_normalizer(mu, sigma):
        return Normal.log_normalizer(mu, sigma)
