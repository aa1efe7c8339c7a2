r"""Latent variables that one row each depends on, integrated out in closed form: the row gets another law.

.. math:: x \sim \mathrm{Exp}(λ),\; y \mid x \sim N(b + x, σ)
   \quad\Rightarrow\quad y \sim \mathrm{ExGaussian}(b, σ, 1/λ)

(reaction times), the same with a half-normal x (stochastic frontiers), a normal law of random variance, and a probit of
a normal variable. A compound states the law of y and how x is drawn given y; whatever else the row depends on stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import (
    Bernoulli,
    Exponential,
    HalfNormal,
    Normal,
    RandomVariable,
    TruncatedNormal,
    Wald,
)
from ppl.distributions.draws.draw import draw
from ppl.distributions.log_probability.evaluation import REALS
from ppl.graph import ancestors
from ppl.graph.records import record
from ppl.rewrites.laws import normals
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_always, is_data, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.expressions.positive import known_inside, known_positive
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery, Term, children, where_valid
from ppl.rewrites.marginalization.theorem import Match, Telling, Theorem
from ppl.rewrites.marginalization.words import COMPOUND
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Row:
    """A row y with (c x + b)^power, or a link of it, in one slot; `rest` are its other parameters."""

    y: Tensor
    c: Tensor
    b: Tensor
    rest: tuple[Tensor, ...]
    shape: tuple[int, ...]

    def draw(self, family: Any, *parameters: Any, name: str | None = None) -> Any:
        """Independent draws, one for each row."""
        return draw(family, tuple(tt.broadcast_to(as_tensor(p), self.shape) for p in parameters), self.shape, name)


class Found(NamedTuple):
    """The law of what is seen, as a draw from it, its value, and x given y; what is drawn `beside` x, with its law
    given x."""

    law: Any
    value: Any
    back: Any
    beside: Callable[[Any], list[tuple[Any, Any]]] = lambda x: []


@record
class Compound:
    """Of a latent family and a family of rows: the slot, the power or the link, and the theorem."""

    latent: Any
    child: Any
    slot: str
    state: Callable[..., Found]
    power: float = 1.0
    link: str | None = None


COMPOUNDS: list[Compound] = []


def compound(latent: Any, child: Any, slot: str, **form: Any) -> Callable[..., Any]:
    """State a compound by a function of the row and the parameters of the latent variable."""

    def enter(state: Callable[..., Found]) -> Callable[..., Found]:
        COMPOUNDS.append(Compound(latent, child, slot, state, **form))
        return state

    return enter


@compound(Exponential, Normal, "mu")
def exponential_and_noise(row: Row, lam: Tensor) -> Found:
    """ExGaussian, mirrored where c is negative; x given y is normal above zero."""
    (sigma,), side, size = row.rest, tt.sign(row.c), abs(row.c)
    mean = (row.y - row.b) / row.c - lam * (sigma / row.c) ** 2
    back = row.draw(TruncatedNormal, mean, sigma / size, 0.0, np.inf)
    return Found(normals.exponential_added(side * row.b, sigma, lam / size), side * row.y, back)


@compound(HalfNormal, Normal, "mu")
def half_normal_and_noise(row: Row, s: Tensor) -> Found:
    """Skew normal: the stochastic frontier; x given y is normal above zero."""
    (sigma,), wide = row.rest, tt.hypot(row.rest[0], row.c * s)
    mean = row.c * (row.y - row.b) * (s / wide) ** 2
    back = row.draw(TruncatedNormal, mean, s * sigma / wide, 0.0, np.inf)
    return Found(normals.half_normal_added(row.b, sigma, row.c * s), row.y, back)


@compound(Exponential, Normal, "sigma", power=0.5)
def exponential_variance(row: Row, lam: Tensor) -> Found:
    """A normal law whose variance is exponential is a Laplace law; the precision given y is a Wald variable."""
    (mu,), rate = row.rest, lam / row.c  # of the whole variance c x
    seen = normals.exponential_variance(mu, 1.0, rate)
    precision = row.draw(Wald, 1.0 / (seen.parameters[1] * abs(row.y - mu)), 2.0 * rate, 0.0)
    return Found(seen, row.y, 1.0 / (row.c * precision))


@compound(Normal, Bernoulli, "p", link="ndtr")
def probit_of_normal(row: Row, m: Tensor, s: Tensor) -> Found:
    """P(y) = Φ((b + c m)/√(1 + c² s²)), since y says whether z ~ N(b + c x, 1) is positive; z comes back first."""
    center, wide = row.b + row.c * m, tt.hypot(1.0, row.c * s)
    up = tt.eq(row.y, 1)
    side = tt.switch(up, 0.0, -np.inf), tt.switch(up, np.inf, 0.0)
    z = row.draw(TruncatedNormal, center, wide, *side)
    back = row.draw(Normal, m + row.c * s**2 * (z - center) / wide**2, s / wide)
    given = lambda x: [(z, row.draw(TruncatedNormal, row.b + row.c * x, 1.0, *side))]
    return Found(Bernoulli.dist(tt.ndtr(center / wide)), row.y, back, given)


def suits(rv: RandomVariable) -> bool:
    """Whether there is a compound of the family of a variable."""
    return any(c.latent is rv.family for c in COMPOUNDS)


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A latent variable with its rows; raises `NoMatch` with the reason."""
    if None in variable.type.shape:
        raise NoMatch("its shape is only known when the program runs")
    used = children(program, variable)
    seen = used[0] if used else None
    if len(used) != 1 or not isinstance(seen, Observation) or seen.rows is not None:
        raise NoMatch("more than one observation depends on an entry of it")
    fitting = [c for c in COMPOUNDS if c.latent is variable.family and c.child is seen.variable.family]
    rows = [(c, row) for c in fitting if (row := _row(variable, seen, c)) is not None]
    if not rows:
        raise NoMatch(f'"{seen.variable.name}" is {seen.variable.family.__name__}, and its marginal has no name')
    rule, row = rows[0]
    found, value, back, beside = rule.state(row, *variable.parameters)
    law = row.draw(found.family, *found.parameters, name=seen.variable.name)
    laws = [variable, *([] if rule.link else [seen.variable])]
    given = tuple(beside(tt.reshape(variable, row.shape)))
    recovery = Recovery(variable, tt.reshape(back, known_shape(variable)), given)
    observed = Observation(law, as_tensor(value))
    return Match((variable,), (seen,), (observed,), domains(laws, variable), (recovery,))


