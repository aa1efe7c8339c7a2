"""Variables: leaves with a value that lasts from one call of a function to the next (Theano's shared variables).

The node stays immutable; the value lives in its `Cell`. Variables are found again by name and scope, as
`get_variables("w", "/layer*")`.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node, as_nodes, leaves
from ppl.graph.node import Op, living
from ppl.tensor.config import config
from ppl.tensor.core.names import current_scope, first_in_scope, flat_name, matching, other_names
from ppl.tensor.core.ops import cast_to
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.sampling.generators import is_generator, numbers_from
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, dtype_name, function, is_constant, told, value_of


class Cell:
    """Where the value of a variable is kept, and what is said of how it changes. Who changes the value depending on the
    value it had holds the lock meanwhile."""

    __slots__ = ("__weakref__", "collected_update", "default_update", "initializer", "lock", "value")

    def __init__(self, value: Any, initializer: Callable[[], Any]) -> None:
        self.value = value
        self.initializer = initializer
        self.lock = threading.RLock()
        self.default_update: Tensor | None = None  # applied by every function that needs the variable
        self.collected_update: Tensor | None = None  # handed out by get_updates()

    def __reduce__(self) -> Any:
        updates = {name: getattr(self, name) for name in ("default_update", "collected_update")}
        given = np.asarray(self.value), np.asarray(self.initializer())
        return _pickled_cell, given, (None, {name: node for name, node in updates.items() if node is not None})


def _pickled_cell(value: np.ndarray, initial: np.ndarray) -> Cell:
    return Cell(value, lambda: initial)


class Variable(Tensor):
    """A tensor with a value of its own."""

    __slots__ = ()

    @property
    def cell(self) -> Cell:
        return self.attrs["cell"]

    @property
    def value(self) -> np.ndarray:
        """The present value."""
        return np.asarray(self.cell.value)

    @property
    def trainable(self) -> bool:
        return self.attrs["trainable"]

    @property
    def initializer(self) -> Callable[[], Any]:
        return self.cell.initializer

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The present value; a copy unless `borrow`; as a JAX array with `return_internal_type`."""
        if return_internal_type:
            return self.cell.value
        if self.attrs.get("generator"):
            return np.random.default_rng(np.asarray(self.cell.value))
        return np.asarray(self.cell.value) if borrow else np.array(self.cell.value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Give the variable another value of as many axes, of numbers that its dtype has; copied unless `borrow`."""
        array = self._fitting(new_value, copy=not borrow)
        if not borrow:
            array.flags.writeable = False  # nobody changes it any more: functions may keep it on the device
        with self.cell.lock:
            self.cell.value = array

    def update(self, value: Any) -> None:
        """`set_value`, by SymJAX's name."""
        self.set_value(value)

    def reset(self) -> None:
        """Back to the initial value."""
        self.set_value(self.cell.initializer())

    @property
    def container(self) -> Cell:
        """Where the value is kept (Theano's name)."""
        return self.cell

    @property
    def default_update(self) -> Tensor | None:
        """What functions set the variable to when they are called and nothing else is said."""
        return self.cell.default_update

    def __setattr__(self, field: str, value: object) -> None:
        if field != "default_update":
            super().__setattr__(field, value)
            return
        self.cell.default_update = None if value is None else fitting_update(self, value)

    def _fitting(self, value: Any, copy: bool) -> np.ndarray:
        if self.attrs.get("generator") and is_generator(value):
            value = numbers_from(value)
        array = np.array(value) if copy else np.asarray(value)
        if array.dtype != self.dtype:
            if not _has(self.dtype, array):
                raise TypeError(f"{self!r} holds {self.dtype}, got {array.dtype}: convert it with .astype()")
            array = array.astype(self.dtype)
        fits = array.ndim == self.ndim and all(
            n in (None, m) for n, m in zip(self.type.shape, array.shape, strict=True)
        )
        if not fits:
            shape = ", ".join("any" if n is None else str(n) for n in self.type.shape)
            raise ValueError(
                f"{self!r} holds arrays of shape ({shape}), got {array.shape}. A variable made with shape=(None, ...) "
                "takes any length."
            )
        return array


def _has(dtype: str, array: np.ndarray) -> bool:
    """Whether a dtype has the numbers of an array, by its kind or one by one."""
    if np.can_cast(array.dtype, dtype, "same_kind"):
        return True
    with np.errstate(invalid="ignore"):
        return array.dtype.kind in "biuf" and np.array_equal(array.astype(dtype), array)


class _Variable(Op):
    name = "variable"
    node_class = Variable

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return attrs["type"]


VARIABLE = _Variable()
_made: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()  # here, not loaded from a file


def fitting_update(variable: Variable, value: Any) -> Tensor:
    """The tensor of an update, checked to be what the variable can hold."""
    update = as_tensor(value)
    if update.dtype != variable.dtype and is_constant(update):
        update = cast_to(update, variable.dtype)
    if update.dtype != variable.dtype:
        raise TypeError(
            f"the update of {variable!r} has dtype {update.dtype}, the variable {variable.dtype}: cast it, as in "
            f'update.astype("{variable.dtype}")'
        )
    known, given = variable.type.shape, update.type.shape
    if len(known) != len(given) or any(None not in (n, m) and n != m for n, m in zip(known, given, strict=True)):
        raise ValueError(f"the update of {variable!r} has shape {given}, the variable has {known}: {told(update)}")
    return update


def _variable(
    type: TensorType,
    value: Any,
    initializer: Callable[[], Any],
    name: str | None,
    trainable: bool,
    borrow: bool = False,
    **marks: Any,
) -> Variable:
    cell = Cell(None, initializer)
    named = {"name": name} if name is not None else {}
    node: Variable = Node(  # type: ignore[assignment]
        VARIABLE, (), Attrs(type=type, cell=cell, trainable=trainable, scope=current_scope(), **named, **marks)
    )
    node.set_value(value, borrow=borrow)
    _made[node.serial] = node
    return node


@function()
def shared(
    value: Any,
    name: str | None = None,
    *,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    shape: Any = None,
) -> Variable:
    """A variable with the given value. Its lengths may change later unless `shape` fixes them (as in PyTensor).

    The value may be a generator of random numbers, for draws that functions make from it.

    >>> state = shared(0, "state")
    >>> state.set_value(3)
    >>> state.get_value()
    array(3)
    """
    if is_generator(value):
        start = numbers_from(value)
        return _variable(KEY_TYPE, start, lambda: start, name, trainable=False, generator=True)
    array = np.asarray(value)
    if strict and not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"shared(strict=True) takes a NumPy array, got {value!r}")
    if (array.dtype == np.float64 and not isinstance(value, np.ndarray | np.generic)) or allow_downcast:
        array = array.astype(config.floatX) if array.dtype.kind == "f" else array
    dims = (None,) * array.ndim if shape is None else tuple(shape)
    first = array if borrow else np.array(array)
    return _variable(TensorType(array.dtype.name, dims), first, lambda: first, name, trainable=False, borrow=borrow)


