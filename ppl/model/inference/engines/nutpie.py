"""nutpie's NUTS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, scalar
from ppl.model.finishing.runs import Clock, Drawn
from ppl.model.inference.engines.package import finite_starts, missing, refuse
from ppl.model.inference.sampling_options import Nuts
from ppl.model.starting.start_points import Starts
from ppl.xla.later import jax, jnp
from ppl.xla.stacks import Jitted

OPTIONS = ("low_rank_modified_mass_matrix", "use_grad_based_mass_matrix", "maxdepth")


def sample_nutpie(
    density: FlatProgram, starts: Starts, nuts: Nuts, plan: dict[str, Any], options: dict[str, Any]
) -> Drawn:
    """Sample with nutpie, which calls the compiled density from its own threads."""
    try:
        from nutpie.compiled_pyfunc import from_pyfunc
        from nutpie.sample import sample
    except ImportError as error:
        raise missing("nutpie") from error
    refuse("nutpie", nuts, options, OPTIONS)
    clock = Clock()
    data = density.data
    with jax.enable_x64(True):
        # one array for both: each array that goes from JAX to NumPy costs as much as a small density
        evaluate = Jitted(lambda x: jnp.hstack(jax.value_and_grad(scalar(density))(x, *data)))
        first = finite_starts(density, starts, plan["chains"])

    def make_density() -> Any:
        def logp(x: np.ndarray) -> tuple[float, np.ndarray]:
            with jax.enable_x64(True):
                both = np.asarray(evaluate(x), np.float64)
            return float(both[0]), both[1:]

        return logp

    def make_expand(*seeds: Any, **more: Any) -> Any:
        return lambda x, **rest: {"position": np.asarray(x, np.float64)}

    turn = iter(range(10**9))
    compiled = from_pyfunc(
        starts.dim, make_density, make_expand, [np.dtype("float64")], [(starts.dim,)], ["position"],
        make_initial_point_fn=lambda seed: first[next(turn) % len(first)],
    )  # fmt: skip
    result = sample(
        compiled, draws=plan["draws"], tune=plan["tune"], chains=plan["chains"], cores=plan["cores"],
        seed=plan["seed"] % 2**32, target_accept=nuts.target_accept, progress_bar=plan["progress"], save_warmup=True,
        **{"maxdepth": nuts.max_treedepth, **options},
    )  # fmt: skip

    def stats(group: Any) -> dict[str, np.ndarray]:
        kept = {str(k): np.asarray(v.values) for k, v in group.data_vars.items()}
        return {k: v for k, v in kept.items() if v.ndim == 2 and v.dtype.kind in "fiub" and k != "tuning"}

    warm = getattr(result, "warmup_posterior", None)
    return Drawn(
        np.asarray(result.posterior["position"].values),
        stats(result.sample_stats),
        clock.seconds,
        None if warm is None else np.asarray(warm["position"].values),
        {} if warm is None else stats(result.warmup_sample_stats),
    )
