"""Functions of NumPy's arrays as operations, called on the host from inside the compiled program: simulators,
likelihoods of other libraries, tables. Of what happens in them nothing is known; a gradient is the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import GET, Attrs, Node, TupleType
from ppl.tensor.core.host_call import Form, host_call
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import Tensor, TensorType, as_tensor
from ppl.xla.known import Known
from ppl.xla.later import jax, jnp


class GradientError(NotImplementedError):
    """An operation that has no gradient, where one is needed."""


def results_of(call: Any) -> list[Tensor]:
    """The results of a call of an operation on the host, one tensor each."""
    count = len(call.op.types)
    return [call] if count == 1 else [Node(GET, (call,), Attrs(position=i)) for i in range(count)]  # type: ignore[misc]


class HostOp(TensorOp):
    """An operation done on the host. Subclasses say how to `run` it and, if `differentiable`, how to `pull_back`."""

    types: tuple[TensorType, ...]

    def __init__(self, name: str, types: Sequence[TensorType]) -> None:
        self.name, self.types = name, tuple(types)
        self.lower = self._lowered()

    def run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """The results for NumPy arrays, of the dtypes of `types`."""
        raise NotImplementedError

    def shapes(self, arrays: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """The shapes of the results where `types` do not tell them: here those of a call with ones."""
        try:
            return [np.shape(x) for x in self.run(*[np.ones(np.shape(x), x.dtype) for x in arrays])]
        except Exception as error:
            raise ValueError(
                f"{self.name}: the lengths of its results are not known, and a call with ones did not tell them "
                f"({error}). Declare types with lengths, or define infer_shape."
            ) from error

    def pull_back(
        self, arrays: Any, results: Any, slopes: Any, moving: tuple[int, ...], unused: tuple[int, ...] = ()
    ) -> Sequence[Any]:
        """The gradients in the inputs at the places `moving`, given those in the results, which are zeros for the
        results `unused`; None, or any, for others."""
        raise NotImplementedError

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType | TupleType:
        return self.types[0] if len(self.types) == 1 else TupleType(self.types)

    def applied(self, inputs: Sequence[Node]) -> list[Tensor]:
        """The results, one tensor each."""
        return results_of(Node(self, tuple(inputs)))

    def forms(self, arrays: Sequence[Any]) -> list[Form]:
        """Shapes and dtypes of the results: as declared, or as they are found."""
        shapes: Sequence[Any] = [kind.shape for kind in self.types]
        if any(n is None for shape in shapes for n in shape):
            shapes = self.shapes(arrays)
        return [(tuple(map(int, shape)), kind.dtype) for shape, kind in zip(shapes, self.types, strict=True)]

    def _lowered(self) -> Callable[..., Any]:
        @jax.custom_vjp
        def run(*arrays: Any) -> Any:
            results = host_call(self.run, self.forms(arrays), *arrays)
            return results[0] if len(self.types) == 1 else results

        def ahead(*given: Any) -> Any:
            arrays = [x.value for x in given]
            results = run(*arrays)
            return results, (arrays, results, Known(tuple(i for i, x in enumerate(given) if x.perturbed)))

        def back(kept: Any, slopes: Any) -> tuple[Any, ...]:
            arrays, results, moving = kept
            several = lambda x: [x] if len(self.types) == 1 else list(x)
            unused = tuple(i for i, slope in enumerate(several(slopes)) if _is_zero(slope))
            slopes = [_array(slope, y) for slope, y in zip(several(slopes), several(results), strict=True)]
            found = self.pull_back(arrays, several(results), slopes, moving.value, unused)
            return tuple(x if i in moving.value else None for i, x in enumerate(found))

        run.defvjp(ahead, back, symbolic_zeros=True)
        return run


def _is_zero(slope: Any) -> bool:
    return isinstance(slope, jax.custom_derivatives.SymbolicZero)


def _array(slope: Any, result: Any) -> Any:
    """A slope of a result, which is zero where nothing else uses it."""
    if _is_zero(slope):
        return jnp.zeros(result.shape, result.dtype if jnp.issubdtype(result.dtype, jnp.floating) else jnp.float64)
    return slope


class NumpyFunction(HostOp):
    """A NumPy function as an operation, with the gradient that the user gives."""

    def __init__(
        self, f: Callable[..., Any], types: Sequence[TensorType], gradient: Any, vjp: Any, name: str | None
    ) -> None:
        self.f, self.gradient, self.vjp = f, gradient, vjp
        self.differentiable = gradient is not None or vjp is not None
        self.__doc__ = f.__doc__
        super().__init__(str(name or getattr(f, "__name__", type(f).__name__)), types)

    def __call__(self, *inputs: Any, name: str | None = None) -> Any:
        found = self.applied([as_tensor(x) for x in inputs])
        if name is not None and len(found) > 1:
            raise TypeError(f"{self.name} has {len(found)} results: name them one by one")
        return found if len(found) > 1 else found[0] if name is None else as_tensor(found[0], name=name)

    def run(self, *arrays: np.ndarray) -> list[np.ndarray]:
        results = self.f(*[np.array(x) for x in arrays])
        several = list(results) if isinstance(results, list | tuple) and len(self.types) > 1 else [results]
        if len(several) != len(self.types):
            raise ValueError(f"{self.name} returned {len(several)} results, and {len(self.types)} were declared")
        return [self._checked(np.asarray(x), kind) for x, kind in zip(several, self.types, strict=True)]

    def _checked(self, found: np.ndarray, kind: TensorType) -> np.ndarray:
        fits = found.ndim == kind.ndim and all(n in (None, m) for n, m in zip(kind.shape, found.shape, strict=True))
        if not fits:
            raise ValueError(
                f"{self.name} returned an array of shape {found.shape}, and {kind} was declared in outputs="
            )
        return found.astype(kind.dtype)

    def pull_back(
        self, arrays: Any, results: Any, slopes: Any, moving: tuple[int, ...], unused: tuple[int, ...] = ()
    ) -> Sequence[Any]:
        if not self.differentiable:
            raise GradientError(
                f"{self.name} has no gradient, so neither NUTS nor other methods that follow gradients can move what it"
                " is computed from. Give gradient= or vjp=, or sample with step=pm.Slice() or step=pm.DEMetropolisZ()."
            )
        forms = [(np.shape(arrays[i]), str(arrays[i].dtype)) for i in moving]
        found = dict(zip(moving, host_call(self._slopes(moving, len(arrays)), forms, *arrays, *slopes), strict=True))
        return [found.get(i) for i in range(len(arrays))]

    def _slopes(self, moving: Sequence[int], count: int) -> Callable[..., list[np.ndarray]]:
        def slopes(*given: np.ndarray) -> list[np.ndarray]:
            inputs, cotangents = [np.array(x) for x in given[:count]], [np.array(x) for x in given[count:]]
            found = self.vjp(*inputs, *cotangents) if self.gradient is None else self.gradient(*inputs)
            several = list(found) if isinstance(found, list | tuple) else [found]
            if len(several) != count:
                raise ValueError(f"{self.name}: its gradient has {len(several)} parts, and there are {count} inputs")
            if lost := [i for i in moving if several[i] is None]:
                raise GradientError(
                    f"{self.name}: its gradient in input {lost[0]} is None, and that input is not held still. Return"
                    " the gradient, or sample with step=pm.Slice()."
                )
            weight = cotangents[0] if self.gradient is not None else 1.0
            return [several[i] * weight for i in moving]

        return slopes


def from_numpy(
    f: Callable[..., Any] | None = None,
    *,
    outputs: Any = "float64",
    gradient: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """A function of NumPy arrays as a function of tensors, called on the host as the compiled program runs.

    `outputs` declares the result: a dtype for a scalar, a pair of dtype and shape (None for a length that is not known
    yet), or a list of such for several results. `gradient(*inputs)`, of a function with one scalar result, returns its
    slopes in each input, and `vjp(*inputs, *slopes)`, of any function, those of the sum of slopes times results; None
    stands for an input that never moves. Without either, what the function uses is moved by methods that need none.

    >>> @from_numpy(gradient=lambda x: 2 * x)
    ... def square_length(x):
    ...     return np.sum(x**2)
    >>> x = as_tensor(np.array([3.0, 4.0]))
    >>> float(square_length(x).eval())
    25.0
    """
    if f is None:
        return lambda f: from_numpy(f, outputs=outputs, gradient=gradient, vjp=vjp, name=name)
    if not callable(f):
        raise TypeError(f"from_numpy wraps a function, got {f!r}")
    types = [_type_of(x) for x in (outputs if isinstance(outputs, list) else [outputs])]
    if gradient is not None and vjp is not None:
        raise TypeError("from_numpy takes gradient= or vjp=, not both")
    if gradient is not None and (len(types) != 1 or types[0].ndim):
        raise ValueError(f"from_numpy: gradient= is for one scalar result, and outputs is {outputs!r}: give vjp=")
    return NumpyFunction(f, types, gradient, vjp, name)


def _type_of(declared: Any) -> TensorType:
    if isinstance(declared, TensorType):
        return declared
    if isinstance(declared, tuple):
        dtype, shape = declared
        return TensorType(dtype, (shape,) if isinstance(shape, int) else shape)
    return TensorType(declared, ())
