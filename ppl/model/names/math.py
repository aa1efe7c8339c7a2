"""`pm.math`: the functions of the tensor language that model programs use, and a few of PyMC's own."""

from __future__ import annotations

import warnings
from functools import reduce
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor, as_tensor

_FROM_TENSOR = """
abs and_ arccos arccosh arcsin arcsinh arctan arctanh as_tensor broadcast_to ceil clip concatenate constant
cos cosh cumprod cumsum diff dot eq erf erfc erfcinv erfinv exp floor full full_like ge gt invlogit le log
log1pexp log_softmax logdiffexp logit logsumexp lt matmul matrix_inverse max maximum mean min minimum neq ones
ones_like or_ prod round sigmoid sgn sin sinh softmax sqr sqrt stack sum switch tan tanh where zeros
zeros_like expand_packed_triangular
""".split()


def __getattr__(name: str) -> Any:
    if name in _FROM_TENSOR:
        return getattr(tt, name)
    raise AttributeError(f"pm.math has no {name!r}; ppl.tensor has all functions of the tensor language")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FROM_TENSOR])


def probit(p: Any) -> Tensor:
    """The standard normal quantile.

    >>> round(float(pm.probit(0.975).eval()), 2)
    1.96
    """
    return tt.ndtri(p)


def invprobit(x: Any) -> Tensor:
    """The standard normal distribution function.

    >>> round(float(pm.invprobit(1.96).eval()), 3)
    0.975
    """
    return tt.ndtr(x)


def log1mexp(x: Any, *, negative_input: bool | None = None) -> Tensor:
    """log(1 - exp(x)) for negative x, without cancellation.

    >>> round(pm.math.log1mexp(-1e-20).eval().item(), 3)
    -46.052
    """
    if negative_input is False:
        raise ValueError("pm.math.log1mexp takes negative numbers: write log1mexp(-x), without negative_input=False")
    if negative_input is not None:
        warnings.warn("pm.math.log1mexp takes negative numbers: leave negative_input= out", FutureWarning, stacklevel=2)
    return tt.log1mexp(x)


def logdet(m: Any) -> Tensor:
    """The logarithm of the absolute determinant."""
    return tt.slogdet(m)[1]


def logaddexp(*xs: Any) -> Tensor:
    """log(exp(a) + exp(b) + ...) entry by entry."""
    return reduce(tt.logaddexp, map(as_tensor, xs))


def logbern(log_p: Any, rng: Any = None) -> bool:
    """A coin with log-probability `log_p`, as a Python bool."""
    if np.isnan(log_p):
        raise FloatingPointError("log_p is nan")
    return bool(np.log((rng or np.random.default_rng()).random()) < log_p)


def flatten_list(tensors: Any) -> Tensor:
    """Several tensors in one vector."""
    return tt.concatenate([as_tensor(t).reshape((-1,)) for t in tensors])


def flatten(x: Any, ndim: int = 1) -> Tensor:
    """The last axes merged so that `ndim` remain."""
    return tt.flatten(x, ndim)


def kronecker(*Ks: Any) -> Tensor:
    """The Kronecker product of matrices."""
    return reduce(tt.kron, Ks)


def cartesian(*arrays: Any) -> Any:
    """All combinations of the rows of arrays; NumPy in, NumPy out."""
    symbolic = any(isinstance(a, Tensor) for a in arrays)
    parts = [as_tensor(a) if symbolic else np.asarray(a) for a in arrays]
    parts = [p.reshape((-1, 1)) if p.ndim == 1 else p for p in parts]
    lengths = [p.shape[0] for p in parts]
    index = np.indices([int(n) for n in lengths]).reshape(len(parts), -1)
    rows = [p[i] for p, i in zip(parts, index, strict=True)]
    return tt.concatenate(rows, axis=1) if symbolic else np.concatenate(rows, axis=1)


def flat_outer(a: Any, b: Any) -> Tensor:
    """The outer product of two vectors in one row."""
    return tt.outer(a, b).reshape((-1,))


def kron_matrix_op(krons: Any, m: Any, op: Any) -> Tensor:
    """`op` with each factor of a Kronecker product in turn, without the product."""
    m = as_tensor(m)
    result = tt.expand_dims(m, 1) if m.ndim == 1 else m
    columns = result.shape[1]
    result = result.T
    for kron in krons:
        kron = as_tensor(kron)
        result = op(kron, result.reshape((kron.shape[0], -1))).T
    return result.reshape((columns, -1)).T if m.ndim == 2 else result.reshape((-1,))


def kron_dot(krons: Any, m: Any, op: Any = None) -> Tensor:
    """A Kronecker product times a matrix or vector."""
    return kron_matrix_op(krons, m, op or tt.dot)


def kron_solve_lower(krons: Any, m: Any, op: Any = None) -> Tensor:
    """The solution for lower triangular factors."""
    return kron_matrix_op(krons, m, op or (lambda a, b: tt.solve_triangular(a, b, lower=True)))


def kron_solve_upper(krons: Any, m: Any, op: Any = None) -> Tensor:
    """The solution for upper triangular factors."""
    return kron_matrix_op(krons, m, op or (lambda a, b: tt.solve_triangular(a, b, lower=False)))


def kron_diag(*diags: Any) -> Tensor:
    """The diagonal of a Kronecker product of diagonal matrices."""
    return reduce(flat_outer, diags)


def batched_diag(C: Any) -> Tensor:
    """Rows as stacked diagonal matrices, or the diagonals of stacked matrices."""
    C = as_tensor(C)
    if C.ndim == 2:
        return tt.expand_dims(C, -1) * tt.eye(C.shape[1])
    if C.ndim == 3:
        return tt.sum(C * tt.eye(C.shape[-1]), axis=-1)
    raise ValueError(f"batched_diag takes 2 or 3 axes, got {C!r}")


def block_diagonal(matrices: Any, sparse: bool = False, format: str = "csr") -> Tensor:
    """Matrices along a diagonal, zeros elsewhere.

    >>> pm.block_diagonal([np.eye(1), 2 * np.eye(2)]).eval()
    array([[1., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    if sparse or format != "csr":
        raise NotImplementedError("block_diagonal: sparse matrices are not supported, leave sparse and format out")
    blocks = [as_tensor(m) for m in matrices]
    if not blocks or any(block.ndim < 2 for block in blocks):
        found = f"entries of the shapes {', '.join(str(b.type.shape) for b in blocks)}" if blocks else "none"
        raise ValueError(f"block_diagonal takes a sequence of matrices, as [a, b]; got {found}")
    return tt.block_diag(*blocks)
