"""Many chains in one program: their arrays side by side, on one device or spread over all that JAX reports.

An *ensemble kernel* is a kernel whose arrays have one more axis, the first, for the chains: chains that know nothing
of each other are a kernel under ``vmap`` (``side_by_side``); chains that tune together are one by themselves
(``chees.py``). The program makes a number of steps that is known when a dispatch begins; a chain that has all the draws
it was asked for, or asks for the host, stands still for the rest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.samplers.programs.kernel import Data, Kernel
from ppl.samplers.programs.packing import Packed
from ppl.samplers.programs.programs import MARKS, MOST_ROWS, Chunk, Filling, Packs
from ppl.xla.later import Array, jax, jnp, lax, module

_sharding = module("jax.sharding")

ALL_BUFFERS = 256 << 20  # bytes
GROUP = 8  # chains of a mesh that move side by side, on however many devices: other numbers are rounded otherwise
STEPS = 64  # steps between two looks whether any chain still moves: a look costs a device a trip to the host


def side_by_side(kernel: Kernel) -> Kernel:
    """The ensemble kernel of chains that know nothing of each other."""
    return kernel._replace(step=jax.vmap(kernel.step, in_axes=(0, None, None, 0)))


def stacked(trees: Sequence[Any]) -> Any:
    """One tree of arrays with a first axis for the chains."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def one_of(tree: Any, chain: int) -> Any:
    """The part of one chain."""
    return jax.tree.map(lambda leaf: leaf[chain], tree)


def rows_for(chains: int, dim: int, itemsize: int) -> int:
    """How many draws of each chain fit a dispatch when its two buffers may take ``ALL_BUFFERS``."""
    return max(1, min(MOST_ROWS, ALL_BUFFERS // max(1, 2 * chains * dim * itemsize)))


def ensemble_program(kernel: Kernel, packs: Packs, rows: int) -> Callable[..., tuple[Packed, Chunk]]:
    """``advance(keys, plan, data, states, n, blocks)``: at most ``n[c]`` draws of chain c, in blocks of steps."""

    def advance(
        keys: Array, packed_plan: Packed, data: Data, packed: Packed, n: Array, blocks: Array
    ) -> tuple[Packed, Chunk]:
        plan, states = packs.plan.unpack(packed_plan), packs.state.unpack(packed)
        (chains, dim), dtype = states.position.shape, states.position.dtype
        none, marks = jnp.zeros(chains, jnp.int64), min(rows, MARKS)
        # One row more than can be filled: there goes what is no draw.
        vectors = jnp.zeros((chains, rows + 1, dim), dtype)
        filling = Filling(
            none, vectors, vectors, jnp.zeros((chains, rows + 1, len(kernel.stats))),
            jnp.zeros((chains, marks + 1, dim), dtype), jnp.zeros((chains, marks + 1), jnp.int64), none,
        )  # fmt: skip

        def moving(states: Any, filling: Filling) -> Array:
            return (filling.drawn < n) & ~states.attention

        def one(_: Array, carry: tuple[Any, Filling]) -> tuple[Any, Filling]:
            states, filling = carry
            moves = moving(states, filling)
            after, outcome = kernel.step(keys, plan, data, states)
            drew, marked = moves & outcome.counts, moves & outcome.marked & (filling.n_marks < marks)
            row, mark = jnp.where(drew, filling.drawn, rows), jnp.where(marked, filling.n_marks, marks)
            filling = filling._replace(
                drawn=filling.drawn + drew,
                positions=_put(filling.positions, row, outcome.position),
                gradients=_put(filling.gradients, row, outcome.gradient),
                stats=_put(filling.stats, row, outcome.stats),
                marks=_put(filling.marks, mark, outcome.mark),
                mark_rows=_put(filling.mark_rows, mark, filling.drawn),
                n_marks=filling.n_marks + marked,
            )
            still = lambda new, old: jnp.where(moves.reshape(-1, *[1] * (new.ndim - 1)), new, old)
            return jax.tree.map(still, after, states), filling

        def block(carry: tuple[Array, Any, Filling]) -> tuple[Array, Any, Filling]:
            done, states, filling = carry
            return done + 1, *lax.fori_loop(0, STEPS, one, (states, filling))

        def unfinished(carry: tuple[Array, Any, Filling]) -> Array:
            done, states, filling = carry
            return (done < blocks) & jnp.any(moving(states, filling))

        states = states._replace(attention=jnp.zeros(chains, bool))
        _, states, filling = lax.while_loop(unfinished, block, (jnp.zeros((), jnp.int64), states, filling))
        return packs.state.pack(states), filling.chunk(states.attention)

    return advance


def placed(tree: Any, chains: int) -> Any:
    """Arrays with a first axis for the chains, spread over the devices where their number allows it."""
    devices = jax.devices()
    if len(devices) == 1 or chains % len(devices):
        return jax.device_put(tree)
    return jax.device_put(
        tree,
        _sharding.NamedSharding(_sharding.Mesh(np.asarray(devices), ("chains",)), _sharding.PartitionSpec("chains")),
    )


def everywhere(tree: Any, chains: int) -> Any:
    """Arrays that every chain uses, on each device that has chains."""
    devices = jax.devices()
    if len(devices) == 1 or chains % len(devices):
        return jax.device_put(tree)
    return jax.device_put(
        tree, _sharding.NamedSharding(_sharding.Mesh(np.asarray(devices), ("chains",)), _sharding.PartitionSpec())
    )


def _put(buffers: Array, rows: Array, values: Array) -> Array:
    return buffers.at[jnp.arange(buffers.shape[0]), rows].set(values.astype(buffers.dtype))
