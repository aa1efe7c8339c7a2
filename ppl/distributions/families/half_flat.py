from ppl.distributions.declaration.distribution import Distribution, InPyTensor
from ppl.distributions.declaration.domains import positive
from ppl.tensor import as_tensor, zeros_like


class HalfFlat(Distribution):
    r"""Every positive number alike: the improper density :math:`f(x) = 1`, x > 0. It has no draws."""

    support = positive
    improper = True
    in_pytensor = InPyTensor("half_flat")

    def logp(x):
        return zeros_like(x)

    def support_point():
        return as_tensor(1.0)
