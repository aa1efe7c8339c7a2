"""Values between the points where they are known."""

from __future__ import annotations

from typing import Any

from ppl.tensor.arrays.curves import interp as interp
from ppl.tensor.core.later import Functions
from ppl.tensor.core.ops import JaxOp

_jsn = Functions("jax.scipy.ndimage")


def _map_coordinates(x: Any, coordinates: Any, *, order: int = 1, mode: str = "constant", cval: float = 0.0) -> Any:
    return _jsn.map_coordinates(x, list(coordinates), order, mode, cval)


map_coordinates = JaxOp("map_coordinates", _map_coordinates, to_float=True)
