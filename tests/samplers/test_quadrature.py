"""Independent draws of numbers, from laws that are known; and a reason where there is no law."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from ppl.samplers import UnresolvedError, quadrature
from ppl.samplers.independent import panels as panels_module
from ppl.samplers.independent.panels import ACCEPTED, Panels
from ppl.samplers.independent.quadrature import BATCH, batches, followed, side_by_side
from ppl.samplers.independent.region import Region, Search

DRAWS, FALSE_ALARM = 4000, 1e-6  # of one Kolmogorov-Smirnov test; there are fewer than 100 of these
Line = Callable[[np.ndarray], np.ndarray]


class Law(NamedTuple):
    """A log-density, up to a constant that is its mass, and its distribution function."""

    logp: Line
    cdf: Line
    log_mass: float = 0.0


def mixture(*parts: tuple[float, float, float]) -> Law:
    """Normal laws by weight, mean and scale."""
    terms = lambda x: [np.log(w) + stats.norm.logpdf(x, m, s) for w, m, s in parts]
    return Law(
        lambda x: special.logsumexp(terms(x), axis=0), lambda x: sum(w * stats.norm.cdf(x, m, s) for w, m, s in parts)
    )


def student(nu: float) -> Law:
    return Law(lambda x: stats.t.logpdf(x, nu) + 7, lambda x: stats.t.cdf(x, nu), 7.0)


def log_gamma(shape: float) -> Law:
    return Law(lambda x: shape * x - np.exp(x), lambda x: special.gammainc(shape, np.exp(x)), special.gammaln(shape))


def _horseshoe(x: np.ndarray) -> np.ndarray:
    """The integral of log(1 + 2/x²), a pole at zero, from minus infinity."""
    r = np.sqrt(2.0)
    return x * np.log1p(2 / x**2) + 2 * r * (np.arctan(x / r) + np.pi / 2)


LAWS = {
    "normal": mixture((1, 0, 1)),
    "a thousand away from the start, narrow": mixture((1, 1000, 1e-4)),
    "a millionth wide": mixture((1, 0.3, 1e-6)),
    "wider than the grid begins": mixture((1, 3, 1e12)),
    "modes far apart": mixture((0.3, -50, 1), (0.7, 200, 0.1)),
    "five modes": mixture((0.2, -1e3, 10), (0.2, -10, 0.1), (0.2, 0, 1e-3), (0.2, 7, 1), (0.2, 5e3, 100)),
    "spike at the start": mixture((0.5, 0, 1), (0.5, 0, 1e-6)),
    "spike between the points of the grid": mixture((0.5, 0.1, 1), (0.5, 0.2, 1e-3)),
    "Student, 3": student(3),
    "Cauchy": student(1),
    "Student, 1/2": student(0.5),
    "gamma by its logarithm, 1/10": log_gamma(0.1),
    "gamma by its logarithm, 50": log_gamma(50),
    "gamma by its logarithm, 10⁴": log_gamma(1e4),
    "half-Cauchy by its logarithm": Law(
        lambda x: np.log(2 / np.pi) - np.log1p(np.exp(x) ** 2) + x, lambda x: 2 / np.pi * np.arctan(np.exp(x))
    ),
    "horseshoe": Law(
        lambda x: np.log(np.log1p(2 / x**2)),
        lambda x: _horseshoe(x) / (2 * np.pi * np.sqrt(2)),
        np.log(2 * np.pi * np.sqrt(2)),
    ),
    "pole at each end": Law(lambda x: stats.beta.logpdf(x, 0.5, 0.5), lambda x: stats.beta.cdf(x, 0.5, 0.5)),
    "jumps": Law(lambda x: stats.uniform.logpdf(x, 0.2, 0.13), lambda x: stats.uniform.cdf(x, 0.2, 0.13)),
    "exponential": Law(stats.expon.logpdf, stats.expon.cdf),
    "kink": Law(lambda x: stats.laplace.logpdf(x, 0.3), lambda x: stats.laplace.cdf(x, 0.3)),
}


def panels_of(logp: Line, *starts: float, reach: float = np.inf) -> Panels:
    starts = starts or (0.0,)
    with np.errstate(all="ignore"):
        return along({"x": followed(starts, reach)}, logp, starts[0])[0]


def along(searches: dict[str, Search[Panels]], logp: Line, start: float) -> list[Panels]:
    """What searches find, each along a number of the same density."""
    return side_by_side(searches, logp, np.full(len(searches), start))


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_invert_the_distribution_function(name: str) -> None:
    law = LAWS[name]
    found = panels_of(law.logp)
    probabilities = np.random.default_rng(1).random(DRAWS)
    x, lp = found.quantiles(probabilities)
    rounding = 4 * np.max(np.exp(law.logp(x) - law.log_mass) * np.spacing(np.abs(x)))  # no number lies between
    assert found.error < ACCEPTED
    assert np.max(np.abs(law.cdf(x) - probabilities)) < 2 * found.error + rounding + 1e-12
    assert found.log_mass == pytest.approx(law.log_mass, abs=2 * found.error + 1e-11)
    assert np.quantile(np.abs(lp - law.logp(x)), 0.999) < 1e-6
    assert stats.kstest(x, law.cdf).pvalue > FALSE_ALARM
    order = np.argsort(probabilities)
    assert np.all(np.diff(x[order]) >= 0), "quantiles grow with their probabilities"


def test_the_error_is_an_upper_bound_where_the_density_is_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tolerance that leaves an error to be seen, the estimate is above it."""
    law = LAWS["Student, 3"]
    probabilities = np.linspace(0.001, 0.999, 999)
    for tolerance in (1e-5, 1e-8):
        monkeypatch.setattr(panels_module, "TOLERANCE", tolerance)
        found = panels_of(law.logp)
        assert np.max(np.abs(law.cdf(found.quantiles(probabilities)[0]) - probabilities)) < found.error


