"""Where the variables of a block are measured from, so that what is summed over rows is small.

All variables are measured from where rows that are data, and priors, put them at unit scales. Columns with factors of
parameters have no such place: their rows are measured from a point of their own, before the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.expressions.products import Product
from ppl.rewrites.marginalization.gaussian.rows import Rows
from ppl.tensor.tensor import Tensor, as_tensor

RIDGE = 1e-9
ROUNDS = 2  # the second removes what rounding left of large numbers


class Block(Protocol):
    """What is used of a block here."""

    rows: list[Rows]
    ndense: int
    u_shift: list[Tensor] | None
    v_shift: Tensor | None

    def integral(self, rows: Sequence[Rows], *, ridge: float) -> Any:
        """The integral over the block of some rows, with a ridge on the diagonal of their precision."""


def center(block: Block) -> None:
    """Measure all variables from a least-squares fit; other rows are gone over as residuals, wherever that is.

    It is worked out in double precision, so that in single precision too no digit is lost far from zero.
    """
    if not any(r.observed and r.is_data() for r in block.rows):
        return
    fit = _Fit.of(block)
    for _ in range(ROUNDS):
        unit = [fit.at_unit_scale(r, i) for i, r in enumerate(block.rows)]
        known = [each for each, r in zip(unit, block.rows, strict=True) if r.is_data()]
        found = fit.block.integral(known, ridge=RIDGE)
        shift = None if found.v is None or not block.ndense else found.v[: block.ndense]
        for i, (each, r) in enumerate(zip(unit, block.rows, strict=True)):
            r.e = _moved(r, *((each.x, found.v) if r.is_data() else (r.x, shift)), found.u)
            if r.turn is not None and found.v is not None:
                there = found.v[fit.starts[i] : fit.starts[i] + r.turn.columns]
                r.turn = r.turn.measured_from(tt.cast(there, "floatX"))
        if shift is not None:
            block.v_shift = shift if block.v_shift is None else block.v_shift + shift
        if found.u:
            before = block.u_shift or [tt.zeros_like(x) for x in found.u]
            block.u_shift = [x + y for x, y in zip(before, found.u, strict=True)]
    for r in block.rows:
        r.e = tt.cast(r.e, "floatX")


@record
class _Fit:
    """The block with more dense columns, those of rows that are measured from a point of their own."""

    block: Block
    own: int  # dense columns of the block itself
    starts: dict[int, int]  # of the columns of these rows, by their number
    moved: np.ndarray  # which entries have factors in some rows

    @classmethod
    def of(cls, block: Block) -> _Fit:
        wider, starts, moved = copy(block), dict[int, int](), np.zeros(block.ndense, dtype=bool)
        for i, r in enumerate(block.rows):
            if r.turn is not None:
                starts[i] = wider.ndense
                wider.ndense += r.turn.columns
                moved |= r.turn.moved
        return cls(wider, block.ndense, starts, moved)

    def at_unit_scale(self, r: Rows, number: int) -> Rows:
        """Rows of data with a scale of one where it is not known, so that wide priors do not hold a fit back; groups
        with coefficients that are not data are left out of them."""
        pieces = [t for parts in r.terms.values() for t in parts]
        known = all(is_data(t.number) and is_data(t.data) for t in pieces)
        terms = {key: [Product(_wide(t.number), _wide(t.data)) for t in parts] for key, parts in r.terms.items()}
        scale = _wide(r.scale) if is_data(r.scale) else as_tensor(np.float64(1.0))
        x = self._columns(r, number) if r.is_data() else None
        return replace(
            r, terms=terms if known else {}, x=x, e=_wide(r.e), weight=_wide(r.weight), scale=scale, turn=None
        )

    def _columns(self, r: Rows, number: int) -> Tensor | None:
        """The columns of rows of data among those of the fit: the others of the block in their place."""
        if r.x is None:
            return None
        x, q, more = _wide(r.x), self.own, self.block.ndense - self.own
        if not more:
            return x
        zeros = lambda n: [tt.zeros((r.count, n), dtype="float64")] if n else []
        if r.turn is None:
            return tt.concatenate([x * as_tensor((~self.moved).astype(float)), *zeros(more)], axis=1)
        start, own, shared = self.starts[number], np.ones(r.turn.columns), zeros(q)
        if q and r.turn.in_place:
            own[:q] = self.moved
            shared = [x[:, :q] * as_tensor((~self.moved).astype(float))]
        after = self.block.ndense - start - r.turn.columns
        return tt.concatenate([*shared, *zeros(start - q), x * as_tensor(own), *zeros(after)], axis=1)


def _wide(x: Tensor) -> Tensor:
    return tt.cast(x, "float64")


def _moved(r: Rows, x: Tensor | None, v: Tensor | None, u: Sequence[Tensor]) -> Tensor:
    """What rows are to explain, with the variables measured from elsewhere."""
    known = is_data(r.e)
    at = _wide if known else (lambda x: tt.cast(x, "floatX"))
    e = at(r.e)
    for (lag, i), z in r.z.items():
        e = e - at(z) * r.gathered(at(u[i]), lag)
    return e if x is None or v is None else e - at(x) @ at(v)
