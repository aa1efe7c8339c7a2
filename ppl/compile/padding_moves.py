"""What becomes of padding where entries change their places: slices, positions, pieces put together, loops.

All are the same move: the result's entries are taken at the places that they have among the real ones, and the last of
them is repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.compile.padding import (
    AtLeast,
    Derived,
    Length,
    Padded,
    Padding,
    array_of,
    lengths_of,
    real_places,
    refused,
    resized,
    rule,
)
from ppl.graph import Node
from ppl.tensor.arrays.creation import arange
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.arrays.shaping import CONCATENATE
from ppl.tensor.core.evaluate import lowered
from ppl.tensor.loops.loop import SCAN, run_scan
from ppl.xla.later import jnp
from ppl.xla.private import is_traced


# --- indexing
@rule(GETITEM)
def _getitem(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """One part of the brackets after the other; what is left of them then applies to axes without padding."""
    first, *rest = arguments
    x, numbers = first if isinstance(first, Padded) else Padded(first), iter(rest)
    plan = node.attrs["plan"]
    kinds = [part[0] for part in plan]
    if kinds.count("array") > 1 or ("array" in kinds and "int" in kinds):
        raise refused(node)
    left: list[tuple[Any, ...]] = []
    given: list[Any] = []
    lengths: dict[int, Length] = {}
    axis = at = 0
    for part in plan:
        values = [next(numbers) if n == "in" else n for n in part[1:]] if part[0] == "slice" else []
        if part[0] == "new":
            left.append(part)
            at += 1
            continue
        length = x.lengths.get(axis)
        if part[0] == "array":
            places = next(numbers)
            given.append(array_of(places) if length is None else _places(array_of(places), length))
            lengths |= {at + own: n for own, n in lengths_of(places).items()}
            left.append(part)
            at += jnp.ndim(array_of(places))
        elif part[0] == "int":
            if length is not None:
                place = part[1]
                padding.needs.add(AtLeast(place + 1 if place >= 0 else -place, length.size))
                x = x.taken(axis, jnp.atleast_1d(place if place >= 0 else length.value + place), None)
            left.append(part if length is None else ("int", 0))
        else:
            if length is not None and values != [None, None, None]:
                x, length = _sliced(node, x, axis, values)
            elif length is None and any(isinstance(n, Length) or is_traced(n) for n in values):
                raise refused(node, " by a size that is computed of its length")
            left.append(part if length is None else ("slice", None, None, None))
            given += [] if length is not None else [n for n, own in zip(values, part[1:], strict=True) if own == "in"]
            lengths |= {} if length is None else {at: length}
            at += 1
        axis += 1
    array = GETITEM.lower(x.array, *given, plan=tuple(left))
    return Padded(array, lengths) if lengths else array


def _places(places: Any, length: Length) -> Any:
    """Positions in the real axis as positions in the padded one; those outside stay outside."""
    wrapped = jnp.where(places < 0, places + length.value, places)
    return jnp.where((wrapped >= 0) & (wrapped < length.value), wrapped, length.padded)


def _sliced(node: Node, x: Padded, axis: int, numbers: list[Any]) -> tuple[Padded, Length]:
    """x[start:stop:step] along an axis, with numbers that are known or lengths themselves."""
    start, stop, step = [n if n is None or isinstance(n, Length) else _known(node, n) for n in numbers]
    length, step = x.lengths[axis], 1 if step is None else step
    if isinstance(step, Length):
        raise refused(node)
    n = length.value
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def end(number: Any, default: Any) -> Any:
        if number is None:
            return default
        number = array_of(number)
        return jnp.where(number < 0, jnp.maximum(number + n, low), jnp.minimum(number, high))

    first, last = end(start, 0 if step > 0 else n - 1), end(stop, n if step > 0 else -1)
    count = jnp.maximum(-((first - last) // step), 0)
    most = -(-length.padded // abs(step))
    if step > 0 and isinstance(stop, int) and stop >= 0:
        most = min(most, len(range(start if isinstance(start, int) and start >= 0 else 0, stop, step)))
    parts = tuple(e.size if isinstance(e, Length) else e for e in (start, stop))
    taken = Length(count, frozenset([Derived(_count, (length.size, *parts, step))]), most)
    return x.taken(axis, first + step * real_places(taken), taken), taken


def _count(length: int, start: int | None, stop: int | None, step: int) -> int:
    return len(range(*slice(start, stop, step).indices(length)))


def _known(node: Node, number: Any) -> int:
    if isinstance(number, Padded) or is_traced(number):
        raise refused(node, " by a slice whose ends are computed")
    return int(number)


@rule(arange)
def _arange(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """0, 1, ... up to a length."""
    start, stop, step = arguments
    if not isinstance(stop, Length) or any(
        isinstance(n, Length) or int(n) != want for n, want in ((start, 0), (step, 1))
    ):
        raise refused(node)
    padding.needs.add(AtLeast(0, stop.size))
    return Padded(real_places(stop).astype(node.attrs["dtype"]), {0: stop})


# --- pieces put together
@rule(CONCATENATE)
def _concatenate(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Along an axis, padded or not; on the others the lengths are equal."""
    along = node.attrs["axis"]
    lengths: dict[int, Length] = {}
    parts = [a if isinstance(a, Padded) else Padded(jnp.asarray(a)) for a in arguments]
    for axis in {axis for x in parts for axis in x.lengths} - {along}:
        if any(axis not in x.lengths for x in parts):
            raise refused(node, " with an array whose length is not padded")
        lengths[axis] = padding.joined(node, [x.lengths[axis] for x in parts], [], stretching=False)
        parts = [Padded(resized(x.array, axis, lengths[axis].padded), x.lengths) for x in parts]
    whole = Padded(node.op.lower(*[x.array for x in parts], axis=along), lengths)  # type: ignore[attr-defined]
    if not any(along in x.lengths for x in parts):
        return whole
    padded = [jnp.shape(x.array)[along] for x in parts]
    real = [x.lengths[along].value if along in x.lengths else n for x, n in zip(parts, padded, strict=True)]
    sizes = tuple(x.lengths[along].size if along in x.lengths else n for x, n in zip(parts, padded, strict=True))
    length = Length(sum(real), frozenset([Derived(_total, sizes)]), sum(padded))
    wanted = places = real_places(length)
    begin_real, begin_padded = 0, 0
    for n, n_padded in zip(real[:-1], padded[:-1], strict=True):
        begin_real, begin_padded = begin_real + n, begin_padded + n_padded
        places = jnp.where(wanted >= begin_real, wanted - begin_real + begin_padded, places)
    return whole.taken(along, places, length)


