r"""Observed values in other coordinates, where their law belongs to a family that more theorems know.

A log-normal value is a normal one in log y, a Pareto value an exponential one in log(y/m). With g the map,

.. math:: \log p(y) = \log q(g(y)) + \log |g'(y)|,

and the last term depends on data alone. What no theorem takes in the new form stays as it was written.

A waiting time y of rate θ that may be cut off at a bound tells of θ as a count does that is one where the end was seen
and none where it was not, Poisson of mean θy:

.. math:: θ^d e^{-θy} = \mathrm{Poisson}(d; θy)\, y^{-d}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES
from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.draws.draw import draw
from ppl.rewrites.marginalization.expressions.affine import data_value, is_data, known_shape
from ppl.rewrites.marginalization.program import Observation, Program, Term
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass(frozen=True)
class Bijection:
    """A family as another one of a function of its values; parameters in `data` must be data."""

    family: str
    becomes: str
    of: Callable[..., tuple[Any, tuple[Any, ...], Any]]  # of (y, parameters): g(y), parameters there, log |g'(y)|
    words: str  # for g(y)
    data: tuple[str, ...] = ()
    suits: Callable[[Observation], bool] | None = None  # values that have one; by default all inside the support
    for_rows: bool = True  # whether rows that are counted or summed are served by it, and not only latent variables


BIJECTIONS: dict[str, Bijection] = {}


def observed_as(family: str, becomes: str, words: str, **conditions: Any) -> Callable[..., Any]:
    """State a bijection by the value, the parameters and the log-slope that it leads to."""

    def state(of: Callable[..., Any]) -> Callable[..., Any]:
        BIJECTIONS[family] = Bijection(family, becomes, of, words, **conditions)
        return of

    return state


@observed_as("LogNormal", "Normal", "log {}")
def log_normal(y: Any, mu: Any, sigma: Any) -> Any:
    return tt.log(y), (mu, sigma), -tt.log(y)


@observed_as("LogitNormal", "Normal", "logit {}")
def logit_normal(y: Any, mu: Any, sigma: Any) -> Any:
    return tt.log(y) - tt.log1p(-y), (mu, sigma), -tt.log(y) - tt.log1p(-y)


@observed_as("HalfNormal", "Normal", "{} with either sign")
def half_normal(y: Any, sigma: Any) -> Any:
    return y, (as_tensor(0.0), sigma), LOG_2


@observed_as("Laplace", "Exponential", "the distance of {} from its center", data=("mu",))
def laplace(y: Any, mu: Any, b: Any) -> Any:
    return abs(y - mu), (1.0 / b,), -LOG_2


@observed_as("Pareto", "Exponential", "log {} from its least value", data=("m",))
def pareto(y: Any, alpha: Any, m: Any) -> Any:
    return tt.log(y / m), (alpha,), -tt.log(y)


@observed_as("Weibull", "Exponential", "the power of {}", data=("alpha",))
def weibull(y: Any, alpha: Any, beta: Any) -> Any:
    return y**alpha, (beta**-alpha,), tt.log(alpha) + (alpha - 1.0) * tt.log(y)


@observed_as("Lomax", "Exponential", "log(1 + {}/m)", data=("m",))
def lomax(y: Any, alpha: Any, m: Any) -> Any:
    return tt.log1p(y / m), (alpha,), -tt.log(m + y)


@observed_as("Kumaraswamy", "Exponential", "-log(1 - {}^a)", data=("a",))
def kumaraswamy(y: Any, a: Any, b: Any) -> Any:
    return -tt.log1p(-(y**a)), (b,), tt.log(a) + (a - 1.0) * tt.log(y) - tt.log1p(-(y**a))


@observed_as("InverseGamma", "Gamma", "1/{}")
def inverse_gamma(y: Any, alpha: Any, beta: Any) -> Any:
    return 1.0 / y, (alpha, beta), -2.0 * tt.log(y)


WAITING = ("Exponential", "Weibull", "Pareto", "Lomax", "Kumaraswamy")  # exponential in what grows with the value


def _as_waiting_time(y: Any, law: Any) -> Any:
    """A value as an exponential one."""
    name = law.family.__name__
    return (y, law.parameters, 0.0) if name == "Exponential" else BIJECTIONS[name].of(y, *law.parameters)


def _is_waiting_time(o: Observation) -> bool:
    """Whether a censored value is a waiting time, whose start was seen."""
    law, *bounds = o.variable.parameters
    inner = BIJECTIONS.get(law.family.__name__)
    if law.family.__name__ not in WAITING or not all(map(is_data, bounds)) or (inner and not _knows(inner, law)):
        return False
    y, lower, upper = map(data_value, (o.value, *bounds))
    return bool(np.all((y > lower) & (y <= upper))) and _inside(law, y)


@observed_as("Censored", "Poisson", "whether the end of {} was seen", suits=_is_waiting_time, for_rows=False)
def censored(y: Any, law: Any, lower: Any, upper: Any) -> Any:
    seen = y < upper
    time, (rate,), slope = _as_waiting_time(y, law)
    return seen, (rate * time,), tt.switch(seen, slope - tt.log(time), 0.0)


# --- in a program -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Opened:
    """An observation in other coordinates, as it was written, and the term of the slope."""

    written: Observation
    slope: Term
    words: str

    @property
    def for_rows(self) -> bool:
        return BIJECTIONS[self.written.variable.family.__name__].for_rows

    def as_written(self, why: str) -> str:
        """A reason in which it has its own law again."""
        rv = self.written.variable
        name, family = rv.name, rv.family.__name__
        return why.replace(f'"{name}" is {BIJECTIONS[family].becomes},', f'"{name}" is {family},')


def opened(program: Program) -> tuple[Program, Mapping[int, Opened]]:
    """The program with values in other coordinates, and for each new observation what it was."""
    found: dict[int, Opened] = {}
    observed: list[Observation] = []
    for o in program.observed:
        bijection = BIJECTIONS.get(o.variable.family.__name__)
        if bijection is None or not _applies(bijection, o):
            observed.append(o)
            continue
        rv, name = o.variable, o.variable.name or "y"
        value, parameters, slope = bijection.of(o.value, *rv.parameters)
        law = draw(FAMILIES[bijection.becomes], tuple(map(as_tensor, parameters)), known_shape(rv), name)
        term = Term(f"slope of {name}", tt.broadcast_to(as_tensor(slope), known_shape(rv)))
        words = f"{rv.family.__name__} is {bijection.becomes} in {bijection.words.format(name)}."
        new = Observation(law, tt.cast(as_tensor(value), law.dtype))
        found[id(new)] = Opened(o, term, words)
        observed.append(new)
    made = replace(program, observed=tuple(observed))
    return made.plus(terms=[here.slope for here in found.values()]), found


def _applies(bijection: Bijection, o: Observation) -> bool:
    """Whether values are data that the bijection is for."""
    rv = o.variable
    if None in rv.type.shape or o.rows is not None or not is_data(o.value):
        return False
    if bijection.suits is not None:
        return bijection.suits(o)
    return _knows(bijection, rv) and _inside(rv, data_value(o.value))


def _knows(bijection: Bijection, law: Any) -> bool:
    """Whether the parameters of which it makes data are data."""
    parameters = dict(zip(law.family.params, law.parameters, strict=True))
    return all(is_data(parameters[name]) for name in bijection.data)


def _inside(law: Any, y: Any) -> bool:
    """Whether values are inside the support of a law, away from its ends."""
    support = law.family.support_for(law.parameters)
    ends = [data_value(as_tensor(end)) for end in (support.lower, support.upper) if end is not None and _known(end)]
    if len(ends) < (support.lower is not None) + (support.upper is not None):
        return False
    lower = ends[0] if support.lower is not None else -np.inf
    upper = ends[-1] if support.upper is not None else np.inf
    return bool(np.all((y > lower) & (y < upper)))


def _known(end: Any) -> bool:
    return not isinstance(end, Tensor) or is_data(end)


def closed(program: Program, known: Mapping[int, Opened]) -> tuple[Program, list[Opened]]:
    """The program with what no theorem took as it was written, and what was taken."""
    left = {id(o) for o in program.observed} & known.keys()
    back = {id(known[key].slope) for key in left}
    observed = tuple(known[id(o)].written if id(o) in left else o for o in program.observed)
    terms = tuple(t for t in program.terms if id(t) not in back)
    return replace(program, observed=observed, terms=terms), [known[key] for key in known if key not in left]
