r"""The law of elimination, for any plan: the joint density is the marginal times the law of what was eliminated.

Eliminated variables x come back as functions of noise, x = f(ε), so at every point (r the variables that stay)

.. math:: \log p(x, r) = \log m(r) + \log p(ε) - \log |\det f'(ε)|.

The left side is the model as written, the right side what rewriting made of it; the law of the noise is normalized by
itself, so that one equation checks marginal and recovery together. Where few variables are eliminated, the joint is
also summed and integrated by brute force.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from by_numpy import by_numpy, traced
from scipy.special import logsumexp

import ppl.tensor as tt
from ppl.distributions import is_draw
from ppl.distributions.transforms import default_transform
from ppl.graph import Node, substitute, topological
from ppl.rewrites.marginalization import Observation, Program, Term
from ppl.rewrites.marginalization.discrete.latent_values import values_of
from ppl.rewrites.marginalization.program import NoMatch
from ppl.tensor.tensor import Tensor, placeholder

POINTS = 4  # at which the equation is checked
MOST_EVALUATIONS = 20_000  # of the joint, by brute force
REACH = 40.0  # of unconstrained numbers; and how much smaller a log-density is left out


def joint(program: Program, values: dict[Node, Node]) -> Tensor:
    """The log-density of a program, with values in place of its free variables."""
    total: Any = tt.as_tensor(0.0)
    for factor in program.factors:
        if isinstance(factor, Term):
            total = total + tt.sum(substitute(factor.density, values))
            continue
        rv = factor.variable if isinstance(factor, Observation) else factor
        value = substitute(factor.value, values) if isinstance(factor, Observation) else values[rv]
        total = total + tt.sum(rv.family.log_density(value, *substitute(list(rv.parameters), values)))
    return total


class Places:
    """Inputs that reach every point of the support of draws, one after the other, and numbers to put there."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.inputs: list[Tensor] = []
        self.numbers: list[np.ndarray] = []
        self.volumes: list[Any] = []  # log |dx/du| of each

    def enter(self, rv: Any, parents: dict[Node, Node]) -> Tensor:
        """The value of a draw as a function of a new input, given the values of its parents."""
        parameters = substitute(list(rv.parameters), parents)
        shape = rv.type.shape
        if rv.dtype[0] != "f":
            return self._add(placeholder(rv.type), self.rng.choice(some_values(rv), (POINTS, *shape)), 0.0)
        transform = default_transform(rv.family, rv.parameters)
        if transform is None:
            return self._add(placeholder(rv.type), self.rng.normal(size=(POINTS, *shape)), 0.0)
        u = placeholder(transform.forward(rv, *rv.parameters).type)
        volume = tt.sum(transform.log_jac_det(u, *parameters))
        self._add(u, self.rng.normal(size=(POINTS, *u.type.shape)), volume)
        return transform.backward(u, *parameters)

    def _add(self, x: Tensor, numbers: np.ndarray, volume: Any) -> Tensor:
        self.inputs.append(x)
        self.numbers.append(numbers.astype(x.dtype))
        self.volumes.append(volume)
        return x


def some_values(rv: Any) -> np.ndarray:
    """Values of a discrete draw: all, where they are finitely many."""
    try:
        return values_of(rv)
    except NoMatch:
        return np.arange(1, 5)


def placed(draws: Any, known: dict[Node, Node], places: Places) -> dict[Node, Node]:
    """Values of draws, parents first."""
    values = dict(known)
    for rv in draws:
        values[rv] = places.enter(rv, values)
    return values


class Sides(NamedTuple):
    """The two sides of the equation, at each point."""

    joint: np.ndarray
    product: np.ndarray


def both_sides(before: Program, after: Program, seed: int) -> Sides:
    """The joint as written, and marginal times conditional, at some points of the support."""
    places = Places(np.random.default_rng(seed))
    kept = placed(in_order(after.free), {}, places)
    values = dict(kept)
    for recovery in reversed(after.recoveries):
        values[recovery.variable] = substitute(recovery.draw, values)
    gone = [r.variable for r in after.recoveries]
    beside = [substitute(list(pair), values) for r in after.recoveries for pair in r.beside]  # numbers, and their laws
    made = [*(values[v] for v in gone), *(x for x, _ in beside)]
    draws = [n for n in topological(made) if is_draw(n)]
    noise = placed(draws, {}, places)
    symbols = {d: placeholder(d.type) for d in draws if d.dtype[0] == "f"}
    density: Any = joint(after, kept)
    for d in draws:
        density = density + tt.sum(d.family.log_density(noise[d], *substitute(list(d.parameters), noise)))
    point = {**kept, **dict(zip(gone, substitute([values[v] for v in gone], noise), strict=True))}
    curved = [x for x in made if x.dtype[0] == "f" and x not in symbols]  # others are noise as it stands
    moved = [d for d in symbols if not any(x is d for x in made)]
    f = traced(
        [*places.inputs, *(symbols[d] for d in moved)],
        substitute(curved, {**noise, **{d: symbols[d] for d in moved}}),
    )
    whole: Any = joint(before, point)
    for x, law in (substitute(pair, noise) for pair in beside):
        whole = whole + tt.sum(law.family.log_density(x, *law.parameters))
    g = traced(places.inputs, [whole, density, *(noise[d] for d in moved)])

    def at(*numbers: Any) -> Any:
        total, found, *here = g(*numbers)
        if not moved:
            return total, found
        slopes = jax.jacfwd(lambda e: jnp.concatenate([jnp.ravel(v) for v in f(*numbers, *e)]))(here)
        slope = jnp.concatenate([s.reshape(s.shape[0], -1) for s in slopes], axis=1)
        return total, found - jnp.linalg.slogdet(slope)[1]

    with jax.enable_x64(True):
        return Sides(*by_numpy(jax.vmap(at), *places.numbers))


