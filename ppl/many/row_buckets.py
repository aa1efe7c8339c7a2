"""Data sets of many sizes through few programs: rows are padded to the next of some sizes, and padding does not count.

A compiled program has fixed shapes, so that data sets of 200 lengths would need 200 of them. Where rows stay in the
density that is sampled, they are observed here in another way that has the same density: the terms of as many rows as
the bucket has are added up, those beyond the real ones left out. The last real row stands in the padding, so that it is
finite where data are. Rows that planning turns into statistics share programs without this, and are left as they are.

That a model goes over its rows one by one is not taken on trust: for a data set of each bucket both densities are
compared at a point, and where they differ (as by a predictor less the mean of its rows) data keep their own lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, flattened, layout, values_at
from ppl.graph import ancestors, substitute
from ppl.model.inputs.data import Data, set_data
from ppl.model.log import log
from ppl.model.model import Model, empty_like
from ppl.model.posterior.density import Joint
from ppl.model.posterior.point import initial_point
from ppl.model.posterior.rewriting import rewritten
from ppl.model.registry.named import Potential
from ppl.model.registry.rebuilding import rebuilt
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.engine.engine import strict
from ppl.tensor.tensor import Tensor

LEAST_SIZES = 6  # different lengths from which on buckets are worth their padding
GROWTH, MOST_BUCKETS = 1.25, 10  # how much longer the next bucket is, unless that makes too many
PADDED, REAL = "{} with padding", "rows that are real"

Values = Mapping[str, Any]


class NotPaddedError(ValueError):
    """Why the rows of a model cannot be padded."""


class Buckets:
    """The model that sees padded rows, and which lengths there are."""

    def __init__(self, model: Model, names: Sequence[str], sizes: Sequence[int], shown: bool) -> None:
        self.model, self.names, self.sizes = model, list(names), list(sizes)
        self._shown = shown  # whether named expressions of the model read rows themselves

    def size_of(self, values: Values) -> int | None:
        """The bucket of a data set."""
        rows = rows_of(values, self.names)
        return next((size for size in self.sizes if size >= rows), None) if rows else None

    def holds(self, values: Values, defaults: Values) -> bool:
        """Whether a data set can be padded; then the model holds it."""
        every = {**defaults, **values}
        size, rows = self.size_of(every), rows_of(every, self.names)
        if size is None or rows is None:
            return False
        padded = {PADDED.format(name): _longer(np.asarray(every[name]), size) for name in self.names}
        fixed = {name: value for name, value in every.items() if name not in self.names or self._shown}
        set_data({**fixed, **padded, REAL: np.arange(size) < rows}, self.model)
        return True


def buckets_for(model: Model, sets: Sequence[Values], defaults: Values, wanted: bool | None) -> Buckets | None:
    """How data sets are padded; None where they are not, since it would not help or cannot be done."""
    lengths = {name: {len(np.atleast_1d(s.get(name, default))) for s in sets} for name, default in defaults.items()}
    names = [name for name, found in lengths.items() if len(found) > 1]
    sizes = sorted({n for s in sets if (n := rows_of({**defaults, **s}, names))})
    if wanted is False or len(sizes) < (LEAST_SIZES if wanted is None else 2):
        return None
    try:
        made, shown = _padded(model, names)
        found = Buckets(made, names, buckets_of(sizes), shown)
        every = [{**defaults, **s} for s in sets]
        known = [each for each in every if found.size_of(each)]
        padding = lambda each: (found.size_of(each) or 0) - (rows_of(each, names) or 0)
        reason = _why_not_alike(model, found, max(known, key=padding))
        reason = reason or _why_not_worth_it(
            model, found, max(known, key=lambda each: rows_of(each, names) or 0), wanted
        )
    except NotPaddedError as error:
        reason = str(error)
    except Exception as error:  # data sets keep their own lengths, which is right but slower
        if strict.on:
            raise
        reason = f"{type(error).__name__}: {error}"
    if reason:
        (log.warning if wanted else log.debug)("sample_many: rows are not padded, since %s", reason)
        return None
    return found


def rows_of(values: Values, names: Sequence[str]) -> int | None:
    """The common length of data by row; None where they differ."""
    found = {len(values[name]) if np.ndim(values[name]) else -1 for name in names}
    return next(iter(found)) if len(found) == 1 else None


def buckets_of(sizes: Sequence[int]) -> list[int]:
    """Lengths up to which data of such sizes are padded, each that there is anything for."""
    low, high = max(1, min(sizes)), max(sizes)
    growth = max(GROWTH, (high / low) ** (1 / (MOST_BUCKETS - 1)))
    steps = math.ceil(math.log(high / low) / math.log(growth) - 1e-9)
    bounds = [min(high, math.ceil(low * growth**k)) for k in range(steps + 1)]
    return sorted({next(bound for bound in [*bounds, high] if bound >= n) for n in sizes})


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([array, np.repeat(array[-1:], size - len(array), axis=0)])


def _padded(model: Model, names: Sequence[str]) -> tuple[Model, bool]:
    """The model whose observed rows are padded, and whether names of it depend on rows too."""
    rows = {model.named_vars[name] for name in names}
    by_rows = [rv for rv in model.observed_RVs if rows & ancestors([model.rvs_to_values[rv], rv])]
    of_rows = lambda var: bool(rows & ancestors([var]))
    if moved := [str(rv.name) for rv in model.free_RVs if of_rows(rv)]:
        raise NotPaddedError(f"the free variables {', '.join(moved)} depend on rows")
    if not by_rows or model.rvs_to_total_sizes or set(by_rows) & set(model.processes):
        raise NotPaddedError("no observed variable has rows of its own")
    left_out = frozenset(str(rv.name) for rv in by_rows)
    if any(set(by_rows) & ancestors([var]) for var in model.named_vars.values() if var not in by_rows):
        raise NotPaddedError("variables depend on observed ones")
    made = rebuilt(model, empty_like(model), left_out=left_out)
    at: dict[Any, Any] = {
        var: made.named_vars[name]
        for name, var in model.named_vars.items()
        if name in made.named_vars and not of_rows(var)
    }
    with made:
        at |= {var: Data(PADDED.format(var.name), var.get_value()) for var in rows}  # type: ignore[attr-defined]
        real = Data(REAL, np.ones(len(next(iter(rows)).get_value()), bool))  # type: ignore[attr-defined]
        for rv in by_rows:
            value = substitute(model.rvs_to_values[rv], at)
            terms = rv.family.log_density(value, *[substitute(p, at) for p in rv.parameters])  # type: ignore[attr-defined]
            here = tt.reshape(real, (-1, *(1,) * (terms.ndim - 1)))
            Potential(str(rv.name), tt.sum(tt.where(here, terms, 0.0)))
    shown = any(of_rows(var) for var in model.deterministics)
    return made, shown


def _why_not_alike(model: Model, buckets: Buckets, values: Values) -> str:
    """Why rows cannot be padded; nothing where padding leaves the density alone."""
    set_data(values, model)
    buckets.holds({}, values)
    same = np.isclose(_at_a_point(model), _at_a_point(buckets.model), rtol=1e-9, atol=1e-9)
    return "" if same else "the model does not go over its rows one by one"


def _why_not_worth_it(model: Model, buckets: Buckets, values: Values, wanted: bool | None) -> str:
    """Why rows should not be padded; nothing where that leaves the plan alone, and rows are in it."""
    set_data(values, model)
    buckets.holds({}, values)
    own, padded = rewritten(model), rewritten(buckets.model)
    if {str(value.name) for value in own.values} != {str(value.name) for value in padded.values}:
        return "variables of the model are integrated out with its rows as they are"
    density = FlatProgram([own.logp()], layout(own.values, own.start(None, [0, 0])), once=own.of_data)
    rows = rows_of(values, buckets.names)
    if not wanted and not any(rows in place.type.shape for place in density.program.places):  # type: ignore[attr-defined]
        return "no rows are left in the density"
    return ""


def _at_a_point(model: Books) -> float:
    """The joint log-density as written, where no value is at its start."""
    inputs: list[Tensor] = [model.rvs_to_values[rv] for rv in model.free_RVs]
    point = initial_point(model)
    slots = layout(inputs, point)
    position = flattened(slots, point)
    position += np.random.default_rng(1).uniform(-0.5, 0.5, len(position))
    return float(values_at([Joint(model).total()], slots, position)[0])
