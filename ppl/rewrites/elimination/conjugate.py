r"""Conjugate families: one theorem for all pairs.

A pair is stated by its update alone: `Gamma(α, β)` with `Poisson(c θ)` becomes `Gamma(α + y, β + c)`. Everything else
is derived. The marginal is the candidate's identity, true for any point θ₀ of the support,

.. math:: \log m(y) = \sum_i \log p(y_i \mid θ_0) + \log p(θ_0 \mid η) - \log p(θ_0 \mid η^+),

the recovery is the prior's family at the updated parameters η⁺, and where children pick entries of a vector θ by an
index, the increments of each entry are those of its own children, added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.draw import draw
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.elimination.affine import HOST, NotAffine, Select, affine, data_value, is_data, known_shape
from ppl.rewrites.elimination.program import (
    Observation,
    Program,
    Recovery,
    Term,
    children,
    log_density,
    parts,
    where_valid,
)
from ppl.tensor.ops import Elementwise
from ppl.tensor.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

Increments = Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """θ ~ prior; y ~ child with `slot` = link(c θ); the update gives what is added to the prior's parameters."""

    prior: str
    child: str
    slot: str
    update: Callable[..., Increments]  # of (y, c, the child's parameters)
    link: str = "identity"  # how the slot is made of c θ
    scaled: bool = False  # whether c other than 1 is allowed


PAIRS: list[Pair] = []


def conjugate(prior: str, child: str, slot: str, *, link: str = "identity", scaled: bool = False) -> Callable[..., Any]:
    """State a pair by its update."""

    def state(update: Callable[..., Increments]) -> Callable[..., Increments]:
        PAIRS.append(Pair(prior, child, slot, update, link, scaled))
        return update

    return state


@conjugate("Gamma", "Poisson", "mu", scaled=True)
def gamma_poisson(y: Any, c: Any, **_: Any) -> Increments:
    return {"alpha": y, "beta": c}


@conjugate("Gamma", "Exponential", "lam", scaled=True)
def gamma_exponential(y: Any, c: Any, **_: Any) -> Increments:
    return {"alpha": 1.0, "beta": c * y}


@conjugate("Gamma", "Gamma", "beta", scaled=True)
def gamma_gamma(y: Any, c: Any, alpha: Any, **_: Any) -> Increments:
    return {"alpha": alpha, "beta": c * y}


@conjugate("Gamma", "Normal", "sigma", link="rsqrt", scaled=True)
def gamma_normal(y: Any, c: Any, mu: Any, **_: Any) -> Increments:
    return {"alpha": 0.5, "beta": 0.5 * c * (y - mu) ** 2}


@conjugate("Exponential", "Poisson", "mu", scaled=True)
def exponential_poisson(y: Any, c: Any, **_: Any) -> Increments:
    return {"alpha": y, "lam": c}


@conjugate("Exponential", "Exponential", "lam", scaled=True)
def exponential_exponential(y: Any, c: Any, **_: Any) -> Increments:
    return {"alpha": 1.0, "lam": c * y}


@conjugate("InverseGamma", "Normal", "sigma", link="sqrt", scaled=True)
def inverse_gamma_normal(y: Any, c: Any, mu: Any, **_: Any) -> Increments:
    return {"alpha": 0.5, "beta": 0.5 * (y - mu) ** 2 / c}


@conjugate("Beta", "Bernoulli", "p")
def beta_bernoulli(y: Any, **_: Any) -> Increments:
    return {"alpha": y, "beta": 1 - y}


@conjugate("Beta", "Binomial", "p")
def beta_binomial(y: Any, n: Any, **_: Any) -> Increments:
    return {"alpha": y, "beta": n - y}


@conjugate("Beta", "Geometric", "p")
def beta_geometric(y: Any, **_: Any) -> Increments:
    return {"alpha": 1.0, "beta": y - 1}


@conjugate("Beta", "NegativeBinomial", "p")
def beta_negative_binomial(y: Any, n: Any, **_: Any) -> Increments:
    return {"alpha": n, "beta": y}


