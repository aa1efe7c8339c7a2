"""PyTensor's `Op`: an operation that a user writes in Python, called on the host from inside the compiled program.

A subclass has `perform(node, inputs, output_storage)`, which works in NumPy, and either `itypes` and `otypes` or a
`make_node`. With `grad` (or `L_op`, or `pullback`) it has a gradient, an expression of its inputs, which may use other
such operations; without one, samplers that need gradients refuse it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.alias.jax_functions import jax_function_of
from ppl.graph import Application
from ppl.tensor.core.black_box import GradientError as GradientError
from ppl.tensor.core.black_box import HostOp
from ppl.tensor.core.evaluate import to_jax
from ppl.tensor.core.wrapping import from_jax
from ppl.tensor.tensor import TensorType, as_tensor, constant, placeholder
from ppl.xla.later import jnp


class Op:
    """An operation of the user's own, PyTensor's `Op`: NumPy's arrays in, NumPy's arrays out.

    >>> import numpy as np, ppl
    >>> class Cube(ppl.Op):
    ...     itypes, otypes = [ppl.tensor.dvector], [ppl.tensor.dvector]
    ...     def perform(self, node, inputs, outputs):
    ...         outputs[0][0] = inputs[0] ** 3
    ...     def grad(self, inputs, gradients):
    ...         return [3 * inputs[0] ** 2 * gradients[0]]
    >>> Cube()(np.array([1.0, 2.0])).eval().tolist()
    [1.0, 8.0]
    """

    itypes: Sequence[Any] | None = None
    otypes: Sequence[Any] | None = None
    default_output: int | None = None  # the result that a call gives, where the others are for the gradient
    __props__: tuple[str, ...] = ()

    def make_node(self, *inputs: Any) -> Apply:
        """The application to inputs; here by the types that the class declares."""
        if self.itypes is None or self.otypes is None:
            raise NotImplementedError(f"{name_of(self)}: declare itypes and otypes, or define make_node")
        if len(inputs) != len(self.itypes):
            raise ValueError(f"{name_of(self)} takes {len(self.itypes)} inputs, got {len(inputs)}")
        wanted = [as_type(kind) for kind in self.itypes]
        tensors = [as_tensor(x, dtype=kind.dtype) for x, kind in zip(inputs, wanted, strict=True)]
        for x, kind in zip(tensors, wanted, strict=True):
            if x.ndim != kind.ndim:
                raise TypeError(f"{name_of(self)} takes {kind}, got {x!r} of shape {x.type.shape}")
        return Apply(self, tensors, [as_type(kind)() for kind in self.otypes])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        """Put the values of the outputs into `output_storage[i][0]`."""
        raise NotImplementedError(f"{name_of(self)} does not say what it computes: define perform")

    def grad(self, inputs: list[Any], output_grads: list[Any]) -> list[Any]:
        """The gradients with respect to the inputs, given those with respect to the outputs."""
        raise no_gradient(self)

    def L_op(self, inputs: list[Any], outputs: list[Any], output_grads: list[Any]) -> list[Any]:
        """`grad`, for gradients that use the outputs."""
        return self.grad(inputs, output_grads)

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """The newer name of `L_op`."""
        return self.L_op(inputs, outputs, cotangents)

    def __call__(self, *inputs: Any, name: str | None = None, return_list: bool = False, **options: Any) -> Any:
        outputs = self.make_node(*inputs, **options).outputs
        if name is not None and outputs:
            named = self.default_output or 0
            outputs = [as_tensor(y, name=name) if i == named else y for i, y in enumerate(outputs)]
        if return_list:
            return outputs
        chosen = 0 if len(outputs) == 1 else self.default_output
        return outputs if chosen is None else outputs[chosen]

    def __str__(self) -> str:
        return name_of(self)


class IsApply(type):
    """`isinstance(x.owner, Apply)` holds of what computes a node."""

    def __instancecheck__(cls, x: object) -> bool:
        return type.__instancecheck__(cls, x) or isinstance(x, Application)


class Apply(metaclass=IsApply):
    """An operation applied to inputs: what `make_node` returns, and what `x.owner` is.

    >>> import ppl
    >>> x = ppl.tensor.dscalar("x")
    >>> isinstance((x + 1).owner, ppl.Apply), (x + 1).owner.inputs[0] is x
    (True, True)
    """

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.op, self.inputs = op, [as_tensor(x) for x in inputs]
        self.outputs = (
            HostOperation(self, [y.type for y in outputs]).applied(self.inputs) if isinstance(op, Op) else list(outputs)
        )

    @property
    def nin(self) -> int:
        return len(self.inputs)

    @property
    def nout(self) -> int:
        return len(self.outputs)

    @property
    def out(self) -> Any:
        """The only output."""
        (output,) = self.outputs
        return output


def name_of(op: Op) -> str:
    """What errors call an operation."""
    return getattr(op, "name", None) or type(op).__name__


def no_gradient(op: Op) -> GradientError:
    return GradientError(
        f"{name_of(op)} has no gradient, so neither NUTS nor other methods that follow gradients can move what it is "
        "computed from. Define grad(self, inputs, output_grads) in its class, give it a JAX function by "
        "pytensor.link.jax.dispatch.jax_funcify.register, or sample with step=pm.Slice() or step=pm.DEMetropolisZ()."
    )


def as_type(kind: Any) -> TensorType:
    """A type of PyTensor's names: `pt.dvector` makes inputs, and its type is theirs."""
    return kind if isinstance(kind, TensorType) else kind().type