def _total(*lengths: int) -> int:
    return sum(lengths)


# --- loops
@rule(SCAN)
def _scan(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Steps for the real entries only: before the first and after the last of them the states stay as they are."""
    attrs = dict(node.attrs)
    states, sequences = attrs["states"], attrs["sequences"]
    starts, series, rest = arguments[:states], arguments[states : states + sequences], arguments[states + sequences :]
    counts, captured = (rest[:1], rest[1:]) if attrs["counted"] else ([], rest)
    inside = [*starts, *captured]
    if any(isinstance(a, Padded) for a in inside) or any(axis for x in series for axis in lengths_of(x)):
        raise refused(node, " that its steps would see whole")
    attrs["body"] = lowered(attrs["body"])
    steps = [*[x.lengths[0] for x in series if 0 in lengths_of(x)], *[n for n in counts if isinstance(n, Length)]]
    if not steps:
        return run_scan(*map(array_of, arguments), **attrs)
    if len(steps) < len(series) + len(counts) or attrs["length"] is not None:
        raise refused(node, " with a sequence, or a number of steps, whose length is not padded")
    length = padding.joined(node, steps, [], stretching=False)
    padding.needs.add(AtLeast(0, length.size))
    given = [*[resized(x.array, 0, length.padded) for x in series], *[np.int64(length.padded) for _ in counts]]
    results = run_scan(*map(array_of, starts), *given, *map(array_of, captured), within=length.value, **attrs)
    return (*results[:states], *[Padded(rows, {0: length}).repeating() for rows in results[states:]])
