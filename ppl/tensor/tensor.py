"""Symbolic tensors: nodes that carry a dtype and a shape, with NumPy's operators and methods.

Operators and methods are looked up by name in `FUNCTIONS`, the one table of user functions, which the modules of this
part fill with `@function`. NumPy's own functions find the same table through its protocols, so `np.exp(x)` works.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np

from ppl.graph import Application, Attrs, FrozenArray, Identity, Node, debugprint
from ppl.graph.node import Op
from ppl.graph.weak import NodeDict
from ppl.tensor.config import config
from ppl.tensor.core.labelled import Labelled

Dim = int | None
FUNCTIONS: dict[str, Callable[..., Any]] = {}
WHOLE = ("slice", None, None, None)  # the part of an index that takes an axis as it is


def function(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into the table of user functions under its own name and `names`."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in (f.__name__, *names):
            enter(name, f)
        return f

    return decorate


def enter(name: str, f: Callable[..., Any]) -> None:
    """Enter one function into the table of user functions."""
    if name in FUNCTIONS:
        raise ValueError(f"two tensor functions are called {name!r}")
    FUNCTIONS[name] = f


LawWriter = Callable[["Tensor", str, bool], str | None]  # of a variable, a format, and whether parameters are shown


def _no_law(variable: Tensor, formatting: str, include_params: bool) -> None:
    """Of a tensor that no model knows."""


_law_of: LawWriter = _no_law


def set_law_writer(writer: LawWriter) -> None:
    """The model layer says here how a variable of a model is written, `mu ~ Normal(0, 5)`."""
    global _law_of
    _law_of = writer


class TensorType:
    """A dtype and a shape; a dimension that is only known when the program runs is None."""

    __slots__ = ("_hash", "dtype", "shape")
    dtype: str
    shape: tuple[Dim, ...]
    _hash: int
    node_class: ClassVar[type[Node]]

    def __new__(cls, dtype: Any, shape: Iterable[Dim] = ()) -> TensorType:
        return _type(dtype if type(dtype) is str and dtype in _DTYPES else dtype_name(dtype), tuple(shape))

    def __reduce__(self) -> Any:
        return TensorType, (self.dtype, self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which axes have length one (Theano's name)."""
        return tuple(dim == 1 for dim in self.shape)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.dtype == other.dtype and self.shape == other.shape

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join('?' if dim is None else str(dim) for dim in self.shape)}]"

    def __call__(self, name: str | None = None) -> Tensor:
        """A new input of this type, as `TensorType("float64", (None,))("x")`."""
        return placeholder(self, name)


@functools.lru_cache(maxsize=4096)
def _type(dtype: str, shape: tuple[Dim, ...]) -> TensorType:
    """One object for many nodes: what a collection of garbage visits, it visits again and again."""
    made = object.__new__(TensorType)
    made.dtype, made.shape, made._hash = dtype, shape, hash((dtype, shape))
    return made


_DTYPES = frozenset([
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
])  # fmt: skip


