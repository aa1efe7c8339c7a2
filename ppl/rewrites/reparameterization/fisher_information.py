r"""What data tell about a variable that stays: the information of rows,

.. math:: I_j = \sum_i c_i^2 w(y_i)

where row i of a child picks entry j with the coefficient c_i, and w is the Fisher information of the row about its
linear predictor, at parameters that the family estimates from its data (the weights from which Fisher scoring starts,
McCullagh and Nelder 1989, section 2.5). Both are facts of the family; here are the links. Where the predictor of the
rows is not affine, c_i is its slope, averaged over some points around the start. Where no information is declared, the
curvature of the log-density serves (`curvature`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, topological
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import affine
from ppl.rewrites.marginalization.expressions.data import HOST, NotAffine, data_value, is_always, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import Affine, Select
from ppl.rewrites.marginalization.expressions.picks import POWERS, picks
from ppl.rewrites.marginalization.program import Factor, NoMatch, Observation, Program, children, parts
from ppl.rewrites.marginalization.starts import around_start, start_of
from ppl.rewrites.reparameterization.second_differences import curvature, steps, vector_of_each_row
from ppl.rewrites.values.folding import on_host
from ppl.tensor.tensor import Tensor, as_tensor

PROBIT = 8.0 / np.pi  # φ(0)²/(p(1 - p)) at p = 1/2, against p(1 - p) of the logistic link
LINKS: dict[str | None, Callable[[Any], Any]] = {  # the slope of a parameter in its linear predictor
    None: np.ones_like,
    "exp": lambda x: x,
    "sigmoid": lambda p: p * (1.0 - p),
    "ndtr": lambda p: np.sqrt(PROBIT) * p * (1.0 - p),
}


def _links(domain: Any) -> tuple[str | None, ...]:
    """The links by which a linear predictor may lead to a parameter."""
    if domain.lower is None and domain.upper is None:
        return (None,)
    return ("sigmoid", "ndtr") if (domain.lower, domain.upper) == (0.0, 1.0) else ("exp",)


def _rows_of(child: Observation, y: np.ndarray, known: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Parameters that the Fisher information of the child's family is known for: their values by estimates from its
    rows, and the information of each row there. An unknown scale is 1."""
    family = child.variable.family
    values: dict[str, Any] = dict.fromkeys(filter(None, (family.scale_parameter, family.rate_parameter)), 1.0)
    values |= {family.location_parameter: 0.0} if family.location_parameter else {}
    values |= known
    if family.estimates:
        takes = inspect.signature(family.estimates).parameters
        lacking = [name for name, p in takes.items() if name not in {"y", *known} and p.default is p.empty]
        if lacking:
            raise NotAffine(f"its {lacking[0]} is not known")
        values |= family.estimates(y, **{name: known[name] for name in takes if name in known})
    found = {}
    if family.location_scale:  # about that of normal noise, where the family does not say
        location, scale = family.location_scale
        found[location] = np.asarray(values[scale], float) ** -2.0
    if family.fisher_information and values.keys() >= family.params.keys():  # otherwise one cannot be estimated
        found |= family.fisher_information(*(as_tensor(values[name]) for name in family.params))
    return {name: (np.asarray(values[name], float), data_value(as_tensor(each))) for name, each in found.items()}


def _precision_of_noise(y: Any, start: Any, groups: Any) -> Any:
    """1/σ² for noise of an unknown scale σ: at most what all data vary by, what they do from row to row in a group, and
    what σ starts from."""
    varies = np.var(y)
    least = 1.0 / varies if varies else 0.0
    shape = np.ones_like(y) if start is None else np.broadcast_to(start, y.shape)
    jitter = jitter_in_groups(y / shape, groups())
    times = min(np.inf if jitter is None else jitter, np.inf if start is None else 1.0)
    return least, (times * shape) ** -2.0


def jitter_in_groups(y: np.ndarray, groups: np.ndarray | None) -> float | None:
    """The size of the noise of rows around a predictor that is smooth in each group, in the order of the data; at most
    too large where it is not. None where no group has three rows.

    By the distances of rows from the middle between their neighbors (Gasser, Sroka and Jennen-Steinmetz 1986), of
    which the median is taken: so few large ones do not matter.
    """
    if groups is None:
        return None
    order = np.argsort(groups, kind="stable")
    y, groups = y.ravel()[order], groups[order]
    bends = (y[1:-1] - 0.5 * (y[:-2] + y[2:]))[groups[2:] == groups[:-2]]
    found = float(np.median(np.abs(bends))) / (MEDIAN_OF_NORMAL * np.sqrt(1.5)) if bends.size else 0.0
    return found or None


STEP = 1e-4  # of a difference, where slopes are told by differences
MEDIAN_OF_NORMAL = 0.6745  # of the distance of a standard normal variable from zero
Of = Callable[[Program, Observation, Tensor], np.ndarray]