def along_a_line(posterior: Any, seed: int) -> tuple[float, float]:
    """The slope of a log-density along a line, by its gradient and by five points."""
    density = posterior.logp()
    f = posterior.model.compile_fn([density, *tt.grad(density, list(posterior.values))], inputs=posterior.values)
    rng = np.random.default_rng(seed)
    at = {v.name: 0.3 * rng.normal(size=v.type.shape) for v in posterior.values}
    way = {v.name: rng.normal(size=v.type.shape) for v in posterior.values}
    there = lambda h: f({name: at[name] + h * way[name] for name in at})
    slope = sum(np.sum(g * way[v.name]) for g, v in zip(there(0.0)[1:], posterior.values, strict=True))
    h = 1e-3
    ends = [there(k * h)[0] for k in (-2, -1, 1, 2)]
    return slope, (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)


def in_order(draws: Any) -> list[Any]:
    """Parents before children."""
    return sorted(draws, key=lambda rv: rv.serial)


def brute_force(before: Program, after: Program, seed: int) -> tuple[float, float] | None:
    """The rewritten log-density at a point, and the joint summed and integrated there; None where that is too much."""
    places = Places(np.random.default_rng(seed))
    kept = placed(in_order(after.free), {}, places)
    fixed = len(places.inputs)
    gone = in_order([r.variable for r in after.recoveries])
    values = placed(gone, kept, places)
    inputs = places.inputs[fixed:]
    sites = [some_values(rv) for rv in gone if rv.dtype[0] != "f" for _ in range(int(np.prod(rv.type.shape)))]
    ndim = sum(int(np.prod(x.type.shape)) for x in inputs if x.dtype[0] == "f")
    combinations = int(np.prod([len(s) for s in sites]))
    side = {0: 1, 1: 300, 2: 80}.get(ndim, 0)
    if not side or side**ndim * combinations > MOST_EVALUATIONS or any(_countless(rv) for rv in gone):
        return None
    density = joint(before, values)
    for volume in places.volumes[fixed:]:
        density = density + volume
    here = [numbers[0] for numbers in places.numbers[:fixed]]
    f = traced([*places.inputs[:fixed], *inputs], density)

    def on_grid(axes: list[np.ndarray]) -> np.ndarray:
        grid = np.array(list(product(*sites))).reshape(combinations, -1)
        real = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, ndim) if ndim else np.zeros((1, 0))
        whole = np.repeat(grid, len(real), axis=0), np.tile(real, (combinations, 1))
        numbers, at = [], [0, 0]
        for x in inputs:
            kind, size = int(x.dtype[0] == "f"), int(np.prod(x.type.shape))
            part = whole[kind][:, at[kind] : at[kind] + size]
            numbers.append(part.reshape(-1, *x.type.shape).astype(x.dtype))
            at[kind] += size
        with jax.enable_x64(True):
            axes_of = [None] * fixed + [0] * len(inputs)
            found = by_numpy(jax.vmap(f, axes_of) if numbers else f, *here, *numbers)
        found = np.where(np.isfinite(found), found, -np.inf).reshape(-1, *(len(a) for a in axes))
        return logsumexp(found, axis=0)

    with jax.enable_x64(True):
        marginal = float(by_numpy(traced(places.inputs[:fixed], joint(after, kept)), *here))
    if not ndim:
        return marginal, float(on_grid([]))
    axes = [np.linspace(-REACH, REACH, side)] * ndim
    for _ in range(3):  # closer and closer to where the mass is
        found = on_grid(axes)
        inside = found > found.max() - REACH
        axes = [_around(a, inside.any(axis=tuple(j for j in range(ndim) if j != i))) for i, a in enumerate(axes)]
    fine = on_grid(axes)
    total = _trapezoid(fine, axes)
    coarse = _trapezoid(fine[(slice(None, None, 2),) * ndim], [a[::2] for a in axes])
    return (marginal, total) if abs(total - coarse) < 1e-8 * (1 + abs(total)) else None


def _countless(rv: Any) -> bool:
    try:
        return rv.dtype[0] != "f" and len(values_of(rv)) == 0
    except NoMatch:
        return True


def _around(axis: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The part of an axis that holds the mass, with a margin, as finely divided as before."""
    step = axis[1] - axis[0]
    low, high = axis[inside].min() - 2 * step, axis[inside].max() + 2 * step
    return np.linspace(low, high, len(axis) | 1)


def _trapezoid(found: np.ndarray, axes: list[np.ndarray]) -> float:
    return float(logsumexp(found) + sum(np.log(a[1] - a[0]) for a in axes))
