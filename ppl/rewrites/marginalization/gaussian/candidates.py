"""Which variables can go together in Gaussian blocks, and which cannot, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import Node
from ppl.rewrites.factorization.partition import Partition
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_read, known_shape
from ppl.rewrites.marginalization.expressions.maps import Dense, Part, Select
from ppl.rewrites.marginalization.gaussian.residuals import FLAT, Residual, is_flat, is_normal, residuals_of
from ppl.rewrites.marginalization.program import Factor, Observation, Program, Term, reaches
from ppl.rewrites.marginalization.theorem import Refusal


def candidates(
    program: Program, kept: frozenset[RandomVariable]
) -> tuple[list[RandomVariable], list[Residual], list[Refusal]]:
    """The normal variables that can go together, the residuals of their factors, and those that cannot, and why."""
    declined: list[Refusal] = []
    chosen = [
        rv for rv in program.free if (is_flat(rv) or is_normal(rv)) and rv not in kept and None not in rv.type.shape
    ]
    while True:
        residuals, faults = _residuals(program, chosen)
        faults = faults or _unbounded(chosen, residuals)
        if not faults:
            return chosen, residuals, declined
        for rv, why in faults.items():
            declined.append(Refusal(rv, why))
        chosen = [rv for rv in chosen if rv not in faults]


def _unbounded(chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> dict[RandomVariable, str]:
    """Flat variables with entries on which nothing depends: their density cannot be integrated."""
    found: dict[RandomVariable, str] = {}
    for rv in chosen:
        if rv.family is not FLAT:
            continue
        seen = np.zeros(prod(known_shape(rv)), dtype=bool)
        for part in (p for r in residuals for p in r.map.parts if p.variable is rv):
            seen[slice(None) if isinstance(part, Dense) else picked(part)] = True
        if not seen.any():
            found[rv] = "nothing bounds its flat prior"
        elif not seen.all():
            found[rv] = f"nothing bounds its flat prior at entry {int(np.flatnonzero(~seen)[0])}"
    return found or _undetermined([rv for rv in chosen if rv.family is FLAT], residuals)


def _undetermined(flat: Sequence[RandomVariable], residuals: Sequence[Residual]) -> dict[RandomVariable, str]:
    """Flat variables whose columns add up to nothing in some proportion: rows do not bound that direction either."""
    columns: dict[Node, int] = {rv: prod(known_shape(rv)) for rv in flat}
    mine = [[p for p in r.map.parts if p.variable in columns] for r in residuals]
    used = [(r, parts) for r, parts in zip(residuals, mine, strict=True) if parts]
    total, rows = sum(columns.values()), sum(prod(r.map.shape) for r, _ in used)
    factors = [p.design if isinstance(p, Dense) else p.coefficient for _, parts in used for p in parts]
    if total < 2 or total * rows > LIMITS.numbers_compared or not all(map(is_read, factors)):
        return {}
    design, row = np.zeros((rows, total)), 0
    starts = dict(zip(columns, np.cumsum([0, *columns.values()]).tolist(), strict=False))
    for r, parts in used:
        below = row + prod(r.map.shape)
        for part in parts:
            start = starts[part.variable]
            design[row:below, start : start + columns[part.variable]] += _columns(part, r)
        row = below
    lengths = np.sqrt((design**2).sum(axis=0))
    if np.linalg.matrix_rank(design / np.where(lengths > 0, lengths, 1.0)) == total:
        return {}
    return dict.fromkeys(flat, "nothing bounds its flat prior in some direction: its columns depend on each other")


def _columns(part: Part, r: Residual) -> np.ndarray:
    """The numbers that a part has for each row and each entry of its variable."""
    n, size = prod(r.map.shape), prod(known_shape(part.variable))
    if isinstance(part, Dense):
        return data_value(part.design).reshape(n, size)
    found = np.zeros((n, size))
    found[np.arange(n), part.positions.ravel()] = np.broadcast_to(data_value(part.coefficient), r.map.shape).ravel()
    return found


def picked(part: Select) -> np.ndarray:
    """The entries that rows pick with a coefficient that is not known to be zero."""
    if not part.coefficient.ndim or not is_read(part.coefficient):
        return part.positions.ravel()
    weight = np.broadcast_to(data_value(part.coefficient), part.positions.shape)
    return part.positions[weight != 0]


def _residuals(program: Program, chosen: Sequence[RandomVariable]) -> tuple[list[Residual], dict[RandomVariable, str]]:
    block: set[Node] = set(chosen)
    place: dict[Node, int] = {rv: i for i, rv in enumerate(chosen)}
    symbols: set[Node] = set(program.free)
    found: list[Residual] = []
    faults: dict[RandomVariable, str] = {}
    for factor in program.factors:
        seen = reaches(factor, symbols)
        mine = {factor} if isinstance(factor, RandomVariable) else set()
        used = [chosen[i] for i in sorted(place[rv] for rv in (seen | mine) & block)]
        if not used or is_flat(factor):
            continue
        try:
            found += residuals_of(factor, block)
        except NotAffine as why:
            faults.update(_to_blame(factor, used, str(why)))
    return found, faults


def _to_blame(factor: Factor, used: Sequence[RandomVariable], why: str) -> dict[RandomVariable, str]:
    """The variables that stand in the way: those that do alone, else (a product of two, say) the smallest."""
    alone: dict[RandomVariable, str] = {}
    for rv in used:
        if rv is factor:
            continue
        try:
            residuals_of(factor, {rv} if isinstance(factor, Observation | Term) else {rv, factor})
        except NotAffine as reason:
            alone[rv] = str(reason)
    if alone:
        return alone
    parents = [rv for rv in used if rv is not factor] or list(used)
    return {min(parents, key=lambda rv: prod(known_shape(rv))): why}


def components(
    chosen: Sequence[RandomVariable], residuals: Sequence[Residual]
) -> list[tuple[list[RandomVariable], list[Residual]]]:
    """The block as separate blocks that share no factor."""
    joined = Partition[Node]()
    used = [(r, [p.variable for p in r.map.parts]) for r in residuals if r.map.parts]
    for _, variables in used:
        joined.join(variables)
    mine: dict[Node, list[Residual]] = {}
    for r, variables in used:
        mine.setdefault(joined.of(variables[0]), []).append(r)
    return [(each, mine.get(root, [])) for root, each in joined.sets(chosen).items()]  # type: ignore[misc]
