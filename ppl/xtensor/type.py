"""Tensors whose axes have names: what they are, and how they are made.

An `XTensorVariable` is a face of a tensor: the tensor itself, a node of the graph, and a name for each axis.
Operations on faces work out by name which axes belong together and build ordinary nodes of the tensors, so that a
graph written with names is the graph that would have been written by position. Methods and operators are looked up in
`FUNCTIONS`, which the modules of this part fill with `@function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from ppl.tensor.core.labelled import Labelled
from ppl.tensor.tensor import (
    FUNCTIONS as OF_TENSORS,
)
from ppl.tensor.tensor import (
    Dim,
    Tensor,
    TensorType,
    as_tensor,
    constant,
    dtype_name,
    is_constant,
    placeholder,
    value_of,
)
from ppl.tensor.variables import Variable, shared

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function into the table that methods and operators are looked up in."""
    FUNCTIONS[f.__name__] = f
    return f


class XTensorType:
    """A dtype, a name for each axis, and the lengths, None where one is only known when the program runs."""

    __slots__ = ("dims", "dtype", "name", "shape")

    def __init__(
        self, dtype: Any, *, dims: Iterable[str], shape: Iterable[Dim] | None = None, name: Any = None
    ) -> None:
        self.dtype, self.dims, self.name = dtype_name(dtype), dims_of(dims), name
        self.shape = (None,) * len(self.dims) if shape is None else tuple(shape)
        if len(self.shape) != len(self.dims):
            raise ValueError(f"Shape {self.shape} must have the same length as dims {self.dims}")

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.dtype)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """No axis: names say what is broadcast."""
        return (False,) * self.ndim

    def clone(self, dtype: Any = None, dims: Any = None, shape: Any = None, **options: Any) -> XTensorType:
        """The same type but for what is given."""
        return XTensorType(
            dtype or self.dtype,
            dims=self.dims if dims is None else dims,
            shape=self.shape if shape is None else shape,
            **options,
        )

    def is_super(self, other: Any) -> bool:
        """Whether every value of the other type is one of this."""
        return (
            isinstance(other, XTensorType)
            and (self.dtype, self.dims) == (other.dtype, other.dims)
            and all(n in (None, m) for n, m in zip(self.shape, other.shape, strict=True))
        )

    def filter_variable(self, other: Any, allow_convert: bool = True) -> XTensorVariable:
        """Something as a variable of this type: axes in its order, or an error."""
        dims = None if isinstance(other, XTensorVariable) or hasattr(other, "dims") else self.dims
        found = as_xtensor(other, dims)
        same = found.dims == self.dims or (allow_convert and set(found.dims) == set(self.dims))
        if not same or found.dtype != self.dtype:
            raise TypeError(f"Cannot convert {found.type} (of {found!r}) into {self}")
        return found.transpose(*self.dims)

    def __call__(self, name: str | None = None) -> XTensorVariable:
        """A new input of this type."""
        return XTensorVariable(placeholder(TensorType(self.dtype, self.shape), name or self.name), self.dims)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, XTensorType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.dtype, self.dims, self.shape

    def __repr__(self) -> str:
        return f"XTensorType({self.dtype}, shape={self.shape}, dims={self.dims})"


def dims_of(dims: Any) -> tuple[str, ...]:
    """Names of axes, checked to be distinct strings."""
    names = (dims,) if isinstance(dims, str) else tuple(dims)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"dims are strings, got {name!r} in {names}")
    if len(set(names)) < len(names):
        raise ValueError(f"Dimensions must be unique. Found duplicates in {names}")
    return names


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    if reflected:
        return lambda self, other: FUNCTIONS[name](other, self)
    return lambda self, *others: FUNCTIONS[name](self, *others)


def _no_number(what: str) -> Callable[[Any], NoReturn]:
    def refuse(self: Any) -> NoReturn:
        raise TypeError(
            f"{self!r} has no value yet, so it cannot be converted to Python {what}. Call x.astype({what}) for the "
            "symbolic equivalent, or x.eval() for a value."
        )

    return refuse


