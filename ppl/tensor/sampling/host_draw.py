"""Draws made by a NumPy function on the host, inside a compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.host_call import host_call
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.core.sizes import filled, split_sizes
from ppl.tensor.sampling.draws import as_key
from ppl.tensor.tensor import Tensor, TensorType


class _HostDraw(TensorOp):
    """Inputs: a key, the parameters, symbolic sizes. `draw(rng, *parameters)` gives an array of the shape and dtype."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(attrs["dtype"], attrs["shape"])


def _host_draw(
    key: Any, *rest: Any, draw: Callable[..., Any], count: int, shape: tuple[int | None, ...], dtype: str
) -> Any:
    sizes = filled(shape, rest[count:])

    def on_host(key: Any, *parameters: Any) -> list[np.ndarray]:
        value = np.asarray(draw(np.random.default_rng(key), *parameters, size=sizes))
        if value.shape != sizes:
            raise ValueError(f"{draw!r} gave an array of shape {value.shape} where {sizes} was asked for")
        return [value]

    return host_call(on_host, [(sizes, dtype)], key, *rest[:count])[0]


HOST_DRAW = _HostDraw("host_draw", _host_draw)


def host_draw(key: Any, draw: Callable[..., Any], parameters: Any, shape: Any, dtype: str) -> Tensor:
    """A draw by `draw(rng, *parameters, size)`, a function of NumPy arrays; the generator is seeded by the key."""
    _, static, symbolic = split_sizes(shape)
    attrs = Attrs(draw=draw, count=len(parameters), shape=static, dtype=dtype)
    return Node(HOST_DRAW, (as_key(key), *parameters, *symbolic), attrs)  # type: ignore[return-value]
