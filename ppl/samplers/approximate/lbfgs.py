"""L-BFGS on the host, in NumPy, that remembers its way: the points and gradients that Pathfinder fits normals to.

SciPy's has no record of gradients, and importing it costs more than most minimizations here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
ARMIJO, WOLFE = 1e-4, 0.9  # Nocedal & Wright (2006), conditions (3.6)
NOISE = 1e-14  # of a value, by rounding


class Found(NamedTuple):
    """Where a search ended."""

    point: np.ndarray
    value: float
    gradient: np.ndarray
    converged: bool
    why: str
    points: np.ndarray  # (steps + 1, dim): the way
    gradients: np.ndarray
    values: np.ndarray
    looks: int  # how often the objective was looked at


class _Point(NamedTuple):
    length: float
    value: float
    slope: float
    at: np.ndarray
    gradient: np.ndarray


def minimize(
    objective: Objective,
    start: np.ndarray,
    memory: int = 10,
    most: int = 1000,
    gradient_tolerance: float = 1e-8,
    value_tolerance: float = 1e-12,
    longest: float = np.inf,
    each: Callable[[np.ndarray, float], None] | None = None,
) -> Found:
    """The lowest point near a start. A first step has length one or less; no step is longer than `longest`.

    `each` is called after every step with the point and the value; what it raises ends the search and is passed on.
    """
    x = np.array(start, np.float64)
    value, gradient = objective(x)
    points, gradients, values, looks = [x], [gradient], [value], 1
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=memory)
    converged, why = False, f"no end after {most} steps"
    for _ in range(most):
        if np.max(np.abs(gradient), initial=0.0) <= max(gradient_tolerance, NOISE * abs(value)):
            converged, why = True, "the gradient vanishes"
            break
        direction = -_two_loops(gradient, pairs)
        slope = float(direction @ gradient)
        if not slope < 0:
            pairs.clear()
            direction = -gradient
            slope = float(direction @ gradient)
        size = float(np.linalg.norm(direction))
        length = 1.0 if pairs else min(1.0, 1.0 / size)
        length = min(length, longest / size)
        found, seen = _line_search(objective, x, value, slope, direction, length, longest / size)
        looks += seen
        if found is None:
            if pairs:
                pairs.clear()
                continue
            small = np.max(np.abs(gradient)) <= 1e-5 * max(1.0, abs(value))
            converged, why = bool(small), "no lower point is found along the gradient"
            break
        step, change = found.at - x, found.gradient - gradient
        if step @ change > 1e-12 * (change @ change):
            pairs.append((step, change))
        fall = value - found.value
        x, value, gradient = found.at, found.value, found.gradient
        points.append(x)
        gradients.append(gradient)
        values.append(value)
        if each is not None:
            each(x, value)
        if 0 <= fall <= value_tolerance * max(1.0, abs(value)):
            converged, why = True, "the value falls no more"
            break
    way = np.array(points), np.array(gradients), np.array(values)
    return Found(x, value, gradient, converged, why, *way, looks)


def _two_loops(gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The inverse Hessian of the pairs times the gradient (Nocedal & Wright, algorithm 7.4)."""
    q, weights = gradient.copy(), []
    for s, y in reversed(pairs):
        weights.append((s @ q) / (s @ y))
        q -= weights[-1] * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        q += s * (weight - (y @ q) / (s @ y))
    return q


def _line_search(
    objective: Objective, x: np.ndarray, value: float, slope: float, direction: np.ndarray, length: float, most: float
) -> tuple[_Point | None, int]:
    """A step that falls enough and whose slope is flatter (both Wolfe conditions), by bracketing and bisection with
    cubic steps; where only the first can be had, a step of that kind; None where there is none."""
    low, high = _Point(0.0, value, slope, x, np.zeros_like(x)), None
    noise = NOISE * max(1.0, abs(value))
    best: _Point | None = None
    for look in range(1, 31):
        at = x + length * direction
        new, gradient = objective(at)
        if not np.isfinite(new) or not np.all(np.isfinite(gradient)):
            high, length = _Point(length, np.inf, np.nan, at, gradient), 0.5 * (low.length + length)
            continue
        here = _Point(length, new, float(direction @ gradient), at, gradient)
        if new > value + ARMIJO * length * slope + noise or (best is not None and new >= low.value + noise):
            high = here
        else:
            best = here if best is None or new <= best.value else best
            if abs(here.slope) <= -WOLFE * slope or (here.slope < 0 and length >= most):
                return here, look
            if here.slope > 0:
                high = here
            else:
                low = here
        if high is None:
            length = min(2.5 * length, most)
        else:
            length = _between(low, high)
            if abs(high.length - low.length) <= 1e-13 * max(high.length, 1e-300):
                break
    return best, 30 if best is None else look


def _between(low: _Point, high: _Point) -> float:
    """The lowest point of the cubic through two points, kept away from both."""
    width = high.length - low.length
    if not np.isfinite(high.value):
        return low.length + 0.25 * width
    with np.errstate(all="ignore"):
        d1 = low.slope + high.slope - 3 * (low.value - high.value) / (low.length - high.length)
        d2 = np.sign(width) * np.sqrt(d1 * d1 - low.slope * high.slope)
        length = high.length - width * (high.slope + d2 - d1) / (high.slope - low.slope + 2 * d2)
    if not np.isfinite(length):
        length = low.length + 0.5 * width
    least, most = sorted((low.length + 0.1 * width, high.length - 0.1 * width))
    return float(min(max(length, least), most))
