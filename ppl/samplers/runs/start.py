"""Finding a point to start from, and saying why there is none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.samplers.runs.errors import StartError

Terms = Callable[[np.ndarray], Mapping[str, Any]]


NEVER = -1e299  # a state whose log-density is lower was never at a point: there it is -inf or nan


def fault(position: np.ndarray, logp: float, gradient: np.ndarray) -> bool:
    """Can no chain start here?"""
    return logp <= NEVER or not (np.isfinite(logp) and np.all(np.isfinite(gradient)) and np.all(np.isfinite(position)))


def describe_failure(
    chain: int,
    tries: int,
    position: np.ndarray,
    logp: float,
    gradient: np.ndarray,
    names: Sequence[str] | None,
    terms: Terms | None,
) -> StartError:
    """The error for a chain whose start has no finite log-density or gradient, naming what is not finite."""
    logp = float("-inf") if logp <= NEVER else logp
    found = f"log-density {logp:g}"
    bad = np.flatnonzero(~np.isfinite(gradient))
    if np.isfinite(logp) and bad.size:
        shown = ", ".join(f"{_name(i, names)} = {position[i]:.4g} has gradient {gradient[i]:g}" for i in bad[:5])
        found = f"the log-density {logp:.6g} is finite but its gradient is not: {shown}"
        found += f" and {bad.size - 5} more" if bad.size > 5 else ""
    lines = [f"Chain {chain} found no starting point in {tries} {'try' if tries == 1 else 'tries'}: {found}."]
    outside = [i for i in range(position.size) if not np.isfinite(position[i])]
    if outside:
        lines.append("Not finite in the starting point: " + ", ".join(_name(i, names) for i in outside[:5]) + ".")
    lines += [f'Term "{name}" is {text}.' for name, text in _bad_terms(terms, position)]
    lines.append(
        "Give other starting values, or look for data outside the support of their distribution and for parameters"
        " outside their domain."
    )
    return StartError(" ".join(lines))


def _bad_terms(terms: Terms | None, position: np.ndarray) -> list[tuple[str, str]]:
    if terms is None:
        return []
    bad = []
    for name, value in terms(position).items():
        values = np.asarray(value)
        if np.all(np.isfinite(values)):
            continue
        where = np.argwhere(~np.isfinite(values))
        first = tuple(int(i) for i in where[0])
        text = f"{values[first]:g}" + (f" at index {list(first)} ({len(where)} of {values.size})" if first else "")
        bad.append((str(name), text))
    return bad


def _name(i: int, names: Sequence[str] | None) -> str:
    return f'"{names[i]}"' if names is not None else f"position[{i}]"
