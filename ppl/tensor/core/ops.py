"""Operations on tensors: thin declarations over JAX functions, with the facts that rules need.

Three kinds know the type of their result by own rules: `Elementwise`, `Reduction` and the few that override `infer`.
Every other operation is a `JaxOp`, whose result type JAX itself works out (`jax.eval_shape`, remembered).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ppl.graph import NO_ATTRS, Attrs, Node, TupleType
from ppl.graph.node import Op
from ppl.graph.records import record
from ppl.tensor.config import config
from ppl.tensor.tensor import (
    CONSTANT,
    FUNCTIONS,
    Dim,
    Tensor,
    TensorType,
    as_tensor,
    constant,
    dtype_name,
    enter,
    told,
    viewed,
)  # fmt: skip
from ppl.xla.later import jax, jnp, wide

OPS: dict[str, TensorOp] = {}


class TensorOp(Op):
    """An operation lowered by a JAX function of its inputs' values, with its attributes as keywords.

    The operation is also the user's function: called, it builds the node. `also` are further names for users.
    """

    computed = True
    differentiable = True  # False: derivatives of it are an error, so that what it uses is moved without gradients

    def __init__(self, name: str, lower: Callable[..., Any], also: tuple[str, ...] = ()) -> None:
        if name in OPS:
            raise ValueError(f"two operations are called {name!r}")
        self.name, self.lower = name, lower
        OPS[name] = self
        for each in (name, *also):
            enter(each, self)

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """The node of this operation on `inputs`; `name=` gives it a name."""
        name = attrs.pop("name", None)
        return self.build(tuple([as_tensor(x) for x in inputs]), attrs, name)

    def build(self, inputs: tuple[Tensor, ...], attrs: dict[str, Any], name: str | None = None) -> Any:
        node = Node(self, inputs, Attrs(**attrs) if attrs else NO_ATTRS)
        return node if name is None else FUNCTIONS["named"](node, name)


Result = Literal["same", "float", "bool", "real"]


@record
class Facts:
    """What algebra knows of an elementwise operation. None: not so, or not declared."""

    unit: float | None = None  # f(x, unit) = x
    zero: float | None = None  # f(x, zero) = zero
    commutative: bool = False
    associative: bool = False
    idempotent: bool = False  # f(x, x) = x
    inverse: str | None = None  # name of g with g(f(x)) = x
    monotone: Literal["increasing", "decreasing"] | None = None
    range: tuple[float, float] | None = None  # values lie between the two, ends included
    even: bool = False  # f(-x) = f(x)
    odd: bool = False  # f(-x) = -f(x)


class Elementwise(TensorOp):
    """Applied entry by entry, with NumPy's broadcasting. Inputs are cast to one dtype when the node is built; `takes`
    are the kinds of dtype (b, i, u: booleans, integers, unsigned ones) that are taken, where not all are."""

    def __init__(
        self,
        name: str,
        lower: Callable[..., Any],
        result: Result = "same",
        also: tuple[str, ...] = (),
        takes: str = "",
        **facts: Any,
    ) -> None:
        super().__init__(name, lower, also)
        self.result, self.takes, self.facts = result, takes, Facts(**facts)

    def __call__(self, *inputs: Any, **attrs: Any) -> Tensor:
        name = attrs.pop("name", None) if attrs else None
        return self.build(unify(inputs, to_float=self.result == "float"), attrs, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        types = [node.type for node in inputs]
        dtype = types[-1].dtype  # the last: `switch` has its condition first
        if self.takes and dtype[0] not in self.takes:
            shown = " and ".join(f"{node!r}" for node in inputs)
            allowed = "integers or truth values" if "b" in self.takes else "integers"
            raise TypeError(f"{self.name} takes {allowed}, got {dtype} in {shown}: convert with .astype('int64')")
        if self.result == "bool":
            dtype = "bool"
        elif self.result == "real" and dtype.startswith("complex"):
            dtype = "float64" if dtype == "complex128" else "float32"
        return TensorType(dtype, broadcast_shape(self.name, inputs))


def keeping_dtype(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with its result in the dtype of its arguments, which tables of double-precision constants would widen."""

    @functools.wraps(f)
    def kept(*xs: Any) -> Any:
        return f(*xs).astype(jnp.result_type(*xs))

    return kept


