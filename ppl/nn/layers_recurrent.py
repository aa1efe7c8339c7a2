"""Recurrent layers over sequences of axes (batch, time, features); the result has axes (batch, time, units)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.nn.initializers import glorot_uniform, orthogonal
from ppl.nn.parameters import Layer, axes, layer, length
from ppl.tensor.arrays.creation import zeros
from ppl.tensor.arrays.shaping import swapaxes
from ppl.tensor.core.elementwise import sigmoid, tanh
from ppl.tensor.linalg import matmul
from ppl.tensor.loops.loop import carry_scan
from ppl.tensor.tensor import Tensor, as_tensor

Step = Callable[[tuple[Tensor, ...], Tensor, Tensor], tuple[Tensor, ...]]


def _recurrent(
    kind: str, x: Any, units: int, gates: int, states: int, step: Step, W: Any, U: Any, b: Any, last: bool,
    name: str | None,
) -> Tensor:  # fmt: skip
    """The loop that all share: `step(states, x W + b, U)` gives the new states, the first of which is the result."""
    x = as_tensor(x)
    with layer(kind, name, x) as here:
        axes(here, x, 3, "batch, time, features")
        if x.dtype[0] != "f":
            raise TypeError(f"{here}: the input is of floats, got {x!r} of dtype {x.dtype}")
        w, u, bias = _weights(here, length(here, x, 2, "the number of features"), units, gates, W, U, b)
        driven = swapaxes(matmul(x, w) + bias, 0, 1)  # one large product; time first
        start = tuple(zeros((x.shape[0], units), u.dtype) for _ in range(states))

        def advance(now: tuple[Tensor, ...], entry: Tensor, u: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
            new = step(now, entry, u)
            return new, new[0]

        (final, *_), outputs = carry_scan(advance, start, [driven], [u])
        return final if last else swapaxes(outputs, 0, 1)


def _weights(here: Layer, inputs: int, units: int, gates: int, W: Any, U: Any, b: Any) -> tuple[Tensor, ...]:
    return (
        here.parameter("W", glorot_uniform() if W is None else W, (inputs, gates * units)),
        here.parameter("U", orthogonal() if U is None else U, (units, gates * units)),
        here.parameter("b", b, (gates * units,)),
    )


def RNN(
    x: Any, units: int, activation: Callable[[Any], Any] = tanh, W: Any = None, U: Any = None, b: Any = 0.0,
    last: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """h ← activation(x W + h U + b) from h = 0; with `last`, only the state after the last step."""
    return _recurrent(
        "RNN", x, units, 1, 1, lambda h, drive, u: (activation(drive + matmul(h[0], u)),), W, U, b, last, name
    )


def GRU(
    x: Any, units: int, activation: Callable[[Any], Any] = tanh, gate: Callable[[Any], Any] = sigmoid, W: Any = None,
    U: Any = None, b: Any = 0.0, last: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Gated recurrent unit (Cho et al. 2014): columns of W, U and b are for update, reset and candidate."""

    def step(states: tuple[Tensor, ...], drive: Tensor, u: Tensor) -> tuple[Tensor, ...]:
        (h,) = states
        recurrent = matmul(h, u[:, : 2 * units])
        update = gate(drive[:, :units] + recurrent[:, :units])
        reset = gate(drive[:, units : 2 * units] + recurrent[:, units:])
        candidate = activation(drive[:, 2 * units :] + matmul(reset * h, u[:, 2 * units :]))
        return (update * h + (1 - update) * candidate,)

    return _recurrent("GRU", x, units, 3, 1, step, W, U, b, last, name)


def LSTM(
    x: Any, units: int, activation: Callable[[Any], Any] = tanh, gate: Callable[[Any], Any] = sigmoid, W: Any = None,
    U: Any = None, b: Any = 0.0, last: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Long short-term memory (Hochreiter & Schmidhuber 1997): columns are for input, forget, output, candidate."""

    def step(states: tuple[Tensor, ...], drive: Tensor, u: Tensor) -> tuple[Tensor, ...]:
        h, cell = states
        total = drive + matmul(h, u)
        into, forget, out = (gate(total[:, i * units : (i + 1) * units]) for i in range(3))
        cell = forget * cell + into * activation(total[:, 3 * units :])
        return out * activation(cell), cell

    return _recurrent("LSTM", x, units, 4, 2, step, W, U, b, last, name)
