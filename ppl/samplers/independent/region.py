"""Where on the line a density has its mass, and edges of panels that suit it.

The log-density is looked at on both sides of the start, at distances that grow like sinh t, from a sixteenth to the
largest numbers there are. Every local maximum is then closed in upon until the log-density falls by less than one to
both sides, so that a peak a billion times narrower than the grid is found if its slopes reach a point of the grid. What
lies beyond the outermost cell that could hold a share ``NEGLIGIBLE`` of the mass is left out, and counted as error.
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ppl.samplers.runs.errors import UnresolvedError

Result = TypeVar("Result")
Search = Generator[np.ndarray, np.ndarray, Result]  # yields points to look at, is sent the log-densities there

NEGLIGIBLE = 1e-15
SHORT = 1e-12  # beside numbers of unit size
MOST_PEAKS = 32  # the highest are closed in upon
MOST_ROUNDS = 60
BETWEEN = 7  # parts that each side of a peak is cut into, each round
_STEPS = np.concatenate([np.arange(1, 14 * 16) / 16, np.arange(14, 40), np.arange(40, 691, 10)])
DISTANCES = np.sinh(_STEPS)


class Region(NamedTuple):
    """A stretch of the line that holds all mass but a share ``outside``, cut where panels may begin."""

    edges: np.ndarray
    outside: float


class _Seen(NamedTuple):
    """Points in order, and the log-density there; -inf where it is not a number, with ``unknown`` set."""

    x: np.ndarray
    f: np.ndarray
    unknown: np.ndarray

    def with_more(self, points: np.ndarray) -> "Search[_Seen]":
        points = np.setdiff1d(points[np.isfinite(points)], self.x)
        found = yield points
        unknown = np.isnan(found) | (found == np.inf)
        x = np.concatenate([self.x, points])
        order = np.argsort(x)
        f = np.concatenate([self.f, np.where(unknown, -np.inf, found)])
        return _Seen(x[order], f[order], np.concatenate([self.unknown, unknown])[order])

    def peaks(self) -> np.ndarray:
        """The inner points that are lower than neither neighbor, the highest first."""
        inner = np.isfinite(self.f[1:-1]) & (self.f[1:-1] > self.f[:-2]) & (self.f[1:-1] >= self.f[2:])
        at = 1 + np.flatnonzero(inner)
        return at[np.argsort(-self.f[at], kind="stable")][:MOST_PEAKS]

    def alone(self) -> np.ndarray:
        """Points that are far higher than the numbers next to them on both sides; and those that stand amid zero, in so
        short a stretch that it may be one point of another coordinate."""
        x, f = self.x, self.f
        near = (np.diff(x) <= 4 * np.spacing(np.abs(x[1:]))) & ~self.unknown[:-1] & ~self.unknown[1:]
        high = near[:-1] & near[1:] & (f[1:-1] > f[:-2] + 1) & (f[1:-1] > f[2:] + 1)
        zero = np.flatnonzero(np.isneginf(f) & ~self.unknown)
        short = (np.diff(zero) > 1) & (np.diff(x[zero]) <= SHORT * np.maximum(1.0, np.abs(x[zero[1:]])))
        return np.concatenate([x[1:-1][high], x[zero[:-1][short] + 1]])

    def log_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most that the logarithm of each cell's mass is, if the density is monotone there."""
        with np.errstate(over="ignore"):
            width = np.log(np.diff(self.x / 4)) + np.log(4.0)  # two ends may lie further apart than a number can tell
        return width + np.minimum(self.f[:-1], self.f[1:]), width + np.maximum(self.f[:-1], self.f[1:])


