"""A graph for whole batches: `vectorize_graph` gives some of its tensors further axes in front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppl.graph import Attrs, Node, ancestors, close, substitute
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, function, placeholder
from ppl.tensor.vectorizing import VECTORIZED


@function()
def vectorize_graph(outputs: Any, replace: Mapping[Tensor, Any]) -> Any:
    """`outputs` with tensors replaced by others that have further axes in front; the results have these axes too.

    The leading axes of several replacements broadcast together. What is not replaced is the same for all entries.

    >>> import ppl.tensor as tt
    >>> x, xs = tt.dvector("x"), tt.dmatrix("xs")
    >>> vectorize_graph(x.sum(), {x: xs}).eval({xs: [[1.0, 2.0], [3.0, 4.0]]})
    array([3., 7.])
    """
    several = isinstance(outputs, list | tuple)
    wanted = [as_tensor(out) for out in (outputs if several else [outputs])]
    olds = list(replace)
    news = [_extending(old, as_tensor(new)) for old, new in replace.items()]
    if all(new.ndim == old.ndim for old, new in zip(olds, news, strict=True)):
        raise ValueError("vectorize_graph: no replacement has more axes than what it replaces; use clone_replace")
    reached = ancestors(wanted)
    lost = [old for old in olds if old not in reached]
    if lost:
        raise ValueError(f"vectorize_graph: {lost[0]!r} is not in the graph")
    entries = [placeholder(old.type) for old in olds]
    body, captured = close(entries, substitute(wanted, dict(zip(olds, entries, strict=True))))
    node: Any = Node(VECTORIZED, (*news, *captured), Attrs(body=body, ranks=tuple(old.ndim for old in olds)))
    results = [node] if isinstance(node.type, TensorType) else list(node)
    return results if several else results[0]


def _extending(old: Tensor, new: Tensor) -> Tensor:
    """The new tensor, checked to be the old one's type with axes in front."""
    count = new.ndim - old.ndim
    pairs = zip(old.type.shape, new.type.shape[max(count, 0) :], strict=False)
    if count < 0 or new.dtype != old.dtype or any(n != m for n, m in pairs if n is not None and m is not None):
        raise TypeError(f"vectorize_graph: {old!r} is {old.type!r}, which {new!r} does not extend: it is {new.type!r}")
    return new
