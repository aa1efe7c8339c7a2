r"""Affine systems, solved exactly: dy/dt = Ay + b with A and b that do not change in time.

.. math:: \begin{pmatrix} y(t) \\ 1 \end{pmatrix} =
          \exp\Big( (t - t_0) \begin{pmatrix} A & b \\ 0 & 0 \end{pmatrix} \Big) \begin{pmatrix} y_0 \\ 1 \end{pmatrix}

The solution is linear in the start, so that normal starts under normal rows are part of a Gaussian block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import ancestors, substitute
from ppl.rewrites.marginalization.expressions.affine import NotAffine, affine
from ppl.tensor.tensor import Tensor, as_tensor, constant

EXACT = "exact"
MOST = 32  # states: a matrix exponential for each time costs their third power


def exact_solution(
    who: str, slopes: Tensor, y: Tensor, t: Tensor, t0: Any, times: Any, starts: Sequence[Any]
) -> Tensor:
    """The states at the times, (times, states)."""
    states = int(y.type.shape[0] or 0)
    a, b = _system(who, slopes, y, t, states)
    generator = tt.concatenate(
        [tt.concatenate([a, tt.expand_dims(b, -1)], axis=1), tt.zeros((1, states + 1))], axis=0
    )  # fmt: skip
    passed = as_tensor(times) - as_tensor(t0)
    flow = tt.expm(passed[:, None, None] * generator)
    parts = [as_tensor(x) for x in starts]
    start = (
        parts[0] if parts[0].ndim == 1 and len(parts) == 1 else tt.concatenate([tt.reshape(x, (-1,)) for x in parts])
    )
    found: Tensor = tt.matmul(flow[:, :states, :states], start) + flow[:, :states, states]
    return found


def _system(who: str, slopes: Tensor, y: Tensor, t: Tensor, states: int) -> tuple[Tensor, Tensor]:
    """A and b, read off the slopes at zero and at the unit vectors."""
    if states > MOST:
        raise ValueError(f'{who}: method="exact" takes at most {MOST} states, got {states}; use "tsit5" or "rodas5p".')
    if t in ancestors([slopes]):
        raise ValueError(
            f'{who}: method="exact" is for slopes that do not change in time, and these depend on t; use "tsit5", or '
            '"rodas5p" for stiff equations.'
        )
    try:
        affine(slopes, [y])
    except NotAffine as why:
        raise ValueError(
            f'{who}: method="exact" is for slopes A y + b, and these are not of that form: {why}. Use "tsit5", or '
            '"rodas5p" for stiff equations.'
        ) from None
    at = lambda point: substitute(slopes, {y: constant(point)})
    b: Any = at(np.zeros(states))
    columns = [at(row) - b for row in np.eye(states)]
    return tt.stack(columns, axis=1), b