def region(starts: Sequence[float], reach: float = np.inf) -> Search[Region]:
    """The region of mass of a density around one or more ``starts``, not further from all of them than ``reach``."""
    nothing = np.zeros(0)
    grid = np.concatenate([start + np.concatenate([-DISTANCES, [0.0], DISTANCES]) for start in starts])
    seen = yield from _Seen(nothing, nothing, nothing.astype(bool)).with_more(grid)
    if not np.any(np.isfinite(seen.f)):
        raise UnresolvedError(f"the log-density is finite at none of {len(seen.x)} points")
    seen = yield from _closed_in(seen)
    alone = seen.alone()
    if len(alone):
        raise UnresolvedError(
            f"the density at {alone[0]:.6g} is not what it is next to it: it is zero, or less, but for single points"
        )
    least, most = seen.log_cells()
    mass = np.logaddexp.reduce(least)
    if not np.isfinite(mass):
        mass = np.max(most)
    inside = np.flatnonzero(most - mass > np.log(NEGLIGIBLE))
    first, last = inside[0], inside[-1] + 1
    if first == 0 or last == len(seen.x) - 1:
        side, end = ("left", seen.x[0]) if first == 0 else ("right", seen.x[-1])
        raise UnresolvedError(f"the {side} tail has no finite mass: the density has not fallen off at {end:.1e}")
    for edge, inner in ((first, first + 1), (last, last - 1)):
        if seen.unknown[edge] and seen.f[inner] > np.max(seen.f) - 1:
            raise UnresolvedError(
                f"the log-density is greatest at {seen.x[inner]:.6g}, next to where it is nan or inf: it may rise "
                "there without bound"
            )
    if np.min(np.abs(seen.x[np.isfinite(seen.f), None] - np.array(starts))) > reach:
        raise UnresolvedError(f"the density is zero at the start, {starts[0]:.6g}, and as far as {reach:g} from it")
    outside = float(np.exp(np.logaddexp.reduce(np.concatenate([most[:first], most[last:]])) - mass))
    return Region(_edges(seen, first, last), outside)


def _closed_in(seen: _Seen) -> Search[_Seen]:
    """More points about the peaks, until none is sharp."""
    parts = np.arange(1, BETWEEN) / BETWEEN
    for _ in range(MOST_ROUNDS):
        at = seen.peaks()
        sides = np.stack([at - 1, at + 1])
        gaps = np.abs(seen.x[sides] - seen.x[at])
        sharp = (seen.f[at] - seen.f[sides] > 1) & (gaps > 4 * np.spacing(np.abs(seen.x[at])))
        if not sharp.any():
            break
        begin, end = seen.x[np.tile(at, (2, 1))[sharp]], seen.x[sides[sharp]]
        seen = yield from seen.with_more((begin[:, None] + (end - begin)[:, None] * parts).ravel())
    return seen


def _edges(seen: _Seen, first: int, last: int) -> np.ndarray:
    """Edges at each peak, and on both sides at distances that double, up to halfway to the next peak."""
    low, high = seen.x[first], seen.x[last]
    at = np.sort(seen.peaks())
    at = at[(at >= first) & (at <= last)]
    halfway = (seen.x[at[:-1]] + seen.x[at[1:]]) / 2
    bounds = zip([low, *halfway], [*halfway, high], strict=True) if len(at) else ()
    edges = [np.array([low, high]), halfway]
    for i, (left, right) in zip(at, bounds, strict=False):
        fallen = seen.f < seen.f[i] - 1
        x = seen.x[i]
        below, above = seen.x[:i][fallen[:i]], seen.x[i + 1 :][fallen[i + 1 :]]
        edges += [np.array([x]), x - _doubling(x - below[-1:], x - left), x + _doubling(above[:1] - x, right - x)]
    found = np.unique(np.concatenate(edges))
    found = found[(found >= low) & (found <= high)]
    wide = np.diff(found) > 4 * np.spacing(np.abs(found[1:]))
    return np.concatenate([found[:1], found[1:][wide]])


def _doubling(width: np.ndarray, end: float) -> np.ndarray:
    """The given width, twice, four times, ... while that is less than ``end``."""
    if not len(width) or not 0 < width[0] < end:
        return np.zeros(0)
    return width[0] * 2.0 ** np.arange(np.ceil(np.log2(end / width[0])))
