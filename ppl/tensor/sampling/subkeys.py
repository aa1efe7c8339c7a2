"""Work that depends on a draw's key alone, taken out of programs that run for many draws.

A variable's key is that of the draw, changed by the numbers of its name. In a program each such change takes the
compiler a twentieth of a second, and so do the random words of a draw of few entries; for all draws at once NumPy makes
both in a fraction of that, and to the same bits. What becomes of the words is compiled once for all draws of a kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from ppl.graph import Node, substitute, topological
from ppl.tensor.sampling.draws import KEY_TYPE, OF_ONE_WORD, key_fold_in, of_words
from ppl.tensor.tensor import Tensor, TensorType, is_constant, placeholder, value_of
from ppl.xla import threefry

FEW = 16  # entries of a draw: the words of more take NumPy longer than the compiler, where there are many draws


class Subkeys:
    """Expressions of a key as `outputs` over another `input`, whose rows are the keys that they make of it, and the
    random words of draws of few entries."""

    def __init__(self, outputs: Sequence[Tensor], key: Tensor) -> None:
        order = topological(outputs)
        self._made: dict[Node, tuple[Node, int] | None] = {key: None}  # the key each is made of, and by which number
        for node in order:
            if node.op is key_fold_in and node.inputs[0] in self._made and is_constant(node.inputs[1]):
                self._made[node] = node.inputs[0], int(value_of(node.inputs[1]))
        small = [node for node in order if _is_small(node) and node.inputs[0] in self._made]
        self._small = {node: math.prod(node.type.shape) for node in sorted(small, key=_kind)}
        inner = self._made.keys() | self._small.keys()
        ends = [parent for node in order if node not in inner for parent in node.inputs]
        self._rows = list(dict.fromkeys(node for node in (*ends, *outputs) if node in self._made))
        count = len(self._rows) + sum(self._small.values())
        self.input = placeholder(TensorType(KEY_TYPE.dtype, (count, 2)), "keys")
        found = {node: self.input[i] for i, node in enumerate(self._rows)}
        self.outputs = substitute(outputs, found | self._draws())

    def _draws(self) -> dict[Node, Tensor]:
        """The small draws, those of a law and a shape as the rows of an array."""
        found: dict[Node, Tensor] = {}
        words = len(self._rows)
        for (law, shape), nodes in groupby(self._small, _kind):
            alike = list(nodes)
            count = len(alike) * math.prod(shape)
            rows = of_words(self.input[words : words + count], law=law).reshape((len(alike), *shape))
            words += count
            found |= {node: rows[i] for i, node in enumerate(alike)}
        return found

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The values of `input` for keys along leading axes: (..., 2) gives (..., rows, 2)."""
        known: dict[Node, np.ndarray] = {}
        for node, source in self._made.items():
            known[node] = keys if source is None else threefry.folded(known[source[0]], source[1])
        rows = [known[node][..., None, :] for node in self._rows]
        for node, size in self._small.items():  # a word is a key's change by the place of its entry
            rows.append(threefry.folded(known[node.inputs[0]][..., None, :], np.arange(size)))
        return np.concatenate(rows, axis=-2) if rows else np.empty((*keys.shape[:-1], 0, 2), keys.dtype)


def _kind(draw: Node) -> tuple[str, tuple[int, ...]]:
    return draw.op.name, draw.type.shape


def _is_small(node: Node) -> bool:
    drawn = node.op in OF_ONE_WORD and node.type.dtype == "float64"
    return drawn and None not in node.type.shape and 0 < math.prod(node.type.shape) <= FEW
