r"""Observed values in other coordinates, where their law belongs to a family that more theorems know.

A log-normal value is a normal one in log y, a Pareto value an exponential one in log(y/m). With g the map,

.. math:: \log p(y) = \log q(g(y)) + \log |g'(y)|,

and the last term depends on data alone. What no theorem takes in the new form stays as it was written.

A waiting time y of rate θ that may be cut off at a bound tells of θ as a count does that is one where the end was seen
and none where it was not, Poisson of mean θy:

.. math:: θ^d e^{-θy} = \mathrm{Poisson}(d; θy)\, y^{-d}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Censored, Exponential, Poisson
from ppl.distributions.declaration.change_of_variables import ChangeOfVariables
from ppl.distributions.draws.draw import draw
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import data_value, is_data, known_shape
from ppl.rewrites.marginalization.program import Observation, Program, Term
from ppl.tensor.tensor import Tensor, as_tensor


def _in_other_coordinates(o: Observation) -> tuple[Any, Any, tuple[Any, ...], Any, str] | None:
    """The family that an observed value is of in other coordinates, with the value, the parameters and the logarithm of
    the slope there, and the words for it; None where there is none."""
    rv = o.variable
    if None in rv.type.shape or o.rows is not None or not is_data(o.value):
        return None
    if rv.family is Censored:
        return (Poisson, *censored(o.value, *rv.parameters), END_SEEN) if _is_waiting_time(o) else None
    change = rv.family.change_of_variables
    if not change or not _knows(change, rv) or not _inside(rv, data_value(o.value)):
        return None
    return (change.base, *change.of(o.value, *rv.parameters), change.words)


END_SEEN = "whether the end of {} was seen"


def _is_waiting_time(o: Observation) -> bool:
    """Whether a censored value is a waiting time, exponential in what grows with the value, whose start was seen."""
    law, *bounds = o.variable.parameters
    change = law.family.change_of_variables
    exponential = law.family is Exponential or (
        change and change.base is Exponential and change.increasing and _knows(change, law)
    )
    if not exponential or not all(map(is_data, bounds)):
        return False
    y, lower, upper = map(data_value, (o.value, *bounds))
    return bool(np.all((y > lower) & (y <= upper))) and _inside(law, y)


def censored(y: Any, law: Any, lower: Any, upper: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """Whether the end of a waiting time was seen, as a count."""
    seen, change = y < upper, law.family.change_of_variables
    time, (rate,), slope = change.of(y, *law.parameters) if change else (y, law.parameters, 0.0)
    return seen, (rate * time,), tt.switch(seen, slope - tt.log(time), 0.0)


# --- in a program -------------------------------------------------------------------------------------------------
@record
class Opened:
    """An observation in other coordinates, as it was written, and the term of the slope."""

    written: Observation
    slope: Term
    words: str
    becomes: Any  # the family in them

    @property
    def for_rows(self) -> bool:
        """Whether rows that are counted or summed are served by it, and not only latent variables."""
        return self.written.variable.family is not Censored

    def as_written(self, why: str) -> str:
        """A reason in which it has its own law again."""
        rv = self.written.variable
        family = rv.family.__name__
        return why.replace(f'"{rv.name}" is {self.becomes.__name__},', f'"{rv.name}" is {family},')


def opened(program: Program) -> tuple[Program, Mapping[int, Opened]]:
    """The program with values in other coordinates, and for each new observation what it was."""
    found: dict[int, Opened] = {}
    observed: list[Observation] = []
    for o in program.observed:
        known = _in_other_coordinates(o)
        if known is None:
            observed.append(o)
            continue
        rv, name = o.variable, o.variable.name or "y"
        family, value, parameters, slope, of = known
        law = draw(family, tuple(map(as_tensor, parameters)), known_shape(rv), name)
        term = Term(f"slope of {name}", tt.broadcast_to(as_tensor(slope), known_shape(rv)))
        words = f"{rv.family.__name__} is {family.__name__} in {of.format(name)}."
        new = Observation(law, tt.cast(as_tensor(value), law.dtype))
        found[id(new)] = Opened(o, term, words, family)
        observed.append(new)
    made = replace(program, observed=tuple(observed))
    return made.plus(terms=[here.slope for here in found.values()]), found


def _knows(change: ChangeOfVariables, law: Any) -> bool:
    """Whether the parameters of which it makes data are data."""
    parameters = dict(zip(law.family.params, law.parameters, strict=True))
    return all(is_data(parameters[name]) for name in change.data)


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
