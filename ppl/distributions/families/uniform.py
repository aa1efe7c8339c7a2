import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param, requires
from ppl.distributions.declaration.domains import between, real
from ppl.distributions.declaration.sums import known_to_be
from ppl.distributions.families.gamma import Gamma
from ppl.tensor import all, cast, exp, log, ndtr, ndtri, sum, switch


class Uniform(Distribution):
    r"""Every number between two bounds alike.

    .. math:: f(x) = \frac{1}{b - a}, \qquad a \le x \le b
    """

    lower, upper = param(real, 0.0), param(real, 1.0)
    order = ("lower", "upper")

    def support(lower, upper):
        return between(lower, upper)

    ordered = requires(lambda lower, upper: lower < upper, "lower must be below upper", "exchange them")

    def logp(x, lower, upper):
        return 0.0 * x - log(upper - lower)

    def logcdf(x, lower, upper):
        return log((x - lower) / (upper - lower))

    def logccdf(x, lower, upper):
        return log((upper - x) / (upper - lower))

    def icdf(q, lower, upper):
        return lower + q * (upper - lower)

    def sample(key, shape, lower, upper):
        return lower + (upper - lower) * key.uniform(shape)

    def mean(lower, upper):
        return (lower + upper) / 2

    def variance(lower, upper):
        return (upper - lower) ** 2 / 12

    def entropy(lower, upper):
        return log(upper - lower)

    def of_normal_score(z, lower, upper):
        """From the nearer end."""
        negative = z < 0
        below, above = ndtr(switch(negative, z, -1.0)), ndtr(switch(negative, -1.0, -z))
        return switch(negative, lower + (upper - lower) * below, upper - (upper - lower) * above)

    def normal_score(x, lower, upper):
        below, above = (x - lower) / (upper - lower), (upper - x) / (upper - lower)
        return switch(below < above, ndtri(below), -ndtri(above))

    def law_of_product(along, lower, upper):
        known_to_be(lower, 0.0)
        known_to_be(upper, 1.0)
        return exp(-Gamma.dist(float(along.count), 1.0, shape=along.left))

    def logp_of_rows(rows, lower, upper):
        """The least and the largest of each cell must lie between its bounds."""
        x = rows.numbers(rows.values).astype(float)
        least, largest = np.full(rows.cells, np.inf), np.full(rows.cells, -np.inf)
        np.minimum.at(least, rows.cell, x)
        np.maximum.at(largest, rows.cell, x)
        density = -sum(rows.counts * log(upper - lower))
        inside = (lower <= cast(least, "floatX")) & (cast(largest, "floatX") <= upper)
        return switch(all(inside), density, -np.inf)