class XTensorVariable(Labelled):
    """A tensor with names for its axes. Operators, methods and NumPy's ufuncs on it go by these names.

    >>> x = ppl.xtensor.as_xtensor([[1.0, 2.0], [3.0, 4.0]], dims=("city", "year"))
    >>> (x - x.mean("year")).dims
    ('city', 'year')
    """

    __slots__ = ("__weakref__", "dims", "made_by", "node")

    def __init__(self, node: Tensor, dims: Iterable[str], made_by: Any = None) -> None:
        self.node, self.dims, self.made_by = node, dims_of(dims), made_by
        if len(self.dims) != node.ndim:
            raise ValueError(
                f"{node!r} has {node.ndim} axes, shape {node.type.shape}, but {len(self.dims)} dims: {dims}"
            )

    def renewed(self, node: Any) -> XTensorVariable:
        """Another tensor with the same names; a tensor with other axes as it is."""
        return XTensorVariable(node, self.dims) if isinstance(node, Tensor) and node.ndim == self.ndim else node

    # --- what it is -------------------------------------------------------------------------------------------------
    @property
    def values(self) -> Tensor:
        """The plain tensor, whose axes stand in the order of `dims`."""
        return self.node

    @property
    def type(self) -> XTensorType:
        return XTensorType(self.node.dtype, dims=self.dims, shape=self.node.type.shape)

    @property
    def dtype(self) -> str:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def shape(self) -> tuple[Any, ...]:
        """One entry an axis: an int where it is known, a symbolic scalar where it is not."""
        return tuple(self.node.shape)

    @property
    def sizes(self) -> dict[str, Any]:
        """The lengths by the names of the axes."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def size(self) -> Any:
        return self.node.size

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return (False,) * self.ndim

    @property
    def name(self) -> str | None:
        return self.node.name

    @name.setter
    def name(self, name: str | None) -> None:
        self.node.name = name

    @property
    def owner(self) -> Any:
        """What it is computed by; None for a leaf."""
        return self.node.owner

    @property
    def tag(self) -> Any:
        return self.node.tag

    @property
    def data(self) -> np.ndarray:
        """The array that a constant is (Theano's name)."""
        return self.node.data

    def __eq__(self, other: object) -> bool:
        """Whether both are the same expression with the same names, or the other is the plain tensor behind it."""
        if isinstance(other, XTensorVariable):
            return self.node is other.node and self.dims == other.dims
        return self.node is other

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        lengths = ", ".join(
            f"{dim}: {'?' if n is None else n}" for dim, n in zip(self.dims, self.node.type.shape, strict=True)
        )
        kind = "XTensorConstant" if is_constant(OF_TENSORS["plain"](self.node)) else "XTensorVariable"
        name = f"{self.name!r}, " if self.name else ""
        return f"{kind}({name}{self.dtype}, ({lengths}))"

    def __str__(self) -> str:
        return self.name or repr(self)

    def eval(self, inputs_to_values: Any = None, **options: Any) -> Any:
        """The value as an array whose axes stand in the order of `dims`; `inputs_to_values` gives those of inputs."""
        given = {getattr(key, "node", key): as_array(value, key) for key, value in (inputs_to_values or {}).items()}
        return self.node.eval(given, **options) if given or options else self.node.eval()

    def dprint(self, **options: Any) -> Any:
        """Print the tree of operations behind it."""
        return self.node.dprint(**options)

    def get_parents(self) -> list[Any]:
        return self.node.get_parents()

    def clone(self, *args: Any, **options: Any) -> XTensorVariable:
        """A free variable of the same type and name; constants and shared variables stay themselves."""
        return XTensorVariable(self.node.clone(*args, **options), self.dims)

    def copy(self, name: str | None = None) -> XTensorVariable:
        return XTensorVariable(self.node.copy(name), self.dims)

    @property
    def as_numpy(self) -> XTensorVariable:
        return self

    # --- what it cannot do --------------------------------------------------------------------------------------------
    __bool__ = _no_number("bool")
    __int__ = _no_number("int")
    __index__ = _no_number("int")
    __float__ = _no_number("float")
    __complex__ = _no_number("complex")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r} is not iterated over: take entries by x.isel({(self.dims or ('dim',))[0]}=0)")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(f"{self!r} does not change: x[index].set(value) and x[index].inc(value) give what it would be")

    @property
    def coords(self) -> NoReturn:
        raise NotImplementedError("coords not implemented for XTensorVariable: the labels are those of the model")

    @property
    def loc(self) -> NoReturn:
        raise NotImplementedError("loc not implemented for XTensorVariable, which has no labels: use isel")

    def sel(self, *args: Any, **options: Any) -> NoReturn:
        raise NotImplementedError("sel not implemented for XTensorVariable, which has no labels: use isel")

    def item(self) -> NoReturn:
        raise NotImplementedError("item not implemented for XTensorVariable: eval() gives a value")

    # --- operators ----------------------------------------------------------------------------------------------------
    __array_priority__ = 1001

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        f = FUNCTIONS.get(ufunc.__name__)
        return NotImplemented if f is None or method != "__call__" or options else f(*inputs)

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", True)
    __truediv__, __rtruediv__ = _operator("true_divide"), _operator("true_divide", True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", True)
    __pow__, __rpow__ = _operator("power"), _operator("power", True)
    __and__, __rand__ = _operator("bitwise_and"), _operator("bitwise_and", True)
    __or__, __ror__ = _operator("bitwise_or"), _operator("bitwise_or", True)
    __xor__, __rxor__ = _operator("bitwise_xor"), _operator("bitwise_xor", True)
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __neg__, __abs__, __invert__ = _operator("negative"), _operator("abs"), _operator("invert")
    __ceil__, __floor__, __trunc__ = _operator("ceil"), _operator("floor"), _operator("trunc")

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    # --- methods, each a function of this part of the same name -------------------------------------------------------
    def __getitem__(self, index: Any) -> XTensorVariable:
        return FUNCTIONS["getitem"](self, index)

    @property
    def T(self) -> XTensorVariable:
        """All axes in the opposite order."""
        return FUNCTIONS["transpose"](self)

    @property
    def real(self) -> XTensorVariable:
        return FUNCTIONS["real"](self)

    @property
    def imag(self) -> XTensorVariable:
        return FUNCTIONS["imag"](self)

    def rename(self, new_name_or_name_dict: Any = None, **names: str) -> XTensorVariable:
        """Other names for axes; with a string the variable itself has another name."""
        if isinstance(new_name_or_name_dict, str):
            return FUNCTIONS["rename"](self, None, **names).copy(new_name_or_name_dict)
        return FUNCTIONS["rename"](self, new_name_or_name_dict, **names)

    def __getattr__(self, method: str) -> Any:
        if method in METHODS:
            f = FUNCTIONS[METHODS[method]]
            return lambda *args, **options: f(self, *args, **options)
        if method == "__ppl_tensor__" or method.startswith("__"):
            raise AttributeError(method)
        raise AttributeError(
            f"XTensorVariable has no {method!r}; ppl.xtensor.math may have a function of this name, and x.values is "
            "the plain tensor"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *METHODS})


