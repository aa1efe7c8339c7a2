"""Many small arrays as a few long ones: what a dispatch hands over costs by the array, not by the number.

A state of a sampler has some forty arrays, most of them single numbers. Between a program and the host they travel as
one vector for each dtype. Inside a program they are unpacked before the loop and packed after it, so that its steps
know nothing of this.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.xla.later import jax, jnp

Packed = tuple[Any, ...]  # one array a dtype; leading axes (of chains) are those of the tree's arrays


class _Slot(NamedTuple):
    """Where in its vector an array stands."""

    leaf: int
    shape: tuple[int, ...]
    begin: int
    end: int

    def flat(self, array: Any) -> Any:
        """The array as a part of the vector."""
        return array.reshape((*array.shape[: array.ndim - len(self.shape)], self.end - self.begin))


class Packing:
    """The layout of trees that look like ``example``."""

    def __init__(self, example: Any) -> None:
        leaves, self._structure = jax.tree.flatten(example)
        kinds = [leaf.dtype.str for leaf in leaves]
        self._vectors: list[list[_Slot]] = []
        for kind in sorted(set(kinds)):
            slots, end = [], 0
            for i, leaf in enumerate(leaves):
                if kinds[i] == kind:
                    slots.append(_Slot(i, leaf.shape, end, end + leaf.size))
                    end += leaf.size
            self._vectors.append(slots)
        self._count = len(leaves)

    def pack(self, tree: Any) -> Packed:
        """The tree's arrays in a few: NumPy's of NumPy's, JAX's of JAX's."""
        leaves = jax.tree.leaves(tree)
        together = np.concatenate if all(isinstance(leaf, np.ndarray | np.generic) for leaf in leaves) else _join
        return tuple(together([slot.flat(leaves[slot.leaf]) for slot in slots], axis=-1) for slots in self._vectors)

    def unpack(self, packed: Packed) -> Any:
        """The tree again."""
        leaves: list[Any] = [None] * self._count
        for vector, slots in zip(packed, self._vectors, strict=True):
            leading = vector.shape[:-1]
            for leaf, shape, begin, end in slots:
                leaves[leaf] = vector[..., begin:end].reshape(leading + shape)
        return jax.tree.unflatten(self._structure, leaves)


def on_host(packed: Packed) -> Packed:
    """The same as NumPy's arrays, without a copy where the device's memory is the host's."""
    return tuple(np.asarray(vector) for vector in packed)


def _join(parts: Sequence[Any], axis: int) -> Any:
    return jnp.concatenate(parts, axis)
