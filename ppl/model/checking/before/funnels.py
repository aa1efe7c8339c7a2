"""Funnels that stay after rewriting: effects of an unknown scale that are sampled as they are written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import RandomVariable
from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.survey import Survey
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.tensor import Tensor

KINDS = ("funnel",)

FEWEST = 3  # effects that make a neck


def find(survey: Survey) -> Iterator[Finding]:
    """What rewriting neither integrates out nor moves in coordinates without a neck."""
    if not any(_is_centered(rv) for rv in survey.free if rv in survey.informed):
        return
    plan = survey.plan
    if plan is None or plan.needs_no_chain:
        return
    kept = {k.name: k.why for k in plan.kept}
    for rv in plan.program.free:
        if not _is_centered(rv) or rv in plan.coordinates:
            continue
        scale = _scale(rv)
        unknown = [v.name or "" for v in plan.program.free if v is not rv and v.dtype[0] == "f" and v in _behind(scale)]
        if not unknown:
            continue
        why, location = kept.get(rv.name or "", ""), rv.family.location_parameter
        standard = "0, 1, ..." if location else "sigma=1, ..."
        location = f"{location} + " if location else ""
        yield Finding(
            "funnel", (rv.name or "", *unknown), "warning",
            f'"{rv.name}" has the unknown scale {quoted(unknown)} and is sampled as it is '
            f"written{f' ({why})' if why else ''}: where the scale is small its entries are squeezed together, where "
            "chains diverge or stay away.",
            f'Write it without its center: z = pm.{rv.family.__name__}("{rv.name}_z", {standard}) and "{rv.name}" as '
            f'pm.Deterministic("{rv.name}", {location}scale * z), or raise target_accept.',
        )  # fmt: skip


def _is_centered(rv: RandomVariable) -> bool:
    scale = _scale(rv)
    return scale is not None and np.prod([n or 0 for n in rv.type.shape]) >= FEWEST and not is_data(scale)


def _scale(rv: RandomVariable) -> Tensor | None:
    """The parameter that is the scale of effects on both sides of zero or of a location."""
    if not rv.family.scale_parameter or rv.family.support_for(rv.parameters).lower is not None:
        return None
    return rv.parameters[list(rv.family.params).index(rv.family.scale_parameter)]


def _behind(expression: object) -> set[object]:
    from_nodes: list[object] = [expression]
    seen = {expression}
    while from_nodes:
        node = from_nodes.pop()
        if isinstance(node, RandomVariable) and node is not expression:
            continue
        fresh = [x for x in node.inputs if x not in seen]  # type: ignore[attr-defined]
        seen.update(fresh)
        from_nodes += fresh
    return seen
