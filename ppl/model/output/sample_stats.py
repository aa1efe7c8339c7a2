"""Statistics of draws: the same names and dtypes, PyMC's, whichever sampler ran."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

DTYPES: dict[str, type] = {
    "acceptance_rate": np.float64,
    "diverging": np.bool_,
    "divergences": np.int64,
    "energy": np.float64,
    "energy_error": np.float64,
    "max_energy_error": np.float64,
    "index_in_trajectory": np.int64,
    "lp": np.float64,
    "n_steps": np.int64,
    "tree_depth": np.int64,
    "reached_max_treedepth": np.bool_,
    "step_size": np.float64,
    "step_size_bar": np.float64,
    "smallest_eigval": np.float64,
    "largest_eigval": np.float64,
    "perf_counter_start": np.float64,
    "perf_counter_diff": np.float64,
    "process_time_diff": np.float64,
}
NUTPIE = {
    "logp": "lp",
    "mean_tree_accept": "acceptance_rate",
    "depth": "tree_depth",
    "maxdepth_reached": "reached_max_treedepth",
}


def complete(stats: Mapping[str, np.ndarray], renamed: Mapping[str, str] | None = None) -> dict[str, np.ndarray]:
    """All statistics that PyMC's NUTS gives, then those of other step methods; what a sampler does not know is nan.

    >>> import numpy as np
    >>> full = complete({"diverging": np.array([[True, False, True]])})
    >>> full["divergences"], full["lp"]
    (array([[1, 1, 2]]), array([[nan, nan, nan]]))
    """
    given = _by_name({(renamed or {}).get(name, name): np.asarray(value) for name, value in stats.items()})
    if not given:
        return {}
    shape = next(iter(given.values())).shape[:2]
    if "diverging" in given:
        given.setdefault("divergences", np.cumsum(given["diverging"], axis=1))
    elif "n_steps" not in given and "acceptance_rate" not in given:  # no trajectories at all
        return given
    found = {}
    for name, kind in DTYPES.items():
        if name in given:
            found[name] = given[name].astype(kind)
        else:
            found[name] = np.full(shape, np.nan) if kind is np.float64 else np.zeros(shape, kind)
    return found | {name: value for name, value in given.items() if name not in DTYPES}


def _by_name(stats: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Statistics of several moves, "accept[0]", "accept[1]", ..., as one array; those of a single one as they are."""
    found: dict[str, np.ndarray] = {}
    parts: dict[str, list[np.ndarray]] = {}
    for name, value in stats.items():
        if name.endswith("]"):
            parts.setdefault(name[: name.rindex("[")], []).append(value)
        else:
            found[name] = value
    return found | {name: each[0] if len(each) == 1 else np.stack(each, axis=-1) for name, each in parts.items()}
