r"""Dense columns turned so that their precision is diagonal, once for all evaluations.

Where rows have only two scales that depend on parameters or differ (noise σ and prior, say), the precision of the dense
columns is :math:`S = a A + b B` with A and B known. With :math:`A = LL'` and :math:`L^{-1}BL'^{-1} = QΛQ'` the columns
:math:`X L'^{-1}Q` have the diagonal precision :math:`a + bΛ`: no factorization is left to do in an evaluation. Where A
has no inverse, since it is not of all priors, :math:`A + B = LL'` has, and turns both to be diagonal as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import ppl.tensor as tt
from ppl.graph import Node
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.gaussian.rows import Rows
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Rotation:
    """The old columns are `matrix` times the new ones; `log_det` is what log |M| loses by that."""

    matrix: Tensor
    log_det: Tensor


@record
class DiagonalFactor:
    """The factor of a matrix that a rotation has made diagonal, on vectors."""

    diagonal: Tensor
    rotation: Rotation

    def log_det(self) -> Tensor:
        """log |M| before the rotation."""
        return tt.sum(tt.log(self.diagonal)) + self.rotation.log_det

    def solve(self, h: Tensor) -> Tensor:
        """M⁻¹ h."""
        return h / self.diagonal

    def backward(self, h: Tensor) -> Tensor:
        """L'⁻¹ h."""
        return h / tt.sqrt(self.diagonal)


def turned(rows: Sequence[Rows], ndense: int) -> Rotation | None:
    """Turn the dense columns of rows in place, and return the rotation.

    None, and nothing done, where the columns are few, or there are not exactly two scales.
    """
    mine = [r for r in rows if r.x is not None]
    if ndense <= LIMITS.unrolled_factor or not mine or any(r.z for r in mine):
        return None
    if not all(is_data(r.weight) and r.turn is None and r.x is not None and is_data(r.x) for r in mine):
        return None
    sides: dict[Node | None, list[Rows]] = {}
    for r in mine:
        sides.setdefault(None if is_data(r.scale) else r.scale, []).append(r)
    priors = [key for key, side in sides.items() if not any(r.observed for r in side)]
    if len(sides) != 2 or not priors:
        return None
    first = sides.pop(priors[0])
    (second,) = sides.values()
    a, b = _gram(first), _gram(second)
    lower = tt.cholesky(a if _settle(first, ndense) and all(r.observed for r in second) else a + b)
    inverse = tt.solve_triangular(lower, tt.eye(ndense), lower=True)
    rotation = inverse.T @ tt.eigh(inverse @ b @ inverse.T)[1]
    for r in mine:
        assert r.x is not None
        r.x = r.x @ rotation
    return Rotation(rotation, 2.0 * tt.sum(tt.log(tt.diagonal(lower))))


def _settle(priors: Sequence[Rows], ndense: int) -> bool:
    """Whether rows are as many as the columns, of which each has a prior then that does not need the others' rows."""
    return sum(r.count for r in priors) >= ndense


def _gram(rows: Sequence[Rows]) -> Tensor:
    """X'WX of rows with one scale, known scales counted in."""
    total = as_tensor(0.0)
    for r in rows:
        assert r.x is not None
        part = (r.x * tt.expand_dims(r.weight, 1)).T @ r.x
        total = total + (part * r.precision() if is_data(r.scale) else part)
    return total
