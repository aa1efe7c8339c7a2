"""Independent draws of one number, whatever its density: the distribution function by quadrature, and its inverse.

The density is followed by polynomials on panels that are halved until two resolutions agree; a draw is the quantile of
a uniform number. There is no warm-up and no autocorrelation, and peaks far apart have their due shares. The one program
that is compiled evaluates a batch of points. Where the density cannot be followed (a tail without finite mass, points
amid the mass where it is not a number, more kinks than evaluations allow), ``UnresolvedError`` says why. The panels are
compared with the density once more at points they were not made from: a peak that hid between the points of the grid,
too narrow to show slopes, is found where one of these meets it, and the search begins anew from there.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import UnresolvedError
from .kernel import Data, LogDensity
from .panels import Panels, panels
from .programs import DRAWS, PROGRAMS, expand_program, turn
from .randomness import own_settings
from .region import Evaluate, region
from .work import TURNS

BATCH = 512
PROBES = 512
AGREED = 1e-3  # log-densities; the distribution function has its own bound
MOST_LOOKS, SURPRISES = 4, 8


class Independent(NamedTuple):
    """A source of independent draws of one number."""

    panels: Panels
    compile_seconds: float

    def draws(self, seed: int, chain: int, count: int, purpose: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` draws of a chain, and their log-densities; another ``purpose``, other draws."""
        words = np.random.SeedSequence(seed, spawn_key=(int.from_bytes(b"line", "big"), purpose, chain))
        return self.panels.quantiles(np.random.default_rng(words).random(count))


AtOnce = Callable[[np.ndarray], np.ndarray | None]


def quadrature(
    logp: LogDensity, starts: Sequence[float], *, data: Data = (), key: Hashable = None, at_once: AtOnce | None = None
) -> Independent:
    """Independent draws from the density whose logarithm is ``logp(position, *data)``, for positions of length one.

    It is looked for from ``starts`` outwards. ``key`` stands for the content of ``logp`` where that is built anew for
    each call, as in ``sample``. ``at_once`` gives the log-densities of ``BATCH`` positions, (BATCH, 1), without a
    program, or None; then there is nothing to compile.

    >>> source = quadrature(lambda x: -0.5 * x[0] ** 2, [3.0])
    >>> values, log_densities = source.draws(seed=1, chain=0, count=1000)
    >>> bool(abs(values.mean()) < 0.1), source.panels.error < 1e-10
    (True, True)
    """
    began = time.perf_counter()
    evaluate = batches(logp, data, key, at_once)
    compiling = time.perf_counter() - began
    return Independent(followed(evaluate, starts), compiling)


def followed(evaluate: Evaluate, starts: Sequence[float]) -> Panels:
    """Panels that hold what is seen from ``starts``, and from wherever they turn out to be wrong."""
    for _ in range(MOST_LOOKS):
        found = panels(evaluate, region(evaluate, starts))
        wrong = _surprises(evaluate, found)
        if not len(wrong):
            return found
        starts = [*starts, *wrong[:SURPRISES]]
    raise UnresolvedError(f"the log-density at {wrong[0]:.6g} is not what it is around that point")


def _surprises(evaluate: Evaluate, found: Panels) -> np.ndarray:
    """Points, of ``PROBES`` spread evenly over the mass, where the density is not as its panels say."""
    points, expected = found.quantiles((np.arange(PROBES) + 0.5) / PROBES)
    return points[~(np.abs(evaluate(points) - expected) < AGREED)]


def batches(logp: LogDensity, data: Data, key: Hashable, at_once: AtOnce | None = None) -> Evaluate:
    """The log-density at many points, by one program for ``BATCH`` of them, one after the other."""

    def compiled() -> Any:
        with own_settings():
            return PROGRAMS.get(
                ("expand", logp if key is None else ("keyed", key), "line"),
                lambda: expand_program(logp),
                (np.zeros((BATCH, 1)), data, np.int64(0), np.int64(0), np.zeros(BATCH)),
                DRAWS,
                runs=MOST_LOOKS * BATCH / TURNS,
            )

    def by_program(batch: np.ndarray, count: int) -> np.ndarray:
        program = compiled()
        with own_settings(), turn(program):
            return np.asarray(program(batch, data, np.int64(0), np.int64(count), np.zeros(BATCH)))

    if at_once is None:
        compiled()

    def evaluate(points: np.ndarray) -> np.ndarray:
        found = np.empty(len(points))
        for begin in range(0, len(points), BATCH):
            part = points[begin : begin + BATCH]
            batch = np.zeros((BATCH, 1))
            batch[: len(part), 0] = part
            values = at_once(batch) if at_once is not None else None
            values = by_program(batch, len(part)) if values is None else values
            found[begin : begin + len(part)] = values[: len(part)]
        return found

    return evaluate
