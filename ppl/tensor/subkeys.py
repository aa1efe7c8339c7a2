"""Work that depends on a draw's key alone, taken out of programs that run for many draws.

A variable's key is that of the draw, changed by the numbers of its name. In a program each such change takes the
compiler a twentieth of a second; for all draws at once NumPy makes it in a fraction of that, and to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppl.graph import Node, substitute, topological
from ppl.tensor.draws import KEY_TYPE, key_fold_in
from ppl.tensor.tensor import Tensor, TensorType, is_constant, placeholder, value_of
from ppl.xla import threefry


class Subkeys:
    """Expressions of a key as `outputs` over another `input`: the keys that they make of it, as rows of an array."""

    def __init__(self, outputs: Sequence[Tensor], key: Tensor) -> None:
        order = topological(outputs)
        self._made: dict[Node, tuple[Node, int] | None] = {key: None}  # the key each is made of, and by which number
        for node in order:
            if node.op is key_fold_in and node.inputs[0] in self._made and is_constant(node.inputs[1]):
                self._made[node] = node.inputs[0], int(value_of(node.inputs[1]))
        ends = [parent for node in order if node not in self._made for parent in node.inputs]
        self._rows = list(dict.fromkeys(node for node in (*ends, *outputs) if node in self._made))
        self.input = placeholder(TensorType(KEY_TYPE.dtype, (len(self._rows), 2)), "keys")
        self.outputs = substitute(outputs, {node: self.input[i] for i, node in enumerate(self._rows)})

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The values of `input` for keys along leading axes: (..., 2) gives (..., rows, 2)."""
        known: dict[Node, np.ndarray] = {}
        for node, source in self._made.items():
            known[node] = keys if source is None else threefry.folded(known[source[0]], source[1])
        rows = [known[node] for node in self._rows]
        return np.stack(rows, axis=-2) if rows else np.empty((*keys.shape[:-1], 0, 2), keys.dtype)
