r"""How much narrower data make a posterior across its ridges than along them, if a block stays.

Coefficients v of columns with factors of parameters, as :math:`σ_j v_j` with a standard normal v, are told by rows only
as products: v moves with σ by about as much as its prior lets it, and at a given σ by no more than the information I
of rows leaves. A trajectory takes about as many times more steps as the root of the condition number,

.. math:: \sqrt{1 + \max_j I_j}, \qquad I_j = \sum_i w_i σ_j^2 x_{ij}^2 / s^2,

with s the deviation of rows where sampling starts, or what the columns leave of the data, if that is less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_read
from ppl.rewrites.marginalization.gaussian.rows import Rows
from ppl.rewrites.marginalization.program import Program
from ppl.rewrites.marginalization.starts import start_of


def stiffness(program: Program, rows: Sequence[Rows]) -> float:
    """How many times more steps than in a normal law of variances alike, over rows as they are written; 1 where no
    column has a factor, or where it is not known where sampling starts."""
    most = max((_information(program, r) for r in rows if r.observed and r.turn is not None), default=0.0)
    return float(np.sqrt(1.0 + most))


def _information(program: Program, r: Rows) -> float:
    """The most that rows tell about one standard normal coefficient."""
    if r.turn is None or r.turn.factor is None or r.x is None or not all(map(is_read, (r.x, r.e, r.weight))):
        return 0.0
    factor, scale = start_of(program, r.turn.factor), start_of(program, r.scale)
    if factor is None or scale is None or not np.isfinite(factor).all():
        return 0.0
    some = np.arange(0, r.count, max(1, r.count // LIMITS.rows_of_a_look))
    try:
        x, y, weight = data_value(r.x[some]), data_value(r.e[some]), data_value(r.weight[some])
    except NotAffine:
        return 0.0
    root = np.sqrt(weight)
    design, seen = x * root[:, None], y * root
    left = seen - design @ np.linalg.lstsq(design, seen, rcond=None)[0]
    noise = np.sum(left**2) / max(1, some.size - x.shape[1])
    variance = min(float(scale) ** 2, noise) or float(scale) ** 2
    moved = design[:, : r.turn.first] * factor if factor.ndim == 1 else design[:, : r.turn.first] @ factor
    most = float((moved**2).sum(axis=0)[r.turn.moved].max(initial=0.0))
    return most * r.count / some.size / variance if np.isfinite(most) and variance > 0 else 0.0
