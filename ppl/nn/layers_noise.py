"""Layers that draw."""

from __future__ import annotations

from typing import Any

from ppl.nn.parameters import layer
from ppl.tensor.core.elementwise import switch
from ppl.tensor.core.names import flat_name
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.random import RandomStream
from ppl.tensor.tensor import Tensor, as_tensor


def Dropout(x: Any, p: float, deterministic: Any = False, seed: int = 0, name: str | None = None) -> Tensor:
    """Entries become 0 with probability `p`, the others grow by 1/(1 - p) (Srivastava et al. 2014).

    `deterministic`, True or False or a symbolic truth, leaves x as it is. Each call of a function draws anew.
    """
    x = as_tensor(x)
    with layer("Dropout", name, x) as here:
        if not 0 <= p < 1:
            raise ValueError(f"{here}: p is a probability below 1, got {p!r}")
        if x.dtype[0] != "f":
            raise TypeError(f"{here}: the input is of floats, got {x!r} of dtype {x.dtype}")
        if deterministic is True:
            return x
        keep = RandomStream(seed).uniform(0.0, 1.0, size=shape_of(x), name=flat_name(here.path)) >= p
        noisy = switch(keep, x / (1 - p), 0)
        return noisy if deterministic is False else switch(deterministic, x, noisy)
