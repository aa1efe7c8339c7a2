"""Any JAX function as an operation: `from_jax`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.evaluate import to_jax
from ppl.tensor.core.ops import JaxOp, fitted, hashable
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, as_tensor, function
from ppl.xla.later import jax


class WrappedJax(JaxOp):
    """A JAX function as an operation. Two functions of one name stay two: each object is an operation of its own.

    Tensors may stand anywhere in the arguments, also inside lists, tuples and dictionaries; results may be nested too.
    """

    def __init__(self, f: Callable[..., Any], static: Sequence[str] = (), name: str | None = None) -> None:
        self.name = str(name or getattr(f, "__name__", type(f).__name__))
        self.function, self.lower, self.__doc__ = f, self._flat, f.__doc__
        self.static = frozenset([static] if isinstance(static, str) else static)
        self.signature = inspect.signature(f)
        unknown = self.static - self.signature.parameters.keys()
        if unknown:
            raise TypeError(f"from_jax: {self.name} has no parameter {', '.join(sorted(unknown))}")

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        label = None if "name" in self.signature.parameters else options.pop("name", None)
        bound = self.signature.bind(*inputs, **options)
        fixed = tuple((key, hashable(bound.arguments.pop(key))) for key in sorted(self.static & bound.arguments.keys()))
        leaves, tree = jax.tree.flatten(dict(bound.arguments))
        attrs = Attrs(tree=tree, fixed=fixed)
        node: Any = Node(self, tuple([as_tensor(leaf) for leaf in leaves]), attrs)
        results = list(node) if not isinstance(node.type, TensorType) else [node]
        if label is not None:
            if len(results) > 1:
                raise TypeError(f"{self.name} has {len(results)} results: name them one by one")
            results = [FUNCTIONS["named"](results[0], label)]
        return jax.tree.unflatten(self._tree(tuple(x.type for x in node.inputs), attrs), results)

    def _run(self, *arrays: Any, tree: Any, fixed: tuple[tuple[str, Any], ...]) -> Any:
        bound = inspect.BoundArguments(self.signature, {**jax.tree.unflatten(tree, arrays), **dict(fixed)})
        bound.arguments = {key: bound.arguments[key] for key in self.signature.parameters if key in bound.arguments}
        return self.function(*bound.args, **bound.kwargs)

    def _flat(self, *arrays: Any, tree: Any, fixed: Any) -> Any:
        results = jax.tree.leaves(self._run(*arrays, tree=tree, fixed=fixed))
        return results[0] if len(results) == 1 else tuple(results)

    @functools.lru_cache(maxsize=1000)  # noqa: B019  (operations live as long as the program)
    def _tree(self, types: tuple[TensorType, ...], attrs: Attrs) -> Any:
        """The nesting of the results."""
        try:
            return self._nesting(types, attrs)
        except (TypeError, ValueError):
            fitting = fitted(self.lower, types, attrs)
            if fitting is None:
                raise
            return self._nesting(fitting, attrs)

    def _nesting(self, types: tuple[TensorType, ...], attrs: Attrs) -> Any:
        sizes = [jax.ShapeDtypeStruct(tuple(n or 7 for n in t.shape), np.dtype(t.dtype)) for t in types]
        with jax.enable_x64(True):
            return jax.tree.structure(jax.eval_shape(lambda *xs: self._run(*xs, **attrs), *sizes))


def from_jax(f: Callable[..., Any] | None = None, *, static: Sequence[str] = (), name: str | None = None) -> Any:
    """A JAX function as a function of tensors; parameters named in `static` are constants, not tensors.

    >>> import jax.numpy as jnp
    >>> @from_jax
    ... def log_cosh(x):
    ...     return jnp.logaddexp(x, -x) - jnp.log(2.0)
    >>> float(log_cosh(0.0).eval())
    0.0
    """
    if f is None:
        return functools.partial(from_jax, static=static, name=name)
    if not callable(f):
        raise TypeError(f"from_jax wraps a function, got {f!r}")
    return WrappedJax(f, static, name)


jax_wrap = from_jax  # SymJAX's name


@function()
def placeholder_like(x: Any, name: str | None = None) -> Tensor:
    """An input of the dtype and shape of `x` (SymJAX's name for `x.type(name)`)."""
    return as_tensor(x).type(name)


def symjax_to_jax_fn(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors as a function of JAX's arrays: its graph is built for the types of what it is given.

    >>> import ppl.tensor as tt
    >>> float(symjax_to_jax_fn(lambda x, y: tt.sum(x) * y)(np.ones(3), 2.0))
    6.0
    """

    def run(*arrays: Any) -> Any:
        leaves, tree = jax.tree.flatten(arrays)
        inputs = [TensorType(np.dtype(x.dtype).name, x.shape)() for x in map(jax.numpy.asarray, leaves)]
        outputs, shape = jax.tree.flatten(f(*jax.tree.unflatten(tree, inputs)), is_leaf=lambda y: isinstance(y, Node))
        return jax.tree.unflatten(shape, to_jax(inputs, [as_tensor(y) for y in outputs])(*leaves))

    return run
