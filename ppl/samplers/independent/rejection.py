r"""Independent draws from a density over a few numbers, by rejection from a mixture that is fitted to it.

Proposals :math:`x \sim q` are kept with probability :math:`\min(1, p(x) / M q(x))`. Those kept are independent draws
from p wherever :math:`p \le M q`; what lies above is lost, and its share is the whole error of their law:

.. math:: ε = \int (p - M q)_+ \Big/ \int p

It bounds the error of every probability. It is estimated at points that the mixture was not fitted to, by four means
that fail in different ways (``doubts``). Where they find more than a few ten-thousandths the mixture is mended, or
``UnresolvedError`` says why draws are not independent.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.independent.doubts import ACCEPTED, Bounded, Seen, lost, steady
from ppl.samplers.independent.mixture import FREEDOM, Mixture, guarded, moments
from ppl.samplers.independent.populations import Density, different, settled
from ppl.samplers.independent.quadrature import AtOnce, batches
from ppl.samplers.programs.kernel import Data, LogDensity
from ppl.samplers.runs.errors import UnresolvedError

EVALUATIONS = 60_000  # about as many of the density, for 4 × 1,000 draws
POPULATIONS = 6
FIT = 512  # proposals of a round for each dimension
ROUNDS = 8
MARGIN, TRIALS = 1.25, 5  # of the bound over what the fit asks for; and how often it is mended
REFITTED = 0.02  # of the mass: where more is lost, what was seen there is fitted, and not only covered
GAIN = 1.2  # of what is kept, by a round; less asks for more components
LEAST_MASS = 1e-6  # of a population beside the largest
ENOUGH, TOO_FEW = (
    0.5,
    0.08,
)  # shares of proposals that are kept: with the first the fit ends, with less than the last it failed
LEFT = 5e-5  # of the mass, above the bound among the proposals that it is chosen by
LOOKED_AT = 512  # draws, whether their densities are more than rounding
PORTION = 1024  # proposals at a time


class Rejection(NamedTuple):
    """A source of independent draws of a few numbers."""

    bounded: Bounded
    density: Density
    error: float  # of any probability, at most
    kept: float  # the share of proposals
    compile_seconds: float
    evaluations: int

    @np.errstate(all="ignore")
    def draws(self, seed: int, chain: int, count: int, purpose: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` draws of a chain, (count, numbers), and their log-densities; another ``purpose``, other
        draws."""
        words = np.random.SeedSequence(seed, spawn_key=(int.from_bytes(b"few", "big"), purpose, chain))
        rng = np.random.default_rng(words)
        found: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros((0, self.bounded.mixture.dim)), np.zeros(0))]
        left = count
        while left > 0:
            seen = self.bounded.seen(self.density, self.bounded.mixture.draws(rng, PORTION))
            kept = np.log(rng.random(PORTION)) < seen.ratio - self.bounded.log_bound
            found.append((seen.x[kept], seen.value[kept]))
            left -= int(kept.sum())
        positions, values = (np.concatenate(each)[:count] for each in zip(*found, strict=True))
        return positions, values


