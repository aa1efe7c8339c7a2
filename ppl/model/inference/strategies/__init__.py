"""The ways to draw from a posterior. Each takes the task, and gives the draws or, where it is not for it, None.

Draws are a run that is finished, or one that has begun. The order of the list is the order of preference: what needs no
chain comes before what does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.model.inference.strategies.chains import by_nuts, by_steps
from ppl.model.inference.strategies.elsewhere import by_another_package
from ppl.model.inference.strategies.exact import by_recovery
from ppl.model.inference.strategies.factors import by_factors
from ppl.model.inference.strategies.quadrature import by_quadrature
from ppl.model.inference.strategies.rejection import by_rejection
from ppl.model.inference.task import Task

Strategy = Callable[[Task], Any]

STRATEGIES: tuple[Strategy, ...] = (
    by_recovery, by_rejection, by_quadrature, by_another_package, by_factors, by_steps, by_nuts
)  # fmt: skip


def drawn(task: Task) -> Any:
    """The draws, by the first strategy that suits the task."""
    return next(found for strategy in STRATEGIES if (found := strategy(task)) is not None)
