"""What comes back where data stand at a limit, for every theorem that integrates a variable out: a row that is equal to
its mean, no successes or all, counts of zero, no rows at all, data far out in a tail, parameters at the ends of their
domains. Draws are compared with the conditional law, which is worked out from the joint density as written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special, stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import FAMILIES, Bernoulli, Binomial, Exponential, HalfNormal, Normal, Pareto, Uniform
from ppl.distributions.draws.draw import draw
from ppl.distributions.transforms import default_transform
from ppl.graph import substitute
from ppl.rewrites.marginalization import Observation, Program, words
from ppl.rewrites.marginalization.conjugate import compounds, conjugate, thinning, wishart
from ppl.rewrites.marginalization.conjugate import pareto as largest
from ppl.rewrites.marginalization.conjugate.compounds import COMPOUNDS
from ppl.rewrites.marginalization.conjugate.pairs import PAIRS, PRIORS
from ppl.rewrites.marginalization.gaussian import kronecker_process as grids
from ppl.rewrites.marginalization.gaussian import markov_process as markov
from ppl.rewrites.marginalization.gaussian import noisy_process as noisy
from ppl.rewrites.marginalization.gaussian import rotated_process as rotated
from ppl.rewrites.marginalization.planning.registry import THEOREMS
from ppl.rewrites.marginalization.program import log_density
from ppl.rewrites.marginalization.theorem import Match
from ppl.samplers.independent.quadrature import followed, side_by_side
from ppl.tensor.kernels.correlations import matern32
from ppl.tensor.kernels.distances import squared_distance
from ppl.tensor.sampling.keys import Key

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

DRAWS, FALSE_ALARM = 2000, 1e-6
PROBABILITIES = (np.arange(4000) + 0.5) / 4000
Build = Callable[[int], tuple[Any, list[Observation]]]  # independent copies of a variable, and rows that depend on it
Theorem = Callable[[Program, Any], Match]


class Edge(NamedTuple):
    """A variable and rows, each as many times as asked, and the theorem that integrates the variable out."""

    build: Build
    theorem: Theorem


def drawn(edge: Edge) -> tuple[float, np.ndarray]:
    """The marginal log-density of one copy, and draws of the variable given its rows."""
    variable, rows = edge.build(DRAWS)
    after = edge.theorem(Program((variable,), tuple(rows)), variable)
    (recovery,) = after.recoveries
    density: Any = 0.0
    for factor in (*after.terms, *after.observed):
        density = density + tt.sum(log_density(factor))
    return float(tt.as_tensor(density).eval()) / DRAWS, np.asarray(pm.draw(recovery.draw, random_seed=1))


def joint(edge: Edge, x: np.ndarray) -> np.ndarray:
    """The log-density of a copy and its rows, at values of the copy."""
    variable, rows = edge.build(len(x))
    at = {variable: tt.as_tensor(x)}
    total = variable.family.log_density(at[variable], *variable.parameters)
    for row in rows:
        total = total + log_density(row, at).reshape((len(x), -1)).sum(axis=1)
    return np.asarray(total.eval())


def by_quadrature(edge: Edge, start: float) -> tuple[float, np.ndarray]:
    """The logarithm of the integral of a joint density, and quantiles of the variable, along the real line."""
    variable, _ = edge.build(1)
    transform = default_transform(variable.family, variable.parameters)

    def on_line(line: np.ndarray) -> tuple[np.ndarray, Any]:
        if transform is None:
            return line, 0.0
        copies = edge.build(len(line))[0]
        there = transform.backward(tt.as_tensor(line), *copies.parameters)
        return np.asarray(there.eval()), transform.log_jac_det(tt.as_tensor(line), *copies.parameters).eval()

    def evaluate(points: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            x, volume = on_line(points[:, 0])
            return (joint(edge, x) + volume)[:, None]

    (found,) = side_by_side({"x": followed([start])}, evaluate, np.zeros(1))
    return found.log_mass, on_line(found.quantiles(PROBABILITIES)[0])[0]


def holds(edge: Edge, start: float = 0.0) -> None:
    """The marginal is the integral, and draws follow the conditional law."""
    marginal, found = drawn(edge)
    log_mass, quantiles = by_quadrature(edge, start)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(marginal, log_mass, rtol=1e-7, atol=1e-7)
    assert stats.kstest(found, lambda at: np.interp(at, quantiles, PROBABILITIES)).pvalue > FALSE_ALARM


def seen(law: Any, values: Any) -> Observation:
    return Observation(law, tt.as_tensor(np.broadcast_to(values, law.type.shape).copy()))


# --- conjugate pairs
LIMITS: dict[str, list[dict[str, Any]]] = {
    "Poisson": [{"y": 0}],
    "Exponential": [{"y": 0.0}, {"y": 1e-300}],
    "Gamma": [{"alpha": 1.0, "y": 0.0}, {"alpha": 0.3, "y": 1e-200}],
    "Normal": [{"mu": 0.4, "y": 0.4}, {"mu": 1e8, "y": 1e8}],
    "Bernoulli": [{"y": 0}, {"y": 1}],
    "Binomial": [{"n": 5, "y": 0}, {"n": 5, "y": 5}, {"n": 0, "y": 0}],
    "Geometric": [{"y": 1}],
    "NegativeBinomial": [{"n": 3, "y": 0}, {"n": 1e-3, "y": 0}],
}
SCALARS = [pair for pair in PAIRS if pair.prior != "Dirichlet"]
GIVEN = {
    "Gamma": {"alpha": 0.7, "beta": 0.6}, "Exponential": {"lam": 0.8}, "ChiSquared": {"nu": 1.0},
    "InverseGamma": {"alpha": 2.3, "beta": 1.4}, "Beta": {"alpha": 0.5, "beta": 2.1},
    "Uniform": {"lower": 0.0, "upper": 1.0},
}  # fmt: skip


def of_pair(prior: str, pair: Any, at: dict[str, Any], count: int) -> Edge:
    def build(n: int) -> tuple[Any, list[Observation]]:
        given = dict(at)
        y = given.pop("y")
        x = FAMILIES[prior].dist(**GIVEN[prior], shape=(n,), name="x")
        slot = x[np.repeat(np.arange(n), count)]
        law = FAMILIES[pair.child].dist(**{pair.slot: slot if pair.power == 1.0 else slot**pair.power}, **given)
        return x, [seen(law, y)]

    return Edge(build, conjugate.integrated_out)


CASES = [
    pytest.param(prior, pair, at, count, id=f"{prior}-{pair.child}-{at}-{count}")
    for prior, known in PRIORS.items() for pair in SCALARS if pair.prior == known.family
    for at in LIMITS[pair.child] for count in (1, 12)
]  # fmt: skip


@pytest.mark.parametrize(("prior", "pair", "at", "count"), CASES)
def test_conjugate_pairs(prior: str, pair: Any, at: dict[str, Any], count: int) -> None:
    holds(of_pair(prior, pair, at, count))


@pytest.mark.parametrize("prior", [name for name in PRIORS if name != "Dirichlet"])
def test_groups_without_rows_have_their_prior(prior: str) -> None:
    """Beside a group that has some."""
    pair = next(p for p in PAIRS if p.prior == PRIORS[prior].family)
    at = dict(LIMITS[pair.child][0])
    y = at.pop("y")
    x = FAMILIES[prior].dist(**GIVEN[prior], shape=(DRAWS + 1,), name="x")
    slot = x[np.zeros(3, dtype=int)]
    child = FAMILIES[pair.child].dist(**{pair.slot: slot if pair.power == 1.0 else slot**pair.power}, **at)
    (recovery,) = conjugate.integrated_out(Program((x,), (seen(child, y),)), x).recoveries
    found = np.asarray(pm.draw(recovery.draw, random_seed=1))[1:]
    log_cdf = x.family.log_cdf(tt.as_tensor(found), *FAMILIES[prior].dist(**GIVEN[prior]).parameters)
    assert stats.kstest(np.exp(log_cdf.eval()), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("counts", [[0, 0, 0], [9, 0, 0], [0, 0, 1]])
@pytest.mark.parametrize("child", ["Categorical", "Multinomial"])
def test_shares_of_categories(child: str, counts: list[int]) -> None:
    """Categories of which there is none, and rows of no trials; each share is a beta variable."""
    a = np.array([0.4, 1.0, 2.5])
    x = FAMILIES["Dirichlet"].dist(a, shape=(DRAWS, 3), name="x")
    if child == "Multinomial":
        rows = seen(FAMILIES[child].dist(sum(counts), x), counts)
    else:
        labels = np.repeat(np.arange(3), counts)
        picked = x[np.repeat(np.arange(DRAWS), len(labels))]
        rows = seen(FAMILIES[child].dist(picked, shape=(DRAWS * len(labels),)), np.tile(labels, DRAWS))
    (recovery,) = conjugate.integrated_out(Program((x,), (rows,)), x).recoveries
    found, after = np.asarray(pm.draw(recovery.draw, random_seed=1)), a + counts
    for k in range(3):
        assert stats.kstest(found[:, k], stats.beta(after[k], after.sum() - after[k]).cdf).pvalue > FALSE_ALARM


# --- compounds
def of_compound(index: int, y: Any, c: float = 1.0, b: float = 0.0, sigma: float = 0.5, first: Any = 0.8) -> Edge:
    rule = COMPOUNDS[index]

    def build(n: int) -> tuple[Any, list[Observation]]:
        x = rule.latent.dist(*np.atleast_1d(first), shape=(n,), name="x")
        if rule.power != 1.0:
            return x, [seen(Normal.dist(b, (c * x) ** rule.power), y)]
        if rule.link is not None:
            return x, [seen(Bernoulli.dist(tt.ndtr(c * x + b)), y)]
        return x, [seen(Normal.dist(c * x + b, sigma), y)]

    return Edge(build, compounds.integrated_out)


AWAY = {
    "at its mean": {"y": 0.3, "b": 0.3}, "far below": {"y": -60.0}, "far above": {"y": 60.0},
    "mirrored, far": {"y": 60.0, "c": -1.0}, "little noise": {"y": 0.3, "sigma": 1e-6},
    "little noise, below": {"y": -0.3, "sigma": 1e-3}, "much noise": {"y": 0.3, "sigma": 1e6},
    "a small coefficient": {"y": 0.3, "c": 1e-9}, "a wide prior": {"y": 0.3, "first": 1e-6},
    "a narrow one": {"y": 0.3, "first": 1e6},
}  # fmt: skip
ZERO = {
    "at its mean": {"y": 0.3, "b": 0.3}, "next to it": {"y": 1e-170}, "a bit off": {"y": 1e-9}, "far": {"y": 1e4},
    "at its mean, far from zero": {"y": 1e8, "b": 1e8, "c": 2.5}, "a wide prior": {"y": 1e-3, "first": 1e-9},
    "a narrow one": {"y": 1e-3, "first": 1e9},
}  # fmt: skip
LIKELY = {
    "sure": {"y": 1, "b": 30.0, "first": (0.4, 1.3)}, "nearly impossible": {"y": 1, "b": -30.0, "first": (0.4, 1.3)},
    "no slope": {"y": 1, "c": 1e-12, "first": (0.4, 1.3)}, "steep": {"y": 1, "c": 1e4, "b": -1.0, "first": (0.4, 1.3)},
    "narrow": {"y": 1, "c": 2.0, "b": 1.0, "first": (-8.0, 1e-3)}, "wide": {"y": 0, "c": -2.0, "first": (1.0, 1e6)},
}  # fmt: skip
OF = {Exponential: AWAY, HalfNormal: AWAY, "sigma": ZERO, Normal: LIKELY}
COMPOUNDED = [
    pytest.param(i, given, id=f"{rule.state.__name__}-{name}")
    for i, rule in enumerate(COMPOUNDS)
    for name, given in OF["sigma" if rule.slot == "sigma" else rule.latent].items()
]


@pytest.mark.parametrize(("index", "given"), COMPOUNDED)
def test_compounds(index: int, given: dict[str, Any]) -> None:
    holds(of_compound(index, **given))


@pytest.mark.parametrize("drift", [np.inf, 1e200])
def test_first_passages_without_drift_have_the_law_of_levy(drift: float) -> None:
    law, levy = draw(FAMILIES["Wald"], tuple(map(tt.as_tensor, (drift, 1.7, 0.0)))), stats.levy(scale=1.7)
    found = np.asarray(pm.draw(law, DRAWS, random_seed=1))
    assert stats.kstest(found, levy.cdf).pvalue > FALSE_ALARM
    at = np.array([0.1, 1.0, 1e6])
    np.testing.assert_allclose(pm.logp(law, at).eval(), levy.logpdf(at), rtol=1e-12)
    np.testing.assert_allclose(pm.logcdf(law, at).eval(), levy.logcdf(at), rtol=1e-9)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("width", [np.inf, 2e-9])
def test_normal_draws_far_beyond_a_bound_have_digits_left(side: float, width: float) -> None:
    """A billion scales from the mean: what is above the bound is exponential, cut off at the other one."""
    far, bound = 1e9, 3.0
    ends = (bound, bound + width) if side > 0 else (-bound - width, -bound)
    law = FAMILIES["TruncatedNormal"].dist(mu=side * (bound - far), sigma=1.0, lower=ends[0], upper=ends[1])
    found = side * np.asarray(pm.draw(law, DRAWS, random_seed=1)) - bound
    assert np.isfinite(pm.logp(law, side * bound).eval()) or np.isfinite(width)
    coarse = np.spacing(bound) * far  # of a number near the bound, as a share of the scale of what is above
    assert stats.kstest(found * far, stats.truncexpon(b=width * far).cdf).statistic < coarse + 0.06


# --- bounds of uniform rows
@pytest.mark.parametrize("y", [[], [0.0], [0.0, 0.0, 1.0], [1.0], [7.0, 1e-300], [1e12]])
def test_bounds_of_uniform_rows(y: list[float]) -> None:
    def build(n: int) -> tuple[Any, list[Observation]]:
        x = Pareto.dist(1.5, 1.0, shape=(n,), name="x")
        rows = Uniform.dist(0.0, x[np.repeat(np.arange(n), len(y))], shape=(n * len(y),))
        return x, [Observation(rows, tt.as_tensor(np.tile(np.array(y, dtype=float), n)))]

    holds(Edge(build, largest.integrated_out))


# --- counts seen in part
THINNED = {
    "Poisson": [{"mu": 3.1}, {"mu": 0.0}, {"mu": 1e-9}],
    "Binomial": [{"n": 9, "p": 0.6}, {"n": 9, "p": 0.0}, {"n": 9, "p": 1.0}, {"n": 0, "p": 0.6}],
    "NegativeBinomial": [{"n": 2.5, "p": 0.4}, {"n": 2.5, "p": 1.0}, {"n": 1e-6, "p": 0.4}],
}
UP_TO = 60


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("of", "given"), [(of, given) for of in THINNED for given in THINNED[of]])
def test_counts_seen_in_part(of: str, given: dict[str, Any], chance: float) -> None:
    """At every number that may have been seen: the law of the count given that, by Bayes, or its density is 0."""
    law = FAMILIES[of]
    for y in (0, 3, 9):
        x = law.dist(**given, shape=(DRAWS,), name="x")
        rows = seen(Binomial.dist(x, chance), y)
        after = thinning.integrated_out(Program((x,), (rows,)), x)
        n = np.arange(UP_TO)
        prior = law.log_density(tt.as_tensor(n), *law.dist(**given).parameters)
        weights = np.exp((prior + Binomial.log_density(y, tt.as_tensor(n), tt.as_tensor(chance))).eval())
        total = sum(tt.sum(log_density(f)) for f in (*after.observed, *after.terms)).eval() / DRAWS
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(total, np.log(weights.sum()), rtol=1e-9, atol=1e-9)
        if weights.sum() == 0:
            continue
        found = np.bincount(np.asarray(pm.draw(after.recoveries[0].draw, random_seed=1)), minlength=UP_TO)
        expected = DRAWS * weights / weights.sum()
        compare_counts(found, expected)


def compare_counts(found: np.ndarray, expected: np.ndarray) -> None:
    """What is impossible must not be drawn, and what is not rare as often as expected."""
    assert not found[expected == 0].any()
    often = expected > 5
    score = np.sum((found[often] - expected[often]) ** 2 / expected[often])
    assert stats.chi2(max(often.sum(), 1)).sf(score) > FALSE_ALARM


# --- precisions of vectors
SCALE = np.array([[0.5, 0.1], [0.1, 0.3]])


@pytest.mark.parametrize("rows", [[[0.0, 0.0]], [[0.0, 0.0]] * 3, [[1e5, 1e5]], [[1.0, 1.0], [-2.0, -2.0]]])
def test_precisions_of_vectors(rows: list[list[float]]) -> None:
    """Of rows that are equal to their mean, or on one line: entries of the diagonal are chi-squared but for scales."""
    y, nu = np.array(rows), 2.0
    x = FAMILIES["Wishart"].dist(nu=nu, V=SCALE, name="x")
    law = FAMILIES["MvNormal"].dist(np.zeros(2), tau=x, shape=y.shape)
    (recovery,) = wishart.integrated_out(Program((x,), (Observation(law, tt.as_tensor(y)),)), x).recoveries
    found = np.asarray(pm.draw(recovery.draw, DRAWS, random_seed=1))
    scale = np.linalg.inv(np.linalg.inv(SCALE) + y.T @ y)
    for i in range(2):
        assert stats.kstest(found[:, i, i] / scale[i, i], stats.chi2(nu + len(y)).cdf).pvalue > FALSE_ALARM


# --- normal laws
class Linear(NamedTuple):
    """A normal vector N(0, cov), and rows y of the means A x and the scales sigma."""

    cov: np.ndarray
    design: np.ndarray
    sigma: float
    y: np.ndarray

    def is_law_of(self, found: np.ndarray) -> None:
        """Compare draws with the conditional law: whitened, they are independent standard normal numbers."""
        seen = self.design @ self.cov @ self.design.T + self.sigma**2 * np.eye(len(self.y))
        gain = np.linalg.solve(seen, self.design @ self.cov).T
        mean, cov = gain @ self.y, self.cov - gain @ self.design @ self.cov
        sd = np.sqrt(np.diag(cov))
        z = (found.reshape(len(found), -1) - mean) / sd
        for column in z.T:
            assert stats.kstest(column, "norm").pvalue > FALSE_ALARM
        assert np.max(np.abs(z.T @ z / len(z) - cov / np.outer(sd, sd))) < 7 / np.sqrt(len(z))


def _one(cov: Any, rows: Sequence[int], coefficient: float, sigma: float, y: Any) -> Linear:
    cov = np.asarray(cov, dtype=float)
    return Linear(cov, coefficient * np.eye(len(cov))[list(rows)], sigma, np.broadcast_to(y, len(rows)).astype(float))


AT = np.linspace(0.0, 1.0, 6)
DECAY = np.exp(-np.abs(AT[:, None] - AT))
WALK = 1.0 + 0.25 * np.minimum.outer(np.arange(12), np.arange(12))
BLOCKS: dict[str, tuple[Callable[[], Any], Linear]] = {
    "at its mean": (lambda: pm.Normal("x", 0.0, 1.2, shape=1), _one([[1.44]], [0], 2.0, 0.5, 0.0)),
    "no coefficient": (lambda: pm.Normal("x", 0.0, 1.2, shape=1), _one([[1.44]], [0], 0.0, 0.5, 3.0)),
    "vague": (lambda: pm.Normal("x", 0.0, 1e4, shape=1), _one([[1e8]], [0], 1.0, 1e-3, 3.0)),
    "tight": (lambda: pm.Normal("x", 0.0, 1e-9, shape=1), _one([[1e-18]], [0], 1.0, 1.0, 50.0)),
    "far": (lambda: pm.Normal("x", 0.0, 1.0, shape=1), _one([[1.0]], [0], 1.0, 1.0, 1e10)),
    "empty groups": (lambda: pm.Normal("x", 0.0, 1.0, shape=4), _one(np.eye(4), [0, 0, 2], 1.0, 1.0, 0.0)),
    "many equal rows": (lambda: pm.Normal("x", 0.0, 1.0, shape=1), _one([[1.0]], [0] * 50, 1.0, 1e-3, 0.5)),
    "walk, few rows": (
        lambda: pm.GaussianRandomWalk("x", sigma=0.5, init_dist=pm.Normal.dist(), shape=12),
        _one(WALK, [0, 5, 11], 1.0, 0.1, 0.0),
    ),
    "walk, all alike": (
        lambda: pm.GaussianRandomWalk("x", sigma=0.5, init_dist=pm.Normal.dist(), shape=12),
        _one(WALK, range(12), 1.0, 0.01, 1.0),
    ),
    "process": (lambda: pm.MvNormal("x", np.zeros(6), cov=DECAY), _one(DECAY, [0, 0, 3], 1.0, 0.1, 0.0)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_gaussian_blocks(name: str) -> None:
    write, law = BLOCKS[name]
    rows, coefficient = np.argmax(law.design != 0, axis=1), float(law.design.max())
    with pm.Model() as model:
        x = write()
        pm.Normal("y", coefficient * x[rows], law.sigma, observed=law.y)
        assert [s.rule for s in pm.explain(model).steps] == ["Gaussian block"]
        found = pm.sample(DRAWS, chains=1, random_seed=3, progressbar=False, quiet=True).posterior["x"].values[0]
    law.is_law_of(found)


@pytest.mark.parametrize("y", [[0.3], [0.3] * 5, [1e6] * 3])
@pytest.mark.parametrize("prior", ["InverseGamma", "Gamma"])
def test_variances_that_a_block_shares(prior: str, y: list[float]) -> None:
    """Rows that are all equal, and equal to the mean of what they share."""
    with pm.Model():
        v = FAMILIES[prior]("v", 2.0, 1.5)
        sd = tt.sqrt(v) if prior == "InverseGamma" else 1 / tt.sqrt(v)
        x = pm.Normal("x", 0.3, 2.0 * sd)
        pm.Normal("y", x, sd, observed=y)
        found = pm.sample(DRAWS, chains=1, random_seed=3, progressbar=False, quiet=True).posterior
    off, n = np.array(y) - 0.3, len(y)
    rate = 1.5 + 0.5 * off @ np.linalg.solve(np.eye(n) + 4.0, off)
    after = stats.gamma(2.0 + n / 2, scale=1 / rate)
    precision = found["v"].values[0] ** (-1.0 if prior == "InverseGamma" else 1.0)
    z = (found["x"].values[0] - (0.3 / 4 + np.sum(y)) / (0.25 + n)) * np.sqrt(precision * (0.25 + n))
    for draws, law in ((precision, after), (z, stats.norm)):
        assert stats.kstest(draws, law.cdf).pvalue > FALSE_ALARM


POWER = tt.dscalar("power")  # of an unknown covariance; it is 1 in the end
PROCESSES = {
    "at its mean": _one(DECAY, range(6), 1.0, 0.1, 0.0),
    "little noise": _one(DECAY, range(6), 1.0, 1e-5, 1.0),
    "an entry twice, others never": _one(DECAY, [0, 0, 3], 1.0, 0.1, 0.0),
    "no coefficient": _one(DECAY, [0, 1, 3], 0.0, 0.1, 1.0),
    "nearly one number": _one(np.ones((6, 6)) + 1e-9 * np.eye(6), range(6), 1.0, 0.1, 0.0),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_seen_through_noise(name: str) -> None:
    law = PROCESSES[name]
    rows, coefficient = np.argmax(law.design != 0, axis=1), float(law.design.max())
    x = FAMILIES["MvNormal"].dist(np.zeros(6), cov=tt.as_tensor(law.cov) ** POWER, name="x")
    child = Observation(Normal.dist(coefficient * x[rows], law.sigma, name="y"), tt.as_tensor(law.y))
    (recovery,) = noisy.integrated_out(Program((x,), (child,)), x).recoveries
    law.is_law_of(np.asarray(pm.draw(substitute(recovery.draw, {POWER: tt.as_tensor(1.0)}), DRAWS, random_seed=2)))


SCATTERED = np.array([0, 7, 3, 3, 11, *range(12, 47)]) / 4.0  # one point twice, and not in order


def _matern(at: np.ndarray, length: float, jitter: float) -> np.ndarray:
    far = np.sqrt(3.0) * np.abs(at[:, None] - at) / length
    return (1 + far) * np.exp(-far) + jitter * np.eye(len(at))


ALONG: dict[str, tuple[float, float, Linear]] = {  # the length and the jitter of a Matérn covariance, and the law
    name: (length, jitter, _one(_matern(SCATTERED, length, jitter), rows, c, sigma, y))
    for name, (length, jitter, rows, c, sigma, y) in {
        "at its mean": (1.0, 1e-6, range(40), 1.0, 0.1, 0.0),
        "little noise": (1.0, 1e-6, range(40), 1.0, 1e-4, 1.0),
        "few rows": (1.0, 1e-6, range(3, 38), 0.5, 0.3, 1.0),
        "nearly one number": (300.0, 1e-6, range(40), 1.0, 0.1, 1.0),
        "nearly independent": (1e-3, 1e-6, range(40), 1.0, 0.1, 1.0),
        "no coefficient": (1.0, 1e-6, range(40), 0.0, 0.1, 1.0),
    }.items()
}


def _along(length: float, jitter: float) -> Any:
    points = SCATTERED[:, None]
    return POWER * matern32(squared_distance(points, points, length)) + jitter * np.eye(len(points))


def _drawn(recovery: Any) -> np.ndarray:
    return np.asarray(pm.draw(substitute(recovery.draw, {POWER: tt.as_tensor(1.0)}), DRAWS, random_seed=2))


@pytest.mark.parametrize("name", ALONG)
def test_processes_along_their_input(name: str) -> None:
    length, jitter, law = ALONG[name]
    rows, coefficient = np.argmax(law.design != 0, axis=1), float(law.design.max())
    rows = rows if coefficient else np.arange(len(law.y))
    x = FAMILIES["MvNormal"].dist(np.zeros(40), cov=_along(length, jitter), name="x")
    seen = coefficient * x[rows] if len(rows) < 40 else coefficient * x
    child = Observation(Normal.dist(seen, law.sigma, name="y"), tt.as_tensor(law.y))
    (recovery,) = markov.integrated_out(Program((x,), (child,)), x).recoveries
    law.is_law_of(_drawn(recovery))


@pytest.mark.parametrize("name", ALONG)
def test_standard_normal_variables_that_a_factor_rotates(name: str) -> None:
    length, jitter, law = ALONG[name]
    root = np.linalg.cholesky(law.cov)
    v = FAMILIES["Normal"].dist(0.0, 1.0, shape=40, name="v")
    rows = np.argmax(law.design != 0, axis=1) if law.design.any() else np.arange(len(law.y))
    f = tt.times_vectors(tt.cholesky(_along(length, jitter)), v)
    seen = float(law.design.max()) * (f[rows] if len(rows) < 40 else f)
    child = Observation(Normal.dist(seen, law.sigma, name="y"), tt.as_tensor(law.y))
    (recovery,) = rotated.integrated_out(Program((v,), (child,)), v).recoveries
    whole = Linear(np.eye(40), law.design @ root, law.sigma, law.y)
    whole.is_law_of(_drawn(recovery))


@pytest.mark.parametrize("shift", [0.0, 1e-9])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_processes_on_grids(shift: float, y: float) -> None:
    """Of nearly singular factors, at their mean and away from it."""
    factors = [np.ones((2, 2)) + (shift or 0.5) * np.eye(2), DECAY[:3, :3]]
    x = FAMILIES["KroneckerNormal"].dist(mu=np.zeros(6), covs=factors, sigma=0.0, name="x")
    child = Observation(Normal.dist(x, 0.1, name="y"), tt.as_tensor(np.full(6, y)))
    (recovery,) = grids.integrated_out(Program((x,), (child,)), x).recoveries
    law = _one(np.kron(*factors), range(6), 1.0, 0.1, y)
    law.is_law_of(np.asarray(pm.draw(recovery.draw, DRAWS, random_seed=2)))


# --- labels
def _likelihood(y: Any, *means: float) -> np.ndarray:
    return np.stack([stats.norm(m, 1.0).logpdf(y) for m in means], axis=-1)


FAR = np.array([0.0, 1e4, -1e4])
WEIGHTS = np.array([0.5, 0.0, 0.5])
MOVES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
SHOWN = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]])
SEEN = np.array([0, 0, 1, 1, 1, 2, 1, 1, 1, 1])


def _of_chain() -> np.ndarray:
    """The probabilities of the states of a chain, by the forward and backward sums."""
    forward, backward = [np.eye(3)[0] * SHOWN[:, SEEN[0]]], [np.ones(3)]
    for y in SEEN[1:]:
        forward.append(forward[-1] @ MOVES * SHOWN[:, y])
    for y in SEEN[:0:-1]:
        backward.append(MOVES @ (SHOWN[:, y] * backward[-1]))
    both = np.array(forward) * np.array(backward)[::-1]
    return both / both.sum(axis=1, keepdims=True)


def _shares(log_weights: np.ndarray) -> np.ndarray:
    return np.exp(log_weights - special.logsumexp(log_weights, axis=1, keepdims=True))


def _bernoulli(p: float) -> tuple[Callable[[], Any], np.ndarray]:
    def write() -> None:
        z = pm.Bernoulli("z", p, shape=3)
        pm.Normal("y", tt.switch(tt.eq(z, 1), 2.0, -1.0), 1.0, observed=FAR)

    with np.errstate(divide="ignore"):
        return write, _shares(np.log([1 - p, p]) + _likelihood(FAR, -1.0, 2.0))


def _mixture() -> None:
    z = pm.Categorical("z", WEIGHTS, shape=3)
    pm.Normal("y", tt.as_tensor([-1.0, 0.0, 2.0])[z], 1.0, observed=FAR)


def _hidden_chain(n: int = len(SEEN)) -> None:
    z = pm.DiscreteMarkovChain("z", P=MOVES, init_dist=pm.Categorical.dist([1.0, 0.0, 0.0]), shape=n)
    pm.Categorical("y", p=tt.as_tensor(SHOWN)[z], observed=SEEN)


def _trials(chance: float) -> tuple[Callable[[], Any], np.ndarray]:
    y = np.array([0, 6, 3])

    def write() -> None:
        z = pm.Binomial("z", 6, 0.4, shape=3)
        pm.Binomial("y", z, chance, observed=y)
        pm.Binomial("again", z, 0.5, observed=y)

    k = np.arange(7)
    each = [stats.binom(k, p).logpmf(y[:, None]) for p in (chance, 0.5)]
    return write, _shares(stats.binom(6, 0.4).logpmf(k) + each[0] + each[1])


with np.errstate(divide="ignore"):
    LABELS: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
        "never, sure to be so": _bernoulli(0.0),
        "always, sure to be so": _bernoulli(1.0),
        "hardly ever": _bernoulli(1e-300),
        "a part without weight": (_mixture, _shares(np.log(WEIGHTS) + _likelihood(FAR, -1.0, 0.0, 2.0))),
        "a chain with moves that are impossible": (_hidden_chain, _of_chain()),
        "all trials, none, some": _trials(0.3),
        "every success is seen": _trials(1.0),
    }


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    write, shares = LABELS[name]
    with pm.Model():
        write()
        drawn = pm.sample(DRAWS, chains=1, random_seed=5, progressbar=False, quiet=True).posterior["z"].values[0]
    for labels, expected in zip(drawn.T, DRAWS * shares, strict=True):
        compare_counts(np.bincount(labels, minlength=len(expected)), expected)


def test_labels_that_no_value_fits_are_refused() -> None:
    with pm.Model():
        pm.Poisson("y", 0.0 * pm.Bernoulli("z", 0.4), observed=3)
        with pytest.raises(pm.SamplingError, match="no finite density"):
            pm.sample(10, chains=1, random_seed=5, progressbar=False, quiet=True)


@pytest.mark.parametrize("y", [[0, 0, 0], [0, 0, 2]])
def test_conjugate_variables_in_branches(y: list[int]) -> None:
    """A rate that only some rows have, when none may: by a sum over a grid."""
    with pm.Model() as model:
        g, z = pm.Gamma("g", 2.0, 1.5), pm.Bernoulli("z", 0.5, shape=3)
        pm.Poisson("y", tt.switch(tt.eq(z, 1), g, 0.0), observed=y)
        assert not pm.explain(model).free
        found = pm.sample(DRAWS, chains=1, random_seed=5, progressbar=False, quiet=True).posterior["g"].values[0]
    at = np.linspace(1e-6, 30.0, 100_001)
    density = stats.gamma(2.0, scale=1 / 1.5).pdf(at)
    for count in y:
        density *= stats.poisson(at).pmf(count) + (count == 0)
    below = np.cumsum(density)
    assert stats.kstest(found, lambda x: np.interp(x, at, below / below[-1])).pvalue > FALSE_ALARM


def test_normal_variables_in_branches() -> None:
    """One label that steers a mean; rows at it, so that neither value is excluded."""
    with pm.Model():
        x, z = pm.Normal("x", 0.0, 1.0), pm.Bernoulli("z", 0.5)
        pm.Normal("y", tt.switch(tt.eq(z, 1), x, 0.0), 0.5, observed=[0.0, 0.0])
        found = pm.sample(DRAWS, chains=1, random_seed=5, progressbar=False, quiet=True).posterior
    x, z = found["x"].values[0], found["z"].values[0]
    seen_one = 1 / np.sqrt(1 + 2 / 0.25)
    compare_counts(np.bincount(z, minlength=2), DRAWS * np.array([1.0, seen_one]) / (1 + seen_one))
    for value, scale in ((0, 1.0), (1, seen_one)):
        assert stats.kstest(x[z == value] / scale, "norm").pvalue > FALSE_ALARM


HERE = {
    words.THINNING: test_counts_seen_in_part, words.COMPOUND: test_compounds,
    "noisy process": test_processes_seen_through_noise, "Markov process": test_processes_along_their_input,
    "rotated process": test_standard_normal_variables_that_a_factor_rotates,
    "process on a grid": test_processes_on_grids, "large process on a grid": test_processes_on_grids,
    "precision of vectors": test_precisions_of_vectors,
    "Gaussian block in branches": test_normal_variables_in_branches, words.ENUMERATION: test_labels,
    "conjugate in branches": test_conjugate_variables_in_branches, "Gaussian block": test_gaussian_blocks,
    "conjugate": test_conjugate_pairs, "bound of uniform rows": test_bounds_of_uniform_rows,
    words.NO_DESCENDANTS: test_groups_without_rows_have_their_prior,
}  # fmt: skip


def test_every_theorem_is_tried_at_limits_here() -> None:
    assert {theorem.name for theorem in THEOREMS} == HERE.keys()
    assert {pair.child for pair in PAIRS} == {*LIMITS, "Categorical", "Multinomial"}
    assert {name for name, family in FAMILIES.items() if family.thinned} == THINNED.keys()


@pytest.mark.parametrize("ends", [(0.0, np.inf), (-np.inf, 1.0), (-1.0, 2.0), (-np.inf, np.inf)])
def test_slopes_of_normal_draws_between_bounds_are_numbers(ends: tuple[float, float]) -> None:
    """Wherever the bounds are: a branch that is not taken has no say."""
    mu, sigma = tt.dscalar("mu"), tt.dscalar("sigma")
    found = FAMILIES["TruncatedNormal"].sample(Key.from_seed(3), (5,), mu, sigma, *map(tt.as_tensor, ends))
    slopes = function([mu, sigma], tt.grad(tt.sum(found), [mu, sigma]))
    for at in (0.3, -1e6, 1e6):
        assert np.isfinite(slopes(at, 1.3)).all()
