"""Derivatives as nodes: the function to be differentiated is a body, the rest is JAX.

`grad` of `grad` is a node whose body holds a node with a body; rewriting and pictures see through all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Body, Node, TupleType, ancestors, close, substitute
from ppl.tensor.arrays.creation import zeros_like
from ppl.tensor.arrays.reductions import sum as sum_all
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.elementwise import add
from ppl.tensor.core.labelled import like_argument, takes_labelled
from ppl.tensor.core.later import Functions
from ppl.tensor.core.ops import Elementwise, TensorOp
from ppl.tensor.core.sizing import deciding
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, function, placeholder, told
from ppl.xla.later import custom_jvp, custom_vjp, jax, jnp


class _Derivative(TensorOp):
    """An operation on a body: inputs are the points of `count` variables, then what the kind needs, then what the body
    captures."""

    def build_on(self, body: Body, inputs: Sequence[Node], **attrs: Any) -> Any:
        return Node(self, tuple(inputs), Attrs(body=body, **attrs))


class _ValueAndGrad(_Derivative):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        return TupleType((attrs["body"].outputs[0].type, *(x.type for x in inputs[: attrs["count"]])))


def _value_and_grad(*inputs: Any, body: Any, count: int) -> Any:
    points, rest = _arrays(inputs[:count]), inputs[count:]
    value, slopes = jax.value_and_grad(lambda *xs: body(*xs, *rest)[0], argnums=tuple(range(count)))(*points)
    return (value, *slopes)


class _Jacobian(_Derivative):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        out = attrs["body"].outputs[0].type
        return TupleType(tuple(TensorType(out.dtype, out.shape + x.type.shape) for x in inputs[: attrs["count"]]))


def _jacobian(*inputs: Any, body: Any, count: int, mode: str) -> Any:
    points, rest = _arrays(inputs[:count]), inputs[count:]
    derive = {"backward": jax.jacrev, "forward": jax.jacfwd}[mode]
    return derive(lambda *xs: body(*xs, *rest)[0], argnums=tuple(range(count)))(*points)


class _PushForward(_Derivative):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        return TupleType(tuple(out.type for out in attrs["body"].outputs))


def _push_forward(*inputs: Any, body: Any, count: int) -> Any:
    arrays, rest = _arrays(inputs[: 2 * count]), inputs[2 * count :]
    points, tangents = arrays[:count], arrays[count:]
    return tuple(jax.jvp(lambda *xs: body(*xs, *rest), points, tangents)[1])


class _PullBack(_Derivative):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        return TupleType(tuple(x.type for x in inputs[: attrs["count"]]))


def _pull_back(*inputs: Any, body: Any, count: int, cotangents: int) -> Any:
    arrays, rest = _arrays(inputs[: count + cotangents]), inputs[count + cotangents :]
    points, slopes = arrays[:count], arrays[count:]
    return jax.vjp(lambda *xs: body(*xs, *rest), *points)[1](list(slopes))


# What a body captures stays as it is: a number known now may be a size inside.
def _arrays(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jnp.asarray(value) for value in values)


VALUE_AND_GRAD = _ValueAndGrad("value_and_grad_op", _value_and_grad)
JACOBIAN = _Jacobian("jacobian_op", _jacobian)
PUSH_FORWARD = _PushForward("push_forward", _push_forward)
PULL_BACK = _PullBack("pull_back", _pull_back)


def _variables(wrt: Any) -> list[Tensor]:
    given = list(wrt) if isinstance(wrt, list | tuple) else [wrt]
    for x in given:
        if not isinstance(x, Tensor):
            raise TypeError(f"a derivative is taken with respect to tensors, got {x!r}")
        if x.dtype[0] not in "fc":
            raise TypeError(
                f"no derivative with respect to {x!r}: its dtype is {x.dtype}, and only floats vary continuously"
            )
    return given


def _body(outputs: Sequence[Tensor], points: Sequence[Tensor]) -> tuple[Body, list[Node]]:
    """`outputs` as a function of `points`, and what it captures: sizes first, which stay as the points move.

    A point that another point is computed from counts with all its influence: then the body is a function of small
    changes of the points.
    """
    sizes = deciding(outputs, points).computed
    held = [placeholder(size.type) for size in sizes]
    outputs = substitute(list(outputs), dict(zip([*sizes, *points], [*held, *points], strict=True)))  # type: ignore
    nested = any(p in ancestors(q) for p in points for q in points if p is not q)
    if not nested:
        body, captured = close([*points, *held], outputs)
        return body, [*sizes, *captured]
    changes = [placeholder(p.type) for p in points]
    order = sorted(zip(points, changes, strict=True), key=lambda pair: pair[0].serial)
    done: dict[Node, Node] = {}
    for p, change in order:
        done[p] = add(substitute(p, done) if done else p, change)
    body, captured = close([*changes, *held], substitute(list(outputs), done))
    return body, [*sizes, *captured]


def _nested_points(points: Sequence[Tensor]) -> list[Tensor]:
    """Where the body is evaluated: at the points, or at no change."""
    nested = any(p in ancestors(q) for p in points for q in points if p is not q)
    return [zeros_like(p) for p in points] if nested else list(points)


def _connected(cost: Sequence[Tensor], wrt: Sequence[Tensor], disconnected_inputs: str) -> list[bool]:
    if disconnected_inputs not in ("raise", "warn", "ignore"):
        raise ValueError(f"disconnected_inputs is 'raise', 'warn' or 'ignore', got {disconnected_inputs!r}")
    reached = ancestors(cost)
    found = [x in reached for x in wrt]
    lost = [x for x, there in zip(wrt, found, strict=True) if not there]
    if lost and disconnected_inputs != "ignore":
        text = f"the cost {told(cost[0])} does not depend on {', '.join(map(told, lost))}"
        if disconnected_inputs == "raise":
            raise ValueError(f"{text}. Pass disconnected_inputs='ignore' for a derivative of zero.")
        warnings.warn(f"{text}: its derivative is zero", stacklevel=4)
    return found


def _scalar(cost: Any) -> Tensor:
    cost = as_tensor(cost)
    if cost.ndim != 0:
        raise ValueError(
            f"a gradient is taken of a scalar, got {told(cost)} of shape {cost.type.shape}. Sum it, or use jacobian()."
        )
    if cost.dtype[0] != "f":
        raise TypeError(f"a gradient is taken of a real float, got {told(cost)} of dtype {cost.dtype}")
    return cost


@function()
def value_and_grad(
    cost: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: str = "raise"
) -> tuple[Tensor, Any]:
    """The cost and its gradient, computed together.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> [a.item() for a in ppl.function([x], ppl.value_and_grad(x**2, x))(3.0)]
    [9.0, 6.0]
    """
    cost, points = _scalar(cost), _variables(wrt)
    cost_of_points = _held(cost, consider_constant)
    found = _connected([cost_of_points], points, disconnected_inputs)
    live = [x for x, there in zip(points, found, strict=True) if there]
    if not live:
        slopes: list[Any] = [zeros_like(x) for x in points]
    else:
        body, captured = _body([cost_of_points], live)
        both = VALUE_AND_GRAD.build_on(body, [*_nested_points(live), *captured], count=len(live))
        cost, rest = both[0], iter([both[i + 1] for i in range(len(live))])
        slopes = [next(rest) if there else zeros_like(x) for x, there in zip(points, found, strict=True)]
    return cost, _like_given(slopes, wrt)


def _like_given(results: list[Any], wrt: Any) -> Any:
    if isinstance(wrt, list | tuple):
        return type(wrt)(results) if type(wrt) in (list, tuple) else results
    return results[0]


def _held(cost: Tensor, constants: Any) -> Tensor:
    one = not isinstance(constants, list | tuple | set | frozenset | None)
    held = [constants] if one else list(constants or ())
    return substitute(cost, {x: stop_gradient(x) for x in held}) if held else cost  # type: ignore[return-value]


@function()
@like_argument(1)
def grad(
    cost: Any,
    wrt: Any,
    consider_constant: Any = None,
    disconnected_inputs: str = "raise",
    known_grads: Mapping[Tensor, Any] | None = None,
    return_disconnected: str = "zero",
) -> Any:
    """The gradient of a scalar with respect to tensors anywhere in its graph.

    `known_grads` maps tensors to the gradient of the cost with respect to them (then `cost` may be None).

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> grad(x**3, x).eval({x: 2.0})
    array(12.)
    """
    if return_disconnected not in ("zero", "none"):
        raise ValueError(f"return_disconnected is 'zero' or 'none', got {return_disconnected!r}")
    if known_grads:
        for node, slope in known_grads.items():
            part = sum_all(node * stop_gradient(slope))
            cost = part if cost is None else cost + part
    if return_disconnected == "none":
        points = _variables(wrt)
        reached = ancestors(_scalar(cost))
        live = [x for x in points if x in reached]
        slopes = dict(zip(live, grad(cost, live, consider_constant) if live else [], strict=True))
        return _like_given([slopes.get(x) for x in points], wrt)
    return value_and_grad(cost, wrt, consider_constant, disconnected_inputs)[1]


def gradients(scalar: Any, variables: Any) -> Any:
    """`grad`, by SymJAX's name."""
    return grad(scalar, variables)


