"""Cases for the laws: every family, with parameters from the example values of their domains.

A law asks for the fixture `case`. It is a family with one choice of parameters; a fact that the family does not declare
skips the law, by name, and the skips are the gaps of the table in docs/distributions.md.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

from ppl.compile import function
from ppl.distributions import LogNormal, MvNormal
from ppl.distributions.declaration.distribution import FAMILIES, default_point
from ppl.distributions.declaration.domains import a_distribution
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.tensor.sampling.keys import Key
from ppl.tensor.tensor import TensorType, as_tensor, is_constant, placeholder, value_of

CHOICES = 3  # of parameters, for each family
LAWS = (LogNormal.dist(0.3, 0.5), MvNormal.dist(np.zeros(3), np.eye(3)))  # where a family takes another law


class Case:
    """A family with parameters, and what laws ask of it."""

    def __init__(self, family: Any, number: int) -> None:
        self.family, self.name, self.number = family, family.__name__, number

    def __repr__(self) -> str:
        return f"{self.name}-{self.number}"

    @functools.cached_property
    def given(self) -> tuple[Any, ...]:
        """The parameters as they are given: arrays, and laws where the family takes one."""
        found = choices(self.family)
        if not found:
            pytest.skip(f"{self.name}: its parameters are functions or matrices of the user, not declared")
        return found[self.number % len(found)]

    @functools.cached_property
    def parameters(self) -> tuple[Any, ...]:
        """The same as arrays; nothing for a law."""
        return tuple(np.zeros(()) if isinstance(p, RandomVariable) else p for p in self.given)

    @functools.cached_property
    def tensors(self) -> tuple[Any, ...]:
        return tuple(as_tensor(p) for p in self.given)

    @functools.cached_property
    def support(self) -> Any:
        return self.family.support_for(self.tensors)

    @functools.cached_property
    def bounds(self) -> tuple[float, float]:
        """The ends of the support, as numbers."""
        low, high = self.support.lower, self.support.upper
        return (-np.inf if low is None else number(low)), (np.inf if high is None else number(high))

    @functools.cached_property
    def atoms(self) -> np.ndarray:
        """The points that have a probability, where the law has a density elsewhere."""
        return np.array([number(atom) for atom in self.support.atoms])

    def need(self, *facts: str) -> None:
        for fact in facts:
            if not getattr(self.family, fact):
                pytest.skip(f"{self.name} declares no {fact}")

    def invertible(self) -> None:
        self.scalar()
        if not self.family.has_quantile(self.tensors):
            pytest.skip(f"{self.name} declares no icdf and no logcdf to find it from")

    def scalar(self) -> None:
        if self.support.ndim:
            pytest.skip(f"{self.name}: no generic integral over values of {self.support.ndim} axes")

    def vector(self) -> None:
        if not self.support.ndim:
            pytest.skip(f"{self.name}: its values are numbers, for which there are sharper laws")

    def continuous(self) -> None:
        self.scalar()
        if self.support.discrete:
            pytest.skip(f"{self.name} is discrete")

    def proper(self) -> None:
        if self.family.improper:
            pytest.skip(f"{self.name} is improper")

    def values(self, fact: str, *arguments: Any) -> np.ndarray:
        """A function of the base class or a fact at arrays."""
        arrays = [np.asarray(a) for a in arguments]
        types = tuple(TensorType(a.dtype, a.shape) for a in (*arrays, *self.parameters))
        return np.asarray(program(self.family, fact, len(arrays), types, self.sizes)(*arrays, *self.parameters))

    @functools.cached_property
    def sizes(self) -> tuple[Any, ...]:
        """Parameters that must be known when a graph is built: laws, and the whole numbers of families of vectors."""
        vectors = self.family.support_for(self.tensors).ndim
        return tuple(
            p if isinstance(p, RandomVariable) or (vectors and p.dtype[0] == "i") else None for p in self.tensors
        )

    def declared(self, values: Any) -> Any:
        """A draw of the family with other parameters."""
        return declared(self.family, values)

    def known(self, inputs: list[Any]) -> list[Any]:
        """Inputs for the parameters, but for those that must be known."""
        return known(inputs, self.sizes)

    def number_of(self, fact: str) -> float:
        """A fact without arguments, such as the mean."""
        return float(self.values(fact))

    # --- numerical integrals ----------------------------------------------------------------------------------------
    @functools.cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, weights and density: the sum of weight times density times g is the mean of g.

        Continuous supports by the substitution x = x(u) that stretches to the ends doubly exponentially, around a
        typical point and in units of the typical width; discrete ones by enumeration.
        """
        x, weights = enumeration(self) if self.support.discrete else stretched(self)
        for atom in self.atoms:
            at = np.searchsorted(x, atom)
            x, weights = np.insert(x, at, atom), np.insert(weights, at, 1.0)
        density = np.exp(self.values("log_density", x))
        weights = np.where(density > 0, weights, 0.0)
        return x, weights, np.where(density > 0, density, 0.0)

    @functools.cached_property
    def slack(self) -> float:
        """What the grid cannot see: kinks, by halving it, and mass between the last number and an end that is not 0."""
        x, weights, density = self.grid
        parts = weights * density
        if self.support.discrete:
            return 0.0
        parts = parts[~np.isin(x, self.atoms)]
        ends = [density[i] * np.spacing(x[i]) for i in np.flatnonzero(weights)[[0, -1]]]
        return 10 * abs(2 * parts[::2].sum() - 2 * parts[1::2].sum()) + 20 * sum(ends)

    def integral(self, g: Any) -> float:
        x, weights, density = self.grid
        with np.errstate(all="ignore"):
            parts = weights * density * g(x)
        return float(np.sum(parts[np.isfinite(parts)]))


