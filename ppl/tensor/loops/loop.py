"""The loop: a node with a body, and JAX's form of building it.

The body is a graph over states, entries of the sequences, and values captured from outside, in full view of rewriting
and of pictures; a loop is differentiable like any other operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.core.bodies import check_state, hoisted, is_number, like, listed, slice_like, start_of
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.core.sizes import filled, split_sizes
from ppl.tensor.tensor import Dim, Tensor, TensorType, as_tensor
from ppl.xla.later import jax, jnp


class _Scan(TensorOp):
    """States handed from step to step, sequences taken apart, results stacked.

    Inputs: the starts of the states, the sequences, the number of steps where it is symbolic, the captured values. The
    outputs of the body: the states, and what is stacked.
    """

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        states, body = attrs["states"], attrs["body"]
        length: Dim = attrs["length"]
        if attrs["sequences"] and length is None:
            length = inputs[states].type.shape[0]
        rows = tuple(TensorType(y.type.dtype, (length, *y.type.shape)) for y in body.outputs[states:])
        return TupleType((*(x.type for x in inputs[:states]), *rows))

    def size_inputs(self, inputs: tuple[Node, ...], attrs: Attrs) -> tuple[Node, ...]:
        first = attrs["states"] + attrs["sequences"]
        return inputs[first : first + attrs["counted"]]


def run_scan(
    *inputs: Any,
    body: Any,
    states: int,
    sequences: int,
    length: int | None,
    counted: bool,
    reverse: bool,
    within: Any = None,
) -> Any:
    """The states after the loop, and the stacked rows. Steps at places from `within` on are left out (padding)."""
    starts = tuple(jnp.asarray(x) for x in inputs[:states])
    xs = tuple(jnp.asarray(x) for x in inputs[states : states + sequences])
    rest = inputs[states + sequences :]
    if counted:
        (length,), rest = filled((None,), rest[:1]), rest[1:]
        if length < 0:
            raise ValueError(f"scan: n_steps cannot be negative, got {length}")

    def step(state: Any, entries: Any) -> Any:
        results = [jnp.asarray(r) for r in body(*state, *entries, *rest)]
        return tuple(results[:states]), tuple(results[states:])

    if within is None:
        last, rows = jax.lax.scan(step, starts, xs, length, reverse)
        return (*last, *rows)

    def step_or_stay(carry: Any, entries: Any) -> Any:
        """Outside nothing changes: the last row is repeated."""
        place, *present = entries
        moved = lambda: step(carry[0], tuple(present))
        after = jax.lax.cond(place >= within, lambda: carry, moved)
        return after, after[1]

    first = jax.eval_shape(step, starts, tuple(jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs))
    blank = tuple(jnp.zeros(y.shape, y.dtype) for y in first[1])
    places = jnp.arange(xs[0].shape[0] if length is None else length)
    (last, _), rows = jax.lax.scan(step_or_stay, (starts, blank), (places, *xs), length, reverse)
    return (*last, *rows)


SCAN = _Scan("scan_op", run_scan)


def carry_scan(
    f: Callable[..., Any],
    init: Any,
    sequences: Any = None,
    non_sequences: Any = None,
    length: Any = None,
    reverse: bool = False,
    *,
    xs: Any = None,
) -> Any:
    """`f(state, *entries, *non_sequences)` gives the new state and an output; a state may be a tuple of tensors."""
    outer = [as_tensor(x) for x in listed(non_sequences)]
    series = [as_tensor(x) for x in listed(xs if sequences is None else sequences)]
    several = isinstance(init, list | tuple)
    given = list(init) if several else [init]
    starts = [as_tensor(x) for x in given]
    entries = [slice_like(with_rows("scan", x)) for x in series]

    def trace(starts: list[Tensor]) -> tuple[list[Tensor], list[Tensor], Any]:
        states = [like(x) for x in starts]
        result = f(tuple(states) if several else states[0], *entries, *outer)
        if not isinstance(result, list | tuple) or len(result) != 2:
            raise TypeError(f"scan: in this form a step returns (state, output), got {result!r}")
        return states, [as_tensor(x) for x in (listed(result[0]))], result[1]

    states, after, output = trace(starts)
    if any(is_number(g) and s.dtype != a.dtype for g, s, a in zip(given, starts, after, strict=False)):
        starts = [start_of(g, a) for g, a in zip(given, after, strict=True)]
        states, after, output = trace(starts)
    check_state("scan", names_of("the state", starts), starts, after)
    rows = [as_tensor(y) for y in listed(output)]
    results = loop(states, entries, [*after, *rows], starts, series, length, reverse)
    last, stacked = results[: len(states)], results[len(states) :]
    state_result = tuple(last) if several else last[0]
    if output is None or isinstance(output, list | tuple):
        return state_result, None if output is None else tuple(stacked)
    return state_result, stacked[0]


def with_rows(where: str, x: Tensor) -> Tensor:
    if x.ndim == 0:
        raise ValueError(f"{where}: {x!r} is a scalar, a sequence has a first axis to go along")
    return x


def names_of(what: str, tensors: Sequence[Tensor]) -> list[str]:
    return [f'{what} "{x.name}"' if x.name else f"{what} {i} ({x!r})" for i, x in enumerate(tensors)]


def loop(
    states: Sequence[Tensor],
    entries: Sequence[Tensor],
    outputs: Sequence[Tensor],
    starts: Sequence[Tensor],
    series: Sequence[Tensor],
    length: Any,
    reverse: bool,
    began: int | None = None,
) -> list[Any]:
    """The results of a loop node: the last states, then the stacked outputs."""
    if not series and length is None:
        raise ValueError("scan: without sequences, the number of steps is needed (n_steps=, or length=)")
    _, static, symbolic = split_sizes(length) if length is not None else ((), (None,), [])
    lengths = {n for x in series if (n := x.type.shape[0]) is not None} | {n for n in static if n is not None}
    if len(lengths) > 1:
        shown = ", ".join(f"{x!r} of length {x.type.shape[0]}" for x in series)
        raise ValueError(f"scan: the sequences differ in length: {shown}, {length=}")
    body, captured = hoisted([*states, *entries], outputs, began)
    attrs = Attrs(
        body=body, states=len(states), sequences=len(entries), length=static[0], counted=bool(symbolic),
        reverse=bool(reverse),
    )  # fmt: skip
    node: Any = Node(SCAN, (*starts, *series, *symbolic, *captured), attrs)
    return list(node)