@function()
@takes_labelled
def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Any = None,
    disconnected_inputs: str = "raise",
    *,
    mode: str = "backward",
) -> Any:
    """All derivatives of all entries: shape of the expression, then shape of the variable.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> ppl.function([x], ppl.jacobian(x**2, x))([1.0, 3.0])
    array([[2., 0.],
           [0., 6.]])
    """
    expression, points = _held(as_tensor(expression), consider_constant), _variables(wrt)
    if mode not in ("forward", "backward"):
        raise ValueError(f"mode is 'forward' or 'backward', got {mode!r}")
    found = _connected([expression], points, disconnected_inputs)
    live = [x for x, there in zip(points, found, strict=True) if there]
    slopes: Any = iter(())
    if live:
        body, captured = _body([expression], live)
        slopes = iter(JACOBIAN.build_on(body, [*_nested_points(live), *captured], count=len(live), mode=mode))
    blocks = [next(slopes) if there else _no_influence(expression, x) for x, there in zip(points, found, strict=True)]
    return _like_given(blocks, wrt)


def _no_influence(expression: Tensor, x: Tensor) -> Tensor:
    """The Jacobian of an expression that does not depend on `x`."""
    return zeros_like(expand_dims(expression, tuple(range(expression.ndim, expression.ndim + x.ndim))) * zeros_like(x))