def choices(family: Any) -> list[tuple[Any, ...]]:
    """Some combinations of example values that fit the domains and the conditions, spread over all of them."""
    if "make" in vars(family):
        return []  # further parameters are what the user makes of it
    found = []
    for combination in itertools.product(*map(examples, family.params.values())):
        try:
            made = declared(family, combination)
            laws = [p for p in made.parameters if isinstance(p, RandomVariable)]
            if len({law.event_ndim for law in laws}) > 1:
                continue
            if laws:  # that do not fit the others
                family.sample(Key.from_seed(1), made.type.shape, *made.parameters)
                family.log_density(placeholder(made.type), *made.parameters)
        except (TypeError, ValueError):
            continue
        if all(is_constant(p) or isinstance(p, RandomVariable) for p in made.parameters):
            found.append(tuple(p if isinstance(p, RandomVariable) else value_of(p) for p in made.parameters))
    if len(found) <= CHOICES:
        return found
    step = (len(found) - 1) / (CHOICES - 1) if CHOICES > 1 else 0
    order = np.random.default_rng(len(found)).permutation(len(found))
    return [found[order[int(i * step)]] for i in range(CHOICES)]


def examples(parameter: Any) -> list[Any]:
    if parameter.domain is a_distribution:
        return list(LAWS)
    return parameter.domain.examples or ([] if parameter.default is None else [parameter.default])


def declared(family: Any, values: Any) -> Any:
    """A draw by the declared parameters, whatever form the user gives them in."""
    parameters = family._as_parameters(dict(zip(family.params, values, strict=True)))
    family.check_constants(parameters, None)
    return draw(family, parameters, None, None)


def number(x: Any) -> float:
    return float(np.asarray(function([], as_tensor(x))()))


@functools.cache
def program(family: Any, fact: str, arguments: int, types: Any, sizes: Any) -> Any:
    """One program for all choices of the parameters, which are inputs of it."""
    inputs = [placeholder(each) for each in types]
    given = inputs[:arguments] + known(inputs[arguments:], sizes)
    found = getattr(family, fact)(*given)
    return function(inputs, as_tensor(True if found is None else found), on_unused_input="ignore")


def known(inputs: list[Any], sizes: Any) -> list[Any]:
    return [x if size is None else size for x, size in zip(inputs, sizes, strict=True)]


def center_and_width(case: Case) -> tuple[float, float]:
    """A typical point and a typical width, from draws."""
    draws = case.draws(20_001) if case.family.sample else None
    if draws is None:
        middle = number(default_point(case.family, case.tensors, case.support))
        return middle, 1.0
    low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75])
    if case.family.mode and case.bounds[0] < case.number_of("mode") < case.bounds[1]:
        middle = case.number_of("mode")  # where a density has its kink, if it has one
    return float(middle), float(high - low) or 1.0


