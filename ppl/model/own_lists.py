"""Lists of a model's tensors that are asked for a tensor: `rv in model.free_RVs`."""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

from ppl.tensor.tensor import Tensor


class Tensors(list[Tensor]):
    """A list in which a tensor is found as itself: == of two tensors compares their values, when the program runs."""

    def __contains__(self, item: Any) -> bool:
        return any(each is item for each in self)

    def index(self, item: Any, start: SupportsIndex = 0, stop: SupportsIndex = sys.maxsize, /) -> int:
        for at in range(*slice(start, stop).indices(len(self))):
            if self[at] is item:
                return at
        raise ValueError(f"{item!r} is not in the list")

    def count(self, item: Any, /) -> int:
        return sum(each is item for each in self)

    def remove(self, item: Any, /) -> None:
        del self[self.index(item)]