def jacobians(tensor: Any, variables: Any, mode: str = "forward") -> Any:
    """`jacobian`, by SymJAX's name and default."""
    return jacobian(tensor, variables, mode=mode)


@function()
@takes_labelled
def hessian(cost: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: str = "raise") -> Any:
    """All second derivatives of a scalar, one block for each variable with itself.

    >>> import ppl.tensor as tt
    >>> x = tt.dvector("x")
    >>> ppl.function([x], ppl.hessian((x**3).sum(), x))([1.0, 2.0])
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    points = _variables(wrt)
    slopes = grad(cost, points, consider_constant, disconnected_inputs)
    blocks = [
        jacobian(slope, x, consider_constant, "ignore", mode="forward") for slope, x in zip(slopes, points, strict=True)
    ]
    return _like_given(blocks, wrt)


def _matching(name: str, points: Sequence[Tensor], given: Any) -> list[Tensor]:
    vectors = [as_tensor(v) for v in (given if isinstance(given, list | tuple) else [given])]
    if len(vectors) != len(points):
        raise ValueError(f"{name}: {len(points)} tensors need as many vectors, got {len(vectors)}")
    return [add(v, zeros_like(p)) for v, p in zip(vectors, points, strict=True)]


@function("Rop")
def jvp(f: Any, wrt: Any, eval_points: Any) -> Any:
    """How `f` changes when the variables change along `eval_points` (Theano's Rop).

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.Rop(x**2, x, tt.constant(1.0)))(3.0).item()
    6.0
    """
    outputs = [as_tensor(x) for x in (f if isinstance(f, list | tuple) else [f])]
    points = _variables(wrt)
    tangents = _matching("Rop", points, eval_points)
    body, captured = _body(outputs, points)
    result = list(PUSH_FORWARD.build_on(body, [*_nested_points(points), *tangents, *captured], count=len(points)))
    return _like_given(result, f)


@function("Lop")
def vjp(f: Any, wrt: Any, eval_points: Any) -> Any:
    """The gradient of `sum(f * eval_points)` with respect to the variables (Theano's Lop).

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.function([x], ppl.Lop(x**2, x, tt.constant(2.0)))(3.0).item()
    12.0
    """
    outputs = [as_tensor(x) for x in (f if isinstance(f, list | tuple) else [f])]
    points = _variables(wrt)
    slopes = _matching("Lop", outputs, eval_points)
    body, captured = _body(outputs, points)
    inputs = [*_nested_points(points), *slopes, *captured]
    return _like_given(list(PULL_BACK.build_on(body, inputs, count=len(points), cotangents=len(outputs))), wrt)


@function()
def hessian_vector_product(cost: Any, wrt: Any, p: Any) -> Any:
    """The product of the Hessian with a vector, without the Hessian."""
    points = _variables(wrt)
    slopes = grad(cost, points)
    return _like_given(jvp(slopes, points, p if isinstance(p, list | tuple) else [p]), wrt)


stop_gradient = Elementwise(
    "stop_gradient", Functions("jax.lax").stop_gradient, also=("disconnected_grad", "zero_grad", "consider_constant")
)


@custom_jvp
def _at_optimum(x: Any) -> Any:
    return x


@custom_jvp
def moves_there(x: Any) -> Any:
    """x, of which no derivatives are known."""
    return x


@_at_optimum.defjvp
def _still(primals: Any, tangents: Any) -> Any:
    return moves_there(primals[0]), jax.tree.map(jax.numpy.zeros_like, tangents[0])


@moves_there.defjvp
def _refuse(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(
        "second derivatives of a log-density whose normal variables were integrated out: take those of the model as "
        "written (model.compile_d2logp, find_hessian)"
    )


at_optimum = Elementwise("at_optimum", _at_optimum)
at_optimum.__doc__ = (
    "x where a function of x is least or greatest: first derivatives need not ask how x moves; second ones would, and"
    " are refused."
)


@custom_jvp
def _twice(x: Any) -> Any:
    return x


@custom_jvp
def _once(x: Any) -> Any:
    return x


@custom_jvp
def _no_more(x: Any) -> Any:
    return x


_twice.defjvp(lambda primals, tangents: (_once(*primals), *tangents))
_once.defjvp(lambda primals, tangents: (_no_more(*primals), *tangents))


@_no_more.defjvp
def _refuse_third(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(
        "third derivatives of a density of Kronecker products: its eigenvectors are held still, which is right up to"
        " second ones"
    )


twice = Elementwise("twice", _twice)
twice.__doc__ = "x, with its first and second derivatives; third ones are refused."


def _grad_scaled(x: Any, multiplier: float) -> Any:
    return jax.lax.stop_gradient(x * (1 - multiplier)) + x * multiplier


grad_scale = Elementwise("grad_scale", _grad_scaled)


@custom_vjp
def _clipped(x: Any, low: Any, high: Any) -> Any:
    return x


_clipped.defvjp(lambda x, low, high: (x, (low, high)), lambda ends, slope: (jnp.clip(slope, *ends), None, None))


class _GradClip(Elementwise):
    """The same value; its gradient is limited to [lower, upper]."""

    def __call__(self, x: Any, lower_bound: float, upper_bound: float) -> Tensor:
        return self.build((as_tensor(x),), {"lower": float(lower_bound), "upper": float(upper_bound)})


grad_clip = _GradClip(
    "grad_clip", lambda x, lower, upper: _clipped(x, np.array(lower, x.dtype), np.array(upper, x.dtype))
)
