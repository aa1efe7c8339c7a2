r"""Hamiltonian Monte Carlo with trajectories of random length.

A trajectory of n leapfrogs ends in a proposal that is accepted with probability min(1, exp(H₀ - H)) (Neal 2011, §3).
The length is drawn anew each time, uniformly up to twice ``path_length``, because a fixed length resonates with any
period of the target that it happens to fit. In whitened space a period is near 2π, so a quarter of it, the default, is
the distance after which a draw knows least of its start.
"""

from __future__ import annotations

import math
from typing import Any

from ppl.samplers.kernels.integrators import Integrator, Point, ValueAndGrad, step
from ppl.samplers.kernels.metrics import Metric, dot
from ppl.samplers.kernels.nuts import DIVERGENCE, Draw, Info
from ppl.samplers.programs.randomness import uniform
from ppl.xla.later import Array, jnp, lax

QUARTER_PERIOD = 0.5 * math.pi

LENGTH, ACCEPT = 0, 1  # counters of the decision hash


def transition(
    target: ValueAndGrad,
    integrator: Integrator,
    path_length: float,
    metric: Metric,
    step_size: Array,
    max_depth: Array,
    decisions: Array,
    start: Point,
    room: Any = (),
) -> tuple[Draw, Info, Any]:
    """One HMC transition of at most 2^max_depth - 1 leapfrogs from ``start``, whose momentum was just refreshed.

    It leaves ``room``, which others work in, as it is.
    """
    initial_energy = 0.5 * dot(start.momentum, start.momentum) - start.logp
    most = jnp.left_shift(1, max_depth) - 1
    wished = jnp.ceil(2 * path_length * uniform(decisions, jnp.asarray(LENGTH)) / jnp.maximum(step_size, 1e-10))
    n_steps = jnp.clip(wished, 1, most).astype(jnp.int64)

    def error_of(point: Point) -> Array:
        error = 0.5 * dot(point.momentum, point.momentum) - point.logp - initial_energy
        return jnp.where(jnp.isfinite(error), error, jnp.inf)

    def unfinished(carry: tuple[Array, Point, Array]) -> Array:
        n, _, error = carry
        return (n < n_steps) & (error <= DIVERGENCE)

    def further(carry: tuple[Array, Point, Array]) -> tuple[Array, Point, Array]:
        n, point, _ = carry
        point = step(target, integrator, metric, step_size, point)
        return n + 1, point, error_of(point)

    none, zero = jnp.zeros((), jnp.int64), jnp.zeros((), jnp.float64)
    n, end, error = lax.while_loop(unfinished, further, (none, start, zero))
    diverging = error > DIVERGENCE
    acceptance = jnp.minimum(1.0, jnp.exp(-error))
    accept = ~diverging & (uniform(decisions, jnp.asarray(ACCEPT)) < acceptance)
    draw = Draw(
        jnp.where(accept, end.position, start.position),
        jnp.where(accept, end.gradient, start.gradient),
        jnp.where(accept, end.logp, start.logp),
        jnp.where(accept, error, 0.0),
        jnp.where(accept, n, 0),
    )
    ratio = jnp.exp(jnp.minimum(-error, 700.0))
    info = Info(
        energy=initial_energy + draw.error,
        energy_error=draw.error,
        max_energy_error=error,
        acceptance=acceptance,
        symmetric_acceptance=2 * acceptance / (1 + ratio),
        n_steps=n,
        depth=none,
        offset=draw.offset,
        diverging=diverging,
        at_max_depth=jnp.zeros((), bool),
        last=end,
    )
    return draw, info, room