class HostOperation(HostOp):
    """One application of a user's operation, as an operation of the graph."""

    def __init__(self, node: Apply, types: Sequence[TensorType]) -> None:
        self.node = node
        super().__init__(name_of(node.op), types)
        self._on_host, self.lower = self.lower, self._by_jax_or_host

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """Whether its class has a gradient, or JAX derives one."""
        own = any(getattr(type(self.node.op), name) is not getattr(Op, name) for name in ("grad", "L_op", "pullback"))
        return own or jax_function_of(self.node.op, self.node) is not None

    def _by_jax_or_host(self, *arrays: Any) -> Any:
        """The results, by the JAX function that is registered for the operation now, if there is one."""
        function = jax_function_of(self.node.op, self.node)
        if function is None:
            return self._on_host(*arrays)
        found = function(*arrays)
        several = list(found) if isinstance(found, list | tuple) else [found]
        if len(several) != len(self.types):
            raise ValueError(
                f"{self.name}: its JAX function returned {len(several)} results, and it has {len(self.types)} outputs"
            )
        results = [self._checked(x, kind) for x, kind in zip(several, self.types, strict=True)]
        return results[0] if len(results) == 1 else results

    def _checked(self, found: Any, kind: TensorType) -> Any:
        found = jnp.asarray(found, kind.dtype)
        if found.ndim != kind.ndim:
            raise ValueError(
                f"{self.name}: its JAX function returned an array of shape {found.shape}, and {kind} was declared"
            )
        return found

    def run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        storage: list[list[Any]] = [[None] for _ in self.types]
        self.node.op.perform(self.node, [np.array(x) for x in arrays], storage)
        return [np.asarray(cell[0], kind.dtype) for cell, kind in zip(storage, self.types, strict=True)]

    def shapes(self, arrays: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """As `infer_shape` tells, or as the function itself gives."""
        if not hasattr(self.node.op, "infer_shape"):
            return super().shapes(arrays)
        given = [tuple(map(constant, np.shape(x))) for x in arrays]
        symbolic = self.node.op.infer_shape(None, self.node, given)
        return [[int(as_tensor(n).eval()) for n in shape] for shape in symbolic]

    def pull_back(
        self, arrays: Any, results: Any, slopes: Any, moving: tuple[int, ...], unused: tuple[int, ...] = ()
    ) -> Sequence[Any]:
        types = [x.type for x in self.node.inputs]
        inputs, outputs, cotangents = (
            [placeholder(TensorType(kind.dtype, np.shape(x))) for x, kind in zip(given, kinds, strict=True)]
            for given, kinds in ((arrays, types), (results, self.types), (slopes, self.types))
        )
        for i in unused:
            cotangents[i] = placeholder(NoSlope(cotangents[i].type))
        found = self.node.op.pullback(inputs, outputs, cotangents)
        for i in moving:
            if isinstance(found[i], Missing):
                raise found[i].error()
        wanted = [i for i in moving if is_gradient(found[i])]
        gradients = [as_tensor(found[i], dtype=inputs[i].dtype) for i in wanted]
        values = to_jax([*inputs, *outputs, *cotangents], gradients)(*arrays, *results, *slopes)
        at = dict(zip(wanted, values, strict=True))
        return [at.get(i) for i in range(len(arrays))]


def is_gradient(found: Any) -> bool:
    """Whether a slope is there: None and a disconnected input have none."""
    return found is not None and not isinstance(found, Disconnected | Missing)


class DisconnectedType:
    """The type of a gradient that is zero since the output does not use the input; called, it makes one."""

    __slots__ = ()

    def __call__(self, name: str | None = None) -> Any:
        return Disconnected()


class NoSlope(DisconnectedType, TensorType):
    """The type of the slope of a result that nothing uses: for PyTensor it is disconnected, and here zeros besides."""

    __slots__ = ()

    def __new__(cls, kind: TensorType) -> NoSlope:
        made = object.__new__(cls)
        made.dtype, made.shape, made._hash = kind.dtype, kind.shape, hash(kind)
        return made

    def __reduce__(self) -> Any:
        return NoSlope, (TensorType(self.dtype, self.shape),)


class Disconnected:
    """A gradient that is zero since the output does not use the input."""


class Missing:
    """A gradient that an operation does not have, which matters where its input moves."""

    def __init__(self, op: Op, place: int, comment: str) -> None:
        self.op, self.place, self.comment = op, place, comment

    def error(self) -> GradientError:
        more = f" ({self.comment})" if self.comment else ""
        return GradientError(f"{no_gradient(self.op)} Its grad leaves out input {self.place}{more}.")


def grad_not_implemented(op: Op, x_pos: int, x: Any, comment: str = "") -> Any:
    """What a `grad` returns for an input with respect to which it has none."""
    return Missing(op, x_pos, comment)


grad_undefined = grad_not_implemented


class FromFunctionOp(Op):
    """A Python function of NumPy arrays as an operation."""

    def __init__(self, fn: Callable[..., Any], itypes: Any, otypes: Any, infer_shape: Any = None) -> None:
        self.fn, self.name = fn, fn.__name__
        several = lambda kinds: list(kinds) if isinstance(kinds, list | tuple) else [kinds]
        self.itypes, self.otypes = several(itypes), several(otypes)
        if infer_shape is not None:
            self.infer_shape = lambda fgraph, node, shapes: infer_shape(node, shapes)

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[Any]]) -> None:
        results = self.fn(*inputs)
        results = results if isinstance(results, list | tuple) else [results]
        for cell, value in zip(output_storage, results, strict=True):
            cell[0] = value


def as_op(itypes: Any, otypes: Any, infer_shape: Any = None) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """A decorator: a Python function of NumPy arrays as an operation without gradient.

    >>> import numpy as np, ppl
    >>> @ppl.as_op(itypes=[ppl.tensor.dvector], otypes=[ppl.tensor.dscalar])
    ... def span(x):
    ...     return x.max() - x.min()
    >>> float(span(np.array([1.0, 4.0])).eval())
    3.0
    """
    return lambda fn: FromFunctionOp(fn, itypes, otypes, infer_shape)


wrap_py = as_op


def wrap_jax(jax_function: Callable[..., Any] | None = None, *, allow_eval: bool = True) -> Any:
    """A function of JAX's arrays as a function of tensors: `from_jax`. Shapes are found without values here, so
    `allow_eval` changes nothing.

    >>> import jax.numpy as jnp, ppl
    >>> round(float(ppl.wrap_jax(jnp.sinc)(0.5).eval()), 4)
    0.6366
    """
    return from_jax(jax_function)
