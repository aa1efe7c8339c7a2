"""Loops: PyTensor's Scan by ppl's loop of the same contract.

A Scan keeps each output that is fed back in a buffer that begins with the values before the first step. Here the
values before and the rows of the steps stay apart (`History`), since all that programs take of it is the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.bridge.indexing import index_of
from ppl.bridge.reading import RANDOM, Application, History, Value, as_tensor, converts, is_a
from ppl.tensor import expand_dims
from ppl.tensor.loops.theano_loops import theano_scan, until
from ppl.tensor.tensor import Tensor


@converts("Scan")
def loop(at: Application) -> list[Value]:
    """A loop with its sequences, the outputs that are fed back, and what it collects."""
    info, op = at.op.info, at.op
    if getattr(info, "mit_mot_in_slices", ()):
        raise at.refuse("the gradient of a loop. Leave the derivative to the sampler, or sample this model with PyMC.")
    outer = _Outer(at)
    feeds = [_Fed(at, var, taps) for var, taps in zip(outer.fed, (*info.mit_sot_in_slices, *_once(info)), strict=True)]
    carried = [value for value in outer.carried if value is not RANDOM]

    def step(*values: Tensor) -> Any:
        rest = iter(values)
        sequences = [next(rest) for _ in outer.sequences]
        seen = [next(rest) for fed in feeds for _ in fed.taps]
        states = iter([next(rest) for _ in carried])
        others = [RANDOM if value is RANDOM else next(states) for value in outer.carried]
        given = [*sequences, *seen, *others, *outer.fixed]
        found = at.reader.body(op.inner_inputs, op.inner_outputs, given)
        return _arranged(found, len(feeds), info.n_nit_sot, outer.carried, info.as_while)

    infos: list[Any] = [fed.info for fed in feeds] + [as_tensor(x) for x in carried] + [None] * info.n_nit_sot
    results = theano_scan(
        step, outer.sequences or None, infos, n_steps=outer.steps, return_list=True, return_updates=False
    )
    rows = list(results or [])
    fed_rows, last, collected = rows[: len(feeds)], rows[len(feeds) : len(feeds) + len(carried)], rows
    collected = rows[len(feeds) + len(carried) :]
    final = iter([x[-1] for x in last])
    histories = [History(fed.before, x) for fed, x in zip(feeds, fed_rows, strict=True)]
    return [*histories, *collected, *(RANDOM if value is RANDOM else next(final) for value in outer.carried)]


def _once(info: Any) -> tuple[Any, ...]:
    return tuple(info.sit_sot_in_slices)


def _arranged(found: list[Value], fed: int, collected: int, carried: list[Value], stops: bool) -> Any:
    """The outputs of a step in ppl's order: what is fed back, what is carried, what is collected, and the stop."""
    own, rows = found[:fed], found[fed : fed + collected]
    states = found[fed + collected : fed + collected + len(carried)]
    kept = [as_tensor(x) for x, start in zip(states, carried, strict=True) if start is not RANDOM]
    outputs = [*map(as_tensor, own), *kept, *map(as_tensor, rows)]
    return (outputs, {}, until(as_tensor(found[-1]))) if stops else outputs


class _Outer:
    """The inputs of a Scan, by their parts."""

    def __init__(self, at: Application) -> None:
        info, variables = at.op.info, at.variables
        cursor = 1
        take = lambda n: slice(cursor, cursor + n)
        part = take(info.n_seqs)
        self.sequences = [at.tensor(i) for i in range(part.start, part.stop)]
        cursor += info.n_seqs
        fed = len(info.mit_sot_in_slices) + len(info.sit_sot_in_slices)
        self.fed = variables[take(fed)]
        cursor += fed
        self.carried = at.values[take(info.n_untraced_sit_sot)]
        cursor += info.n_untraced_sit_sot + info.n_nit_sot  # the lengths of what is collected are those of the loop
        self.fixed = at.values[cursor:]
        steps = at.values[0]
        self.steps = steps if isinstance(steps, Tensor) else int(np.asarray(steps))


class _Fed:
    """An output that is fed back: its taps, and its values before the first step."""

    def __init__(self, at: Application, variable: Any, taps: Any) -> None:
        self.taps = tuple(taps)
        depth = -min(self.taps)
        start = _written_first(at, variable)
        if self.taps == (-1,):
            first = (
                at.reader.tensor(start)[0] if start is None or _row(start) is None else at.reader.tensor(_row(start))
            )
            self.info: Any = first
            self.before = expand_dims(first, 0)
        else:
            rows = at.reader.tensor(start if start is not None else variable)[:depth]
            self.info, self.before = {"initial": rows, "taps": list(self.taps)}, rows


def _written_first(at: Application, buffer: Any) -> Any:
    """What a buffer begins with: its entries are otherwise not set."""
    node = buffer.owner
    if (
        node is None
        or not is_a(node.op, "IncSubtensor")
        or not is_a(getattr(node.inputs[0].owner, "op", None), "AllocEmpty")
    ):
        return buffer
    inner = Application(at.reader, node, [at.reader.read(i) for i in node.inputs])
    index = index_of(inner, 2)
    return node.inputs[1] if isinstance(index[0], slice) and index[0].start in (None, 0) else buffer


def _row(variable: Any) -> Any:
    """The row that was made a matrix of one row; None where it was not."""
    node = variable.owner
    if node is None or not is_a(node.op, "DimShuffle"):
        return None
    ndim = node.inputs[0].type.ndim
    return node.inputs[0] if tuple(node.op.new_order) == ("x", *range(ndim)) else None
