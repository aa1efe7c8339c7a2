r"""What data tell about a variable that stays: the information of rows,

.. math:: I_j = \sum_i c_i^2 w(y_i)

where row i of a child picks entry j with the coefficient c_i, and w is the weight of a row of a generalised linear
model at its own data (the weights from which Fisher scoring starts, McCullagh and Nelder 1989, section 2.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import ancestors
from ppl.rewrites.elimination.affine import Affine, NotAffine, Select, affine, data_value, is_data, known_shape
from ppl.rewrites.elimination.centring import LOCATION_AND_SCALE
from ppl.rewrites.elimination.monomials import POWERS
from ppl.rewrites.elimination.program import Observation, Program, children
from ppl.tensor.tensor import Tensor


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


ENOUGH_ROWS = 4096  # of a design, to tell what its columns have in common
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


def told(program: Program, rv: RandomVariable, collect: Collect | None = None) -> np.ndarray | None:
    """The information that rows hold of each entry, or as `collect` has it; None where it cannot be told."""
    information = np.zeros(())
    for factor in children(program, rv):
        if not isinstance(factor, Observation):
            return None
        try:
            information = information + information_of(factor, rv, collect)
        except NotAffine:
            return None
    return information


def squares(form: Affine, rows: np.ndarray, rv: Tensor) -> np.ndarray:
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


def blocks(form: Affine, rows: np.ndarray, rv: Tensor) -> np.ndarray:
    """The same for each vector of a stack, where a row picks entries of one vector."""
    *stack, n = known_shape(rv)
    total = np.zeros((int(np.prod(stack)), n, n))
    picked = _picked(form, rows.shape)
    for here, weight in picked:
        for there, other in picked:
            if not np.array_equal(here // n, there // n):
                raise NotAffine("a row picks entries of several vectors")
            np.add.at(total, (here // n, here % n, there % n), weight * other * rows.ravel())
    return total.reshape(*stack, n, n)


def information_of(child: Observation, rv: Tensor, collect: Collect | None = None) -> np.ndarray:
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
    for places, weight in _picked(form, rows.shape):
        total += np.bincount(places, weight**2 * rows.ravel(), total.size)
    return total.reshape(known_shape(rv))


def _picked(form: Affine, shape: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each part of a form, which entry a row picks and with which coefficient."""
    found = []
    for part in form.parts:
        if not isinstance(part, Select) or not is_data(part.coefficient):
            raise NotAffine("its coefficient is not known")
        places, weight = np.broadcast_to(part.positions, shape), np.broadcast_to(data_value(part.coefficient), shape)
        found.append((places.ravel(), weight.ravel()))
    return found
