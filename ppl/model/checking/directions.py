r"""Directions in which parameters move without any law of the model noticing: what data cannot tell.

The data enter through the parameters of the laws that they follow. The map from the variables of known prior, moved
one by one from some generic points, to all of these numbers (and to the potentials) has a Jacobian; its null space
holds the directions that the data do not tell of. One that is the same at all points is linear, as that of `a + b`;
one that turns from point to point is not, as that of `a * b`. Differences are taken over a short step, and a direction
counts only if its singular value vanishes to the accuracy of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

import ppl.tensor as tt
from ppl.distributions import OrderedLogistic, OrderedProbit, RandomVariable
from ppl.distributions.declaration.domains import real
from ppl.graph import Node, ancestors, substitute
from ppl.graph.records import record
from ppl.model.checking.effort import effort
from ppl.model.checking.prior_draws import PriorDraws
from ppl.model.posterior.snapshot import Present
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.arrays.reductions import softmax
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor, is_constant, placeholder, value_of
from ppl.tensor.variables import Variable

POINTS, STEP, TOLERANCE, SEED = 4, 1e-4, 1e-6, 20
NEAR = 1e-7  # how much closer to zero one of the points is
MOST_ENTRIES, MOST_WORK = 150, 2e7  # variables that are moved, and numbers that NumPy goes over for them
SMALL = 1e-6  # entries of a direction that count as none
DIGITS = 10  # of a column of a design, beyond which it is rounding
ROUNDING = 1e-13  # of a number, below which a difference is none


class Surveyed(Protocol):
    """What is used here of the survey of a model."""

    @property
    def now(self) -> Present: ...
    @property
    def free(self) -> list[RandomVariable]: ...
    @property
    def is_free(self) -> set[Node]: ...
    @property
    def ends(self) -> list[Node]: ...
    @property
    def behind(self) -> dict[Node, set[Node]]: ...
    @property
    def informed(self) -> set[Node]: ...
    @property
    def laws(self) -> list[tuple[RandomVariable, tuple[Tensor, ...]]]: ...
    @property
    def prior(self) -> PriorDraws | None: ...
    def is_root(self, rv: RandomVariable) -> bool: ...


@record
class Direction:
    """A direction, by variable the share of each of its entries; `linear` if it is the same everywhere."""

    shares: dict[RandomVariable, np.ndarray]
    linear: bool


@record
class Directions:
    """The directions that no law notices, and what each of the variables moved adds to the laws."""

    found: tuple[Direction, ...]
    moved: tuple[RandomVariable, ...]


def invariant_directions(survey: Surveyed) -> Directions | str:
    """The directions in which variables of known laws move unnoticed; or the reason why they are not known."""
    moved = _moved(survey)
    if not moved:
        return Directions((), ())
    outputs = _outputs(survey, moved)
    if not outputs:
        return Directions((), ())
    size = sum(int(np.prod(rv.type.shape)) for rv in moved)
    if size > MOST_ENTRIES:
        return f"{size:,} entries of variables would be moved one by one"
    fixed = sorted(ancestors(outputs) & set(survey.free) - set(moved), key=lambda node: node.serial)
    jacobians = _jacobians(survey, outputs, moved, fixed)  # type: ignore[arg-type]
    if isinstance(jacobians, str):
        return jacobians
    return Directions(tuple(_null_directions(jacobians, moved)), tuple(moved))


def _moved(survey: Surveyed) -> list[RandomVariable]:
    """Continuous variables of a known law, whose entries may be moved one by one, and which no discrete latent steers.
    What goes through a step (a comparison, a maximum) is left out: near some points it moves nothing."""
    labels = {rv for rv in survey.free if rv.dtype[0] != "f"}
    ends = [*survey.ends, *survey.free]
    out = {v for node in ends if survey.behind[node] & labels for v in survey.behind[node]} if labels else set()
    inputs = [p for _, law in survey.laws for p in law] + survey.now.potentials
    steps = [node for node in ancestors(inputs) if _is_step(node)]
    out |= ancestors(steps, blockers=survey.is_free) & survey.is_free
    return [
        rv
        for rv in survey.free
        if rv.dtype[0] == "f"
        and rv in survey.informed
        and rv not in out
        and survey.is_root(rv)
        and _entries_move_alone(rv)
    ]


STEPS = frozenset(
    "less less_equal greater greater_equal equal not_equal floor ceil trunc rint round sign heaviside maximum minimum "
    "clip max min argmax argmin sort argsort searchsorted floor_divide mod relu".split()
)


def _is_step(node: Node) -> bool:
    if node.op.name == "switch":
        return not is_data(node.inputs[0])
    return node.op.name in STEPS and not all(map(is_data, node.inputs))


def _entries_move_alone(rv: RandomVariable) -> bool:
    domain = rv.family.support_for(rv.parameters)
    return not domain.ndim or domain.entry is real


def _outputs(survey: Surveyed, moved: Sequence[RandomVariable]) -> list[Tensor]:
    """The parameters of all laws, and the potentials, that depend on what is moved."""
    wanted = set(moved)
    laws = [p for rv, inputs in survey.laws if 0 not in rv.type.shape for p in _told(rv, inputs)]
    free = set(survey.free)
    laws = [_without_link(p) for p in laws]
    return [
        p for p in (*laws, *survey.now.potentials)
        if p.dtype[0] in "fiu" and not wanted.isdisjoint(ancestors([p], blockers=free))
    ]  # fmt: skip


def _without_link(p: Tensor) -> Tensor:
    """The predictor behind a parameter, which tells as much: a link that saturates would hide it."""
    while True:
        node: Any = p
        if node.op is NAMED or (isinstance(node.op, Elementwise) and len(node.inputs) == 1 and node.op.facts.monotone):
            p = node.inputs[0]
        elif node.op is softmax:
            logits = node.inputs[0]
            return logits - tt.mean(logits, axis=node.attrs["axis"], keepdims=True)
        else:
            return p


def _told(rv: RandomVariable, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
    """What a law depends on: of ordered classes the cutpoints beside the predictor only."""
    if rv.family in (OrderedLogistic, OrderedProbit):
        eta, cutpoints, *scale = inputs
        beside = cutpoints - tt.expand_dims(eta, -1)
        return [beside / tt.expand_dims(scale[0], -1) if scale else beside]
    return inputs


def _jacobians(
    survey: Surveyed, outputs: Sequence[Tensor], moved: Sequence[RandomVariable], fixed: Sequence[RandomVariable]
) -> list[np.ndarray] | str:
    """The Jacobian at each of some generic points, (numbers of the laws, entries of what is moved)."""
    inputs = {rv: placeholder(rv.type, rv.name or "") for rv in (*moved, *fixed)}
    rng = np.random.default_rng(SEED)
    points = [[somewhere(survey, rv, rng, k) for rv in inputs] for k in range(POINTS)]
    points[-1] = [_nearer(rv, value) for rv, value in zip(inputs, points[-1], strict=True)]
    if any(value is None for point in points for value in point):
        strange = next(rv for rv, value in zip(inputs, points[0], strict=True) if value is None)
        return f'"{strange.name}" is a {strange.family.__name__}, of which no generic value is known'
    sizes = [int(np.prod(rv.type.shape)) for rv in moved]
    rows = POINTS * 2 * sum(sizes)
    at_values: list[Any] = substitute(outputs, inputs)
    total = rows * effort(at_values)
    if not total < MOST_WORK:
        return f"it would take NumPy {total:.0e} numbers"
    found = for_rows(at_values, list(inputs.values()), rows)
    if found is None:
        return "the parameters of a law come from a loop, or from another operation that NumPy does not do for rows"
    places, results = found
    steps = np.concatenate([np.eye(sum(sizes)), -np.eye(sum(sizes))]) * STEP
    ends = np.cumsum(sizes)
    values = []
    for position, rv in enumerate(inputs):
        each = []
        for point in points:
            base = np.asarray(point[position])
            column = np.broadcast_to(base, (2 * sum(sizes), *base.shape))
            if position < len(moved):
                own = steps[:, ends[position] - sizes[position] : ends[position]].reshape((-1, *base.shape))
                column = column + own
            each.append(column)
        values.append(np.concatenate(each).astype(rv.dtype))
    held: dict[Node, np.ndarray] = dict(zip(places, values, strict=True))
    held |= {node: np.asarray(node.value) for node in ancestors(results) if isinstance(node, Variable)}
    computed = step_by_step(results, held)
    if computed is None:
        return "the parameters of a law have an operation that NumPy does not do"
    table = np.concatenate([np.asarray(x, float).reshape(rows, -1) for x in computed], axis=1)
    table = table[:, np.isfinite(table).all(axis=0)]
    return [_slopes(part) for part in np.split(table, POINTS)]


def somewhere(survey: Surveyed, rv: RandomVariable, rng: np.random.Generator, place: int) -> np.ndarray | None:
    """A generic value; of families with constraints of their own a draw from the prior."""
    value = generic(rv, rng)
    if value is None and survey.prior is not None and rv in survey.prior.free:
        drawn = survey.prior.free[rv][place]
        return drawn if np.isfinite(drawn).all() else None
    return value


def _nearer(rv: RandomVariable, value: np.ndarray | None) -> np.ndarray | None:
    """A point close to zero, where huge covariates saturate nothing."""
    return value * NEAR if value is not None and rv.family.support_for(rv.parameters) is real else value


def _slopes(table: np.ndarray) -> np.ndarray:
    """Central differences, with those taken for none that are rounding; each number on the scale of its largest."""
    up, down = np.split(table, 2)
    change = up - down
    change[np.abs(change) <= ROUNDING * (np.abs(up) + np.abs(down))] = 0.0
    slopes = change.T / (2 * STEP)
    slopes = slopes[np.any(slopes != 0, axis=1)]
    largest = np.max(np.abs(slopes), axis=1, keepdims=True) if slopes.size else 1.0
    return _triangle(slopes / largest)


def _triangle(rows: np.ndarray) -> np.ndarray:
    """A matrix with the same null space, and with no more rows than columns."""
    found: np.ndarray = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    return found


def _null_directions(jacobians: Sequence[np.ndarray], moved: Sequence[RandomVariable]) -> list[Direction]:
    each = [_null_space(j) for j in jacobians]
    fewest = min(n.shape[1] for n in each)
    together = _null_space(np.concatenate(jacobians))
    found = [_direction(v, moved, True) for v in _sparse(together)]
    if fewest > together.shape[1]:
        turning = [[_direction(v, moved, False) for v in _sparse(n)] for n in each]
        known = [set(d.shares) for d in found]
        for d in turning[0]:
            seen = all(any(set(d.shares) == set(other.shares) for other in rest) for rest in turning[1:])
            if seen and not any(set(d.shares) & names for names in known):
                found.append(d)
    return found


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """The directions that a matrix maps to zero, to the accuracy of the differences; columns on one scale each."""
    columns = matrix.shape[1]
    if not len(matrix):
        return np.eye(columns)
    sizes = np.max(np.abs(matrix), axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    _, singular, transposed = np.linalg.svd(_triangle(matrix / scale), full_matrices=True)
    rank = int(np.sum(singular > TOLERANCE * singular[0])) if singular.size and singular[0] > 0 else 0
    null: np.ndarray = transposed[rank:].T / scale[:, None]
    return null


def _sparse(null: np.ndarray) -> list[np.ndarray]:
    """A basis with many zeros, by elimination among the directions."""
    rows = null.T.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) <= SMALL * np.max(np.abs(rows[pivot])):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = [i for i in range(len(rows)) if i != done]
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    return [np.where(np.abs(v) > SMALL * np.max(np.abs(v)), v, 0.0) for v in rows]


def _direction(v: np.ndarray, moved: Sequence[RandomVariable], linear: bool) -> Direction:
    shares, start = {}, 0
    for rv in moved:
        size = int(np.prod(rv.type.shape))
        part = v[start : start + size]
        start += size
        if np.any(part != 0):
            shares[rv] = part.reshape(rv.type.shape)
    return Direction(shares, linear)


def generic(rv: RandomVariable, rng: np.random.Generator) -> np.ndarray | None:
    """A value of a variable that has nothing special, near 0 or 1 where its support allows."""
    domain = rv.family.support_for(rv.parameters)
    shape = rv.type.shape
    z = 0.5 * rng.normal(size=shape) + 0.2
    if domain.discrete:
        return None
    if domain is real:
        return z
    if domain.name == "probabilities that sum to 1":
        return np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
    if domain.name == "increasing":
        return np.cumsum(np.exp(z), axis=-1) - 1.0
    if domain.name == "a vector of positive numbers":
        return np.asarray(np.exp(z))
    if domain.ndim:
        return z if domain.entry is real else None
    low, high = (_number(b) for b in (domain.lower, domain.upper))
    if (domain.lower is not None and low is None) or (domain.upper is not None and high is None):
        return None
    if low is None and high is None:
        return None
    if low is not None and high is not None:
        return np.asarray(low + (high - low) / (1 + np.exp(-z)))
    return np.asarray(low + np.exp(z)) if low is not None else np.asarray(high - np.exp(z))


def _number(bound: Any) -> Any:
    if bound is None or isinstance(bound, int | float | np.ndarray | np.generic):
        return bound
    return value_of(bound) if isinstance(bound, Tensor) and is_constant(bound) else None


def design(expression: Tensor, variables: Sequence[RandomVariable], others: Sequence[RandomVariable]) -> Any:
    """The columns by which an expression depends on the entries of some variables, (rows, entries), where it is affine
    in them; None where it is not, or where NumPy does not know it."""
    inputs = {rv: placeholder(rv.type, rv.name or "") for rv in (*variables, *others)}
    rng = np.random.default_rng(SEED)
    base = [generic(rv, rng) for rv in inputs]
    sizes = [int(np.prod(rv.type.shape)) for rv in variables]
    total, rows = sum(sizes), 2 * sum(sizes) + 1
    (at_values,) = substitute([expression], inputs)
    costs = effort([at_values])
    if any(value is None for value in base) or total > MOST_ENTRIES or not rows * costs < MOST_WORK:
        return None
    found = for_rows([at_values], list(inputs.values()), rows)  # type: ignore[list-item]
    if found is None:
        return None
    places, results = found
    steps, values, start = np.concatenate([np.zeros((1, total)), np.eye(total), 3.0 * np.eye(total)]), [], 0
    for position, value in enumerate(base):
        column = np.broadcast_to(np.asarray(value), (rows, *np.shape(value)))
        if position < len(sizes):
            column = column + steps[:, start : start + sizes[position]].reshape((-1, *np.shape(value)))
            start += sizes[position]
        values.append(column)
    held: dict[Node, np.ndarray] = dict(zip(places, values, strict=True))
    held |= {node: np.asarray(node.value) for node in ancestors(results) if isinstance(node, Variable)}
    computed = step_by_step(results, held)
    if computed is None:
        return None
    table = np.asarray(computed[0], float).reshape(rows, -1)
    once, thrice = table[1 : total + 1] - table[0], table[total + 1 :] - table[0]
    small = 1e-9 * (1.0 + np.abs(table[0]) + np.abs(thrice))
    if not np.all(np.abs(thrice - 3.0 * once) <= small):
        return None
    columns = np.where(np.abs(once) <= small, 0.0, once).T
    largest = np.max(np.abs(columns), axis=0)
    powers = 10.0 ** np.ceil(np.log10(np.where(largest > 0, largest, 1.0)))
    return np.round(columns / powers, DIGITS) * powers
