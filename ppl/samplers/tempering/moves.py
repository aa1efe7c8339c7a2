"""Moves of particles at one temperature, all particles at once, as one compiled loop.

A move takes particles to others and leaves prior × likelihood^β invariant. The loop repeats it until positions have
nothing more to do with those at which it began: until the correlation with them falls in less than nine tenths of the
dimensions by more than a threshold, as in PyMC, and particles have moved often enough. The likelihoods seen on the way
come back too: they tell of the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ppl.xla.later import Array, jax, jnp, lax

MOST = 64  # moves of one stage
NINE_TENTHS = 0.9
MOST_LEAPFROGS = 32

Density = Callable[..., tuple[Array, Array]]  # (keys, positions, data) -> log prior, log likelihood, one a particle


class Particles(NamedTuple):
    """Positions, and the two parts of their log-density."""

    position: Array  # (particles, dimensions)
    prior: Array
    likelihood: Array

    def tempered(self, beta: Any) -> Array:
        """The log-density at an inverse temperature."""
        return self.prior + beta * self.likelihood


class Moved(NamedTuple):
    """What a stage gives: the particles, the likelihoods after each move, how often each particle has moved, how many
    moves were made, and what the move has learned for the next stage."""

    particles: Particles
    seen: Array  # (MOST, particles), the first `steps` rows of which count
    accepted: Array
    steps: Array
    learned: Any


class Proposal(NamedTuple):
    """Where particles might go, the part of the Metropolis ratio that is not that of the density, and what to remember
    of those that go."""

    particles: Particles
    log_ratio: Array
    carried: Any


def stage(
    density: Density, move: Callable[..., Proposal], learn: Callable[..., Any] | None = None
) -> Callable[..., Moved]:
    """The loop of one stage: `run(key, beta, particles, tuning, carried, threshold, least, data)`.

    `least` is how often particles must have moved on average before it ends, up to `MOST` moves."""

    def run(
        key: Array,
        beta: Array,
        particles: Particles,
        tuning: Any,
        carried: Any,
        threshold: Array,
        least: Array,
        data: Any,
    ) -> Moved:
        began = _centered(particles.position)
        count = particles.prior.shape[0]

        def unfinished(state: Any) -> Array:
            return state[-1] & (state[0] < MOST)

        def one(state: Any) -> Any:
            step, particles, carried, tuning, seen, accepted, before, _ = state
            mine = jax.random.fold_in(key, step)
            propose, decide = jax.random.split(mine)
            proposal = move(propose, beta, particles, tuning, carried, density, data)
            new = proposal.particles
            log_ratio = new.tempered(beta) - particles.tempered(beta) + proposal.log_ratio
            goes = jnp.log(jax.random.uniform(decide, (count,))) < log_ratio
            chance = jnp.minimum(1.0, jnp.exp(jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)))
            particles, carried = (
                jax.tree.map(lambda a, b: jnp.where(goes.reshape((-1,) + (1,) * (a.ndim - 1)), a, b), *pair)
                for pair in ((new, particles), (proposal.carried, carried))
            )
            tuning = tuning if learn is None else learn(tuning, chance)
            seen = lax.dynamic_update_slice(seen, particles.likelihood[None], (step, jnp.zeros((), step.dtype)))
            accepted = accepted + goes
            now = _correlations(began, particles.position)
            falls = jnp.mean((before - now > threshold).astype(now.dtype)) > NINE_TENTHS
            go_on = falls | (jnp.mean(accepted.astype(now.dtype)) < least)
            return step + 1, particles, carried, tuning, seen, accepted, now, go_on

        none = jnp.zeros((), jnp.int64)
        seen = jnp.zeros((MOST, count), particles.likelihood.dtype)
        before = jnp.full(particles.position.shape[1], 2.0)
        state = none, particles, carried, tuning, seen, jnp.zeros(count, jnp.int64), before, jnp.ones((), bool)
        steps, particles, _, tuning, seen, accepted, _, _ = lax.while_loop(unfinished, one, state)
        return Moved(particles, seen, accepted, steps, tuning)

    return run


def _centered(x: Array) -> Array:
    x = x - jnp.mean(x, axis=0)
    return x / jnp.sqrt(jnp.maximum(jnp.sum(x**2, axis=0), 1e-300))


def _correlations(began: Array, position: Array) -> Array:
    return jnp.abs(jnp.sum(began * _centered(position), axis=0))


def looked_at(density: Density, key: Array, position: Array, data: Any) -> Particles:
    """Particles at positions; where a density is not a number it is zero."""
    prior, likelihood = density(jax.random.split(key, position.shape[0]), position, data)
    lowest = lambda x: jnp.where(jnp.isnan(x), -jnp.inf, x)
    outside = jnp.isneginf(lowest(prior))  # what the likelihood says there does not matter
    return Particles(position, lowest(prior), jnp.where(outside, -jnp.inf, lowest(likelihood)))


class Cloud(NamedTuple):
    """A normal law like that of the particles: its mean, and a factor of its covariance."""

    mean: Array
    factor: Array


def independent(
    key: Array, beta: Array, particles: Particles, tuning: Cloud, carried: Array, density: Density, data: Any
) -> Proposal:
    """Independent Metropolis-Hastings: proposals of a normal law like that of the cloud. What is carried along are the
    standardized positions of the particles, from which the law's density follows."""
    moving, looking = jax.random.split(key)
    standard = jax.random.normal(moving, particles.position.shape, particles.position.dtype)
    new = looked_at(density, looking, tuning.mean + standard @ tuning.factor.T, data)
    log_ratio = 0.5 * (jnp.sum(standard**2, axis=1) - jnp.sum(carried**2, axis=1))
    return Proposal(new, log_ratio, standard)


