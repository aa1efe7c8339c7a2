"""What a result tells of proposals that were turned away because numbers end there: how many, where, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.compile.density import FlatProgram, Slot, labels, scalar, values_at
from ppl.distributions import is_draw
from ppl.graph import ancestors
from ppl.model.posterior.rewriting import Posterior
from ppl.model.starting.origins import origin
from ppl.samplers import NO_FAILURES, PROGRAMS, Failures, Run, failures, turn
from ppl.samplers.programs.programs import QUICK
from ppl.tensor.tensor import Tensor
from ppl.xla.later import jax, wide

SHOWN = 6  # variables whose values are written out


class FailureReport(NamedTuple):
    """The failures of a run, for the attributes of the result and for the log."""

    drawn: int
    tuning: int
    places: Sequence[str]
    remedy: str

    def attrs(self) -> dict[str, Any]:
        """``not_finite``, ``not_finite_in_tuning``, and one line for each of the first ``not_finite_at``."""
        return {
            "not_finite": self.drawn,
            "not_finite_in_tuning": self.tuning,
            "not_finite_at": "\n".join(self.places),
        }

    def line(self) -> str:
        """What to log, if there is something to tell."""
        if not self.drawn:
            return ""
        example = f" For example {self.places[0]}." if self.places else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return (
            f"At {self.drawn} points that were tried after tuning the log-density or its gradient is not finite; the"
            f" chains turned away from them.{example}{remedy} The attribute `not_finite_at` of the result has more."
        )


def failure_report(run: Any, posterior: Posterior, slots: Sequence[Slot]) -> FailureReport:
    """The failures of a run and the reasons of the first few; of engines that do not tell, none."""
    known = (
        NO_FAILURES if not slots else failures(run) if isinstance(run, Run) else getattr(run, "failures", NO_FAILURES)
    )
    found: Failures = known
    shown = _shown(posterior, slots) if found.places else {}
    reasons = [_reason(posterior, slots, np.asarray(place.position, np.float64)) for place in found.places]
    places = [
        f"chain {place.chain}, draw {place.draw}: {words} at {_values(shown, slots, place.position)}"
        for place, (words, _) in zip(found.places, reasons, strict=True)
    ]
    told = zip(found.places, reasons, strict=True) if found.drawn else ()  # the remedy is for the line of the log alone
    origins = (origin(term, slots, place.position) for place, (_, term) in told if term is not None)
    return FailureReport(found.drawn, found.tuning, places, next(filter(None, origins), ""))


def _reason(posterior: Posterior, slots: Sequence[Slot], position: np.ndarray) -> tuple[str, Tensor | None]:
    """What is not finite, in words, and as a term if it is one."""
    terms = dict(zip(posterior.terms, values_at(list(posterior.terms.values()), slots, position), strict=True))
    for name, value in terms.items():
        if not np.all(np.isfinite(value)):
            first = value[~np.isfinite(value)].flat[0]
            return f'the term "{name}" is {first:g}', posterior.terms[name]
    density = FlatProgram([posterior.logp()], slots, once=posterior.of_data)
    value, gradient = _value_and_gradient(density, position)
    if not np.isfinite(value):
        return f"the log-density is {float(value):g}", posterior.logp()
    bad = np.flatnonzero(~np.isfinite(gradient))
    if bad.size:
        name = labels(slots, posterior.names)[bad[0]]
        return f'the gradient along "{name}" is {float(gradient[bad[0]]):g}', None
    return "the log-density is at the edge of what rounding allows", None


def _value_and_gradient(density: FlatProgram, position: np.ndarray) -> list[np.ndarray]:
    """Compiled whole and as soon as can be: step by step, each operation would be compiled by itself."""
    given = (position, *density.data)
    with wide():
        run = PROGRAMS.get(("failure report", density.key), lambda: jax.value_and_grad(scalar(density)), given, QUICK)
        with turn(run):
            return [np.asarray(value) for value in run(*given)]


def _shown(posterior: Posterior, slots: Sequence[Slot]) -> dict[str, Tensor]:
    """Variables that follow from what the sampler moves, without a draw of their own."""
    moved = {slot.variable for slot in slots}
    found: dict[str, Tensor] = {}
    for rv in posterior.model.free_RVs:
        output = posterior.outputs.get(rv.name or "")
        if output is None:
            continue
        behind = ancestors([output])
        if moved & behind and not any(map(is_draw, behind)):
            found[rv.name or ""] = output
    return found or {slot.variable.name or "": slot.variable for slot in slots}


def _values(shown: dict[str, Tensor], slots: Sequence[Slot], position: np.ndarray) -> str:
    """The values of variables at a position, long ones cut short."""
    some = dict(list(shown.items())[:SHOWN])
    values = values_at(list(some.values()), slots, position)
    text = [f"{name} = {_text(value)}" for name, value in zip(some, values, strict=True)]
    return ", ".join(text) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")


def _text(value: np.ndarray) -> str:
    return np.array2string(value, threshold=6, edgeitems=2, precision=6, max_line_width=10**6).replace("\n", "")