def rejection(
    logp: LogDensity,
    starts: Sequence[Any],
    *,
    data: Data = (),
    key: Hashable = None,
    at_once: AtOnce | None = None,
    scanned: int = 8192,
    reach: Sequence[float] | None = None,
    edges: bool = False,
    threads: int = 1,
) -> Rejection:
    """Independent draws from the density whose logarithm is ``logp(position, *data)``, of a few numbers.

    ``key``, ``at_once`` and ``threads`` are as in ``batches``; ``scanned`` is the number of points at which the density
    is looked at far and wide, for masses that nothing near the starts tells of. With ``edges``, a density of zero may
    mean that a matrix has no factor there by rounding alone: mass beside such points is refused.

    >>> import jax.numpy as jnp
    >>> source = rejection(lambda x: -0.5 * jnp.sum(x**2), [[3.0, -1.0]])
    >>> values, log_densities = source.draws(seed=1, chain=0, count=1000)
    >>> values.shape, bool(np.all(abs(values.mean(axis=0)) < 0.15)), source.error < 1e-3
    ((1000, 2), True, True)
    """
    began = time.perf_counter()
    places = np.asarray(starts, np.float64)
    dim = places.shape[1]
    evaluate = batches(logp, dim, data, key, at_once, outputs=1, threads=threads)
    compiling = time.perf_counter() - began
    count = 0

    def density(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += len(x)
        found = evaluate(x)[:, 0]
        return np.where(found == -np.inf, np.nan, found) if edges else found

    bounded, error, kept = followed(density, places, scanned, reach)
    return Rejection(bounded, density, error, kept, compiling, count)


@np.errstate(all="ignore")  # what is not a number is looked at for what it is
def followed(
    density: Density, starts: np.ndarray, scanned: int = 8192, reach: Sequence[float] | None = None
) -> tuple[Bounded, float, float]:
    """A mixture and a bound that hold, their error, and the share of proposals that is kept."""
    try:
        return _followed(density, starts, scanned, reach)
    except np.linalg.LinAlgError:
        raise UnresolvedError("no law fits the mass: the points that count lie on a line, or are too few") from None


def _followed(
    density: Density, starts: np.ndarray, scanned: int, reach: Sequence[float] | None
) -> tuple[Bounded, float, float]:
    rng = np.random.default_rng(0)
    far = np.full(starts.shape[1], np.inf) if reach is None else np.asarray(reach, np.float64)
    within = lambda x, share: np.all(np.abs(x - starts.mean(axis=0)) <= share * far, axis=1)

    def known(x: np.ndarray) -> np.ndarray:
        return np.where(within(x, 1.0), density(x), -np.inf)

    bounded = _fitted(known, _first(known, starts, rng), rng)
    for trial in range(TRIALS):
        doubts = lost(known, bounded, starts, scanned, rng)
        few = doubts.kept < TOO_FEW
        if doubts.error <= ACCEPTED and not few:
            if np.mean(~within(doubts.draws, 0.5)) > ACCEPTED:
                raise UnresolvedError("mass may lie where floating-point numbers end")
            some = bounded.seen(known, doubts.draws[:LOOKED_AT])
            if len(steady(known, bounded, some, rng).x) < len(some.x):
                raise UnresolvedError("the log-density of some draws changes within a few roundings of them")
            return bounded, doubts.error, doubts.kept
        if trial < TRIALS - 1:
            bounded = bounded.covering(doubts.found)
        if few or doubts.error > REFITTED:
            bounded = _fitted(known, bounded.mixture, rng)
    if few:
        raise UnresolvedError(f"only {doubts.kept:.1%} of proposals would be kept")
    where = f", as around {np.array2string(doubts.found[0].mean, precision=4)}" if doubts.found else ""
    raise UnresolvedError(f"a share {doubts.error:.1g} of the mass is not where proposals come from{where}")


def _first(density: Density, starts: np.ndarray, rng: np.random.Generator) -> Mixture:
    """What populations from the starts, and from places about these, come to rest at."""
    dim = starts.shape[1]
    repeated = starts[np.arange(POPULATIONS) % len(starts)]
    far = rng.standard_normal((POPULATIONS, dim)) * np.logspace(-1, 1, POPULATIONS)[:, None]
    far[: min(len(starts), 2)] = 0.0
    laws = settled(density, repeated + far, np.logspace(0, 1, POPULATIONS)[:, None, None] * np.eye(dim), rng)
    if not laws:
        raise UnresolvedError("no population of points came to rest at a mass")
    least = max(law.log_mass for law in laws) + np.log(LEAST_MASS)
    apart = different([law for law in laws if law.log_mass > least])
    k = len(apart)
    each = (np.stack([law.mean for law in apart]), np.stack([law.scale for law in apart]), np.full(k, FREEDOM))
    return Mixture(np.full(k, 1 / k), *each)


def _fitted(density: Density, fit: Mixture, rng: np.random.Generator) -> Bounded:
    """The mixture, fitted round by round to all that was seen, and the bound."""
    count, pool = FIT * fit.dim, Pool.empty(fit.dim)
    best, most = (0.0, Bounded(fit, 0.0)), len(fit.weights) + 4 + 3 * fit.dim
    for _ in range(ROUNDS):
        proposal = guarded(fit)
        seen = Bounded(proposal, 0.0).seen(density, proposal.draws(rng, count))
        weights = np.exp(seen.ratio - seen.ratio.max())
        bound = level(weights, LEFT)
        kept, before = float(np.mean(np.minimum(weights, bound)) / bound), best[0]
        if kept > before:
            best = kept, Bounded(proposal, float(np.log(bound) + seen.ratio.max()))
        if kept > ENOUGH:
            break
        pool = pool.with_more(proposal, seen)
        above = np.maximum(weights - weights.mean() / ENOUGH, 0.0)
        more = min(4, len(fit.weights), most - len(fit.weights), int(np.sum(above > 0)))
        x, shares = pool.sample(rng, count)
        if more > 0 and kept < GAIN * before:
            at = rng.choice(count, more, replace=False, p=above / above.sum())
            spread = moments(x, shares)[1] / (len(fit.weights) + more) ** (2 / fit.dim)
            fit = fit.with_more(seen.x[at], np.repeat(np.linalg.cholesky(spread)[None], more, axis=0), share=0.3)
        fit = fit.fitted(x, shares)
    return best[1].times(MARGIN)


class Pool(NamedTuple):
    """All points that were seen, and what they were proposed by together."""

    x: np.ndarray
    value: np.ndarray
    used: tuple[Mixture, ...]
    proposed: np.ndarray  # the logarithm of the sum of the densities

    @classmethod
    def empty(cls, dim: int) -> Pool:
        return cls(np.zeros((0, dim)), np.zeros(0), (), np.zeros(0))

    def with_more(self, proposal: Mixture, seen: Seen) -> Pool:
        used = (*self.used, proposal)
        new = np.logaddexp.reduce([mixture.log_density(seen.x) for mixture in used])
        old = np.logaddexp(self.proposed, proposal.log_density(self.x))
        return Pool(
            np.concatenate([self.x, seen.x]), np.concatenate([self.value, seen.value]), used,
            np.concatenate([old, new]),
        )  # fmt: skip

    def sample(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Some of the points, with weights by which they stand for the density."""
        logs = np.where(np.isfinite(self.value), self.value - self.proposed, -np.inf)
        shares = np.cumsum(np.exp(logs - logs.max()))
        at = np.searchsorted(shares, (np.arange(count) + rng.random()) / count * shares[-1])
        which, times = np.unique(at, return_counts=True)
        return self.x[which], times / count


def level(weights: np.ndarray, left: float) -> float:
    """The number above which weights have a share `left` of their sum."""
    ordered = np.sort(weights)[::-1]
    above = np.cumsum(ordered) - ordered * np.arange(1, len(ordered) + 1)  # above each of them in turn
    many = int(np.searchsorted(above, left * ordered.sum()))  # the first number that leaves too much
    total = np.sum(ordered[:many])
    return float((total - left * ordered.sum()) / many) if many else float(ordered[0])