# Methods, and the functions behind them.
METHODS = {
    name: name
    for name in """isel set inc head tail thin squeeze expand_dims clip conj all any max min mean prod sum std var
    cumsum cumprod diff transpose stack unstack dot broadcast_like""".split()
} | {"astype": "cast"}


class _OfConstants(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, XTensorVariable) and is_constant(OF_TENSORS["plain"](x.node))


class XTensorConstant(metaclass=_OfConstants):
    """Labelled tensors whose value is known. `XTensorConstant(type, data)` makes one."""

    def __new__(cls, type: XTensorType, data: Any, name: str | None = None) -> Any:
        return xtensor_constant(np.asarray(data, dtype=type.dtype), name, type.dims)


class XTensorSharedVariable(XTensorVariable):
    """A labelled tensor with a value of its own, which lasts from one call of a function to the next."""

    __slots__ = ()
    node: Variable

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The present value."""
        return self.node.get_value(borrow, return_internal_type)

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Give it another value; the axes of a labelled array are put in order."""
        self.node.set_value(as_array(value, self), borrow)


def as_array(value: Any, like: Any) -> Any:
    """A labelled array with its axes in the order of a labelled tensor; other values as they are."""
    if is_labelled_array(value) and isinstance(like, XTensorVariable):
        return value.transpose(*like.dims).values
    return value


