from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import positive, real_vector
from ppl.distributions.families.car import precision
from ppl.distributions.formulas.adjacency import adjacency, borders, components, squared_differences
from ppl.tensor import cholesky, expand_dims, log, solve_triangular, sum, zeros
from ppl.tensor.tensor import is_constant


class ICAR(Distribution):
    r"""A normal vector, flat but for differences of neighbors ~ Normal(0, σ) and a sum ~ Normal(0, ns).

    .. math:: \log f(x) = -\frac1{2σ^2} \sum_{i \sim j} (x_i - x_j)^2 - \frac12 \Big(\frac{\sum_i x_i}{ns}\Big)^2
              - \log ns - \tfrac12 \log 2π

    with s = `zero_sum_stdev`, not normalized in x, as PyMC has it.
    """

    W, sigma, zero_sum_stdev = param(borders), param(positive, 1.0), param(positive, 0.001)
    support = real_vector
    in_pytensor = InPyTensor(signature="(m,m),(),()->(m)")

    def accept(W, sigma=1.0, zero_sum_stdev=0.001):
        return {"W": adjacency("ICAR", W, only_ones=True), "sigma": sigma, "zero_sum_stdev": zero_sum_stdev}

    def event_shape(W, sigma, zero_sum_stdev):
        return (W.shape[0],)

    def logp(x, W, sigma, zero_sum_stdev):
        spread = zero_sum_stdev * x.shape[-1]
        total = sum(x, axis=-1) / spread
        return -0.5 * squared_differences(W, x) / sigma**2 - 0.5 * total**2 - log(spread) - 0.5 * LOG_2PI

    def sample(key, shape, W, sigma, zero_sum_stdev):
        if is_constant(W) and components(W) > 1:
            raise ValueError(
                f"ICAR: no draws, for the areas in W fall into {components(W)} parts without a common border, and "
                "the levels of the parts have no law. Use one ICAR for each part."
            )
        spread = expand_dims(zero_sum_stdev * shape[-1], (-1, -2))
        root = cholesky(precision(W, 1.0) / expand_dims(sigma, (-1, -2)) ** 2 + 1 / spread**2)
        return solve_triangular(root, key.normal(shape), trans=1, lower=True, b_ndim=1)

    def support_point(W, sigma, zero_sum_stdev):
        return zeros((W.shape[0],))
