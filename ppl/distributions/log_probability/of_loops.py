r"""Measures of loops: rows x₁, x₂, ... with x_t = g(x_{t-1}, y_t), where the y_t are entries of a random sequence.

Given the rows before it, of which g may be any function, each row is a map of its own entry, so all steps are taken at
once: the rows have the density of the one expression g(x before, y), in which the states before each step are values.
The matrix ∂x/∂y is triangular, so this is the joint density, also where the y_t are dependent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ppl.tensor as tt
from ppl.distributions.log_probability.measure import (
    Measure,
    NoDensityError,
    known_shape,
    measure,
    measures,
    shown,
    sources,
)
from ppl.distributions.log_probability.of_maps import vars_of
from ppl.graph import Body, Node, ancestors, substitute, topological
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor, as_tensor, placeholder


@measures("get")
def rows_of_a_loop(node: Tensor) -> Measure:
    """What a loop stacks, where its states are rows stacked before, or do not depend on draws."""
    loop, place = node.inputs[0], node.attrs["position"]
    if loop.op.name != "scan_op" or place < loop.attrs["states"]:
        raise NoDensityError(
            f"No density for {shown(node)}: only the rows that a scan stacks have one. Take all of its rows, and "
            "index their value."
        )
    body, states, reverse = loop.attrs["body"], loop.attrs["states"], loop.attrs["reverse"]
    first = states + loop.attrs["sequences"]
    starts, rest = loop.inputs[:states], loop.inputs[first + loop.attrs["counted"] :]
    sequences: list[Any] = list(loop.inputs[states:first])
    row, axes = body.outputs[place], node.ndim - 1
    count = known_shape(node)[0]
    own = {p for p, each in zip(body.params[states:], [*sequences, *rest], strict=True) if sources(each)}
    known = _known_before(row, own)
    _require_entries(node, row, {*body.params, *known})

    def all_steps(x: Tensor) -> Tensor:
        """The rows as one expression, given their values: those before each step are its states."""
        before = _states_before(node, body, row, x, starts, shifted)
        changing = [(p, each, True) for p, each in zip(body.params, [*before, *sequences], strict=False)]
        fixed = [(p, each, False) for p, each in zip(body.params[first:], rest, strict=True)]
        used = _used(body, row)
        arguments = {p: _aligned(each, axes, steps) for p, each, steps in [*changing, *fixed] if p in used}
        stacks = {p: each for p, each, _ in changing if p in used and p not in own}
        for part in known:
            one = substitute(part, {p: each for p, each, _ in fixed})
            mine = {p: each for p, each in stacks.items() if p in set(ancestors([one]))}
            arguments[part] = _aligned(tt.vectorize_graph(one, mine) if mine else one, axes, bool(mine))
        return substitute(row, arguments)  # type: ignore[return-value]

    def shifted(start: Tensor, x: Tensor) -> Tensor:
        start = tt.expand_dims(tt.cast(start, x.dtype), 0)
        return tt.concatenate([x[1:], start] if reverse else [start, x[:-1]], 0)

    def logp(x: Any) -> Tensor:
        x = tt.broadcast_to(as_tensor(x), node.shape)
        rows = all_steps(x)
        if tuple(rows.shape) != tuple(node.shape):
            raise NoDensityError(
                f"No density for {shown(node)}: its {count} rows do not each have an entry of a random sequence."
            )
        return measure(rows).logp(x)

    law = measure(all_steps(placeholder(node.type)))
    nothing = {"logcdf": None, "logccdf": None, "icdf": None, "positive": False, "independent": False}
    return Measure(**{**vars_of(law), **nothing, "node": node, "logp": logp})


def _states_before(
    node: Tensor, body: Body, row: Node, x: Tensor, starts: Sequence[Any], shifted: Callable[[Any, Tensor], Tensor]
) -> list[Any]:
    """The states before each step, from the rows x: a step leaves in each its row, or what was before in another."""
    used, places = _used(body, row), {each: i for i, each in enumerate(body.params)}

    def before(at: int, steps: int) -> Tensor:
        left, start = body.outputs[at], starts[at]
        if sources(start):
            raise NoDensityError(
                f"No density for {shown(node)}: it starts from {shown(start)}, which is random. Give that a value "
                "first, or start from its value."
            )
        if left is row:
            return shifted(start, x)
        other = places.get(left, len(starts))
        if other >= len(starts) or steps == 0:
            raise NoDensityError(
                f"No density for {shown(node)}: a state of its loop is no row of a step before, and these are all that "
                "is known. Let each state be what a step stacks."
            )
        return shifted(start, before(other, steps - 1))

    return [before(i, len(starts)) if body.params[i] in used else starts[i] for i in range(len(starts))]


def _used(body: Body, row: Node) -> set[Node]:
    return set(ancestors([row])) & set(body.params)


def _known_before(row: Node, own: set[Node]) -> list[Node]:
    """The parts of a step that depend on no draw of its own, but on the rows before, and so may be any functions of
    these: each as large as can be, and only where it does more than to map entries."""
    depends: set[Node] = set(own)
    parts: dict[Node, None] = {}
    for each in topological([row]):
        if any(p in depends for p in each.inputs):
            depends.add(each)
            parts |= {p: None for p in each.inputs if p not in depends and p.inputs}
    mixes = lambda part: not all(isinstance(n.op, Elementwise) for n in topological([part]) if n.inputs)
    return [part for part in parts if mixes(part)]


def _require_entries(node: Tensor, row: Node, known: set[Node]) -> None:
    """Refuse steps that do more than to map the entries of their own draws."""
    inside = [each for each in topological([row], blockers=known) if each.inputs and each not in known]
    other = next((each for each in inside if not isinstance(each.op, Elementwise)), None)
    if other is not None:
        raise NoDensityError(
            f"No density for {shown(node)}: its step uses {other.op.name!r} of its own draw, and only steps that map "
            "the entries of that are taken all at once; of the rows before it may use anything. Write the steps as a "
            "Python loop, or as a CustomDist."
        )


def _aligned(x: Any, axes: int, steps: bool) -> Tensor:
    """Something of each step, or the same for all, with as many axes as a row has, after that of the steps."""
    x = as_tensor(x)
    missing = axes - (x.ndim - steps)
    return tt.expand_dims(x, tuple(range(1, 1 + missing))) if steps and missing > 0 else x
