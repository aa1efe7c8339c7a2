from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param, requires
from ppl.distributions.declaration.domains import between, real
from ppl.tensor import equal, log, log1p, sqrt, switch


class Triangular(Distribution):
    r"""A density that rises on a straight line from a to c and falls on one from c to b.

    .. math:: f(x) = \frac{2(x - a)}{(b - a)(c - a)} \;(x < c),
              \qquad f(x) = \frac{2(b - x)}{(b - a)(b - c)} \;(x \ge c)
    """

    lower, upper, c = param(real, 0.0), param(real, 1.0), param(real, 0.5)
    ordered = requires(
        lambda lower, upper, c: (lower <= c) & (c <= upper) & (lower < upper),
        "c must lie between lower and upper",
        "put the three in order",
    )
    in_pytensor = InPyTensor(
        parameters=lambda lower, upper, c: (lower, c, upper), given=lambda lower, c, upper: (lower, upper, c)
    )

    def support(lower, upper, c):
        return between(lower, upper)

    def logp(x, lower, upper, c):
        left = (x < c) | equal(c, upper)
        height, base = switch(left, x - lower, upper - x), switch(left, c - lower, upper - c)
        return LOG_2 + log(height) - log(base) - log(upper - lower)

    def logcdf(x, lower, upper, c):
        return switch(
            x <= c, _log_area(x - lower, c - lower, upper - lower), _rest(upper - x, upper - c, upper - lower)
        )

    def logccdf(x, lower, upper, c):
        return switch(
            x >= c, _log_area(upper - x, upper - c, upper - lower), _rest(x - lower, c - lower, upper - lower)
        )

    def icdf(q, lower, upper, c):
        width = upper - lower
        left = (q < (c - lower) / width) | equal(c, upper)
        area = switch(left, width * (c - lower) * q, width * (upper - c) * (1 - q))
        return switch(left, lower + sqrt(area), upper - sqrt(area))

    def sample(key, shape, lower, upper, c):
        return Triangular.stated_icdf(key.uniform(shape), lower, upper, c)

    def mean(lower, upper, c):
        return (lower + upper + c) / 3

    def variance(lower, upper, c):
        return ((upper - lower) ** 2 - (c - lower) * (upper - c)) / 18

    def mode(lower, upper, c):
        return c

    def entropy(lower, upper, c):
        return 0.5 + log((upper - lower) / 2)


def _log_area(d, base, width):
    """The logarithm of the area of the tip of length d of the side that stands on `base`."""
    return 2 * log(d) - log(_some(base)) - log(width)


def _rest(d, base, width):
    return log1p(-d / width * (d / _some(base)))


def _some(base):
    """A side that has no length is not asked for, but its logarithm must have a slope."""
    return switch(base > 0, base, 1.0)
