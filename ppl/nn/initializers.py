"""First values of parameters, as functions of their shape: `Dense(x, 10, W=he_normal())`.

A drawn value follows from `seed`, from the scope and name of the parameter and from its shape, so a reset brings the
same value back, and so does another run of the program. Any function of a shape, such as `np.ones`, will do as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.graph.records import record
from ppl.tensor.sampling.keys import numbers_of

Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


@record
class Initializer:
    """A function of a shape that draws; `at` tells it for which parameter."""

    draw: Draw
    seed: int = 0
    path: str = ""

    def at(self, path: str) -> Initializer:
        """The same law for the parameter at `path`, independent of other parameters."""
        return dataclasses.replace(self, path=path)

    def __call__(self, shape: tuple[int, ...]) -> np.ndarray:
        generator = np.random.default_rng(numbers_of(self.seed, self.path))
        return np.asarray(self.draw(generator, tuple(shape)), np.float64)


def get_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many numbers a unit takes in and how many take it up: (in, out) for matrices, (out, in, ...) for filters."""
    if len(shape) < 2:
        return (shape[0] if shape else 1,) * 2
    if len(shape) == 2:
        return shape[0], shape[1]
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def constant(value: float) -> Initializer:
    """One number everywhere."""
    return Initializer(lambda rng, shape: np.full(shape, value))


def uniform(low: float = -0.05, high: float = 0.05, seed: int = 0) -> Initializer:
    """Uniform between two numbers."""
    return Initializer(lambda rng, shape: rng.uniform(low, high, shape), seed)


def normal(mean: float = 0.0, std: float = 0.05, seed: int = 0) -> Initializer:
    """Normal."""
    return Initializer(lambda rng, shape: rng.normal(mean, std, shape), seed)


def orthogonal(gain: float = 1.0, seed: int = 0) -> Initializer:
    """A random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2014)."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) < 2:
            raise ValueError(f"orthogonal: a parameter of shape {shape} has no rows and columns")
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
        q = q * np.sign(np.diag(r))
        return gain * (q if rows >= columns else q.T).reshape(shape)

    return Initializer(draw, seed)


def variance_scaling(
    scale: float = 1.0, mode: str = "fan_in", distribution: str = "normal", seed: int = 0
) -> Initializer:
    """Mean 0 and variance `scale` over the fan: "fan_in", "fan_out" or "fan_avg" of the parameter."""
    if mode not in ("fan_in", "fan_out", "fan_avg"):
        raise ValueError(f"variance_scaling: mode is 'fan_in', 'fan_out' or 'fan_avg', got {mode!r}")
    if distribution not in ("normal", "uniform"):
        raise ValueError(f"variance_scaling: distribution is 'normal' or 'uniform', got {distribution!r}")

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        into, out = get_fans(shape)
        std = math.sqrt(scale / {"fan_in": into, "fan_out": out, "fan_avg": (into + out) / 2}[mode])
        return rng.normal(0, std, shape) if distribution == "normal" else rng.uniform(-1, 1, shape) * std * math.sqrt(3)

    return Initializer(draw, seed)


def glorot_uniform(seed: int = 0) -> Initializer:
    """Uniform, for activations that are linear at 0 (Glorot & Bengio 2010)."""
    return variance_scaling(1.0, "fan_avg", "uniform", seed)


def glorot_normal(seed: int = 0) -> Initializer:
    """Normal, for activations that are linear at 0 (Glorot & Bengio 2010)."""
    return variance_scaling(1.0, "fan_avg", "normal", seed)


def he_uniform(seed: int = 0) -> Initializer:
    """Uniform, for relu (He et al. 2015)."""
    return variance_scaling(2.0, "fan_in", "uniform", seed)


def he_normal(seed: int = 0) -> Initializer:
    """Normal, for relu (He et al. 2015)."""
    return variance_scaling(2.0, "fan_in", "normal", seed)


def lecun_uniform(seed: int = 0) -> Initializer:
    """Uniform of variance one over the fan in (LeCun et al. 1998)."""
    return variance_scaling(1.0, "fan_in", "uniform", seed)
