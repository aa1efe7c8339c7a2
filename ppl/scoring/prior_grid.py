"""How a posterior moves when numbers of its priors are others: refits over a grid of values of `pm.Data`.

The numbers are data, so that all refits share one program.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.many.sample_many import sample_many
from ppl.model.arguments import chosen_names
from ppl.model.output.traces import from_trace
from ppl.model.registry.variable_registry import Books


def refitted(
    idata: Any, model: Books, grid: Mapping[str, Any], var_names: Any, *, executor: Any, **options: Any
) -> Any:
    """A row for each point of the grid and each quantity: mean and standard deviation there, how many of the standard
    deviations of `idata` the mean has moved, and the ratio of the standard deviations."""
    import pandas as pd

    names = list(grid)
    data = [variable.name or "" for variable in model.data_vars]
    if not names or (unknown := [name for name in names if name not in data]):
        told = ", ".join(unknown) if names else "nothing"
        raise ValueError(
            f"sensitivity: grid= gives values to pm.Data, as pm.Data('scale', 5.0) in a prior; got {told}, and the"
            f" model has {', '.join(data) or 'none'}"
        )
    for given in ("keep", "on_error", "model"):
        if given in options:
            raise TypeError(f"sensitivity: {given}= is decided by what the table needs: leave it out")
    base = from_trace(idata).values
    known = [name for name, x in base.items() if x.dtype.kind in "fiub"]
    wanted = known if var_names is None else chosen_names("var_names", var_names, known)
    points = list(itertools.product(*[list(values) for values in grid.values()]))
    fits = sample_many(
        [dict(zip(names, point, strict=True)) for point in points], model=model, keep=Moments(wanted),
        on_error="raise", executor=executor, **options,
    )  # type: ignore[call-arg]  # fmt: skip
    if fits.interrupted:
        raise KeyboardInterrupt
    before = moments({name: base[name] for name in wanted})
    rows = [
        (*map(_shown, point), label, mean, sd, (mean - before[label][0]) / before[label][1], sd / before[label][1])
        for point, fit in zip(points, fits, strict=True)
        for label, (mean, sd) in fit.items()
    ]
    columns = [*names, "quantity", "mean", "sd", "shift", "sd_ratio"]
    return pd.DataFrame(rows, columns=columns).set_index([*names, "quantity"])


class Moments:
    """Keep means and standard deviations of some quantities."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __call__(self, result: Any, model: Any) -> dict[str, tuple[float, float]]:
        values = from_trace(result).values
        return moments({name: values[name] for name in self.names})


def moments(values: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each entry, by its label."""
    found = {}
    for name, draws in values.items():
        for place in np.ndindex(draws.shape[2:]):
            here = draws[(..., *place)].astype(float)
            label = f"{name}[{', '.join(map(str, place))}]" if place else name
            found[label] = float(here.mean()), float(here.std(ddof=1))
    return found


def _shown(value: Any) -> Any:
    """A value of the grid as a label of rows."""
    return value if np.ndim(value) == 0 else str(np.asarray(value).tolist())
