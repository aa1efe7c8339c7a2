r"""Draws that a step of a loop makes, made before the loop: one for each step, of a law that is the same in all.

.. math:: x_t \sim N(f(x_{t-1}), σ(x_{t-1})) \quad\text{is}\quad x_t = f(x_{t-1}) + σ(x_{t-1})\, z_t

with independent standard normal :math:`z_t`. So loops hold no draws, and the density of their rows is that of maps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.graph import Node
from ppl.tensor.core.bodies import set_draws_before
from ppl.tensor.tensor import Tensor, constant


def before_the_loop(
    node: Node, moves: Callable[[Node], bool], steps: Any
) -> tuple[Tensor, Callable[[Tensor], Tensor]] | None:
    """Draws for all steps, and the draw of a step as a function of one of them; None where its law allows no such.

    `moves` tells what differs from step to step.
    """
    if not isinstance(node, RandomVariable) or None in node.type.shape:
        return None
    names = [
        *node.family.params,
        *range(len(node.family.params), len(node.parameters)),
    ]  # a mixture has undeclared ones
    law: dict[Any, Tensor] = dict(zip(names, node.parameters, strict=True))
    moving = {name for name, parameter in law.items() if moves(parameter)}
    size = (steps, *node.type.shape[: node.ndim - node.event_ndim])
    make = lambda **fixed: draw(node.family, tuple((law | fixed).values()), size)
    if not moving:
        return make(), lambda entry: entry
    location, scale = node.family.location_parameter, node.family.scale_parameter
    if not location or not moving <= {location, scale}:
        return None
    mu, zero = law[location], constant(np.zeros(node.type.shape[node.ndim - node.event_ndim :], node.dtype))
    if scale not in moving:
        return make(**{location: zero}), lambda entry: mu + entry
    sigma = law[scale]
    return make(**{location: zero, scale: constant(np.ones((), node.dtype))}), lambda entry: mu + sigma * entry


set_draws_before(before_the_loop, laws_of)