@function("variable_of")
def make_variable(
    initializer: Any, name: str = "unnamed", trainable: bool = True, shape: Any = None, dtype: Any = None
) -> Variable:
    """A variable by SymJAX's arguments: its initial value is an array, a tensor, or a function of the shape."""
    name = _distinct(name)
    if callable(initializer) and not isinstance(initializer, Tensor):
        if shape is None:
            raise ValueError(f'Variable "{name}": an initializer that is a function needs shape=')
        dims = tuple(shape)

        def start() -> Any:
            value = initializer(dims)
            return value.eval() if isinstance(value, Tensor) else value
    else:
        fixed = initializer
        if isinstance(fixed, Tensor):
            fixed = value_of(fixed) if is_constant(fixed) else fixed.eval()
        kept = np.array(fixed) if shape is None else np.broadcast_to(np.array(fixed), tuple(shape))

        def start() -> Any:
            return kept

    first = np.asarray(start())
    kind = (
        dtype_name(dtype) if dtype is not None else (config.floatX if first.dtype == np.float64 else first.dtype.name)
    )
    return _variable(
        TensorType(kind, first.shape), first.astype(kind), lambda: np.asarray(start()).astype(kind), name, trainable
    )


def _distinct(name: str) -> str:
    here = current_scope()
    return _free(name, lambda v: v.attrs.get("name") if v.scope == here else None)


def free_scope(kind: str, beside: Sequence[Node] = ()) -> str:
    """A name for a new scope inside the present one: `kind`, or `kind_1` and so on where it is in use.

    It is, where living variables are in that scope, or where the model of a `with` block has variables named after it.
    `beside` are tensors that the caller holds: a scope that they need is there for sure.
    """
    here = current_scope()
    others = [name for names in other_names for name in names()]

    def inner(v: Variable) -> str | None:
        return v.scope[len(here) :].split("/")[0] if v.scope.startswith(here) else None

    def used(scope: str) -> bool:
        return any(name.startswith(flat_name(here + scope) + "_") for name in others)

    return _free(kind, inner, beside, used)


def _free(
    name: str,
    place: Callable[[Variable], str | None],
    beside: Sequence[Node] = (),
    used: Callable[[str], bool] = lambda name: False,
) -> str:
    """The first of `name`, `name_1`, ... that is not used otherwise and where no living variable is placed."""
    taken, doubtful = _taken(name, place, beside)
    # A variable and its update hold each other: those of a program that is gone count no more. A collection takes about
    # a tenth of a second, so one is made for all the names that the block of a scope gives.
    if doubtful and first_in_scope():
        gc.collect()
        taken, _ = _taken(name, place, beside)
    numbered = (f"{name}_{i}" if i else name for i in itertools.count())
    return next(n for n in numbered if n not in taken and not used(n))


def _taken(name: str, place: Callable[[Variable], str | None], beside: Sequence[Node]) -> tuple[set[str], bool]:
    """The places of that name and number, and whether there may be one that only updates keep."""
    alive = [v for ref in _made.valuerefs() if (v := ref()) is not None]
    placed = [(at, v) for v in alive if (at := place(v)) and _is_numbered(at, name)]
    if not placed:
        return set(), False
    needed = set(leaves(list(beside)))
    sure = {at for at, v in placed if v in needed}
    updated = {at for at, v in placed if v.cell.collected_update is not None or v.default_update is not None}
    return {at for at, _ in placed}, bool(updated - sure)


