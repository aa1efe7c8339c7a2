"""A model of PyMC as a model of ppl: `from_pymc`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.bridge import (  # noqa: F401  (their tables)
    arrays,
    compounds,
    elementwise,
    equations,
    families,
    indexing,
    loops,
    matrices,
)
from ppl.bridge.checking import check_against
from ppl.bridge.labelled import as_draw, behind, is_labelled, lowered, order_of, turned
from ppl.bridge.reading import NotConvertedError, Reader, as_tensor, is_a, sizes_or_array
from ppl.bridge.transforms import transform_for
from ppl.distributions import RandomVariable
from ppl.distributions.draws.draw import renamed
from ppl.model import context
from ppl.model.inputs.data import Data
from ppl.model.inputs.observing import observe_variable
from ppl.model.log import log
from ppl.model.model import Model
from ppl.model.registry.named import Deterministic, Potential
from ppl.tensor.core.labelled import LabelledDims
from ppl.tensor.tensor import Tensor


def from_pymc(model: Any, *, data: str = "mutable", check: bool = False) -> Model:
    """A model of PyMC as a model of ppl: the same variables by the same names, dims, coords, data and transforms.

    Parameters
    ----------
    model : pymc.Model
        A model of the real PyMC.
    data : {"mutable", "frozen"}, default "mutable"
        Whether Data stay such, or become constants, which lets rewriting use what they are.
    check : bool, default False
        Whether names and the log-density at the starting point are compared with PyMC's, which compiles PyMC's model.

    Returns
    -------
    Model
    """
    if data not in ("mutable", "frozen"):
        raise ValueError(f'from_pymc: data is "mutable" or "frozen", got {data!r}')
    if not is_pymc_model(model):
        raise TypeError(f"from_pymc takes a pymc.Model, got {model!r}")
    with context.outside():
        made = Conversion(model, data == "frozen").made()
    if check:
        check_against(model, made)
    return made


def is_pymc_model(thing: Any) -> bool:
    """Whether something is a model of the real PyMC."""
    return any(c.__module__.split(".")[0] == "pymc" and c.__name__ == "Model" for c in type(thing).__mro__)


def foreign_model(thing: Any) -> Model | None:
    """A model of PyMC converted; without one, that of PyMC's innermost `with` block; None where there is neither."""
    if thing is None:
        pymc = sys.modules.get("pymc")
        thing = pymc.Model.get_context(error_if_none=False) if hasattr(pymc, "Model") else None
    return from_pymc(thing) if is_pymc_model(thing) else None


context.foreign.append(foreign_model)


