"""What families declare for theorems holds: each fact is tested for every family that declares it, at drawn points.

Nothing here knows a family: the parameters come from the domains, the points from draws, and what a fact has to agree
with from the density.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions.declaration.facts import WORDS
from ppl.distributions.declaration.normal_errors import Correlated, Kronecker, NotNormal
from ppl.distributions.declaration.rows import NotSummed, Rows
from ppl.distributions.declaration.sums import Along, NotAlike
from ppl.distributions.draws.draw import draw
from ppl.tensor.tensor import Tensor, as_tensor, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

POINTS = 40
THRESHOLD = 1e-4  # probability of a false alarm of a test on draws


def numbers(x: Any) -> np.ndarray:
    return np.asarray(as_tensor(x).eval())


def points(case: Any, count: int = POINTS) -> np.ndarray:
    """Draws, without those that are alike to a number that was rounded to an end."""
    return case.draws(20_001)[:count] if not case.support.ndim else case.draws(4001)[:count]


def moved(case: Any, **changes: Any) -> list[Any]:
    """The parameters with some of them replaced."""
    return [as_tensor(changes.get(name, p)) for name, p in zip(case.family.params, case.tensors, strict=True)]


def parameter(case: Any, name: str) -> Any:
    return case.tensors[list(case.family.params).index(name)]


def density(case: Any, x: Any, **changes: Any) -> np.ndarray:
    return numbers(case.family.log_density(as_tensor(x), *moved(case, **changes)))


def test_every_fact_has_a_law() -> None:
    laws = [law for name, law in globals().items() if name.startswith("test_")]
    tested = {fact for law in laws for mark in getattr(law, "pytestmark", ()) for fact in mark.args}
    assert set(WORDS) <= tested, f"no law here is marked as one of {sorted(set(WORDS) - tested)}"


# --- locations, scales and rates
@pytest.mark.declares("location_scale")
def test_location_and_scale_move_and_stretch_the_law(case: Any) -> None:
    """log f(x; μ, σ) = log f((x - μ)/σ; 0, 1) - log σ."""
    location, scale = case.family.location_scale
    mu, sigma = parameter(case, location), parameter(case, scale)
    x = points(case)
    standard = density(case, (x - mu) / sigma, **{location: 0.0, scale: 1.0})
    np.testing.assert_allclose(density(case, x), standard - np.log(numbers(sigma)), rtol=1e-9, atol=1e-9)


@pytest.mark.declares("location_parameter")
def test_a_location_moves_the_law(case: Any) -> None:
    """log f(x; μ) = log f(x - μ; 0)."""
    name = case.family.location_parameter
    mu, x = parameter(case, name), points(case)
    np.testing.assert_allclose(density(case, x), density(case, x - mu, **{name: 0.0 * mu}), rtol=1e-9, atol=1e-9)


@pytest.mark.declares("scale_parameter")
def test_a_scale_stretches_the_law(case: Any) -> None:
    """log f(x; σ) = log f(x/σ; 1) - log σ; of arrays the last term is the same for all x."""
    name, x = case.family.scale_parameter, points(case)
    changes = {name: 1.0} | ({case.family.location_parameter: 0.0} if case.family.location_parameter else {})
    mu = parameter(case, case.family.location_parameter) if case.family.location_parameter else 0.0
    sigma = numbers(parameter(case, name))
    rest = density(case, x) - density(case, numbers((x - mu) / sigma), **changes)
    expected = rest[0] if case.support.ndim else -np.log(sigma)
    np.testing.assert_allclose(rest, np.broadcast_to(expected, rest.shape), rtol=1e-9, atol=1e-9)


@pytest.mark.declares("rate_parameter")
def test_a_rate_shrinks_the_law(case: Any) -> None:
    """log f(x; λ) = log f(λx; 1) + log λ."""
    name, x = case.family.rate_parameter, points(case)
    rate = numbers(parameter(case, name))
    np.testing.assert_allclose(density(case, x), density(case, rate * x, **{name: 1.0}) + np.log(rate), rtol=1e-9)


@pytest.mark.declares("log_variance")
def test_the_variance_of_the_logarithm_is_an_integral(case: Any) -> None:
    size = case.family.scale_parameter or case.family.rate_parameter
    others = [p for name, p in zip(case.family.params, case.tensors, strict=True) if name != size]
    log_x = np.linspace(-600.0, 600.0, 600_001)
    weight = np.exp(density(case, np.exp(log_x)) + log_x)
    weight = weight / weight.sum()
    variance = weight @ (log_x - weight @ log_x) ** 2
    np.testing.assert_allclose(numbers(case.family.log_variance(*others)), variance, rtol=1e-6)


@pytest.mark.declares("typical_size")
def test_a_typical_size_is_neither_small_nor_large(case: Any) -> None:
    below = np.exp(case.values("log_cdf", case.values("typical_size")))
    assert 0.2 < below < 0.99


@pytest.mark.declares("normal_score", "of_normal_score")
def test_a_normal_score_has_the_rank_of_its_value(case: Any) -> None:
    """log F(x) = log Φ(z) and log(1 - F(x)) = log Φ(-z), far into both tails, and z leads back to x."""
    z = np.array([-7.0, -3.0, -0.5, 0.0, 0.4, 2.0, 6.0])
    x = case.values("of_normal_score", z)
    np.testing.assert_allclose(case.values("log_cdf", x), stats.norm.logcdf(z), rtol=1e-5, atol=1e-14)
    near = z < 3  # to an upper end the distance of numbers is rounded
    np.testing.assert_allclose(case.values("log_ccdf", x)[near], stats.norm.logsf(z)[near], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(case.values("normal_score", x), z, rtol=1e-4, atol=1e-9)


# --- what rows tell
@pytest.mark.declares("fisher_information")
def test_fisher_information_is_the_expected_square_of_the_score(case: Any) -> None:
    """E[(∂ log f(X; θ)/∂θ)²], by quadrature or by the sum over all values."""
    x, weights, mass = case.grid
    for name, found in case.family.fisher_information(*case.tensors).items():
        found = numbers(found)
        if not np.isfinite(found):
            continue  # at an end of the domain
        at = placeholder(as_tensor(x.astype(float)).type, name)
        f = function([at], tt.grad(tt.sum(case.family.log_density(as_tensor(x), *moved(case, **{name: at}))), at))
        with np.errstate(invalid="ignore", over="ignore"):
            parts = np.where(mass > 0, weights * mass * f(np.full(x.shape, numbers(parameter(case, name)))) ** 2, 0.0)
        np.testing.assert_allclose(np.sum(parts[np.isfinite(parts)]), found, rtol=1e-3, err_msg=name)


@pytest.mark.declares("estimates")
def test_estimates_from_rows_lie_in_the_domains(case: Any) -> None:
    y = case.draws(20_001)[:400].astype(float)
    known = dict(zip(case.family.params, map(numbers, case.tensors), strict=True))
    takes = inspect.signature(case.family.estimates).parameters
    for given in ({name: known[name] for name, p in takes.items() if p.default is p.empty and name != "y"}, known):
        given = {name: value for name, value in given.items() if name in takes}
        with np.errstate(divide="ignore", invalid="ignore"):
            found = case.family.estimates(y, **given)
        for name, value in found.items():
            inside = numbers(case.family.params[name].domain.closure_contains(as_tensor(value)))
            assert np.all(inside | np.isnan(numbers(value)).any()), name  # no trials say nothing


@pytest.mark.declares("inverse_link")
def test_the_inverse_link_gives_the_natural_parameter_back(case: Any) -> None:
    name, link = case.family.inverse_link
    eta = np.linspace(-4.0, 4.0, 9)
    (natural,) = case.family.natural(*moved(case, **{name: getattr(tt, link)(as_tensor(eta))}))
    np.testing.assert_allclose(numbers(natural), eta, rtol=1e-12, atol=1e-12)


@pytest.mark.declares("logp_of_rows")
def test_the_density_of_rows_is_that_of_their_sums(case: Any) -> None:
    """Of rows in two cells, which share their parameters here; of vectors perhaps in one."""
    y, count = as_tensor(points(case)), POINTS
    whole = density(case, y).sum()
    for cells in (1, 2):
        cell = np.arange(count) % cells
        try:
            found = case.family.logp_of_rows(Rows(y, cell, np.arange(cells), numbers), *case.tensors)
        except NotSummed:
            assert cells > 1, "one cell is the least"
            continue
        np.testing.assert_allclose(numbers(found), whole, rtol=1e-9)


@pytest.mark.declares("logp_of_distances")
def test_the_density_of_rows_is_that_of_their_distances(case: Any) -> None:
    y = points(case)
    away = y - numbers(parameter(case, case.family.location_parameter))
    below, above = -away[away < 0].sum(), away[away > 0].sum()
    found = case.family.logp_of_distances(as_tensor(below), as_tensor(above), len(y), *case.tensors)
    np.testing.assert_allclose(numbers(found), density(case, y).sum(), rtol=1e-10)


# --- relations to other families
@pytest.mark.declares("change_of_variables")
def test_a_change_of_variables_carries_the_density(case: Any) -> None:
    """log p(y) = log q(g(y)) + log |g'(y)|; half the slope where g maps two values onto one, all of it twice where the
    other family has twice the values."""
    change, y = case.family.change_of_variables, np.sort(np.unique(points(case)))
    y = y[(y > case.bounds[0]) & (y < case.bounds[1])]
    at = placeholder(as_tensor(y).type, "y")
    z, there, slope = change.of(at, *case.tensors)
    inner = change.base.log_density(z, *map(as_tensor, there))
    out = [inner + slope, z, tt.log(tt.abs(tt.grad(tt.sum(z), at))) - slope]
    carried, image, over = function([at], [tt.broadcast_to(as_tensor(x), at.shape) for x in out])(y)
    near = np.isfinite(carried) & np.isfinite(over)  # values that are not rounded to an end on the other side
    assert near.mean() > 0.5
    np.testing.assert_allclose(carried[near], density(case, y)[near], rtol=1e-6, atol=1e-6)
    assert np.all(np.abs(np.abs(over[near]) - np.log(2.0) * (np.abs(over[near]) > 0.3)) < 1e-6)
    steps = np.diff(image[near])
    assert np.all(steps >= 0) == change.increasing


@pytest.mark.declares("thinned", "unseen")
def test_a_count_of_which_a_part_is_seen(case: Any) -> None:
    """Σ_n p(n) Binomial(y; n, s) is the law of what is seen, and n - y given y has that of what is not."""
    share, n = 0.3, np.arange(400)
    prior = np.exp(density(case, n))
    for y in (0, 1, 3):
        joint = prior * stats.binom(n, share).pmf(y)
        seen = [as_tensor(p) for p in case.family.thinned(as_tensor(share), *case.tensors)]
        total = np.exp(numbers(case.family.log_density(as_tensor(y), *seen)))
        np.testing.assert_allclose(total, joint.sum(), rtol=1e-8, atol=1e-14)
        if joint.sum() > 0:
            rest = [as_tensor(p) for p in case.family.unseen(as_tensor(y), as_tensor(share), *case.tensors)]
            after = np.exp(numbers(case.family.log_density(as_tensor(n - y), *rest)))
            np.testing.assert_allclose(after, joint / joint.sum(), rtol=1e-7, atol=1e-12)


def law_along_two(case: Any, fact: str) -> Tensor:
    """The law of a sum or product of two draws; a skip where the parameters are not those that it is known for."""
    try:
        return getattr(case.family, fact)(Along((2,), (0,)), *case.tensors)  # type: ignore[no-any-return]
    except NotAlike:
        pytest.skip(f"{case}: not for these parameters")


@pytest.mark.declares("law_of_sum")
def test_the_law_of_a_sum_is_a_convolution(case: Any) -> None:
    """∫ f(x) f(s - x) dx, or the sum over all values; of vectors by draws."""
    if case.support.ndim:
        same_draws(case, law_along_two(case, "law_of_sum"), lambda x, y: x + y)
        return
    law, s = law_along_two(case, "law_of_sum"), np.unique(np.sort(points(case, 8) + points(case, 16)[8:]))
    found = np.exp(numbers(pm.logp(law, as_tensor(s))))
    np.testing.assert_allclose(found, [convolution(case, at) for at in s], rtol=1e-5)


def convolution(case: Any, s: float) -> float:
    """The density of a sum of two at s: over all values, or between the ends by the double exponential rule."""
    low = case.bounds[0]
    if np.isinf(low) or case.support.discrete:
        x, weights, _ = case.grid
        inside = (weights > 0) & (np.abs(x) < 1e9)
        x, weights, rest = x[inside], weights[inside], s - x[inside]
    else:
        u = np.linspace(-4.0, 4.0, 801)
        share, other = (1.0 / (1.0 + np.exp(side * np.pi * np.sinh(u))) for side in (-1.0, 1.0))
        length = s - 2.0 * low
        x, rest = low + length * share, low + length * other
        weights = length * share * other * np.pi * np.cosh(u) * (u[1] - u[0])
    return float(np.sum(weights * np.exp(density(case, x) + density(case, rest))))


@pytest.mark.declares("law_of_product")
def test_the_law_of_a_product(case: Any) -> None:
    same_draws(case, law_along_two(case, "law_of_product"), lambda x, y: x * y)


def same_draws(case: Any, law: Tensor, of_two: Any) -> None:
    """A two-sample test, of arrays along a drawn direction."""
    x = case.draws(20_001 if not case.support.ndim else 4001)
    half = len(x) // 2
    compare(of_two(x[:half], x[half : 2 * half]), law, half)


def compare(made: np.ndarray, law: Tensor, count: int) -> None:
    drawn = pm.draw(law, draws=count, random_seed=3)
    direction = np.random.default_rng(4).normal(size=made.shape[1:])
    axes = tuple(range(1, made.ndim))
    one, other = ((each * direction).sum(axis=axes) for each in (made, np.reshape(drawn, made.shape)))
    assert (
        stats.ks_2samp(one, other, method="asymp").pvalue > THRESHOLD
    )  # conservative for counts, whose values are tied


@pytest.mark.declares("plus")
def test_the_sum_of_two_arrays(case: Any) -> None:
    together = case.family.plus(case.tensors, case.tensors)
    same_draws(case, draw(case.family, tuple(map(as_tensor, together))), lambda x, y: x + y)


@pytest.mark.declares("minus")
def test_the_difference_of_two_arrays(case: Any) -> None:
    together = case.family.minus(case.tensors, case.tensors)
    same_draws(case, draw(case.family, tuple(map(as_tensor, together))), lambda x, y: x - y)


@pytest.mark.declares("law_of_entry")
def test_the_law_of_an_entry(case: Any) -> None:
    x = case.draws(4001)
    for k in range(x.shape[-1]):
        family, parameters = case.family.law_of_entry(k, *case.tensors)
        compare(x[..., k], draw(family, tuple(map(as_tensor, parameters))), len(x))


@pytest.mark.declares("affine_image")
def test_the_law_of_an_affine_image(case: Any) -> None:
    x = case.draws(4001)
    rng = np.random.default_rng(5)
    for rows in (1, 2):
        if rows > x.shape[-1]:
            continue
        a, b = rng.normal(size=(rows, x.shape[-1])), rng.normal(size=rows)
        compare(x @ a.T + b, case.family.affine_image(as_tensor(a), as_tensor(b), *case.tensors), len(x))


@pytest.mark.declares("merged")
def test_the_law_of_entries_that_are_added_up(case: Any) -> None:
    x = case.draws(4001)
    if x.shape[-1] < 3:
        pytest.skip(f"{case}: two entries are not merged")
    groups = np.eye(x.shape[-1] - 1, x.shape[-1])
    groups[0, -1] = 1.0
    parameters = case.family.merged(as_tensor(groups), *case.tensors)
    compare(x @ groups.T, draw(case.family, tuple(map(as_tensor, parameters))), len(x))


@pytest.mark.declares("given_others")
def test_the_law_of_an_entry_given_the_others_is_the_joint_density_over_its_integral(case: Any) -> None:
    """The joint density along one entry has that entry's conditional law: ratios at two values agree, and so does the
    integral."""
    for x in points(case, 3):
        found = numbers(case.family.given_others(as_tensor(x), *case.tensors))
        for i in range(len(x)):
            along = np.repeat(x[None], 4001, axis=0)
            spread = 12 * np.exp(-found.min()) + abs(x[i])
            grid = x[i] + np.linspace(-spread, spread, 4001)
            along[:, i] = grid
            log_density = density(case, along)
            best = log_density.max()
            total = best + np.log(np.trapezoid(np.exp(log_density - best), grid))
            np.testing.assert_allclose(found[i], density(case, x) - total, rtol=1e-5, atol=1e-5)


@pytest.mark.declares("residuals")
def test_residuals_have_the_density_of_the_value(case: Any) -> None:
    """Up to a number that does not depend on it, where values lie in a plane."""
    x = points(case, 6)
    gaps = []
    for each in x:
        try:
            found = list(case.family.residuals(as_tensor(each), *case.tensors))
        except NotNormal as why:
            pytest.skip(f"{case}: {why}")
        gaps.append(sum(map(log_density_of_errors, *zip(*found, strict=True))) - density(case, each))
    flat = np.linalg.matrix_rank(case.draws(4001).reshape(4001, -1)) < x[0].size
    np.testing.assert_allclose(gaps, np.full(len(gaps), gaps[0] if flat else 0.0), atol=1e-8)


SERIES = {  # whose steps are normal; the cases have other laws inside
    "AR": lambda: pm.AR.dist([-0.7], sigma=0.5, init_dist=pm.Normal.dist(0.3, 2.0), shape=6),
    "GaussianRandomWalk": lambda: pm.GaussianRandomWalk.dist(0.3, 0.7, init_dist=pm.Normal.dist(1.0, 2.0), shape=6),
}


@pytest.mark.declares("normal_steps")
def test_steps_have_the_density_of_the_series(case: Any) -> None:
    law = SERIES[case.family.__name__]()
    found = case.family.normal_steps(*law.parameters)
    for x in np.random.default_rng(3).normal(size=(4, 6)):
        d = x - numbers(found.mean)
        scale = np.concatenate([[numbers(found.first)], np.broadcast_to(numbers(found.scale), len(x) - 1)])
        errors = d - np.concatenate([[0.0], numbers(found.carried) * d[:-1]])
        whole = float(np.sum(pm.logp(law, x).eval()))
        np.testing.assert_allclose(np.sum(stats.norm(0.0, scale).logpdf(errors)), whole, rtol=1e-10)


def log_density_of_errors(d: Any, errors: Any) -> float:
    d = numbers(d)
    if isinstance(errors, Tensor):
        return float(np.sum(stats.norm(0.0, numbers(errors)).logpdf(d)))
    if isinstance(errors, Correlated):
        covariance = numbers(errors.chol) @ numbers(errors.chol).T
    else:
        parts = errors.roots if isinstance(errors, Kronecker) else errors.covariances
        covariance = np.ones((1, 1))
        for part in map(numbers, parts):
            covariance = np.kron(covariance, part @ part.T if isinstance(errors, Kronecker) else part)
        if not isinstance(errors, Kronecker):
            covariance = covariance + numbers(errors.sigma) ** 2 * np.eye(len(covariance))
    return float(np.sum(stats.multivariate_normal(np.zeros(len(covariance)), covariance).logpdf(d)))


@pytest.mark.declares("categories")
def test_categories_are_all_values(case: Any) -> None:
    count = case.family.categories(*case.tensors)
    x = case.draws(20_001 if not case.support.ndim else 4001)
    assert x.min() >= 0 and x.max() < count
    if not case.support.ndim:
        np.testing.assert_allclose(np.exp(density(case, np.arange(count))).sum(), 1.0, rtol=1e-12)


@pytest.mark.declares("limit")
def test_a_limit_is_reached_as_the_parameter_grows(case: Any) -> None:
    limit = case.family.limit
    others = dict.fromkeys(limit.takes, 0.8)
    law = case.family.dist(**{limit.parameter: 1e9}, **others)
    x = pm.draw(limit.law(**others), draws=POINTS, random_seed=6)
    np.testing.assert_allclose(numbers(pm.logp(law, x)), numbers(pm.logp(limit.law(**others), x)), rtol=1e-5, atol=1e-6)


@pytest.mark.declares("improper")
def test_an_improper_law_does_not_fall_off(case: Any) -> None:
    """So that its integral is infinite; it declares no distribution function."""
    assert np.ptp(density(case, np.array([1.0, 1e6, 1e12]))) == 0 and not case.family.logcdf
