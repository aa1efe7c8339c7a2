"""How loops and branches turn Python functions into bodies.

A body is traced by calling the function on fresh inputs. What it uses of the outer graph without depending on those
inputs is computed once, outside (`hoisted`), and comes in as a captured value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.graph import GET, Attrs, Body, Identity, Node, ancestors, close, rebuilt, substitute, topological
from ppl.tensor.tensor import CONSTANT, INPUT, Tensor, TensorType, as_tensor, placeholder


def hoisted(params: Sequence[Node], outputs: Sequence[Node], began: int | None = None) -> tuple[Body, list[Node]]:
    """The body of `outputs` over `params`, and the outer nodes it needs: the last that do not depend on the params.

    `began` is the serial number of a node made just before the step was called.
    """
    inside: set[Node] = set(params)
    needed: dict[Node, None] = {}
    order = topological(outputs, blockers=inside)
    for node in order:
        if node not in inside and any(parent in inside for parent in node.inputs):
            inside.add(node)
            needed.update((p, None) for p in node.inputs if p not in inside and p.op is not CONSTANT)
    needed.update((out, None) for out in outputs if out not in inside and out.op is not CONSTANT)
    _refuse_draws_of_a_step(list(needed), max((p.serial for p in params), default=-1) if began is None else began)
    return _closed(params, outputs, list(needed))


def _refuse_draws_of_a_step(outer: Sequence[Node], began: int) -> None:
    """Raise where a draw was made by the step itself: computed outside, it would be the same one in every step.

    `began` is the serial number of the last node made before the step was called.
    """
    for node in topological(outer):
        if node.serial > began and (_is_draw(node) or getattr(node, "default_update", None) is not None):
            raise ValueError(
                f"{node!r} is drawn inside the step of a loop, where it would be one draw for all steps. Make the draws"
                " before the loop, one for each step, and pass them in as a sequence."
            )


DrawsBefore = Callable[[Node, Callable[[Node], bool], Any], tuple[Tensor, Callable[[Tensor], Tensor]] | None]
_draws_before: tuple[DrawsBefore, Callable[[Node], Sequence[Node]]] | None = None


def set_draws_before(make: DrawsBefore, laws_of: Callable[[Node], Sequence[Node]]) -> None:
    """Distributions say here how the draws of steps are made before a loop, and which draws stand for their laws."""
    global _draws_before
    _draws_before = make, laws_of


def drawn_before(
    params: Sequence[Node], outputs: Sequence[Any], steps: Any, began: int
) -> tuple[list[Tensor], list[Tensor], list[Any]]:
    """Further sequences of a loop, the parameters that stand for their entries, and the outputs with these in the place
    of the draws that the step made since `began`."""
    series: list[Tensor] = []
    entries: list[Tensor] = []
    if _draws_before is None:
        return series, entries, list(outputs)
    make, laws_of = _draws_before
    done: dict[Node, Node] = {}
    moves = lambda node: not ancestors([node]).isdisjoint([*params, *entries])
    order = topological(outputs, blockers=params)
    laws = {law for node in order for law in laws_of(node)}
    for node in order:
        new = rebuilt(node, tuple([done.get(x, x) for x in node.inputs]))
        own = node.serial > began and _is_draw(node) and node not in laws
        found = make(new, moves, steps) if own else None
        if found is not None:
            whole, draw_of = found
            series.append(whole)
            entries.append(slice_like(whole))
            new = draw_of(entries[-1])
        done[node] = new
    return series, entries, [done.get(x, x) for x in outputs]


def _is_draw(node: Node) -> bool:
    return bool(node.inputs) and any(isinstance(value, Identity) for value in node.attrs.values())


def lazily_closed(*branches: Sequence[Node]) -> list[tuple[Body, list[Node]]]:
    """Bodies that compute their outputs from leaves, one of which is run. Random draws, and what all of them need,
    stay outside: that is computed whichever is taken, and need not be compiled for each."""
    shared = set.intersection(*map(ancestors, branches))
    shared.update(n for branch in branches for n in topological(branch) if n.op is GET and n.inputs[0] in shared)
    outer = {node for node in shared if node.inputs and isinstance(node.type, TensorType)}

    def closed(outputs: Sequence[Node]) -> tuple[Body, list[Node]]:
        order = topological(outputs, blockers=outer)
        return _closed((), outputs, [node for node in order if node in outer or _is_draw(node)])

    return [closed(branch) for branch in branches]


def _closed(params: Sequence[Node], outputs: Sequence[Node], captured: list[Node]) -> tuple[Body, list[Node]]:
    stand_ins = [placeholder(node.type) if isinstance(node.type, TensorType) else node for node in captured]
    swapped = substitute(list(outputs), dict(zip(captured, stand_ins, strict=True)))
    body, more = close([*params, *stand_ins], swapped)
    return body, [*captured, *more]


def like(x: Tensor) -> Tensor:
    """A fresh input that can stand for `x`; for the state of a generator, another state of one."""
    source: Node = x
    while source.op.name == "key_fold_in":
        source = source.inputs[0]
    if source.attrs.get("generator"):
        return Node(INPUT, (), Attrs(type=x.type, identity=Identity(), generator=True))  # type: ignore[return-value]
    return placeholder(x.type)


def slice_like(x: Tensor) -> Tensor:
    """A fresh input that can stand for one entry of `x` along its first axis."""
    return placeholder(TensorType(x.dtype, x.type.shape[1:]))


def listed(results: Any) -> list[Any]:
    """One result, several, or none, as a list."""
    if results is None:
        return []
    return list(results) if isinstance(results, list | tuple) else [results]


def check_state(where: str, names: Sequence[str], before: Sequence[Tensor], after: Sequence[Tensor]) -> None:
    """Raise where a step changes the dtype or the shape of a state, naming it."""
    if len(before) != len(after):
        raise ValueError(f"{where}: a step returns {len(after)} states, there are {len(before)}")
    for name, old, new in zip(names, before, after, strict=True):
        if old.dtype != new.dtype:
            raise TypeError(
                f"{where}: {name} starts as {old.dtype} and is {new.dtype} after a step. Cast one of them: the start "
                f'with cast(start, "{new.dtype}"), or the result of the step.'
            )
        if not agree(old, new):
            raise ValueError(
                f"{where}: {name} starts with shape {old.type.shape} and has shape {new.type.shape} after a step; "
                "a state keeps its shape."
            )


def agree(a: Tensor, b: Tensor) -> bool:
    """Whether two shapes are the same as far as they are known."""
    pairs = zip(a.type.shape, b.type.shape, strict=False)
    return a.ndim == b.ndim and all(None in (m, n) or m == n for m, n in pairs)


def start_of(value: Any, result: Tensor | None) -> Tensor:
    """The start of a state; a Python number takes the dtype of what a step makes of it."""
    if isinstance(value, bool | int | float | complex) and result is not None:
        return as_tensor(value, dtype=result.dtype)
    return as_tensor(value)


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex)
