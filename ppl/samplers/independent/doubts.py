r"""How much of a density lies above the multiple of a mixture that is to bound it.

.. math:: ε = \int (p - M q)_+ \Big/ \int p

Four estimates, none at points that the mixture was fitted to:

- by importance weights of fresh proposals, whose mean is known with its standard error;
- at points far and wide, on rays from the center and about the starts, followed uphill in :math:`p/q` where p rises
  outwards or is high for its distance: the mass of what is above the bound there is found by populations;
- by Markov chains that leave p unchanged, from draws: they flow into what is joined to these, such as the neck of a
  funnel, in proportion to its mass;
- from the highest ratios that any of these has met, uphill as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ppl.samplers.independent.mixture import FREEDOM, Mixture
from ppl.samplers.independent.populations import Density, different, settled

ACCEPTED = 5e-4  # of any probability
FAR_AWAY = (
    20.0  # standard deviations; what is lost beyond counts by its distance, so that means are right to 0.01 of one
)
FRESH = 4  # portions of 2048 fresh proposals
WALKERS, MOVES = 512, 16
CLIMBERS, CLIMBS = 64, 40
NEAR, FAR, INWARDS = 0.5, 200.0, 0.97  # how far points reach, in standard deviations, and what is looked at before each
ROUNDINGS, SAME = 64, 1e-3  # by how much points are moved, and log-densities then may differ
LEAST_KEPT, BISECTIONS = 0.02, 12
HIGHER = 1.5  # the bound, where it is not known what mass was lost
LEAST_COVER, COVER, MOST_COVER = 0.005, 2.0, 0.3  # weight of a component over the share of the mass that it covers
CLOSE = 0.1  # standard deviations, about a place above the bound, where populations begin
SUSPECTS = 6  # places above the bound whose mass is measured


class Seen(NamedTuple):
    """Points, the log-density there, and by how much it is above that of the mixture; -inf where it is not a number."""

    x: np.ndarray
    value: np.ndarray
    ratio: np.ndarray
    unknown: np.ndarray

    def at(self, rows: np.ndarray) -> Seen:
        """Some of the points."""
        return Seen(*(each[rows] for each in self))

    def moved(self, new: Seen, where: np.ndarray) -> Seen:
        """Other points in place of some."""
        pairs = zip(new, self, strict=True)
        return Seen(*(np.where(where[:, None] if a.ndim > 1 else where, a, b) for a, b in pairs))

    @staticmethod
    def joined(parts: Sequence[Seen]) -> Seen:
        return Seen(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class Found(NamedTuple):
    """A law that covers a share of the mass, which was lost."""

    mean: np.ndarray
    scale: np.ndarray
    share: float


class Doubts(NamedTuple):
    """The share of the mass above the bound, that of proposals that are kept, some draws, and where mass was lost."""

    error: float
    kept: float
    draws: np.ndarray
    found: list[Found]


class Bounded(NamedTuple):
    """A mixture q and the logarithm of M: draws are exact where p is at most M q."""

    mixture: Mixture
    log_bound: float

    def covering(self, found: Sequence[Found]) -> Bounded:
        """With components where mass was lost, of as much weight as that needs; elsewhere with a higher bound."""
        if not found:
            return self.times(HIGHER)
        shares = np.array([max(LEAST_COVER, COVER * law.share) for law in found])
        shares *= min(1.0, MOST_COVER / shares.sum())
        more = Mixture(
            shares, np.stack([law.mean for law in found]), np.stack([law.scale for law in found]),
            np.full(len(found), FREEDOM),
        )  # fmt: skip
        mine = self.mixture._replace(weights=(1 - shares.sum()) * self.mixture.weights)
        both = Mixture(*(np.concatenate(each) for each in zip(mine, more, strict=True)))
        return Bounded(both, self.log_bound - float(np.log1p(-shares.sum())))

    def times(self, margin: float) -> Bounded:
        return self._replace(log_bound=self.log_bound + float(np.log(margin)))

    def seen(self, density: Density, x: np.ndarray) -> Seen:
        value = density(x)
        unknown = np.isnan(value) | (value == np.inf)
        value = np.where(unknown, -np.inf, value)
        with np.errstate(invalid="ignore"):
            ratio = value - self.mixture.log_density(x)
        return Seen(x, value, np.where(np.isnan(ratio), -np.inf, ratio), unknown)

    def above(self, density: Density) -> Density:
        """The logarithm of what is above the bound."""

        def found(x: np.ndarray) -> np.ndarray:
            seen = self.seen(density, x)
            over = seen.ratio - self.log_bound
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(over > 0, seen.value + np.log(-np.expm1(-over)), -np.inf)

        return found


def lost(density: Density, bounded: Bounded, starts: np.ndarray, scanned: int, rng: np.random.Generator) -> Doubts:
    """How much of the density is above the bound, and where."""
    fresh = bounded.seen(density, bounded.mixture.draws(rng, FRESH * 2048))
    weight = np.exp(np.minimum(fresh.ratio - bounded.log_bound, 700.0))
    mass, kept = weight.mean(), float(np.mean(np.minimum(weight, 1.0)))
    draws = fresh.x[rng.random(len(weight)) < weight]
    if len(draws) < len(weight) * LEAST_KEPT:
        return Doubts(1.0, kept, draws, [])
    over = np.maximum(weight - 1, 0.0)
    over[fresh.unknown] = np.exp(np.minimum(_edge(density, bounded, fresh.x[fresh.unknown], draws), 0.0))
    center, sd = draws.mean(axis=0), draws.std(axis=0)
    heavier = lambda x: np.maximum(1.0, np.max(np.abs(x - center) / sd, axis=-1) / FAR_AWAY)
    over *= heavier(fresh.x)
    by_weights = (over.mean() + 2 * over.std() / np.sqrt(len(over))) / mass
    by_chains, visited = _flow(density, bounded, draws, rng)
    suspects = [fresh, visited, _far(density, bounded, draws, starts, scanned, rng)]
    at = _climbed(density, bounded, suspects, draws, rng)
    near = np.repeat(CLOSE * np.linalg.cholesky(np.cov(draws.T))[None], len(at), axis=0)
    laws = settled(bounded.above(density), at, near, rng)
    share = lambda law: float(np.exp(min(law.log_mass - bounded.log_bound, 700.0)) / mass)
    found = [Found(law.mean, law.scale, share(law)) for law in different(laws)]
    by_climbing = 1.0 if len(laws) < len(at) else sum(each.share * heavier(each.mean) for each in found)
    return Doubts(float(max(by_weights, by_chains, by_climbing)), kept, draws, found)


def _edge(density: Density, bounded: Bounded, x: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """By how much the density is above the bound where it was last known, on the way from the draws to points where it
    is not a number."""
    center, inner, outer = draws.mean(axis=0), np.zeros(len(x)), np.ones(len(x))
    edge = np.full(len(x), np.inf)
    for _ in range(BISECTIONS if len(x) else 0):
        middle = (inner + outer) / 2
        seen = bounded.seen(density, center + middle[:, None] * (x - center))
        edge = np.where(seen.unknown, edge, seen.ratio - bounded.log_bound)
        inner, outer = np.where(seen.unknown, inner, middle), np.where(seen.unknown, middle, outer)
    return edge


def _flow(density: Density, bounded: Bounded, draws: np.ndarray, rng: np.random.Generator) -> tuple[float, Seen]:
    """The share above the bound of Markov chains from draws, along differences of other draws; and all they look at."""
    each = len(draws) // 2
    now = bounded.seen(density, draws[rng.choice(each, min(WALKERS, each), replace=False)])
    looked, shares = [], []
    for move in range(MOVES):
        first, second = draws[each + rng.integers(0, len(draws) - each, (2, len(now.x)))]
        way = np.exp(rng.uniform(np.log(0.02), np.log(1.5), len(now.x)))
        new = bounded.seen(density, now.x + way[:, None] * (first - second))
        looked.append(new)
        go = np.log(rng.random(len(now.x))) < new.value - now.value
        now = now.moved(new, go)
        if move >= MOVES // 2:
            shares.append(np.mean(-np.expm1(-np.maximum(now.ratio - bounded.log_bound, 0.0))))
    return float(np.mean(shares)), Seen.joined(looked)


def _far(
    density: Density, bounded: Bounded, draws: np.ndarray, starts: np.ndarray, count: int, rng: np.random.Generator
) -> Seen:
    """Points far and wide: those from which the density rises outwards, and those where it is high for the distance."""
    dim = draws.shape[1]
    direction = rng.standard_normal((count // 2, dim))
    direction[::16] = np.eye(dim)[rng.integers(0, dim, len(direction[::16]))]
    direction *= rng.choice([-1.0, 1.0], (len(direction), 1))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = np.sort(NEAR * (FAR / NEAR) ** rng.random(len(direction)))
    way, center = direction @ np.linalg.cholesky(np.cov(draws.T)).T, np.repeat(draws.mean(axis=0)[None], len(radius), 0)
    about = np.arange(len(radius)) % 8 == 7  # in the units of the numbers, about the starts
    center[about], way[about] = starts[rng.integers(0, len(starts), about.sum())], direction[about]
    way *= radius[:, None]
    seen = bounded.seen(density, center + way)
    inside = bounded.seen(density, center + INWARDS * way)
    rises = np.flatnonzero((seen.value > inside.value) & np.isfinite(seen.value))
    score = np.where(np.isfinite(seen.value), seen.value - np.max(seen.value), -np.inf) / radius**2
    most = [group[np.argmax(score[group])] for group in np.array_split(np.arange(len(radius)), CLIMBERS // 2)]
    above = np.flatnonzero(seen.ratio > bounded.log_bound)
    chosen = [each[np.argsort(-seen.ratio[each])[:CLIMBERS]] for each in (rises, above)]
    return seen.at(np.unique(np.concatenate([*chosen, most])))


def _climbed(
    density: Density, bounded: Bounded, suspects: list[Seen], draws: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Places above the bound, found uphill in the ratio from the highest of each kind of points."""
    most = [CLIMBERS // 4, CLIMBERS // 4, 2 * CLIMBERS]
    highest = [each.at(np.argsort(-each.ratio)[:some]) for each, some in zip(suspects, most, strict=True)]
    now = steady(density, bounded, Seen.joined(highest), rng)
    if not len(now.x):
        return now.x
    root, center = np.linalg.cholesky(np.cov(draws.T)), draws.mean(axis=0)
    distance = np.linalg.norm(np.linalg.solve(root, (now.x - center).T), axis=0)
    for _ in range(CLIMBS):
        size = np.maximum(1.0, distance) * np.exp(rng.uniform(np.log(1e-4), np.log(0.5), len(now.x)))
        new = bounded.seen(density, now.x + size[:, None] * (rng.standard_normal(now.x.shape) @ root.T))
        now = now.moved(new, new.ratio > now.ratio)
    now = steady(density, bounded, now, rng)
    order = np.argsort(-now.ratio)
    places: list[np.ndarray] = []
    for x, ratio in zip(now.x[order], now.ratio[order], strict=True):
        if ratio <= bounded.log_bound or len(places) >= SUSPECTS:
            break
        if all(np.linalg.norm(np.linalg.solve(root, x - other)) > CLOSE for other in places):
            places.append(x)
    return np.array(places).reshape(-1, now.x.shape[1])


def steady(density: Density, bounded: Bounded, seen: Seen, rng: np.random.Generator) -> Seen:
    """Points where the density is not zero, and the same a few roundings away: where digits cancel it is noise."""
    by = ROUNDINGS * np.finfo(float).eps * (1.0 + np.abs(seen.x))
    near = bounded.seen(density, seen.x + by * rng.choice([-1.0, 1.0], seen.x.shape))
    with np.errstate(invalid="ignore"):
        alike = np.abs(near.value - seen.value) < SAME * (1.0 + np.abs(seen.value))
    return seen.at(alike)
