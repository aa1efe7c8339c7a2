from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.domains import real
from ppl.tensor import as_tensor, zeros_like


class Flat(Distribution):
    r"""Every number alike: the improper density :math:`f(x) = 1`. It has no draws."""

    support = real
    improper = True

    def logp(x):
        return zeros_like(x)

    def support_point():
        return as_tensor(0.0)
