"""Optimizers: from the gradients of parameters to what the parameters become.

Each is a function of gradients (or a loss) and shared variables, and returns the new value of every variable that a
step changes, its own memory among them. Called with keywords alone it returns itself with these settled:
`pm.fit(obj_optimizer=pm.adam(learning_rate=0.01))`. The rules are those of PyMC, step by step.

>>> import ppl.tensor as tt
>>> x = tt.shared(np.array(3.0), "x")
>>> step = pm.function([], [], updates=sgd(x**2, [x], learning_rate=0.25))
>>> for _ in range(2):
...     _ = step()
>>> x.get_value().item()
0.75
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.parameters import parameter_names
from ppl.tensor.config import config
from ppl.tensor.core.derivatives import grad
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import Variable, shared

Updates = dict[Any, Any]
Rule = Callable[..., Iterator[tuple[Variable, Tensor]]]


def get_or_compute_grads(loss_or_grads: Any, params: Sequence[Any]) -> list[Tensor]:
    """The gradients of a loss with respect to shared variables; a list is taken to be these gradients already."""
    wrong = [p for p in params if not isinstance(p, Variable)]
    if wrong:
        raise ValueError(f"params must contain shared variables only, got {wrong[0]!r}: only these can be updated")
    if isinstance(loss_or_grads, list | tuple):
        if len(loss_or_grads) != len(params):
            raise ValueError(f"Got {len(loss_or_grads)} gradient expressions for {len(params)} parameters")
        return list(loss_or_grads)
    return list(grad(loss_or_grads, list(params)))


def _optimizer(rule: Rule) -> Callable[..., Any]:
    """An optimizer whose rule yields the updates of one parameter after the other."""

    @functools.wraps(rule)
    def optimizer(loss_or_grads: Any = None, params: Any = None, **settings: Any) -> Any:
        if loss_or_grads is None and params is None:
            return functools.partial(optimizer, **settings)
        if loss_or_grads is None or params is None:
            raise ValueError("Please provide both `loss_or_grads` and `params` to get updates")
        grads = get_or_compute_grads(loss_or_grads, params)
        return dict(rule(list(zip(params, grads, strict=True)), **settings))

    @functools.wraps(rule)
    def by_position(loss_or_grads: Any = None, params: Any = None, *positional: Any, **settings: Any) -> Any:
        names = parameter_names(rule)[1:]
        return optimizer(loss_or_grads, params, **dict(zip(names, positional, strict=False)), **settings)

    return by_position


def _memory(param: Variable, *more: int) -> Variable:
    """Zeros of the shape of a parameter, kept from step to step."""
    value = param.get_value(borrow=True)
    return shared(np.zeros((*value.shape, *more), value.dtype))


def _count() -> Variable:
    return shared(np.zeros((), config.floatX))


@_optimizer
def sgd(pairs, learning_rate=1e-3):
    """Gradient descent: p ← p - ηg."""
    for p, g in pairs:
        yield p, p - learning_rate * g


def apply_momentum(updates: Mapping[Any, Any], params: Any = None, momentum: float = 0.9) -> Updates:
    """Updates with a velocity: v ← μv + (update - p), p ← p + v."""
    found = dict(updates)
    for p in list(updates if params is None else params):
        velocity = _memory(p)
        new = momentum * velocity + found[p]
        found[velocity] = new - p
        found[p] = new
    return found


def apply_nesterov_momentum(updates: Mapping[Any, Any], params: Any = None, momentum: float = 0.9) -> Updates:
    """Updates with a velocity that looks ahead: v ← μv + (update - p), p ← update + μv."""
    found = dict(updates)
    for p in list(updates if params is None else params):
        velocity = _memory(p)
        new = momentum * velocity + found[p] - p
        found[velocity] = new
        found[p] = momentum * new + found[p]
    return found


@_optimizer
def momentum(pairs, learning_rate=1e-3, momentum=0.9):
    """Gradient descent with momentum."""
    yield from apply_momentum({p: p - learning_rate * g for p, g in pairs}, momentum=momentum).items()


@_optimizer
def nesterov_momentum(pairs, learning_rate=1e-3, momentum=0.9):
    """Gradient descent with Nesterov's momentum."""
    yield from apply_nesterov_momentum({p: p - learning_rate * g for p, g in pairs}, momentum=momentum).items()


@_optimizer
def adagrad(pairs, learning_rate=1.0, epsilon=1e-6):
    """Steps divided by the root of the sum of all squared gradients so far (Duchi et al. 2011)."""
    for p, g in pairs:
        total = _memory(p)
        yield total, total + g**2
        yield p, p - learning_rate * g / tt.sqrt(total + g**2 + epsilon)


