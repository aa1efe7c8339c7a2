"""The solution of a differential equation, as an operation of the graph whose right-hand side is a body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.bodies import hoisted
from ppl.tensor.core.evaluate import lowered
from ppl.tensor.core.ops import TensorOp, cast_to
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder
from ppl.xla.later import jax, jnp
from ppl.xla.ode.loop import Control
from ppl.xla.ode.problem import Problem, system_of, values
from ppl.xla.ode.solution import solve


class _Solution(TensorOp):
    """Inputs: t0, the times, `starts` arrays that together are the state at t0, and what the body captures. The body
    gives the slopes of a vector of states at a time."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        states = attrs["body"].outputs[0].type.shape[0]
        return TensorType("float64", (inputs[1].type.shape[0], states))

    def why_not_finite(self, node: Node, inputs: Sequence[np.ndarray]) -> str:
        """A sentence on what kept the solution from the end of its times, with a remedy."""
        body, starts, control = node.attrs["body"], node.attrs["starts"], Control(*node.attrs["control"])
        with jax.enable_x64(True):
            arrays = [jnp.asarray(x) for x in inputs]
            problem = Problem(_field(lowered(body)), control, starts)
            now, _ = values(system_of(problem), arrays[0], arrays[1], arrays[2:])
        reached, end, steps = float(now.t), float(np.asarray(inputs[1])[-1]), int(now.steps)
        if bool(now.row == len(inputs[1])):
            return ""
        how = (
            f"used up its {steps} steps at t = {reached:.6g}"
            if steps >= control.max_steps
            else f"could not go on from t = {reached:.6g}, where its steps became as short as rounding"
        )
        stiff = "" if control.method == "rodas5p" else ' If the equation is stiff there, choose method="rodas5p".'
        return (
            f"The differential equation was to be solved up to t = {end:.6g}, and {control.method} {how}.{stiff} Else"
            " keep the parameters away from there by a prior, or allow more with max_steps=."
        )


def _field(body: Callable[..., list[Any]]) -> Callable[..., Any]:
    return lambda t, y, *captured: jnp.asarray(body(y, t, *captured)[0])


def _solution(
    t0: Any,
    times: Any,
    *numbers: Any,
    body: Callable[..., list[Any]],
    starts: int,
    control: tuple[str, float, float, int],
    sensitivities: str,
) -> Any:
    arrays = [jnp.asarray(x) for x in numbers]
    f = _field(body)
    t0, times = jnp.asarray(t0), jnp.asarray(times)
    return solve(f, Control(*control), sensitivities, t0, times, arrays[:starts], arrays[starts:])


ODE_SOLUTION = _Solution("ode_solution", _solution)


def ode_solution(
    slopes: Tensor,
    y: Tensor,
    t: Tensor,
    t0: Any,
    times: Any,
    y0: Sequence[Any],
    control: Control,
    sensitivities: str,
    began: int | None = None,
) -> Tensor:
    """The states at the times, (times, states), where `slopes` is an expression of the states `y` at a time `t`.

    Draws that are younger than `began`, or y and t, are refused in it."""
    body, captured = hoisted([y, t], [cast_to(slopes, "float64")], began)
    real = [cast_to(as_tensor(x), "float64") for x in (t0, times, *y0)]
    attrs = Attrs(body=body, starts=len(y0), control=tuple(control), sensitivities=sensitivities)
    return Node(ODE_SOLUTION, (*real, *captured), attrs)  # type: ignore[return-value]


def state_and_time(states: int) -> tuple[Tensor, Tensor]:
    """What stands for the states and the time in a right-hand side."""
    return placeholder(TensorType("float64", (states,)), "y"), placeholder(TensorType("float64", ()), "t")
