"""NumPyro's NUTS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, scalar
from ppl.model.finishing.runs import Clock, Drawn
from ppl.model.inference.engines.package import finite_starts, missing, refuse
from ppl.model.inference.sampling_options import Nuts
from ppl.model.starting.start_points import Starts
from ppl.xla.later import jax

OPTIONS = ("chain_method", "dense_mass")
FIELDS = ("potential_energy", "energy", "accept_prob", "num_steps", "diverging", "adapt_state.step_size")


def sample_numpyro(
    density: FlatProgram, starts: Starts, nuts: Nuts, plan: dict[str, Any], options: dict[str, Any]
) -> Drawn:
    """Sample with NumPyro, its potential being minus the log-density."""
    try:
        from numpyro.infer import MCMC, NUTS
    except ImportError as error:
        raise missing("numpyro") from error
    refuse("numpyro", nuts, options, OPTIONS)
    clock = Clock()
    data = density.data
    with jax.enable_x64(True):
        kernel = NUTS(
            potential_fn=lambda x: -scalar(density)(x, *data),
            target_accept_prob=nuts.target_accept,
            max_tree_depth=nuts.max_treedepth,
            dense_mass=options.pop("dense_mass", False),
        )
        chains = plan["chains"]
        first = finite_starts(density, starts, chains)
        method = options.pop("chain_method", "vectorized" if chains > 1 else "sequential")
        mcmc = MCMC(
            kernel, num_warmup=plan["tune"], num_samples=plan["draws"], num_chains=chains, chain_method=method,
            progress_bar=plan["progress"],
        )  # fmt: skip
        mcmc.run(
            jax.random.key(plan["seed"] % 2**32), init_params=first if chains > 1 else first[0], extra_fields=FIELDS
        )
        positions = np.asarray(mcmc.get_samples(group_by_chain=True))
        extra = {name: np.asarray(value) for name, value in mcmc.get_extra_fields(group_by_chain=True).items()}
    steps = extra["num_steps"]
    depth = np.floor(np.log2(np.maximum(steps, 1))).astype(np.int64) + 1
    return Drawn(
        positions,
        {
            "acceptance_rate": extra["accept_prob"],
            "diverging": extra["diverging"],
            "energy": extra["energy"],
            "lp": -extra["potential_energy"],
            "n_steps": steps,
            "tree_depth": depth,
            "reached_max_treedepth": steps >= 2**nuts.max_treedepth - 1,
            "step_size": extra["adapt_state.step_size"],
            "step_size_bar": extra["adapt_state.step_size"],
        },
        clock.seconds,
    )
