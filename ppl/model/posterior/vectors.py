"""Points as vectors: from dicts of arrays to one flat array and back, and functions of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node, substitute
from ppl.tensor.tensor import Tensor, TensorType, placeholder
from ppl.tensor.variables import Variable, shared


class RaveledVars(NamedTuple):
    """A flat array, and name, shape, size and dtype of each part of it.

    >>> flat = pm.DictToArrayBijection.map({"a": np.ones(2), "b": np.zeros(())})
    >>> flat.data.tolist(), [name for name, *_ in flat.point_map_info]
    ([1.0, 1.0, 0.0], ['a', 'b'])
    """

    data: np.ndarray
    point_map_info: tuple[tuple[str, tuple[int, ...], int, np.dtype[Any]], ...]


class DictToArrayBijection:
    """Between points and flat arrays.

    >>> flat = DictToArrayBijection.map({"a": np.array(1.0), "b": np.array([2.0, 3.0])})
    >>> flat.data.tolist()
    [1.0, 2.0, 3.0]
    >>> sorted(DictToArrayBijection.rmap(flat))
    ['a', 'b']
    """

    @staticmethod
    def map(var_dict: Mapping[str, Any]) -> RaveledVars:
        """The point as a flat array."""
        arrays = {name: np.asarray(value) for name, value in var_dict.items()}
        info = tuple((name, a.shape, a.size, a.dtype) for name, a in arrays.items())
        return RaveledVars(np.concatenate([a.ravel() for a in arrays.values()]) if arrays else np.zeros(0), info)

    @staticmethod
    def rmap(array: RaveledVars, start_point: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The point of a flat array; values that it does not hold are those of `start_point`."""
        if not isinstance(array, RaveledVars):
            raise TypeError(f"rmap takes what map returned, a RaveledVars, got {type(array).__name__}")
        result, at = dict(start_point or {}), 0
        for name, shape, size, dtype in array.point_map_info:
            result[name] = array.data[at : at + size].reshape(shape).astype(dtype)
            at += size
        return result


def join_nonshared_inputs(
    point: Mapping[str, Any],
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    shared_inputs: Mapping[Node, Node] | None = None,
    make_inputs_shared: bool = False,
) -> tuple[list[Any], Tensor]:
    """Outputs as functions of one vector that holds all inputs; shapes are those of the values in `point`.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalar("x"), tt.dvector("y")
    >>> (out,), flat = pm.join_nonshared_inputs({"x": 1.0, "y": np.ones(2)}, [x + y.sum()], [x, y])
    >>> ppl.function([flat], out)([1.0, 2.0, 3.0]).item()
    6.0
    """
    missing = [x.name for x in inputs if x.name not in point]
    if missing:
        raise KeyError(f"the point has no value for {', '.join(map(str, missing))}; it has {', '.join(point)}")
    arrays = [np.asarray(point[x.name or ""]) for x in inputs]
    flat = np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)
    joined = (
        shared(flat, "joined_inputs")
        if make_inputs_shared
        else placeholder(TensorType(str(flat.dtype), (flat.size,)), "joined_inputs")
    )
    parts: dict[Node, Node] = dict(shared_inputs or {})
    at = 0
    for x, array in zip(inputs, arrays, strict=True):
        parts[x] = tt.cast(joined[at : at + array.size].reshape(array.shape), x.dtype)
        at += array.size
    return [substitute(output, parts) for output in outputs], joined


def make_shared_replacements(point: Mapping[str, Any], vars: Sequence[Tensor], model: Any) -> dict[Tensor, Variable]:
    """Variables that hold the point's values, for all values of the model but `vars`.

    >>> with pm.Model() as model:
    ...     a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    >>> held = pm.make_shared_replacements({"a": 1.0, "b": 2.0}, [model.rvs_to_values[a]], model)
    >>> [v.get_value().item() for v in held.values()]
    [2.0]
    """
    kept = set(vars)
    return {v: shared(np.asarray(point[v.name]), f"{v.name}_shared") for v in model.value_vars if v not in kept}
