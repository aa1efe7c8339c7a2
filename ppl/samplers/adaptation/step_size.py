r"""How long a leapfrog step should be: a search for its magnitude, then dual averaging.

Dual averaging (Nesterov 2009; Hoffman & Gelman 2014, §3.2) drives the mean acceptance a_t to the target δ:

.. math:: H̄_t = (1 - \tfrac{1}{t+t_0}) H̄_{t-1} + \tfrac{1}{t+t_0}(δ - a_t), \quad
          \log ε_t = μ - \tfrac{\sqrt t}{γ} H̄_t, \quad
          \log ε̄_t = t^{-κ} \log ε_t + (1 - t^{-κ}) \log ε̄_{t-1}

with γ = 0.05, t₀ = 10, κ = 0.75 and μ = log 10ε of the search. While warming up the chain uses ε, afterwards ε̄.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ppl.xla.later import Array, jnp

GAMMA, T0, KAPPA = 0.05, 10.0, 0.75
LONGEST = math.pi  # in whitened space leapfrog is unstable beyond 2, so a longer step is never sensible
FIRST_STEP, MAX_TRIES = 0.1, 100


class DualAverage(NamedTuple):
    """The averages of dual averaging; ``log_step`` is tried next, ``log_bar`` is the answer so far."""

    log_step: Array
    log_bar: Array
    h_bar: Array
    mu: Array
    t: Array


def averaging_from(step: Array) -> DualAverage:
    """Dual averaging that starts at ``step`` and leans towards ten times as much."""
    log_step = jnp.log(step)
    zero = jnp.zeros((), jnp.float64)
    return DualAverage(log_step, log_step, zero, jnp.log(10.0) + log_step, zero)


def advance(average: DualAverage, acceptance: Array, target: Array) -> DualAverage:
    """Take one acceptance statistic into account."""
    t = average.t + 1
    weight = 1 / (t + T0)
    h_bar = (1 - weight) * average.h_bar + weight * (target - acceptance)
    log_step = jnp.minimum(average.mu - jnp.sqrt(t) / GAMMA * h_bar, jnp.log(LONGEST))
    eta = t**-KAPPA
    return DualAverage(log_step, eta * log_step + (1 - eta) * average.log_bar, h_bar, average.mu, t)


class Search(NamedTuple):
    """Doubling or halving from a first step until the acceptance of one leapfrog crosses the target."""

    step: Array
    direction: Array  # +1 doubling, -1 halving, 0 not yet known
    tries: Array


def new_search(first_step: Array) -> Search:
    """A search that has tried nothing yet."""
    return Search(jnp.asarray(first_step, jnp.float64), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def search_on(search: Search, acceptance: Array, target: Array, first_step: Array) -> tuple[Search, Array]:
    """The search after one try, and whether it is over; one that never crosses falls back to the first step."""
    wanted = jnp.where(acceptance > target, 1, -1).astype(jnp.int32)
    crossed = (search.direction != 0) & (wanted != search.direction)
    tries = search.tries + 1
    hopeless = (tries >= MAX_TRIES) & ~crossed
    step = jnp.where(crossed, search.step, search.step * jnp.where(wanted > 0, 2.0, 0.5))
    step = jnp.where(hopeless, first_step, step)
    return Search(step, wanted, tries), crossed | hopeless