def domains(laws: Sequence[RandomVariable], variable: RandomVariable) -> tuple[Term, ...]:
    """What is not proved of the parameters of laws that go with a variable, as a term."""
    conditions = [c for rv in laws for c in _domains(rv, variable)]
    return (Term(f"domains of {variable.name}", where_valid(as_tensor(0.0), conditions)),) if conditions else ()


def _domains(rv: RandomVariable, variable: RandomVariable) -> list[Tensor]:
    """What is not proved of the parameters of a law, of those that do not depend on a variable. What may be any real
    number has its say in the law that the row then has."""
    pairs = [(d.domain, p) for d, p in zip(rv.family.params.values(), rv.parameters, strict=True)]
    asked = [(domain, p) for domain, p in pairs if domain.name not in REALS and variable not in ancestors(p)]
    return [as_tensor(domain.contains(p)) for domain, p in asked if not known_inside(domain, p)]


def _row(variable: RandomVariable, seen: Observation, rule: Compound) -> Row | None:
    """The rows of a child as a compound wants them; None where they are not of its form."""
    child = seen.variable
    parameters = dict(zip(child.family.params, child.parameters, strict=True))
    slot = parameters.pop(rule.slot)
    if variable in ancestors([*parameters.values(), seen.value]) or None in child.type.shape:
        return None
    inner: Any = slot
    while rule.link is not None and inner.op.name in ("named", "broadcast_to"):
        inner = inner.inputs[0]
    if rule.link is not None and inner.op.name != rule.link:
        return None
    shape = known_shape(child)
    try:
        part = picks(inner if rule.link is None else inner.inputs[0], variable, shape)
    except NotAffine:
        return None
    if abs(part.power - rule.power) > 1e-12:
        return None
    c = part.coefficient if rule.power == 1.0 else part.coefficient ** (1.0 / rule.power)
    if not part.in_order(variable) or not _sure(c, rule):
        return None
    if rule.power != 1.0 and not is_always(part.offset, 0.0):
        return None
    return Row(tt.cast(seen.value, child.dtype), c, part.offset, tuple(parameters.values()), shape)


def _sure(c: Tensor, rule: Compound) -> bool:
    """Whether a coefficient is known not to be zero, and to be positive where it scales a variance."""
    if known_positive(c):
        return True
    return is_data(c) and bool(np.all(data_value(c) > 0 if rule.power != 1.0 else data_value(c) != 0))


def _example(rule: Compound) -> Program:
    """A latent variable in the slot of its rows."""
    others = {name: p.domain.examples[-1] for name, p in rule.child.params.items() if name != rule.slot}

    def rows(x: Any) -> Any:
        slot = 0.7 * x + (0.3 if rule.power == 1.0 else 0.0)
        slot = slot**rule.power if rule.link is None else getattr(tt, rule.link)(slot)
        return rule.child.dist(**{rule.slot: slot}, **others, name="y")

    return example(latent(rule.latent), rows)


THEOREM = Theorem(
    COMPOUND, integrated_out, suits, telling=Telling.NONE, examples=lambda: list(map(_example, COMPOUNDS))
)
