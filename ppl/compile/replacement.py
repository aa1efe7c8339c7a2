"""Graphs with parts replaced, by the names that Theano, PyTensor and SymJAX gave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppl.compile.outputs import flatten
from ppl.graph import Node, ancestors, leaves, substitute
from ppl.tensor.core.labelled import like_argument
from ppl.tensor.core.ops import cast_to
from ppl.tensor.loops.substitution import replaced
from ppl.tensor.tensor import INPUT, Tensor, as_tensor, enter, placeholder


@like_argument(0)
def clone_replace(output: Any, replace: Any = None, *, rebuild_strict: bool = True) -> Any:
    """A graph, or a nested structure of graphs, with tensors replaced by others of the same dtype and number of axes.

    All replacements happen at once, so x -> f(x) puts f(x) where x was and goes no further. `rebuild_strict=False`
    casts replacements to the dtype of what they replace.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalars("x", "y")
    >>> ppl.pprint(clone_replace(x + y, {x: x * y}))
    'x * y + y'
    """
    flat, rebuild = flatten(output)
    return rebuild(replaced(flat, checked(replace, rebuild_strict)))


@like_argument(0)
def graph_replace(outputs: Any, replace: Any = None, *, strict: bool = True) -> Any:
    """`clone_replace`, where `strict` demands that everything to be replaced is in the graph."""
    flat, rebuild = flatten(outputs)
    replacements = checked(replace, True)
    if strict:
        reached = ancestors(flat)
        lost = [old for old, new in replacements.items() if old not in reached and not _is_inside(flat, old, new)]
        if lost:
            raise ValueError(f"graph_replace: {lost[0]!r} is not in the graph; strict=False lets that pass")
    return rebuild(replaced(flat, replacements))


def _is_inside(outputs: Sequence[Node], old: Node, new: Node) -> bool:
    """Whether a tensor stands in bodies only."""
    moved = replaced(outputs, {old: new})
    return any(a is not b for a, b in zip(moved, outputs, strict=True))


def checked(replace: Any, strict: bool) -> dict[Node, Node]:
    """The replacements as a dictionary of tensors whose types agree."""
    pairs = replace.items() if isinstance(replace, Mapping) else (replace or [])
    result: dict[Node, Node] = {}
    for old, value in pairs:
        if not isinstance(old, Tensor):
            raise TypeError(f"only tensors are replaced, got {old!r}")
        new = as_tensor(value)
        if new.dtype != old.dtype and not strict:
            new = cast_to(new, old.dtype)
        if new.dtype != old.dtype or new.ndim != old.ndim:
            raise TypeError(f"{old!r} is {old.type!r} and cannot give way to {new!r}, which is {new.type!r}")
        result[old] = new
    return result


def clone(output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True) -> Any:
    """Theano's and SymJAX's `clone_replace`; `share_inputs=False` puts fresh inputs in the place of all others.

    An input alone, with nothing to replace, becomes a fresh input of its type.
    """
    flat, rebuild = flatten(output)
    replacements = checked(replace, strict)
    if not share_inputs or (isinstance(output, Tensor) and output.op is INPUT and not replacements):
        for x in leaves(flat):
            if x.op is INPUT and x not in replacements:
                replacements[x] = placeholder(x.type, x.name)  # type: ignore[attr-defined]
    return rebuild(substitute(flat, replacements))


def inputs_of(graphs: Any) -> Sequence[Tensor]:
    """The inputs that graphs need values for, oldest first (Theano's explicit graph inputs)."""
    return [x for x in leaves(flatten(graphs)[0]) if isinstance(x, Tensor) and x.op is INPUT]


enter("clone", clone)
