"""A log-density with its gradient at rows of points, by one program for any number of rows.

Optimizers that run on the host ask for one point, for thirty-two, for the points of four paths. Were each number of
points a program of its own, each method would wait for its compiler; here all methods share one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ppl.samplers.programs.programs import LOOP, PROGRAMS, turn
from ppl.xla.later import jax, jnp, lax, wide

BLOCK = 64  # rows of a dispatch


class Target:
    """`target(points)`: log-densities (rows,) and gradients (rows, dim) at points (rows, dim).

    `evaluations` counts the points that were looked at. The log-density is a pure JAX function of a flat vector and of
    the arrays of `data`; `key` stands for its content.
    """

    def __init__(
        self, log_density: Callable[..., Any], dim: int, data: Sequence[Any] = (), key: Hashable = None
    ) -> None:
        self.log_density, self.dim, self.data, self.key = log_density, dim, tuple(data), key
        self.evaluations = 0

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = np.ascontiguousarray(points, np.float64)
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for start in range(0, len(points), BLOCK):
            part = points[start : start + BLOCK]
            block = np.zeros((BLOCK, self.dim))
            block[: len(part)] = part
            with wide():
                program = self._program(block)
                with turn(program):
                    found = program(block, np.int64(len(part)), self.data)
                    values[start : start + len(part)] = np.asarray(found[0])[: len(part)]
                    gradients[start : start + len(part)] = np.asarray(found[1])[: len(part)]
        self.evaluations += len(points)
        return values, gradients

    def one(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-density and its gradient at one point."""
        values, gradients = self(np.asarray(point)[None])
        return float(values[0]), gradients[0]

    def downhill(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log-density, and its gradient: what a search for the mode minimizes."""
        value, gradient = self.one(point)
        return -value, -gradient

    def _program(self, block: np.ndarray) -> Any:
        make = one_by_one if jax.default_backend() == "cpu" else at_once
        key = ("value and gradient at rows", self.key if self.key is not None else self.log_density, make.__name__)
        return PROGRAMS.get(key, lambda: make(self.log_density), (block, np.int64(0), self.data), polish=LOOP)


def one_by_one(log_density: Callable[..., Any]) -> Callable[..., Any]:
    """The rows in a loop, as many as there are: on a CPU nothing is gained by more at a time."""

    def program(block: Any, count: Any, data: Any) -> Any:
        def step(i: Any, found: Any) -> Any:
            values, gradients = found
            point = lax.dynamic_index_in_dim(block, i, keepdims=False)
            value, gradient = jax.value_and_grad(log_density)(point, *data)
            return values.at[i].set(value), lax.dynamic_update_slice(gradients, gradient[None], (i, jnp.zeros_like(i)))

        return lax.fori_loop(jnp.zeros_like(count), count, step, (jnp.zeros(len(block)), jnp.zeros_like(block)))

    return program


def at_once(log_density: Callable[..., Any]) -> Callable[..., Any]:
    """All rows side by side, those too that nobody asked for."""

    def program(block: Any, count: Any, data: Any) -> Any:
        return jax.vmap(lambda point: jax.value_and_grad(log_density)(point, *data))(block)

    return program


def hessians(target: Target, points: np.ndarray, scale: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """The matrices of second derivatives at points (rows, dim, dim), by central differences of the gradient.

    `scale` has the size of each coordinate; the step is that small a part of it, at which truncation and rounding are
    both below 1e-7 of the curvature.
    """
    found = np.empty((len(points), target.dim, target.dim))
    for i in range(target.dim):
        shift = np.zeros(target.dim)
        shift[i] = step * scale[i]
        _, gradients = target(np.concatenate([points + shift, points - shift]))
        found[:, i] = (gradients[: len(points)] - gradients[len(points) :]) / (2 * shift[i])
    return 0.5 * (found + np.swapaxes(found, 1, 2))