def told(program: Program, rv: RandomVariable, of: Of | None = None) -> np.ndarray | None:
    """The information that rows hold of each entry, or as `of` has it; None where it cannot be told."""
    information = np.zeros(())
    for factor in children(program, rv):
        try:
            information = information + _told_by(program, factor, rv, of or entries)
        except NoMatch:
            return None
    return information


def told_of_logarithm(program: Program, rv: RandomVariable) -> np.ndarray | None:
    """The information that rows hold of the logarithm of each entry of a positive variable, which is x² that of x where
    sampling starts unless the logarithm stands in their predictor; None where it cannot be told."""
    start = start_of(program, rv)
    if start is None:
        return None
    logarithm: Any = draw(Normal, (as_tensor(np.log(start)), as_tensor(1.0)), known_shape(rv), rv.name)
    moved: dict[Node, Tensor] = {rv: logarithm}  # what only moves entries of x is exp of what moves those of log x
    for node in topological([n for f in children(program, rv) for n in parts(f)], blockers={rv}):
        if node.op.name in HOST and node.inputs[0] in moved and not any(x in moved for x in node.inputs[1:]):
            moved[node] = Node(node.op, (moved[node.inputs[0]], *node.inputs[1:]), node.attrs)  # type: ignore[assignment]
    of_logarithm = program.at(rv, logarithm, {node: tt.exp(log) for node, log in moved.items()})
    information = np.zeros(())
    for factor, same in zip(children(program, rv), children(of_logarithm, logarithm), strict=True):
        try:
            if not isinstance(same, Observation):
                raise NotAffine("it is no observation")
            line, rows = _predicted(program, same, logarithm, 1)
            information = information + _summed([_coefficients(affine(line, {logarithm}), rows.shape)], rows, logarithm)
        except NotAffine:
            try:
                information = information + _told_by(program, factor, rv, entries) * start**2
            except NoMatch:
                return None
    return information


def _told_by(program: Program, factor: Factor, rv: RandomVariable, of: Of) -> np.ndarray:
    """By a formula, else by curvature."""
    try:
        if not isinstance(factor, Observation):
            raise NotAffine("it is no observation")
        return of(program, factor, rv)
    except NotAffine as why:
        if of is squares:
            raise NoMatch(str(why)) from why
    shape = known_shape(rv)
    if of is blocks:
        return curvature(program, factor, rv, shape[-1]).reshape(*shape, shape[-1])
    return curvature(program, factor, rv, 1).reshape(shape)


def entries(program: Program, child: Observation, rv: Tensor) -> np.ndarray:
    """The information of the rows of a child on each entry of a variable, of which a row may pick several."""
    line, rows = _predicted(program, child, rv, 1)
    return _summed(_readings(program, line, rv, rows.shape, 1), rows, rv)


def _summed(readings: Sequence[Picked], rows: np.ndarray, rv: Tensor) -> np.ndarray:
    """The information on each entry, of rows that pick entries, by the mean over readings."""
    total = np.zeros(int(np.prod(known_shape(rv))))
    for picked in readings:
        for places, slope in picked:
            total += np.bincount(places, slope**2 * rows.ravel(), total.size)
    return total.reshape(known_shape(rv)) / len(readings)


