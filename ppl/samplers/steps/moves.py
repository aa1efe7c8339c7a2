"""Moves for what gradients cannot move, as pure functions: each changes a stretch of the position, by a few densities.

A *move* owns the entries ``start`` to ``stop`` of the position. It is given the log-density of the whole position, so
one sweep over several moves leaves the joint density invariant. While tuning it may adapt; afterwards it stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs.randomness import fold
from ppl.xla.later import Array, jax, jnp, lax

Density = Callable[[Array], Array]
Proposal = Callable[[Array, int], Array]  # (key, how many) -> steps of scale one


class Population(NamedTuple):
    """Where all chains are, and which of them is to move."""

    positions: Array
    chain: Array


class Failed(NamedTuple):
    """Points that were tried and have no log-density, or an infinite one: how many, and the first of them."""

    number: Array
    first: Array

    def tried(self, point: Array, logp: Array) -> Failed:
        """With one more point."""
        return self.joined(no_number(logp).astype(jnp.int64), point)

    def joined(self, more: Array, first: Array) -> Failed:
        """With so many more points."""
        return Failed(self.number + more, jnp.where((self.number == 0) & (more > 0), first, self.first))


def none_failed(point: Array) -> Failed:
    """No point has failed yet."""
    return Failed(jnp.zeros((), jnp.int64), point)


def no_number(logp: Array) -> Array:
    """Is this no log-density? Minus infinity is one: there the density is zero."""
    return jnp.isnan(logp) | (logp == jnp.inf)


class Context(NamedTuple):
    """What a move may look at."""

    key: Array
    draw: Array
    tuning: Array
    density: Density
    terms: Density | None = None  # of the density, that depend on what the move owns
    population: Population | tuple[()] = ()  # for moves that learn from other chains


class Move(NamedTuple):
    """``step(context, position, logp, state) -> (position, logp, state, statistics, failed)``."""

    start: int
    stop: int
    init: Callable[[np.ndarray], Any]
    step: Callable[[Context, Array, Array, Any], tuple[Array, Array, Any, Array, Failed]]
    stats: dict[str, type]
    key: Hashable
    population: bool = False  # does it learn from the other chains?
    terms: Callable[..., Array] | None = None  # of the density, (position, *data) -> a vector, if it looks at them


def wrapped(key: Array) -> Array:
    """Raw key words as JAX's own kind of key."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def uniforms(key: Array, shape: tuple[int, ...] = ()) -> Array:
    """Uniform numbers between 0 and 1."""
    return jax.random.uniform(wrapped(key), shape, jnp.float64)


def accepts(key: Array, new: Array, old: Array) -> Array:
    """Metropolis' rule; a density that is infinite or not a number is never accepted."""
    return jnp.log(uniforms(key)) < _log_ratio(new, old)


def chance(new: Array, old: Array) -> Array:
    """The probability with which Metropolis' rule accepts."""
    return jnp.exp(jnp.minimum(_log_ratio(new, old), 0.0))


def accepts_each(uniform: Array, change: Array) -> tuple[Array, Array]:
    """Metropolis' rule for many entries, by the changes of their log-densities; and the chances."""
    likely = jnp.where(no_number(change), 0.0, jnp.exp(jnp.minimum(change, 0.0)))
    return uniform < likely, likely


def _log_ratio(new: Array, old: Array) -> Array:
    return jnp.where(new < jnp.inf, new - old, -jnp.inf)


def shuffled(key: Array, n: int, shuffle: bool) -> Array:
    """The order in which entries are visited."""
    return jax.random.permutation(wrapped(key), n) if shuffle else jnp.arange(n)


class _Scale(NamedTuple):
    scaling: Any
    accepted: Any
    seen: Any


def tuned_scale(scaling: Array, rate: Array) -> Array:
    """PyMC's table: from the rate of acceptance to a better scale."""
    factors = [(0.001, 0.1), (0.05, 0.5), (0.2, 0.9)]
    result = jnp.ones_like(rate)
    for bound, factor in reversed(factors):
        result = jnp.where(rate < bound, factor, result)
    for bound, factor in [(0.5, 1.1), (0.75, 2.0), (0.95, 10.0)]:
        result = jnp.where(rate > bound, factor, result)
    return scaling * result


def scale_of(first: np.ndarray) -> _Scale:
    """The state of a random walk that begins with these scales."""
    return _Scale(np.array(first), np.zeros(first.shape), np.zeros((), np.int64))


