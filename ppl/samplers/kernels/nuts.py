r"""The No-U-Turn sampler as two nested loops that compile into one kernel.

Vocabulary. A *trajectory* is a stretch of leapfrog points around the start. It grows by *doublings*: a fair coin picks
a side, and a *subtree* of as many new *leaves* as the trajectory has points is added there. Growth stops when the
trajectory *turns*, that is, when its ends begin to approach each other, when a leaf *diverges*, or at the greatest
depth. The next draw is one of the trajectory's points, chosen with weight exp(-H) (Betancourt 2017, A.2-A.3).

Turning. For a stretch with momentum sum ρ and end momenta p, p' the stretch turns when ρ·p ≤ 0 or ρ·p' ≤ 0. A subtree
is valid only if no dyadic sub-stretch of it turns; and when two halves A, B are joined, the two stretches that reach
one point over the junction are tested as well (Stan's remedy against trajectories that resonate on nearly iid targets).

Recursion without recursion. Leaves of a subtree are numbered n = 0, 1, 2, ... in the order they are made. After an odd
leaf n, the dyadic stretches that end at n have 2, 4, ..., 2^t leaves, t the number of trailing ones of n. The stretch
of 2^l leaves consists of A, which began at leaf n+1-2^l, and B, which began at leaf n+1-2^(l-1). All that a test needs
was known when those stretches began, so each even leaf m stores at slot popcount(m / 2): its momentum, the momentum sum
before it, and the momentum of the leaf before it. Of the slots in use after n, the topmost belongs to leaf n-1, and
going one level up is going one slot down (the iterative form is Phan & Pradhan's, 2019; the third array is for the
junctions).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ppl.samplers.kernels.integrators import Integrator, Point, ValueAndGrad, step
from ppl.samplers.kernels.metrics import Metric, dot
from ppl.samplers.programs.randomness import mixed, uniform
from ppl.xla.later import Array, jnp, lax

DIVERGENCE = 1000.0  # an energy error beyond this is a diverging trajectory (Stan's threshold)

# Weights are exp(H₀ - H) themselves, not their logarithms: two exponentials and two logarithms less a leaf. A greater
# exponent than this counts as this, so that sums stay finite. From a draw of the target a point of
# such a weight has a probability below e⁻⁶⁰⁰.
HIGHEST = 600.0

# Counters of the decision hash: leaves take their own number, doublings a range far above any leaf.
SIDE, JOIN = 1 << 32, 1 << 33


class Draw(NamedTuple):
    """The point that a trajectory hands on: a position, and what is known there."""

    position: Array
    gradient: Array
    logp: Array
    error: Array  # H - H₀
    offset: Array  # signed number of steps from the start


class Info(NamedTuple):
    """What happened during a transition."""

    energy: Array
    energy_error: Array
    max_energy_error: Array
    acceptance: Array  # mean of min(1, exp(H₀ - H)) over all leaves
    symmetric_acceptance: Array  # mean of 2 min(1, e^δ) / (1 + e^δ), δ = H₀ - H
    n_steps: Array
    depth: Array
    offset: Array
    diverging: Array
    at_max_depth: Array
    last: Point  # the last leaf: where a divergence happened


class _Checkpoints(NamedTuple):
    """For each slot, facts of the even leaf that owns it: momentum, momentum sum before it, momentum before it."""

    first: Array
    before: Array
    previous: Array


# Does any dyadic stretch turn that ends at the odd leaf n? From checkpoints, n, momentum sum, last momentum, momentum.
TurnsAt = Callable[[_Checkpoints, Array, Array, Array, Array], Array]


class _Growth(NamedTuple):
    """Sums over all leaves of a transition."""

    leaves: Array
    acceptance: Array
    symmetric: Array
    worst: Array  # the energy error of largest magnitude


class _Subtree(NamedTuple):
    n: Array
    point: Point
    rho: Array
    checkpoints: _Checkpoints
    weight: Array  # sum of exp(H₀ - H) over its leaves
    draw: Draw
    growth: _Growth
    turning: Array
    diverging: Array


class _Trajectory(NamedTuple):
    depth: Array
    ends: Point  # arrays with one more axis, the first: left, right
    n_left: Array  # points on each side of the start
    n_right: Array
    rho: Array
    weight: Array
    draw: Draw
    growth: _Growth
    turning: Array
    diverging: Array
    last_is_right: Array


class _Side(NamedTuple):
    """Where a subtree grows."""

    to_right: Array
    step_size: Array  # negative to the left
    offset: Array  # of the trajectory's end there
    junction: Array  # the momentum there
    leaves: Array  # how many leaves a whole subtree has


class Trip(NamedTuple):
    """What a transition is given: how long its steps are, how far it may go, and its start."""

    metric: Metric
    step_size: Array
    max_depth: Array
    decisions: Array  # the word from which all random choices are hashed
    start: Point
    energy: Array  # H₀, the start's


def transition(
    target: ValueAndGrad,
    integrator: Integrator,
    levels: int,
    metric: Metric,
    step_size: Array,
    max_depth: Array,
    decisions: Array,
    start: Point,
    room: Any = (),
) -> tuple[Draw, Info, Any]:
    """One NUTS transition from ``start``, whose momentum has just been refreshed.

    ``levels`` bounds the depth when the program is compiled (memory is 3 * levels * dim numbers); ``max_depth`` bounds
    it when it runs. ``decisions`` is the word from which all random choices are hashed. ``room`` is what the
    transition before it returned last: memory for checkpoints.
    """
    trip = Trip(metric, step_size, max_depth, decisions, start, energy_at(start))

    def double(carry: tuple[_Trajectory, _Checkpoints]) -> tuple[_Trajectory, _Checkpoints]:
        trajectory, checkpoints = carry
        side, tree = opened(trip, trajectory, checkpoints)
        tree = lax.while_loop(
            partial(unfinished, side), partial(add_leaf, target, integrator, trip, side, _turns_at), tree
        )
        return joined(trip, trajectory, side, tree), tree.checkpoints

    checkpoints = room or no_checkpoints(start.position, levels)
    end, checkpoints = lax.while_loop(lambda carry: growing(trip, carry[0]), double, (planted(trip), checkpoints))
    return *outcome(trip, end), checkpoints if room else ()


def planted(trip: Trip) -> _Trajectory:
    """The trajectory of the start alone."""
    start = trip.start
    zero, none, false = jnp.zeros((), jnp.float64), jnp.zeros((), jnp.int64), jnp.zeros((), bool)
    return _Trajectory(
        depth=none,
        ends=Point(*(jnp.stack([part, part]) for part in start)),
        n_left=none,
        n_right=none,
        rho=start.momentum,
        weight=jnp.ones((), jnp.float64),
        draw=Draw(start.position, start.gradient, start.logp, zero, none),
        growth=_Growth(none, zero, zero, zero),
        turning=false,
        diverging=false,
        last_is_right=false,
    )


def no_checkpoints(position: Array, levels: int) -> _Checkpoints:
    """Room for checkpoints; nobody clears it, since slots are written before they are read."""
    return _Checkpoints(*[jnp.zeros((max(levels, 1), position.shape[0]), position.dtype)] * 3)


def growing(trip: Trip, trajectory: _Trajectory) -> Array:
    """Shall the trajectory be doubled once more?"""
    return (trajectory.depth < trip.max_depth) & ~trajectory.turning & ~trajectory.diverging


def opened(trip: Trip, trajectory: _Trajectory, checkpoints: _Checkpoints) -> tuple[_Side, _Subtree]:
    """Choose a side, and begin a subtree there."""
    depth = trajectory.depth
    to_right = mixed(trip.decisions, depth + SIDE) >> jnp.uint64(63) == 1
    edge = _end(trajectory.ends, to_right)
    side = _Side(
        to_right=to_right,
        step_size=jnp.where(to_right, trip.step_size, -trip.step_size),
        offset=jnp.where(to_right, trajectory.n_right, -trajectory.n_left),
        junction=edge.momentum,
        leaves=jnp.left_shift(1, depth),
    )
    false = jnp.zeros((), bool)
    return side, _Subtree(
        n=jnp.zeros((), jnp.int64),
        point=edge,
        rho=jnp.zeros_like(trajectory.rho),
        checkpoints=checkpoints,
        weight=jnp.zeros((), jnp.float64),
        draw=trajectory.draw,
        growth=trajectory.growth,
        turning=false,
        diverging=false,
    )


def unfinished(side: _Side, tree: _Subtree) -> Array:
    """Shall the subtree get another leaf?"""
    return (tree.n < side.leaves) & ~tree.turning & ~tree.diverging


def add_leaf(
    target: ValueAndGrad, integrator: Integrator, trip: Trip, side: _Side, turns_at: TurnsAt, tree: _Subtree
) -> _Subtree:
    """The subtree with one leapfrog more."""
    n, before, previous = tree.n, tree.rho, tree.point.momentum
    point = step(target, integrator, trip.metric, side.step_size, tree.point)
    p = point.momentum
    error = 0.5 * dot(p, p) - point.logp - trip.energy
    error = jnp.where(jnp.isfinite(error), error, jnp.inf)
    ratio = jnp.exp(jnp.minimum(-error, HIGHEST))
    growth = _count(tree.growth, error, ratio)

    weight = tree.weight + ratio
    take = uniform(trip.decisions, growth.leaves) * weight < ratio
    offset = side.offset + jnp.where(side.to_right, 1, -1) * (n + 1)
    here = Draw(point.position, point.gradient, point.logp, error, offset)
    draw = lax.cond(take, lambda: here, lambda: tree.draw)

    even = (n & 1) == 0
    top = lax.population_count(n >> 1)
    checkpoints = lax.cond(
        even, lambda c: _store(c, top, _Checkpoints(p, before, previous)), lambda c: c, tree.checkpoints
    )
    rho = before + p
    turning = lax.cond(even, lambda: jnp.zeros((), bool), lambda: turns_at(checkpoints, n, rho, previous, p))
    return _Subtree(n + 1, point, rho, checkpoints, weight, draw, growth, turning, error > DIVERGENCE)


def energy_at(start: Point) -> Array:
    """H(x, p) = -log π(x) + p·p / 2."""
    return 0.5 * dot(start.momentum, start.momentum) - start.logp


def outcome(trip: Trip, end: _Trajectory) -> tuple[Draw, Info]:
    """The draw of a trajectory that has grown, and what happened."""
    draw, growth = end.draw, end.growth
    leaves = jnp.maximum(growth.leaves, 1)
    info = Info(
        energy=trip.energy + draw.error,
        energy_error=draw.error,
        max_energy_error=growth.worst,
        acceptance=growth.acceptance / leaves,
        symmetric_acceptance=growth.symmetric / leaves,
        n_steps=growth.leaves,
        depth=end.depth,
        offset=draw.offset,
        diverging=end.diverging,
        at_max_depth=(end.depth >= trip.max_depth) & ~end.turning & ~end.diverging,
        last=_end(end.ends, end.last_is_right),
    )
    return draw, info


def turns(rho: Array, p_first: Array, p_last: Array) -> Array:
    """Does a stretch with momentum sum ``rho`` and these end momenta turn?"""
    return (dot(rho, p_first) <= 0) | (dot(rho, p_last) <= 0)


def join_turns(rho_a: Array, a_first: Array, a_last: Array, rho_b: Array, b_first: Array, b_last: Array) -> Array:
    """Does the join of neighboring stretches A and B turn, or either of them with one point of the other?"""
    return (
        turns(rho_a + rho_b, a_first, b_last)
        | turns(rho_a + b_first, a_first, b_first)
        | turns(rho_b + a_last, a_last, b_last)
    )


def _turns_at(checkpoints: _Checkpoints, n: Array, rho: Array, previous: Array, p: Array) -> Array:
    """Does any dyadic stretch that ends at the odd leaf ``n`` turn?"""
    top = lax.population_count(n >> 1)
    trailing_ones = lax.population_count(n & ~(n + 1))
    pair = turns(previous + p, previous, p)  # two single leaves: the junction tests say nothing new

    def at_level(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        level, _ = carry
        b = top - (level - 2)
        a = b - 1
        before_a, before_b = _row(checkpoints.before, a), _row(checkpoints.before, b)
        turning = join_turns(
            before_b - before_a,
            _row(checkpoints.first, a),
            _row(checkpoints.previous, b),
            rho - before_b,
            _row(checkpoints.first, b),
            p,
        )
        return level + 1, turning

    _, turning = lax.while_loop(lambda c: (c[0] <= trailing_ones) & ~c[1], at_level, (jnp.full((), 2, n.dtype), pair))
    return turning


def joined(trip: Trip, old: _Trajectory, side: _Side, new: _Subtree) -> _Trajectory:
    """Join a finished subtree to the trajectory; an invalid one leaves only its traces in the sums."""
    to_right, valid = side.to_right, ~new.turning & ~new.diverging
    # Biased progressive choice: the new half is taken with probability min(1, W_new / W_old).
    u = uniform(trip.decisions, old.depth + JOIN)
    take = valid & (u * old.weight < new.weight)
    p_first, p_last = _row(new.checkpoints.first, 0), new.point.momentum
    far = _row(old.ends.momentum, _index(~to_right))
    turning = join_turns(old.rho, far, side.junction, new.rho, p_first, p_last)
    return _Trajectory(
        depth=old.depth + 1,
        ends=Point(
            *(
                lax.dynamic_update_index_in_dim(both, part, _index(to_right), 0)
                for both, part in zip(old.ends, new.point, strict=True)
            )
        ),
        n_left=old.n_left + jnp.where(to_right, 0, new.n),
        n_right=old.n_right + jnp.where(to_right, new.n, 0),
        rho=old.rho + new.rho,
        weight=old.weight + new.weight,
        draw=_choose(take, new.draw, old.draw),
        growth=new.growth,
        turning=new.turning | turning,
        diverging=new.diverging,
        last_is_right=to_right,
    )


def _count(growth: _Growth, error: Array, ratio: Array) -> _Growth:
    accepted = jnp.minimum(1.0, ratio)
    return _Growth(
        leaves=growth.leaves + 1,
        acceptance=growth.acceptance + accepted,
        symmetric=growth.symmetric + 2 * accepted / (1 + ratio),
        worst=jnp.where(jnp.abs(error) > jnp.abs(growth.worst), error, growth.worst),
    )


def _store(checkpoints: _Checkpoints, slot: Array, leaf: _Checkpoints) -> _Checkpoints:
    return _Checkpoints(
        *(
            lax.dynamic_update_slice(rows, row[None], (slot, slot * 0))
            for rows, row in zip(checkpoints, leaf, strict=True)
        )
    )


def _end(ends: Point, right: Array) -> Point:
    """One end of a trajectory; taken by its index, because a selection would read and write both."""
    return Point(*(_row(both, _index(right)) for both in ends))


def _index(right: Array) -> Array:
    return right.astype(jnp.int32)


def _row(rows: Array, slot: Array | int) -> Array:
    return lax.dynamic_index_in_dim(rows, slot, keepdims=False)


def _choose(condition: Array, yes, no):  # type: ignore[no-untyped-def]
    """``yes`` or ``no``, leaf by leaf."""
    return type(yes)(*(jnp.where(condition, a, b) for a, b in zip(yes, no, strict=True)))
