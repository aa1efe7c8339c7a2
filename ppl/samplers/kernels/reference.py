r"""NUTS as it is taught: a recursion over trees. The compiled sampler is tested against it.

A trajectory is a binary tree; two neighboring stretches are *joined*: keep the outer ends, add the weights, remember
the momentum sum. It is written for reading, in NumPy, one leapfrog at a time, and is slow. Its randomness is handed in
as functions of what is decided, so that the compiled form can be asked to decide alike.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DIVERGENCE = 1000.0

Vector = np.ndarray
ValueAndGrad = Callable[[Vector], tuple[float, Vector]]


class Leaf(NamedTuple):
    """One point of a trajectory."""

    position: Vector
    momentum: Vector
    gradient: Vector
    logp: float
    offset: int  # signed number of steps from the start

    @property
    def energy(self) -> float:
        """H(x, p) = -log π(x) + p·p / 2."""
        return float(0.5 * self.momentum @ self.momentum - self.logp)


class Tree(NamedTuple):
    """A stretch of trajectory, from ``first`` to ``last`` in the order it was made."""

    first: Leaf
    last: Leaf
    rho: Vector  # sum of the momenta
    leaves: tuple[Leaf, ...]
    valid: bool  # no turn within, no divergence


class Decisions(NamedTuple):
    """The choices of a transition, as functions of where they are made."""

    to_right: Callable[[int], bool]  # depth
    leaf_uniform: Callable[[int], float]  # number of the leaf in the transition, from 1
    join_uniform: Callable[[int], float]  # depth


class Result(NamedTuple):
    """The chosen leaf and the facts that the compiled sampler reports."""

    draw: Leaf
    n_steps: int
    depth: int
    diverging: bool
    turning: bool
    acceptance: float


def turns(rho: Vector, first: Vector, last: Vector) -> bool:
    """Does a stretch with momentum sum ``rho`` turn at either end?"""
    return bool(rho @ first <= 0 or rho @ last <= 0)


def join(a: Tree, b: Tree) -> Tree:
    """Join neighboring stretches, A made before B."""
    rho = a.rho + b.rho
    turning = (
        turns(rho, a.first.momentum, b.last.momentum)
        or turns(a.rho + b.first.momentum, a.first.momentum, b.first.momentum)
        or turns(b.rho + a.last.momentum, a.last.momentum, b.last.momentum)
    )
    return Tree(a.first, b.last, rho, a.leaves + b.leaves, a.valid and b.valid and not turning)


def transition(target: ValueAndGrad, step_size: float, max_depth: int, start: Leaf, decisions: Decisions) -> Result:
    """One NUTS transition from ``start`` with the identity metric."""
    initial_energy = start.energy
    made: list[Leaf] = []

    def error(leaf: Leaf) -> float:
        value = leaf.energy - initial_energy
        return value if np.isfinite(value) else np.inf

    def leapfrog(leaf: Leaf, direction: int) -> Leaf:
        size = direction * step_size
        half = leaf.momentum + 0.5 * size * leaf.gradient
        position = leaf.position + size * half
        logp, gradient = target(position)
        return Leaf(position, half + 0.5 * size * gradient, gradient, logp, leaf.offset + direction)

    def grow(edge: Leaf, direction: int, depth: int) -> Tree:
        """2^depth new leaves beyond ``edge``, or fewer if they turn or diverge."""
        if depth == 0:
            leaf = leapfrog(edge, direction)
            made.append(leaf)
            return Tree(leaf, leaf, leaf.momentum, (leaf,), error(leaf) <= DIVERGENCE)
        near = grow(edge, direction, depth - 1)
        if not near.valid:
            return near
        far = grow(near.last, direction, depth - 1)
        if not far.valid:
            return Tree(near.first, far.last, near.rho + far.rho, near.leaves + far.leaves, False)
        return join(near, far)

    left = right = start
    rho, draw, log_weight, depth, turning, diverging = start.momentum, start, 0.0, 0, False, False
    while depth < max_depth and not turning and not diverging:
        to_right = decisions.to_right(depth)
        edge, other = (right, left) if to_right else (left, right)
        first_number = len(made) + 1
        new = grow(edge, 1 if to_right else -1, depth)
        diverging = error(made[-1]) > DIVERGENCE
        turning = not new.valid and not diverging
        if new.valid:
            candidate, new_weight = _choose(new.leaves, error, decisions.leaf_uniform, first_number)
            if np.log(decisions.join_uniform(depth)) < new_weight - log_weight:
                draw = candidate
            log_weight = np.logaddexp(log_weight, new_weight)
            whole = join(Tree(other, edge, rho, (), True), new)
            rho, turning = whole.rho, not whole.valid
            left, right = (left, new.last) if to_right else (new.last, right)
        depth += 1
    acceptance = float(np.mean([min(1.0, np.exp(-max(error(leaf), -700.0))) for leaf in made]))
    return Result(draw, len(made), depth, diverging, turning, acceptance)


def _choose(
    leaves: tuple[Leaf, ...], error: Callable[[Leaf], float], uniform: Callable[[int], float], first_number: int
) -> tuple[Leaf, float]:
    """A leaf with probability proportional to exp(-H), chosen as the leaves pass by one after the other."""
    chosen, log_weight = leaves[0], -np.inf
    for number, leaf in enumerate(leaves, start=first_number):
        log_weight = np.logaddexp(log_weight, -error(leaf))
        if np.log(uniform(number)) < -error(leaf) - log_weight:
            chosen = leaf
    return chosen, float(log_weight)