def is_labelled_array(value: Any) -> bool:
    """Whether something is an array of xarray."""
    return (
        hasattr(value, "dims")
        and hasattr(value, "coords")
        and hasattr(value, "values")
        and not isinstance(value, Labelled)
    )


def xtensor(name: str | None = None, *, dims: Any, shape: Any = None, dtype: Any = "floatX") -> XTensorVariable:
    """A new input with named axes, whose value is given when the program runs."""
    return XTensorType(dtype, dims=dims, shape=shape)(name)


def _array_and_dims(x: Any, dims: Any) -> tuple[Any, tuple[str, ...]]:
    if is_labelled_array(x):
        own = dims_of(x.dims)
        if dims is not None and dims_of(dims) != own:
            raise ValueError(f"the array has dims {own}, asked for are {dims_of(dims)}: use transpose or rename")
        return x.values, own
    array = x if isinstance(x, np.ndarray) else value_of(constant(x.to_numpy() if hasattr(x, "to_numpy") else x))
    if dims is None and array.ndim:
        raise TypeError(
            f"an array of shape {array.shape} has no names for its axes: give each one by as_xtensor(x, dims=(...))."
        )
    names = () if dims is None else dims_of(dims)
    if len(names) != array.ndim:
        raise ValueError(f"an array of shape {array.shape} needs {array.ndim} dims, got {names}")
    return array, names


def xtensor_constant(x: Any, name: str | None = None, dims: Any = None) -> XTensorVariable:
    """A value that is known now, with names for its axes."""
    array, names = _array_and_dims(x, dims)
    return XTensorVariable(constant(array if isinstance(x, np.ndarray) or np.ndim(array) else x, name), names)


def xtensor_shared(x: Any, *, name: str | None = None, shape: Any = None, dims: Any = None, **options: Any) -> Any:
    """A labelled variable with the given value; its lengths may change later unless `shape` fixes them."""
    array, names = _array_and_dims(x, dims)
    return XTensorSharedVariable(shared(array, name or getattr(x, "name", None), shape=shape, **options), names)


def as_xtensor(x: Any, dims: Any = None, *, name: str | None = None) -> XTensorVariable:
    """Something as a labelled tensor.

    Parameters
    ----------
    x : tensor, array, number, DataArray
        What is to have names. Labelled tensors and DataArrays have them already.
    dims : str or sequence of str, optional
        A name for each axis; needed unless `x` is a single number or has names.
    name : str, optional
        The name of the result.

    Examples
    --------
    >>> ppl.xtensor.as_xtensor([1.0, 2.0], dims="city").dims
    ('city',)
    """
    if isinstance(x, XTensorVariable):
        if dims is not None and dims_of(dims) != x.dims:
            raise ValueError(f"{x!r} has dims {x.dims}, asked for are {dims_of(dims)}: use transpose or rename")
        return x if name is None else x.copy(name)
    if not isinstance(x, Tensor):
        try:
            if not (isinstance(x, list | tuple) and dims is not None):
                return xtensor_constant(x, name, dims)
            x = as_tensor(x)
        except TypeError as error:
            raise TypeError(f"Cannot convert {x!r} to a labelled tensor: {error}") from None
    if dims is None and x.ndim:
        raise TypeError(
            f"{x!r} has no names for its axes, so it is not combined with labelled tensors: give "
            "as_xtensor(x, dims=(...)) a name for each."
        )
    node = x if name is None else as_tensor(x, name)
    return (XTensorSharedVariable if isinstance(node, Variable) else XTensorVariable)(
        node, () if dims is None else dims
    )


@function
def tensor_from_xtensor(x: XTensorVariable) -> Tensor:
    """The plain tensor behind a labelled one."""
    return x.node


def xtensor_from_tensor(x: Any, dims: Any, name: str | None = None) -> XTensorVariable:
    """A tensor with names for its axes."""
    return as_xtensor(as_tensor(x), dims, name=name)
