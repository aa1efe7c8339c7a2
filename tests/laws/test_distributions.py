"""What holds of every family, whatever it declares. The name of a test is the theorem."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import transforms
from ppl.distributions.declaration.domains import extended_real, real
from ppl.distributions.draws.draw import RandomVariable
from ppl.tensor.tensor import TensorType, as_tensor, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

THRESHOLD = 1e-4  # probability of a false alarm of a test on draws
QUANTILES = np.array([1e-8, 1e-3, 0.03, 0.2, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6])


def close(a: Any, b: Any, tolerance: float) -> bool:
    return bool(np.all(np.abs(a - b) <= tolerance * (1 + np.abs(b))))


# --- density and distribution function
def test_density_integrates_to_one(case: Any) -> None:
    case.scalar()
    case.proper()
    assert abs(case.integral(np.ones_like) - 1) < 1e-6 + case.slack


def test_logcdf_is_the_integral_of_the_density(case: Any) -> None:
    case.scalar()
    case.need("logcdf")
    x, weights, density = case.grid
    total = np.cumsum(weights * density)
    last = np.flatnonzero(weights == 1)[-1] if case.support.discrete else len(x) - 1
    inner = np.linspace(0, last, 40).astype(int)[1:-1]
    below = np.exp(case.values("log_cdf", x[inner]))
    if case.support.discrete:
        assert close(below, total[inner], 1e-8)
    else:
        here = np.where(np.isin(x[inner], case.atoms), 0.0, weights[inner] * density[inner])
        # a Riemann sum is half a term ahead
        assert np.all(np.abs(below - total[inner] + here / 2) <= 1e-6 + case.slack + 0.02 * here)


def test_tails_keep_their_digits_where_they_are_small(case: Any) -> None:
    case.scalar()
    case.need("logcdf")
    case.proper()
    if case.bounds[0] == case.bounds[1]:
        pytest.skip(f"{case}: the support is a point")
    x, weights, density = case.grid
    mass = weights * density
    if not case.support.discrete:
        mass = np.where(np.isin(x, case.atoms), density, mass)
    last = np.flatnonzero(weights == 1)[-1] if case.support.discrete else len(x) - 1
    for fact, total in (("log_cdf", np.cumsum(mass)), ("log_ccdf", np.append(np.cumsum(mass[::-1])[::-1], 0.0)[1:])):
        fine = case.support.discrete | (mass < 0.1 * total)  # where the grid is
        small = np.flatnonzero((total > 1e-250) & (total < 1e-3) & fine & (np.arange(len(x)) <= last) & (weights > 0))
        if not small.size:
            continue
        at = small[np.linspace(0, len(small) - 1, 30).astype(int)]
        tail = np.exp(case.values(fact, x[at]))
        room = 1.1 * mass[at] + 4 * density[at] * np.spacing(np.abs(x[at]))  # a Riemann sum is half a term off
        end = np.flatnonzero(weights)[0 if fact == "log_cdf" else -1]
        room = room + 20 * density[end] * np.spacing(np.abs(x[end]))  # between the last number and the end
        if case.support.discrete:  # but for what lies beyond the enumeration
            room = 1e-8 * total[at] + (np.exp(case.values(fact, x)[last]) if fact == "log_ccdf" else 0.0)
        assert np.all(np.abs(tail - total[at]) <= room)


def test_both_tails_sum_to_one(case: Any) -> None:
    case.scalar()
    case.need("logcdf", "logccdf")
    x = case.grid[0][::50]
    assert close(np.exp(case.values("log_cdf", x)) + np.exp(case.values("log_ccdf", x)), 1.0, 1e-11)


def test_icdf_inverts_cdf(case: Any) -> None:
    case.invertible()
    case.need("logcdf")
    x = case.values("inverse_cdf", QUANTILES)
    if case.support.discrete:
        at = np.exp(case.values("log_cdf", x.astype(np.int64)))
        under = np.exp(case.values("log_cdf", x.astype(np.int64) - 1))
        assert np.all(at >= QUANTILES * (1 - 1e-10)) and np.all(under < QUANTILES * (1 + 1e-10))
    else:
        error = np.abs(np.exp(case.values("log_cdf", x)) - QUANTILES)
        room = 8 * np.spacing(np.abs(x)) + 1e-300  # x itself is rounded
        under, over = (np.exp(case.values("log_cdf", x + side * room)) for side in (-1, 1))
        assert np.all((error <= 1e-10 * QUANTILES) | (under <= QUANTILES) & (over >= QUANTILES))


def test_icdf_outside_the_unit_interval_is_nan_and_at_its_ends_that_of_the_support(case: Any) -> None:
    case.invertible()
    assert np.isnan(case.values("inverse_cdf", np.array([-0.1, 1.1, np.nan]))).all()
    assert tuple(case.values("inverse_cdf", np.array([0.0, 1.0]))) == case.bounds


def test_slope_of_the_quantile_is_one_over_the_density(case: Any) -> None:
    case.invertible()
    case.continuous()
    if case.bounds[0] == case.bounds[1]:
        pytest.skip(f"{case}: the support is a point")
    q = QUANTILES * (1 - 1e-3 * np.pi)  # beside kinks and jumps
    at = placeholder(TensorType("float64", q.shape))
    x = case.family.inverse_cdf(at, *case.tensors)
    x, slope = function([at], [x, tt.grad(tt.sum(x), at)])(q)
    smooth = ~np.isin(x, case.atoms)
    assert np.all(slope[~smooth] == 0)
    density = case.values("log_density", x)
    assert np.all(np.abs(np.log(slope[smooth]) + density[smooth]) <= 1e-6 * (1 + np.abs(density[smooth])))


# --- draws
def test_draws_follow_the_distribution(case: Any) -> None:
    case.scalar()
    case.proper()
    case.need("sample")
    x = case.draws(20_001)
    grid, weights, density = case.grid
    if case.support.discrete:
        expected = weights * density * len(x)
        pooled = np.searchsorted(np.cumsum(expected), np.arange(0, len(x), 200))  # cells of about 200 draws
        edges = np.unique(np.clip(pooled, 0, len(grid) - 1))
        cell = np.searchsorted(grid[edges], np.clip(x, grid[0], grid[-1]), side="right")
        cell_of_grid = np.searchsorted(grid[edges], grid, side="right")
        share = np.bincount(cell_of_grid, weights * density, len(edges) + 1)
        seen = np.bincount(cell, minlength=len(edges) + 1)
        filled = share * len(x) > 5
        assert seen[~filled].sum() < 40
        if filled.sum() > 1:
            scaled = share[filled] / share[filled].sum() * seen[filled].sum()
            assert stats.chisquare(seen[filled], scaled).pvalue > THRESHOLD
        return
    low, high = case.bounds
    assert np.all((x >= low) & (x <= high))
    if case.family.logcdf:
        below = np.exp(case.values("log_cdf", x))
    else:
        mass = weights * density
        below = np.interp(x, grid, np.cumsum(mass) - mass / 2)
    at_atom = np.isin(x, case.atoms)
    below = below - at_atom * np.random.default_rng(1).random(len(x)) * np.exp(case.values("log_density", x))
    assert stats.kstest(below, "uniform").pvalue > THRESHOLD


def test_draws_of_one_key_are_the_same(case: Any) -> None:
    case.need("sample")
    assert np.array_equal(case.draws(20_001)[:50], type(case).draws.__wrapped__(case, 20_001)[:50])


# --- vectors
VECTORS = 4001  # draws


def same_as_zero(parts: np.ndarray, entries: int) -> np.ndarray:
    """Whether the mean of independent rows is zero, by its standard error; `entries` in all are looked at."""
    spread = parts.std(axis=0)
    error = spread / np.sqrt(len(parts)) + 1e-9 * (1 + np.abs(parts).max(axis=0))
    return np.abs(parts.mean(axis=0)) <= stats.norm.isf(THRESHOLD / 2 / entries) * error


def test_draws_of_vectors_lie_in_the_support(case: Any) -> None:
    case.vector()
    case.need("sample", "logp")
    x = case.draws(VECTORS)
    singular = np.linalg.cond(x) > 1e15 if case.support.ndim == 2 else np.zeros(VECTORS, bool)
    lost = ~np.isfinite(case.values("log_density", x))  # a few matrices may be singular after rounding
    assert np.mean(lost) < 1e-2 and singular[lost].all()


def test_the_score_is_zero_on_average(case: Any) -> None:
    """∫ ∂f(x; θ)/∂θ dx = 0: the slope of the log-density in each parameter is zero on average over draws, which ties
    these to the density and to its normalizer. On a simplex, along it."""
    case.vector()
    case.need("sample", "logp")
    if case.name == "ICAR":
        pytest.skip("ICAR: as in PyMC its density is normalized in no parameter")
    x = case.draws(VECTORS)
    rows = [np.broadcast_to(p, (VECTORS, *p.shape)) if p.dtype.kind == "f" else p for p in case.parameters]
    real = [i for i, known in enumerate(case.sizes) if known is None and case.parameters[i].dtype.kind == "f"]
    if not real:
        pytest.skip(f"{case}: no parameter of real numbers")
    inputs = [placeholder(TensorType(a.dtype, a.shape)) for a in (x, *rows)]
    density = case.family.log_density(inputs[0], *case.known(inputs[1:]))
    slopes = tt.grad(tt.sum(density), [inputs[1 + i] for i in real])
    for i, slope in zip(real, function(inputs, slopes, on_unused_input="ignore")(x, *rows), strict=True):
        at = case.parameters[i]
        if at.ndim and np.allclose(at.sum(axis=-1), 1):
            slope = np.where(at > 0, slope, 0.0)
            slope = np.where(at > 0, slope - slope.sum(axis=-1, keepdims=True) / (at > 0).sum(-1, keepdims=True), 0.0)
        assert same_as_zero(slope, at.size * len(real)).all(), list(case.family.params)[i]


def test_mean_and_variance_of_vectors_are_those_of_draws(case: Any) -> None:
    case.vector()
    case.need("sample", "mean")
    x, mean = case.draws(VECTORS), case.values("mean")
    if not mean.size or not np.isfinite(mean).all():
        pytest.skip(f"{case}: there is no mean")
    assert same_as_zero(x - mean, 2 * mean.size).all()
    if case.family.variance:
        variance = case.values("variance")
        far = (x - mean) ** 2 - variance
        assert same_as_zero(np.where(np.isfinite(variance), far, 0.0), 2 * mean.size).all()


def test_mode_of_vectors_is_higher_than_draws(case: Any) -> None:
    case.vector()
    case.need("sample", "mode")
    mode = np.broadcast_to(case.values("mode"), case.draws(VECTORS).shape[1:])
    if np.isnan(mode).any():
        pytest.skip(f"{case} has no single mode")
    assert case.values("log_density", mode) >= case.values("log_density", case.draws(VECTORS)).max() - 1e-9


def test_entropy_of_vectors_is_the_average_of_minus_log_density(case: Any) -> None:
    case.vector()
    case.need("sample", "entropy")
    assert same_as_zero(case.number_of("entropy") + case.values("log_density", case.draws(VECTORS)), 1).all()


# --- moments
def test_mean_is_the_integral(case: Any) -> None:
    case.scalar()
    case.need("mean")
    mean = case.number_of("mean")
    if not np.isfinite(mean):
        pytest.skip(f"{case}: the mean is {mean}")
    assert close(case.integral(lambda x: x), mean, 1e-6 + case.slack)


def test_variance_is_the_integral(case: Any) -> None:
    case.scalar()
    case.need("mean", "variance")
    mean, variance = case.number_of("mean"), case.number_of("variance")
    if not np.isfinite(variance):
        pytest.skip(f"{case}: the variance is {variance}")
    tolerance = 1e-6 if case.support.discrete else 1e-4  # heavy tails reach beyond the grid
    assert close(case.integral(lambda x: (x - mean) ** 2), variance, tolerance + case.slack)


def test_mode_is_the_highest_point(case: Any) -> None:
    case.scalar()
    case.need("mode")
    mode = case.number_of("mode")
    if np.isnan(mode):
        pytest.skip(f"{case} has no single mode")
    x = case.grid[0]
    at_mode = case.values("log_density", np.array([mode], x.dtype))[0]
    low, high = case.bounds
    if at_mode == -np.inf and mode in (low, high):
        assert case.values("log_density", x[[0, -1]]).max() >= case.values("log_density", x).max() - 1e-6
        return
    assert at_mode >= case.values("log_density", x).max() - 1e-9


def test_entropy_is_the_integral(case: Any) -> None:
    case.scalar()
    case.need("entropy")
    _, _, density = case.grid
    with np.errstate(divide="ignore"):
        assert close(case.integral(lambda x: -np.log(density)), case.number_of("entropy"), 1e-6 + 40 * case.slack)


def test_support_point_lies_in_the_support(case: Any) -> None:
    from ppl.distributions.declaration.distribution import default_point

    point = np.asarray(function([], as_tensor(default_point(case.family, case.tensors, case.support)))())
    assert np.all(np.isfinite(case.values("log_density", point)))


# --- gradients
@functools.cache
def slopes(family: Any, types: Any) -> Any:
    """The density and its gradients in the value and in the parameters of real numbers, in one program."""
    inputs = [placeholder(each) for each in types]
    density = family.log_density(*inputs)
    real = [x for x in inputs if x.dtype == "float64"]
    total = tt.sum(tt.switch(tt.isfinite(density), density, 0.0))
    return function(inputs, [density, *tt.grad(total, real)], on_unused_input="ignore")


def gradient(case: Any, x: np.ndarray) -> list[np.ndarray]:
    """The density, its slope in x where x is continuous, and its slopes in the parameters."""
    types = tuple(TensorType(a.dtype, a.shape) for a in (x, *case.parameters))
    return [np.asarray(r) for r in slopes(case.family, types)(x, *case.parameters)]


def test_gradient_is_the_difference_quotient(case: Any) -> None:
    case.continuous()
    x, _, density = case.grid
    x, density = x[~np.isin(x, case.atoms)], density[~np.isin(x, case.atoms)]
    if not x.size:
        pytest.skip(f"{case}: the support is a point")
    inner = np.linspace(0, len(x) - 1, 60).astype(int)[5:-5]
    x = np.where(density[inner] > 1e-30, x[inner], x[len(x) // 2])
    slope = gradient(case, x)[1]
    assert np.isfinite(slope).all()
    low, high = case.bounds
    h = 1e-4 * np.minimum(np.minimum(x - low, high - x), 1e-2 + np.abs(x))
    steps = np.concatenate([x - 2 * h, x - h, x + h, x + 2 * h])
    a, b, c, d = case.values("log_density", steps).reshape(4, -1)
    quotient = (a - 8 * b + 8 * c - d) / (12 * h)
    rounding = 1e-14 * (1 + np.abs(b)) / h
    kink = np.abs((d - 2 * case.values("log_density", x) + a) / (2 * h)) > 0.3 * np.abs(quotient) + 1e-3
    assert np.all(kink | (np.abs(slope - quotient) <= 1e-6 * np.abs(quotient) + rounding + 1e-7))


def test_outside_the_support_the_density_is_zero_and_the_gradient_is_no_nan(case: Any) -> None:
    case.continuous()
    low, high = case.bounds
    outside = [
        x for end, side in ((low, -1), (high, 1)) if np.isfinite(end) for x in (end + side * 0.5, end + side * 1e9)
    ]
    if not outside:
        pytest.skip(f"{case}: the support is the whole line")
    density, slope = gradient(case, np.resize(outside, 4))[:2]
    assert np.all(density == -np.inf) and np.all(slope == 0)


def test_outside_the_support_a_count_has_no_probability(case: Any) -> None:
    case.scalar()
    if not case.support.discrete:
        pytest.skip(f"{case.name} is continuous")
    low, high = case.bounds
    outside = [x for x in (low - 1, low - 1000, high + 1, high + 1000) if np.isfinite(x)]
    if not outside:
        pytest.skip(f"{case}: every integer is in the support")
    assert np.all(case.values("log_density", np.array(outside)) == -np.inf)
    assert np.all(case.values("log_density", np.array([low + 0.5 if np.isfinite(low) else 0.5])) == -np.inf)


def test_infinity_has_no_density_and_nan_is_passed_on(case: Any) -> None:
    case.scalar()
    ends = np.array([-np.inf, np.inf, np.nan])
    expected = {"log_density": [-np.inf, -np.inf, np.nan]}
    if case.family.logcdf:
        expected |= {"log_cdf": [-np.inf, 0.0, np.nan], "log_ccdf": [0.0, -np.inf, np.nan]}
    for fact, values in expected.items():
        np.testing.assert_array_equal(case.values(fact, ends), values)


def test_gradient_in_the_parameters_is_finite(case: Any) -> None:
    case.scalar()
    x, _, density = case.grid
    x = x[density > 0]  # where it is more than 1e-300
    x = x[np.linspace(0, len(x) - 1, 30).astype(int)[4:-4]]
    if all(p.dtype.kind != "f" for p in case.parameters):
        pytest.skip(f"{case.name} has no parameter of real numbers")
    for slope in gradient(case, x)[1 if case.support.discrete else 2 :]:
        assert np.isfinite(slope).all()


@functools.cache
def tail_slopes(family: Any, fact: str, types: Any) -> Any:
    """A tail in logarithms and its gradients in the value and in the parameters of real numbers."""
    inputs = [placeholder(each) for each in types]
    tail = getattr(family, fact)(*inputs)
    real = [x for x in inputs if x.dtype == "float64"]
    return function(inputs, [tail, *tt.grad(tt.sum(tail), real)], on_unused_input="ignore")


@pytest.mark.parametrize("fact", ["log_cdf", "log_ccdf"])
def test_slopes_of_a_tail_are_the_density_and_difference_quotients(case: Any, fact: str) -> None:
    case.scalar()
    case.need("logcdf")
    case.proper()
    x, weights, density = case.grid
    below = np.cumsum(weights * density)
    away = (below > 0.02) & (below < 0.98) & ~np.isin(x, case.atoms)  # at the ends quotients are not good enough
    inner = np.flatnonzero((density > 1e-30) & (weights == 1 if case.support.discrete else away))
    if not inner.size:
        pytest.skip(f"{case}: the support is a point")
    x = x[inner[np.linspace(0, len(inner) - 1, 24).astype(int)[2:-2]]]
    types = tuple(TensorType(a.dtype, a.shape) for a in (x, *case.parameters))
    tail, *found = [np.asarray(r) for r in tail_slopes(case.family, fact, types)(x, *case.parameters)]
    assert all(np.isfinite(each).all() for each in found)
    side = 1 if fact == "log_cdf" else -1
    if not case.support.discrete:
        slope = side * np.exp(case.values("log_density", x) - tail)
        assert np.all(np.abs(found.pop(0) - slope) <= 1e-7 * np.abs(slope) + 1e-9)
    for i, p in enumerate(case.parameters):
        if p.dtype.kind != "f":
            continue
        slope = found.pop(0)
        if p.ndim or not np.isfinite(p):
            continue  # a simplex or cutpoints cannot be moved one by one
        h = 1e-4 * (1e-2 + abs(p))
        rows = [[*case.parameters[:i], np.asarray(p + step * h), *case.parameters[i + 1 :]] for step in (-2, -1, 1, 2)]
        a, b, c, d = (tail_slopes(case.family, fact, types)(x, *row)[0].sum() for row in rows)
        with np.errstate(invalid="ignore"):
            quotient = (a - 8 * b + 8 * c - d) / (12 * h)
        if np.isfinite(quotient):  # not at the edge of the parameter's domain; kinks cost the quotient some digits
            assert abs(slope - quotient) <= 1e-3 * abs(quotient) + 1e-12 * np.sum(1 + np.abs(tail)) / h + 1e-6


# --- parameters
def bad_values(domain: Any) -> list[Any]:
    """Numbers outside a domain."""
    if domain.ndim:
        return []
    return [x for x in (-1.0, 1.5, -np.inf, np.nan) if not np.all(domain.contains(np.asarray(x)))]


def told_of(make: Callable[[], Any]) -> str:
    """What is said of constants outside their domains: as in PyMC the draw is made with a warning, or it is refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            make()
        except ValueError as error:
            return str(error)
    return " ".join(str(each.message) for each in caught if each.category is UserWarning)