def unify(inputs: Any, to_float: bool = False) -> tuple[Tensor, ...]:
    """The inputs as tensors of one dtype by NumPy's promotion; Python numbers take the dtype of the others."""
    if all(isinstance(x, Tensor) for x in inputs):
        dtype = inputs[0].type.dtype
        if all(x.type.dtype == dtype for x in inputs[1:]) and (not to_float or dtype[0] in "fc"):
            return tuple([viewed(x) for x in inputs])
    weak = [x if type(x) in _WEAK else as_tensor(x) for x in inputs]
    tensors = [x for x in weak if isinstance(x, Tensor)]
    if not tensors:
        weak = [as_tensor(x) for x in weak]
        tensors = weak
    dtype = _promote(tuple(x.type.dtype if isinstance(x, Tensor) else type(x) for x in weak), to_float)
    return tuple([cast_to(x, dtype) if isinstance(x, Tensor) else constant(np.array(x, dtype)) for x in weak])


def floats(inputs: Any) -> list[Any]:
    """The inputs, those that are integers or truth values as floatX; Python numbers stay what they are."""
    given = [x if type(x) in _WEAK else as_tensor(x) for x in inputs]
    return [
        (cast_to(x, config.floatX) if x.dtype[0] not in "fc" else x) if isinstance(x, Tensor) else x + 0.0
        for x in given
    ]


_WEAK = (bool, int, float, complex)


@functools.cache
def _promote(kinds: tuple[Any, ...], to_float: bool) -> str:
    numbers: dict[Any, Any] = {bool: np.bool_(True), int: 1, float: 1.0, complex: 1j}
    dtype = np.result_type(*[numbers[k] if isinstance(k, type) else np.dtype(k) for k in kinds])
    if to_float and dtype.kind not in "fc":
        return config.floatX if dtype.itemsize >= 4 else "float32"
    return dtype.name


def cast_to(x: Tensor, dtype: str) -> Tensor:
    """`x` with another dtype; a constant is converted at once."""
    if x.type.dtype == dtype:
        return x
    if x.op is CONSTANT:
        return constant(x.attrs["value"].array.astype(dtype))
    return Node(CAST, (x,), Attrs(dtype=dtype))  # type: ignore[return-value]


def broadcast_shape(name: str, inputs: tuple[Node, ...]) -> tuple[Dim, ...]:
    """The common shape of the inputs; an error that names both where there is none."""
    shapes = [node.type.shape for node in inputs]
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, start=rank - len(shape)):
            known = result[axis]
            if dim == 1 or dim == known:
                continue
            if known == 1 or known is None:
                result[axis] = dim
            elif dim is not None:
                shown = " and ".join(f"{told(node)} of shape {node.type.shape}" for node in inputs)
                raise ValueError(
                    f"{name}: the shapes {' and '.join(str(s) for s in shapes)} do not broadcast, in {shown}. Axis "
                    f"{axis - rank} has lengths {known} and {dim}; make them equal or one of them 1."
                )
    return tuple(result)


