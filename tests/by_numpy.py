"""JAX functions worked out by NumPy: traced, not compiled. A program that runs once is done before XLA has begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from scipy import special

from ppl.graph import Node, ancestors, substitute
from ppl.tensor import to_jax
from ppl.tensor.tensor import CONSTANT, placeholder, value_of


def by_numpy(f: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a JAX function: by NumPy where the primitive is in the table, else by JAX, one at a time."""
    closed, shape = jax.make_jaxpr(f, return_shape=True)(*arguments)
    with np.errstate(all="ignore"):
        results = _run(closed.jaxpr, closed.consts, jax.tree.leaves(arguments))
    return jax.tree.unflatten(jax.tree.structure(shape), results)


def traced(inputs: Iterable[Node], outputs: Node | Sequence[Node]) -> Callable[..., Any]:
    """`to_jax`, with the numbers in the graph traced too: what depends on them alone is left to NumPy, where JAX would
    compile it operation by operation."""
    constants = [x for x in ancestors(outputs) if x.op is CONSTANT and x.type.dtype == "float64"]
    symbols = [placeholder(x.type) for x in constants]
    f = to_jax([*inputs, *symbols], substitute(outputs, dict(zip(constants, symbols, strict=True))))
    return lambda *arguments: f(*arguments, *[lax.mul(v, np.ones_like(v)) for v in map(value_of, constants)])


def _run(jaxpr: Any, constants: Any, arguments: Any) -> list[Any]:
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], map(np.asarray, [*constants, *arguments]), strict=True))
    value = lambda v: np.asarray(v.val, v.aval.dtype) if hasattr(v, "val") else known[v]  # a literal, or a variable
    for step in jaxpr.eqns:
        inputs = [value(v) for v in step.invars]
        inner = next((step.params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in step.params), None)
        name = step.primitive.name
        if name in PRIMITIVES:
            found = [PRIMITIVES[name](*inputs, **step.params)]
        elif inner is not None and name not in ("scan", "while", "cond"):
            found = _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), inputs)
        else:
            found = step.primitive.bind(*map(jax.numpy.asarray, inputs), **step.params)
            found = found if step.primitive.multiple_results else [found]
        for v, x in zip(step.outvars, found, strict=True):
            known[v] = np.asarray(x, v.aval.dtype)
    return [value(v) for v in jaxpr.outvars]


def _spread(x: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    axes = [1] * len(shape)
    for n, axis in zip(x.shape, broadcast_dimensions, strict=True):
        axes[axis] = n
    return np.broadcast_to(x.reshape(axes), shape)


def _dot(a: Any, b: Any, *, dimension_numbers: Any, **_: Any) -> Any:
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers
    free = iter(range(100))
    of_a, of_b = [next(free) for _ in a.shape], [next(free) for _ in b.shape]
    for i, j in [*zip(contract_a, contract_b, strict=True), *zip(batch_a, batch_b, strict=True)]:
        of_b[j] = of_a[i]
    kept = [n for i, n in enumerate(of_a) if i not in (*contract_a, *batch_a)]
    kept += [n for i, n in enumerate(of_b) if i not in (*contract_b, *batch_b)]
    return np.einsum(a, of_a, b, of_b, [of_a[i] for i in batch_a] + kept)


def _select(which: Any, *cases: Any, **_: Any) -> Any:
    if not which.ndim:
        return cases[int(which)]
    return np.choose(which.astype(int), cases)


def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or [1] * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, steps))]


def _iota(*, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    axes = [1] * len(shape)
    axes[dimension] = -1
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(axes), shape)


def _divide(x: Any, y: Any) -> Any:
    return np.divide(x, y) if x.dtype.kind == "f" else (np.abs(x) // np.abs(y)) * np.sign(x) * np.sign(y)


def _running(x: Any, *, axis: int, reverse: bool) -> Any:
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs, **_: f(*inputs)


def _over(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes, **_: f(x, axis=tuple(axes))


PRIMITIVES: dict[str, Callable[..., Any]] = {
    **{name: _plain(getattr(np, name)) for name in "exp log log1p expm1 sqrt abs sign tanh floor ceil cos sin".split()},
    "add": _plain(np.add), "add_any": _plain(np.add), "sub": _plain(np.subtract), "mul": _plain(np.multiply),
    "neg": _plain(np.negative), "max": _plain(np.maximum), "min": _plain(np.minimum), "pow": _plain(np.power),
    "square": _plain(np.square), "rsqrt": _plain(lambda x: 1 / np.sqrt(x)), "logistic": _plain(special.expit),
    "div": _divide,
    "integer_pow": lambda x, *, y, **_: x ** float(y) if x.dtype.kind == "f" else x**y,
    "lgamma": _plain(special.gammaln), "digamma": _plain(special.digamma), "erf": _plain(special.erf),
    "erfc": _plain(special.erfc), "erf_inv": _plain(special.erfinv),
    "eq": _plain(np.equal), "ne": _plain(np.not_equal), "lt": _plain(np.less), "le": _plain(np.less_equal),
    "gt": _plain(np.greater), "ge": _plain(np.greater_equal), "is_finite": _plain(np.isfinite),
    "and": _plain(np.bitwise_and), "or": _plain(np.bitwise_or), "not": _plain(np.invert),
    "reduce_sum": _over(np.sum), "reduce_max": _over(np.max), "reduce_min": _over(np.min),
    "reduce_prod": _over(np.prod),
    "reduce_and": _over(np.all), "reduce_or": _over(np.any),
    "select_n": _select, "stop_gradient": _plain(lambda x: x), "copy": _plain(lambda x: x),
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "broadcast_in_dim": _spread, "dot_general": _dot, "slice": _slice, "iota": _iota,
    "reshape": lambda x, *, new_sizes, **_: x.reshape(new_sizes),
    "squeeze": lambda x, *, dimensions: np.squeeze(x, tuple(dimensions)),
    "expand_dims": lambda x, *, dimensions: np.expand_dims(x, tuple(dimensions)),
    "transpose": lambda x, *, permutation: x.transpose(permutation),
    "concatenate": lambda *xs, dimension: np.concatenate(xs, dimension),
    "cumsum": _running,
}  # fmt: skip
