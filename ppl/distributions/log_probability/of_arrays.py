"""Measures of arrays: parts put together, other shapes, running sums, sums and linear maps of normal vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.draws.draw import RandomVariable
from ppl.distributions.families.dirac_delta import DiracDelta
from ppl.distributions.families.mv_normal import MvNormal
from ppl.distributions.families.normal import Normal
from ppl.distributions.log_probability.joint import joint_factors
from ppl.distributions.log_probability.measure import (
    Measure,
    NoDensityError,
    known_shape,
    measure,
    measures,
    only_random_input,
    require_disjoint,
    require_same_shape,
    shown,
    sources,
    whole_sum,
)
from ppl.distributions.log_probability.of_maps import vars_of
from ppl.graph import Node
from ppl.tensor.tensor import Tensor, as_tensor


# --- the same entries in another shape
@measures("reshape", "transpose", "expand_dims", "squeeze")
def rearranged(node: Tensor) -> Measure:
    """Entries keep their densities, in other places."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law = measure(y)
    if law.ndim:
        return rearranged_batch(node, y, law)
    back = _undo(node, y)
    through = lambda f: None if f is None else lambda x: _apply(node, tt.broadcast_to(f(back(as_tensor(x))), y.shape))
    changed = {name: through(getattr(law, name)) for name in ("logp", "logcdf", "logccdf", "icdf")}
    return Measure(**{**vars_of(law), **changed, "node": node})


def _apply(node: Tensor, v: Tensor) -> Tensor:
    """The node's rearrangement of other entries of the same shape."""
    return Node(node.op, (v, *node.inputs[1:]), node.attrs)  # type: ignore[return-value]


def _undo(node: Tensor, y: Tensor) -> Callable[[Tensor], Tensor]:
    """The rearrangement back to the shape of y."""
    if node.op.name == "transpose":
        order = list(np.argsort(node.attrs["axes"]))
        return lambda x: tt.transpose(x, [int(a) for a in order])
    return lambda x: tt.reshape(tt.broadcast_to(x, node.shape), y.shape)


def rearranged_batch(node: Tensor, y: Tensor, law: Measure) -> Measure:
    """All axes belong together, or only axes of independent values are moved."""
    if law.ndim == y.ndim:
        back = _undo(node, y)
        return Measure(
            node, lambda x: law.logp(back(as_tensor(x))), ndim=node.ndim, discrete=law.discrete, independent=False
        )
    if node.op.name == "expand_dims" and all(a < node.ndim - law.ndim for a in node.attrs["axis"]):
        axes = node.attrs["axis"]
        return Measure(
            node,
            lambda x: tt.expand_dims(law.logp(tt.squeeze(x, axes)), axes),
            ndim=law.ndim,
            discrete=law.discrete,
            independent=law.independent,
        )
    raise NoDensityError(
        f"No density for {shown(node)}: the last {law.ndim} axes of {shown(y)} belong together and cannot be moved."
    )


@measures("broadcast_to")
def broadcast(node: Tensor) -> Measure:
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    require_same_shape(node, y)
    law = measure(y)
    return Measure(**{**vars_of(law), "node": node})


# --- several parts in one array
@measures("concatenate")
def joined(node: Tensor) -> Measure:
    """The density of each part at its share of the value; a part may have other parts as parameters."""
    axis = node.attrs["axis"]
    parts = [part if sources(part) else DiracDelta.dist(part) for part in node.inputs]  # type: ignore[arg-type]
    ends = np.cumsum([0, *[known_shape(part)[axis] for part in parts]])
    laws = [measure(part) for part in parts]  # type: ignore[arg-type]
    ndim = max(law.ndim for law in laws)
    where = (slice(None),) * axis

    def shares(x: Any) -> list[Tensor]:
        x = tt.broadcast_to(as_tensor(x), node.shape)
        return [x[(*where, slice(int(a), int(b)))] for a, b in itertools.pairwise(ends)]

    def logp(x: Any) -> Tensor:
        values = shares(x)
        factors = joint_factors(list(zip(parts, values, strict=True)), node)
        if ndim and axis >= node.ndim - ndim:  # the parts share the axes that belong together
            sums = [tt.sum(f, axis=tuple(range(node.ndim - ndim, f.ndim))) for f in factors]
            return reduce(add, sums)
        return tt.concatenate(
            [tt.broadcast_to(f, v.shape[: v.ndim - ndim]) for f, v in zip(factors, values, strict=True)], axis
        )

    try:
        require_disjoint(node, parts)
        independent = all(law.independent for law in laws)
    except NoDensityError:
        independent = False

    def each(fact: str) -> Callable[[Any], Tensor] | None:
        if ndim or not independent or any(getattr(law, fact) is None for law in laws):
            return None
        return lambda x: tt.concatenate(
            [tt.broadcast_to(getattr(law, fact)(v), v.shape) for law, v in zip(laws, shares(x), strict=True)], axis
        )

    return Measure(
        node,
        logp,
        each("logcdf"),
        each("logccdf"),
        each("icdf"),
        ndim=ndim,
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=independent,
    )


