"""How an equation is solved: the names of methods, and the errors and steps that are allowed."""

from __future__ import annotations

from typing import Any

from ppl.ode.affine import EXACT
from ppl.xla.ode.loop import Control
from ppl.xla.ode.solution import FORWARD_OR_BACK
from ppl.xla.ode.tableaus import METHODS

# Other names that users may look for.
ALSO = {"rosenbrock": "rodas5p", "dopri": "dopri5", "RK45": "dopri5"}


def control_of(who: str, method: str, rtol: float, atol: float, max_steps: int) -> Control:
    """The settings of a solver; an error where one of them means nothing."""
    name = ALSO.get(method, method) if isinstance(method, str) else method
    if name not in (*METHODS, EXACT):
        raise ValueError(
            f"{who}: method is one of {', '.join(METHODS)}, {EXACT}, got {method!r}: tsit5 and dopri5 are explicit,"
            " rodas5p is for stiff equations, exact for affine ones"
        )
    for word, value in (("rtol", rtol), ("atol", atol)):
        _require_number(who, word, value)
        if not 0 < value < 1:
            raise ValueError(f"{who}: {word} lies between 0 and 1, got {value!r}")
    if rtol < 1e-14:
        raise ValueError(f"{who}: rtol is below what numbers of 64 bits can tell apart, 1e-14, got {rtol!r}")
    if not isinstance(max_steps, int) or max_steps < 1:
        raise ValueError(f"{who}: max_steps is a whole number from 1 on, got {max_steps!r}")
    return Control(name, float(rtol), float(atol), max_steps)


def _require_number(who: str, word: str, value: Any) -> None:
    if not isinstance(value, int | float):
        raise TypeError(f"{who}: {word} is a number, got {value!r}")


def checked_sensitivities(who: str, sensitivities: str) -> str:
    if sensitivities not in FORWARD_OR_BACK:
        raise ValueError(f"{who}: sensitivities is one of {', '.join(FORWARD_OR_BACK)}, got {sensitivities!r}")
    return sensitivities
