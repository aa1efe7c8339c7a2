"""Draws of a model that rewriting has eliminated whole: every variable comes back by recovery."""

from __future__ import annotations

import numpy as np

from ppl.compile.density import values_at
from ppl.model.errors import SamplingError
from ppl.model.finishing.runs import Independent, independent
from ppl.model.inference.task import Task
from ppl.model.starting.start_report import start_report


def by_recovery(task: Task) -> Independent | None:
    """Draws from conditional laws alone, where nothing is left to move."""
    if task.starts.dim or task.asked.watched:
        return None
    posterior, slots, nowhere = task.posterior, task.starts.slots, np.zeros(0)
    if not np.isfinite(values_at([posterior.logp()], slots, nowhere, posterior.of_data)[0]):
        report = start_report(posterior, slots, nowhere)
        raise SamplingError(f"Cannot sample from the model: its data have no finite density.\n{report}")
    positions = lambda n: np.zeros((task.asked.chains, n, 0))
    draws, tuning = positions(task.asked.draws), positions(task.asked.tune)
    return independent(draws, {}, tuning, {}, drawn_by="recovery of what was integrated out")
