r"""ChEES-HMC: chains that find the length of their trajectories, their step size and their metric together.

All chains make trajectories of the same length at the same time, so on a device that computes in parallel none waits
for another. The length is drawn anew for every step, from 0 to T, and T climbs the criterion (Hoffman, Radul &
Sountsov 2021, eqs. 8-13)

.. math:: \tfrac14 E\big(‖y' - E y'‖^2 - ‖y - E y‖^2\big)^2,

the change of the squared distance from the center, in whitened space. For a trajectory of length t that ends at y'
with momentum p' its derivative is t (‖y' - Ey'‖² - ‖y - Ey‖²) (y' - Ey')·p', averaged over chains by acceptance.
The step size follows the mean acceptance of all chains by dual averaging, and the metric is the diagonal of their
pooled variances over windows that double. After the warm-up everything stands still, and each chain is plain HMC.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl.samplers.adaptation.moments import scale_from_gradient
from ppl.samplers.adaptation.step_size import DualAverage, advance, averaging_from
from ppl.samplers.adaptation.warmup import FROZEN, LOWEST, STATS, Plan, target_of
from ppl.samplers.kernels.hmc import ACCEPT
from ppl.samplers.kernels.integrators import Integrator, Point, at, step
from ppl.samplers.kernels.metrics import Metric, dot
from ppl.samplers.kernels.nuts import DIVERGENCE
from ppl.samplers.programs.kernel import Data, Kernel, LogDensity, Outcome, on_host
from ppl.samplers.programs.randomness import fold, normals, uniform, word
from ppl.xla.later import Array, jax, jnp, lax

LEAST_CHAINS = 8  # fewer tell too little of the spread of the target
GOLDEN = 0.6180339887498949  # multiples of the golden ratio, modulo 1, fill the interval evenly
RATE, FORGET, SETTLE = 0.025, 0.95, 0.6  # of Adam without momentum, and of the average of its path
FIRST_WINDOW = 10


class Shared(NamedTuple):
    """What all chains have in common; each holds a copy."""

    average: DualAverage
    scale: Array
    log_length: Array  # of T, and its average
    log_length_bar: Array
    square: Array  # Adam's average of squared derivatives
    seen: Array  # draws since the window began, their mean and squared deviations
    mean: Array
    deviation: Array
    window: Array


class Walker(NamedTuple):
    """A chain of the ensemble."""

    draw: Array
    position: Array
    gradient: Array
    logp: Array
    evaluated: Array
    attention: Array
    shared: Shared


def chees(logp: LogDensity, integrator: Integrator) -> Kernel:
    """The ensemble kernel: its ``init`` makes one chain, its ``step`` moves all."""

    def init(position: np.ndarray) -> Walker:
        dim, dtype = position.shape[0], position.dtype
        none, no, zero = on_host(0, np.int64), on_host(False, np.bool_), on_host(0.0, np.float64)
        zeros = on_host(np.zeros(dim), dtype)
        shared = Shared(
            DualAverage(zero, zero, zero, zero, zero), on_host(np.ones(dim), dtype), zero, zero, zero, none, zeros,
            zeros, on_host(FIRST_WINDOW, np.int64),
        )  # fmt: skip
        return Walker(none, on_host(position, dtype), zeros, on_host(LOWEST, np.float64), no, no, shared)

    def move(keys: Array, plan: Plan, data: Data, walkers: Walker) -> tuple[Walker, Outcome]:
        shared: Shared = jax.tree.map(lambda leaf: leaf[0], walkers.shared)
        draw, evaluated = walkers.draw[0], walkers.evaluated[0]
        tuning = draw < plan.tune
        size = jnp.exp(jnp.where(tuning, shared.average.log_step, shared.average.log_bar))
        depth = jnp.where(draw < plan.early_end, plan.early_max_depth, plan.max_depth)
        length = jnp.mod(GOLDEN * (draw + 1), 1.0) * jnp.exp(
            jnp.where(tuning, shared.log_length, shared.log_length_bar)
        )
        most = jnp.left_shift(1, depth) - 1
        n_steps = jnp.where(evaluated, jnp.clip(jnp.ceil(length / size), 1, most).astype(jnp.int64), 1)
        size = jnp.where(evaluated, size, 0.0)  # at first a step of no length, always taken, to know the start

        metric = Metric(shared.scale, jnp.zeros((0, shared.scale.size)), jnp.zeros(0), jnp.zeros((), jnp.int32))
        draw_keys = jax.vmap(fold, in_axes=(0, None))(keys, draw)
        momentum = jax.vmap(lambda key: normals(key, shared.scale.size, shared.scale.dtype))(draw_keys)
        begin = jax.vmap(lambda x, p, g, value: at(metric, x, p, g, value))(
            walkers.position, momentum, walkers.gradient, walkers.logp
        )
        further = jax.vmap(lambda point: step(target_of(logp, data), integrator, metric, size, point))

        def on(_: Array, carry: tuple[Point, Array, Array]) -> tuple[Point, Array, Array]:
            points, place, whole = carry
            points = further(points)
            place = jnp.where(whole[:, None], points.position, place)
            return points, place, whole & jnp.isfinite(points.logp + jnp.sum(points.momentum, axis=1))

        everywhere = jnp.ones(begin.logp.shape, bool)  # is a trajectory finite so far?
        end, place, _ = lax.fori_loop(0, n_steps, on, (begin, begin.position, everywhere))

        energy = _energies(begin)
        error = _energies(end) - energy
        error = jnp.where(jnp.isfinite(error), error, jnp.inf)
        diverging = error > DIVERGENCE
        acceptance = jnp.where(diverging, 0.0, jnp.minimum(1.0, jnp.exp(-error)))
        u = jax.vmap(lambda key: uniform(word(key), jnp.asarray(ACCEPT)))(draw_keys)
        accept = (~diverging & (u < acceptance)) | ~evaluated
        choose = lambda new, old: jnp.where(accept.reshape(-1, *[1] * (new.ndim - 1)), new, old)
        position, gradient = choose(end.position, begin.position), choose(end.gradient, begin.gradient)
        value = choose(end.logp, begin.logp)

        learnt = lax.cond(
            evaluated,
            lambda: _learnt(plan, shared, draw + 1, begin, end, position, acceptance, n_steps * size),
            lambda: _begun(plan, shared, gradient),
        )
        kept = jax.tree.map(lambda new, old: jnp.where(tuning | ~evaluated, new, old), learnt, shared)
        chains = accept.shape[0]
        each = lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape))
        after = Walker(
            draw=walkers.draw + evaluated,
            position=position,
            gradient=gradient,
            logp=value,
            evaluated=jnp.ones(chains, bool),
            attention=each(~evaluated),
            shared=jax.tree.map(each, kept),
        )
        error_kept, offset = jnp.where(accept, error, 0.0), jnp.where(accept, n_steps, 0)
        stats = [
            value, energy + error_kept, error_kept, error, acceptance, each(size),
            each(jnp.exp(kept.average.log_bar)), each(n_steps), each(0 * n_steps), offset, diverging,
            each(n_steps == most),
        ]  # fmt: skip
        return after, Outcome(
            position, gradient, jnp.stack([s.astype(jnp.float64) for s in stats], axis=1), place,
            diverging & evaluated, each(evaluated),
        )  # fmt: skip

    return Kernel(init, move, STATS, lambda plan, state, window: state, coupled=True)


def _begun(plan: Plan, shared: Shared, gradients: Array) -> Shared:
    """The starts are known: a first metric from the size of their gradients."""
    size = jnp.mean(jnp.abs(jnp.where(jnp.isfinite(gradients), gradients, 0.0)), axis=0)
    scale = jnp.where(plan.estimator == FROZEN, shared.scale, scale_from_gradient(size))
    return shared._replace(average=averaging_from(plan.first_step), scale=scale)


def _learnt(
    plan: Plan, shared: Shared, draw: Array, begin: Point, end: Point, drawn: Array, acceptance: Array, length: Array
) -> Shared:
    """What the ensemble has learnt from its ``draw``-th trajectories."""
    average = advance(shared.average, jnp.mean(acceptance), plan.target_accept)
    slope = _slope(begin.position / shared.scale, end.position / shared.scale, end.momentum, acceptance, length)
    square = FORGET * shared.square + (1 - FORGET) * slope**2
    unbiased = square / (1 - FORGET ** draw.astype(jnp.float64))
    shortest = average.log_step
    log_length = jnp.clip(
        shared.log_length + RATE * slope / jnp.sqrt(unbiased + 1e-20), shortest, shortest + jnp.log(1000.0)
    )
    share = draw.astype(jnp.float64) ** -SETTLE
    shared = shared._replace(
        average=average,
        square=square,
        log_length=log_length,
        log_length_bar=share * log_length + (1 - share) * shared.log_length_bar,
    )
    learning = (draw <= plan.late_from) & (plan.estimator != FROZEN)
    return lax.cond(learning, lambda: _rescaled(shared, drawn), lambda: shared)


def _slope(start: Array, end: Array, momentum: Array, acceptance: Array, length: Array) -> Array:
    """The derivative of the criterion by log T."""
    whole = jnp.all(jnp.isfinite(end), axis=1) & jnp.all(jnp.isfinite(momentum), axis=1)
    weight = jnp.where(whole, acceptance, 0.0)
    total = jnp.maximum(jnp.sum(weight), 1e-20)
    end, momentum = jnp.where(whole[:, None], end, 0.0), jnp.where(whole[:, None], momentum, 0.0)
    from_start = start - jnp.mean(start, axis=0)
    from_end = end - jnp.sum(weight[:, None] * end, axis=0) / total
    change = jnp.sum(from_end**2, axis=1) - jnp.sum(from_start**2, axis=1)
    return jnp.sum(weight * length * change * jnp.sum(from_end * momentum, axis=1)) / total


def _rescaled(shared: Shared, drawn: Array) -> Shared:
    """The draws of all chains taken into the window; at its end they give the scale, and the next one begins."""
    chains = drawn.shape[0]
    mean, count = jnp.mean(drawn, axis=0), shared.seen + 1
    # Chan, Golub & LeVeque (1983): squared deviations of two groups together, each draw a group of all chains.
    moved = mean - shared.mean
    deviation = shared.deviation + jnp.sum((drawn - mean) ** 2, axis=0) + moved**2 * chains * shared.seen / count
    mean = shared.mean + moved / count
    variance = deviation / (count * chains - 1)
    due, usable = count >= shared.window, jnp.isfinite(variance) & (variance > 0)
    scale = jnp.where(due & usable, jnp.sqrt(jnp.where(usable, variance, 1.0)), shared.scale).astype(drawn.dtype)
    fresh = averaging_from(jnp.exp(shared.average.log_step))
    return shared._replace(
        average=jax.tree.map(lambda new, old: jnp.where(due, new, old), fresh, shared.average),
        scale=scale,
        seen=jnp.where(due, 0, count),
        mean=jnp.where(due, 0.0, mean).astype(drawn.dtype),
        deviation=jnp.where(due, 0.0, deviation).astype(drawn.dtype),
        window=jnp.where(due, 2 * shared.window, shared.window),
    )


def _energies(points: Point) -> Array:
    return 0.5 * jax.vmap(dot)(points.momentum, points.momentum) - points.logp
