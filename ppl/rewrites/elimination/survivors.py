r"""Which coordinates suit the variables that no rule could integrate out.

A variable of fixed law with an end of finite density takes another coordinate where the data do not exclude that end. A
normal variable with a random mean or scale is centred as far as the data decide it: with τ its prior scale and I the
information of its children at a pilot point, by the weight

.. math:: λ = \frac{τ^2 I}{1 + τ^2 I}

The pilot is a few Newton steps in that variable alone, from the point where sampling starts, all others at theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal, RandomVariable
from ppl.distributions.distribution import default_point
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.elimination.affine import data_value, is_data, known_shape
from ppl.rewrites.elimination.coordinates import Coordinate, PartiallyCentred, ShortLog, fixed_coordinate
from ppl.rewrites.elimination.program import Factor, Observation, Program, Term, children
from ppl.tensor.evaluate import to_jax
from ppl.tensor.tensor import Tensor, as_tensor, placeholder
from ppl.tensor.variables import VARIABLE

STEPS = 6  # of Newton's method, each of one unit at most
LARGEST = 50_000  # numbers in one variable beyond which no pilot is run
EXCLUDED = 8.0  # log-density below the highest, at which a value counts as excluded
GRID = np.array(
    [-5.0, -4.0, -2.5, -1.5, -0.75, 0.0, 0.75, 1.5, 2.5, 4.0, 5.0]
)  # of coordinates, first and last the ends


def coordinates(program: Program, protected: Collection[RandomVariable]) -> dict[RandomVariable, Coordinate]:
    """A coordinate for each surviving variable that has a better one than its own."""
    found: dict[RandomVariable, Coordinate] = {}
    pilot = _Pilot(program)
    for rv in program.free:
        if rv in protected or None in rv.type.shape or np.prod(known_shape(rv)) > LARGEST:
            continue
        fixed = fixed_coordinate(rv)
        chosen: Coordinate | None = None
        if fixed is not None:
            chosen = fixed if pilot.reaches_an_end(rv, fixed) else None
        elif rv.family is Normal and not all(is_data(p) for p in rv.parameters):
            weight = pilot.centring(rv)
            chosen = None if weight is None else PartiallyCentred(weight)
        if chosen is not None:
            found[rv] = chosen
    return found


class _Pilot:
    """The point where sampling starts, and the log-density around it in one variable at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._values: dict[Node, Node] = {}

    @property
    def values(self) -> dict[Node, Node]:
        """The starting values, as constants."""
        if not self._values:
            for rv in sorted(self.program.free, key=lambda rv: rv.serial):
                inputs = [as_tensor(substitute(p, self._values)) for p in rv.parameters]
                start = as_tensor(default_point(rv.family, inputs, rv.family.support_for(inputs)))
                known = is_data(start) and None not in rv.type.shape
                self._values[rv] = as_tensor(np.broadcast_to(data_value(start), known_shape(rv))) if known else start
        return self._values

    def parameters(self, rv: RandomVariable) -> list[Tensor]:
        return [as_tensor(substitute(p, self.values)) for p in rv.parameters]

    def likelihood(self, rv: RandomVariable) -> Callable[[Any], Any]:
        """The log-density of the children of a variable, as a function of its value."""
        x = placeholder(rv.type, "x")
        here = {**self.values, rv: x}
        total: Any = tt.as_tensor(0.0)
        for factor in children(self.program, rv):
            total = total + tt.sum(as_tensor(substitute(_density(factor), here)))
        held = [n for n in ancestors(total) if n.op is VARIABLE]
        density, data = to_jax([x, *held], total), [n.attrs["cell"].value for n in held]
        return lambda at: density(at, *data)

    def reaches_an_end(self, rv: RandomVariable, coordinate: Coordinate) -> bool:
        """Whether the data leave an end of the support within reach, the entries moving together."""
        shape, parameters = known_shape(rv), self.parameters(rv)
        density = self.likelihood(rv)
        with jax.enable_x64(True):
            points = [np.broadcast_to(data_value(coordinate.backward(z, *parameters)), shape) for z in GRID]
            heights = np.array([float(density(point)) for point in points])
        heights = np.where(np.isfinite(heights), heights, -np.inf)
        low = heights[0] > heights.max() - EXCLUDED
        return bool(low if isinstance(coordinate, ShortLog) else low or heights[-1] > heights.max() - EXCLUDED)

    def centring(self, rv: RandomVariable) -> np.ndarray | None:
        """The weight of the data in the precision of each entry; None where it cannot be told."""
        shape = known_shape(rv)
        mu, tau = (np.broadcast_to(data_value(p), shape) for p in self.parameters(rv))
        slope = jax.grad(self.likelihood(rv))
        with jax.enable_x64(True):
            at = np.array(mu, dtype=float)
            for _ in range(STEPS):
                gradient, curvature = (np.asarray(a) for a in jax.jvp(slope, (at,), (np.ones(shape),)))
                information = np.maximum(-curvature, 0.0)
                if not (np.isfinite(gradient).all() and np.isfinite(curvature).all()):
                    return None
                at = at + np.clip((gradient - (at - mu) / tau**2) / (information + tau**-2.0), -1.0, 1.0)
        return tau**2 * information / (1.0 + tau**2 * information)


def _density(factor: Factor) -> Tensor:
    """The log-density of a factor, entry by entry."""
    if isinstance(factor, Term):
        return factor.density
    if isinstance(factor, Observation):
        return factor.variable.family.log_density(factor.value, *factor.variable.parameters)
    return factor.family.log_density(factor, *factor.parameters)