# --- priors: how the updated law is written, and a point of the support -------------------------------------------
@dataclass(frozen=True)
class Prior:
    """The family of the updated law, its parameters from the prior's, and a point inside the support."""

    posterior: str
    parameters: Callable[..., tuple[Any, ...]]  # of (prior's parameters, increments)
    point: float


PRIORS: dict[str, Prior] = {
    "Gamma": Prior("Gamma", lambda p, d: (p["alpha"] + d["alpha"], p["beta"] + d["beta"]), 1.0),
    "Exponential": Prior("Gamma", lambda p, d: (1.0 + d["alpha"], p["lam"] + d["lam"]), 1.0),
    "InverseGamma": Prior("InverseGamma", lambda p, d: (p["alpha"] + d["alpha"], p["beta"] + d["beta"]), 1.0),
    "Beta": Prior("Beta", lambda p, d: (p["alpha"] + d["alpha"], p["beta"] + d["beta"]), 0.5),
    "Uniform": Prior("Beta", lambda p, d: (1.0 + d["alpha"], 1.0 + d["beta"]), 0.5),
}


def prior_of(variable: RandomVariable) -> str | None:
    """The name under which a variable's family stands in the pairs; a uniform on [0, 1] is a Beta(1, 1)."""
    name = variable.family.__name__
    if name == "Uniform":
        ends = variable.parameters
        unit = all(is_constant(p) for p in ends) and np.all(value_of(ends[0]) == 0) and np.all(value_of(ends[1]) == 1)
        return "Uniform" if unit else None
    return name if name in PRIORS else None


class NoMatch(Exception):  # noqa: N818  an answer, not an error
    """A variable is not conjugate to its children; the message says why."""


@dataclass(frozen=True)
class Match:
    """One child: the pair, the entries of θ its rows pick, and the coefficient."""

    pair: Pair
    child: Observation
    positions: np.ndarray
    coefficient: Tensor


def match(variable: RandomVariable, factor: Any) -> Match:
    """The pair that a child makes with a variable; raises `NoMatch` with the reason."""
    if isinstance(factor, Term):
        raise NoMatch(f'"{factor.name}" depends on it')
    if not isinstance(factor, Observation):
        raise NoMatch(f'"{factor.name}" depends on it and is not observed')
    child = factor.variable
    label = f'"{child.name}"'
    prior = "Beta" if prior_of(variable) == "Uniform" else prior_of(variable)
    pairs = [p for p in PAIRS if p.prior == prior and p.child == child.family.__name__]
    if not pairs:
        raise NoMatch(f"{label} is {child.family.__name__}, which is not conjugate to {variable.family.__name__}")
    if variable in ancestors(factor.value):
        raise NoMatch(f"the observed value of {label} depends on it")
    parameters = dict(zip(child.family.params, child.parameters, strict=True))
    pair = pairs[0]
    others = [p for name, p in parameters.items() if name != pair.slot]
    if others and variable in ancestors(others):
        raise NoMatch(f"another parameter of {label} than {pair.slot} depends on it")
    inner = _unlinked(parameters[pair.slot], pair.link)
    if inner is None:
        raise NoMatch(f"{pair.slot} of {label} is not {pair.link} of a multiple of it")
    shape = child.type.shape
    if None in shape:
        raise NoMatch(f"the shape of {label} is only known when the program runs")
    shape = known_shape(child)
    try:
        form = affine(tt.broadcast_to(inner, shape), {variable})
    except NotAffine as why:
        raise NoMatch(f"{pair.slot} of {label} is not a multiple of it: {why}") from why
    offset = form.offset
    if (
        len(form.parts) != 1
        or not isinstance(form.parts[0], Select)
        or not (is_data(offset) and np.all(data_value(offset) == 0))
    ):
        raise NoMatch(f"{pair.slot} of {label} is not a multiple of one entry of it")
    part = form.parts[0]
    if not pair.scaled and not (is_data(part.coefficient) and np.all(data_value(part.coefficient) == 1)):
        raise NoMatch(
            f"{pair.slot} of {label} is a multiple of it, and {variable.family.__name__} is not closed under that"
        )
    if pair.scaled and not known_positive(part.coefficient):
        raise NoMatch(f"the factor beside it in {pair.slot} of {label} is not known to be positive")
    return Match(pair, factor, np.broadcast_to(part.positions, shape), part.coefficient)


