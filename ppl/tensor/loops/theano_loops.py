"""Loops in Theano's form: sequences with taps, outputs fed back, updates of variables, `until`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.graph import substitute, topological
from ppl.tensor.arrays.indexing import getitem
from ppl.tensor.core.bodies import check_state, drawn_before, hoisted, is_number, like, listed, slice_like, start_of
from ppl.tensor.core.elementwise import minimum
from ppl.tensor.core.ops import cast_to
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.loops.branches import while_loop
from ppl.tensor.loops.loop import loop, names_of, with_rows
from ppl.tensor.tensor import CONSTANT, Tensor, as_tensor, constant, told
from ppl.tensor.variables import Variable


class until:  # noqa: N801  (Theano's name)
    """Returned by the function of a Theano scan: stop after the step where `condition` is true."""

    def __init__(self, condition: Any) -> None:
        self.condition = cast_to(as_tensor(condition), "bool")


def theano_scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    *,
    name: str | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """Theano's loop.

    With `until`, the steps are counted first, by a loop that keeps no rows; the outputs have that many rows, and a
    program is compiled for each number of them.
    """
    if truncate_gradient != -1:
        raise NotImplementedError("scan: truncate_gradient is not supported: gradients go through all steps")
    inputs = [_Sequence(x) for x in listed(sequences)]
    infos = [_Output(x, i) for i, x in enumerate(_as_infos(outputs_info))]
    outer = [as_tensor(x) for x in listed(non_sequences)]
    length = _number_of_steps(inputs, n_steps)
    series = [cut for each in inputs for cut in each.cuts(length)]
    series = [x[::-1] for x in series] if go_backwards else series
    traced = _Traced(fn, series, infos, outer)
    if any(info.retyped(y) for info, y in zip(infos, traced.outputs, strict=False)):
        traced = _Traced(fn, series, infos, outer)
    series += traced.draw_before(length)
    if strict:
        _check_strict(traced, outer)
    starts = [start for info in infos for start in info.starts()] + list(traced.updates)
    after = traced.after(infos)
    if traced.stop is not None:
        length = _steps_until(traced, after, starts, series, length)
        series = [x[:length] for x in series]
    step = [*after, *traced.outputs]
    said = isinstance(n_steps, Tensor) and traced.stop is None  # the program checks it against the sequences
    length = length if said or not series else None
    results = loop(traced.states, traced.entries, step, starts, series, length, False, traced.began)
    count = len(traced.states)
    outputs = results[count : count + len(traced.outputs)]
    if name is not None:
        for i, out in enumerate(outputs):
            out.name = name if len(outputs) == 1 else f"{name}_{i}"
    updates = dict(zip(traced.updates, results[count - len(traced.updates) : count], strict=True))
    shown: Any = outputs if return_list or len(outputs) > 1 else (outputs[0] if outputs else None)
    return (shown, updates) if return_updates else shown


def _steps_until(
    traced: _Traced, after: Sequence[Tensor], starts: Sequence[Tensor], series: Sequence[Tensor], length: Any
) -> Tensor:
    """How many steps are taken until the stop, the one that says so included."""

    def step(state: tuple[Tensor, ...]) -> list[Tensor]:
        count, _, *states = state
        entries = [getitem(x, count) for x in series]
        swap = dict(zip([*traced.states, *traced.entries], [*states, *entries], strict=True))
        *moved, stop = substitute([*after, traced.stop], swap)  # type: ignore[list-item]
        return [count + 1, stop, *moved]  # type: ignore[list-item]

    before = (constant(np.int64(0)), constant(np.bool_(False)), *starts)
    return while_loop(lambda state: (state[0] < length) & ~state[1], step, before)[0]


def _as_infos(outputs_info: Any) -> list[Any]:
    if outputs_info is None:
        return []
    return list(outputs_info) if isinstance(outputs_info, list | tuple) else [outputs_info]


class _Sequence:
    """A sequence with its taps: which entries, relative to the present one, a step sees."""

    def __init__(self, given: Any) -> None:
        if isinstance(given, Mapping):
            unknown = given.keys() - {"input", "taps"}
            if unknown or "input" not in given:
                raise ValueError(f"scan: a sequence is a tensor or dict(input=..., taps=[...]), got {dict(given)!r}")
            taps = given.get("taps", [0])
            self.taps = list(taps) if isinstance(taps, list | tuple | range) else [taps]
            given = given["input"]
        else:
            self.taps = [0]
        self.tensor = with_rows("scan", as_tensor(given))
        self.before, self.after = min(0, *self.taps, 0), max(0, *self.taps, 0)

    def steps(self) -> Any:
        """For how many steps all taps exist."""
        return shape_of(self.tensor)[0] - (self.after - self.before)

    def cuts(self, length: Any) -> list[Tensor]:
        """The sequence of each tap, as long as the loop."""
        results = []
        steps = self.steps()
        fits = steps is length or (isinstance(steps, int) and isinstance(length, int) and steps == length)
        for tap in self.taps:
            start = tap - self.before
            whole = start == 0 and self.after == self.before and fits
            results.append(self.tensor if whole else getitem(self.tensor, slice(start, start + length)))
        return results


def _number_of_steps(inputs: Sequence[_Sequence], n_steps: Any) -> Any:
    if n_steps is not None:
        if isinstance(n_steps, int) and n_steps < 0:
            raise ValueError(f"scan: n_steps cannot be negative, got {n_steps} (go_backwards=True runs the other way)")
        short = [s for s in inputs if isinstance(s.steps(), int) and isinstance(n_steps, int) and s.steps() < n_steps]
        if short:
            raise ValueError(
                f"scan: {n_steps} steps, but {short[0].tensor!r} is only long enough for {short[0].steps()}"
            )
        return n_steps
    if not inputs:
        raise ValueError("scan: without sequences, n_steps= is needed")
    length = inputs[0].steps()
    for other in inputs[1:]:
        n = other.steps()
        length = min(length, n) if isinstance(length, int) and isinstance(n, int) else (
            length if length is n else minimum(length, n))  # fmt: skip
    return length


class _Output:
    """What is known of one output: nothing, or where it starts and which earlier values a step sees."""

    def __init__(self, given: Any, position: int) -> None:
        self.position, self.given, self.taps = position, given, [-1]
        if isinstance(given, Mapping):
            unknown = given.keys() - {"initial", "taps"}
            if unknown:
                raise ValueError(
                    f"scan: outputs_info holds None, a start, or dict(initial=..., taps=[...]), got {dict(given)!r}"
                )
            taps = given.get("taps", [-1])
            self.taps = list(taps) if isinstance(taps, list | tuple | range) else [taps]
            self.given = given.get("initial")
            if any(tap >= 0 for tap in self.taps):
                raise ValueError(f"scan: taps of outputs are negative, they look back; got {self.taps}")
        self.fed_back = self.given is not None
        self.depth = -min(self.taps)
        self.start: Tensor | None = as_tensor(self.given) if self.fed_back else None
        if self.start is not None and self.depth > 1:
            count = self.start.type.shape[0] if self.start.ndim else 0
            if count is not None and count < self.depth:
                raise ValueError(
                    f"scan: taps {self.taps} look back {self.depth} steps, and {self.start!r} holds {count} starts"
                )

    def starts(self) -> list[Tensor]:
        """The states before the first step, the oldest first."""
        if self.start is None:
            return []
        stacked = self.depth > 1 or self.taps != [-1]
        return [self.start[i] for i in range(self.depth)] if stacked else [self.start]

    def seen(self, states: Sequence[Tensor]) -> list[Tensor]:
        """Which of the states a step is called with, in the order of the taps."""
        return [states[self.depth + tap] for tap in self.taps] if self.fed_back else []

    def retyped(self, result: Tensor) -> bool:
        """Give a start that is a Python number the dtype of the result; whether that changed it."""
        if not (self.fed_back and is_number(self.given)) or self.start is None or self.start.dtype == result.dtype:
            return False
        self.start = start_of(self.given, result)
        return True


class _Traced:
    """The function called on stand-ins, and what it returned."""

    def __init__(
        self, fn: Callable[..., Any], series: Sequence[Tensor], infos: Sequence[_Output], outer: Sequence[Tensor]
    ) -> None:
        self.entries = [slice_like(x) for x in series]
        self.histories = [[like(x) for x in info.starts()] for info in infos]
        seen = [x for info, states in zip(infos, self.histories, strict=True) for x in info.seen(states)]
        self.began = like(constant(np.bool_(False))).serial
        self.outputs, changes, self.stop = _understood(fn(*self.entries, *seen, *outer))
        if infos and len(infos) != len(self.outputs):
            raise ValueError(f"scan: outputs_info describes {len(infos)} outputs, a step returns {len(self.outputs)}")
        self.updates: dict[Variable, Tensor] = changes
        self.variable_states = [like(v) for v in changes]
        self.states = [x for states in self.histories for x in states] + self.variable_states
        self._replace_variables()

    def draw_before(self, steps: Any) -> list[Tensor]:
        """Draws that the step makes, made before the loop; their entries take their places."""
        everything = [*self.outputs, *self.updates.values(), *([self.stop] if self.stop is not None else [])]
        series, entries, changed = drawn_before([*self.states, *self.entries], everything, steps, self.began)
        self.entries += entries
        self._take(changed)
        return series

    def _replace_variables(self) -> None:
        """Inside the loop, a variable that is updated is a state."""
        if not self.updates:
            return
        swap = dict(zip(self.updates, self.variable_states, strict=True))
        everything = substitute(
            [*self.outputs, *self.updates.values(), *([self.stop] if self.stop is not None else [])], swap
        )
        self._take(everything)

    def _take(self, everything: Sequence[Any]) -> None:
        """Outputs, updates and the stop, in this order, in the place of those there are."""
        count = len(self.outputs)
        self.outputs = list(everything[:count])
        self.updates = dict(zip(self.updates, everything[count:], strict=False))
        self.stop = everything[-1] if self.stop is not None else None

    def after(self, infos: Sequence[_Output]) -> list[Tensor]:
        """The states after a step: the histories moved on by one, and the variables updated."""
        results: list[Tensor] = []
        for i, (info, states) in enumerate(zip(infos, self.histories, strict=True)):
            if not info.fed_back:
                continue
            start = info.start
            title = f'output {i} "{start.name}"' if start is not None and start.name else f"output {i} ({told(start)})"
            check_state("scan", [title], states[-1:], self.outputs[i : i + 1])
            results += [*states[1:], self.outputs[i]]
        check_state(
            "scan", names_of("the variable", list(self.updates)), self.variable_states, list(self.updates.values())
        )
        return results + list(self.updates.values())


def _understood(returned: Any) -> tuple[list[Tensor], dict[Variable, Tensor], Tensor | None]:
    """Outputs, updates and the stop, from whichever of them the function returned."""
    parts = list(returned) if isinstance(returned, tuple) else [returned]
    stop: Tensor | None = None
    changes: dict[Variable, Tensor] = {}
    if parts and isinstance(parts[-1], until):
        stop = parts.pop().condition
    if parts and _are_updates(parts[-1]):
        given = parts.pop()
        changes = {v: as_tensor(x) for v, x in (given.items() if isinstance(given, Mapping) else given)}
    outputs = parts[0] if len(parts) == 1 and isinstance(parts[0], list | tuple) else parts
    return [as_tensor(y) for y in outputs if y is not None], changes, stop


def _are_updates(part: Any) -> bool:
    if isinstance(part, Mapping):
        return True
    return isinstance(part, list) and len(part) > 0 and all(
        isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], Variable) for p in part)  # fmt: skip


def _check_strict(traced: _Traced, outer: Sequence[Tensor]) -> None:
    _, captured = hoisted([*traced.states, *traced.entries], traced.outputs, traced.began)
    given = set(outer)
    reached = topological(captured, blockers=given)
    foreign = [x for x in reached if not x.inputs and x not in given and x.op is not CONSTANT]
    if foreign:
        raise ValueError(
            f"scan(strict=True): the step uses {', '.join(map(repr, foreign))}, not among the non_sequences"
        )
