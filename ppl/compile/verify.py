"""`verify_grad`: the gradient of a function of tensors against finite differences, as Theano's programs test it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.compile.function import function
from ppl.tensor.arrays.reductions import sum as sum_of
from ppl.tensor.core.derivatives import grad
from ppl.tensor.tensor import TensorType, as_tensor, enter, placeholder


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
) -> None:
    """Raise ValueError where the gradient of a random combination of `fun(*inputs)` at the point `pt` is wrong.

    >>> import ppl.tensor as tt
    >>> verify_grad(tt.tanh, [np.array([0.3, -1.0])], rng=np.random.default_rng(1))
    """
    random = np.random.default_rng(0) if rng is None else rng
    point = [np.asarray(p, dtype=None if np.asarray(p).dtype.kind == "f" else "float64") for p in pt]
    coarse = any(p.dtype.itemsize < 8 for p in point)
    step = eps if eps is not None else (1e-2 if coarse else 1e-6)
    absolute = abs_tol if abs_tol is not None else (5e-2 if coarse else 1e-5)
    relative = rel_tol if rel_tol is not None else (5e-2 if coarse else 1e-5)
    inputs = [placeholder(TensorType(p.dtype, p.shape)) for p in point]
    output = as_tensor(fun(*inputs))
    value = function(inputs, output, mode=mode, on_unused_input="ignore")
    weights = placeholder(TensorType(output.dtype, output.type.shape))
    slopes = function([*inputs, weights], grad(sum_of(output * weights), inputs), mode=mode, on_unused_input="ignore")
    for _ in range(n_tests):
        w = random.standard_normal(np.shape(value(*point))).astype(output.dtype)
        for at, slope in enumerate(slopes(*point, w)):
            for place in np.ndindex(slope.shape):
                ends = [_moved(point, at, place, sign * step) for sign in (1, -1)]
                up, down = (np.sum(value(*end) * w, dtype="float64") for end in ends)
                wanted = (up - down) / (2 * step)
                if abs(slope[place] - wanted) > absolute + relative * abs(wanted):
                    raise ValueError(
                        f"verify_grad: input {at} at {place}: the gradient says {slope[place]}, differences {wanted}"
                    )


def _moved(point: Sequence[np.ndarray], at: int, place: tuple[int, ...], step: float) -> list[np.ndarray]:
    moved = [p.copy() for p in point]
    moved[at][place] += step
    return moved


enter("verify_grad", verify_grad)
