r"""Laws of affine maps of one random vector.

.. math:: A x + b \sim N(A μ + b, A Σ A') \quad\text{for}\quad x \sim N(μ, Σ),

the same for Student's t; sums of disjoint subsets of the entries of a Dirichlet vector are shares of a smaller one,
those of multinomial counts are counts of merged cells. Slices, stacks, differences, products with matrices are affine
maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import MvNormal, Normal
from ppl.distributions.draws.draw import RandomVariable, draw, is_draw
from ppl.graph import Node, ancestors, topological
from ppl.rewrites.marginalization.expressions.affine import affine
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import Select
from ppl.tensor.tensor import Tensor, as_tensor


class NoImage(Exception):  # noqa: N818  an answer, not an error
    """The map has no law of a known family."""


def _law_of(drawn: RandomVariable, a: np.ndarray, b: Tensor) -> Tensor:
    """The law of a x + b; raises `NoImage` where the family knows none."""
    family, parameters = drawn.family, drawn.parameters
    if family is Normal:  # a vector of independent entries
        size = (a.shape[1],)
        mu, sigma = (tt.broadcast_to(p, size) for p in parameters)
        family, parameters = MvNormal, (mu, tt.diag(sigma))
    if family.affine_image:
        return family.affine_image(as_tensor(a), b, *parameters)
    whole = _merges_all(a, b)
    if whole and len(a) > 1:
        return draw(family, tuple(map(as_tensor, family.merged(as_tensor(a), *parameters))))
    if len(a) > 1 or whole:
        raise NoImage
    two = family.merged(as_tensor(np.concatenate([a, 1.0 - a])), *parameters)
    one, law = family.law_of_entry(0, *two)
    return draw(one, tuple(map(as_tensor, law)))


def _merges_all(a: np.ndarray, b: Tensor) -> bool:
    """Whether disjoint subsets that the rows add up are all entries; raises `NoImage` where rows are no such sums."""
    disjoint = np.isin(a, (0.0, 1.0)).all() and (a.sum(axis=0) <= 1).all() and (a.sum(axis=1) > 0).all()
    if not disjoint or not is_data(b) or np.any(data_value(b) != 0):
        raise NoImage
    return bool((a.sum(axis=0) == 1).all())


def _has_images(family: Any) -> bool:
    return family is Normal or bool(family.affine_image or family.merged)


def image(expression: Tensor, keep: Sequence[Node] = ()) -> tuple[Node, Tensor] | None:
    """The largest part of an expression that is an affine map of one vector draw, and its law; None without one."""
    nodes, kept = topological(expression), set(keep)
    for drawn in nodes:
        vector = isinstance(drawn, RandomVariable) and _has_images(drawn.family) and drawn.name is None
        if not vector or drawn in kept or drawn.type.ndim != 1 or None in drawn.type.shape:
            continue
        for node in reversed(nodes):
            if not isinstance(node, Tensor) or node is drawn or node.ndim > 1 or None in node.type.shape:
                continue
            if drawn in ancestors(node) and _alone(expression, node, drawn):
                law = _law(node, drawn)
                if law is not None:
                    return node, law
    return None


def _alone(expression: Tensor, node: Tensor, drawn: Any) -> bool:
    """Whether a node is made of one draw, and the draw and what is made of it serve nothing else."""
    inside = ancestors(node, blockers=[drawn])
    if any(is_draw(n) and n is not drawn for n in inside):
        return False
    made = {n for n in inside if n is not node and (n is drawn or drawn in ancestors(n, blockers=[drawn]))}
    return all(n in inside or made.isdisjoint(n.inputs) for n in topological(expression))


def _law(node: Tensor, drawn: Any) -> Tensor | None:
    """The law of a map; None where it is not affine with known coefficients, or where rows depend on each other."""
    (rows,), (columns,) = known_shape(node) or (1,), known_shape(drawn)
    if drawn.family is Normal and (rows == 1 or node.ndim == 0):
        return None  # sums along axes and laws of two draws say it
    try:
        form = affine(node.reshape((rows,)), {drawn})
        matrix = np.zeros((rows, columns))
        for part in form.parts:
            coefficient = part.coefficient if isinstance(part, Select) else part.design
            if not is_data(coefficient):
                return None
            if isinstance(part, Select):
                place = np.broadcast_to(part.positions, (rows,))
                np.add.at(matrix, (np.arange(rows), place), np.broadcast_to(data_value(coefficient), (rows,)))
            else:
                matrix += np.broadcast_to(data_value(coefficient), matrix.shape)
        if np.linalg.matrix_rank(matrix) < rows:
            return None
        law = _law_of(drawn, matrix, form.offset)
    except (NotAffine, NoImage):
        return None
    return law.reshape(node.type.shape) if law.type.shape != node.type.shape else law
