"""Models of `pymc.dims`: their labelled tensors as plain ones.

PyTensor has a rewrite that turns operations with named dims into ordinary ones. It is applied once to a copy of all
that a model holds; what is read afterwards is that copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.distributions as d
import ppl.tensor as tt
from ppl.bridge.reading import Application, Value, as_tensor, converts, is_a
from ppl.distributions import RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.tensor.tensor import Tensor


def is_labelled(variable: Any) -> bool:
    """Whether a variable of PyTensor has named dims."""
    return hasattr(getattr(variable, "type", None), "dims")


def lowered(outputs: Sequence[Any]) -> dict[Any, Any]:
    """What each of these variables of PyTensor is without operations on named dims."""
    if not any(map(is_labelled, outputs)):
        return {}
    from pytensor.compile.mode import optdb
    from pytensor.graph.basic import clone_get_equiv
    from pytensor.graph.fg import FunctionGraph

    computed = [v for v in outputs if getattr(v, "owner", None) is not None]
    copies: Any = clone_get_equiv([], computed, copy_inputs=False, copy_orphans=False)
    graph = FunctionGraph(outputs=[copies[v] for v in computed], clone=False)
    optdb.query("+lower_xtensor").rewrite(graph)
    return dict(zip(computed, graph.outputs, strict=True))


@converts("XTensorFromTensor", "TensorFromXTensor", "Rename")
def renamed_axes(at: Application) -> Value:
    """The same numbers: names of axes are not kept on nodes."""
    return at.values[0]


def behind(variable: Any) -> list[Any]:
    """From a random variable to its draw: only names and the order of axes change on the way."""
    chain = [variable]
    while chain[-1].owner is not None and is_a(
        chain[-1].owner.op, "XTensorFromTensor", "TensorFromXTensor", "DimShuffle"
    ):
        chain.append(chain[-1].owner.inputs[0])
    return chain


def order_of(variable: Any) -> tuple[int, ...] | None:
    """Which axis of the draw each axis of a random variable is; None where all are as they are."""
    order = tuple(range(behind(variable)[-1].type.ndim))
    for each in reversed(behind(variable)):
        if each.owner is not None and is_a(each.owner.op, "DimShuffle"):
            order = tuple(order[i] for i in each.owner.op.new_order)
    return None if order == tuple(sorted(order)) else order


def turned(rv: RandomVariable, order: Sequence[int]) -> RandomVariable | None:
    """The draw with its independent copies in another order; None where axes of one value move."""
    batch = rv.ndim - rv.event_ndim
    if tuple(order[batch:]) != tuple(range(batch, rv.ndim)):
        return None
    parameters = []
    for x, own in zip(rv.parameters, rv.family.event_axes(rv.parameters), strict=True):
        if x.ndim == own:
            parameters.append(x)
            continue
        wide = tt.expand_dims(x, tuple(range(batch - (x.ndim - own)))) if x.ndim - own < batch else x
        parameters.append(tt.transpose(wide, (*order[:batch], *range(batch, batch + own))))
    sizes = iter(rv.inputs[len(rv.parameters) :])
    given = rv.attrs["size"]
    size = None if given is None else [next(sizes) if n is None else n for n in given]
    return draw(rv.family, parameters, None if size is None else [size[i] for i in order[:batch]], rv.name)


def as_draw(found: Any) -> Any:
    """A draw kept between bounds, which is how `pymc.dims` writes Censored; others as they are."""
    if isinstance(found, Tensor) and found.op.name == "clip" and isinstance(found.inputs[0], RandomVariable):
        law, lower, upper = map(as_tensor, found.inputs)
        return d.Censored.dist(law, lower, upper)
    return found