def pieces(variable: RandomVariable, factor: Any) -> tuple[list[Match], list[Observation]]:
    """The matches that a child makes with a variable, branch by branch of its switches, and the branches without it."""
    try:
        return [match(variable, factor)], []
    except NoMatch:
        halves = branches(factor, variable) if isinstance(factor, Observation) else None
        if halves is None:
            raise
    matches: list[Match] = []
    rest: list[Observation] = []
    for half in halves:
        if variable not in ancestors(parts(half)):
            rest.append(half)
            continue
        found, without = pieces(variable, half)
        matches += found
        rest += without
    return matches, rest


def branches(factor: Observation, variable: RandomVariable) -> tuple[Observation, Observation] | None:
    """An observation whose parameter is switch(c, a, b) as the rows where c holds, with a, and the others, with b."""
    child = factor.variable
    if child.event_ndim or None in child.type.shape:
        return None
    shape = known_shape(child)
    for i, parameter in enumerate(child.parameters):
        switch = outermost_switch(parameter, variable)
        if switch is None:
            continue
        condition = tt.broadcast_to(switch[0], shape)
        found = []
        for rows, branch in ((condition, switch[1]), (tt.logical_not(condition), switch[2])):
            given = tuple(branch if j == i else p for j, p in enumerate(child.parameters))
            both = rows if factor.rows is None else factor.rows & rows
            found.append(Observation(draw(child.family, given, shape, child.name), factor.value, both))
        return found[0], found[1]
    return None


def outermost_switch(e: Any, variable: RandomVariable) -> tuple[Tensor, Tensor, Tensor] | None:
    """(c, a, b) such that the expression is switch(c, a, b), c not depending on the variable; None where it is not."""
    if e.op.name == "switch" and variable not in ancestors(e.inputs[0]):
        return e.inputs
    if variable not in ancestors(e) or None in e.type.shape:
        return None
    if e.op.name in HOST and all(is_data(i) for i in e.inputs[1:]):
        inner = e.inputs[0]
        found = outermost_switch(inner, variable)
        if found is None:
            return None
        spread = [tt.broadcast_to(x, known_shape(inner)) for x in found]
        return tuple(Node(e.op, (x, *e.inputs[1:]), e.attrs) for x in spread)  # type: ignore[return-value]
    touched = [i for i, x in enumerate(e.inputs) if variable in ancestors(x)]
    if (not isinstance(e.op, Elementwise) and e.op.name != "named") or len(touched) != 1:
        return None
    (at,) = touched
    found = outermost_switch(e.inputs[at], variable)
    if found is None or e.op.name == "named":
        return found
    swapped = [Node(e.op, (*e.inputs[:at], x, *e.inputs[at + 1 :]), e.attrs) for x in found[1:]]
    return found[0], *swapped  # type: ignore[return-value]


def settled(program: Program) -> Program:
    """Observations of some rows only as plain terms."""
    some = [o for o in program.observed if o.rows is not None]
    return program.without(some).plus(terms=[Term(f"{o.variable.name} in part", log_density(o)) for o in some])


def _unlinked(slot: Any, link: str) -> Tensor | None:
    """What stands under the link: x for link(x)."""
    while slot.op.name in ("named", "broadcast_to"):
        slot = slot.inputs[0]
    if link == "identity":
        return slot
    if link == "sqrt":
        return slot.inputs[0] if slot.op.name == "sqrt" else None
    if slot.op.name == "rsqrt":
        return slot.inputs[0]
    if slot.op.name == "power" and is_constant(slot.inputs[1]) and np.all(value_of(slot.inputs[1]) == -0.5):
        return slot.inputs[0]
    if slot.op.name in ("reciprocal", "true_divide") and slot.inputs[-1].op.name == "sqrt":
        one = slot.op.name == "reciprocal" or (is_constant(slot.inputs[0]) and np.all(value_of(slot.inputs[0]) == 1))
        return slot.inputs[-1].inputs[0] if one else None
    return None


_POSITIVE_OPS = ("exp", "softplus", "sigmoid", "cosh")
_KEEPS_SIGN = (
    "named",
    "broadcast_to",
    "getitem",
    "reshape",
    "expand_dims",
    "squeeze",
    "transpose",
    "sqrt",
    "reciprocal",
)