def adapted(state: _Scale, tuning: Array, interval: int, tune: bool) -> _Scale:
    """The scales after a look at how many steps were accepted, once in an interval of the warm-up."""
    if not tune:
        return state
    due = tuning & (state.seen >= interval)
    rate = state.accepted / jnp.maximum(state.seen, 1)
    none = jnp.zeros_like(state.seen)
    return _Scale(
        jnp.where(due, tuned_scale(state.scaling, rate), state.scaling),
        jnp.where(due, 0.0, state.accepted),
        jnp.where(due, none, state.seen),
    )


def metropolis(
    start: int,
    stop: int,
    proposal: Proposal,
    proposal_key: Hashable,
    *,
    discrete: bool,
    together: bool,
    scaling: Any = 1.0,
    tune: bool = True,
    interval: int = 100,
) -> Move:
    """A random walk: entry by entry in random order, or all entries ``together``."""
    n = stop - start
    size = 1 if together else n
    first = np.broadcast_to(np.asarray(scaling, np.float64), (size,))

    def init(position: np.ndarray) -> _Scale:
        return scale_of(first)

    def step(context: Context, position: Array, logp: Array, state: _Scale) -> Any:
        state = adapted(state, context.tuning, interval, tune)
        moves = proposal(fold(context.key, 0), n) * state.scaling
        moves = jnp.rint(moves) if discrete else moves
        failed = none_failed(position)
        if together:
            new = lax.dynamic_update_slice(position, position[start:stop] + moves, (start,))
            lp = context.density(new)
            failed = failed.tried(new, lp)
            yes, chances = accepts(fold(context.key, 1), lp, logp), chance(lp, logp)[None]
            position, logp = jnp.where(yes, new, position), jnp.where(yes, lp, logp)
            taken = yes[None].astype(jnp.float64)
        else:
            order = shuffled(fold(context.key, 1), n, True)

            def one(i: Array, carry: Any) -> Any:
                position, logp, taken, chances, failed = carry
                j = order[i]
                new = position.at[start + j].add(moves[j])
                lp = context.density(new)
                failed = failed.tried(new, lp)
                yes = accepts(fold(context.key, 2 + i), lp, logp)
                taken, chances = taken.at[j].set(yes.astype(jnp.float64)), chances.at[j].set(chance(lp, logp))
                return jnp.where(yes, new, position), jnp.where(yes, lp, logp), taken, chances, failed

            begin = (position, logp, jnp.zeros(n), jnp.zeros(n), failed)
            position, logp, taken, chances, failed = lax.fori_loop(0, n, one, begin)
        state = _Scale(state.scaling, state.accepted + taken, state.seen + 1)
        return position, logp, state, jnp.stack([chances.mean(), taken.mean(), state.scaling.mean()]), failed

    key = ("metropolis", start, stop, proposal_key, discrete, together, first.tobytes(), tune, interval)
    return Move(start, stop, init, step, dict.fromkeys(("accept", "accepted", "scaling"), np.float64), key)


def binary_flips(start: int, stop: int, scaling: float = 1.0) -> Move:
    """Flips each entry with probability 1 - 2^(-scaling), all at once."""
    n, share = stop - start, 1 - 0.5**scaling

    def step(context: Context, position: Array, logp: Array, state: Any) -> Any:
        old = position[start:stop]
        flip = uniforms(fold(context.key, 0), (n,)) < share
        new = lax.dynamic_update_slice(position, jnp.where(flip, 1 - old, old), (start,))
        lp = context.density(new)
        yes = accepts(fold(context.key, 1), lp, logp)
        row = jnp.stack([chance(lp, logp), jnp.full((), share)])
        failed = none_failed(position).tried(new, lp)
        return jnp.where(yes, new, position), jnp.where(yes, lp, logp), state, row, failed

    stats: dict[str, type] = {"accept": np.float64, "p_jump": np.float64}
    return Move(start, stop, _stateless, step, stats, ("binary", start, stop, scaling))


