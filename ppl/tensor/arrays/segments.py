"""Sums over groups of rows."""

from __future__ import annotations

from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import Tensor, TensorType, as_tensor
from ppl.xla.later import jax


class _SegmentSum(TensorOp):
    """For each of `count` groups the sum of the rows (entries of the first axis) whose group number is its own."""

    def __call__(self, x: Any, groups: Any, count: int, *, name: str | None = None) -> Tensor:
        x, groups = as_tensor(x), as_tensor(groups)
        if groups.ndim != 1 or groups.dtype[0] not in "ui" or x.ndim == 0:
            raise ValueError(f"segment_sum: a vector of group numbers is needed for the rows of {x!r}, got {groups!r}")
        return self.build((x, groups), {"count": int(count)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        return TensorType(x.dtype, (attrs["count"], *x.shape[1:]))


segment_sum = _SegmentSum("segment_sum", lambda x, groups, count: jax.ops.segment_sum(x, groups, num_segments=count))
