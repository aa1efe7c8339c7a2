"""What predictive draws take from the draws of a posterior, and what is drawn anew.

Drawn anew are: what was asked for, every variable the draws do not hold, every Data whose value is another one now than
in the result, every variable along a dimension whose labels are others now, and all that follows from these. Everything
else is taken from the draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.distributions import is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.graph import Node, ancestors, topological
from ppl.model.output import results
from ppl.model.output.traces import Draws, data_then
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import Variable

if TYPE_CHECKING:
    from ppl.model.model import Model


def taken_from_draws(
    model: Model, names: Sequence[str], draws: Draws, changed: Mapping[Variable, Any], relabeled: set[str]
) -> list[Tensor]:
    """The variables whose values come from the posterior: those it holds that nothing resampled leads to."""
    outputs = [model.named_vars[name] for name in names]
    wanted, values = set(outputs), draws.values
    moved = {v for v in model.free_RVs if not relabeled.isdisjoint(model.named_vars_to_dims.get(v.name or "", ()))}
    in_model = set(model.basic_RVs) | set(model.deterministics)
    volatile: set[Node] = set()
    taken: list[Tensor] = []
    held: set[Node] = set()
    laws = {law for node in topological(outputs) for law in laws_of(node)}  # stand for their law, not for a value
    for node in topological(outputs):
        fresh = node in changed or node in moved or any(parent in volatile for parent in node.inputs)
        if node.op is DIM and node.inputs[0] in changed:
            fresh = not _same_length(model, draws, node.inputs[0], node.attrs["axis"], changed[node.inputs[0]])
        if isinstance(node, Tensor) and node in in_model and node.name in values and node not in wanted and not fresh:
            held.add(node)
        elif fresh or node in wanted or (is_draw(node) and node not in laws):
            volatile.add(node)
    for node in topological(outputs, blockers=held):  # only the nearest ones are needed
        if node in held:
            taken.append(node)  # type: ignore[arg-type]
    return _recomputed(taken, held, laws)


def _recomputed(taken: list[Tensor], held: set[Node], laws: set[Node]) -> list[Tensor]:
    """Deterministics that follow from draws the posterior holds are computed again: cheaper than fetching them."""
    result: dict[Tensor, None] = {}
    for node in taken:
        if is_draw(node):
            result[node] = None
            continue
        kept = [h for h in held if is_draw(h)]
        behind = [n for n in ancestors(node, blockers=kept) if is_draw(n) and n not in laws]
        if all(n in held for n in behind):
            result.update(dict.fromkeys(behind))  # type: ignore[arg-type]
        else:
            result[node] = None
    return sorted(result, key=lambda node: node.serial)


def changed_data(model: Model, trace: Any) -> dict[Variable, np.ndarray | None]:
    """Data whose value is another one now than when the posterior was drawn, with what it was then; None where the
    trace does not tell, as of draws without their data: then these are taken for changed, as in PyMC."""
    then = data_then(trace, model)
    changed: dict[Variable, np.ndarray | None] = {}
    for v in model.data_vars:
        before = then.get(v.name or "")
        if before is None or not _alike(before, v.value):
            changed[v] = before
    return changed


def _alike(before: np.ndarray, now: np.ndarray) -> bool:
    """Whether data are the same; a number may be kept as a vector of one."""
    before = before.reshape(now.shape) if before.size == now.size == 1 else before
    return np.array_equal(before, now, equal_nan=before.dtype.kind == now.dtype.kind == "f")


def _same_length(model: Model, draws: Draws, data: Variable, axis: int, before: np.ndarray | None) -> bool:
    """Whether an axis of data has the length that it had when the posterior was drawn; where the data of then are not
    there, by the variables of the posterior that have its dimension."""
    now = data.value.shape[axis]
    if before is not None:
        return before.shape[axis] == now
    dims = model.named_vars_to_dims.get(data.name or "", (None,) * data.ndim)
    known = [
        draws.values[name].shape[2 + place]
        for name, names in model.named_vars_to_dims.items()
        for place, dim in enumerate(names)
        if name in draws.values and dim is not None and dim == dims[axis] and draws.values[name].ndim == 2 + len(names)
    ]
    return bool(known) and all(n == now for n in known)


def relabeled(model: Model, trace: Any) -> set[str]:
    """Dimensions that have other labels now than in the draws: what was learned of the old ones is not theirs."""
    kept = results.arrays_of(trace, "posterior") if hasattr(trace, "groups") else None
    kept = trace if kept is None else kept  # the posterior by itself
    if not hasattr(kept, "coords"):
        return set()
    now = {dim: labels for dim, labels in model.coords.items() if labels is not None and dim in kept.coords}
    return {dim for dim, labels in now.items() if not _same_labels(np.asarray(kept.coords[dim]), labels)}


def _same_labels(before: np.ndarray, now: Sequence[Any]) -> bool:
    """Whether two axes have the same labels; pandas, which knows dates and missing labels, is asked about the rest."""
    if before.tolist() == list(now):
        return True
    import pandas as pd

    return pd.Index(before).equals(pd.Index(now))
