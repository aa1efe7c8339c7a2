import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param, requires
from ppl.distributions.declaration.domains import between, nonnegative_vector, ordered
from ppl.tensor import argmax, as_tensor, clip, concatenate, cumsum, diff, log, searchsorted, sqrt, sum, zeros_like


class Interpolated(Distribution):
    r"""The density drawn by straight lines through points (xᵢ, yᵢ), divided by its area.

    .. math:: f(x) = (y_i + s_i (x - x_i))/A, \qquad s_i = \frac{y_{i+1} - y_i}{x_{i+1} - x_i}
    """

    x_points, pdf_points = param(ordered), param(nonnegative_vector)
    risen = requires(
        lambda pdf_points: np.any(pdf_points > 0, axis=-1), "pdf_points must not all be 0", "give some point a height"
    )
    in_pytensor = InPyTensor(
        signature="(x),(x),(x)->()",
        parameters=lambda x, y: _in_pytensor(x, y),
        given=lambda x_points, pdf_points, cdf_points: (x_points, pdf_points),
    )

    def accept(x_points, pdf_points):
        points, heights = as_tensor(x_points).type.shape, as_tensor(pdf_points).type.shape
        lengths = {n for n in (*points, *heights) if n is not None}
        if (len(points), len(heights)) != (1, 1) or len(lengths) > 1 or lengths == {1}:
            raise ValueError(
                f"Interpolated: x_points ({ordered}) and pdf_points ({nonnegative_vector}) must be vectors of one "
                f"length, 2 or more, got shapes {points} and {heights}. Give a height for each point."
            )
        return {"x_points": x_points, "pdf_points": pdf_points}

    def support(x_points, pdf_points):
        return between(x_points[..., 0], x_points[..., -1])

    def logp(x, x_points, pdf_points):
        i = _segment(x, x_points)
        slope = diff(pdf_points) / diff(x_points)
        height = pdf_points[i] + slope[i] * (x - x_points[i])
        return log(height) - log(_areas(x_points, pdf_points)[-1])

    def logcdf(x, x_points, pdf_points):
        i = _segment(x, x_points)
        slope, areas, step = diff(pdf_points) / diff(x_points), _areas(x_points, pdf_points), x - x_points[i]
        return log(areas[i] + pdf_points[i] * step + 0.5 * slope[i] * step**2) - log(areas[-1])

    def icdf(q, x_points, pdf_points):
        areas, slope = _areas(x_points, pdf_points), diff(pdf_points) / diff(x_points)
        i = _segment(q * areas[-1], areas)
        rest, height = q * areas[-1] - areas[i], pdf_points[i]
        root = sqrt(clip(height**2 + 2 * slope[i] * rest, 0.0, None))
        return x_points[i] + 2 * rest / clip(height + root, 1e-300, None)

    def sample(key, shape, x_points, pdf_points):
        return Interpolated.stated_icdf(key.uniform(shape), x_points, pdf_points)

    def mean(x_points, pdf_points):
        return _moment(lambda x: x, x_points, pdf_points)

    def mode(x_points, pdf_points):
        return x_points[argmax(pdf_points, axis=-1)]

    def variance(x_points, pdf_points):
        center = _moment(lambda x: x, x_points, pdf_points)
        return _moment(lambda x: (x - center) ** 2, x_points, pdf_points)


def _segment(x, points):
    """The number of the segment that holds x."""
    return searchsorted(points[1:-1], x, side="right")


def _areas(x, y):
    """The area to the left of each point."""
    return concatenate([zeros_like(x[:1]), cumsum(diff(x) * (y[1:] + y[:-1]) / 2)])


def _moment(g, x, y):
    """The mean of g(X) for a polynomial g of degree two, by Simpson's rule, which is exact for cubics."""
    middle_x, middle_y = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    parts = g(x[:-1]) * y[:-1] + 4 * g(middle_x) * middle_y + g(x[1:]) * y[1:]
    return sum(diff(x) / 6 * parts) / _areas(x, y)[-1]


def _in_pytensor(x_points, pdf_points):
    """The points, the density there, and the distribution function there."""
    areas = _areas(x_points, pdf_points)
    return x_points, pdf_points / areas[..., -1:], areas / areas[..., -1:]
