"""`init_nuts`: where chains would start, and the step that would move them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.compile.density import FlatProgram
from ppl.model.arguments import check_keys, count
from ppl.model.context import modelcontext
from ppl.model.inference.sampling_options import nuts_options, refuse_unknown
from ppl.model.inference.steps import NUTS
from ppl.model.posterior.point import Point
from ppl.model.posterior.rewriting import rewritten
from ppl.model.seeds import seed_of
from ppl.model.starting.approximate_starts import approximate_starts
from ppl.model.starting.start_points import starts_for

if TYPE_CHECKING:
    from ppl.model.model import Model


def init_nuts(
    *,
    init: str = "auto",
    chains: int = 1,
    n_init: int | None = None,
    model: Model | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
    quiet: bool = False,
    jitter_max_retries: int = 10,
    tune: int | None = None,
    initvals: Any = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> tuple[list[Point], NUTS]:
    """Starting points, one a chain, and NUTS for all variables of a model as it is written.

    `sample(initvals=..., step=...)` takes both. The metric is found while sampling tunes, whatever `init` says of it;
    so `tune`, `jitter_max_retries`, `progressbar` and `quiet`, which are about PyMC's search, have nothing to say here.

    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1)
    ...     starts, step = pm.init_nuts(chains=2, random_seed=1, progressbar=False)
    >>> len(starts), type(step).__name__
    (2, 'NUTS')
    """
    options = dict(kwargs)
    nuts = nuts_options(init, options, None)
    refuse_unknown(options, init_nuts)
    lost = sorted(set(kwargs) - {"target_accept", "max_treedepth"})
    if lost:
        raise TypeError(
            f"init_nuts() makes a step of target_accept= and max_treedepth=: give {', '.join(lost)} to sample()"
        )
    if n_init is not None and nuts.begin != "advi":
        warnings.warn("n_init counts iterations of ADVI starts, and there are none here", UserWarning, stacklevel=2)
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    model = modelcontext(model)
    step = NUTS(max_treedepth=nuts.max_treedepth, target_accept=nuts.target_accept, model=model)
    starts = starts_for(
        rewritten(model, False), initvals, count("chains", chains, 1), seed_of(random_seed), nuts.jitter
    )
    if nuts.begin in ("advi", "pathfinder"):
        posterior = rewritten(model, False)
        density = FlatProgram([posterior.logp()], starts.slots, once=posterior.of_data)
        starts.move(approximate_starts(density, starts, chains, nuts.begin, n_init))
    points = [
        {slot.variable.name or "": np.asarray(slot.read(position)) for slot in starts.slots}
        for position in (starts(chain, 0) for chain in range(chains))
    ]
    return points, step