class Conversion:
    """The work of turning one model into the other, variable by variable in the order in which they were made."""

    def __init__(self, source: Any, frozen: bool) -> None:
        self.source, self.frozen = source, frozen
        self.model = Model()
        self.reader = Reader({})
        held = [*source.named_vars.values(), *source.rvs_to_values.values()]
        self.plain = lowered(held)  # of pymc.dims: variables without named dims
        self.orders: dict[Any, tuple[int, ...]] = {}  # of the axes of draws that are not those of their variables

    def made(self) -> Model:
        source = self.source
        self._dimensions()
        kinds: list[tuple[Iterable[Any], Any]] = [
            (source.data_vars, self._data),
            (source.free_RVs, self._free),
            (source.observed_RVs, self._observed),
            (source.deterministics, self._deterministic),
            (source.potentials, self._potential),
        ]
        work = {variable: enter for variables, enter in kinds for variable in variables}
        for name, variable in source.named_vars.items():
            self.reader.about = name
            if variable in work:
                work.pop(variable)(variable, name)
        for variable, enter in work.items():
            self.reader.about = variable.name
            enter(variable, variable.name)
        self.tell()
        return self.model

    # --- dimensions -------------------------------------------------------------------------------------------------
    def _dimensions(self) -> None:
        """Labels and lengths that are known from the beginning."""
        for name, length in self.source.dim_lengths.items():
            labels = self.source.coords.get(name)
            if labels is not None:
                self.model.add_coord(name, labels)
            elif hasattr(length, "get_value") or hasattr(length, "data"):
                self.model.add_coord(name, length=int(np.asarray(self.reader._root(length))))
        self.reader.shared_constants.clear()
        self._lengths()

    def _lengths(self) -> None:
        """What the lengths of dimensions are, which Data may decide from now on."""
        for name, length in self.source.dim_lengths.items():
            if name in self.model._dim_lengths and length.owner is None:
                known = sizes_or_array([self.model._dim_lengths[name]])
                self.reader.known[length] = known[0] if isinstance(known[0], Tensor) else np.asarray(known[0])

    def _dims(self, variable: Any, name: str) -> Any:
        """The dims of a variable; dimensions that it brings get their length."""
        dims = self.source.named_vars_to_dims.get(name)
        if dims is None:
            return LabelledDims() if is_labelled(variable) else None
        for dim in dims:
            if dim is not None and dim not in self.model._dim_lengths:
                length = self.reader.read(self.source.dim_lengths[dim])
                self.model.add_coord(dim, length=length if isinstance(length, Tensor) else int(length))
        order = self.orders.get(variable, range(len(dims)))
        return (LabelledDims if is_labelled(variable) else tuple)(dims[order.index(i)] for i in range(len(dims)))

    # --- variables --------------------------------------------------------------------------------------------------
    def _data(self, variable: Any, name: str) -> None:
        value = variable.get_value() if hasattr(variable, "get_value") else variable.data
        if self.frozen:
            self.reader.known[variable] = np.asarray(value)
            return
        dims = self.source.named_vars_to_dims.get(name)
        dims = LabelledDims(dims or ()) if is_labelled(variable) else dims
        self.reader.known[variable] = Data(name, value, dims=dims, model=self.model)
        self._lengths()

    def _free(self, variable: Any, name: str) -> None:
        rv = self._draw(variable, name)
        transform = transform_for(self.reader, self.source.rvs_to_transforms[variable], variable, rv)
        self._enter(variable, rv)
        dims = self._dims(variable, name)
        self.model.add_free(rv, dims, default_transform_=transform, initval=self._initial(variable))

    def _initial(self, variable: Any) -> Any:
        given = self.source.rvs_to_initial_values.get(variable)
        if variable in self.orders and np.ndim(given) == len(self.orders[variable]):
            return np.transpose(given, self._inverse(variable))
        return self.reader.read(given) if hasattr(given, "owner") else given

    def _plain(self, variable: Any) -> Any:
        """The variable that is read for one of the model."""
        return self.plain.get(variable, variable)

    def _inverse(self, variable: Any) -> tuple[int, ...]:
        """Which axis of a variable each axis of its draw is."""
        order = self.orders[variable]
        return tuple(order.index(i) for i in range(len(order)))

    def _observed(self, variable: Any, name: str) -> None:
        rv = self._draw(variable, name)
        value = self.reader.read(self._plain(self.source.rvs_to_values[variable]))
        if variable in self.orders:
            value = tt.transpose(as_tensor(value), self._inverse(variable))
        self._enter(variable, rv)
        dims = self._dims(variable, name)
        observe_variable(self.model, rv, value, dims, self._total_size(variable), {})

    def _total_size(self, variable: Any) -> Any:
        """How many rows a minibatch stands for, an entry an axis."""
        if variable.owner is None or not is_a(variable.owner.op, "MinibatchRandomVariable"):
            return None
        sizes = [self.reader.read(n) for n in variable.owner.inputs[1:]]
        return [n if n is None or isinstance(n, Tensor) else int(n) for n in sizes] or None

    def _draw(self, variable: Any, name: str) -> RandomVariable:
        found = as_draw(self.reader.read(behind(self._plain(variable))[-1]))
        if not isinstance(found, RandomVariable):
            raise NotConvertedError(f'"{name}" cannot be taken over from PyMC: {variable.owner.op} is no draw in ppl.')
        order = order_of(self._plain(variable))
        in_order = found if order is None else turned(found, order)
        if in_order is None:
            self.orders[variable], in_order = order, found  # type: ignore[assignment]
        return in_order if in_order.name == name else renamed(in_order, name)

    def _enter(self, variable: Any, rv: RandomVariable) -> None:
        """The variable is this draw wherever it is used."""
        chain = behind(self._plain(variable))
        for each in chain:
            self.reader.known.pop(each, None)
        order = None if variable in self.orders else order_of(chain[0])
        back = None if order is None else tuple(order.index(i) for i in range(len(order)))
        self.reader.known[chain[-1]] = rv if back is None else tt.transpose(rv, back)
        self.reader.known[variable] = self.reader.read(chain[0])

    def _deterministic(self, variable: Any, name: str) -> None:
        value = self.reader.tensor(self._plain(variable))
        dims = self._fitting(name, value, self._dims(variable, name))
        self._is(variable, Deterministic(name, value, dims=dims, model=self.model))

    def _fitting(self, name: str, value: Tensor, dims: Any) -> Any:
        """The dims of an expression without those of another length, which PyMC does not look at."""
        if dims is None:
            return None
        if len(dims) != value.ndim:
            log.info(f'from_pymc: "{name}" has {value.ndim} axes, but the dims {dims}; they are left out.')
            return None
        lengths = [None if dim is None else self.model.present_length(dim) for dim in dims]
        wrong = [None not in (m, n) and m != n for m, n in zip(lengths, value.type.shape, strict=True)]
        if any(wrong):
            log.info(f'from_pymc: "{name}" has the shape {value.type.shape}, which does not fit its dims {dims}.')
        return type(dims)(None if bad else dim for dim, bad in zip(dims, wrong, strict=True))

    def _potential(self, variable: Any, name: str) -> None:
        value = self.reader.tensor(self._plain(variable))
        self._is(variable, Potential(name, value, dims=self._dims(variable, name), model=self.model))

    def _is(self, variable: Any, found: Tensor) -> None:
        """What a variable is from now on, wherever it is read."""
        self.reader.known[variable] = self.reader.known[self._plain(variable)] = found

    def tell(self) -> None:
        """Say once which shared variables became constants."""
        names = sorted(set(self.reader.shared_constants))
        if names:
            log.info(
                f"from_pymc: {', '.join(names)} {'is' if len(names) == 1 else 'are'} shared but no Data of the model, "
                "and taken as constant. Make it pm.Data to change it later."
            )
