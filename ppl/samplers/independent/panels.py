"""A density on the line as polynomials on panels: its mass, its distribution function, its quantiles.

A panel holds the density at Chebyshev points, so the polynomial through them, its integral and its slope are sums of
Chebyshev polynomials. A panel is compared with its two halves: where the distribution functions differ by too much, the
halves are halved in turn; else the halves are kept, and the difference is counted as error although they are better
than their parent. Jumps, kinks and integrable poles end in panels too small to matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ppl.samplers.independent.region import Region, Search
from ppl.samplers.runs.errors import UnresolvedError

NODES = 16
GOLDEN = (5**0.5 - 1) / 2  # its multiples fall evenly and on no grid
TOLERANCE = 1e-11  # of a panel, as a share of the mass
ACCEPTED = 1e-7  # of all panels together: no test of fewer than 1e13 draws sees it
MOST_EVALUATIONS = 1 << 15
MOST_STEPS = 100
BLOCK = 1 << 16  # quantiles that are computed at a time
CELLS = 32  # of a panel, to begin to look for a quantile in
CLOSE = 1e-8  # a step of Newton's method so small leaves an error of its square

_Z = np.cos(np.pi * (2 * np.arange(NODES)[::-1] + 1) / (2 * NODES))
_FIT = np.linalg.inv(chebyshev.chebvander(_Z, NODES - 1)).T  # values at the nodes -> coefficients
_INTEGRAL = chebyshev.chebint(np.eye(NODES), axis=1, lbnd=-1)  # coefficients -> those of the integral from -1
_CHECKED = np.append(_Z, 1.0)
_AT = _FIT @ _INTEGRAL @ chebyshev.chebvander(_CHECKED, NODES).T  # values -> integrals up to the points checked
_AT_LEFT = _FIT @ _INTEGRAL @ chebyshev.chebvander((_CHECKED - 1) / 2, NODES).T
_AT_RIGHT = _FIT @ _INTEGRAL @ chebyshev.chebvander((_CHECKED + 1) / 2, NODES).T
_EDGES = np.linspace(-1, 1, CELLS + 1)  # of cells
_TO_EDGES = chebyshev.chebvander(_EDGES[:-1], NODES).T  # coefficients of the integral -> its values at these


class _Cut(NamedTuple):
    """Panels by their ends, and the log-density at their nodes."""

    ends: np.ndarray  # (panels, 2)
    values: np.ndarray  # (panels, nodes)

    @property
    def half(self) -> np.ndarray:
        return (self.ends[:, 1] - self.ends[:, 0])[:, None] / 2


class Panels(NamedTuple):
    """A density, divided by exp(``reference``), and how well it is known."""

    middle: np.ndarray
    half: np.ndarray
    density: np.ndarray  # coefficients, (panels, nodes)
    integral: np.ndarray  # coefficients, (panels, nodes + 1)
    up_to: np.ndarray  # the mass left of each panel, and at last the whole mass
    cells: np.ndarray  # the same of the cells of all panels
    reference: float
    error: float  # of the distribution function, at most
    evaluations: int

    @property
    def log_mass(self) -> float:
        """The logarithm of the integral of the density."""
        return float(self.reference + np.log(self.up_to[-1]))

    def between(self, count: int) -> np.ndarray:
        """So many points of each panel, of which its polynomial knows nothing: they fall on no grid."""
        z = 2 * np.mod(np.arange(1, 1 + count * len(self.middle)) * GOLDEN, 1.0).reshape(-1, count) - 1
        return self.middle[:, None] + self.half[:, None] * z

    def off(self, points: np.ndarray, log_density: np.ndarray) -> np.ndarray:
        """What share of the mass is lost or added, as far as points of each panel tell."""
        z = (points - self.middle[:, None]) / self.half[:, None]
        height = chebyshev.chebval(z.T, self.density.T[:, None], tensor=False).T
        with np.errstate(over="ignore"):
            wrong = np.abs(np.exp(log_density - self.reference) - height)
        return wrong * (2 * self.half / (self.up_to[-1] * points.shape[1]))[:, None]

    def quantiles(self, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the distribution function has these values, and the log-density there."""
        parts = [self._quantiles(probabilities[i : i + BLOCK]) for i in range(0, len(probabilities), BLOCK)]
        return tuple(map(np.concatenate, zip(*parts, strict=True))) if parts else (np.zeros(0), np.zeros(0))  # type: ignore[return-value]

    def _quantiles(self, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = probabilities * self.up_to[-1]
        cell = np.clip(np.searchsorted(self.cells, wanted, side="right") - 1, 0, len(self.cells) - 2)
        k, part = np.divmod(cell, CELLS)
        share = (wanted - self.cells[cell]) / np.maximum(np.diff(self.cells)[cell], np.finfo(float).tiny)
        density = self.density[k].T.copy()
        z = _solved(self.integral[k].T.copy(), density, (wanted - self.up_to[k]) / self.half[k], part, share)
        height = chebyshev.chebval(z, density, tensor=False)
        log_density = self.reference + np.log(np.maximum(height, np.finfo(float).tiny))
        return self.middle[k] + self.half[k] * z, log_density


def _solved(
    integral: np.ndarray, density: np.ndarray, wanted: np.ndarray, cell: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """Where each integral has the value wanted, about that share into a cell of its panel: Newton's method, halving the
    cell where a step would leave it."""
    low, high = _EDGES[cell], _EDGES[cell + 1]
    solution = np.zeros(wanted.shape)
    moving = np.arange(len(wanted))
    z = low + np.clip(share, 0, 1) * (high - low)
    for _ in range(MOST_STEPS):
        over = chebyshev.chebval(z, integral, tensor=False) - wanted
        low, high = np.where(over <= 0, z, low), np.where(over >= 0, z, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = z - over / chebyshev.chebval(z, density, tensor=False)
        inside = (newton >= low) & (newton <= high)
        step = np.where(inside, newton, (low + high) / 2)
        solution[moving] = step
        on = np.abs(step - z) > np.where(inside, CLOSE, 1e-14)
        if not on.any():
            break
        moving, z, low, high, wanted = moving[on], step[on], low[on], high[on], wanted[on]
        integral, density = integral[:, on], density[:, on]
    return solution


def panels(where: Region) -> Search[Panels]:
    """A density on the given region, followed well or refused."""
    if len(where.edges) < 2:
        raise UnresolvedError("all its mass is in one point as far as numbers tell: it may rise without bound there")
    begun = yield from _cut(np.stack([where.edges[:-1], where.edges[1:]], axis=1))
    evaluations, error = begun.values.size, 0.0
    kept: list[_Cut] = []
    reference, mass = float(np.max(begun.values)), 0.0
    while len(begun.ends):
        middle = begun.ends.mean(axis=1)
        halves = yield from _cut(np.stack([begun.ends[:, 0], middle, middle, begun.ends[:, 1]], axis=1).reshape(-1, 2))
        evaluations += halves.values.size
        highest = max(reference, float(np.max(halves.values)))
        if highest == -np.inf:
            raise UnresolvedError("the density is zero wherever it was looked at, but for single points")
        shrink = np.exp(reference - highest)
        mass, error, reference = mass * shrink, error * shrink, highest
        differ = _difference(begun, halves, reference)
        masses = _masses(halves, reference)
        total = mass + masses.sum()
        # The log-density has as many digits as a number has: of a large one, few after the point.
        fine = differ <= (TOLERANCE + 4 * np.spacing(abs(reference))) * total
        narrow = begun.half[:, 0] <= 16 * np.spacing(np.max(np.abs(begun.ends), axis=1))
        differ = np.where(narrow & ~fine, np.maximum(differ, masses.reshape(-1, 2).sum(axis=1)), differ)
        fine |= narrow
        last = evaluations + 4 * NODES * np.count_nonzero(~fine) > MOST_EVALUATIONS
        done = fine | last
        both = np.repeat(done, 2)
        kept.append(_Cut(halves.ends[both], halves.values[both]))
        mass, error = mass + _masses(kept[-1], reference).sum(), error + differ[done].sum()
        begun = _Cut(halves.ends[~both], halves.values[~both])
    error = float(error / mass + where.outside)
    if not error <= ACCEPTED:
        raise UnresolvedError(f"{evaluations} evaluations leave an error of {error:.1e} in its distribution function")
    return _joined(kept, reference, error, evaluations)


def _cut(ends: np.ndarray) -> Search[_Cut]:
    nodes = ends.mean(axis=1)[:, None] + (ends[:, 1] - ends[:, 0])[:, None] / 2 * _Z
    found = yield nodes.ravel()
    values = found.reshape(nodes.shape)
    lost = np.isnan(values) | (values == np.inf)
    if lost.any():
        raise UnresolvedError(f"the log-density is {values[lost][0]} at {nodes[lost][0]:.6g}, amid its mass")
    return _Cut(ends, values)


def _masses(cut: _Cut, reference: float) -> np.ndarray:
    return (cut.half * (np.exp(cut.values - reference) @ _AT))[:, -1]


def _difference(parents: _Cut, halves: _Cut, reference: float) -> np.ndarray:
    """The largest difference between the distribution functions of panels and of their halves."""
    whole = np.exp(parents.values - reference)
    parts = (halves.half * (np.exp(halves.values - reference) @ _AT)).reshape(len(whole), 2, -1)
    left = parents.half * (whole @ _AT_LEFT) - parts[:, 0]
    right = parents.half * (whole @ _AT_RIGHT) - parts[:, 1] - parts[:, 0, -1:]
    return np.max(np.abs(np.concatenate([left, right], axis=1)), axis=1)


def _joined(kept: list[_Cut], reference: float, error: float, evaluations: int) -> Panels:
    ends, values = np.concatenate([c.ends for c in kept]), np.concatenate([c.values for c in kept])
    order = np.argsort(ends[:, 0])
    ends, density = ends[order], np.exp(values[order] - reference) @ _FIT
    half = (ends[:, 1] - ends[:, 0]) / 2
    integral = density @ _INTEGRAL
    masses = half * integral.sum(axis=1)
    up_to = np.concatenate([[0.0], np.cumsum(masses)])
    cells = up_to[:-1, None] + half[:, None] * (integral @ _TO_EDGES)
    cells = np.maximum.accumulate(np.append(cells, up_to[-1]))
    return Panels(ends.mean(axis=1), half, density, integral, up_to, cells, reference, error, evaluations)
