"""Attention."""

from __future__ import annotations

import math
from typing import Any

from ppl.nn.initializers import glorot_uniform
from ppl.nn.parameters import axes, layer, length
from ppl.tensor.arrays.creation import arange
from ppl.tensor.arrays.reductions import softmax
from ppl.tensor.arrays.shaping import swapaxes
from ppl.tensor.core.elementwise import switch
from ppl.tensor.linalg import matmul
from ppl.tensor.tensor import Tensor, as_tensor


def MultiHeadAttention(
    query: Any, key: Any = None, value: Any = None, heads: int = 1, units: int | None = None, mask: Any = None,
    causal: bool = False, W_query: Any = None, W_key: Any = None, W_value: Any = None, W_out: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Each position of `query` takes a mean of `value`, weighted by how `key` fits (Vaswani et al. 2017).

    Axes are (batch, time, features); `key` is `query` unless given, `value` is `key`. Where `mask`, of a shape that
    broadcasts to (batch, heads, time of query, time of key), is false, nothing is taken; nor from later positions with
    `causal`. `units` is the length of all heads together, that of the query's features unless given.
    """
    query = as_tensor(query)
    key = query if key is None else as_tensor(key)
    value = key if value is None else as_tensor(value)
    with layer("MultiHeadAttention", name, query) as here:
        for x in (query, key, value):
            axes(here, x, 3, "batch, time, features")
        features = [length(here, x, 2, "the number of features") for x in (query, key, value)]
        units = features[0] if units is None else units
        if heads < 1 or units % heads:
            raise ValueError(f"{here}: {units} units cannot be shared among {heads} heads")
        width = units // heads

        def split(x: Tensor, parameter: str, given: Any, inputs: int) -> Tensor:
            w = here.parameter(parameter, glorot_uniform() if given is None else given, (inputs, units))
            return swapaxes(matmul(x, w).reshape((x.shape[0], x.shape[1], heads, width)), 1, 2)

        q = split(query, "W_query", W_query, features[0])
        k = split(key, "W_key", W_key, features[1])
        v = split(value, "W_value", W_value, features[2])
        fit = matmul(q, swapaxes(k, 2, 3)) / math.sqrt(width)
        if causal:
            earlier = arange(key.shape[1])[None, :] <= arange(query.shape[1])[:, None]
            fit = switch(earlier, fit, -1e30)
        if mask is not None:
            fit = switch(mask, fit, -1e30)
        mixed = swapaxes(matmul(softmax(fit, axis=-1), v), 1, 2).reshape((query.shape[0], query.shape[1], units))
        out = here.parameter("W_out", glorot_uniform() if W_out is None else W_out, (units, features[0]))
        return matmul(mixed, out)