def binary_gibbs(start: int, stop: int, transit_p: float = 0.8, order: Any = "random") -> Move:
    """Tries to flip the entries one by one, each with probability ``transit_p``."""
    n = stop - start
    fixed = None if order == "random" else np.asarray(order, np.int64)

    def step(context: Context, position: Array, logp: Array, state: Any) -> Any:
        visits = shuffled(fold(context.key, 0), n, True) if fixed is None else jnp.asarray(fixed)
        tries = uniforms(fold(context.key, 1), (n,)) < transit_p

        def one(i: Array, carry: Any) -> Any:
            position, logp, count, failed = carry
            j = start + visits[i]
            new = position.at[j].set(1 - position[j])
            lp = context.density(new)
            failed = failed.joined((tries[i] & no_number(lp)).astype(jnp.int64), new)
            yes = tries[i] & accepts(fold(context.key, 2 + i), lp, logp)
            return jnp.where(yes, new, position), jnp.where(yes, lp, logp), count + yes, failed

        begin = (position, logp, jnp.zeros((), jnp.int64), none_failed(position))
        position, logp, count, failed = lax.fori_loop(0, n, one, begin)
        return position, logp, state, (count / n)[None], failed

    name = None if fixed is None else fixed.tobytes()
    return Move(start, stop, _stateless, step, {"accept": np.float64}, ("binary gibbs", start, stop, transit_p, name))


def categorical_gibbs(start: int, stop: int, categories: Any, proposal: str = "uniform", order: Any = "random") -> Move:
    """Moves entries among their categories one by one: to another at random, or by their densities given the rest."""
    n = stop - start
    counts = np.broadcast_to(np.asarray(categories, np.int64), (n,))
    most = int(counts.max())
    fixed = None if order == "random" else np.asarray(order, np.int64)

    def at_random(key: Array, context: Context, position: Array, logp: Array, j: Array) -> Any:
        k = jnp.asarray(counts)[j]
        old = position[start + j]
        other = jnp.floor(uniforms(fold(key, 0)) * (k - 1))
        new = position.at[start + j].set(jnp.where(other >= old, other + 1, other))
        lp = context.density(new)
        yes = (k > 1) & accepts(fold(key, 1), lp, logp)
        failed = none_failed(position).tried(new, lp)
        return jnp.where(yes, new, position), jnp.where(yes, lp, logp), yes, failed

    def by_density(key: Array, context: Context, position: Array, logp: Array, j: Array) -> Any:
        """Liu's (1996) Metropolised Gibbs: another category by its share, accepted so that the law is kept."""
        values = jnp.arange(most, dtype=position.dtype)
        k, old = jnp.asarray(counts)[j], position[start + j].astype(jnp.int64)
        lps = lax.map(lambda v: context.density(position.at[start + j].set(v)), values)
        bad = (jnp.arange(most) < k) & no_number(lps)
        failed = Failed(jnp.sum(bad), position.at[start + j].set(values[jnp.argmax(bad)]))
        lps = jnp.where((jnp.arange(most) < k) & (lps < jnp.inf), lps, -jnp.inf)
        log_p = lps - jax.scipy.special.logsumexp(lps)
        others = jnp.where(jnp.arange(most) == old, -jnp.inf, log_p)
        new = jax.random.categorical(wrapped(fold(key, 0)), others)
        rest = lambda i: jnp.log1p(-jnp.minimum(jnp.exp(log_p[i]), 1 - 1e-16))
        yes = (k > 1) & (jnp.log(uniforms(fold(key, 1))) < rest(old) - rest(new)) & jnp.isfinite(log_p[new])
        moved = position.at[start + j].set(new.astype(position.dtype))
        return jnp.where(yes, moved, position), jnp.where(yes, lps[new], logp), yes, failed

    visit = at_random if proposal == "uniform" else by_density

    def step(context: Context, position: Array, logp: Array, state: Any) -> Any:
        visits = shuffled(fold(context.key, 0), n, True) if fixed is None else jnp.asarray(fixed)

        def one(i: Array, carry: Any) -> Any:
            position, logp, count, failed = carry
            position, logp, yes, bad = visit(fold(context.key, 2 + i), context, position, logp, visits[i])
            return position, logp, count + yes, failed.joined(*bad)

        begin = (position, logp, jnp.zeros((), jnp.int64), none_failed(position))
        position, logp, count, failed = lax.fori_loop(0, n, one, begin)
        return position, logp, state, (count / n)[None], failed

    name = None if fixed is None else fixed.tobytes()
    key = ("categorical gibbs", start, stop, counts.tobytes(), proposal, name)
    return Move(start, stop, _stateless, step, {"accept": np.float64}, key)


def _stateless(position: np.ndarray) -> Any:
    return ()