NO_LAW = {
    "no tail": (lambda x: 0 * x, "left tail has no finite mass"),
    "a tail to the left alone": (lambda x: -np.exp(x), "left tail has no finite mass"),
    "a tail to the right alone": (lambda x: -np.exp(-x), "right tail has no finite mass"),
    "a tail like 1/x": (lambda x: -np.log1p(np.abs(x)), "tail has no finite mass"),
    "growing": (lambda x: x**2, "is inf at"),
    "growing until numbers end": (lambda x: np.where(x < -353, np.nan, -8 * x - np.exp(2 * x)), "rise there without"),
    "nan amid the mass": (lambda x: np.where(np.abs(x - 0.2) < 0.1, np.nan, -(x**2)), "is nan at 0.1"),
    "nan where there is still mass": (lambda x: np.where(x > 2, np.nan, -(x**2)), "is nan at 2.0"),
    "nowhere": (lambda x: np.full_like(x, np.nan), "finite at none"),
    "zero everywhere": (lambda x: np.full_like(x, -np.inf), "finite at none"),
    "a single point": (lambda x: np.where(x == 0, 0, -np.inf), "but for single points"),
    "waves without end": (lambda x: -(x**2) + 1e-4 * np.sin(1e6 * x), "leave an error"),
}


@pytest.mark.parametrize("name", NO_LAW)
def test_what_polynomials_do_not_follow_is_refused_with_a_reason(name: str) -> None:
    logp, reason = NO_LAW[name]
    with pytest.raises(UnresolvedError, match=reason):
        panels_of(logp)


def test_nan_beyond_the_mass_does_no_harm() -> None:
    found = panels_of(lambda x: np.where(np.abs(x) > 30, np.nan, stats.norm.logpdf(x)))
    assert found.log_mass == pytest.approx(0, abs=1e-11)


def test_several_starts_find_what_one_does_not() -> None:
    law = mixture((0.5, 0, 1), (0.5, 5000, 1e-3))
    assert panels_of(law.logp).log_mass == pytest.approx(np.log(0.5)), "no point of the grid sees the narrow mode"
    found = panels_of(law.logp, 0.0, 5000.0)
    x, _ = found.quantiles(np.random.default_rng(2).random(DRAWS))
    assert found.log_mass == pytest.approx(0, abs=1e-7) and stats.kstest(x, law.cdf).pvalue > FALSE_ALARM


def jax_normal(x, mean, scale):  # type: ignore[no-untyped-def]
    return jnp.sum(-0.5 * ((x - mean) / scale) ** 2)


def test_one_program_serves_all_points_and_other_data() -> None:
    from ppl.samplers import PROGRAMS

    evaluate = batches(jax_normal, 1, (1.0, 2.0), None)
    before = PROGRAMS.compilations
    points = np.linspace(-3, 3, 2 * BATCH + 7)[:, None]
    np.testing.assert_allclose(evaluate(points), -0.5 * ((points - 1) / 2) ** 2, rtol=1e-14)
    source = quadrature(jax_normal, [0.0], data=(5.0, 3.0))
    x, lp = source.draws(1, 0, DRAWS)
    assert PROGRAMS.compilations == before
    assert stats.kstest(x[:, 0], stats.norm(5, 3).cdf).pvalue > FALSE_ALARM
    np.testing.assert_allclose(lp, -0.5 * ((x[:, 0] - 5) / 3) ** 2, atol=1e-6)


