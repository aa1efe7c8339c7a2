"""Operations that look at values, or check them, while the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.reductions import all as all_along
from ppl.tensor.core.ops import Elementwise, TensorOp
from ppl.tensor.tensor import Tensor, as_tensor, function, is_constant, value_of
from ppl.xla.host_errors import remembering
from ppl.xla.later import jax, jnp


def _print(x: Any, message: str) -> Any:
    jax.debug.callback(lambda value: print(message, value), x)
    return x


print_value = Elementwise("print_value", _print)


class Print:
    """`Print("message")(x)` is `x`, and prints its value each time the program runs."""

    def __init__(self, message: str = "") -> None:
        self.message = message

    def __call__(self, x: Any) -> Tensor:
        return print_value.build((as_tensor(x),), {"message": self.message})


class CheckError(AssertionError):
    """A condition that `Assert` was told to check does not hold."""


class _Check(TensorOp):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type


def _check(x: Any, *conditions: Any, message: str) -> Any:
    holds = jnp.all(jnp.stack([jnp.all(c) for c in conditions]))

    def check(fine: Any) -> Any:
        if not np.all(fine):
            raise CheckError(message)
        return np.asarray(fine)

    form = jax.ShapeDtypeStruct((), np.bool_)
    fine = jax.pure_callback(remembering(check), form, holds, vmap_method="sequential")
    array = jnp.asarray(x)
    return jnp.where(fine, array, jnp.zeros((), array.dtype))


CHECK = _Check("check", _check)


class Assert:
    """`Assert("message")(x, condition, ...)` is `x`, and stops the program where a condition does not hold."""

    def __init__(self, message: str | None = None, *, msg: str | None = None) -> None:
        self.message = message or msg or "a check failed"

    def __call__(self, x: Any, *conditions: Any) -> Tensor:
        """`x`; a condition that is known now and false raises at once."""
        open_ = [all_along(as_tensor(c)) if not isinstance(c, bool) else as_tensor(c) for c in conditions]
        for given in conditions:
            if (isinstance(given, bool | np.bool_) and not given) or (
                isinstance(given, Tensor) and is_constant(given) and not value_of(given).all()
            ):
                raise CheckError(self.message)
        live = [c for c in open_ if not is_constant(c)]
        return CHECK.build((as_tensor(x), *live), {"message": self.message}) if live else as_tensor(x)


@function("assert_")
def assert_op(x: Any, *conditions: Any, msg: str = "a check failed") -> Tensor:
    """`Assert(msg)(x, *conditions)`."""
    return Assert(msg)(x, *conditions)
