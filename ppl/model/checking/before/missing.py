"""Data that are missing: as nan where nothing replaces them, or as a number that stands for "missing"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import RandomVariable
from ppl.distributions.families.custom_dist import Custom
from ppl.graph import Node, ancestors
from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.survey import Survey, constant_of, law_inputs
from ppl.model.inputs.data_checks import CARRIES_NAN
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.tensor import is_constant
from ppl.tensor.variables import Variable

KINDS = ("missing data",)

SENTINELS = (-99.0, -999.0, -9999.0, 999.0, 9999.0, 99999.0)
FEWEST, FAR = 5, 3.0  # values, and how many ranges of the others a sentinel is away from them


def find(survey: Survey) -> Iterator[Finding]:
    """nan and infinite numbers among covariates, and numbers such as -999 far from all others."""
    laws = [(rv, rv.name or "", law_inputs(rv)) for rv in (*survey.observed, *survey.free)]
    potentials = [(p, p.name or "", (p,)) for p in survey.now.potentials]
    for var, name, parameters in (*laws, *potentials):
        if isinstance(var, RandomVariable) and issubclass(var.family, Custom):
            continue
        for source, bad in ((s, b) for p in parameters if (s := _not_finite(p)) and (b := s[1]).any()):
            named = [v.name or "" for v in ancestors([source[0]]) if isinstance(v, Variable) and _is_bad(v.value)]
            which = f'the data "{named[0]}"' if named else f"an array of shape {bad.shape}"
            place = np.argwhere(bad)[0]
            at = tuple(int(i) for i in place) if bad.ndim > 1 else int(place[0]) if bad.ndim else 0
            yield Finding(
                "missing data", (name, *dict.fromkeys(named)), "error",
                f'"{name}" depends on {which}, where {int(bad.sum())} of {bad.size} values are nan or infinite, the '
                f"first at position {at}: its density is nan.",
                f"Leave these rows out, fill the values in, or make {which if named else 'it'} an observed variable "
                "with a law of its own, so that missing values are imputed.",
            )  # fmt: skip
            break
    yield from _sentinels(survey)


def _not_finite(parameter: Node) -> tuple[Node, np.ndarray] | None:
    """Data that make an expression nan, wherever they reach it through operations that carry nan, and which are."""
    stack, seen = [parameter], {parameter}
    while stack:
        node = stack.pop()
        if is_data(node):
            value = constant_of(node)
            if value is None or not _is_bad(value):
                continue
            bad = np.isnan(value) if node is parameter else ~np.isfinite(value)  # a bound may be infinite
            if bad.any():
                return node, bad
        elif node.op.name in CARRIES_NAN:
            fresh = [x for x in node.inputs if x not in seen]
            seen.update(fresh)
            stack += reversed(fresh)
    return None


def _is_bad(value: np.ndarray) -> bool:
    return value.dtype.kind == "f" and not np.isfinite(value).all()


def _sentinels(survey: Survey) -> Iterator[Finding]:
    for rv, values in survey.values.items():
        yield from _sentinel(survey, (rv.name or "",), f'observed values of "{rv.name}"', values)
    told: set[int] = set()
    for rv, inputs in survey.laws:
        if not isinstance(rv, RandomVariable):
            continue
        for node in ancestors(inputs, blockers=set(survey.free)):
            if id(node) in told or not (isinstance(node, Variable) or is_constant(node)):
                continue
            told.add(id(node))
            value = constant_of(node)
            name = getattr(node, "name", None)
            what = f'the data "{name}"' if name else f'the data that "{rv.name}" depends on'
            if value is not None:
                yield from _sentinel(survey, (name or rv.name or "",), what, value)


def _sentinel(survey: Survey, names: tuple[str, ...], what: str, values: np.ndarray) -> Iterator[Finding]:
    if values.size < FEWEST or values.dtype.kind not in "fi":
        return
    columns = values.reshape(len(values), -1) if values.ndim == 2 else values.reshape(-1, 1)
    for column in columns.T[:200]:
        extremes = [x for x in (column.min(), column.max()) if float(x) in SENTINELS]
        for code in extremes:
            others = column[column != code]
            if len(others) < FEWEST - 1 or len(others) < len(column) / 2 or np.isnan(others).any():
                continue
            if np.min(np.abs(others - code)) > FAR * max(np.ptp(others), np.max(np.abs(others)) / FAR):
                times = int(np.sum(column == code))
                yield Finding(
                    "missing data", names, "warning",
                    f"{times} of {what} {'is' if times == 1 else 'are'} {code:g}, far from all others, which lie "
                    f"from {others.min():.3g} to {others.max():.3g}: {code:g} often stands for a missing value.",
                    f"If so, replace {code:g} by nan in {quoted(names)} (observed values that are nan are imputed), "
                    "or leave these rows out.",
                )  # fmt: skip
