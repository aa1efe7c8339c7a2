"""Points that chains tried and turned away because numbers end there: how many there were, and where.

A log-density that is not a number or infinite, or a gradient that is not finite, ends a trajectory as a divergence of
infinite energy: the proposal is rejected and the chain goes on. Other moves reject such a point as well, and count it.
A density of zero is a wall for a trajectory, and nothing unusual for other moves.
"""

from typing import NamedTuple

import numpy as np

from ppl.samplers.runs.run import Run

# The statistic of moves that are no trajectories: the points that they tried where the log-density is no finite number.
NOT_FINITE = "not_finite"
MOST_PLACES = 5


class Place(NamedTuple):
    """A point where numbers end."""

    chain: int
    draw: int  # counted from the first draw after warm-up; negative in warm-up
    position: np.ndarray


class Failures(NamedTuple):
    """Points of a run where numbers end: those after the warm-up, those in it, and the first few of them."""

    drawn: int
    tuning: int
    places: list[Place]


NO_FAILURES = Failures(0, 0, [])


def failures(run: Run, most: int = MOST_PLACES) -> Failures:
    """The failures of a run; places are of draws after the warm-up if there are any.

    >>> import jax.numpy as jnp
    >>> from ppl.samplers import sample
    >>> run = sample(lambda x: jnp.where(x[0] < 1, -0.5 * x[0] ** 2, jnp.nan), np.zeros((2, 1)), chains=2, seed=1)
    >>> found = failures(run)
    >>> found.drawn > 0, all(place.position[0] >= 1 for place in found.places)
    (True, True)
    """
    drawn, tuned = _counts(run.stats), _counts(run.warmup_stats)
    places = [
        Place(chain, place.draw, place.position)
        for row, chain in enumerate(run.chains)
        for place in run.divergences[chain]
        if _failed(drawn[row], tuned[row], place.draw) and np.all(np.isfinite(place.position))
    ]
    places.sort(key=lambda place: (place.draw < 0, place.draw, place.chain))
    if any(place.draw >= 0 for place in places):
        places = [place for place in places if place.draw >= 0]
    return Failures(int(drawn.sum()), int(tuned.sum()), places[:most])


def _counts(stats: dict[str, np.ndarray]) -> np.ndarray:
    """How many points failed on the way to each draw, (chains, draws)."""
    shape = next(iter(stats.values())).shape[:2]
    found = np.zeros(shape, np.int64)
    if "max_energy_error" in stats:
        found += np.isinf(stats["max_energy_error"])
    if NOT_FINITE in stats:
        found += stats[NOT_FINITE].astype(np.int64)
    return found


def _failed(drawn: np.ndarray, tuned: np.ndarray, draw: int) -> bool:
    """Did a point fail on the way to a draw?"""
    row, at = (drawn, draw) if draw >= 0 else (tuned, len(tuned) + draw)
    return 0 <= at < len(row) and bool(row[at])
