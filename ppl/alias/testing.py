"""PyMC's stand-in for `pm.sample` in tests of programs: prior draws in the layout of a posterior."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ppl.distributions import HalfNormal, Normal
from ppl.model import sample_prior_predictive
from ppl.model.context import modelcontext


def mock_sample(
    draws: int = 10,
    *,
    model: Any = None,
    chains: int = 1,
    random_seed: Any = None,
    var_names: Any = None,
    sample_stats: Any = None,
    idata_kwargs: Any = None,
    **kwargs: Any,
) -> Any:
    """Draws of the prior as if they were a posterior, for tests that look at names, shapes and plots.

    `sample_stats` holds a function of the shape (chains, draws) for each statistic that the result shall have.
    """
    model = modelcontext(model)
    result = sample_prior_predictive(model=model, draws=draws * chains, var_names=var_names, random_seed=random_seed)
    names = list(result["prior"].data_vars)
    arrays = {name: np.asarray(result["prior"][name]).reshape((chains, draws, -1)) for name in names}
    return _as_posterior(result, arrays, chains, draws, sample_stats)


def _as_posterior(result: Any, arrays: dict[str, np.ndarray], chains: int, draws: int, statistics: Any) -> Any:
    import xarray

    prior = result["prior"].to_dataset() if hasattr(result["prior"], "to_dataset") else result["prior"]
    coords = {name: prior[name] for name in prior.coords if name not in ("chain", "draw")}
    posterior = xarray.Dataset(
        {
            name: (prior[name].dims, array.reshape((chains, draws, *prior[name].shape[2:])))
            for name, array in arrays.items()
        },
        coords={"chain": np.arange(chains), "draw": np.arange(draws), **coords},
    )
    groups = {"posterior": posterior}
    if statistics:
        groups["sample_stats"] = xarray.Dataset(
            {name: (("chain", "draw"), make((chains, draws))) for name, make in statistics.items()},
            coords={"chain": np.arange(chains), "draw": np.arange(draws)},
        )
    for name in [g.strip("/") for g in (result.groups() if callable(result.groups) else result.groups)]:
        if name in ("prior", "prior_predictive"):
            del result[name]
    for name, dataset in groups.items():
        if hasattr(result, "add_groups"):
            result.add_groups({name: dataset})
        else:
            result[name] = xarray.DataTree(dataset)
    return result


def mock_sample_setup_and_teardown() -> Iterator[None]:
    """A fixture: while it lasts, `pm.sample` is `mock_sample`, and flat priors, which cannot be drawn, are normal."""
    packages = [sys.modules[name] for name in ("ppl", "pymc") if name in sys.modules]
    instead = {"Flat": Normal, "HalfFlat": HalfNormal, "sample": mock_sample}
    before = [(package, name, getattr(package, name)) for package in packages for name in instead]
    for package, name, _ in before:
        setattr(package, name, instead[name])
    try:
        yield
    finally:
        for package, name, value in before:
            setattr(package, name, value)
