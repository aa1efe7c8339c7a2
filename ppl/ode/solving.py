"""`solve`: a differential equation for states of any shape, with a right-hand side of tensors or of JAX's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ppl.model.errors import ShapeError
from ppl.ode.affine import EXACT, exact_solution
from ppl.ode.grid import checked_times
from ppl.ode.methods import checked_sensitivities, control_of
from ppl.tensor.arrays.shaping import broadcast_to, concatenate, reshape
from ppl.tensor.config import config
from ppl.tensor.core.ops import cast_to
from ppl.tensor.core.wrapping import from_jax
from ppl.tensor.loops.ode_solution import ode_solution, state_and_time
from ppl.tensor.tensor import Tensor, as_tensor

WHO = "ode.solve"


def solve(
    func: Callable[..., Any],
    y0: Any,
    times: Any,
    args: Any = (),
    *,
    t0: Any = 0.0,
    method: str = "tsit5",
    rtol: float = 1e-8,
    atol: float = 1e-8,
    max_steps: int = 10_000,
    sensitivities: str = "auto",
    name: str | None = None,
) -> Any:
    r"""The solution of dy/dt = func(y, t, \*args) with y = y0 at t0, at `times`.

    The state is a number or an array, of any shape, or a dictionary of such by name; `func` returns slopes in the same
    form, and the result has it too, with the times as a further axis in front. `func` may be written with tensors or,
    for JAX's arrays, with `jax.numpy`. `y0`, `args`, `t0` and `times` may be, or hold, random variables.

    `method` is ``"tsit5"`` or ``"dopri5"`` (explicit) or ``"rodas5p"`` (for stiff equations), with errors of at most
    ``atol + rtol * |y|`` in a step; ``"exact"`` solves slopes ``A y + b``, with A and b that do not change in time, by
    the matrix exponential, and normal starts under normal rows can then be integrated out. After `max_steps` the rest
    is nan, and a chain turns away from such a point. `sensitivities` says how derivatives are taken: ``"forward"`` with
    the solution, ``"adjoint"`` backward through its steps, or ``"auto"``, by how many numbers there are.

    >>> solve(lambda y, t, rate: -rate * y, y0=[1.0, 2.0], times=[1.0], args=(0.5,)).eval().round(6).tolist()
    [[0.606531, 1.213061]]
    """
    if not callable(func):
        raise TypeError(f"{WHO}: func is a function of y, t and args, got {func!r}")
    control = control_of(WHO, method, rtol, atol, max_steps)
    checked_sensitivities(WHO, sensitivities)
    t0, times = checked_times(WHO, times, t0)
    state = State(y0)
    y, t = state_and_time(state.size)
    slopes = state.slopes(func, y, t, list(args) if isinstance(args, list | tuple) else [args])
    starts = [cast_to(x, "float64") for x in state.starts]
    if control.method == EXACT:
        rows = exact_solution(WHO, slopes, y, t, t0, times, starts)
    else:
        rows = ode_solution(slopes, y, t, t0, times, starts, control, sensitivities)
    rows = cast_to(rows, config.floatX)
    found = state.unpacked(rows, in_front=1)
    if name is None:
        return found
    if isinstance(found, dict):
        raise TypeError(f"{WHO}: the result is a dictionary, of which each part takes a name of its own")
    return as_tensor(found, name=name)


class State:
    """The form of a state: arrays by name or one, and where each stands in the vector of all."""

    def __init__(self, y0: Any) -> None:
        self.names = list(y0) if isinstance(y0, dict) else [""]
        self.by_name = isinstance(y0, dict)
        self.starts = [as_tensor(x) for x in (y0.values() if isinstance(y0, dict) else [y0])]
        if not self.starts:
            raise ValueError(f"{WHO}: y0 is empty, there is no state to solve for")
        for name, x in zip(self.names, self.starts, strict=True):
            if None in x.type.shape:
                raise ShapeError(
                    f"{WHO}: the shape of {self._called(name)} must be known, got {x!r} of shape {x.type.shape}. Say it"
                    " with pt.specify_shape(y0, shape)."
                )
            if x.dtype[0] not in "fiu":
                raise TypeError(f"{WHO}: {self._called(name)} is real, got {x.dtype}")
        self.shapes = [tuple(int(n or 0) for n in x.type.shape) for x in self.starts]
        self.size = sum(map(prod, self.shapes))

    @staticmethod
    def _called(name: str) -> str:
        return f'y0["{name}"]' if name else "y0"

    def unpacked(self, vector: Tensor, in_front: int = 0) -> Any:
        """A vector of all states, with axes in front of it, in the form of y0."""
        front = vector.shape[:in_front] if None in vector.type.shape[:in_front] else vector.type.shape[:in_front]
        parts, at = [], 0
        for shape in self.shapes:
            part = vector[..., at : at + prod(shape)]
            parts.append(reshape(part, (*front, *shape)))
            at += prod(shape)
        return dict(zip(self.names, parts, strict=True)) if self.by_name else parts[0]

    def slopes(self, func: Callable[..., Any], y: Tensor, t: Tensor, args: Sequence[Any]) -> Tensor:
        """What `func` gives, as a vector."""
        found = _called_with(func, self.unpacked(y), t, args)
        if self.by_name != isinstance(found, dict) or (self.by_name and set(found) != set(self.names)):
            form = f"a dictionary with the names {', '.join(self.names)}" if self.by_name else "an array"
            raise TypeError(f"{WHO}: func returns slopes in the form of y0, {form}; got {found!r}")
        parts = [as_tensor(found[n]) for n in self.names] if self.by_name else [as_tensor(found)]
        return concatenate([self._flat(*each) for each in zip(self.names, parts, self.shapes, strict=True)])

    def _flat(self, name: str, slopes: Tensor, shape: tuple[int, ...]) -> Tensor:
        fits = slopes.ndim == len(shape) and all(n in (None, m) for n, m in zip(slopes.type.shape, shape, strict=True))
        if not fits and slopes.ndim != 0:
            raise ShapeError(
                f"{WHO}: func returns slopes of shape {slopes.type.shape} for {self._called(name)} of shape {shape}"
            )
        return reshape(broadcast_to(cast_to(slopes, "float64"), shape), (prod(shape),))


def _called_with(func: Callable[..., Any], y: Any, t: Tensor, args: Sequence[Any]) -> Any:
    """What `func` returns for tensors; where it refuses them and takes JAX's arrays, the operation that it is then."""
    try:
        return func(y, t, *args)
    except TypeError as refused:
        try:
            return from_jax(lambda y, t, args: func(y, t, *args), name=getattr(func, "__name__", "func"))(
                y, t, list(args)
            )
        except Exception:
            raise refused from None
