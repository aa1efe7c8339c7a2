"""Expressions drawn for many rows of keys and values, and the error where a parameter leaves no law to draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from ppl.compile.pure import Program, missing_inputs
from ppl.distributions.drawing import Expanded, expanded
from ppl.graph import Node
from ppl.model.errors import ParameterValueError
from ppl.model.inference.bar import Bar
from ppl.model.inference.draw_rows import over_draws
from ppl.tensor.draws import KEY_TYPE
from ppl.tensor.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, placeholder


def drawn_over(
    outputs: Sequence[Tensor],
    given: Mapping[Node, Tensor],
    columns: Sequence[np.ndarray],
    shown: Bar | None = None,
) -> list[np.ndarray]:
    """Outputs drawn for every row: `columns` hold the keys and the values of the inputs that stand for `given`."""
    key = placeholder(KEY_TYPE, "key")
    drawn = expanded(outputs, key, given)
    keys = Subkeys([*drawn.outputs, *drawn.sound], key)
    program = Program([keys.input, *given.values()], keys.outputs)
    needed = missing_inputs(program)
    if needed:
        raise ValueError(f"no value for {', '.join(map(repr, needed))}, which the draws depend on")
    found = over_draws(program, [keys.of(columns[0]), *columns[1:]], shown=shown)
    if drawn.conditions:
        *found, sound = found
        if not sound.all():
            _refuse(drawn, [key, *given.values()], columns, sound)
    return found


def _refuse(drawn: Expanded, inputs: list[Tensor], columns: Sequence[np.ndarray], sound: np.ndarray) -> NoReturn:
    chain, draw, place = np.argwhere(~sound)[0]
    row = [column[chain : chain + 1, draw : draw + 1] for column in columns]
    values_of = lambda wanted: [value[0, 0] for value in over_draws(Program(inputs, wanted), row)]
    try:
        drawn.refuse(place, values_of)
    except ValueError as error:
        raise ParameterValueError(str(error)) from None