class Scaled(NamedTuple):
    """The law of the cloud, and for each particle how long its steps are."""

    cloud: Cloud
    scales: Array


def random_walk(
    key: Array, beta: Array, particles: Particles, tuning: Scaled, carried: Array, density: Density, data: Any
) -> Proposal:
    """Metropolis: a step of a normal law of the shape of the cloud, as long as the scale of the particle says."""
    moving, looking = jax.random.split(key)
    standard = jax.random.normal(moving, particles.position.shape, particles.position.dtype)
    there = particles.position + tuning.scales[:, None] * (standard @ tuning.cloud.factor.T)
    new = looked_at(density, looking, there, data)
    return Proposal(new, jnp.zeros(particles.prior.shape), carried)


class Stepping(NamedTuple):
    """The law of the cloud, and the logarithm of the step size of trajectories in its coordinates."""

    cloud: Cloud
    log_step: Array


def hamiltonian(
    key: Array, beta: Array, particles: Particles, tuning: Stepping, carried: Array, density: Density, data: Any
) -> Proposal:
    """Hamiltonian Monte Carlo in coordinates in which the cloud is about standard normal, so that a quarter of a turn,
    give or take, forgets where it began."""
    turning, moving, looking = jax.random.split(key, 3)
    factor, size = tuning.cloud.factor, jnp.exp(tuning.log_step)
    length = jax.random.uniform(turning, (), minval=0.6, maxval=1.8)
    steps = jnp.clip(jnp.ceil(length / size), 1, MOST_LEAPFROGS).astype(jnp.int64)
    keys = jax.random.split(looking, particles.position.shape[0])

    def total(position: Array) -> Array:
        prior, likelihood = density(keys, position, data)
        return jnp.sum(prior + beta * likelihood)

    gradient = lambda position: jax.grad(total)(position) @ factor
    speed = jax.random.normal(moving, particles.position.shape, particles.position.dtype)

    def leapfrog(_: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        position, speed, slope = state
        speed = speed + 0.5 * size * slope
        position = position + size * (speed @ factor.T)
        slope = gradient(position)
        return position, speed + 0.5 * size * slope, slope

    start = particles.position, speed, gradient(particles.position)
    position, faster, _ = lax.fori_loop(0, steps, leapfrog, start)
    new = looked_at(density, looking, position, data)
    return Proposal(new, 0.5 * (jnp.sum(speed**2, axis=1) - jnp.sum(faster**2, axis=1)), carried)


def learn_step(tuning: Stepping, chance: Array) -> Stepping:
    """Longer steps where more than four fifths are accepted, shorter ones where fewer are."""
    return tuning._replace(log_step=tuning.log_step + 0.5 * (jnp.mean(chance) - 0.8))
