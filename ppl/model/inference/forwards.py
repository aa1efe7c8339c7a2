"""Expressions drawn for many rows of keys and values, and the error where a parameter leaves no law to draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from ppl.compile.pure import missing_inputs
from ppl.distributions.drawing import STREAMS, Expanded, expanded
from ppl.graph import Node, topological
from ppl.model.errors import ParameterValueError
from ppl.model.inference.bar import Bar
from ppl.model.inference.draw_rows import RowProgram, over_draws
from ppl.tensor.draws import KEY_TYPE, key_fold_in
from ppl.tensor.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, placeholder
from ppl.tensor.variables import Variable


def drawn_over(
    outputs: Sequence[Tensor],
    given: Mapping[Node, Tensor],
    columns: Sequence[np.ndarray],
    shown: Bar | None = None,
) -> list[np.ndarray]:
    """Outputs drawn for every row: `columns` hold the keys and the values of the inputs that stand for `given`."""
    key = placeholder(KEY_TYPE, "key")
    drawn = expanded(outputs, key, {**keys_of_streams(outputs, key, given), **given})
    keys = Subkeys([*drawn.outputs, *drawn.sound], key)
    program = RowProgram([keys.input, *given.values()], keys.outputs)
    needed = missing_inputs(program.inner)
    if needed:
        raise ValueError(f"no value for {', '.join(map(repr, needed))}, which the draws depend on")
    found = over_draws(program, [keys.of(columns[0]), *columns[1:]], shown=shown)
    if drawn.conditions:
        *found, sound = found
        if not sound.all():
            _refuse(drawn, [key, *given.values()], columns, sound)
    return found


def keys_of_streams(outputs: Sequence[Tensor], key: Tensor, given: Mapping[Node, Tensor]) -> dict[Node, Tensor]:
    """A key in place of each state of a random stream: every row draws anew, as every call of a function does."""
    behind = topological(outputs, blockers=given)
    updates = {node: node.default_update for node in behind if isinstance(node, Variable) and node not in given}
    states = sorted(
        (n for n, after in updates.items() if after is not None and after.op is key_fold_in), key=lambda n: n.serial
    )
    source = key_fold_in(key, STREAMS)
    return {state: key_fold_in(source, place) for place, state in enumerate(states)}


def _refuse(drawn: Expanded, inputs: list[Tensor], columns: Sequence[np.ndarray], sound: np.ndarray) -> NoReturn:
    chain, draw, place = np.argwhere(~sound)[0]
    row = [column[chain : chain + 1, draw : draw + 1] for column in columns]
    values_of = lambda wanted: [value[0, 0] for value in over_draws(RowProgram(inputs, wanted), row)]
    try:
        drawn.refuse(place, values_of)
    except ValueError as error:
        raise ParameterValueError(str(error)) from None
