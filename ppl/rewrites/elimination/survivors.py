r"""Which coordinates suit the variables that no rule could integrate out.

A variable of fixed law that is a parameter of latent variables (the standard deviation of groups, say) is often not
excluded from the ends of its support by the data, and takes the coordinate of its family. A variable μ + σZ with
random μ or σ (normal, Student's t, Laplace, ...) is centred as far as the data decide it, that is by the information

.. math:: I_j = \sum_i c_i^2 w(y_i)

where row i of a child picks entry j with the coefficient c_i, and w is the weight of a row of a generalised linear
model at its own data (the weights from which Fisher scoring starts, McCullagh and Nelder 1989, section 2.5).
Of coefficients of a dense design X, with P = X'wX + 1/τ², it is centred by the λ at which the variance of what moves,
[P⁻¹]_jj τ^{2λ-2}, does not change with τ:

.. math:: λ_j = 1 - \frac{[P^{-2}]_{jj}}{τ^2 [P^{-1}]_{jj}}
Coefficients of a constant design X are turned by the triangle of √w X, their prior taken for further rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Cauchy, GaussianRandomWalk, Laplace, Normal, RandomVariable, StudentT
from ppl.distributions.distribution import default_point
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.elimination.affine import Affine, NotAffine, Select, affine, data_value, is_data, known_shape
from ppl.rewrites.elimination.coordinates import (
    COORDINATES,
    LOCATION_AND_SCALE,
    Balanced,
    Coordinate,
    PartiallyCentred,
    Pulled,
    PulledSteps,
    Whitened,
    fixed_coordinate,
)
from ppl.rewrites.elimination.monomials import POWERS
from ppl.rewrites.elimination.positive import known_positive
from ppl.rewrites.elimination.program import Observation, Program, children, parts, reaches
from ppl.tensor.shaping import broadcast_to
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass(frozen=True)
class Weight:
    """The information of one row about its linear predictor, which stands in a slot of its family behind a link."""

    slot: str
    link: str | None  # the op that makes the parameter from the linear predictor
    of: Callable[..., Any]  # of (y, the other parameters)


def _share(y: Any, n: Any = 1.0) -> Any:
    """np(1 - p) at a frequency that is drawn towards that of all rows, since single rows say 0 or 1."""
    p = (y + np.sum(y) / np.sum(n + 0.0 * y)) / (n + 1.0)
    return n * p * (1.0 - p)


def _of_residuals(y: Any, **_: Any) -> Any:
    """As if all that varies in the data were noise."""
    return 1.0 / np.var(y) + 0.0 * y


def _mixed_counts(y: Any, n: Any = None) -> Any:
    """μn/(μ + n) of counts whose mean is itself a gamma variable of shape n, which is guessed where it is not known."""
    mean, variance = np.mean(y) + 0.5, np.var(y)
    shape = mean**2 / max(variance - mean, 1e-3 * mean) if n is None else n
    return (y + 0.5) * shape / (y + 0.5 + shape)


def _ordered(y: Any, **_: Any) -> Any:
    """(1 - Σp³)/3 by the frequencies of the classes, for cutpoints of a logistic variable."""
    frequencies = np.unique(y, return_counts=True)[1] / np.size(y)
    return (1.0 - np.sum(frequencies**3)) / 3.0 + 0.0 * y


PROBIT = 8.0 / np.pi  # φ(0)²/(p(1 - p)) at p = 1/2, against p(1 - p) of the logistic link
Collect = Callable[[Affine, np.ndarray, Tensor], np.ndarray]
WEIGHTS: dict[str, tuple[Weight, ...]] = {
    **{family: (Weight(slots[0], None, _of_residuals),) for family, slots in LOCATION_AND_SCALE.items()},
    "Poisson": (Weight("mu", "exp", lambda y, **_: y + 0.5),),
    "ZeroInflatedPoisson": (Weight("mu", "exp", lambda y, **_: y + 0.5),),
    "NegativeBinomial": (Weight("p", "sigmoid", _mixed_counts),),
    "Bernoulli": (
        Weight("p", "sigmoid", lambda y, **_: _share(y)),
        Weight("p", "ndtr", lambda y, **_: PROBIT * _share(y)),
    ),
    "Binomial": (
        Weight("p", "sigmoid", lambda y, n, **_: _share(y, n)),
        Weight("p", "ndtr", lambda y, n, **_: PROBIT * _share(y, n)),
    ),
    "OrderedLogistic": (Weight("eta", None, _ordered),),
    "OrderedProbit": (Weight("eta", None, lambda y, sigma=1.0, **_: PROBIT * _ordered(y) / sigma**2),),
    "Weibull": (Weight("beta", "exp", lambda y, alpha=1.0, **_: alpha**2 + 0.0 * y),),
    "Exponential": (Weight("lam", "exp", lambda y, **_: 1.0 + 0.0 * y),),
    "StudentT": (
        Weight("mu", None, _of_residuals),
        Weight("sigma", "exp", lambda y, nu=5.0, **_: 2.0 * nu / (nu + 3.0) + 0.0 * y),
    ),
    "Normal": (
        Weight("mu", None, lambda y, sigma=None: 0.0 * y + (1.0 / np.var(y) if sigma is None else sigma**-2.0)),
        Weight("sigma", "exp", lambda y, **_: 2.0 + 0.0 * y),
    ),
}


def coordinates(
    written: Program, left: Program, protected: Collection[RandomVariable]
) -> dict[RandomVariable, Coordinate]:
    """A coordinate for each variable left of a program, as written before, that has a better one than its own."""
    found: dict[RandomVariable, Coordinate] = {}
    for rv in left.free:
        if rv in protected or None in rv.type.shape:
            continue
        chosen: Coordinate | None = None
        if rv.family.__name__ in COORDINATES and all(is_data(p) for p in rv.parameters):
            heavy = rv.family is Cauchy  # its tails hinder, whatever it is a parameter of
            chosen = fixed_coordinate(rv) if heavy or _rules_latents(written, rv) else None
        elif rv.family.__name__ in LOCATION_AND_SCALE and not all(is_data(p) for p in _location_and_scale(rv)):
            chosen = _centred(written, rv)
        elif rv.family is GaussianRandomWalk and rv.ndim == 1:
            chosen = _pulled(written, rv)
        elif rv.family in COEFFICIENTS and rv.ndim == 1:
            chosen = _pulled_steps(written, rv) or _whitened(written, rv)
        if chosen is not None:
            found[rv] = chosen
    return found


def _rules_latents(program: Program, rv: RandomVariable) -> bool:
    """Whether a latent variable that data depend on has it among its parameters."""
    return any(children(program, other) for other in children(program, rv) if isinstance(other, RandomVariable))


def _told(program: Program, rv: RandomVariable, collect: Collect | None = None) -> np.ndarray | None:
    """The information that rows hold of each entry, or as `collect` has it; None where it cannot be told."""
    shape = known_shape(rv)
    information = np.zeros(shape if collect is None else shape * 2)
    for factor in children(program, rv):
        if not isinstance(factor, Observation):
            return None
        try:
            information = information + _information(factor, rv, collect)
        except NotAffine:
            return None
    return information


def _centred(program: Program, rv: RandomVariable) -> Coordinate | None:
    """The weight of the data in the precision of each entry; None where it cannot be told."""
    spread = _start(program, _location_and_scale(rv)[1])
    if spread is None:
        return None
    information = _told(program, rv)
    if information is not None:
        return Balanced(information, spread / np.sqrt(1.0 + information * spread**2), rv.family.__name__)
    share = _share_in_design(program, rv, spread)
    return None if share is None else PartiallyCentred(share, rv.family.__name__)


def _share_in_design(program: Program, rv: RandomVariable, spread: np.ndarray) -> np.ndarray | None:
    """Of coefficients of a dense design, by how the variance v that the data leave of each goes with τ."""
    if rv.ndim != 1 or known_shape(rv)[0] > MOST_COEFFICIENTS:
        return None
    information = _told(program, rv, _squares)
    if information is None:
        return None
    spread = np.broadcast_to(LOW * spread, known_shape(rv))
    precision = np.diag(spread**-2.0) + information
    if not np.isfinite(precision).all():
        return None
    left = np.linalg.pinv(precision, hermitian=True)
    return np.clip(1.0 - np.diagonal(left @ left) / (spread**2 * np.diagonal(left)), 0.0, 1.0)


def _location_and_scale(rv: RandomVariable) -> list[Tensor]:
    parameters = dict(zip(rv.family.params, rv.parameters, strict=True))
    return [parameters[name] for name in LOCATION_AND_SCALE[rv.family.__name__]]


def _pulled(program: Program, rv: RandomVariable) -> Pulled | None:
    """The information of the rows of a walk; None where it cannot be told, or where its start is not normal."""
    init, step, _ = rv.parameters
    laws = [x for x in (init, step) if isinstance(x, RandomVariable) and x.family is Normal]
    if len(laws) != 2 or init.ndim or step.ndim > 1 or known_shape(rv)[0] < 3:
        return None
    information = _told(program, rv)
    return Pulled(information) if information is not None and information.any() else None


def _pulled_steps(program: Program, rv: RandomVariable) -> PulledSteps | None:
    """The same for standard normal steps, where data depend on them by cumsum(σ e) alone, with a σ made before them."""
    standard = rv.family is Normal and all(
        is_data(p) and np.all(data_value(p) == x) for p, x in zip(rv.parameters, (0.0, 1.0), strict=True)
    )
    factors = children(program, rv)
    if not standard or not factors or known_shape(rv)[0] < 3:
        return None
    nodes = set().union(*(ancestors(list(parts(f))) for f in factors))
    walks = [n for n in nodes if isinstance(n, Tensor) and n.op is tt.cumsum and rv in ancestors(n)]
    scale = _scale_of_steps(walks[0].inputs[0], rv) if len(walks) == 1 else None
    if scale is None or any(rv in reaches(f, [walks[0]]) for f in factors):
        return None
    if any(isinstance(x, RandomVariable) and x.serial > rv.serial for x in ancestors(scale)):
        return None
    information = np.zeros(known_shape(rv))
    for factor in factors:
        try:
            if not isinstance(factor, Observation):
                return None
            information = information + _information(factor, walks[0])
        except NotAffine:
            return None
    return PulledSteps(information, (scale,)) if information.any() else None


def _scale_of_steps(product: Any, rv: RandomVariable) -> Tensor | None:
    """The positive number σ of σ e."""
    if product.op.name != "multiply" or not any(x is rv for x in product.inputs):
        return None
    scale = product.inputs[0] if product.inputs[1] is rv else product.inputs[1]
    number = scale.type.shape == () or (None not in scale.type.shape and np.prod(scale.type.shape) == 1)
    return scale.reshape(()) if number and rv not in ancestors(scale) and known_positive(scale) else None


COEFFICIENTS = (Normal, StudentT, Laplace)  # families of coefficients; the last parameter is a scale
ALIKE = 4.0  # condition number of the precision, entries scaled, from which on columns are taken to be alike
MOST_COEFFICIENTS = 200
LOW = 0.25  # of the scale where sampling starts: where coefficients shrink, and a posterior is hard to move in
ENOUGH_ROWS = 4096  # of a design to tell which columns are alike


def _whitened(program: Program, rv: RandomVariable) -> Whitened | None:
    """The triangle of the design of coefficients with a constant prior; None where they are not much alike."""
    (n,) = known_shape(rv)
    if not 1 < n <= MOST_COEFFICIENTS or not all(is_data(p) for p in rv.parameters):
        return None
    scale = np.broadcast_to(data_value(rv.parameters[-1]), (n,))
    information = _told(program, rv, _squares)
    if information is None:
        return None
    precision = np.diag(scale**-2.0) + information
    unit = np.sqrt(np.diagonal(precision))
    if not np.isfinite(precision).all() or np.linalg.cond(precision / np.outer(unit, unit)) < ALIKE:
        return None
    return Whitened(rv.family.__name__, np.linalg.cholesky(precision).T)


def _squares(form: Affine, rows: np.ndarray, rv: Tensor) -> np.ndarray:
    """X'wX, of many rows from some of them."""
    (n,), count = known_shape(rv), rows.size
    some = np.arange(0, count, max(1, count // ENOUGH_ROWS))
    design = np.zeros((some.size, n))
    for part in form.parts:
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


def _information(child: Observation, rv: Tensor, collect: Collect | None = None) -> np.ndarray:
    """The information of the rows of a child on each entry of a variable, or as `collect` has it."""
    family, shape = child.variable.family, child.variable.type.shape
    weights = WEIGHTS.get(family.__name__)
    if weights is None:
        raise NotAffine("no weights are known for it")
    if None in shape or not is_data(child.value):
        raise NotAffine("its rows are not known")
    parameters = dict(zip(family.params, child.variable.parameters, strict=True))
    for weight in weights:
        inner, power = _linked(parameters[weight.slot])
        if weight.link != (inner.op.name if weight.link else None) or (power != 1.0 and weight.link != "exp"):
            continue
        if rv not in ancestors(inner):
            continue
        form = affine(inner if weight.link is None else inner.inputs[0], {rv})
        others = {key: data_value(p) for key, p in parameters.items() if key != weight.slot and is_data(p)}
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = weight.of(np.asarray(data_value(child.value), dtype=float), **others)
        if not np.isfinite(rows).all():
            raise NotAffine("its rows do not vary, or some are missing")
        rows = power**2 * np.broadcast_to(rows, known_shape(child.variable))
        return (collect or _collected)(form, rows, rv)
    raise NotAffine("its parameter has another link")


def _linked(slot: Any) -> tuple[Any, float]:
    """What stands in a slot, without names and fixed powers, and the power: of (e^η)^-½ it is e^η, to the -½."""
    power = 1.0
    while True:
        if slot.op.name in ("named", "broadcast_to", "positive"):
            slot = slot.inputs[0]
        elif slot.op.name in POWERS:
            slot, power = slot.inputs[0], power * POWERS[slot.op.name]
        else:
            return slot, power


def _collected(form: Affine, rows: np.ndarray, rv: Tensor) -> np.ndarray:
    """c² w, added up over the rows that pick each entry."""
    total = np.zeros(int(np.prod(known_shape(rv))))
    for part in form.parts:
        if not isinstance(part, Select) or not is_data(part.coefficient):
            raise NotAffine("its coefficient is not known")
        positions = np.broadcast_to(part.positions, rows.shape)
        weight = np.broadcast_to(data_value(part.coefficient), rows.shape) ** 2 * rows
        total += np.bincount(positions.ravel(), weight.ravel(), total.size)
    return total.reshape(known_shape(rv))


def _start(program: Program, expression: Tensor) -> np.ndarray | None:
    """The value of an expression where sampling starts."""
    values: dict[Node, Node] = {}
    for rv in sorted(ancestors(expression) & set(program.free), key=lambda rv: rv.serial):
        assert isinstance(rv, RandomVariable)
        if None in rv.type.shape:
            return None
        inputs = [as_tensor(substitute(p, values)) for p in rv.parameters]
        point = as_tensor(default_point(rv.family, inputs, rv.family.support_for(inputs)))
        values[rv] = broadcast_to(point, known_shape(rv))
    start = as_tensor(substitute(expression, values))
    return data_value(start) if is_data(start) else None
