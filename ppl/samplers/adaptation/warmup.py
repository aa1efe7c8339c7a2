r"""A kernel that tunes itself: step size and metric follow the draws of the warm-up, then stand still.

The schedule is nutpie's (nuts-rs 0.18). Of T tuning draws the first 30 % are *early*: short windows of 10 draws forget
the way in from the start. Up to 85 % windows grow by half each, from 80. The rest only settles the step size.
Two sets of moments run side by side: the *foreground* rules the metric, the *background* began later; when the
background has a window's worth of draws it becomes the foreground and a new one begins, so old draws are forgotten
in blocks and the metric always rests on at least one window.

One step is one call of the transition, whatever it is for, so that the log-density is compiled only once:

* the first call *evaluates* the start: from a log-density of -1e300 a leapfrog of size zero is always accepted;
* calls of depth 1 with one momentum *search* the magnitude of the step size;
* all others make draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ppl.samplers.adaptation import moments as m
from ppl.samplers.adaptation.step_size import DualAverage, Search, advance, averaging_from, new_search, search_on
from ppl.samplers.kernels.integrators import Point, ValueAndGrad, at
from ppl.samplers.kernels.metrics import Metric
from ppl.samplers.kernels.nuts import Draw, Info
from ppl.samplers.programs.kernel import Data, Kernel, LogDensity, Outcome, Window, on_host
from ppl.samplers.programs.randomness import fold, normals, word
from ppl.xla.later import Array, jax, jnp, lax


class Transition(Protocol):
    """A transition of NUTS or HMC with all that is fixed at compile time filled in."""

    def __call__(
        self,
        target: ValueAndGrad,
        *,
        metric: Metric,
        step_size: Array,
        max_depth: Array,
        decisions: Array,
        start: Point,
        room: Any,
    ) -> tuple[Draw, Info, Any]: ...


# What rules the diagonal of the metric from draw to draw.
FISHER, WELFORD, FROZEN = 0, 1, 2

FIRST_WINDOW, MAIN_WINDOW, GROWTH = 10, 80, 1.5
LOWEST = -1e300

STATS: dict[str, type] = {
    "lp": np.float64,
    "energy": np.float64,
    "energy_error": np.float64,
    "max_energy_error": np.float64,
    "acceptance_rate": np.float64,
    "step_size": np.float64,
    "step_size_bar": np.float64,
    "n_steps": np.int64,
    "tree_depth": np.int64,
    "index_in_trajectory": np.int64,
    "diverging": np.bool_,
    "reached_max_treedepth": np.bool_,
}


class Plan(NamedTuple):
    """Numbers that steer a run and may change without compiling again."""

    tune: Array
    early_end: Array
    late_from: Array
    target_accept: Array
    max_depth: Array
    early_max_depth: Array
    first_step: Array
    estimator: Array
    ask_host: Array  # does the host look at each window to choose a metric?


def plan(tune: int, target_accept: float, max_depth: int, first_step: float, estimator: int, ask_host: bool) -> Plan:
    """The plan of a run of ``tune`` tuning draws."""
    return Plan(
        tune=on_host(tune, np.int64),
        early_end=on_host(int(0.30 * tune), np.int64),
        late_from=on_host(int(0.85 * tune), np.int64),
        target_accept=on_host(target_accept, np.float64),
        max_depth=on_host(max_depth, np.int64),
        early_max_depth=on_host(min(max_depth, 8), np.int64),  # a bad first metric should not cost much
        first_step=on_host(first_step, np.float64),
        estimator=on_host(estimator, np.int32),
        ask_host=on_host(ask_host, np.bool_),
    )


class State(NamedTuple):
    """All that a chain is: saved and restored, it goes on bit for bit."""

    draw: Array
    position: Array
    gradient: Array
    logp: Array
    evaluated: Array
    searching: Array
    search: Search
    average: DualAverage
    metric: Metric
    estimator: Array
    metric_changes: Array
    foreground: m.Moments
    background: m.Moments
    foreground_from: Array  # the draw at which each set of moments began
    background_from: Array
    window: Array
    late: Array
    attention: Array
    room: Any = ()  # memory of the transition while steps run in a loop, so that it is not cleared for each


def start(position: np.ndarray, columns: int) -> State:
    """The state before anything is known but the position. NumPy arrays: making them compiles nothing."""
    dim, dtype = position.shape[0], position.dtype
    none, no, unknown = on_host(0, np.int64), on_host(False, np.bool_), on_host(0.0, np.float64)
    zeros, narrow = on_host(np.zeros(dim), dtype), on_host(0, np.int32)
    empty = m.Moments(none, zeros, zeros, zeros, zeros)
    return State(
        draw=none,
        position=on_host(position, dtype),
        gradient=zeros,
        logp=on_host(LOWEST, np.float64),
        evaluated=no,
        searching=no,
        search=Search(unknown, narrow, narrow),
        average=DualAverage(unknown, unknown, unknown, unknown, unknown),
        metric=Metric(
            on_host(np.ones(dim), dtype), on_host(np.zeros((columns, dim)), dtype), on_host(np.zeros(columns), dtype),
            narrow,
        ),
        estimator=narrow,
        metric_changes=none,
        foreground=empty,
        background=empty,
        foreground_from=none,
        background_from=none,
        window=on_host(FIRST_WINDOW, np.int64),
        late=no,
        attention=no,
    )  # fmt: skip


def tuned(
    logp: LogDensity,
    transition: Transition,
    columns: int,
    host: Callable[[Plan, State, Window], State],
    room: Callable[[Array], Any] = lambda position: (),
) -> Kernel:
    """The self-tuning kernel around ``transition``; its metric has room for ``columns`` low-rank columns.

    ``room(position)`` makes the memory that transitions hand on to each other.
    """

    def init(position: np.ndarray) -> State:
        return start(position, columns)

    def step(key: Array, plan: Plan, data: Data, state: State) -> tuple[State, Outcome]:
        call = next_call(key, plan, state)
        draw, info, used = transition(target_of(logp, data), metric=state.metric, room=state.room, **call._asdict())
        after, outcome = learnt(plan, state._replace(room=()), call, draw, info)
        return after._replace(room=used), outcome

    begin = lambda state: state._replace(room=room(state.position))
    return Kernel(init, step, STATS, host, begin, end=lambda state: state._replace(room=()))


class Call(NamedTuple):
    """What the next transition is given beside the metric."""

    step_size: Array
    max_depth: Array
    decisions: Array
    start: Point


def next_call(key: Array, plan: Plan, state: State) -> Call:
    """The next transition: of a draw, of the search for a step size, or of length zero to evaluate the start."""
    tuned_step = jnp.exp(jnp.where(state.draw < plan.tune, state.average.log_step, state.average.log_bar))
    searched_step = jnp.where(state.searching, state.search.step, tuned_step)
    depth = jnp.where(state.draw < plan.early_end, plan.early_max_depth, plan.max_depth)
    draw_key = fold(key, state.draw)
    momentum = normals(draw_key, state.position.shape[0], state.position.dtype)
    return Call(
        step_size=jnp.where(state.evaluated, searched_step, 0.0),
        max_depth=jnp.where(_around(state), 1, depth),
        decisions=word(draw_key),
        start=at(state.metric, state.position, momentum, state.gradient, state.logp),
    )


def learnt(plan: Plan, state: State, call: Call, draw: Draw, info: Info) -> tuple[State, Outcome]:
    """The state after a transition, and what the driver is told."""
    around = _around(state)
    after = _once(
        around | (state.draw < plan.tune),
        lambda s: lax.cond(
            around,
            lambda: lax.cond(s.evaluated, lambda: _searched(plan, s, info), lambda: _evaluated(plan, s, info.last)),
            lambda: _learn(plan, s, draw, info),
        ),
        lax.cond(around, lambda: state, lambda: _moved(state, draw)),
    )
    stats = jnp.stack([
        draw.logp, info.energy, info.energy_error, info.max_energy_error, info.acceptance,
        call.step_size, jnp.exp(after.average.log_bar), info.n_steps, info.depth, info.offset, info.diverging,
        info.at_max_depth,
    ], dtype=jnp.float64)  # fmt: skip
    return after, Outcome(draw.position, draw.gradient, stats, info.last.position, info.diverging & ~around, ~around)


def _once(condition: Array, change: Callable[[State], State], state: State) -> State:
    """``change(state)`` if the condition holds: a loop of at most one turn, because a ``cond`` copies what it keeps."""
    turn = lambda carry: (jnp.zeros((), bool), change(carry[1]))
    return lax.while_loop(lambda carry: carry[0], turn, (condition, state))[1]


def _around(state: State) -> Array:
    """Does the next transition only look around, and make no draw?"""
    return ~state.evaluated | state.searching


def target_of(logp: LogDensity, data: Data) -> ValueAndGrad:
    value_and_grad = jax.value_and_grad(logp)

    def target(position: Array) -> tuple[Array, Array]:
        value, gradient = value_and_grad(position, *data)
        return value.astype(jnp.float64), gradient.astype(position.dtype)

    return target


def _evaluated(plan: Plan, state: State, here: Point) -> State:
    """The start is known now: guess the metric from its gradient, and search a step size next."""
    first = m.include(m.empty(here.position.shape[0], here.position.dtype), here.position, here.gradient)
    guess = m.scale_from_gradient(here.gradient)
    scale = jnp.where(plan.estimator == FROZEN, state.metric.scale, guess)
    return state._replace(
        gradient=here.gradient,
        logp=here.logp,
        evaluated=jnp.ones((), bool),
        searching=jnp.ones((), bool),
        search=new_search(plan.first_step),
        metric=state.metric._replace(scale=scale),
        estimator=plan.estimator,
        foreground=first,
        background=first,
        attention=jnp.ones((), bool),
    )


def _searched(plan: Plan, state: State, info: Info) -> State:
    search, over = search_on(state.search, info.acceptance, plan.target_accept, plan.first_step)
    average = jax.tree.map(lambda new, old: jnp.where(over, new, old), averaging_from(search.step), state.average)
    return state._replace(search=search, searching=~over, average=average)


def _moved(state: State, draw: Draw) -> State:
    """The state at the new point."""
    return state._replace(draw=state.draw + 1, position=draw.position, gradient=draw.gradient, logp=draw.logp)


def _learn(plan: Plan, state: State, draw: Draw, info: Info) -> State:
    """Adapt to one tuning draw; ``state.draw`` already counts it."""
    late = state.late | (state.window + state.draw > plan.late_from)
    acceptance = jnp.where(late, info.symmetric_acceptance, info.acceptance)
    state = state._replace(average=advance(state.average, acceptance, plan.target_accept), late=late)
    metric_ends = state.draw == plan.late_from
    asks = plan.ask_host & (metric_ends | (late & (state.draw > plan.early_end) & ~state.late))
    state = lax.cond(state.draw <= plan.late_from, lambda s: _learn_metric(plan, s, draw, info), lambda s: s, state)
    return state._replace(attention=state.attention | asks)


def _learn_metric(plan: Plan, state: State, draw: Draw, info: Info) -> State:
    # A draw that did not leave its place says nothing new, and one near a divergence little.
    good = (draw.offset != 0) & (~info.diverging | (jnp.abs(draw.offset) > 4))
    foreground, background = lax.cond(
        good,
        lambda: (
            m.include(state.foreground, draw.position, draw.gradient),
            m.include(state.background, draw.position, draw.gradient),
        ),
        lambda: (state.foreground, state.background),
    )
    state = _switch(plan, state._replace(foreground=foreground, background=background))
    return lax.cond(
        (state.estimator != FROZEN) & (state.foreground.n >= 3) & good,
        _rescale,
        lambda s: s,
        state,
    )


def _rescale(state: State) -> State:
    """A new diagonal; the first one changes so much that the step size is searched again."""
    scale = jnp.where(
        state.estimator == FISHER,
        m.fisher_scale(state.foreground, state.metric.scale),
        m.welford_scale(state.foreground, state.metric.scale),
    )
    first = state.metric_changes == 0
    return state._replace(
        metric=state.metric._replace(scale=scale),
        metric_changes=state.metric_changes + 1,
        searching=state.searching | first,
        search=jax.tree.map(
            lambda new, old: jnp.where(first, new, old), new_search(jnp.exp(state.average.log_step)), state.search
        ),
    )


def _switch(plan: Plan, state: State) -> State:
    """Let the background become the foreground when it has a window's worth of draws."""
    main = state.draw >= plan.early_end
    entering = main & (state.window == FIRST_WINDOW)
    window = jnp.where(entering, jnp.maximum(MAIN_WINDOW, state.background.n), state.window)
    due = (state.background.n >= window) & ~state.late

    def switched() -> State:
        grown = jnp.maximum(window + 1, jnp.round(GROWTH * window).astype(window.dtype))
        return state._replace(
            foreground=state.background,
            background=m.empty(state.position.shape[0], state.position.dtype),
            foreground_from=state.background_from,
            background_from=state.draw,
            window=jnp.where(main, grown, window),
            attention=state.attention | (plan.ask_host & main),
        )

    return lax.cond(due, switched, lambda: state._replace(window=window))