def test_draws_of_a_chain_are_its_own() -> None:
    """They depend on the seed and the chain's number; more draws go on where fewer end."""
    source = quadrature(jax_normal, [0.0], data=(0.0, 1.0))
    first = source.draws(3, 1, 500)[0]
    np.testing.assert_array_equal(first, source.draws(3, 1, 900)[0][:500])
    for other in (source.draws(4, 1, 500), source.draws(3, 0, 500), source.draws(3, 1, 500, purpose=1)):
        assert not np.any(first == other[0])
    many = np.stack([source.draws(5, chain, DRAWS)[0][:, 0] for chain in range(2)])
    assert abs(np.corrcoef(many)[0, 1]) < 5 / np.sqrt(DRAWS)  # false alarms: 6e-7
    assert abs(np.corrcoef(many[0, 1:], many[0, :-1])[0, 1]) < 5 / np.sqrt(DRAWS)
    assert source.draws(1, 0, 0)[0].shape == (0, 1)


def jax_normals(x, mean, scale):  # type: ignore[no-untyped-def]
    return -0.5 * ((x - mean) / scale) ** 2


def test_several_numbers_are_looked_for_side_by_side() -> None:
    """Of very different scales, each by its own points; a number draws the same whatever stands beside it."""
    mean, scale = np.array([0.0, 1e6, -3.0]), np.array([1.0, 0.1, 1e4])
    source = quadrature(jax_normals, [np.zeros(3), mean], data=(mean, scale), names=["a", "b", "c"])
    x, lp = source.draws(1, 0, DRAWS)
    assert x.shape == (DRAWS, 3) and source.error < ACCEPTED
    np.testing.assert_allclose(lp, np.sum(-0.5 * ((x - mean) / scale) ** 2, axis=1), atol=1e-6)
    for k in range(3):
        assert stats.kstest((x[:, k] - mean[k]) / scale[k], stats.norm.cdf).pvalue > FALSE_ALARM
    assert np.abs(np.corrcoef(x.T) - np.eye(3)).max() < 5.5 / np.sqrt(DRAWS)
    fewer = quadrature(jax_normals, [np.zeros(1)], data=(mean[2:], scale[2:]), names=["c"])
    np.testing.assert_allclose(fewer.draws(1, 0, 100)[0][:, 0], x[:100, 2], rtol=1e-6)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_each_number_has_a_name_of_its_own(names: list[str]) -> None:
    """By which its draws are made: two of one name would have the same."""
    with pytest.raises(ValueError, match="each of the 2 numbers of a position needs one of its own"):
        quadrature(jax_normals, [np.zeros(2)], data=(np.zeros(2), np.ones(2)), names=names)


def test_the_number_that_has_no_law_is_named() -> None:
    with pytest.raises(UnresolvedError, match="b: the left tail has no finite mass"):
        quadrature(lambda x: jnp.stack([-(x[0] ** 2), 0.0 * x[1]]), [np.zeros(2)], names=["a", "b"])


def test_mass_in_one_point_is_refused() -> None:
    """As of equal data about an unknown mean, whose density rises without bound where the noise is zero."""
    with pytest.raises(UnresolvedError, match="one point"):
        next(panels_module.panels(Region(np.array([0.3]), 0.0)))


def _where(condition: Line, logp: Line = stats.norm.logpdf, other: float = -np.inf) -> Line:
    """A log-density in some places, and another number elsewhere."""
    return lambda x: np.where(condition(x), logp(x), other)


def _whole(x: np.ndarray) -> np.ndarray:
    return np.equal(x, np.floor(x))


def _of_interval(low: float, high: float, logp: Line) -> Line:
    """The log-density of a number between two, as a function of the logarithm of its odds."""

    def of_odds(x: np.ndarray) -> np.ndarray:
        share = special.expit(x)
        return logp(low + (high - low) * share) + special.log_expit(x) + special.log_expit(-x)

    return of_odds


