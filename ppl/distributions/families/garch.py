from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import counting, nonnegative, positive, real_vector
from ppl.distributions.declaration.sizes import length, steps_from
from ppl.distributions.families.normal import Normal
from ppl.tensor import expand_dims, linear_recurrence, log, sqrt, sum, zeros


class GARCH11(Distribution):
    r"""y_t ~ Normal(0, σ_t) with σ_t² = ω + α₁y_{t-1}² + β₁σ_{t-1}², from σ₀ = initial_vol on.

    .. math:: \log f(y) = -\tfrac12 \sum_t \big[y_t^2/σ_t^2 + \log σ_t^2 + \log 2π\big]
    """

    omega, alpha_1, beta_1 = param(positive), param(nonnegative), param(nonnegative)
    initial_vol, steps = param(nonnegative), param(counting)
    support = real_vector
    in_pytensor = InPyTensor(
        None,
        signature="(),(),(),(),(),(s)->(t)",
        parameters=lambda *given: (*given[:4], Normal.dist(0.0, given[3]), given[4]),
        inputs="* rng",
        symbolic=True,
    )

    def accept(omega, alpha_1, beta_1, initial_vol, *, steps=None, shape=None):
        steps = steps_from("GARCH11", steps, shape, offset=1)
        return {"omega": omega, "alpha_1": alpha_1, "beta_1": beta_1, "initial_vol": initial_vol, "steps": steps}

    def event_shape(omega, alpha_1, beta_1, initial_vol, steps):
        return (length(steps) + 1,)

    def logp(y, omega, alpha_1, beta_1, initial_vol, steps):
        inputs = expand_dims(omega, -1) + expand_dims(alpha_1, -1) * y[..., :-1] ** 2
        variances = linear_recurrence(expand_dims(initial_vol**2, -1), expand_dims(beta_1, (-1, -2)), inputs)
        return -0.5 * sum(y**2 / variances + log(variances) + LOG_2PI, axis=-1)

    def sample(key, shape, omega, alpha_1, beta_1, initial_vol, steps):
        z = key.normal(shape)
        weights = expand_dims(alpha_1, -1) * z[..., :-1] ** 2 + expand_dims(beta_1, -1)
        inputs = expand_dims(omega, -1) + zeros((shape[-1] - 1,))
        return z * sqrt(linear_recurrence(expand_dims(initial_vol**2, -1), expand_dims(weights, -1), inputs))

    def mean(omega, alpha_1, beta_1, initial_vol, steps):
        return zeros((length(steps) + 1,))

    def support_point(omega, alpha_1, beta_1, initial_vol, steps):
        return zeros((length(steps) + 1,))
