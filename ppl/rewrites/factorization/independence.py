r"""Numbers of a posterior that have nothing to do with each other.

A log-density is a sum. Where each entry of each summand depends on one number at most, all numbers are independent:

.. math:: \log p(x) = \sum_i \log p_i(x_i)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

import ppl.tensor as tt
from ppl.rewrites.factorization.supports import Sites, Support
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.summands import summands
from ppl.rewrites.marginalization.program import NoMatch, Program, log_density
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import Tensor


def without_a_chain(program: Program) -> bool:
    """Whether what is left are numbers, each independent of the others, so that they can be drawn by quadrature."""
    if not 1 <= program.ndim <= LIMITS.numbers_by_quadrature or any(rv.dtype[0] != "f" for rv in program.free):
        return False
    if program.ndim == 1:
        return True
    if any(program.parents(rv) for rv in program.free):
        return False
    return by_number([log_density(f) for f in program.factors], program.free) is not None


def by_number(terms: Iterable[Tensor], values: Sequence[Tensor]) -> Tensor | None:
    """The log-densities of all entries of `values`, one after the other, which add up to the entries of all `terms`;
    None where two of them meet, or a length is not known.

    >>> from ppl.tensor.tensor import TensorType, placeholder
    >>> x, y = placeholder(TensorType("float64", (3,)), "x"), placeholder(TensorType("float64", ()), "y")
    >>> by_number([-tt.sum(x**2) - y**2], [x, y]).type
    float64[4]
    >>> by_number([-tt.sum(x**2) - x[1] * y**2], [x, y])
    """
    if any(None in value.type.shape for value in values):
        return None
    sites, terms = Sites(values, most=1), list(terms)
    densities = tt.zeros(sites.count)
    if sites.count == 1:  # whatever is done to it
        return sum([tt.sum(term) for term in terms], start=densities)
    try:
        for x, weight in summands(terms, frozenset(values)):
            densities = densities + weight * _sums(x, sites.support(x), sites.count)
    except NoMatch:
        return None
    return densities


def _sums(x: Tensor, support: Support | None, count: int) -> Tensor:
    """The sums of the entries of an expression by number; those of data alone go to the first."""
    of_data = support is None or not support.size
    site = np.zeros(1, int) if of_data else np.maximum(support, 0).ravel()  # type: ignore[arg-type]
    if not of_data and np.array_equal(site, np.arange(count)):
        return tt.reshape(x, (-1,))
    if np.all(site == site[0]):
        return tt.switch(np.arange(count) == site[0], tt.sum(x), 0.0)
    return segment_sum(tt.reshape(x, (-1,)), site, count)
