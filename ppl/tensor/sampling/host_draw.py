"""Draws made by a NumPy function on the host, inside a compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ppl.graph import Attrs, Node
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
    parameters = [jnp.asarray(x) for x in rest[:count]]
    kinds = [x.dtype for x in parameters]

    def on_host(key: Any, *words: Any) -> np.ndarray:
        values = [_from_words(np.asarray(x), kind) for x, kind in zip(words, kinds, strict=True)]
        value = np.asarray(draw(np.random.default_rng(np.asarray(key)), *values, size=sizes))
        if value.shape != sizes:
            raise ValueError(f"{draw!r} gave an array of shape {value.shape} where {sizes} was asked for")
        wide = np.ascontiguousarray(value, dtype)
        return wide[..., None].view(np.uint32) if wide.itemsize == 8 else wide

    wide = np.dtype(dtype).itemsize == 8
    form = jax.ShapeDtypeStruct((*sizes, 2), np.uint32) if wide else jax.ShapeDtypeStruct(sizes, np.dtype(dtype))
    found = jax.pure_callback(on_host, form, key, *map(_to_words, parameters), vmap_method="sequential")
    return lax.bitcast_convert_type(found, np.dtype(dtype)) if wide else found


# JAX rounds what passes between host and program to 32 bits wherever its thread-local setting of 64 bits is not on, as
# in threads of XLA. So numbers of 64 bits cross as pairs of 32.
def _to_words(x: Any) -> Any:
    return lax.bitcast_convert_type(x, jnp.uint32) if x.dtype.itemsize == 8 else x


def _from_words(words: np.ndarray, kind: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(words).view(kind)[..., 0] if kind.itemsize == 8 else words


HOST_DRAW = _HostDraw("host_draw", _host_draw)


def host_draw(key: Any, draw: Callable[..., Any], parameters: Any, shape: Any, dtype: str) -> Tensor:
    """A draw by `draw(rng, *parameters, size)`, a function of NumPy arrays; the generator is seeded by the key."""
    _, static, symbolic = split_sizes(shape)
    attrs = Attrs(draw=draw, count=len(parameters), shape=static, dtype=dtype)
    return Node(HOST_DRAW, (as_key(key), *parameters, *symbolic), attrs)  # type: ignore[return-value]
