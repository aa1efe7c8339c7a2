from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import Domain, real
from ppl.tensor import as_tensor, broadcast_to, cast, equal, zeros_like


class DiracDelta(Distribution):
    r"""The number c, always. It counts as discrete where c is an integer.

    .. math:: f(c) = 1
    """

    c = param(real)
    in_pytensor = InPyTensor(inputs="size *", symbolic=True)

    def support(c):
        c = as_tensor(c)
        discrete = c.dtype[0] in "biu"
        atoms = () if discrete else (c,)
        return Domain("the number c", lambda x: equal(x, c), discrete=discrete, lower=c, upper=c, atoms=atoms)

    def logp(x, c):
        return cast(zeros_like(x + c), "floatX")

    def logcdf(x, c):
        return cast(zeros_like(x + c), "floatX")

    def icdf(q, c):
        return c + zeros_like(cast(q, as_tensor(c).dtype))

    def sample(key, shape, c):
        return broadcast_to(c, shape)

    def mean(c):
        return c

    def variance(c):
        return zeros_like(c)

    def mode(c):
        return c

    def entropy(c):
        return cast(zeros_like(c), "floatX")

    def support_point(c):
        return c