def stretched(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of the double exponential rule on both sides of the typical point."""
    low, high = case.bounds
    if low == high:
        return np.empty(0), np.empty(0)
    middle, width = center_and_width(case)
    u = np.linspace(-4.5, 4.5, 1501)
    step = u[1] - u[0]
    s, ds = 0.5 * np.pi * np.sinh(u), 0.5 * np.pi * np.cosh(u)
    points, weights = [], []
    for end, side in ((low, -1.0), (high, 1.0)):
        if np.isinf(end):
            distance, slope = width * np.exp(s), width * np.exp(s)
            points.append(middle + side * distance)
        else:
            length = abs(end - middle)
            share = 1 / (1 + np.exp(2 * s))
            distance, slope = length * (1 - share), 2 * length * share * (1 - share)
            points.append(np.where(share < 0.5, end - side * length * share, middle + side * distance))
        weights.append(step * ds * slope)
    x, w = np.concatenate(points), np.concatenate(weights)
    keep = np.isfinite(x) & (w > 0) & (x > low) & (x < high)
    x, w = np.where(keep, x, middle), np.where(keep, w, 0.0)  # the same shape for all cases: one program
    order = np.argsort(x, kind="stable")
    return x[order], w[order]


def enumeration(case: Case) -> tuple[np.ndarray, np.ndarray]:
    low, high = case.bounds
    if np.isinf(low) or np.isinf(high):
        draws = case.draws(20_001) if case.family.sample else np.zeros(1)
        reach = 60 * (np.ptp(draws) + 10)
        endless = np.isinf(high)
        low = max(low, np.min(draws) - reach)
        high = min(high, np.min([np.max(draws) + reach, 60_000]))
    else:
        endless = False
    x = np.arange(np.ceil(low), np.floor(high) + 1).astype(np.int64)
    weights = np.ones(len(x))
    if endless:  # the tail may be heavy: blocks of counts, each as its middle
        edges = np.unique(np.geomspace(x[-1] + 1, 4e18, 5000).astype(np.int64))
        x, weights = np.append(x, (edges[:-1] + edges[1:] - 1) // 2), np.append(weights, np.diff(edges))
    size = int(2 ** np.ceil(np.log2(len(x))))  # few sizes, few programs
    return np.append(x, np.full(size - len(x), x[-1])), np.append(weights, np.zeros(size - len(x)))


@functools.cache
def drawing(family: Any, shape: tuple[int, ...], types: Any, sizes: Any) -> Any:
    inputs = [placeholder(each) for each in types]
    draws = family.sample(Key.from_seed(20260101), shape, *known(inputs, sizes))
    return function(inputs, draws, on_unused_input="ignore")


def draws(case: Case, n: int) -> np.ndarray:
    event = declared(case.family, case.given).type.shape
    types = tuple(TensorType(p.dtype, p.shape) for p in case.parameters)
    return np.asarray(drawing(case.family, (n, *event), types, case.sizes)(*case.parameters))


Case.draws = functools.lru_cache(maxsize=None)(draws)  # type: ignore[attr-defined]

CASES = [Case(family, i) for family in FAMILIES.values() for i in range(CHOICES)]


# In every run; the other families, and other parameters, are left to the slow tests. One of each kind: on the line, on
# the half line, between bounds, with an atom, a point, counts without and with an end, a vector.
ALWAYS = frozenset("Normal Gamma Uniform HurdleGamma DiracDelta Poisson Bernoulli Dirichlet".split(" "))


def pytest_generate_tests(metafunc: Any) -> None:
    if "case" in metafunc.fixturenames:
        facts = [fact for mark in metafunc.definition.iter_markers("declares") for fact in mark.args]
        cases = [c for c in CASES if all(getattr(c.family, fact) for fact in facts)]
        quick = [bool(facts) or (c.name in ALWAYS and c.number == 0) for c in cases]
        marked = [pytest.param(c, marks=() if q else pytest.mark.slow) for c, q in zip(cases, quick, strict=True)]
        metafunc.parametrize("case", marked, ids=repr)
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", list(FAMILIES.values()), ids=lambda f: f.__name__)
