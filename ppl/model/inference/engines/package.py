"""What is asked of another package: that it is installed and knows the options, and starts that are finite for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram, scalar
from ppl.model.errors import SamplingError
from ppl.model.inference.sampling_options import Nuts
from ppl.model.starting.start_points import Starts
from ppl.xla.later import jax
from ppl.xla.stacks import Jitted


def missing(package: str) -> ImportError:
    """The error for a package that is not installed."""
    return ImportError(
        f"nuts_sampler={package!r} needs the package {package}, which is not installed. Install it, or leave "
        "nuts_sampler out to use the sampler of this package."
    )


def refuse(package: str, nuts: Nuts, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise for settings that the package's sampler does not have."""
    if nuts.step_scale is not None or nuts.integrator != "leapfrog" or nuts.metric not in ("auto", "welford_diag"):
        raise ValueError(f"step_scale, integrator and this init have no counterpart in {package}: leave them out")
    for name in given:
        if name not in known:
            raise TypeError(
                f"nuts_sampler_kwargs: {name!r} is not passed on to {package}; there are {', '.join(known)}"
            )


def finite_starts(density: FlatProgram, starts: Starts, chains: int) -> np.ndarray:
    """A start for each chain with a finite density and gradient, (chains, dim)."""
    data = density.data
    evaluate = Jitted(lambda x: jax.value_and_grad(scalar(density))(x, *data))
    found = []
    for chain in range(chains):
        for attempt in range(10):
            position = np.asarray(starts(chain, attempt), np.float64)
            value, gradient = evaluate(position)
            if np.isfinite(value) and np.all(np.isfinite(gradient)):
                found.append(position)
                break
        else:
            raise SamplingError(f"Chain {chain} found no starting point with a finite log-density and gradient.")
    return np.stack(found)
