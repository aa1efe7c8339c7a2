"""The inputs of a compiled function: their order, names, defaults, and what values they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppl.tensor.sampling.generators import is_generator, is_key, numbers_from
from ppl.tensor.tensor import Tensor, TensorType
from ppl.tensor.variables import Variable
from ppl.xla.later import Array


@dataclass
class In:
    """An input with another name, a default value, or an update: what the default becomes after each call.

    `strict` takes arrays of the input's own dtype only; `allow_downcast` converts whatever comes.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> f = ppl.function([ppl.In(x, value=2.0)], x**2)
    >>> f().item()
    4.0
    """

    variable: Tensor
    name: str | None = None
    value: Any = None
    update: Any = None
    strict: bool = False
    allow_downcast: bool | None = None
    mutable: bool = False  # of a generator: it moves on with each call
    borrow: bool = False

    def __post_init__(self) -> None:
        if self.mutable and not is_key(self.variable):
            raise NotImplementedError(f"In({self.variable!r}): mutable=True is not supported, arrays are never changed")
        if self.update is not None and self.value is None:
            raise ValueError(f"In({self.variable!r}): an update needs value=, the value before the first call")

    @property
    def title(self) -> str | None:
        """The name it is called by."""
        return self.name or self.variable.name


class Out:
    """An output (Theano's wrapper). `borrow` may be set or not: results are never changed in place, so all are safe.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.Out(x + 1))(2.0).item()
    3.0
    """

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable, self.borrow = variable, borrow


def arranged(
    who: str, inputs: Sequence[In], defaults: Sequence[Any], values: tuple[Any, ...], named: dict[str, Any]
) -> list[Any]:
    """The values in order, names and defaults put in their places."""
    if len(values) > len(inputs):
        raise TypeError(f"{who} takes {len(inputs)} inputs, got {len(values)}")
    filled: dict[int, Any] = dict(enumerate(values))
    titles = [each.title for each in inputs]
    for name, value in named.items():
        if name not in titles:
            raise TypeError(f"{who} has no input {name!r}; its inputs are {', '.join(map(str, titles)) or 'none'}")
        at = titles.index(name)
        if at in filled:
            raise TypeError(f"{who} got two values for input {name!r}")
        filled[at] = value
    missing = [i for i in range(len(inputs)) if i not in filled and defaults[i] is None]
    if missing:
        raise TypeError(f"{who} needs a value for {', '.join(repr(inputs[i].variable) for i in missing)}")
    return [
        filled[i] if i in filled else default.value if isinstance(default, Variable) else default
        for i, default in enumerate(defaults)
    ]


def without_generators(inputs: Sequence[In], values: Sequence[Any]) -> list[Any]:
    """The values, with generators as the numbers of their keys."""
    return [
        numbers_from(value, moves=each.mutable) if is_key(each.variable) and is_generator(value) else value
        for each, value in zip(inputs, values, strict=True)
    ]


def fitting(who: str, position: int, given: In, value: Any, allow_downcast: bool | None) -> Any:
    """The value as an array of the input's dtype and shape; an error that names the input where it is none."""
    wanted: TensorType = given.variable.type
    what = f"{who}: input {position} is {given.variable!r}"
    array = value if isinstance(value, Array) else _as_array(what, value)
    if array.dtype.name != wanted.dtype:
        allowed = allow_downcast if given.allow_downcast is None else given.allow_downcast
        if given.strict or not _may_cast(value, array, wanted.dtype, allowed):
            raise TypeError(
                f"{what}, got {_shown(array)} of dtype {array.dtype}: convert it with .astype('{wanted.dtype}'), or "
                "pass allow_input_downcast=True to the function"
            )
        array = array.astype(wanted.dtype)
    if array.ndim != wanted.ndim or any(n not in (None, m) for n, m in zip(wanted.shape, array.shape, strict=True)):
        shape = ", ".join("?" if n is None else str(n) for n in wanted.shape)
        raise ValueError(f"{what} of shape ({shape}), got an array of shape {array.shape}")
    return array


def _as_array(what: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        raise TypeError(f"{what}, got the symbol {value!r}: give its value, or put it in the graph by clone_replace")
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what}, got {value!r}, which is no array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{what}, got {value!r}, which is no array of numbers")
    return array


def _may_cast(value: Any, array: np.ndarray, dtype: str, allowed: bool | None) -> bool:
    """Without a word all values must survive; what Python wrote without a dtype may lose digits, never its integers."""
    if allowed or np.can_cast(array.dtype, dtype, "safe"):
        return True
    if allowed is False or isinstance(value, (np.ndarray, Array)):
        return False
    if array.dtype.kind in "iuf" and np.dtype(dtype).kind in "iub":
        return survives(array, dtype)
    if isinstance(value, np.generic):
        return False
    return np.can_cast(array.dtype, dtype, "same_kind")


def survives(array: np.ndarray, dtype: str) -> bool:
    """Whether all numbers of an array are the same in another dtype."""
    with np.errstate(invalid="ignore"):
        return bool(np.all(array.astype(dtype) == array))


def _shown(array: Any) -> str:
    return repr(array.item()) if array.ndim == 0 else f"an array of shape {array.shape}"
