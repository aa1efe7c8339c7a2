import math

import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import Domain, counts_vector, positive
from ppl.distributions.transforms.multivariate import ZeroSumTransform
from ppl.tensor import abs, all, as_tensor, expand_dims, log, mean, squeeze, sum, zeros
from ppl.tensor.tensor import is_constant, value_of


class ZeroSumNormal(Distribution):
    r"""Independent Normal(0, σ) variables, less their mean along each of the last axes.

    .. math:: \log f(x) = -\tfrac12 \sum_i (x_i/σ)^2 - \Big(\log σ + \tfrac12 \log 2π\Big) \prod_j (d_j - 1)

    with d_j the lengths of these axes: a density on the plane where the sums are zero.
    """

    sigma, support_shape = param(positive), param(counts_vector)
    scale_parameter = sigma
    in_pytensor = InPyTensor(
        "ZeroSumNormal",
        signature=lambda sigma, lengths: signature(len(lengths)),
        parameters=lambda sigma, lengths: (expand_dims(sigma, tuple(range(-len(lengths), 0))), lengths),
        symbolic=True,
    )

    def accept(sigma=1.0, n_zerosum_axes=None, support_shape=None, shape=None):
        axes = _number_of_axes(n_zerosum_axes)
        return {"sigma": _without_axes(sigma, axes), "support_shape": _lengths(axes, support_shape, shape)}

    def support(sigma, support_shape):
        return zero_sum(len(support_shape))

    def event_shape(sigma, support_shape):
        return tuple(value_of(support_shape) if is_constant(support_shape) else support_shape)

    def logp(x, sigma, support_shape):
        axes = tuple(range(-len(support_shape), 0))
        freedom = math.prod(n - 1 for n in x.shape[axes[0] :])
        return -0.5 * sum((x / expand_dims(sigma, axes)) ** 2, axis=axes) - (log(sigma) + 0.5 * LOG_2PI) * freedom

    def sample(key, shape, sigma, support_shape):
        axes = tuple(range(-len(support_shape), 0))
        x = expand_dims(sigma, axes) * key.normal(shape)
        for axis in axes:
            x = x - mean(x, axis=axis, keepdims=True)
        return x

    def mean(sigma, support_shape):
        return zeros(tuple(support_shape)) + 0.0 * expand_dims(sigma, tuple(range(-len(support_shape), 0)))

    def variance(sigma, support_shape):
        shrunk = math.prod(1 - 1 / n for n in support_shape)
        return zeros(tuple(support_shape)) + expand_dims(sigma**2 * shrunk, tuple(range(-len(support_shape), 0)))

    def residuals(x, sigma, support_shape):
        """As if x were any array: in a block of normal variables its deviations from means stand for it."""
        yield -x, expand_dims(sigma, tuple(range(-len(support_shape), 0)))


def signature(ndim):
    """The axes of the scale, of the lengths and of one value, in PyTensor's words."""
    return f"({','.join('1' * ndim)}),(s)->({','.join(f'd{i}' for i in range(ndim))})"


def zero_sum(ndim):
    """Arrays whose sums along each of their `ndim` axes are zero."""
    axes = tuple(range(-ndim, 0))

    def contains(x):
        inside = True
        for axis in axes:
            others = tuple(a for a in range(-ndim + 1, 0))
            near = abs(mean(x, axis=axis)) <= 1e-9
            inside = inside & (all(near, axis=others) if others else near)
        return inside

    return Domain(f"zero in sum along the last {ndim} axes", contains, ndim, transform=ZeroSumTransform(axes))


def _number_of_axes(n_zerosum_axes):
    if n_zerosum_axes is None:
        return 1
    if isinstance(n_zerosum_axes, bool) or not isinstance(n_zerosum_axes, int):
        raise TypeError(f"ZeroSumNormal: n_zerosum_axes must be an integer, got {n_zerosum_axes!r}")
    if n_zerosum_axes < 1:
        raise ValueError(f"ZeroSumNormal: n_zerosum_axes must be at least 1, got {n_zerosum_axes}; for none use Normal")
    return n_zerosum_axes


def _without_axes(sigma, axes):
    """One sigma for each value: PyMC's has axes of length one in place of those that sum to zero."""
    sigma = as_tensor(sigma)
    last = sigma.type.shape[-axes:] if sigma.ndim else ()
    if any(n != 1 for n in last):
        raise ValueError(
            f"ZeroSumNormal: sigma must have length one along the {axes} axes that sum to zero, got shape "
            f"{sigma.type.shape}. Write sigma[..., {', '.join(['None'] * axes)}] for one sigma for each value."
        )
    return squeeze(sigma, tuple(range(-len(last), 0))) if last else sigma


def _lengths(axes, support_shape, shape):
    if support_shape is not None:
        several = isinstance(support_shape, tuple | list | np.ndarray) or getattr(support_shape, "ndim", 0)
        given = as_tensor(support_shape if several else [support_shape])
        if given.type.shape[0] != axes:
            raise ValueError(f"ZeroSumNormal: {axes} axes sum to zero, support_shape has {given.type.shape[0]} entries")
        return given
    if shape is None:
        raise ValueError("ZeroSumNormal needs the lengths of the zero-sum axes: give dims, shape or support_shape")
    if len(shape) < axes:
        raise ValueError(f"ZeroSumNormal: {axes} axes sum to zero, but the shape {shape} has {len(shape)}")
    return as_tensor(list(shape[len(shape) - axes :]))
