r"""Integrators of Hamilton's equations, declared by their coefficients.

The kernels work in *whitened* momentum: with a metric map A (``metrics.py``) the Hamiltonian is

.. math:: H(x, p) = -\log π(x) + \tfrac12 p·p, \qquad \dot x = A p, \quad \dot p = A^T ∇\log π(x),

so the mass is always the identity and only the two places where x and p meet know of A. A step of size ε alternates
*kicks* (p += b ε Aᵀ∇log π) and *drifts* (x += a ε A p). Any palindrome of coefficients is reversible, and each kick
and drift is a shear, so volume is preserved exactly; the order of the energy error is a fact of the coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ppl.samplers.kernels.metrics import Metric, force, velocity
from ppl.xla.later import Array, jnp, lax

ValueAndGrad = Callable[[Array], tuple[Array, Array]]


class Point(NamedTuple):
    """A place in phase space, with the log-density there, its gradient, and the gradient as a force on momenta."""

    position: Array
    momentum: Array
    gradient: Array
    force: Array
    logp: Array


class Integrator(NamedTuple):
    """Coefficients of one step: kick, drift, kick, ..., drift, kick; so there is one kick more than drifts."""

    kicks: tuple[float, ...]
    drifts: tuple[float, ...]
    order: int


leapfrog = Integrator(kicks=(0.5, 0.5), drifts=(1.0,), order=2)

# Two- and three-stage splittings of least energy error for Gaussian targets: Blanes, Casas & Sanz-Serna (2014), §4.
minimal_norm_2 = Integrator(
    kicks=(0.21178, 1 - 2 * 0.21178, 0.21178),
    drifts=(0.5, 0.5),
    order=2,
)
minimal_norm_3 = Integrator(
    kicks=(0.11888010966548, 0.5 - 0.11888010966548, 0.5 - 0.11888010966548, 0.11888010966548),
    drifts=(0.29619504261126, 1 - 2 * 0.29619504261126, 0.29619504261126),
    order=2,
)

# Fourth order by Yoshida's (1990) composition of three leapfrogs.
_Y = 1 / (2 - 2 ** (1 / 3))
yoshida = Integrator(
    kicks=(_Y / 2, (1 - _Y) / 2, (1 - _Y) / 2, _Y / 2),
    drifts=(_Y, 1 - 2 * _Y, _Y),
    order=4,
)

INTEGRATORS = {
    "leapfrog": leapfrog,
    "minimal_norm_2": minimal_norm_2,
    "minimal_norm_3": minimal_norm_3,
    "yoshida": yoshida,
}


def at(metric: Metric, position: Array, momentum: Array, gradient: Array, logp: Array) -> Point:
    """The point at a position where the target is known."""
    return Point(position, momentum, gradient, force(metric, gradient), logp)


def step(target: ValueAndGrad, integrator: Integrator, metric: Metric, size: Array, start: Point) -> Point:
    """One step of signed size ``size`` from ``start``; a negative size runs time backwards."""
    dtype = start.position.dtype
    size = size.astype(dtype)
    kicked = start.momentum + (integrator.kicks[0] * size) * start.force

    def stage(point: Point, drift: Array | float, kick: Array | float) -> Point:
        position = point.position + (drift * size) * velocity(metric, point.momentum)
        logp, gradient = target(position)
        pull = force(metric, gradient)
        return Point(position, point.momentum + (kick * size) * pull, gradient, pull, logp)

    point = start._replace(momentum=kicked)
    if len(integrator.drifts) == 1:
        return stage(point, integrator.drifts[0], integrator.kicks[1])
    # Several stages run in a loop, not unrolled, so that the log-density is compiled once.
    drifts = jnp.asarray(integrator.drifts, dtype)
    kicks = jnp.asarray(integrator.kicks[1:], dtype)
    return lax.fori_loop(0, len(integrator.drifts), lambda i, at: stage(at, drifts[i], kicks[i]), point)