class Reduction(TensorOp):
    """Takes axes away (all of them by default). Axes are stored sorted and non-negative."""

    one_axis = False

    def __init__(
        self,
        name: str,
        lower: Callable[..., Any],
        result: Literal["same", "float", "bool", "index", "sum", "real"] = "same",
        also: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, lower, also)
        self.result = result

    def __call__(
        self, x: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, name: str | None = None
    ) -> Tensor:
        x = as_summed(as_tensor(x) if dtype is None else cast_to(as_tensor(x), dtype_name(dtype)), self.result)
        if self.one_axis and isinstance(axis, tuple | list):
            raise ValueError(f"{self.name} takes one axis or None, got {axis!r}")
        axes = normal_axes(self.name, x, axis)
        return self.build((x,), {"axis": axes, "keepdims": bool(keepdims)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        axes, keep = attrs["axis"], attrs["keepdims"]
        shape = tuple(1 if i in axes else d for i, d in enumerate(x.shape) if keep or i not in axes)
        dtype = {"bool": "bool", "index": "int64"}.get(self.result, x.dtype)
        if self.result == "real" and dtype.startswith("complex"):
            dtype = "float64" if dtype == "complex128" else "float32"
        return TensorType(dtype, shape)


def as_summed(x: Tensor, result: str) -> Tensor:
    """The input of a reduction in the dtype of its result: "float" has floats, "sum" the widest integers."""
    if result == "float" and x.dtype[0] not in "fc":
        return cast_to(x, config.floatX)
    if result == "sum" and x.dtype[0] in "bui":
        return cast_to(x, "int64" if x.dtype[0] in "bi" else "uint64")
    return x


def normal_axes(name: str, x: Tensor, axis: Any) -> tuple[int, ...]:
    """Axes as sorted non-negative numbers; an error that says how many there are."""
    if axis is None:
        return tuple(range(x.ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(sorted({normal_axis(name, x, a) for a in given}))


def normal_axis(name: str, x: Tensor, axis: Any) -> int:
    if not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: axis {axis!r} does not exist, {x!r} has {x.ndim} axes")
    return int(axis) % x.ndim


class JaxOp(TensorOp):
    """Any JAX function of arrays; the type of its result is JAX's own answer.

    JAX is slow to ask, and slow to load where nothing else needs it. So an operation that plans make may tell the type
    by itself: `type_of(*types, **attrs)`, which gives None where it leaves the answer, or the error, to JAX.

    The keyword-only parameters of the function are constants (attributes of the node); users may also give them by
    position, after the tensors, and tensors by the names that the function has for them. `ways` are arguments of NumPy
    and PyTensor that choose among ways to the same result: taken, and left out. With `one_dtype`, the tensors get one
    dtype, by NumPy's promotion (JAX's would take float32 for float32 with int64); with `to_float`, those that are no
    floats become floatX before that, as in NumPy's linear algebra.
    """

    type_of: Callable[..., TensorType | TupleType | None] | None = None

    def __init__(
        self,
        name: str,
        lower: Callable[..., Any],
        also: tuple[str, ...] = (),
        *,
        one_dtype: bool = False,
        to_float: bool = False,
        ways: tuple[str, ...] = (),
        type_of: Callable[..., TensorType | TupleType | None] | None = None,
    ) -> None:
        super().__init__(name, lower, also)
        self.one_dtype, self.to_float, self.ways, self.type_of = one_dtype, to_float, ways, type_of
        parameters = inspect.signature(lower).parameters.values()
        self.constants = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        self.tensors = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.count = None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(self.tensors)

    @property
    def __signature__(self) -> inspect.Signature:
        """What it is called with."""
        Parameter = inspect.Parameter
        tensors = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in self.tensors]
        if self.count is None:
            tensors = [Parameter("tensors", Parameter.VAR_POSITIONAL)]
        kind = Parameter.KEYWORD_ONLY if self.count is None else Parameter.POSITIONAL_OR_KEYWORD
        constants = [Parameter(key, kind, default=default) for key, default in self.constants.items()]
        if any(c.default is Parameter.empty for c in constants[1:]):
            constants = [c.replace(kind=Parameter.KEYWORD_ONLY) for c in constants]
        further = [Parameter(key, Parameter.KEYWORD_ONLY, default=None) for key in (*self.ways, "name")]
        return inspect.Signature([*tensors, *constants, *further])

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        name = attrs.pop("name", None)
        for way in self.ways:
            attrs.pop(way, None)
        if self.count is not None and len(inputs) < self.count:
            rest = self.tensors[len(inputs) :]
            inputs = (*inputs, *(attrs.pop(each) for each in rest if each in attrs))
        count = len(inputs) if self.count is None else self.count
        for constant_name, value in zip(self.constants, inputs[count:], strict=False):
            if constant_name in attrs:
                raise TypeError(f"{self.name} got two values for {constant_name}")
            attrs[constant_name] = value
        unknown = attrs.keys() - self.constants.keys()
        if unknown or len(inputs) < count or len(inputs) > count + len(self.constants):
            raise TypeError(
                f"{self.name} takes {count} tensors and {', '.join(self.constants) or 'nothing else'}; got "
                f"{len(inputs)} arguments{' and ' + ', '.join(sorted(unknown)) if unknown else ''}"
            )
        missing = [
            key for key, default in self.constants.items() if default is inspect.Parameter.empty and key not in attrs
        ]
        if missing:
            raise TypeError(f"{self.name} needs {', '.join(missing)}")
        tensors = floats(inputs[:count]) if self.to_float else inputs[:count]
        tensors = unify(tensors) if self.to_float or self.one_dtype else tuple([as_tensor(x) for x in tensors])
        fixed = {key: hashable(attrs.get(key, default)) for key, default in self.constants.items()}
        return self.build(tensors, fixed, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType | TupleType:
        types = tuple(node.type for node in inputs)
        found = self.type_of(*types, **attrs) if self.type_of is not None else None
        if found is not None:
            return found
        try:
            return shape_by_jax(self.lower, types, attrs)
        except (TypeError, ValueError, IndexError, ZeroDivisionError, NotImplementedError) as error:
            shown = ", ".join(f"{node!r}" for node in inputs)
            raise type(error)(
                f"{self.name}({shown}): {str(error).splitlines()[0] if str(error) else error!r}"
            ) from error


def hashable(value: Any) -> Any:
    """A constant of an operation in a form that attributes can hold; an error where it is no constant."""
    if isinstance(value, Tensor):
        if value.op is not CONSTANT:
            raise TypeError(f"a constant is needed here, got {value!r}, whose value is not known yet")
        value = value.attrs["value"].array
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(hashable(item) for item in value)
    if isinstance(value, np.generic):
        return value.item()
    return (
        dtype_name(value) if isinstance(value, np.dtype) or (isinstance(value, type) and value not in (int,)) else value
    )


_UNKNOWN_SIZES = (7, 11)
_MOST_WAYS = 64  # in which unknown dimensions are tried at known lengths
_SHORTEST = 1  # below any other length: what is as long as the shorter of two axes is so there too


def fitted(lower: Callable[..., Any], types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...] | None:
    """The types with as few unknown dimensions as must be as long as a known one for the function to take them, one
    at least left unknown; None where there is no such way."""
    places = [(i, axis) for i, kind in enumerate(types) for axis, n in enumerate(kind.shape) if n is None]
    known = sorted({n for kind in types for n in kind.shape if n is not None})
    for count in range(1, len(places)):
        for chosen in itertools.combinations(places, count):
            for lengths in itertools.islice(itertools.product(known, repeat=count), _MOST_WAYS):
                shapes = [list(kind.shape) for kind in types]
                for (i, axis), n in zip(chosen, lengths, strict=True):
                    shapes[i][axis] = n
                found = tuple(TensorType(kind.dtype, tuple(s)) for kind, s in zip(types, shapes, strict=True))
                with contextlib.suppress(TypeError, ValueError):
                    _eval_shape(lower, found, attrs, _UNKNOWN_SIZES[0])
                    return found
    return None


@functools.lru_cache(maxsize=10_000)
def shape_by_jax(lower: Callable[..., Any], types: tuple[TensorType, ...], attrs: Attrs) -> TensorType | TupleType:
    """The result type by `jax.eval_shape`. Unknown dimensions are tried with some sizes: what differs stays unknown."""
    if all(dim is not None for type in types for dim in type.shape):
        return _as_type(_eval_shape(lower, types, attrs, 0))
    try:
        tries = [_eval_shape(lower, types, attrs, size) for size in _UNKNOWN_SIZES]
    except (TypeError, ValueError):
        fitting = fitted(lower, types, attrs)
        if fitting is None:
            raise
        return _as_type(*[_eval_shape(lower, fitting, attrs, size) for size in _UNKNOWN_SIZES])
    with contextlib.suppress(ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):  # it may be too short
        tries.append(_eval_shape(lower, types, attrs, _SHORTEST))
    return _as_type(*tries)


def _eval_shape(lower: Callable[..., Any], types: tuple[TensorType, ...], attrs: Attrs, size: int) -> Any:
    arrays = [
        jax.ShapeDtypeStruct(tuple(size if dim is None else dim for dim in type.shape), np.dtype(type.dtype))
        for type in types
    ]
    with wide(), warnings.catch_warnings():
        if any(dim is None for type in types for dim in type.shape):
            warnings.simplefilter("ignore")  # of a length that is only tried
        return jax.eval_shape(lambda *xs: lower(*xs, **attrs), *arrays)


def _as_type(*results: Any) -> TensorType | TupleType:
    if isinstance(results[0], tuple | list):
        return TupleType(tuple(_as_type(*parts) for parts in zip(*results, strict=True)))
    sizes = zip(*[result.shape for result in results], strict=True)
    return TensorType(
        np.dtype(results[0].dtype).name, tuple(dims[0] if len(set(dims)) == 1 else None for dims in sizes)
    )


class _Cast(Elementwise):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(attrs["dtype"], inputs[0].type.shape)

    def __call__(self, x: Any, dtype: Any, *, name: str | None = None) -> Tensor:
        x = cast_to(as_tensor(x), dtype_name(dtype))
        return x if name is None else FUNCTIONS["named"](x, name)


CAST = cast = _Cast("cast", lambda x, dtype: jnp.asarray(x).astype(dtype), also=("astype",))
