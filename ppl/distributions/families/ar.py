import warnings

import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import a_distribution, natural, positive, real, real_vector
from ppl.distributions.declaration.inner import as_law, log_density_of, sample_of, support_point_of
from ppl.distributions.declaration.normal_errors import NormalSteps, NotNormal
from ppl.distributions.declaration.sizes import length, steps_from
from ppl.distributions.families.normal import Normal
from ppl.tensor import (
    as_tensor,
    broadcast_to,
    concatenate,
    expand_dims,
    linear_recurrence,
    log,
    reshape,
    rsqrt,
    specify_shape,
    sum,
)
from ppl.tensor.tensor import is_constant, value_of


class AR(Distribution):
    r"""An autoregression of order p: x_t = c + ρ₁x_{t-1} + ... + ρ_px_{t-p} + ε_t with ε_t ~ Normal(0, σ).

    .. math:: \log f(x) = \log p_0(x_0, ..., x_{p-1}) + \sum_t \log N(x_t; c + \sum_i ρ_i x_{t-i}, σ)
    """

    rho, constant, sigma = param(real_vector), param(real, 0.0), param(positive, 1.0)
    init_dist, steps = param(a_distribution), param(natural)
    in_pytensor = InPyTensor(
        None,
        kind="AutoRegressiveRV",
        signature="(o),(),(o),(s)->(t)",
        parameters=lambda *given: _in_pytensor(*given),
        inputs="* rng",
        symbolic=True,
    )

    def accept(rho, sigma=None, tau=None, *, init_dist=None, steps=None, constant=False, ar_order=None, shape=None):
        if sigma is not None and tau is not None:
            raise ValueError("AR: give sigma or tau, not both")
        sigma = rsqrt(as_tensor(tau)) if tau is not None else 1.0 if sigma is None else sigma
        level, rho = coefficients(rho, constant, ar_order)
        return {
            "rho": rho,
            "constant": level,
            "sigma": sigma,
            "init_dist": first_values(init_dist, rho.type.shape[-1]),
            "steps": steps_from("AR", steps, shape, offset=rho.type.shape[-1]),
        }

    def support(rho, constant, sigma, init_dist, steps):
        return real_vector

    def event_shape(rho, constant, sigma, init_dist, steps):
        return (length(steps) + rho.shape[-1],)

    def logp(x, rho, constant, sigma, init_dist, steps):
        p = rho.shape[-1]
        residual = x[..., p:] - expand_dims(constant, -1)
        for i in range(p):
            residual = residual - rho[..., i, None] * x[..., p - 1 - i : -1 - i]
        scale = (log(sigma) + 0.5 * LOG_2PI) * residual.shape[-1]
        noise = -0.5 * sum((residual / expand_dims(sigma, -1)) ** 2, axis=-1) - scale
        return log_density_of(init_dist, x[..., :p], axes=1) + noise

    def sample(key, shape, rho, constant, sigma, init_dist, steps):
        p, batch = rho.shape[-1], tuple(shape)[:-1]
        start = sample_of(key.fold_in(0), (*batch, p), init_dist)
        noise = expand_dims(sigma, -1) * key.fold_in(1).normal((*batch, shape[-1] - p))
        return linear_recurrence(start, expand_dims(rho, -2), expand_dims(constant, -1) + noise)

    def support_point(rho, constant, sigma, init_dist, steps):
        point = as_tensor(support_point_of(init_dist))
        last = point[..., -1:] if point.ndim else expand_dims(point, 0)
        return broadcast_to(last, (*last.shape[:-1], length(steps) + rho.shape[-1]))

    @classmethod
    def event_axes(cls, parameters):
        return [1, 0, 0, min(parameters[3].ndim, 1), 0]

    def residuals(x, rho, constant, sigma, init_dist, steps):
        order, length = rho.type.shape[-1], x.type.shape[-1]
        if x.ndim != 1 or rho.ndim != 1:
            raise NotNormal("it is more than one autoregression")
        if init_dist.family is not Normal:
            raise NotNormal(f"its first values are {init_dist.family.__name__}, not Normal")
        yield from Normal.residuals(x[:order], *init_dist.parameters)
        mean = constant
        for i in range(order):
            mean = mean + rho[i] * x[order - 1 - i : length - 1 - i]
        yield mean - x[order:], sigma

    def normal_steps(rho, constant, sigma, init_dist, steps):
        if rho.ndim != 1 or rho.type.shape[0] != 1 or constant.ndim or sigma.ndim or init_dist.ndim > 1:
            raise NotNormal("it is not one autoregression of order 1")
        if init_dist.family is not Normal:
            raise NotNormal(f"its first value is {init_dist.family.__name__}, not Normal")
        location, first = (reshape(p, (1,)) for p in init_dist.parameters)
        mean = linear_recurrence(location, reshape(rho, (1, 1)), broadcast_to(constant, (length(steps),)))
        return NormalSteps(mean, first[0], rho[0], sigma)


def _in_pytensor(rho, constant, sigma, init_dist, steps):
    """The constant term is the first of the coefficients, where there is one."""
    none = is_constant(constant) and not np.any(value_of(constant))
    return rho if none else concatenate([expand_dims(constant, -1), rho], axis=-1), sigma, init_dist, steps


def coefficients(rho, constant, ar_order):
    """The constant term and the coefficients of the lags."""
    rho = as_tensor(rho)
    rho = rho if rho.ndim else expand_dims(rho, 0)
    known, expected = rho.type.shape[-1], None if ar_order is None else ar_order + bool(constant)
    if known is None and expected is None:
        raise ValueError("AR: the order is the length of rho, which is not known here; give ar_order")
    if known is None:
        rho = specify_shape(rho, (*rho.type.shape[:-1], expected))
    elif expected is not None and known != expected:
        raise ValueError(f"AR: rho has {known} entries, ar_order={ar_order} with constant={constant} needs {expected}")
    if rho.type.shape[-1] - bool(constant) < 1:
        raise ValueError("AR: the order must be at least 1; rho holds no coefficient of a lag")
    return (rho[..., 0], rho[..., 1:]) if constant else (0.0, rho)


def first_values(init_dist, order):
    """The law of the first values, a wide one with a warning where none is given."""
    if init_dist is None:
        warnings.warn("AR: no init_dist is given; it becomes Normal.dist(0, 100). Give one to choose.", stacklevel=5)
        return Normal.dist(0.0, 100.0)
    law = as_law(init_dist, "AR: init_dist")
    if law.event_ndim > 1:
        raise ValueError(f"AR: init_dist must be of scalars or vectors, one value has {law.event_ndim} axes")
    if law.ndim and law.type.shape[-1] not in (None, 1, order):
        raise ValueError(f"AR: init_dist has {law.type.shape[-1]} values, but the order is {order}")
    return law
