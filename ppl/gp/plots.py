"""Pictures of draws of a process."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

BANDS = 40  # between the percentiles 51 and 99
LINES = 30


def plot_gp_dist(
    ax: Any,
    samples: Any,
    x: Any,
    plot_samples: bool = True,
    palette: str = "Reds",
    fill_alpha: float = 0.8,
    samples_alpha: float = 0.1,
    fill_kwargs: dict[str, Any] | None = None,
    samples_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Draw a process of one input on matplotlib's axes: bands between percentiles, and some draws as lines.

    `samples` has a row for each draw and a column for each point of `x`.
    """
    import matplotlib.pyplot as plt

    samples, x = np.asarray(samples), np.asarray(x).flatten()
    if samples.ndim != 2 or samples.shape[1] != len(x):
        raise ValueError(f"plot_gp_dist: samples has shape {samples.shape}, and x has {len(x)} points: give a row for "
                         "each draw and a column for each point")  # fmt: skip
    if np.isnan(samples).any():
        warnings.warn(
            "There are `nan` entries in the [samples] arguments. The plot will not contain a band!",
            UserWarning,
            stacklevel=2,
        )
    colors = plt.get_cmap(palette)
    percentiles = np.linspace(51, 99, BANDS)
    upper, lower = np.percentile(samples, percentiles, axis=0), np.percentile(samples, 100 - percentiles, axis=0)
    for i in range(BANDS):  # the widest band last of the list, drawn first
        shade = colors(i / (BANDS - 1))
        ax.fill_between(x, upper[-1 - i], lower[-1 - i], color=shade, alpha=fill_alpha, **(fill_kwargs or {}))
    if plot_samples:
        some = np.random.default_rng().integers(0, len(samples), LINES)
        ax.plot(x, samples[some].T, color=colors(0.9), lw=1, alpha=samples_alpha, **(samples_kwargs or {}))
    return ax