GRID = np.unique(np.concatenate([np.linspace(-12, 12.1, 240_001), np.linspace(0.29, 0.3217, 30_001)]))
SHARP: dict[str, Line] = {
    "a gap": _where(lambda x: abs(x - 0.3) > 0.05),
    "a narrow gap": _where(lambda x: abs(x - 0.3) > 0.005),
    "a hidden step up": lambda x: stats.norm.logpdf(x) + 3.0 * (abs(x - 0.31) < 0.003),
    "cut off on one side": _where(lambda x: x > 0.123),
    "cut off on both": _where(lambda x: (x > 0.123) & (x < 0.45)),
    "two islands": _where(lambda x: (abs(x + 1.3) < 0.3) | (abs(x - 2.2) < 0.1)),
    "stairs": lambda x: -0.5 * np.floor(x) ** 2,
    "fine stairs": lambda x: -0.5 * np.floor(20 * x) ** 2 / 400,
    "stairs of numbers": lambda x: -0.5 * (np.floor(1e3 * x) / 1e3) ** 2,
    "a comb": _where(lambda x: np.floor(200 * x) % 2 == 0),
    "a comb of few teeth": _where(lambda x: np.floor(2 * x) % 2 == 0),
    "whole numbers alone": _where(_whole),
    "whole numbers of an interval, begun at one": _of_interval(30, 500, _where(_whole, lambda x: -0.01 * x)),
    "whole numbers of an interval, begun at none": _of_interval(30, 501, _where(_whole, lambda x: -0.01 * x)),
    "whole numbers, and half as much between": _where(lambda x: ~_whole(x), other=3.0),
    "a point": _where(lambda x: x != 0, other=50.0),
    "a point that no grid holds": _where(lambda x: x != 0.7234, other=50.0),
    "nan in a gap": _where(lambda x: abs(x - 0.3) > 0.01, other=np.nan),
    "infinite in a gap": _where(lambda x: abs(x - 0.3) > 0.01, other=np.inf),
    "a pole that has no integral": lambda x: stats.norm.logpdf(x) - np.log(abs(x - 0.3)),
    "a pole that nearly has none": lambda x: stats.norm.logpdf(x) - 0.99 * np.log(abs(x - 0.3)),
    "a spike": lambda x: np.logaddexp(stats.norm.logpdf(x), stats.norm.logpdf(x, 0.31, 1e-3)),
    "a wide spike": lambda x: np.logaddexp(stats.norm.logpdf(x), stats.norm.logpdf(x, 0.31, 1e-2)),
    "a ripple": lambda x: stats.norm.logpdf(x) + np.sin(3e4 * x),
    "a slow ripple": lambda x: stats.norm.logpdf(x) + np.sin(30 * x),
    "rare zeros": _where(lambda x: np.mod(x, 0.25) > 0.004),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARP)
def test_what_is_zero_infinite_or_sharp_between_nodes_is_drawn_right_or_refused(name: str) -> None:
    """By the distribution function on a grid that is a thousand times finer than the panels begin with."""
    logp = SHARP[name]
    try:
        found = panels_of(logp, reach=30.0 if "interval" in name else np.inf)
    except UnresolvedError:
        return
    with np.errstate(all="ignore"):
        density = np.exp(logp(GRID))
    below = np.cumsum(np.append(0.0, np.diff(GRID) * (density[1:] + density[:-1]) / 2))
    probabilities = np.linspace(0.001, 0.999, 999)
    drawn = np.interp(found.quantiles(probabilities)[0], GRID, below / below[-1])
    assert np.max(np.abs(drawn - probabilities)) < 1e-3


@pytest.mark.parametrize(
    ("name", "most"), [("normal", 1527), ("Student, 3", 2915), ("gamma by its logarithm, 50", 1540)]
)
def test_an_ordinary_density_is_looked_at_as_often_as_before(name: str, most: int) -> None:
    """The points that its panels are checked at are among those that it was compared at anyway, or a few more."""
    seen = []

    def logp(x: np.ndarray) -> np.ndarray:
        seen.append(x.size)
        return np.asarray(LAWS[name].logp(x))

    panels_of(logp)
    assert sum(seen) <= most


def test_many_sharp_places_are_looked_for_once_one_is_found() -> None:
    """A first look sees some of these gaps; the next ones look at more points, until none is left."""
    middles = np.linspace(-2, 2, 11) + 0.0123
    logp = _where(lambda x: np.all(abs(x[..., None] - middles) > 0.01, axis=-1))
    found = panels_of(logp)
    assert found.log_mass == pytest.approx(
        np.log(1 - np.sum(stats.norm.cdf(middles + 0.01) - stats.norm.cdf(middles - 0.01))), abs=1e-7
    )