def blocks(program: Program, child: Observation, rv: Tensor) -> np.ndarray:
    """The information matrix of each vector of a stack, of which a row picks entries of one."""
    *stack, n = known_shape(rv)
    line, rows = _predicted(program, child, rv, n)
    total = np.zeros((int(np.prod(stack)), n, n))
    readings = _readings(program, line, rv, rows.shape, n)
    for picked in readings:
        for here, slope in picked:
            for there, other in picked:
                if not np.array_equal(here // n, there // n):
                    raise NotAffine("a row picks entries of several vectors")
                np.add.at(total, (here // n, here % n, there % n), slope * other * rows.ravel())
    return total.reshape(*stack, n, n) / len(readings)


def squares(program: Program, child: Observation, rv: Tensor) -> np.ndarray:
    """X'wX of the coefficients of a design, of many rows from some of them."""
    line, rows = _predicted(program, child, rv)
    (n,), count = known_shape(rv), rows.size
    some = np.arange(0, count, max(1, count // LIMITS.rows_of_a_look))
    design = np.zeros((some.size, n))
    for part in affine(line, {rv}).parts:
        known = part.coefficient if isinstance(part, Select) else part.design
        if not is_data(known):
            raise NotAffine("its coefficient is not known")
        if isinstance(part, Select):
            place = np.broadcast_to(part.positions, rows.shape).ravel()[some]
            weight = np.broadcast_to(data_value(known), rows.shape).ravel()[some]
            np.add.at(design, (np.arange(some.size), place), weight)
        else:
            design += data_value(known).reshape(-1, n)[some]
    return (design * rows.reshape(-1, 1)[some]).T @ design * (count / some.size)


def _predicted(program: Program, child: Observation, rv: Tensor, width: int = 0) -> tuple[Tensor, np.ndarray]:
    """The predictor of a child behind its link, and the information that each row has about it; rows that depend on one
    vector of that width are a group."""
    family, shape = child.variable.family, child.variable.type.shape
    if not family.location_scale and not family.fisher_information:
        raise NotAffine("no Fisher information is declared for it")
    if None in shape or not is_data(child.value):
        raise NotAffine("its rows are not known")
    parameters = dict(zip(family.params, child.variable.parameters, strict=True))
    known = {key: data_value(p) for key, p in parameters.items() if is_data(p)}
    y = np.broadcast_to(np.asarray(data_value(child.value), dtype=float), known_shape(child.variable))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _rows_of(child, y, known)
    for slot, (value, rows) in values.items():
        for link in _links(family.params[slot].domain):
            found = _linked(parameters[slot], link, rv)
            if found is None:
                continue
            line, power = found
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = LINKS[link](value)
                rows = np.where(slope == 0, 0.0, rows * slope**2)
                if slot == family.location_parameter and family.scale_parameter not in known:
                    start = start_of(program, parameters[family.scale_parameter])
                    least, precision = _precision_of_noise(
                        y, start, partial(_groups, parameters[slot], shape, rv, width)
                    )
                    rows = np.maximum(least, rows * precision)
                rows = rows + 0.0 * y
            if not np.isfinite(rows).all():
                raise NotAffine("its rows do not vary, or some are missing")
            return line, power**2 * np.broadcast_to(rows, known_shape(child.variable))
    raise NotAffine("its parameter has another link")


def _groups(line: Tensor, shape: Any, rv: Tensor, width: int) -> np.ndarray | None:
    """Which vector of that width each row depends on; None where that is not one."""
    try:
        return vector_of_each_row(tt.broadcast_to(line, shape), rv, width) if width else None
    except NoMatch:
        return None


def _linked(slot: Any, link: str | None, rv: Tensor) -> tuple[Tensor, float] | None:
    """The predictor behind a link, and a power: a slot is data times that power of the link of what it picks of the
    predictor, as 3·(e^η)[g]^-½. None where it is not; a predictor without a link may have factors of its own."""
    if link is None:
        while slot.op.name in ("named", "broadcast_to", "positive"):
            slot = slot.inputs[0]
        return None if slot.op.name in POWERS or rv not in ancestors(slot) else (slot, 1.0)
    shape = known_shape(slot)
    linked = [n for n in ancestors(slot) if n.op.name == link and rv in ancestors(n.inputs)]
    for node in sorted(linked, key=lambda n: -n.serial):  # the outermost first
        try:
            found = picks(slot, node, shape)  # type: ignore[arg-type]
        except NotAffine:
            continue
        scaled = found.power != 1.0 or not is_always(found.coefficient, 1.0)
        if not is_data(found.coefficient) or not is_always(found.offset, 0.0) or (scaled and link != "exp"):
            continue
        line: Any = node.inputs[0]
        places = np.arange(prod(known_shape(line))).reshape(known_shape(line))
        try:
            in_order = np.array_equal(found.positions, np.broadcast_to(places, shape))
        except ValueError:  # of another shape
            in_order = False
        return line if in_order else line.reshape((-1,))[found.positions], found.power
    return None


Picked = list[tuple[np.ndarray, np.ndarray]]  # entries that rows pick, one each, and their slopes in these


def _readings(program: Program, line: Tensor, rv: Tensor, shape: tuple[int, ...], width: int) -> list[Picked]:
    """Which entries rows pick and with which slope: once where that is affine, else at some points around the start."""
    try:
        return [_coefficients(affine(line, {rv}), shape)]
    except NotAffine:
        return _differences(program, tt.broadcast_to(line, shape), rv, width)


def _coefficients(form: Affine, shape: tuple[int, ...]) -> Picked:
    found = []
    for part in form.parts:
        if not isinstance(part, Select) or not is_data(part.coefficient):
            raise NotAffine("its coefficient is not known")
        places, slope = np.broadcast_to(part.positions, shape), np.broadcast_to(data_value(part.coefficient), shape)
        found.append((places.ravel(), slope.ravel()))
    return found


def _differences(program: Program, line: Tensor, rv: Tensor, width: int) -> list[Picked]:
    """The same by differences, where a row depends on entries of one vector of that width."""
    vector = vector_of_each_row(line, rv, width)
    readings = []
    for values in around_start(program, line):
        picked = []
        for entry, step in enumerate(steps(rv, width, STEP)):
            ends = [on_host([line], values | {rv: values[rv] + s * step}, programs=False) for s in (-1.0, 1.0)]
            if ends[0] is None or ends[1] is None:
                raise NoMatch("its slope is not known before a program runs")
            picked.append((vector * width + entry, (ends[1][0] - ends[0][0]).ravel() / (2.0 * STEP)))
        readings.append(picked)
    if not readings:
        raise NoMatch("it is not known where sampling starts")
    return readings