def known_positive(node: Any) -> bool:
    """Whether an expression is proved to be positive: by its value, by its form, or by the support of a draw."""
    if is_data(node):
        return bool(np.all(data_value(node) > 0))
    if node.op.name == "draw":
        lower = node.family.support_for(node.parameters).lower
        return lower is not None and not isinstance(lower, Tensor) and bool(np.all(np.asarray(lower) >= 0))
    if node.op.name in _POSITIVE_OPS:
        return True
    if node.op.name in _KEEPS_SIGN:
        return known_positive(node.inputs[0])
    if node.op.name in ("add", "multiply", "true_divide", "maximum"):
        return all(known_positive(i) for i in node.inputs)
    return node.op.name == "power" and known_positive(node.inputs[0])


def gathered(values: Any, positions: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """Values of children added up over the entries of the variable that they belong to."""
    spread = tt.broadcast_to(tt.cast(as_tensor(values), "floatX"), positions.shape)
    size = prod(shape)
    if size == 1:
        return tt.sum(spread).reshape(shape)
    flat = positions.ravel()
    if flat.size == size and np.array_equal(flat, np.arange(size)):
        return spread.reshape(shape)
    return segment_sum(spread.reshape((flat.size,)), flat, size).reshape(shape)


def eliminate_one(program: Program, variable: RandomVariable) -> Program:
    """The program with a conjugate variable integrated out; raises `NoMatch` where it is not conjugate."""
    name = prior_of(variable)
    if name is None:
        raise NoMatch(f"{variable.family.__name__} is no conjugate prior")
    shape = variable.type.shape
    if None in shape:
        raise NoMatch("its shape is only known when the program runs")
    shape = known_shape(variable)
    used = children(program, variable)
    found = [pieces(variable, factor) for factor in used]
    matches = [m for here, _ in found for m in here]
    rest = [o for _, others in found for o in others]
    prior = PRIORS[name]
    total: dict[str, Any] = {}
    point = tt.full(shape, prior.point)
    density: Any = None
    conditions = [_valid(variable)]
    for m in matches:
        parameters = dict(zip(m.child.variable.family.params, m.child.variable.parameters, strict=True))
        y = tt.cast(m.child.value, "floatX") if m.child.value.dtype[0] != "f" else m.child.value
        for key, value in m.pair.update(y=y, c=m.coefficient, **parameters).items():
            added = gathered(_counted(value, m.child), m.positions, shape)
            total[key] = added if key not in total else total[key] + added
        term = tt.sum(log_density(m.child, {variable: point}))
        conditions.append(_valid(m.child.variable, {variable: point}, m.child.rows))
        density = term if density is None else density + term
    own = dict(zip(variable.family.params, variable.parameters, strict=True))
    updated = tuple(tt.broadcast_to(as_tensor(p), shape) for p in prior.parameters(own, total))
    family = FAMILIES[prior.posterior]
    before = tt.broadcast_to(variable.family.log_density(point, *variable.parameters, checked=False), shape)
    density = density + tt.sum(before) - tt.sum(family.log_density(point, *updated, checked=False))
    recovery = Recovery(variable, draw(family, updated, shape))
    valid = where_valid(density, [c for c in conditions if c is not None])
    marginal = Term(f"marginal of {variable.name}", valid)
    return program.without([variable, *used]).plus(observed=rest, terms=[marginal], recoveries=[recovery])


def _valid(law: Any, at: Mapping[Any, Any] | None = None, rows: Tensor | None = None) -> Tensor | None:
    """Whether the parameters of a law lie in their domains, in the rows that count; None where that is proved."""
    if all(map(known_positive, law.parameters)) and law.family.__name__ in PRIORS:  # all of them have positive ones
        return None
    found: Tensor | None = law.family.in_domains(substitute(list(law.parameters), at or {}))
    return found if found is None or rows is None else tt.logical_not(rows) | found


def _counted(value: Any, child: Observation) -> Any:
    """The increments of the rows that count."""
    return value if child.rows is None else tt.switch(child.rows, value, 0.0)
