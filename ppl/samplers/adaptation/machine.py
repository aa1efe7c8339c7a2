"""NUTS as a machine that makes one leapfrog a step, for many chains side by side.

Chains that are vectorized in lockstep wait in every loop for the chain with the longest trajectory. Here there is no
loop: a step of this kernel is one leapfrog, and whatever then has come to its end, a subtree, a trajectory, is closed
and the next one opened by selection (Dance et al. 2025). So each chain is in a trajectory of its own, no gradient is
wasted, and the number of steps of a dispatch is known beforehand. The parts are those of ``nuts.py``; draws are the
same as there up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.adaptation.warmup import FISHER, STATS, Call, Plan, State, learnt, next_call, plan, start, target_of
from ppl.samplers.kernels import nuts
from ppl.samplers.kernels.integrators import Integrator
from ppl.samplers.programs.kernel import Data, Kernel, LogDensity, Outcome
from ppl.samplers.programs.randomness import own_settings
from ppl.xla.later import Array, jax, jnp

ANY_PLAN = plan(0, 0.8, 1, 0.1, FISHER, ask_host=False)  # to learn shapes from


class Machine(NamedTuple):
    """A chain in the middle of a trajectory; before the first step, nothing but its state."""

    state: State
    call: Call
    trajectory: Any
    side: Any
    tree: Any
    running: Array  # False before a trajectory is planted
    attention: Array  # should the loop return to the host now?

    @property
    def position(self) -> Array:
        """Where the chain is."""
        return self.state.position

    @property
    def logp(self) -> Array:
        """The log-density there."""
        return self.state.logp

    @property
    def gradient(self) -> Array:
        """And its gradient."""
        return self.state.gradient


def machine(logp: LogDensity, integrator: Integrator, levels: int) -> Kernel:
    """NUTS that tunes itself, one leapfrog a step; diagonal metrics, without help of the host."""

    def planted(key: Array, plan: Plan, state: State, checkpoints: Any) -> Machine:
        call = next_call(key, plan, state)
        trajectory = nuts.planted(_trip(state, call))
        side, tree = nuts.opened(_trip(state, call), trajectory, checkpoints)
        return Machine(state, call, trajectory, side, tree, jnp.ones((), bool), jnp.zeros((), bool))

    def init(position: np.ndarray) -> Machine:
        state = start(position, 0)
        with own_settings():
            shapes = jax.eval_shape(
                lambda key: planted(key, ANY_PLAN, state, nuts.no_checkpoints(state.position, levels)),
                np.zeros(2, np.uint32),
            )
        empty = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        return empty._replace(state=state)

    def step(key: Array, plan: Plan, data: Data, machine: Machine) -> tuple[Machine, Outcome]:
        calm = machine.state._replace(attention=jnp.zeros((), bool))
        first = planted(key, plan, calm, machine.tree.checkpoints)
        state, call, trajectory, side, tree, _, _ = _either(machine.running, machine._replace(state=calm), first)
        trip = _trip(state, call)
        tree = nuts.add_leaf(target_of(logp, data), integrator, trip, side, turns_at, tree)
        closed = ~nuts.unfinished(side, tree)
        trajectory = _either(closed, nuts.joined(trip, trajectory, side, tree), trajectory)
        over = closed & ~nuts.growing(trip, trajectory)
        after, outcome = learnt(plan, state, call, *nuts.outcome(trip, trajectory))
        new_side, new_tree = nuts.opened(trip, trajectory, tree.checkpoints)
        going_on = Machine(
            _either(over, after, state),
            call,
            trajectory,
            _either(closed, new_side, side),
            _either(closed, new_tree, tree),
            running=~over,
            attention=over & after.attention,
        )
        return going_on, outcome._replace(counts=outcome.counts & over, marked=outcome.marked & over)

    return Kernel(init, step, STATS, lambda plan, state, window: state)


def _trip(state: State, call: Call) -> nuts.Trip:
    return nuts.Trip(state.metric, *call, nuts.energy_at(call.start))


def _either(condition: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def turns_at(checkpoints: Any, n: Array, rho: Array, previous: Array, p: Array) -> Array:
    """``nuts.TurnsAt`` of all levels at once, instead of level by level until one turns."""
    top = jax.lax.population_count(n >> 1)
    trailing_ones = jax.lax.population_count(n & ~(n + 1))
    slots = jnp.arange(1, checkpoints.first.shape[0])
    ends_here = (slots <= top) & (slots > top - trailing_ones + 1)
    first, before, last = checkpoints

    def at(slot: Array) -> Array:
        return nuts.join_turns(
            before[slot] - before[slot - 1], first[slot - 1], last[slot], rho - before[slot], first[slot], p
        )

    return nuts.turns(previous + p, previous, p) | jnp.any(ends_here & jax.vmap(at)(slots))
