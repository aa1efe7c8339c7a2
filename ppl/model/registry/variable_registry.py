"""The books of a model: random variables with their names, what is observed, dimensions and coordinates.

What follows from the books is computed elsewhere: the density in `density`, starting points in `point`, draws in
`sampling` and `predictive`. `Model` (in `model`) brings them together.
"""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from ppl.distributions import RandomVariable
from ppl.distributions.declaration.inner import laws_in_density
from ppl.distributions.families.mixture import warn_of_no_transform
from ppl.distributions.log_probability.measure import sources
from ppl.distributions.transforms import Chain, Transform, default_transform
from ppl.distributions.transforms.images import check_transform
from ppl.graph import NodeDict
from ppl.graph.pickling import in_order, nodes_in, standing_for
from ppl.model import context
from ppl.model.posterior.starts import check_start
from ppl.model.registry.dimensions import dims_of, labels_of, refuse_own_dimension, same_labels, warn_of_twins
from ppl.model.registry.own_lists import Book, Tensors
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.sources.source_rows import source_of
from ppl.tensor.core.labelled import LabelledDims
from ppl.tensor.core.names import named
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, is_constant, placeholder, value_of
from ppl.tensor.variables import Variable
from ppl.xtensor.type import as_xtensor

UNSET: Any = type("Unset", (), {"__repr__": lambda self: "UNSET", "__bool__": lambda self: False})()
RESERVED = ("chain", "draw", "__sample__")


_homes: NodeDict[weakref.ref[Books]] = NodeDict()


def home_of(var: Tensor) -> Books | None:
    """The model that has a variable, the last one where several have; None for other tensors."""
    known = _homes.get(var)
    return None if known is None else known()