@_optimizer
def adagrad_window(pairs, learning_rate=0.001, epsilon=0.1, n_win=10):
    """Steps divided by the root of the sum of the last `n_win` squared gradients.

    Where gradients keep their size, a step is learning_rate/√n_win long: by the default 3.2 units in 10,000 steps. What
    is further away from the start is not reached.
    """
    for p, g in pairs:
        at, window = _count(), _memory(p, n_win)
        new = tt.set_subtensor(window[..., tt.cast(at, "int32")], g**2)
        yield window, new
        yield at, tt.switch(at + 1 < n_win, at + 1, 0.0)
        yield p, p - learning_rate * g / tt.sqrt(tt.sum(new, axis=-1) + epsilon)


@_optimizer
def rmsprop(pairs, learning_rate=1.0, rho=0.9, epsilon=1e-6):
    """Steps divided by the root of a moving average of squared gradients (Tieleman & Hinton 2012)."""
    for p, g in pairs:
        mean = _memory(p)
        new = rho * mean + (1.0 - rho) * g**2
        yield mean, new
        yield p, p - learning_rate * g / tt.sqrt(new + epsilon)


@_optimizer
def adadelta(pairs, learning_rate=1.0, rho=0.95, epsilon=1e-6):
    """Steps in the units of the steps before (Zeiler 2012)."""
    for p, g in pairs:
        mean, moved = _memory(p), _memory(p)
        new = rho * mean + (1.0 - rho) * g**2
        step = g * tt.sqrt(moved + epsilon) / tt.sqrt(new + epsilon)
        yield mean, new
        yield p, p - learning_rate * step
        yield moved, rho * moved + (1.0 - rho) * step**2


@_optimizer
def adam(pairs, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Moving averages of gradients over the root of those of their squares (Kingma & Ba 2014, section 2)."""
    count = _count()
    t = count + 1.0
    rate = learning_rate * tt.sqrt(1.0 - beta2**t) / (1.0 - beta1**t)
    for p, g in pairs:
        mean, square = _memory(p), _memory(p)
        new_mean, new_square = beta1 * mean + (1.0 - beta1) * g, beta2 * square + (1.0 - beta2) * g**2
        yield mean, new_mean
        yield square, new_square
        yield p, p - rate * new_mean / (tt.sqrt(new_square) + epsilon)
    yield count, t


@_optimizer
def adamax(pairs, learning_rate=0.002, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Adam with the largest gradient in place of the root of the mean square (Kingma & Ba 2014, section 7)."""
    count = _count()
    t = count + 1.0
    rate = learning_rate / (1.0 - beta1**t)
    for p, g in pairs:
        mean, largest = _memory(p), _memory(p)
        new_mean, new_largest = beta1 * mean + (1.0 - beta1) * g, tt.maximum(beta2 * largest, tt.abs(g))
        yield mean, new_mean
        yield largest, new_largest
        yield p, p - rate * new_mean / (new_largest + epsilon)
    yield count, t


def norm_constraint(tensor_var: Any, max_norm: float, norm_axes: Any = None, epsilon: float = 1e-7) -> Tensor:
    """A tensor whose norms along some axes are cut at `max_norm`: of a matrix those of its columns, of tensors with
    three to five axes those over all axes but the first."""
    ndim = tensor_var.ndim
    if norm_axes is not None:
        axes = tuple(norm_axes)
    elif ndim == 2:
        axes = (0,)
    elif ndim in (3, 4, 5):
        axes = tuple(range(1, ndim))
    else:
        raise ValueError(f"Unsupported tensor dimensionality {ndim}. Must specify `norm_axes`")
    norms = tt.sqrt(tt.sum(tensor_var**2, axis=axes, keepdims=True))
    return tensor_var * (tt.clip(norms, 0, max_norm) / (epsilon + norms))


def total_norm_constraint(
    tensor_vars: Sequence[Any], max_norm: float, epsilon: float = 1e-7, return_norm: bool = False
) -> Any:
    """Tensors scaled together so that the norm of all their entries is at most `max_norm`."""
    norm = tt.sqrt(sum(tt.sum(tensor**2) for tensor in tensor_vars))
    scale = tt.clip(norm, 0, max_norm) / (epsilon + norm)
    scaled = [tensor * scale for tensor in tensor_vars]
    return (scaled, norm) if return_norm else scaled
