"""BlackJAX's NUTS with its window adaptation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, scalar
from ppl.model.finishing.runs import Clock, Drawn
from ppl.model.inference.engines.package import finite_starts, missing, refuse
from ppl.model.inference.sampling_options import Nuts
from ppl.model.starting.start_points import Starts
from ppl.xla.later import jax, jnp

OPTIONS = ("is_mass_matrix_diagonal",)


def sample_blackjax(
    density: FlatProgram, starts: Starts, nuts: Nuts, plan: dict[str, Any], options: dict[str, Any]
) -> Drawn:
    """Sample with BlackJAX: a warm-up and a scan for each chain, chains side by side."""
    try:
        import blackjax
    except ImportError as error:
        raise missing("blackjax") from error
    refuse("blackjax", nuts, options, OPTIONS)
    clock = Clock()
    data = density.data

    def logp(x: Any) -> Any:
        return scalar(density)(x, *data)

    def chain(key: Any, start: Any) -> Any:
        adapt = blackjax.window_adaptation(
            blackjax.nuts, logp, target_acceptance_rate=nuts.target_accept, max_num_doublings=nuts.max_treedepth,
            is_mass_matrix_diagonal=options.get("is_mass_matrix_diagonal", True),
        )  # fmt: skip
        warm_key, run_key = jax.random.split(key)
        (state, parameters), _ = adapt.run(warm_key, start, num_steps=plan["tune"])
        step = blackjax.nuts(logp, **parameters).step

        def one(state: Any, key: Any) -> Any:
            state, info = step(key, state)
            return state, (state.position, state.logdensity, info.acceptance_rate, info.is_divergent, info.energy,
                           info.num_integration_steps, info.num_trajectory_expansions)  # fmt: skip

        _, rows = jax.lax.scan(one, state, jax.random.split(run_key, plan["draws"]))
        return rows, jnp.broadcast_to(parameters["step_size"], (plan["draws"],))

    with jax.enable_x64(True):
        first = finite_starts(density, starts, plan["chains"])
        keys = jax.random.split(jax.random.key(plan["seed"] % 2**32), plan["chains"])
        rows, step_size = jax.jit(jax.vmap(chain))(keys, first)
        found = [np.asarray(value) for value in (*rows, step_size)]
    position, lp, rate, diverging, energy, steps, depth, size = found
    return Drawn(
        position,
        {
            "acceptance_rate": rate,
            "diverging": diverging,
            "energy": energy,
            "lp": lp,
            "n_steps": steps,
            "tree_depth": depth,
            "reached_max_treedepth": depth >= nuts.max_treedepth,
            "step_size": size,
            "step_size_bar": size,
        },
        clock.seconds,
    )