def test_a_constant_parameter_outside_its_domain_is_told(case: Any) -> None:
    for key, parameter in case.family.params.items():
        for bad in bad_values(parameter.domain):
            values = {**dict(zip(case.family.params, case.given, strict=True)), key: bad}
            said = told_of(lambda values=values: case.declared(values.values()))
            assert re.search(rf"(?s){case.name}.*{key}", said), said


def test_a_symbolic_parameter_outside_its_domain_gives_minus_infinity(case: Any) -> None:
    case.scalar()
    x, weights, _ = case.grid
    x = x[weights == 1] if case.support.discrete else x  # not 1e12, up to where some distribution functions are sums
    point = x[len(x) // 2]
    tails = ["log_cdf"] if case.family.logcdf else []
    tails += ["inverse_cdf"] if case.family.has_quantile(case.tensors) else []
    for i, parameter in enumerate(case.family.params.values()):
        for bad in bad_values(parameter.domain):
            if case.parameters[i].dtype.kind != "f" and not np.isfinite(bad):
                continue
            values = list(case.parameters)
            values[i] = np.full(values[i].shape, bad, values[i].dtype)
            if parameter.domain.contains(values[i]).all() or (
                np.isnan(bad) and parameter.domain in (real, extended_real)
            ):
                continue  # a location that is nan makes the density nan, as in PyMC
            other = type(case)(case.family, case.number)
            other.__dict__["parameters"] = tuple(values)
            assert other.values("log_density", point) == -np.inf
            for fact in tails:
                value = other.values(fact, 0.3 if fact == "inverse_cdf" else point)
                assert value == -np.inf or np.isnan(value)


def other_parameters(case: Any) -> Iterator[Any]:
    """The case with each of its parameters in turn outside of its domain, or nan."""
    for i, parameter in enumerate(case.family.params.values()):
        at = case.parameters[i]
        bad = [-np.abs(at) - 1, np.where(at == at, np.nan, at)] if at.dtype.kind == "f" else [-np.abs(at) - 1]
        for value in bad:
            if isinstance(case.given[i], RandomVariable) or case.sizes[i] is not None:
                continue
            if np.all(parameter.domain.contains(value)):
                continue
            other = type(case)(case.family, case.number)
            other.__dict__["parameters"] = (*case.parameters[:i], value.astype(at.dtype), *case.parameters[i + 1 :])
            yield other


def test_there_are_draws_by_symbolic_parameters_in_their_domains_only(case: Any) -> None:
    case.need("sample")
    others = list(other_parameters(case))
    if not others:
        pytest.skip(f"{case}: every number is a parameter of it")
    assert case.values("drawable").all()
    for other in others:
        if other.values("drawable").all():  # a parameter that is nan
            draws = other.draws(20_001)
            if np.array_equal(draws, case.draws(20_001)):
                continue  # it has no say: the concentration of the correlations of one variable
            assert np.isnan(draws[:50].reshape(50, -1)).any(axis=1).all() or (case.atoms.size and np.isnan(draws).any())


def test_an_unknown_parameter_is_refused_with_a_hint(family: Any) -> None:
    if not family.params:
        pytest.skip(f"{family.__name__} has no parameters")
    key = family.order[0]
    with pytest.raises(TypeError, match=rf"{family.__name__}.*{key}"):
        family.dist(**{key + "x": 1.0})


# --- transforms
def test_transform_is_invertible_with_the_right_jacobian(case: Any) -> None:
    case.scalar()
    transform = transforms.default_transform(case.family, case.tensors)
    if transform is None:
        pytest.skip(f"{case}: no transform")
    u = np.linspace(-30, 30, 61)
    value = placeholder(TensorType("float64", u.shape))
    x = transform.backward(value, *case.tensors)
    slope = tt.grad(tt.sum(x), value)
    back = transform.forward(x, *case.tensors)
    x, back, slope, jacobian = function([value], [x, back, slope, transform.log_jac_det(value, *case.tensors)])(u)
    low, high = case.bounds
    assert np.all((x >= low) & (x <= high))
    if transform.name == "circular":
        return
    with np.errstate(divide="ignore"):
        near = np.minimum(np.abs(x - low), np.abs(high - x)) > 1e-6 * (1 + np.abs(x))
        assert np.all(np.abs(back - u)[near] <= 1e-8 * (1 + np.abs(u[near])))
        assert np.all(np.abs(np.log(slope) - jacobian)[near] <= 1e-8 * (1 + np.abs(jacobian[near])))


# --- exponential families
@functools.cache
def exponential_form(case: Any, types: Any) -> Any:
    family = case.family
    x, *parameters = inputs = [placeholder(each) for each in types]
    parameters = case.known(parameters)
    natural, statistics = family.natural(*parameters), family.statistics(x)
    products = [n * s for n, s in zip(natural, statistics, strict=True)]
    inner = sum((tt.sum(each, axis=tuple(range(1, each.ndim))) for each in products), as_tensor(0.0))
    rest = family.log_density(x, *parameters) - inner + family.log_normalizer(*parameters)
    return function(inputs, rest, on_unused_input="ignore")


def base_measure(case: Any, x: np.ndarray, parameters: Any) -> np.ndarray:
    types = tuple(TensorType(a.dtype, a.shape) for a in (x, *parameters))
    return np.broadcast_to(exponential_form(case, types)(x, *parameters), len(x))


def test_log_normalizer_completes_the_density(case: Any) -> None:
    """log f(x) - η·T(x) + A(η) is the base measure: the same function of x for all parameters."""
    case.need("natural", "statistics", "log_normalizer")
    if case.number:
        pytest.skip("one case compares all choices of parameters")
    if case.support.ndim:
        x = case.draws(VECTORS)[:20]
    else:
        x, weights, _ = case.grid
        x = x[weights == 1] if case.support.discrete else x  # far out in the tail of counts the terms cancel
        x = x[np.linspace(0, len(x) - 1, 50).astype(int)[15:-15]]
    held = [key in case.family.fixed for key in case.family.params]
    rows = [type(case)(case.family, i).parameters for i in range(3)]
    rows = [[a if keep else b for keep, a, b in zip(held, case.parameters, row, strict=True)] for row in rows]
    left = [base_measure(case, x, row) for row in rows]
    inside = np.all(np.isfinite(left), axis=0)
    for other in left[1:]:
        assert close(other[inside], left[0][inside], 1e-8)
