r"""Covariances that are sums of known matrices, by one eigendecomposition for all evaluations.

With B = LL' and :math:`L^{-1}AL'^{-1} = QΛQ'`, both known, the covariance aA + bB has the eigenvalues aΛ + b beside the
known :math:`LQ`, so that

.. math:: \log N(y; μ, aA + bB) = -\tfrac12 \sum_i \Big[\log(aλ_i + b) + \frac{u_i^2}{aλ_i + b}\Big]
          - \log\det L - \tfrac n2 \log 2π, \qquad u = Q'L^{-1}(y - μ),

and an evaluation takes as many operations as there are numbers, not their cube.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.families.kronecker_normal import constant_or
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.products import terms
from ppl.rewrites.marginalization.program import NoMatch, Observation, Term, where_valid
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass
class _Multiple:
    """A known matrix times a number: terms that `terms` has read, added up where their matrices are multiples of one
    another, which their values tell and their form does not."""

    number: Tensor
    matrix: np.ndarray

    def takes(self, number: Tensor, matrix: np.ndarray) -> bool:
        """Take in another term, if its matrix is a multiple of this one's."""
        at = np.unravel_index(np.argmax(np.abs(self.matrix)), matrix.shape)
        times = matrix[at] / self.matrix[at]
        if not np.allclose(matrix, times * self.matrix, rtol=1e-14, atol=0.0):
            return False
        self.number = self.number + times * number
        return True


def compact_spectral(observation: Observation) -> tuple[Term, str]:
    """One normal vector whose covariance is a sum of two known matrices; raises `NoMatch` where it is not."""
    variable, value = observation.variable, observation.value
    mu, chol = variable.parameters
    n = known_shape(variable)[-1]
    if chol.op.name != "cholesky" or not LIMITS.least_for_eigenvectors <= n <= LIMITS.most_for_eigenvectors:
        raise NoMatch(f"its covariance is not written as a sum, or {n} numbers are few or too many")
    found: list[_Multiple] = []
    summands = terms(chol.inputs[0], sums=True)
    if not all(is_data(x.data) and _is_matrix(x.data, n) for x in summands):
        raise NoMatch("its covariance is not a sum of multiples of known matrices")
    for number, matrix in summands:
        known = np.broadcast_to(np.asarray(data_value(matrix), dtype=float), (n, n))
        if np.any(known) and not any(m.takes(number, known) for m in found):
            found.append(_Multiple(number, known))
    if len(found) not in (1, 2):
        raise NoMatch(f"its covariance is a sum of {len(found)} known matrices, and two have common eigenvectors")
    second = max(found, key=lambda m: _spread(m.matrix))
    if _spread(second.matrix) < LIMITS.least_spread:
        raise NoMatch("no matrix that its covariance is a sum of is far from singular")
    first = next((m for m in found if m is not second), _Multiple(as_tensor(0.0), np.zeros((n, n))))
    lower = tt.cholesky(as_tensor(second.matrix))
    inverse = tt.solve_triangular(lower, tt.eye(n), lower=True)
    eigenvalues, vectors = tt.eigh(inverse @ as_tensor(first.matrix) @ inverse.T)
    d = first.number * eigenvalues + second.number
    u = (vectors.T @ inverse) @ (tt.cast(as_tensor(value), "floatX") - mu)
    density = -0.5 * tt.sum(tt.log(d) + u**2 / d) - tt.sum(tt.log(tt.diagonal(lower))) - 0.5 * n * LOG_2PI
    words = f"{n} numbers, by the eigendecomposition of their covariance"
    return Term(f"spectrum of {variable.name}", where_valid(density, [d > 0]), "rows"), words


def _is_matrix(data: Tensor, n: int) -> bool:
    """Whether data are a matrix of n rows and columns, or one number in the place of all of its entries."""
    return data.type.shape == (n, n) or (data.ndim <= 2 and set(data.type.shape) <= {1})


def _spread(matrix: np.ndarray) -> float:
    """The least entry on the diagonal of its Cholesky factor as a share of the largest; 0 where there is no factor."""
    try:
        diagonal = np.diag(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return 0.0
    return float(diagonal.min() / diagonal.max())


def is_known(chol: Any) -> bool:
    """Whether the matrix of a Cholesky factor is a number times one that does not depend on parameters."""
    given = _given(chol)
    found = terms(given)
    return len(found) == 1 and is_data(found[0].data) and found[0].data.type.shape == given.type.shape


def _given(chol: Any) -> Any:
    """The matrix of which a factor was taken, or the factor that was given."""
    return chol.inputs[0] if chol.op.name == "cholesky" else chol


def known_factor(chol: Any) -> tuple[Tensor, Tensor]:
    """The factor of a covariance as a number times a known matrix, where it is one; else as once itself."""
    if not is_known(chol):
        return as_tensor(1.0), chol
    given = _given(chol)
    ((number, matrix),) = terms(given)
    return (number, matrix) if given is chol else (tt.sqrt(number), tt.cholesky(matrix))


def covariance_of(chol: Any) -> Tensor:
    """The matrix of a Cholesky factor, as it was before where it is known."""
    if chol.op.name == "cholesky_lifted" or (chol.op.name == "cholesky" and chol.attrs["lower"]):
        return chol.inputs[0]
    number, known = known_factor(chol)
    return number**2 * constant_or(lambda x: x @ x.T, known)