@functools.lru_cache(maxsize=256)
def _name_of(dtype: np.dtype[Any]) -> str:
    """NumPy makes the name anew each time."""
    return dtype.name


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a dtype; "floatX" follows the setting."""
    if isinstance(dtype, str) and dtype == "floatX":
        return config.floatX
    name = _name_of(np.dtype(dtype))
    if name not in _DTYPES:
        raise TypeError(f"tensors hold numbers and booleans, got dtype {name!r}")
    return name


class Tensor(Node):
    """A symbolic array. Operators, methods and NumPy's functions on it build further nodes."""

    __slots__ = ()
    type: TensorType
    __hash__ = Node.__hash__

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def shape(self) -> Any:
        """One entry an axis: an int where it is known, a symbolic scalar where it is not."""
        return FUNCTIONS["shape"](self)

    @property
    def size(self) -> Any:
        return FUNCTIONS["size"](self)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return self.type.broadcastable

    @property
    def name(self) -> str | None:
        return FUNCTIONS["name_of"](self)

    def str_repr(self, formatting: str = "plain", include_params: bool = True) -> str:
        """A variable of a model as `name ~ Family(parameters)`; `formatting` is "plain" or "latex"."""
        line = _law_of(self, formatting, include_params)
        if line is None:
            text = f"{self!r} is no random variable, deterministic or potential of a model: only these have a law"
            raise ValueError(text)
        return line

    def _repr_latex_(self) -> str | None:
        """What a notebook shows of a variable; the plain text where it is of no model."""
        return _law_of(self, "latex", True)

    @property
    def scope(self) -> str:
        return self.attrs.get("scope", "/")

    @property
    def owner(self) -> Application | None:
        """What it is computed by; None for a leaf (Theano's name)."""
        return Application(self) if self.inputs else None

    def __setattr__(self, field: str, value: object) -> None:
        if field != "name":
            super().__setattr__(field, value)
        FUNCTIONS["set_label"](self, value)

    # --- what symbols cannot do -----------------------------------------------------------------------------------
    def __bool__(self) -> bool:
        """Of `a == b` whether both are the same expression, as in PyTensor, so that `if scale == 0:` and
        `x in variables` work; the truth of other symbols is not known."""
        if self.op.name in ("equal", "not_equal"):
            return (self.inputs[0] is self.inputs[1]) == (self.op.name == "equal")
        raise TypeError(
            f"the truth of {told(self)} is not known before the program runs. "
            "Use switch(condition, a, b) or ifelse, and & | ~ instead of and, or, not."
        )

    def _no_number(self, what: str) -> NoReturn:
        raise TypeError(
            f"{told(self)} has no value yet, so it cannot become a Python {what}. Use the functions of ppl.tensor (or "
            "pm.math) in place of Python's math module, or x.eval({...}) for a value."
        )

    def __float__(self) -> float:
        self._no_number("float")

    def __int__(self) -> int:
        self._no_number("int")

    def __index__(self) -> int:
        self._no_number("index")

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError(f"{self!r} is a scalar and has no length")
        if self.type.shape[0] is None:
            raise TypeError(f"the length of {self!r} is only known when the program runs: use x.shape[0]")
        return self.type.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.type.shape:
            raise TypeError(f"{told(self)} is a scalar: it cannot be iterated over")
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f"`in` needs values: use any(eq({self!r}, item))")

    # --- NumPy's protocols ------------------------------------------------------------------------------------------
    __array_priority__ = 1000

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._no_number("array")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        f = FUNCTIONS.get(ufunc.__name__)
        if method == "reduce" and ufunc.__name__ in _REDUCE:
            f = FUNCTIONS[_REDUCE[ufunc.__name__]]
        elif f is None or method != "__call__" or options.get("out") is not None:
            return NotImplemented
        return f(*inputs, **{key: value for key, value in options.items() if key in ("axis", "keepdims", "dtype")})

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        f = FUNCTIONS.get(func.__name__)
        return NotImplemented if f is None else f(*args, **kwargs)

    # --- operators ----------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Tensor:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _binary("true_divide", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _binary("true_divide", other, self)

    def __floordiv__(self, other: Any) -> Tensor:
        return _binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _binary("floor_divide", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return _binary("mod", self, other)

    def __rmod__(self, other: Any) -> Tensor:
        return _binary("mod", other, self)

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __pow__(self, other: Any) -> Tensor:
        return _binary("power", self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _binary("power", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return _binary("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _binary("matmul", other, self)

    def __and__(self, other: Any) -> Tensor:
        return _binary("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Tensor:
        return _binary("bitwise_and", other, self)

    def __or__(self, other: Any) -> Tensor:
        return _binary("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Tensor:
        return _binary("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Tensor:
        return _binary("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Tensor:
        return _binary("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Tensor:
        return _binary("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Tensor:
        return _binary("left_shift", other, self)

    def __rshift__(self, other: Any) -> Tensor:
        return _binary("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Tensor:
        return _binary("right_shift", other, self)

    def __lt__(self, other: Any) -> Tensor:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _binary("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _binary("greater_equal", self, other)

    def __eq__(self, other: Any) -> Any:
        return _compared("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return _compared("not_equal", self, other)

    def __neg__(self) -> Tensor:
        return FUNCTIONS["negative"](self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return FUNCTIONS["abs"](self)

    def __invert__(self) -> Tensor:
        return FUNCTIONS["invert"](self)

    def __round__(self, digits: int = 0) -> Tensor:
        return FUNCTIONS["round"](self, digits)

    def __getitem__(self, index: Any) -> Tensor:
        found = FUNCTIONS["getitem"](self, index)
        if found is not self:
            return found
        return FUNCTIONS["getitem"].build((self,), {"plan": (WHOLE,) * self.ndim})  # type: ignore[attr-defined]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(f"{self!r} does not change: x = set_subtensor(x[...], value) has other entries there")

    # --- methods ------------------------------------------------------------------------------------------------------
    @property
    def T(self) -> Tensor:
        return FUNCTIONS["transpose"](self)

    @property
    def mT(self) -> Tensor:
        return FUNCTIONS["swapaxes"](self, -1, -2)

    @property
    def real(self) -> Tensor:
        return FUNCTIONS["real"](self)

    @property
    def imag(self) -> Tensor:
        return FUNCTIONS["imag"](self)

    def astype(self, dtype: Any) -> Tensor:
        return FUNCTIONS["cast"](self, dtype)

    def clone(self, *args: Any, **options: Any) -> Tensor:
        """A free variable of the same type and name, as in PyTensor; constants and shared variables stay themselves.
        With arguments what `clone` of the package makes of it."""
        if args or options or not (self.inputs or self.op is INPUT):
            return FUNCTIONS["clone"](self, *args, **options)
        return placeholder(self.type, self.name)

    def copy(self, name: str | None = None) -> Tensor:
        return self if name is None else FUNCTIONS["named"](self, name)

    def variables(self, trainable: bool | None = True) -> list[Any]:
        """The variables that it is computed from, oldest first; trainable or not where None (SymJAX's method)."""
        return FUNCTIONS["variables_of"](self, trainable)

    def reshape(self, *shape: Any, ndim: int | None = None) -> Tensor:
        return FUNCTIONS["reshape"](self, shape[0] if len(shape) == 1 else shape, ndim=ndim)

    def transpose(self, *axes: Any) -> Tensor:
        return FUNCTIONS["transpose"](
            self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        )

    def dimshuffle(self, *pattern: Any) -> Tensor:
        return FUNCTIONS["dimshuffle"](self, *pattern)

    def dot(self, other: Any) -> Tensor:
        return FUNCTIONS["dot"](self, other)

    def get_parents(self) -> list[Application]:
        """What it is computed by, as a list; empty for a leaf (PyTensor's name)."""
        return [] if self.owner is None else [self.owner]

    @property
    def tag(self) -> SimpleNamespace:
        """A place for notes of the user's own, such as PyTensor's test values; nothing here reads them."""
        return _TAGS.setdefault(self, SimpleNamespace())

    def dprint(self, **options: Any) -> str:
        """Print the tree of operations behind it."""
        return debugprint(self, **options)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_METHODS})

    def __getattr__(self, method: str) -> Any:
        if method in _METHODS:
            f = FUNCTIONS[method]
            return lambda *args, **options: f(self, *args, **options)
        if method == "data":  # Theano's name of the array that a constant is
            if is_constant(under := FUNCTIONS["plain"](self)):
                return value_of(under)
            raise AttributeError(f"{self!r} is no constant, so it has no data: eval() works out its value")
        instead = _INSTEAD.get(method, "it may be a function of ppl.tensor")
        raise AttributeError(f"tensors have no {method!r}; {instead}")

    def __repr__(self) -> str:
        return FUNCTIONS["describe"](self)


_TAGS: NodeDict[SimpleNamespace] = NodeDict()

# `==` builds a node, as in NumPy and SymJAX. Python's containers compare identity first, and nodes that are equal are
# identical, so sets and dicts of nodes never reach it; `in` on a list does, hence the error of __bool__.
# Methods that variables had in PyMC 3, and what does the same.
_INSTEAD = {
    "random": "draw(x, draws) of the package draws from it",
    "logp": "logp(x, value) of the package is its log-density",
    "logcdf": "logcdf(x, value) of the package is the logarithm of its distribution function",
    "distribution": "what it depends on are its inputs",
}

_METHODS = frozenset([
    "sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "all", "any", "cumsum", "cumprod", "clip",
    "round", "conj", "conjugate", "flatten", "ravel", "squeeze", "repeat", "swapaxes", "take", "diagonal", "trace",
    "sort", "argsort", "nonzero", "fill", "norm", "ptp", "searchsorted", "eval", "get", "cast", "expand_dims",
    "matmul", "set", "inc", "choose", "compress", "flatten2d",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "ceil", "floor", "trunc", "deg2rad", "rad2deg",
    "zeros_like", "ones_like", "nonzero_values",
])  # fmt: skip
_REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}

TensorType.node_class = Tensor


# Operators of Python, which other classes may define for tensors too, and the functions behind them.
_REFLECTED = {
    "add": "add", "subtract": "sub", "multiply": "mul", "true_divide": "truediv", "floor_divide": "floordiv",
    "mod": "mod", "power": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip
_ARRAYS = ("__array__", "__array_interface__", "__ppl_tensor__", "to_numpy")


def _binary(name: str, left: Any, right: Any) -> Any:
    return NotImplemented if _is_foreign(name, left) or _is_foreign(name, right) else FUNCTIONS[name](left, right)


def _compared(name: str, left: Any, right: Any) -> Any:
    """`==` and `!=`, which programs also ask which of several expressions one is, as `x in variables` does."""
    try:
        return _binary(name, left, right)
    except ValueError as error:
        if not isinstance(right, Tensor):
            raise
        return _Unlike(name == "not_equal", error)


class _Unlike:
    """`a == b` of tensors whose shapes do not fit: they are two expressions, but what is compared entry by entry is
    none."""

    def __init__(self, truth: bool, error: ValueError) -> None:
        self._truth, self._error = truth, error

    def __bool__(self) -> bool:
        return self._truth

    def _refuse(self, *_: Any) -> NoReturn:
        raise self._error

    __ppl_tensor__ = __array__ = __invert__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._error


for _word in _REFLECTED.values():
    setattr(_Unlike, f"__{_word}__", _Unlike._refuse)
    setattr(_Unlike, f"__r{_word}__", _Unlike._refuse)


def _is_foreign(name: str, operand: Any) -> bool:
    """Whether an operand is no array and has the operator itself, so that it is asked (a covariance function, say)."""
    kind = type(operand)
    if issubclass(kind, Node | np.ndarray | np.generic | complex | float | int | list | tuple | str):
        return False
    if issubclass(kind, Labelled):
        return True
    return hasattr(kind, f"__r{_REFLECTED.get(name)}__") and not any(hasattr(kind, each) for each in _ARRAYS)


# --- leaves -----------------------------------------------------------------------------------------------------------
class _Constant(Op):
    name = "constant"
    computed = True

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        array = attrs["value"].array
        return TensorType(_name_of(array.dtype), array.shape)


class _Input(Op):
    name = "input"

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return attrs["type"]


CONSTANT, INPUT = _Constant(), _Input()
SMALL = 6  # entries of a constant that an error shows


def placeholder(type: TensorType, name: str | None = None) -> Tensor:
    """A leaf whose value is given when the program runs."""
    attrs = Attrs(type=type, identity=Identity()) if name is None else Attrs(type=type, identity=Identity(), name=name)
    return Node(INPUT, (), attrs)  # type: ignore[return-value]


def told(x: Any) -> str:
    """What an error calls a tensor: by its name, or as what it is computed from; anything else as Python shows it."""
    if not isinstance(x, Tensor):
        return repr(x)
    if x.op is CONSTANT:
        value = value_of(x)
        return str(value.tolist()) if value.size <= SMALL else f"an array of shape {value.shape}"
    family = x.attrs.get("family")
    if x.name:
        return f'{family.__name__} "{x.name}"' if family else f'"{x.name}"' if x.inputs else repr(x)
    if family:
        return f"a draw of {family.__name__}"
    return f"{x.op.name}({', '.join(map(_brief, x.inputs))})" if x.inputs else repr(x)


def _brief(x: Node) -> str:
    """An operand of what is told: one level of it."""
    name = getattr(x, "name", None)
    if name or not x.inputs:
        return str(name) if name else told(x)
    return told(x) if x.attrs.get("family") else f"{x.op.name}(...)"


def constant(x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None) -> Tensor:
    """The node of a value that is known now; the value is copied. Python numbers become int64, floatX or bool."""
    if isinstance(x, Tensor):
        return x
    array = np.asarray(x, dtype=None if dtype is None else dtype_name(dtype))
    if dtype is None and array.dtype == np.float64 and not isinstance(x, np.ndarray | np.generic):
        array = array.astype(config.floatX)
    if _name_of(array.dtype) not in _DTYPES:
        if type(x).__module__.partition(".")[0] in ("pytensor", "pymc"):
            raise TypeError(
                f"{x!r} is a variable of PyTensor, as another package makes that imports the real PyMC. Run the"
                " program by `python -m ppl`, or import that package within `with ppl.as_pymc():`, so that it finds"
                " ppl in PyMC's place; ppl.from_pymc takes whole models."
            )
        raise TypeError(f"a tensor holds numbers and booleans, got {x!r} of dtype {array.dtype}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"asked for {ndim} dimensions, but {x!r} has {array.ndim}")
    node: Tensor = Node(CONSTANT, (), Attrs(value=FrozenArray(array)))  # type: ignore[assignment]
    return node if name is None else FUNCTIONS["named"](node, name)


def known_as(name: str, array: np.ndarray) -> Tensor:
    """A constant that is itself by its name, whatever others have the same value: another may be put in its place."""
    return Node(CONSTANT, (), Attrs(value=FrozenArray(np.asarray(array)), name=name))  # type: ignore[return-value]


def as_tensor(x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None) -> Tensor:
    """A tensor from a tensor, a number, an array, or a (nested) sequence that may hold tensors."""
    if isinstance(x, Tensor):
        tensor = viewed(x)
    elif isinstance(x, Node):
        raise TypeError(f"{x!r} has several results: take one, as {x.op.name}(...)[0]")
    elif hasattr(x, "__ppl_tensor__"):
        tensor = x.__ppl_tensor__()
    elif isinstance(x, list | tuple) and _holds_tensor(x):
        tensor = FUNCTIONS["stack"]([as_tensor(item) for item in x])
    elif isinstance(x, Labelled):
        x.refuse()
    elif hasattr(x, "to_numpy") and not isinstance(x, np.ndarray):
        tensor = constant(x.to_numpy())
    else:
        tensor = constant(x, dtype=dtype)
    if dtype is not None and tensor.dtype != dtype_name(dtype):
        tensor = FUNCTIONS["cast"](tensor, dtype)
    if ndim is not None and tensor.ndim != ndim:
        raise ValueError(f"asked for {ndim} dimensions, but {tensor!r} has {tensor.ndim}")
    return tensor if name is None else FUNCTIONS["named"](tensor, name)


def viewed(tensor: Tensor) -> Tensor:
    """x in place of x[:]: what has the place of all entries is for `set_subtensor` alone."""
    whole = tensor.op.name == "getitem" and all(part == WHOLE for part in tensor.attrs["plan"])
    return tensor.inputs[0] if whole else tensor  # type: ignore[return-value]


def _holds_tensor(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        or hasattr(value, "__ppl_tensor__")
        or (isinstance(value, list | tuple) and any(_holds_tensor(item) for item in value))
    )


def is_constant(node: Node) -> bool:
    return node.op is CONSTANT


def value_of(node: Node) -> np.ndarray:
    """The value of a constant node."""
    return node.attrs["value"].array