class _MadeInItsBlock(type):
    """A model's `__init__` runs inside the model's own block, so that a class of models makes its variables there."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """What a model is made with, for `help` and editors."""
        made = inspect.signature(cls.__init__)
        return made.replace(parameters=list(made.parameters.values())[1:], return_annotation=made.empty)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        made = cls.__new__(cls)
        with made:
            made.__init__(*args, **options)
        return made


class Books(metaclass=_MadeInItsBlock):
    """Names, dimensions and values of a model, and the `with` block that says which model is meant."""

    last_posterior: Any = None  # what was rewritten last, with what it was made from; see rewriting
    _not_pickled: ClassVar[frozenset[str]] = frozenset(
        {"last_posterior", "_entered"}
    )  # what a model can work out again

    def __init__(
        self,
        name: str = "",
        coords: Mapping[str, Any] | None = None,
        check_bounds: bool = True,
        *,
        coords_mutable: Mapping[str, Any] | None = None,  # of earlier versions of PyMC; all coords may change
        model: Any = UNSET,
    ) -> None:
        refuse_open_name(name)
        self.name = name
        self.check_bounds = check_bounds
        self.parent: Books | None = context.around(self) if model is UNSET else model
        around = lambda book: getattr(self.parent, book, None)
        self.named_vars: Book[str, Tensor] = Book(around("named_vars"))
        self.named_vars_to_dims: Book[str, tuple[str | None, ...]] = Book(around("named_vars_to_dims"))
        self.free_RVs = Tensors(outer=around("free_RVs"))
        self.observed_RVs = Tensors(outer=around("observed_RVs"))
        self.deterministics = Tensors(outer=around("deterministics"))
        self.potentials = Tensors(outer=around("potentials"))
        self.data_vars: list[Variable] = Tensors(outer=around("data_vars"))  # type: ignore[assignment,arg-type]
        self.rvs_to_values: Book[Tensor, Tensor] = Book(around("rvs_to_values"))
        self.rvs_to_transforms: Book[Tensor, Transform | None] = Book(around("rvs_to_transforms"))
        self.rvs_to_initial_values: Book[Tensor, Any] = Book(around("rvs_to_initial_values"))
        self.rvs_to_total_sizes: Book[Tensor, Any] = Book(around("rvs_to_total_sizes"))
        self.doubtful = Tensors(outer=around("doubtful"))  # observed variables whose density was told to be 0 or nan
        self.read_once: Book[str, str] = Book(around("read_once"))  # observed rows that are not kept, and what is
        self.processes = Tensors(outer=around("processes"))  # observed vectors whose entries are points of a process
        # Dimensions belong to all models of a tree.
        self._coords: dict[str, tuple[Any, ...] | None] = self.parent._coords if self.parent else {}
        self._dim_lengths: dict[str, Any] = self.parent._dim_lengths if self.parent else {}  # an int, or a symbol
        if coords or coords_mutable:
            self.add_coords({**(coords or {}), **(coords_mutable or {})})

    # --- pickles ----------------------------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        """All but what can be worked out again; the nodes first, from the oldest on, so that they keep their order."""
        rest = {name: value for name, value in self.__dict__.items() if name not in self._not_pickled}
        books = {name: rest.pop(name) for name, value in [*rest.items()] if isinstance(value, Book | Tensors)}
        written = {name: standing_for(book) for name, book in books.items()}
        return {"nodes": in_order(nodes_in(list(books.values()))), "books": written, "rest": rest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["rest"])
        for name, content in state["books"].items():
            outer = getattr(self.parent, name, None)
            if isinstance(content, dict):
                book: Any = Book(outer)
                dict.update(book, content)
            else:
                book = Tensors(content, outer=outer)
            self.__dict__[name] = book
        for var in self.named_vars.values():
            if self.parent is None or home_of(var) is None:
                _homes[var] = weakref.ref(self)

    # --- blocks -----------------------------------------------------------------------------------------------------
    def __enter__(self: Self) -> Self:
        context.push(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context.pop()

    @classmethod
    def get_context(cls, error_if_none: bool = True) -> Any:
        """The model of the innermost block."""
        found = context.current_model()
        if found is None and error_if_none:
            return context.modelcontext(None)
        return found

    @property
    def root(self) -> Books:
        """The outermost model."""
        return self if self.parent is None else self.parent.root

    @property
    def isroot(self) -> bool:
        return self.parent is None

    @property
    def prefix(self) -> str:
        """What stands before the names of this model's variables."""
        if self.parent is None or not self.parent.prefix:
            return self.name
        return f"{self.parent.prefix}::{self.name}" if self.name else self.parent.prefix

    def name_for(self, name: str) -> str:
        """The full name of a variable."""
        return f"{self.prefix}::{name}" if self.prefix and not name.startswith(f"{self.prefix}::") else name

    def name_of(self, name: str) -> str:
        """The name without the model's prefix."""
        start = f"{self.prefix}::"
        return name[len(start) :] if self.prefix and name.startswith(start) else name

    # --- dimensions -------------------------------------------------------------------------------------------------
    @property
    def coords(self) -> dict[str, tuple[Any, ...] | None]:
        """The labels along each dimension."""
        return self._coords

    @property
    def dim_lengths(self) -> dict[str, Any]:
        """The length of each dimension as a scalar tensor: a constant, or a function of the data that decide it."""
        return {name: as_tensor(length) for name, length in self._dim_lengths.items()}

    def add_coord(self, name: str, values: Any = None, *, length: Any = None, mutable: bool | None = None) -> None:
        """Declare a dimension by its labels, or by its length alone."""
        if name in RESERVED:
            raise ValueError(
                f"Dimensions can not be named {', '.join(RESERVED)}: results use these names, got {name!r}"
            )
        if values is None and length is None:
            raise ValueError(f"dimension {name!r} needs its values or its length")
        labels = None if values is None else labels_of(name, values)
        if name in self._coords:
            known = self._coords[name]
            if labels is not None and known is not None and not same_labels(labels, known):
                raise ValueError(f"Duplicate and incompatible coordinate: {name!r} is {known} and shall be {labels}")
            wanted, now = length if labels is None else len(labels), self.present_length(name)
            if isinstance(wanted, int) and now is not None and wanted != now:
                raise ValueError(f"dimension {name!r} has length {now} already, and shall have length {wanted}")
            if known is None:
                self._coords[name] = labels
            return
        if labels is not None and isinstance(length, int) and length != len(labels):
            raise ValueError(f"dimension {name!r} has {len(labels)} labels, but length {length}")
        if labels is not None:
            warn_of_twins(name, labels)
        self._coords[name] = labels
        self._dim_lengths[name] = len(labels) if length is None else length  # type: ignore[arg-type]

    def present_length(self, name: str) -> int | None:
        """How long a dimension is now, where the model knows it."""
        length = self._dim_lengths.get(name)
        if isinstance(length, Tensor):
            (length,) = at_present_sizes([length], {})
            return int(value_of(length)) if is_constant(length) else None
        return length

    def add_coords(self, coords: Mapping[str, Any] | None, *, lengths: Mapping[str, Any] | None = None) -> None:
        """Declare several dimensions; none where there are no coords."""
        if coords is None:
            return
        if not isinstance(coords, Mapping):
            raise TypeError(f"coords is a dict from dimension to labels, got {coords!r}")
        for name, values in coords.items():
            self.add_coord(name, values, length=(lengths or {}).get(name))

    def shape_from_dims(self, dims: Any) -> tuple[Any, ...]:
        """The lengths of dimensions."""
        names = dims_of("shape_from_dims", dims) or ()
        unknown = [d for d in names if d is not None and d not in self._dim_lengths]
        if unknown:
            known = ", ".join(self._dim_lengths) or "none"
            raise KeyError(
                f"Dimensions {set(unknown)} are unknown to the model and cannot be used to specify a shape. "
                f"Known: {known}. Declare them: Model(coords={{{unknown[0]!r}: [...]}})."
            )
        return tuple(self._dim_lengths[d] for d in names)

    # --- registering ------------------------------------------------------------------------------------------------
    def check_name(self, name: str) -> str:
        """The full name, where it may be used."""
        if not isinstance(name, str):
            raise TypeError(
                f"a variable needs a string as its name, got {name!r}. For a draw without a name use .dist(...)"
            )
        refuse_open_name(name)
        full = self.name_for(name)
        if not name or "/" in name:
            raise ValueError(f"a variable's name is not empty and has no '/': {name!r}")
        if full in RESERVED:
            raise ValueError(f"a variable can not be named {full!r}: results use that name. Call it, say, {full}_1.")
        if full in self.root.named_vars:
            raise ValueError(f"Variable name {full} already exists. Give each variable of a model a name of its own.")
        return full

    def add_named_variable(self, var: Tensor, dims: Any = None, name: str | None = None) -> None:
        """Enter a tensor into the books under its name, with its dimensions."""
        key = name or var.name
        if key is None:
            raise ValueError("add_named_variable: the tensor has no name; give name=, or make it by pm.Deterministic")
        if key in self.root.named_vars:
            raise ValueError(f"Variable name {key} already exists.")
        if (source := source_of([var])) is not None:
            raise ValueError(
                f'"{key}" is made of columns of {source!r}, whose rows are read once and not kept: use them in the'
                " parameters and the values of an observed variable only"
            )
        if dims is not None:
            self.named_vars_to_dims[key] = self._checked_dims(key, var, dims)
        self.named_vars[key] = var
        _homes[var] = weakref.ref(self)

    def _checked_dims(self, name: str, var: Tensor, dims: Any) -> tuple[str | None, ...]:
        names = dims_of(name, dims)
        assert names is not None, "only dims that were given are checked"
        if len(names) != var.ndim:
            raise ValueError(f"{name} has {var.ndim} axes, shape {var.type.shape}, but {len(names)} dims: {names}")
        for axis, (dim, length) in enumerate(zip(names, var.type.shape, strict=True)):
            if dim is None:
                continue
            if not isinstance(dim, str):
                raise TypeError(f"{name}: dims are strings, got {dim!r}")
            refuse_own_dimension(name, dim)
            if dim not in self._dim_lengths:
                raise ValueError(f"Dimension {dim!r} of {name} is not specified in `coords`.")
            known = self.present_length(dim)
            if known is not None and length is not None and known != length:
                warnings.warn(
                    f'"{name}": axis {axis} has length {length}, but dimension {dim!r} has length {known}. It is made '
                    f"with {length}; results call this axis {name}_dim_{axis} where they have others along {dim!r}.",
                    UserWarning,
                    stacklevel=6,
                )
        return names

    def add_dims_of(self, var: Tensor, dims: Any) -> None:
        """Declare the dimensions that a variable brings: the model does not know them, and its shape was given."""
        lengths = var.shape if None in var.type.shape else var.type.shape
        for dim, length in zip(dims or (), lengths, strict=False):
            if isinstance(dim, str) and dim not in self._dim_lengths:
                self.add_coord(dim, length=length)

    def add_free(
        self, rv: Tensor, dims: Any = None, transform: Any = UNSET, default_transform_: Any = UNSET, initval: Any = None
    ) -> None:
        """Enter a random variable that is to be sampled."""
        chosen = _transform_for(rv, transform, default_transform_)
        check_start(rv, initval)
        self.enter_free(rv, chosen, dims, initval)

    def enter_free(self, rv: Tensor, transform: Transform | None, dims: Any = None, initval: Any = None) -> None:
        """Enter a random variable that is to be sampled, by a transform that suits it."""
        check_transform(rv, transform)
        self.add_named_variable(rv, dims)
        self.free_RVs.append(rv)
        self.rvs_to_transforms[rv] = transform
        self.rvs_to_values[rv] = self.create_value_var(rv, transform)
        self.rvs_to_initial_values[rv] = initval

    def create_value_var(self, rv: Tensor, transform: Transform | None) -> Tensor:
        """The input that stands for the unconstrained value of a random variable."""
        if transform is None:
            return placeholder(TensorType(rv.dtype, rv.type.shape), rv.name)
        inputs = rv.parameters if isinstance(rv, RandomVariable) else ()
        kind = transform.forward(rv, *inputs).type
        return placeholder(TensorType(rv.dtype, kind.shape), f"{rv.name}_{transform.name}__")

    def add_observed(self, rv: Tensor, value: Tensor, dims: Any = None, total_size: Any = None) -> None:
        """Enter a random variable whose value is known."""
        self.add_named_variable(rv, dims)
        self.observed_RVs.append(rv)
        self.rvs_to_values[rv] = named(value, rv.name or "") if is_constant(value) else value
        self.rvs_to_transforms[rv] = None
        if total_size is not None:
            self.rvs_to_total_sizes[rv] = total_size

    # --- what is in the books ---------------------------------------------------------------------------------------
    @property
    def basic_RVs(self) -> list[Tensor]:
        """Free and observed random variables."""
        return Tensors([*self.free_RVs, *self.observed_RVs])

    @property
    def unobserved_RVs(self) -> list[Tensor]:
        """Free random variables and deterministics."""
        return Tensors([*self.free_RVs, *self.deterministics])

    def observed_RVs_set(self) -> frozenset[Tensor]:
        """The observed random variables, for looking up."""
        return frozenset(self.observed_RVs)

    @property
    def value_vars(self) -> list[Tensor]:
        """The unconstrained inputs of the density, one a free random variable."""
        return Tensors(self.rvs_to_values[rv] for rv in self.free_RVs)

    @property
    def values_to_rvs(self) -> dict[Tensor, Tensor]:
        """From value to random variable."""
        return {value: rv for rv, value in self.rvs_to_values.items()}

    @property
    def continuous_value_vars(self) -> list[Tensor]:
        """Values that a gradient can move."""
        return Tensors(v for v in self.value_vars if v.dtype[0] == "f")

    @property
    def discrete_value_vars(self) -> list[Tensor]:
        """Values that only step."""
        return Tensors(v for v in self.value_vars if v.dtype[0] != "f")

    def check_whole(self) -> None:
        """Refuse to work on densities that depend on draws which are no variables of the model."""
        variables = (*self.basic_RVs, *self.potentials, *self.deterministics)
        strangers = sources(variables, laws_in_density) - set(self.basic_RVs)
        around = set(self.root.basic_RVs)
        for var in variables if strangers else ():
            found = strangers & sources(var, laws_in_density)
            if self.parent is not None and found & around:
                names = ", ".join(sorted(str(rv.name) for rv in found & around))
                raise ValueError(
                    f'"{var.name}" of the model "{self.prefix}" depends on {names} of the model around it, '
                    "so that it has no density of its own: work on the outermost model, `.root` of this one."
                )
            for rv in found if var not in self.deterministics else ():
                raise ValueError(_stranger(var, rv))

    def variable(self, key: str) -> Tensor:
        """The variable of a name, as it stands in the graph."""
        full = self.name_for(key)
        if full in self.named_vars:
            return self.named_vars[full]
        if key in self.named_vars:
            return self.named_vars[key]
        around = " itself; the model around it has one" if key in self.root.named_vars else ""
        raise KeyError(f"the model has no variable {key!r}{around}; it has {', '.join(self.named_vars) or 'none'}")

    def __getitem__(self, key: str) -> Any:
        found = self.variable(key)
        dims = self.named_vars_to_dims.get(found.name or "")
        return as_xtensor(found, dims) if isinstance(dims, LabelledDims) else found

    def __contains__(self, key: str) -> bool:
        return key in self.named_vars or self.name_for(key) in self.named_vars


