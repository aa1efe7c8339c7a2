from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param, requires
from ppl.distributions.declaration.domains import integer, integers_between
from ppl.tensor import cast, ceil, floor, log, maximum
from ppl.tensor.tensor import Tensor, is_constant


class DiscreteUniform(Distribution):
    r"""Any of lower, lower + 1, ..., upper with the same probability.

    .. math:: f(x) = 1/(\mathrm{upper} - \mathrm{lower} + 1)
    """

    lower, upper = param(integer), param(integer)
    in_pytensor = InPyTensor("discrete_uniform")

    def accept(lower, upper):
        return {"lower": _whole(lower), "upper": _whole(upper)}

    def support(lower, upper):
        return integers_between(lower, upper)

    ordered = requires(lambda lower, upper: lower <= upper, "lower must not be above upper", "exchange them")

    def logp(x, lower, upper):
        return -log(upper - lower + 1)

    def logcdf(x, lower, upper):
        return log(x - lower + 1) - log(upper - lower + 1)

    def logccdf(x, lower, upper):
        return log(upper - x) - log(upper - lower + 1)

    def icdf(q, lower, upper):
        steps = upper - lower + 1
        return lower + cast(maximum(ceil(q * steps) - 1, 0), "int64")

    def sample(key, shape, lower, upper):
        return key.randint(lower, upper + 1, shape)

    def mean(lower, upper):
        return (lower + upper) / 2

    def variance(lower, upper):
        return ((upper - lower + 1) ** 2 - 1) / 12

    def mode(lower, upper):
        return lower

    def entropy(lower, upper):
        return log(upper - lower + 1)

    def support_point(lower, upper):
        return (lower + upper) // 2


def _whole(bound):
    """A bound that an expression gives, without its fraction, as in PyMC; one that is written down has to be whole."""
    return floor(bound) if isinstance(bound, Tensor) and bound.dtype[0] == "f" and not is_constant(bound) else bound
