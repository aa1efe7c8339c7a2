"""PyMC's `DifferentialEquation`: a right-hand side with its times, called with starts and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.graph import substitute
from ppl.model.errors import ShapeError
from ppl.ode.affine import EXACT, exact_solution
from ppl.ode.grid import checked_times
from ppl.ode.methods import checked_sensitivities, control_of
from ppl.tensor.arrays.rearranging import atleast_1d
from ppl.tensor.arrays.shaping import concatenate, stack
from ppl.tensor.config import config
from ppl.tensor.core.bodies import hoisted
from ppl.tensor.core.derivatives import jacobian
from ppl.tensor.core.ops import cast_to
from ppl.tensor.loops.ode_solution import ode_solution, state_and_time
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder

WHO = "DifferentialEquation"


class DifferentialEquation:
    r"""An ordinary differential equation, solved at given times.

    .. math:: \frac{dy}{dt} = f(y, t, p), \qquad y(t_0) = y_0

    `func(y, t, p)` gives the slopes of the `n_states` entries of the vector y, as a tensor or a list of tensors; t is a
    scalar and p the vector of the `n_theta` parameters. `t0` is the time of y0. Times do not decrease; the first may be
    t0, and equal ones have equal rows.

    Beyond PyMC: `method` is ``"tsit5"`` or ``"dopri5"`` (explicit), ``"rodas5p"`` (for stiff equations) or ``"exact"``
    (for affine ones, by the matrix exponential), with errors of at most ``atol + rtol * |y|`` in a step; after
    `max_steps` of them the rest is nan, and a chain turns away from such a point. `sensitivities` says how derivatives
    are taken: ``"forward"``, ``"adjoint"``, or ``"auto"``, by their number.

    >>> decay = DifferentialEquation(lambda y, t, p: -p[0] * y, times=[1.0, 2.0], n_states=1, n_theta=1)
    >>> decay(y0=[1.0], theta=[0.5]).eval().round(6).tolist()
    [[0.606531], [0.367879]]
    """

    def __init__(
        self,
        func: Callable[[Tensor, Tensor, Tensor], Any],
        times: Any,
        *,
        n_states: int,
        n_theta: int,
        t0: Any = 0,
        method: str = "tsit5",
        rtol: float = 1e-8,
        atol: float = 1e-8,
        max_steps: int = 10_000,
        sensitivities: str = "auto",
    ) -> None:
        if not callable(func):
            raise ValueError("Argument func must be callable.")
        if n_states < 1:
            raise ValueError("Argument n_states must be at least 1.")
        if n_theta <= 0:
            raise ValueError("Argument n_theta must be positive.")
        self._t0, self._times = checked_times(WHO, times, t0)
        self.func, self.t0, self.times = func, t0, tuple(times)
        self.n_times, self.n_states, self.n_theta, self.n_p = len(times), n_states, n_theta, n_states + n_theta
        self._control = control_of(WHO, method, rtol, atol, max_steps)
        self._sensitivities = checked_sensitivities(WHO, sensitivities)
        self._y, self._t = state_and_time(n_states)
        self._p = placeholder(TensorType("float64", (n_theta,)), "p")
        self._slopes = self._traced()

    def _traced(self) -> Tensor:
        found = self.func(self._y, self._t, self._p)
        if not isinstance(found, Tensor | list | tuple):
            raise TypeError(
                f"Unexpected type, {type(found)}, returned by func. A tensor, or a list or tuple of them, is expected."
            )
        slopes = atleast_1d(found if isinstance(found, Tensor) else stack([as_tensor(x) for x in found]))
        if slopes.ndim > 1:
            raise ValueError(f"func returned a tensor with {slopes.ndim} axes, but 0 or 1 were expected.")
        if slopes.type.shape[0] not in (None, self.n_states):
            raise ShapeError(
                f"{WHO}: func returns {slopes.type.shape[0]} slopes, and there are n_states={self.n_states} states."
            )
        hoisted([self._y, self._t, self._p], [slopes])  # raises where func makes draws of its own
        return slopes

    def __call__(self, y0: Any, theta: Any, return_sens: bool = False, **kwargs: Any) -> Any:
        """The states, (times, states); with `return_sens` also their derivatives in y0 and theta, (times, states,
        n_states + n_theta)."""
        name = kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"{WHO} has no argument {', '.join(kwargs)}")
        starts = self._entries("y0", y0, self.n_states)
        theta = self._entries("theta", theta, self.n_theta)
        states = self._states(starts, _together(theta))
        if name is not None:
            states = as_tensor(states, name=name)
        return (states, self._derivatives(_together(starts), _together(theta))) if return_sens else states

    def slopes_at(self, y: Tensor, t: Tensor, theta: Tensor) -> Tensor:
        """What `func` gives."""
        found: Any = substitute(self._slopes, {self._y: y, self._t: t, self._p: theta})
        return found

    def _states(self, y0: Sequence[Tensor], theta: Tensor) -> Tensor:
        slopes = self.slopes_at(self._y, self._t, theta)
        if self._control.method == EXACT:
            exact = exact_solution(WHO, slopes, self._y, self._t, self._t0, self._times, y0)
            return cast_to(exact, config.floatX)
        whole = (self._t0, self._times, y0, self._control, self._sensitivities)
        found = ode_solution(slopes, self._y, self._t, *whole, began=slopes.serial)
        return cast_to(found, config.floatX)

    def _derivatives(self, y0: Tensor, theta: Tensor) -> Tensor:
        at = [placeholder(TensorType("float64", (n,))) for n in (self.n_states, self.n_theta)]
        blocks = jacobian(self._states(at[:1], at[1]), at, mode="forward", disconnected_inputs="ignore")
        whole: Any = substitute(concatenate(blocks, axis=-1), dict(zip(at, (y0, theta), strict=True)))
        return whole

    def _entries(self, word: str, given: Any, count: int) -> list[Tensor]:
        """A vector, in one part; or a list in as many parts as it has entries, so that derivatives in numbers among
        them are not asked for."""
        parts = list(given) if isinstance(given, list | tuple) else [given]
        if isinstance(given, list | tuple) and len(parts) != count:
            raise ShapeError(f"Length of {word} is wrong. It has {len(parts)} entries, and {count} are expected.")
        tensors = [cast_to(as_tensor(x), "float64") for x in parts]
        rank = 0 if isinstance(given, list | tuple) else 1
        for x in tensors:
            if x.ndim != rank or (rank == 1 and x.type.shape[0] not in (None, count)):
                raise ShapeError(
                    f"{WHO}: {word} is a list of {count} scalars or a vector of that length, got {x!r} of shape"
                    f" {x.type.shape}"
                )
        return tensors


def _together(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if parts[0].ndim == 1 else stack(list(parts))
