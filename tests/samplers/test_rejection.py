"""Independent draws of a few numbers by rejection: from laws that are known, right or refused; and what is refused."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

from ppl.samplers import UnresolvedError
from ppl.samplers.independent.doubts import ACCEPTED, Bounded, lost
from ppl.samplers.independent.mixture import alone, guarded
from ppl.samplers.independent.populations import settled
from ppl.samplers.independent.rejection import Rejection, followed, level, rejection

DRAWS, EXACT = 10_000, 20_000
FALSE_ALARM = 2.6 * np.sqrt(1 / DRAWS + 1 / EXACT)  # of one comparison in 3e5; there are fewer than 300 of these
RNG = np.random.default_rng(5)


class Law(NamedTuple):
    """A log-density of rows, and as many exact draws as are asked for."""

    logp: Callable[[np.ndarray], np.ndarray]
    draws: Callable[[int], np.ndarray]
    dim: int


def normal(dim, correlation=0.0, sd=1.0, at=0.0):
    spread = np.full((dim, dim), correlation) + (1 - correlation) * np.eye(dim)
    root = np.linalg.cholesky(spread) * np.broadcast_to(sd, dim)[:, None]
    inverse, volume = np.linalg.inv(root), np.sum(np.log(np.diag(root))) + dim / 2 * np.log(2 * np.pi)
    return Law(
        lambda x: -0.5 * np.sum(((x - at) @ inverse.T) ** 2, axis=1) - volume,
        lambda n: at + RNG.standard_normal((n, dim)) @ root.T, dim,
    )  # fmt: skip


def mixed(*parts):
    weights, laws = zip(*parts, strict=True)
    return Law(
        lambda x: special.logsumexp([np.log(w) + law.logp(x) for w, law in parts], axis=0),
        lambda n: np.concatenate([law.draws(k) for law, k in zip(laws, RNG.multinomial(n, weights), strict=True)]),
        laws[0].dim,
    )


def product(*laws):
    return Law(
        lambda x: sum(law.logpdf(x[:, i]) for i, law in enumerate(laws)),
        lambda n: np.stack([law.rvs(size=n, random_state=RNG) for law in laws], axis=1), len(laws),
    )  # fmt: skip


def by_logarithms(law):
    return Law(lambda x: law.logp(np.exp(x)) + x.sum(axis=1), lambda n: np.log(law.draws(n)), law.dim)


def funnel(dim, sd):
    def draws(n):
        v = sd * RNG.standard_normal((n, 1))
        return np.hstack([v, np.exp(v / 2) * RNG.standard_normal((n, dim - 1))])

    norm = stats.norm.logpdf
    return Law(lambda x: norm(x[:, 0], 0, sd) + np.sum(norm(x[:, 1:], 0, np.exp(x[:, :1] / 2)), axis=1), draws, dim)


def banana(dim, bend):
    def draws(n):
        x = RNG.standard_normal((n, dim))
        x[:, 1] = bend * (x[:, 0] ** 2 - 1) + 0.3 * x[:, 1]
        return x

    norm = stats.norm.logpdf
    flat = lambda x: np.sum(norm(np.delete(x, 1, axis=1)), axis=1)
    return Law(lambda x: flat(x) + norm(x[:, 1], bend * (x[:, 0] ** 2 - 1), 0.3), draws, dim)


def shares(*concentration):
    """Dirichlet shares, by logarithms of their ratios to the last."""
    a = np.array(concentration)
    whole = lambda y: np.hstack([y, np.zeros((len(y), 1))])

    def draws(n):
        logs = np.log(RNG.gamma(a, size=(n, len(a))))
        return logs[:, :-1] - logs[:, -1:]

    return Law(lambda y: (whole(y) - special.logsumexp(whole(y), axis=1, keepdims=True)) @ a, draws, len(a) - 1)


def stepped(law, where, times):
    """A law whose density is higher by a factor in a region; by an infinite one, zero elsewhere."""

    def draws(n):
        found = np.zeros((0, law.dim))
        while len(found) < n:
            x = law.draws(100_000)
            found = np.concatenate([found, x[RNG.random(len(x)) < np.where(where(x), 1.0, 1 / times)]])
        return found[:n]

    lower = -np.log(times) if times < np.inf else -np.inf
    return Law(lambda x: law.logp(x) + np.where(where(x), 0.0, lower), draws, law.dim)


LAWS = {
    "far and narrow": normal(3, at=1000.0, sd=1e-3),
    "scales far apart": normal(4, 0.3, sd=np.logspace(-4, 4, 4)),
    "ridge": normal(2, 0.9999, at=50.0),
    "ridge of four": normal(4, 0.9999),
    "two modes": mixed((0.6, normal(3)), (0.4, normal(3, at=6.0))),
    "eight modes": mixed(*[(1 / 8, normal(2, at=3.0 * k, sd=0.3)) for k in range(8)]),
    "funnel": funnel(2, 1.5),
    "funnel of three": funnel(3, 1.5),
    "banana": banana(2, 1.0),
    "Student's t, 3": product(*[stats.t(3)] * 2),
    "logarithms of gammas": by_logarithms(product(*[stats.gamma(0.3)] * 2)),
    "logarithms of a half-Cauchy and gammas": by_logarithms(product(stats.halfcauchy, stats.gamma(2), stats.gamma(2))),
    "shares": shares(0.5, 0.5, 2.0),
    "Laplace": product(*[stats.laplace] * 2),
}
SHARP = {  # discontinuities, spikes and necks
    "half of a normal": stepped(normal(2), lambda x: x[:, 0] > 0.3, np.inf),
    "half of a normal of four": stepped(normal(4), lambda x: x[:, 0] > 0.3, np.inf),
    "wedge": stepped(normal(2), lambda x: (x[:, 0] > 1) & (x[:, 1] > x[:, 0]), np.inf),
    "square": product(stats.uniform, stats.uniform),
    "cube": product(*[stats.uniform] * 3),
    "step": stepped(normal(2), lambda x: x[:, 0] > 2.5, 100.0),
    "step of three": stepped(normal(3), lambda x: x[:, 0] > 1.5, 50.0),
    "strip": stepped(normal(2), lambda x: abs(x[:, 0] - 1) < 0.02, 30.0),
    "squares of a board": stepped(normal(2), lambda x: np.floor(2 * x).sum(axis=1) % 2 == 0, 10.0),
    "cubes of a board": stepped(normal(3), lambda x: np.floor(2 * x).sum(axis=1) % 2 == 0, 10.0),
    "ring": stepped(normal(2), lambda x: abs(np.hypot(*x.T) - 2) < 0.1, 50.0),
    "exponential": product(stats.expon, stats.expon, stats.expon),
    "spike": mixed((0.7, normal(2)), (0.3, normal(2, at=0.7, sd=0.01))),
    "Neal's funnel": funnel(2, 3.0),
    "Neal's funnel of three": funnel(3, 3.0),
    "Neal's funnel of four": funnel(4, 3.0),
    "spike of one per cent": mixed((0.99, normal(2)), (0.01, normal(2, at=0.7, sd=0.03))),
    "spike at the start": mixed((0.7, normal(2)), (0.3, normal(2, sd=0.001))),
    "spike of three": mixed((0.7, normal(3)), (0.3, normal(3, at=0.7, sd=0.05))),
    "spike of four": mixed((0.7, normal(4)), (0.3, normal(4, at=0.7, sd=0.05))),
    "two spikes": mixed((0.6, normal(2)), (0.2, normal(2, at=1.0, sd=0.03)), (0.2, normal(2, at=-1.0, sd=0.03))),
    "spike far off": mixed((0.5, normal(2)), (0.5, normal(2, at=7.0, sd=0.1))),
    "small spike far off": mixed((0.98, normal(2)), (0.02, normal(2, at=7.0, sd=0.1))),
    "spike far off, of three": mixed((0.5, normal(3)), (0.5, normal(3, at=3.0, sd=0.2))),
    "spike far off, of four": mixed((0.5, normal(4)), (0.5, normal(4, at=2.5, sd=0.2))),
}


def source_of(law, start=0.0):
    with np.errstate(all="ignore"):
        bounded, error, kept = followed(law.logp, np.full((1, law.dim), start), scanned=65_536)
    return Rejection(bounded, law.logp, error, kept, 0.0, 0)


def farthest(x, y):
    """The largest difference of distribution functions, along each number and along their sum in units of spread."""
    both = [np.column_stack([each, (each / y.std(axis=0)).sum(axis=1)]) for each in (x, y)]
    return max(stats.ks_2samp(a, b).statistic for a, b in zip(both[0].T, both[1].T, strict=True))


SOON = ("ridge", "two modes", "funnel", "wedge", "step", "spike", "spike far off")  # the others are for the slow suite
named = lambda laws: [n if n in SOON else pytest.param(n, marks=pytest.mark.slow) for n in laws]


@pytest.mark.parametrize("name", named(LAWS))
def test_draws_follow_laws_that_are_known(name):
    source = source_of(LAWS[name])
    assert source.error <= ACCEPTED
    assert farthest(source.draws(1, 0, DRAWS)[0], LAWS[name].draws(EXACT)) < FALSE_ALARM


@pytest.mark.parametrize("name", named(SHARP))
def test_discontinuities_and_spikes_are_drawn_or_refused(name):
    try:
        source = source_of(SHARP[name])
    except UnresolvedError:
        return
    assert farthest(source.draws(1, 0, DRAWS)[0], SHARP[name].draws(EXACT)) < FALSE_ALARM


def test_some_are_drawn():
    for name in ("step", "spike", "spike far off"):
        assert source_of(SHARP[name]).error <= ACCEPTED


@pytest.mark.parametrize(
    ("logp", "reason"),
    [
        (lambda x: np.zeros(len(x)), r"mass|population"),
        (lambda x: -np.log1p(np.sum(x**2, axis=1)) / 2, r"mass|population|kept"),
        (lambda x: np.full(len(x), np.nan), "no population of points came to rest"),
        (lambda x: stats.cauchy.logpdf(x).sum(axis=1), "of the mass is not where proposals come from"),
    ],
    ids=["flat", "infinite mass", "not a number", "product of Cauchy laws"],
)
def test_what_cannot_be_told_is_refused(logp, reason):
    with np.errstate(all="ignore"), pytest.raises(UnresolvedError, match=reason):
        followed(logp, np.zeros((1, 2)))


def test_a_gap_amid_the_mass_is_refused():
    law = normal(2)
    gap = lambda x: np.where(np.hypot(*x.T) < 0.5, np.nan, law.logp(x))
    with np.errstate(all="ignore"), pytest.raises(UnresolvedError):
        followed(gap, np.zeros((1, 2)))


def test_mass_beyond_the_reach_is_refused():
    law = by_logarithms(product(stats.gamma(0.05), stats.gamma(2)))
    with np.errstate(all="ignore"), pytest.raises(UnresolvedError, match=r"floating-point|proposals"):
        followed(law.logp, np.zeros((1, 2)), reach=[60.0, 60.0])


@pytest.mark.parametrize("missing", ["the neck of a funnel", "a mode", "a tail"])
def test_a_proposal_that_misses_mass_is_told(missing):
    """The neck has the lower 2 % of a funnel: a mixture that leaves it out is what was once accepted."""
    if missing == "the neck of a funnel":
        law, error = funnel(2, 1.5), 0.02
        cut = stats.norm.ppf(error) * 1.5
        kept = lambda x: x[:, 0] > cut
    elif missing == "a mode":
        law, error = mixed((0.9, normal(2)), (0.1, normal(2, at=7.0, sd=0.5))), 0.1
        kept = lambda x: x[:, 0] < 4
    else:
        law, error = by_logarithms(product(stats.gamma(0.5), stats.gamma(0.5))), 0.05
        cut = np.log(stats.gamma.ppf(error, 0.5))
        kept = lambda x: x[:, 0] > cut
    rest = Law(lambda x: np.where(kept(x), law.logp(x), -np.inf), law.draws, 2)
    with np.errstate(all="ignore"):
        blind = source_of(rest).bounded
        doubts = lost(law.logp, blind, np.zeros((1, 2)), 8192, np.random.default_rng(1))
    assert doubts.error > max(ACCEPTED, error / 10)


def test_the_error_is_that_of_the_bound():
    """A bound that is a tenth too low at the mode of a normal law, by a formula for what is above."""
    law, mixture = normal(2), guarded(alone(np.zeros(2), np.eye(2)))
    most = float(np.max(law.logp(np.zeros((1, 2))) - mixture.log_density(np.zeros((1, 2)))))
    bounded = Bounded(mixture, most)
    x = law.draws(400_000)
    exact = np.mean(-np.expm1(-np.maximum(law.logp(x) - mixture.log_density(x) - bounded.log_bound, 0.0)))
    doubts = lost(law.logp, bounded, np.zeros((1, 2)), 8192, np.random.default_rng(1))
    assert exact > 0.01 and exact / 2 < doubts.error < 4 * exact


def test_populations_see_the_mass():
    law = normal(3, 0.5, sd=[1e-3, 1.0, 50.0], at=20.0)
    found = settled(lambda x: law.logp(x) + 7.0, np.zeros((2, 3)), np.stack([np.eye(3)] * 2), np.random.default_rng(0))
    assert len(found) == 2
    for each in found:
        assert np.all(np.abs(each.mean - 20.0) < [1e-3, 1.0, 50.0]) and abs(each.log_mass - 7.0) < 0.4


def test_a_level_leaves_a_share_above():
    weights = RNG.exponential(size=10_000)
    bound = level(weights, 0.01)
    assert np.sum(np.maximum(weights - bound, 0.0)) == pytest.approx(0.01 * weights.sum(), rel=1e-6)


def test_draws_are_those_of_the_seed_and_the_chain():
    source = source_of(normal(2))
    first, _ = source.draws(3, 1, 100)
    longer, values = source.draws(3, 1, 3000)
    assert np.array_equal(first, longer[:100]) and np.allclose(values, normal(2).logp(longer))
    assert not np.array_equal(source.draws(3, 2, 100)[0], first)
    assert not np.array_equal(source.draws(3, 1, 100, purpose=1)[0], first)
    assert abs(np.corrcoef(longer[:-1, 0], longer[1:, 0])[0, 1]) < 5 / np.sqrt(3000)


def test_a_density_in_jax_is_compiled_once():
    source = rejection(lambda x: -0.5 * x[0] ** 2 - 0.5 * (x[1] - x[0]) ** 2, [[1.0, 1.0]])
    values, _ = source.draws(1, 0, 4000)
    assert np.all(np.abs(np.cov(values.T) - [[1, 1], [1, 2]]) < 0.2)
