import numpy as np

from ppl.distributions.declaration.constants import LOG_PI
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import abs, arctan2, log, log1p_square, ndtr, ndtri_exp, sign, switch, tan


class Cauchy(Distribution):
    r"""X = α + βT with T Student's t of one degree of freedom.

    .. math:: \log f(x) = -\log π - \log β - \log(1 + z^2), \qquad z = (x - α)/β
    """

    alpha, beta = param(real), param(positive)
    support = real
    location_scale = alpha, beta

    def logp(x, alpha, beta):
        return -LOG_PI - log(beta) - log1p_square((x - alpha) / beta)

    def logcdf(x, alpha, beta):
        return log(arctan2(1.0, -(x - alpha) / beta)) - LOG_PI

    def logccdf(x, alpha, beta):
        return log(arctan2(1.0, (x - alpha) / beta)) - LOG_PI

    def icdf(q, alpha, beta):
        z = switch(q < 0.25, -1 / tan(np.pi * q), switch(q > 0.75, 1 / tan(np.pi * (1 - q)), tan(np.pi * (q - 0.5))))
        return alpha + beta * z

    def sample(key, shape, alpha, beta):
        return alpha + beta * key.cauchy(shape)

    def mode(alpha, beta):
        return alpha

    def entropy(alpha, beta):
        return np.log(4 * np.pi) + log(beta)

    def support_point(alpha, beta):
        return alpha

    def fisher_information(alpha, beta):
        return {"alpha": 0.5 * beta**-2.0}

    def of_normal_score(z, alpha, beta):
        """The tangent, in the tails that of what is left to 1."""
        far = abs(z) > 0.5
        tail = 1.0 / tan(np.pi * ndtr(-switch(far, abs(z), 0.5)))
        middle = tan(np.pi * (ndtr(switch(far, 0.0, z)) - 0.5))
        return alpha + beta * switch(far, sign(z) * tail, middle)

    def normal_score(x, alpha, beta):
        d = (x - alpha) / beta
        return -sign(d) * ndtri_exp(log(arctan2(1.0, abs(d)) / np.pi))

    def law_of_sum(along, alpha, beta):
        return Cauchy.dist(along.added(alpha), along.added(beta))