# --- sums and linear maps
def _projected(node: Tensor, a: Tensor, y: Tensor) -> Measure | None:
    """A y of fewer rows than columns with y ~ N(μ, LLᵀ): it is N(Aμ, ALLᵀAᵀ), a number where A is one row."""
    vector: Any = y.inputs[0] if y.op.name == "expand_dims" and y.type.shape[1:] == (1,) else y
    if not (isinstance(vector, RandomVariable) and vector.family is MvNormal and vector.type.ndim == 1):
        return None
    if a.type.ndim != 2 or None in a.type.shape or a.type.shape[0] >= a.type.shape[1]:
        return None
    mu, chol = vector.parameters
    center, root = a @ tt.broadcast_to(mu, vector.shape), a @ chol
    if a.type.shape[0] == 1:
        law = measure(Normal.dist(tt.reshape(center, node.shape), tt.sqrt(tt.sum(root**2))))
        return Measure(**{**vars_of(law), "node": node})
    law = measure(MvNormal.dist(center, root @ root.T))
    through = lambda x: law.logp(tt.reshape(as_tensor(x), (a.type.shape[0],)))
    return Measure(node, through, ndim=node.ndim, discrete=False, independent=False)


@measures("cumsum")
def running_sum(node: Tensor) -> Measure:
    """The steps y have the density of the differences."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law, axis = measure(y), node.attrs["axis"]

    def steps(x: Any) -> Tensor:
        x = as_tensor(x)
        where = (slice(None),) * axis
        return tt.concatenate([x[(*where, slice(None, 1))], tt.diff(x, axis=axis)], axis)

    fields = {"logp": lambda x: law.logp(steps(x)), "logcdf": None, "logccdf": None, "icdf": None}
    return Measure(**{**vars_of(law), **fields, "node": node, "independent": False})


@measures("sum")
def sum_of_normals(node: Tensor) -> Measure:
    """A sum of independent normal numbers is normal."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    if not (isinstance(y, RandomVariable) and y.family is Normal):
        raise NoDensityError(
            f"No density for {shown(node)}: the law of a sum of {shown(y)} has no rule here. Write the "
            "distribution of the sum."
        )
    axes, keep = node.attrs["axis"], node.attrs["keepdims"]
    mu, sigma = (tt.broadcast_to(p, y.shape) for p in y.parameters)
    law = measure(
        Normal.dist(tt.sum(mu, axis=axes, keepdims=keep), tt.sqrt(tt.sum(sigma**2, axis=axes, keepdims=keep)))
    )
    return Measure(**{**vars_of(law), "node": node})


@measures("matmul", "dot")
def mapped(node: Tensor) -> Measure:
    """A y with a square matrix A that is not random: |det A|⁻¹ times the density at A⁻¹ x. With fewer rows: of a normal
    vector, again a normal one.
    """
    at = only_random_input(node)
    y: Tensor = node.inputs[at]  # type: ignore[assignment]
    a = as_tensor(node.inputs[1 - at])
    projected = _projected(node, a, y) if at == 1 else None
    if projected is not None:
        return projected
    law = measure(y)
    columns = y.type.shape[1:]
    if at != 1 or a.ndim != 2 or columns not in ((), (1,)) or a.type.shape[0] != a.type.shape[1]:
        raise NoDensityError(
            f"No density for {shown(node)}: a rule needs a square matrix times a random vector, or one with fewer rows "
            "times an MvNormal. Write an MvNormal for other linear maps of normal vectors."
        )
    log_det = tt.log(tt.abs(tt.det(a)))
    solved = lambda x: tt.solve(a, as_tensor(x))
    return Measure(
        node,
        lambda x: whole_sum(law.logp(solved(x)), y.ndim - law.ndim) - log_det,
        ndim=y.ndim,
        discrete=law.discrete,
        independent=False,
    )
