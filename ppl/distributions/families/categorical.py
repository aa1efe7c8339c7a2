from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import integers_between, simplex
from ppl.distributions.declaration.parametrized import FORMS
from ppl.distributions.formulas.probability import log_of, rescaled
from ppl.tensor import arange, argmax, cast, cumsum, expand_dims, log, minimum, softmax, sum, take_along_axis, xlogy
from ppl.tensor.arrays.shaping import atleast
from ppl.tensor.tensor import as_tensor


class Categorical(Distribution):
    r"""One of 0, 1, ..., K - 1, with the probabilities in the last axis of p.

    .. math:: f(x) = p_x
    """

    p = param(simplex)
    from_logit = alternative(lambda logit_p: {"p": softmax(logit_p, axis=-1)})
    in_pytensor = InPyTensor(signature="(p)->()")

    @classmethod
    def resolve(cls, args, kwargs):
        (p,) = super().resolve(args, kwargs)
        return (rescaled(p, "Categorical"),)

    def support(p):
        return integers_between(0, as_tensor(p).shape[-1] - 1)

    def logp(x, p):
        return entry(log_of(p), x) if p.op in FORMS else log(entry(p, x))

    def logcdf(x, p):
        return log(minimum(entry(cumsum(p, axis=-1), x), 1.0))

    def logccdf(x, p):
        from_above = cumsum(p[..., ::-1], axis=-1)[..., ::-1]
        return log(entry(from_above, minimum(x + 1, as_tensor(p).shape[-1] - 1)))

    def sample(key, shape, p):
        return cast(sum(expand_dims(key.uniform(shape), -1) >= cumsum(p, axis=-1)[..., :-1], axis=-1), "int64")

    def mean(p):
        return sum(p * arange(as_tensor(p).shape[-1]), axis=-1)

    def variance(p):
        k = arange(as_tensor(p).shape[-1])
        return sum(p * (k - sum(p * k, axis=-1, keepdims=True)) ** 2, axis=-1)

    def mode(p):
        return argmax(p, axis=-1)

    def entropy(p):
        return -sum(xlogy(p, p), axis=-1)

    def support_point(p):
        return argmax(p, axis=-1)

    def categories(p):
        return p.type.shape[-1]


def entry(table, x):
    """The entry x of the last axis of a table, for each value of x."""
    rank = max(table.ndim, x.ndim + 1)
    table, x = atleast(rank, table), atleast(rank, expand_dims(cast(x, "int64"), -1))
    return take_along_axis(table, x, axis=-1)[..., 0]