def _stranger(var: Tensor, rv: RandomVariable) -> str:
    """What to say of a variable that depends on a draw which is no variable of the model."""
    if rv.name is None:
        what = f"on a {rv.family.__name__} draw without a name, so that its density is an integral"
        return f'"{var.name}" depends {what}. Make the draw a variable: {rv.family.__name__}("name", ...) in the model.'
    return f'"{var.name}" depends on "{rv.name}", which is a variable of another model. Make both in one model.'


def refuse_open_name(name: str) -> None:
    """Names of models and variables are joined by '::', so none ends in one."""
    if name.endswith(":"):
        raise KeyError(f"a name does not end in ':', which joins the names of models and variables: {name!r}")


def _transform_for(rv: Tensor, transform: Any, default: Any) -> Transform | None:
    """The transform of a free variable: none for counts; the user's after the default one; the one of its support."""
    for name, given in (("transform", transform), ("default_transform", default)):
        if given is not UNSET and given is not None and not callable(getattr(given, "backward", None)):
            raise TypeError(
                f'"{rv.name}": {name} is a transform, such as pm.distributions.transforms.log; got {given!r}'
            )
    if transform is None:
        text = (
            f'"{rv.name}": for no transform write default_transform=None; transform= is for one after the default one'
        )
        warnings.warn(text, UserWarning, stacklevel=7)
    if default is UNSET:
        default = _usual(rv, warned=transform is UNSET)
    if transform is UNSET or transform is None:
        return default if transform is UNSET else None
    return transform if default is None else Chain([default, transform])


def _usual(rv: Tensor, warned: bool) -> Transform | None:
    """The transform of a variable's family."""
    if not isinstance(rv, RandomVariable) or rv.dtype[0] != "f":
        return None
    if warned:
        warn_of_no_transform(rv)
    return default_transform(rv.family, rv.parameters)
