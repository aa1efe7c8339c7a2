"""The table of a posterior: `pm.summary`.

It is ArviZ's table, worked out by the diagnostics of this package: importing ArviZ 0.x takes longer than sampling a
small model. What it is asked for beyond means, standard deviations, intervals and diagnostics of ordinary draws, it
leaves to ArviZ.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ppl.model.output.group import Group, Labeled
from ppl.model.output.inference_data import InferenceData, arviz
from ppl.model.output.results import CHAINS, group_names, group_of, has_groups, has_inference_data
from ppl.model.output.table import table
from ppl.samplers.runs.diagnostics import precision

KINDS = ("all", "stats", "diagnostics")
PROBABILITY = 0.94  # of the interval, unless ArviZ is told otherwise
FEWEST = 40  # draws of a chain
TOGETHER = 256  # quantities worked out at once: more need memory
DECIMALS = {"ess_bulk": 0, "ess_tail": 0, "r_hat": 2}  # of columns; all others have three


def summary(
    data: Any,
    var_names: Any = None,
    *positional: Any,
    group: str | None = None,
    kind: str = "all",
    round_to: Any = None,
    hdi_prob: float | None = None,
    **options: Any,
) -> Any:
    """A table with a row for each quantity: what its draws are, and how far they can be trusted.

    The arguments are those of the installed ArviZ's `summary`, and so is the table.

    Parameters
    ----------
    data : InferenceData, DataTree, Dataset or MultiTrace
        Draws, or a result that holds some.
    var_names : str or list of str, optional
        The variables in the table; all by default.
    *positional
        Further arguments by place, as of ArviZ's `summary`.
    group : str, optional
        The group of the result; "posterior" by default.
    kind : {"all", "stats", "diagnostics"}, default "all"
        Means, standard deviations and intervals; Monte Carlo errors, effective draws and R-hat; or both.
    round_to : int or "none", optional
        Digits behind the point.
    hdi_prob : float, optional
        The probability of the interval; 0.94 by default.
    **options
        Further arguments of ArviZ's `summary`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 3.0])
    ...     posterior = pm.sample(500, chains=2, random_seed=1, quiet=True)
    >>> list(pm.summary(posterior).index)
    ['mu']
    """
    if not positional and not options and kind in KINDS and has_inference_data():
        draws = _ordinary(data, var_names, group)
        probability = _probability() if hdi_prob is None else hdi_prob
        decimals = round_to in (None, "none", "None") or (isinstance(round_to, int) and not isinstance(round_to, bool))
        if draws is not None and probability is not None and 0 < probability < 1 and decimals:
            return _table(draws, kind, round_to, probability)
    given = {"group": group, "round_to": round_to, "hdi_prob": hdi_prob}
    given = {name: value for name, value in given.items() if value is not None} | options
    return arviz().summary(data, var_names, *positional, kind=kind, **given)


class Quantities(NamedTuple):
    """Draws of a variable, (chains, draws, quantities), and the label of each quantity."""

    labels: Sequence[str]
    draws: np.ndarray


def _ordinary(data: Any, var_names: Any, group: str | None) -> list[Quantities] | None:
    """The draws to be described; None where ArviZ has to look what they are."""
    if has_groups(data):
        there = group_names(data)
        first = next((name for name in ("posterior", "prior") if name in there), None)
        wanted = group or first or ""
        if wanted not in there:
            return None
        data = data.held(wanted) if type(data) is InferenceData else group_of(data, wanted)
    arrays = _arrays(data)
    lengths = [dict(zip(array.dims, array.values.shape, strict=True)).get("draw", FEWEST) for array in arrays.values()]
    if not lengths or min(lengths) < FEWEST:
        return None
    names = [var_names] if isinstance(var_names, str) else list(arrays if var_names is None else var_names)
    unknown = [name for name in names if name not in arrays]
    if unknown and not any(str(name).startswith("~") for name in names):
        raise KeyError(f"no variable {unknown[0]!r} in these draws: there are {', '.join(map(str, arrays))}")
    if unknown or len({*names}) < len(names):
        return None
    found = [_quantities(name, arrays[name], data.coords) for name in names]
    return [each for each in found if each is not None] if found and None not in found else None


def _arrays(data: Any) -> Mapping[Any, Labeled]:
    """The arrays of a group, or of a Dataset with the dimensions of draws; of other objects none."""
    if isinstance(data, Group):
        return data.arrays
    if not (hasattr(data, "data_vars") and {*CHAINS} <= {*data.dims}):
        return {}
    return {name: Labeled(array.dims, array.values) for name, array in data.data_vars.items()}


def _quantities(name: Any, array: Labeled, coords: Mapping[Any, Any]) -> Quantities | None:
    dims, values = list(array.dims), array.values
    if not {*CHAINS} <= {*dims}:
        return None
    values = np.moveaxis(values, [dims.index(dim) for dim in CHAINS], (0, 1))
    if values.dtype not in (np.float64, np.int64) or not values.size or not np.all(np.isfinite(values)):
        return None
    rest = [dim for dim in dims if dim not in CHAINS]
    axes = [
        [str(label) for label in (np.asarray(coords[dim]) if dim in coords else np.arange(n))]
        for dim, n in zip(rest, values.shape[2:], strict=True)
    ]
    labels = [f"{name}[{', '.join(each)}]" if each else name for each in itertools.product(*axes)]
    return Quantities(labels, values.reshape(*values.shape[:2], -1).astype(float))


def _table(found: list[Quantities], kind: str, round_to: Any, probability: float) -> Any:
    rows = [row for each in found for part in _parts(each.draws) for row in _rows(part, kind, probability)]
    tail = 100 * (1 - probability) / 2
    names = ["mean", "sd", f"hdi_{tail:g}%", f"hdi_{100 * (1 - (1 - probability) / 2):g}%"] if kind != KINDS[2] else []
    names += ["mcse_mean", "mcse_sd", "ess_bulk", "ess_tail", "r_hat"] if kind != KINDS[1] else []
    values = np.array(rows)
    if round_to not in ("none", "None"):
        for i, name in enumerate(names):
            values[:, i] = np.round(values[:, i], DECIMALS.get(name, 3) if round_to is None else round_to)
    return table(values, [label for each in found for label in each.labels], names)


def _parts(draws: np.ndarray) -> Iterator[np.ndarray]:
    return (draws[..., at : at + TOGETHER] for at in range(0, draws.shape[2], TOGETHER))


def _rows(draws: np.ndarray, kind: str, probability: float) -> Sequence[Sequence[float]]:
    columns: list[np.ndarray] = []
    if kind != "diagnostics":
        flat = draws.reshape(-1, draws.shape[2])
        columns += [flat.mean(axis=0), flat.std(axis=0, ddof=1), *_shortest(flat, probability)]
    if kind != "stats":
        columns += precision(draws)
    return np.stack(columns, axis=1).tolist()  # type: ignore[no-any-return]


def _shortest(flat: np.ndarray, probability: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the shortest interval that holds this share of the draws, for each column."""
    ordered, inside = np.sort(flat, axis=0), int(np.floor(probability * len(flat)))
    start = np.argmin(ordered[inside:] - ordered[: len(flat) - inside], axis=0)
    at = np.arange(flat.shape[1])
    return ordered[start, at], ordered[start + inside, at]


def _probability() -> float | None:
    """The probability of intervals that ArviZ is set to; None where only ArviZ can read it."""
    if "arviz" in sys.modules:
        return float(arviz().rcParams["stats.ci_prob"])
    home = Path(os.environ.get("XDG_CONFIG_HOME", "~/.config")).expanduser() / "arviz"
    folders = [Path.cwd(), *filter(None, [os.environ.get("ARVIZ_DATA")]), home, Path("~/.arviz").expanduser()]
    return None if any(Path(folder, "arvizrc").exists() for folder in folders) else PROBABILITY
