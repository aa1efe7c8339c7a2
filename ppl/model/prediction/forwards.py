"""Expressions drawn for many rows of keys and values, and the error where a parameter leaves no law to draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import ppl.tensor as tt
from ppl.compile.pure import missing_inputs
from ppl.distributions import is_draw
from ppl.distributions.draws.drawing import STREAMS, Expanded, expanded
from ppl.graph import Node, ancestors, topological
from ppl.model.bar import Bar
from ppl.model.errors import ParameterValueError
from ppl.model.log import log
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.tensor.linear_algebra.lifted import LEAST, MOST, cholesky_lifted
from ppl.tensor.sampling.draws import KEY_TYPE, key_fold_in
from ppl.tensor.sampling.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, placeholder
from ppl.tensor.variables import Variable

AT_ONCE = 1.1e8  # numbers, three nanoseconds each: sooner there than the first draws of a program are compiled


def drawn_over(
    outputs: Sequence[Tensor],
    given: Mapping[Node, Tensor],
    columns: Sequence[np.ndarray],
    shown: Bar | None = None,
    spare: bool = False,
) -> list[np.ndarray]:
    """Outputs drawn for every row: `columns` hold the keys and the values of the inputs that stand for `given`.

    With `spare`, rows for which a parameter is not finite, as the factor of a matrix that is not positive definite to
    rounding, are nan while others have their draws. A parameter outside its domain is always an error.
    """
    return Drawing(outputs, given)(columns, shown, spare)


class Drawing:
    """Outputs that are drawn for rows of keys and values, as often as it is called."""

    def __init__(self, outputs: Sequence[Tensor], given: Mapping[Node, Tensor]) -> None:
        self._outputs, self._key = outputs, placeholder(KEY_TYPE, "key")
        self._drawn = expanded(outputs, self._key, {**keys_of_streams(outputs, self._key, given), **given})
        self._inputs = list(given.values())
        self._lifts = _lifts([*self._drawn.outputs])
        self._keys = Subkeys([*self._drawn.outputs, *self._lifts, *self._drawn.sound], self._key)
        self._program = RowProgram([self._keys.input, *self._inputs], self._keys.outputs, least=AT_ONCE)
        needed = missing_inputs(self._program.inner)
        if needed:
            raise ValueError(f"no value for {', '.join(map(repr, needed))}, which the draws depend on")

    def __call__(
        self, columns: Sequence[np.ndarray], shown: Bar | None = None, spare: bool = False
    ) -> list[np.ndarray]:
        """Draws for each row, as `drawn_over` has them."""
        found = over_draws(self._program, [self._keys.of(columns[0]), *columns[1:]], shown=shown)
        count = len(self._drawn.outputs)
        lifts, found = found[count : count + len(self._lifts)], found[:count] + found[count + len(self._lifts) :]
        if lifts:
            _tell_of_lifts(self._outputs, lifts)
        if not self._drawn.conditions:
            return found
        *found, sound = found
        if not sound.all():
            _refuse(self._drawn, [self._key, *self._inputs], columns, sound, spare)
            rows = _rows(self._outputs, self._drawn, sound)
            found = [_without(value, mine) for value, mine in zip(found, rows, strict=True)]
        return found


def _lifts(outputs: Sequence[Tensor]) -> list[Tensor]:
    """For each covariance whose factor may be that of one with a larger diagonal, how much larger, as a part of the
    mean of the diagonal: what the squares of the factor add up to beyond it."""
    found = []
    for node in topological(outputs):
        if node.op is cholesky_lifted:
            diagonal = tt.mean(tt.diagonal_of(node.inputs[0]), axis=-1)
            found.append(tt.mean(tt.sum(node**2, axis=-1), axis=-1) / diagonal - 1.0)
    return found


def _tell_of_lifts(outputs: Sequence[Tensor], lifts: Sequence[np.ndarray]) -> None:
    """Say what was added to covariances that are not positive definite to rounding."""
    largest = np.max([np.nanmax(x, initial=0.0, axis=tuple(range(2, x.ndim))) for x in lifts], axis=0)
    rows = int(np.sum(largest > 0.5 * LEAST))
    if rows:
        laws = [n for n in topological(outputs) if is_draw(n) and any(p.op is cholesky_lifted for p in n.inputs)]
        names = ", ".join(f'"{law.name}"' for law in laws) or "a process"  # type: ignore[attr-defined]
        log.warning(
            "The covariance of %s is not positive definite to rounding at %d of %d draws: up to %.0e of the mean of its"
            " diagonal was added (%.0e at most, beyond which draws are nan).",
            names, rows, largest.size, largest.max(), MOST,
        )  # fmt: skip


def _rows(outputs: Sequence[Tensor], drawn: Expanded, sound: np.ndarray) -> list[np.ndarray]:
    """For each output, the rows in which a law that it depends on has no parameters."""
    found = []
    for output in outputs:
        behind = {node.attrs["identity"] for node in ancestors([output]) if is_draw(node)}
        mine = [place for place, (law, _) in enumerate(drawn.conditions) if law.attrs["identity"] in behind]
        found.append(~sound[..., mine].all(axis=-1))
    return found


def _without(value: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Values with nan in some rows; whole numbers become floats for it."""
    if not rows.any():
        return value
    value = value.astype(np.result_type(value.dtype, np.float64) if value.dtype.kind in "iub" else value.dtype)
    value[rows] = np.nan
    return value


def keys_of_streams(outputs: Sequence[Tensor], key: Tensor, given: Mapping[Node, Tensor]) -> dict[Node, Tensor]:
    """A key in place of each state of a random stream: every row draws anew, as every call of a function does."""
    behind = topological(outputs, blockers=given)
    updates = {node: node.default_update for node in behind if isinstance(node, Variable) and node not in given}
    states = sorted(
        (n for n, after in updates.items() if after is not None and after.op is key_fold_in), key=lambda n: n.serial
    )
    source = key_fold_in(key, STREAMS)
    return {state: key_fold_in(source, place) for place, state in enumerate(states)}


def _refuse(
    drawn: Expanded, inputs: list[Tensor], columns: Sequence[np.ndarray], sound: np.ndarray, spare: bool
) -> None:
    """Raise for the first law without draws; not, with `spare`, for one that lacks finite parameters in some rows."""
    for place in np.flatnonzero(~sound.all(axis=(0, 1))):
        chain, draw = np.argwhere(~sound[..., place])[0]
        row = [column[chain : chain + 1, draw : draw + 1] for column in columns]
        values_of = lambda wanted, row=row: [value[0, 0] for value in over_draws(RowProgram(inputs, wanted), row)]
        law = drawn.conditions[place][0]
        numbers = values_of([p for p in law.parameters if not is_draw(p) and p.dtype[0] == "f"])
        if spare and sound[..., place].any() and not all(np.all(np.isfinite(x)) for x in numbers):
            continue
        try:
            drawn.refuse(int(place), values_of)
        except ValueError as error:
            raise ParameterValueError(str(error)) from None
