"""Mixtures whose components may change places: the posterior has as many modes as there are orders.

Not guessed from the form of the model: two components of all variables that have as many entries are exchanged at a
generic point, and there is a finding only if the joint log-density stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Bernoulli, RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.families.mixture import Mixture
from ppl.distributions.transforms import Chain, Ordered
from ppl.graph import ancestors, substitute
from ppl.model.checking.directions import somewhere
from ppl.model.checking.effort import effort
from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.survey import Survey, law_inputs
from ppl.model.posterior.density import add_all
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.tensor import Tensor, placeholder
from ppl.tensor.variables import Variable

KINDS = ("label switching",)

MOST_WORK, MOST_PAIRS = 3e6, 10
Point = dict[RandomVariable, np.ndarray]


def find(survey: Survey) -> Iterator[Finding]:
    """Components that may be exchanged without a change of the log-density."""
    told: set[str] = set()
    for exchange in _exchanges(survey):
        names = tuple(rv.name or "" for rv in exchange if rv.dtype[0] == "f")
        if not names or told & set(names) or not _is_symmetric(survey, exchange):
            continue
        told |= set(names)
        named = [rv for rv in exchange if rv.dtype[0] == "f" and "simplex" not in _kind(rv)]
        what = quoted([rv.name or "" for rv in named] or names)
        yield Finding(
            "label switching", names, "warning",
            f"The components of {what} can change places without a change of the density, so that the posterior has "
            "a mode for every order, chains that are in different ones do not agree, and means over draws mix them.",
            f"Order them, as {_ordering(named or list(exchange))}, or give the components priors that differ.",
        )  # fmt: skip


def _ordering(variables: list[RandomVariable]) -> str:
    first = variables[0].name
    if len(variables) > 1 and variables[0].ndim == 0:
        return f"by one vector in place of {quoted([rv.name or '' for rv in variables])}, with transform=ordered"
    return (
        f'with {variables[0].family.__name__}("{first}", ..., transform=pm.distributions.transforms.ordered, '
        "initval=increasing values)"
    )


Exchange = Mapping[RandomVariable, Any]  # what becomes of the values of each variable


def _exchanges(survey: Survey) -> Iterator[Exchange]:
    """Exchanges of two components that may leave the density as it is."""
    movable = [rv for rv in survey.free if rv in survey.informed and not _is_ordered(survey, rv)]
    for states in sorted(_numbers_of_components(survey)):
        some = {rv: _swapped(states, rv) for rv in movable if states in rv.type.shape or _states(rv) == states}
        behind = {v for node in survey.ends if _mixes(survey, node, states) for v in survey.behind[node]}
        fewer = {rv: move for rv, move in some.items() if rv in behind}
        if any(rv.dtype[0] == "f" for rv in fewer):
            yield fewer
    yield from _of_single_laws(survey, movable)
    yield from _of_two_states(survey, movable)


def _numbers_of_components(survey: Survey) -> set[int]:
    free = [rv for rv in survey.free if rv in survey.informed]
    found = {_states(rv) for rv in free}
    found |= {int(rv.type.shape[-1] or 0) for rv in free if "simplex" in _kind(rv)}
    found |= {_components(rv) for rv in (*survey.free, *survey.observed)}
    return {n for n in found if 2 <= n <= 50}


def _kind(rv: RandomVariable) -> str:
    domain = rv.family.support_for(rv.parameters)
    return "simplex" if domain.name == "probabilities that sum to 1" else ""


def _is_simplex(rv: RandomVariable, length: int) -> bool:
    return bool(_kind(rv)) and rv.type.shape[-1] == length


def _states(rv: RandomVariable) -> int:
    """How many values a discrete latent has that are numbered from 0."""
    if rv.family.categories:
        return int(rv.family.categories(*rv.parameters) or 0)
    return 0


def _components(rv: RandomVariable) -> int:
    return int(rv.parameters[0].type.shape[-1] or 0) if issubclass(rv.family, Mixture) else 0


def _mixes(survey: Survey, node: Any, states: int) -> bool:
    labeled = any(_states(v) == states or _is_simplex(v, states) for v in survey.behind[node])  # type: ignore[arg-type]
    return labeled or (isinstance(node, RandomVariable) and _components(node) == states)


def _is_ordered(survey: Survey, rv: RandomVariable) -> bool:
    transform = survey.now.rvs_to_transforms.get(rv)
    each = transform.transform_list if isinstance(transform, Chain) else [transform]
    return any(isinstance(t, Ordered) for t in each)


def _swapped(states: int, rv: RandomVariable) -> Any:
    """Exchange components 0 and 1: discrete latents, or entries along each axis that has as many."""

    def exchange(point: Point) -> np.ndarray:
        value = point[rv]
        if rv.dtype[0] != "f":
            return np.where(value == 0, 1, np.where(value == 1, 0, value))
        order = [1, 0, *range(2, states)]
        for axis, length in enumerate(value.shape):
            value = np.take(value, order, axis=axis) if length == states else value
        return value

    return exchange


def _other(rv: RandomVariable) -> Any:
    return lambda point: point[rv]


def _of_single_laws(survey: Survey, movable: list[RandomVariable]) -> Iterator[Exchange]:
    """Components of a mixture that are written one by one, with variables of their own."""
    free = set(survey.free)
    for mixture in survey.observed:
        laws = laws_of(mixture) if issubclass(mixture.family, Mixture) else ()
        for (i, one), (j, other) in list(combinations(enumerate(laws), 2))[:MOST_PAIRS]:
            behind = [ancestors(list(law_inputs(law)), blockers=free) & free for law in (one, other)]
            own = [sorted(behind[k] - behind[1 - k], key=lambda n: n.serial) for k in (0, 1)]
            if not own[0] or len(own[0]) != len(own[1]) or not set(movable) >= {*own[0], *own[1]}:
                continue
            pairs = list(zip(*own, strict=True))
            if all(a.type == b.type and a.family is b.family for a, b in pairs):  # type: ignore[attr-defined]
                exchange: dict[RandomVariable, Any] = {a: _other(b) for a, b in pairs}  # type: ignore[misc,arg-type]
                exchange |= {b: _other(a) for a, b in pairs}  # type: ignore[misc,arg-type]
                weights = survey.parents(mixture.parameters[0])
                yield exchange | {w: _between(i, j, w) for w in weights if w in set(movable)}


def _between(i: int, j: int, rv: RandomVariable) -> Any:
    def exchange(point: Point) -> np.ndarray:
        value = point[rv].copy()
        if value.ndim:
            value[..., [i, j]] = value[..., [j, i]]
        return value if value.ndim else 1.0 - value

    return exchange


def _of_two_states(survey: Survey, movable: list[RandomVariable]) -> Iterator[Exchange]:
    """A discrete latent that is 0 or 1, and two variables of one kind that it chooses from."""
    for label in survey.free:
        if label.family is not Bernoulli:
            continue
        steered = {v for node in survey.ends if label in survey.behind[node] for v in survey.behind[node]}
        chance = {p: (lambda point, p=p: 1.0 - point[p]) for p in survey.parents(label.parameters[0])}
        base: dict[RandomVariable, Any] = {label: lambda point, label=label: 1 - point[label], **chance}
        others = [rv for rv in movable if rv in steered and rv not in base and rv.dtype[0] == "f"]
        vectors = {rv: _swapped(2, rv) for rv in others if rv.type.shape == (2,)}
        if vectors:
            yield base | vectors
        numbers = [rv for rv in others if rv.ndim == 0]
        for a, b in list(combinations(numbers, 2))[:MOST_PAIRS]:
            if a.family is b.family:
                yield base | {a: _other(b), b: _other(a)}


def _is_symmetric(survey: Survey, exchange: Exchange) -> bool:
    """Whether the joint log-density is the same before and after, and finite, at generic points."""
    inputs = {rv: placeholder(rv.type, rv.name or "") for rv in survey.free}
    seen = {rv: survey.now.rvs_to_values[rv] for rv in survey.observed}
    laws = {rv: rv.family.log_density(seen.get(rv, rv), *rv.parameters, checked=False) for rv in (*survey.free, *seen)}
    likelihood = add_all([tt.sum(term) for term in (*(laws[rv] for rv in seen), *survey.now.potentials)])
    prior = add_all([tt.sum(laws[rv]) for rv in survey.free])
    both: list[Tensor] = substitute([likelihood, prior], inputs)  # type: ignore[assignment]
    if not effort(both) < MOST_WORK:
        return False
    data: dict[Any, np.ndarray] = {n: np.asarray(n.value) for n in ancestors(both) if isinstance(n, Variable)}

    def density(point: Point) -> np.ndarray:
        """The log-densities of the data and of the prior."""
        found = step_by_step(both, data | {inputs[rv]: point[rv] for rv in survey.free})
        return np.full(2, np.nan) if found is None else np.array([float(x) for x in found])

    rng = np.random.default_rng(20)
    for place in range(2):
        point = _point(survey, rng, place)
        if point is None:
            return False
        moved = {rv: np.asarray(exchange[rv](point)).astype(rv.dtype) for rv in exchange}
        # Where components are alike, in the middle, data must be of another density: else they do not tell of them.
        middle = {rv: (point[rv] + value) / 2 for rv, value in moved.items() if rv.dtype[0] == "f"}
        here, there, between = density(point), density(point | moved), density(point | middle)
        if not _same(here.sum(), there.sum()) or not np.isfinite(between[0]) or _same(here[0], between[0]):
            return False
    return True


def _same(a: float, b: float) -> bool:
    return bool(np.isfinite(a) and abs(a - b) <= 1e-9 * (1.0 + abs(a)))


def _point(survey: Survey, rng: np.random.Generator, place: int) -> Point | None:
    """Values of all free variables that have nothing special."""
    point: Point = {}
    for rv in survey.free:
        value = _label_values(rv, rng) if rv.dtype[0] != "f" else somewhere(survey, rv, rng, place)
        if value is None:
            return None
        point[rv] = np.asarray(value).astype(rv.dtype)
    return point


def _label_values(rv: RandomVariable, rng: np.random.Generator) -> np.ndarray | None:
    if rv.family is Bernoulli:
        return rng.integers(0, 2, rv.type.shape)
    return rng.integers(0, _states(rv), rv.type.shape) if _states(rv) else None
