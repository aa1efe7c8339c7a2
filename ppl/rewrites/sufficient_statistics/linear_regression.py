r"""Normal rows about a linear predictor, by the triangle of their design: the cost does not depend on the rows.

With the design D = QR, the part e of the data that it is to explain, and the rest r = e - Dθ̂ that a least-squares
solution θ̂ leaves,

.. math:: \sum_i (e_i - D_i θ)^2 = \lVert r - QQ'r \rVert^2 + \lVert R (θ - \hatθ) - Q'r \rVert^2

for any θ and θ̂, also where D has not full rank. Only small numbers are squared, so digits are kept far from zero too,
and θ̂ is kept small: where columns of D nearly depend on each other, as those of a basis of functions do, the least
squares need coefficients of many digits that cancel.
The coefficients θ may be any expressions: products of scales and signs (a horseshoe prior) as well as variables.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.constants import LOG_2PI
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import affine_in_atoms
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import Affine, Select, written_out
from ppl.rewrites.marginalization.expressions.products import terms
from ppl.rewrites.marginalization.program import NoMatch, Observation, Term, where_valid
from ppl.tensor.tensor import Tensor, as_tensor

_RIDGE = 1e-10  # θ̂ has at most 50,000 times the size of the data, and fits them to ten digits where columns differ


def compact_linear(observation: Observation) -> tuple[Term, str]:
    """An observed normal vector with a linear predictor; raises `NoMatch` where that does not pay."""
    variable, value = observation.variable, observation.value
    mu, sigma = variable.parameters
    count = variable.type.shape[0] or 0
    scale, weights = scale_of(sigma)
    form = form_of(mu, (count,))
    sizes = [prod(known_shape(part.variable)) for part in form.parts]
    columns = sum(sizes)
    work = count * sum(2 if isinstance(part, Select) else size for part, size in zip(form.parts, sizes, strict=True))
    if count * columns > LIMITS.entries_of_a_design:
        raise NoMatch(
            f"{count} rows with {columns} columns are more than {LIMITS.entries_of_a_design} numbers to write out"
        )
    if not columns or 2 * columns**2 > work or 2 * columns > count:
        raise NoMatch(f"{count} rows with {columns} columns are as cheap as they are")
    design = tt.concatenate([written_out(part, count) for part in form.parts], axis=1)
    explained = tt.cast(as_tensor(value), "float64") - form.offset
    if weights is not None:
        explained, design = explained / weights, design / tt.expand_dims(weights, 1)
    q, r = tt.qr(tt.cast(design, "float64"), "reduced")
    best = _nearly_best(r, q.T @ explained)
    rest = explained - design @ best
    projected = q.T @ rest
    theta = tt.concatenate([part.variable.reshape((-1,)) for part in form.parts], axis=0)
    near = tt.cast(best, "floatX")  # in single precision without its last digits, which what is projected takes over
    there = tt.cast(projected + r @ (best - near), "floatX")
    squares = tt.cast(tt.sum((rest - q @ projected) ** 2), "floatX")
    squares = squares + tt.sum((tt.cast(r, "floatX") @ (theta - near) - there) ** 2)
    density = -count * tt.log(scale) - 0.5 * squares / scale**2 - 0.5 * count * LOG_2PI
    if weights is not None:
        density = density - tt.sum(tt.log(weights))
    what = f"{count} rows of a linear predictor with {columns} columns, by the QR decomposition of its design matrix"
    return Term(f"squares of {variable.name}", where_valid(density, [scale > 0]), "rows"), what


def _nearly_best(r: Tensor, projected: Tensor) -> Tensor:
    """A solution θ̂ whose square costs little beside what it leaves (ridge regression on columns of length one)."""
    lengths = tt.sqrt(tt.sum(r**2, axis=0))
    lengths = tt.switch(lengths > 0, lengths, 1.0)
    unit = r / lengths
    products = unit.T @ unit + _RIDGE * tt.eye(unit.shape[1])
    return tt.solve(products, unit.T @ projected, assume_a="pos") / lengths


def scale_of(sigma: Any) -> tuple[Tensor, Tensor | None]:
    """The scale of rows as a number, and what it is multiplied by in each row where that differs; which is data."""
    shape = known_shape(sigma)
    if prod(shape) <= 1:
        return sigma.reshape(()), None
    found = terms(sigma)
    if len(found) != 1 or not is_data(found[0].data) or not np.all(data_value(found[0].data) > 0):
        raise NoMatch("rows have scales of their own that are not data")
    return found[0].number, tt.broadcast_to(found[0].data, shape)


def form_of(mu: Any, shape: tuple[int, ...]) -> Affine:
    """The predictor as an affine map, with data for coefficients, of whatever it is affine in."""
    try:
        form = affine_in_atoms(tt.broadcast_to(mu, shape))
    except NotAffine as reason:
        raise NoMatch(str(reason)) from None
    known = [form.offset, *(p.coefficient if isinstance(p, Select) else p.design for p in form.parts)]
    if not all(map(is_data, known)):
        raise NoMatch("a coefficient is not data")
    return form
