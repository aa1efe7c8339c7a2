"""Calls of a NumPy function on the host, from inside a compiled program.

JAX rounds what passes between host and program to 32 bits wherever its thread-local setting of 64 bits is not on, as in
threads of XLA. So numbers of 64 bits cross as pairs of 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.xla.host_errors import remembering
from ppl.xla.later import jax, jnp, lax

Form = tuple[tuple[int, ...], str]  # a shape and a dtype


def host_call(f: Callable[..., Sequence[Any]], forms: Sequence[Form], *arrays: Any) -> tuple[Any, ...]:
    """The arrays that `f` gives for NumPy arrays, of the shapes and dtypes told; one call for each point of a batch,
    all from one crossing to the host."""
    given = [jnp.asarray(x) for x in arrays]
    kinds = [np.dtype(x.dtype) for x in given]

    def on_host(*words: Any) -> tuple[np.ndarray, ...]:
        values = [_from_words(np.asarray(x), kind) for x, kind in zip(words, kinds, strict=True)]
        batch = values[0].shape[: values[0].ndim - given[0].ndim] if values else ()
        if not batch:
            return one(values)
        rows = [one([x[place] for x in values]) for place in np.ndindex(batch)]
        return tuple(np.stack(each).reshape(*batch, *each[0].shape) for each in zip(*rows, strict=True))

    def one(values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(_as_words(result, form) for result, form in zip(f(*values), forms, strict=True))

    crossing = tuple(
        jax.ShapeDtypeStruct((*shape, 2), np.uint32) if _is_wide(dtype) else jax.ShapeDtypeStruct(shape, dtype)
        for shape, dtype in forms
    )
    found = jax.pure_callback(remembering(on_host), crossing, *map(_to_words, given), vmap_method="broadcast_all")
    return tuple(
        lax.bitcast_convert_type(x, np.dtype(dtype)) if _is_wide(dtype) else x
        for x, (_, dtype) in zip(found, forms, strict=True)
    )


def _is_wide(dtype: Any) -> bool:
    return np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind != "c"


def _to_words(x: Any) -> Any:
    return lax.bitcast_convert_type(x, jnp.uint32) if _is_wide(x.dtype) else x


def _from_words(words: np.ndarray, kind: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(words).view(kind)[..., 0] if _is_wide(kind) else words


def _as_words(result: Any, form: Form) -> np.ndarray:
    shape, dtype = form
    array = np.asarray(result)
    if array.shape != shape:
        raise ValueError(f"a function on the host gave an array of shape {array.shape} where {shape} was asked for")
    array = np.ascontiguousarray(array, dtype).reshape(shape)
    return array[..., None].view(np.uint32) if _is_wide(dtype) else array
