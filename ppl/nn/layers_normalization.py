"""Layers that bring their input to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from ppl.nn.parameters import layer, length
from ppl.tensor.core.elementwise import sqrt, switch
from ppl.tensor.core.ops import normal_axes
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import add_updates


def BatchNormalization(
    x: Any,
    axis: Any = 0,
    deterministic: Any = False,
    decay: float = 0.99,
    epsilon: float = 1e-5,
    gamma: Any = 1.0,
    beta: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Mean 0 and variance 1 over the `axis` of the batch, then times gamma plus beta (Ioffe & Szegedy 2015).

    In training the moments are those of the batch, and moving averages of them are left for `get_updates()`.
    Where `deterministic` (True, False or a symbolic truth) the averages are used and stay as they are. For images
    normalize over axes (0, 2, 3). `gamma=None` or `beta=None`: without it.
    """
    x = as_tensor(x)
    with layer("BatchNormalization", name, x) as here:
        if not 0 <= decay < 1:
            raise ValueError(f"{here}: decay lies in [0, 1), got {decay!r}")
        over = normal_axes(str(here), x, axis)
        shape = tuple(1 if i in over else length(here, x, i, "the number of features") for i in range(x.ndim))
        mean = here.parameter("mean", 0.0, shape, trainable=False)
        variance = here.parameter("variance", 1.0, shape, trainable=False)
        now = x.mean(over, keepdims=True)
        spread_now = ((x - now) ** 2).mean(over, keepdims=True)
        # With a plain truth too, so that the result holds the averages; XLA takes out the branch that is never taken.
        testing = as_tensor(deterministic)
        center, spread = switch(testing, mean, now), switch(testing, variance, spread_now)
        if deterministic is not True:
            after = {mean: decay * mean + (1 - decay) * now, variance: decay * variance + (1 - decay) * spread_now}
            add_updates({v: switch(testing, v, new) for v, new in after.items()})
        out = (x - center) / sqrt(spread + epsilon)
        out = out if gamma is None else out * here.parameter("gamma", gamma, shape)
        return out if beta is None else out + here.parameter("beta", beta, shape)


def LayerNormalization(
    x: Any, epsilon: float = 1e-5, gamma: Any = 1.0, beta: Any = 0.0, name: str | None = None
) -> Tensor:
    """Mean 0 and variance 1 along the last axis, then times gamma plus beta (Ba et al. 2016)."""
    x = as_tensor(x)
    with layer("LayerNormalization", name, x) as here:
        shape = (length(here, x, -1, "the number of features"),)
        centered = x - x.mean(-1, keepdims=True)
        out = centered / sqrt((centered**2).mean(-1, keepdims=True) + epsilon)
        out = out if gamma is None else out * here.parameter("gamma", gamma, shape)
        return out if beta is None else out + here.parameter("beta", beta, shape)