def _is_numbered(place: str, name: str) -> bool:
    stem, _, number = place.rpartition("_")
    return place == name or (stem == name and number.isdigit())


def get_variables(name: str = "*", scope: str = "/", trainable: bool | None = None) -> list[Variable]:
    """Living variables whose name and scope match the globs; "/layer*/w" as a name alone looks in scopes too.

    >>> with ppl.Scope("layer1"):
    ...     w = make_variable(np.zeros(2), "w")
    >>> [v.name for v in get_variables("/layer*/w")]
    ['w']
    """
    variables = [node for node in living() if isinstance(node, Variable)]
    return [v for v in matching(variables, name, scope) if trainable is None or v.trainable == trainable]


@function()
def variables_of(graphs: Any, trainable: bool | None = True) -> list[Variable]:
    """The variables that tensors are computed from, oldest first; trainable or not where None."""
    found = [node for node in leaves(as_nodes(graphs)) if isinstance(node, Variable)]
    return sorted([v for v in found if trainable is None or v.trainable == trainable], key=lambda v: v.serial)


def add_updates(updates: Mapping[Variable, Any]) -> None:
    """Leave updates of variables for whoever collects them with `get_updates` (layers and optimizers do).

    >>> v = ppl.shared(0.0, name="counted")
    >>> ppl.add_updates({v: v + 1})
    >>> len(ppl.get_updates("counted"))
    1
    """
    checked = {variable: fitting_update(variable, value) for variable, value in updates.items()}
    for variable, value in checked.items():
        variable.cell.collected_update = value


def get_updates(
    name: str = "*", scope: str = "/", variables: Iterable[Variable] | None = None
) -> dict[Variable, Tensor]:
    """The updates left by `add_updates`, of matching variables or of the given ones, for `function(updates=...)`.

    >>> v = ppl.shared(0.0, name="updated")
    >>> ppl.add_updates({v: v + 1})
    >>> [u.name for u in ppl.get_updates("updated")]
    ['updated']
    """
    if variables is None:
        gc.collect()  # a variable and its update hold each other: those of programs that are gone may still live
    chosen = get_variables(name, scope) if variables is None else list(variables)
    return {v: v.cell.collected_update for v in chosen if v.cell.collected_update is not None}


def reset_variables(name: str = "*", scope: str = "/", trainable: bool | None = None) -> None:
    """Every matching variable back to its initial value.

    >>> v = ppl.shared(1.0, name="to_reset")
    >>> v.set_value(5.0)
    >>> ppl.reset_variables("to_reset")
    >>> v.get_value().item()
    1.0
    """
    for variable in get_variables(name, scope, trainable):
        variable.reset()


def _keys(variables: Iterable[Variable]) -> dict[str, Variable]:
    keyed: dict[str, Variable] = {}
    for v in variables:
        key = f"{v.scope}{v.name}"
        if v.name is None or key in keyed:
            raise ValueError(f"variables are saved by scope and name, which must be there and distinct: {key!r} is not")
        keyed[key] = v
    return keyed


def save_variables(file: Any, name: str = "*", scope: str = "/", trainable: bool | None = None) -> None:
    """The values of matching variables, into an .npz file of plain arrays.

    >>> import io
    >>> v, file = ppl.shared(2.0, name="to_save"), io.BytesIO()
    >>> ppl.save_variables(file, "to_save")
    >>> file.tell() > 0
    True
    """
    values = {key: v.value for key, v in _keys(get_variables(name, scope, trainable)).items()}
    with _opened(file, "wb") as stream:
        np.savez(stream, **values)  # type: ignore[arg-type]


def load_variables(file: Any, name: str = "*", scope: str = "/", trainable: bool | None = None) -> None:
    """Values back from `save_variables`. Nothing changes unless every matching variable finds a value that fits.

    >>> import io
    >>> v, file = ppl.shared(2.0, name="to_load"), io.BytesIO()
    >>> ppl.save_variables(file, "to_load")
    >>> v.set_value(0.0)
    >>> file.seek(0)
    0
    >>> ppl.load_variables(file, "to_load")
    >>> v.get_value().item()
    2.0
    """
    keyed = _keys(get_variables(name, scope, trainable))
    try:
        with _opened(file, "rb") as stream, np.load(stream, allow_pickle=False) as saved:
            missing = [key for key in keyed if key not in saved]
            if missing:
                raise KeyError(f"the file has no value for {', '.join(missing)}; it holds {', '.join(saved.files)}")
            values = {key: v._fitting(saved[key], copy=True) for key, v in keyed.items()}
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{file!r} is truncated, damaged or not written by save_variables: {error}") from error
    for key, v in keyed.items():
        v.set_value(values[key], borrow=True)


def _opened(file: Any, mode: str) -> Any:
    """A path opened, or an open file left open."""
    return Path(file).open(mode) if isinstance(file, str | Path) else contextlib.nullcontext(file)
