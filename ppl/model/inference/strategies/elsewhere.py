"""Draws by the NUTS of another package, on the same compiled log-density."""

from __future__ import annotations

from typing import Any

from ppl.model.finishing.runs import Drawn
from ppl.model.inference.engines import ENGINES
from ppl.model.inference.strategies.chains import made_ready
from ppl.model.inference.task import Task
from ppl.model.output import results


def by_another_package(task: Task) -> Drawn | None:
    """A finished run of the package that `nuts_sampler` names."""
    asked = task.asked
    if asked.own or not task.starts.dim:
        return None
    density = made_ready(task)
    _only_nuts(
        task, blocking=asked.blocking, resume=asked.directory, callback=asked.callback, max_seconds=asked.max_seconds
    )
    if asked.as_arviz:
        results.prepared()
    task.prepare_results()
    plan = {**asked.plan, "cores": asked.cores, "progress": bool(asked.progressbar) and not asked.quiet}
    return ENGINES[asked.nuts_sampler](density, task.starts, asked.nuts, plan, dict(asked.nuts_sampler_kwargs or {}))


def _only_nuts(task: Task, **given: Any) -> None:
    """Raise where the other package cannot do what is asked for."""
    sampler = task.asked.nuts_sampler
    if not task.methods.only_nuts:
        raise ValueError(
            "Model can not be sampled with NUTS alone: it has discrete variables, or step= chooses other methods."
            f" Leave nuts_sampler={sampler!r} out."
        )
    for name, value in given.items():
        if value is not None and value is not True:
            raise ValueError(f"{name}= works with the sampler of this package, not with nuts_sampler={sampler!r}")
