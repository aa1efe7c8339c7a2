"""Models from models: interventions, observations, other transforms, frozen data, copies.

All are one walk over the named variables of a model, in the order in which they were made, that enters each, changed or
not, into the books of a new model.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import DRAW, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.distributions.transforms import Transform
from ppl.graph import Node, ancestors, substitute
from ppl.model.errors import ShapeError
from ppl.model.inputs.data_values import value_now
from ppl.model.inputs.observed import as_data
from ppl.model.inputs.observing import observe_variable
from ppl.model.model import Model
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.tensor.core.names import NAMED, named
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, known_as, value_of
from ppl.tensor.variables import Variable, shared


class _Rebuilding:
    """The new model while it is made, and what stands for each node of the old one."""

    def __init__(self, old: Books) -> None:
        self.old, self.new = old, Model(old.name, check_bounds=old.check_bounds, model=None)
        self.done: dict[Node, Node] = {}

    def at(self, node: Any) -> Any:
        return substitute(node, self.done)

    def dims(self, name: str) -> Any:
        return self.old.named_vars_to_dims.get(name)

    def dimensions(self) -> None:
        for name, labels in self.old.coords.items():
            length = self.old._dim_lengths[name]
            if isinstance(length, Tensor):
                kept = ancestors([length]).isdisjoint(v for v in self.old.data_vars if v not in self.done)
                length = self.at(length) if kept else self.old.present_length(name)
            self.new.add_coord(name, labels, length=length)

    def data(self, var: Variable, frozen: bool) -> None:
        if frozen:
            self.done[var] = known_as(var.name or "", var.get_value())
            self.fixed(self.done[var], var.name or "")
            return
        fresh = shared(var.get_value(), var.name)
        self.done[var] = fresh
        self.new.data_vars.append(fresh)
        self._enter(fresh, var.name or "")

    def _enter(self, fresh: Tensor, name: str, dims: Any = None) -> None:
        """Enter data by name, with their dimensions."""
        dims = dims or self.dims(name)
        self.new.named_vars[name] = fresh
        if dims is not None:
            self.new.named_vars_to_dims[name] = dims

    def fixed(self, constant: Any, name: str) -> None:
        """A constant with a name: what was Data is still found by it, and shown in results."""
        self._enter(constant, name)

    def free(self, var: RandomVariable, transform: Transform | None) -> None:
        fresh, initval = self._draw(var), self.old.rvs_to_initial_values[var]
        initval = self.at(initval) if isinstance(initval, Tensor) else initval
        self.new.enter_free(fresh, transform, self.dims(var.name or ""), initval)

    def observed(self, var: RandomVariable) -> None:
        fresh = self._draw(var)
        self.new.add_observed(fresh, self.at(self.old.rvs_to_values[var]), self.dims(var.name or ""))
        if var in self.old.rvs_to_total_sizes:
            self.new.rvs_to_total_sizes[fresh] = self.old.rvs_to_total_sizes[var]

    def observe(self, var: RandomVariable, value: Any) -> None:
        name = var.name or ""
        data = as_data(value, name, var.family.__name__)
        self.done[var] = observe_variable(self.new, self._draw(var), data, self.dims(name), None, {})

    def _draw(self, var: RandomVariable) -> RandomVariable:
        inputs = self.at(list(var.inputs))
        parameters, sizes = inputs[: len(var.parameters)], inputs[len(var.parameters) :]
        known = [value_now(size, data=False) for size in sizes]
        fresh: RandomVariable
        if sizes and all(n is not None for n in known):  # lengths that data decided, and these are constants now
            rest = iter(known)
            lengths = tuple(int(next(rest)) if n is None else n for n in var.attrs["size"])  # type: ignore[call-overload]
            fresh = draw(var.family, parameters, lengths, var.name)
        else:
            fresh = Node(DRAW, tuple(inputs), var.attrs)  # type: ignore[assignment]
        self.done[var] = fresh
        return fresh

    def expression(self, var: Tensor, book: list[Tensor]) -> None:
        fresh: Tensor = Node(NAMED, (self.at(var.inputs[0]),), var.attrs)  # type: ignore[assignment]
        self.done[var] = fresh
        self.new.add_named_variable(fresh, self.dims(var.name or ""))
        book.append(fresh)

    def intervene(self, var: Tensor, value: Any, as_data_variable: bool) -> None:
        name = var.name or ""
        if isinstance(value, Tensor) and not is_constant(value):
            name = f"do_{name}" if refers(value, var) else name
            fresh = named(_fitted(self.at(var), self.at(value), var), name)
        else:
            (now,) = at_present_sizes([self.at(var)], {})
            array = _intervention(var, now.type.shape, value_of(value) if isinstance(value, Tensor) else value)
            was_data = is_constant(var) or isinstance(var, Variable)
            fixed = known_as(name, array) if was_data else named(as_tensor(array), name)
            fresh = shared(array, name) if as_data_variable else fixed
        self.done[var] = fresh
        if name in self.new.named_vars:
            raise ValueError(f'do: the model has a variable "{name}" already, and "{var.name}" shall be called so')
        self._enter(fresh, name, self.dims(var.name or ""))
        if isinstance(fresh, Variable):
            self.new.data_vars.append(fresh)
        elif not is_constant(fresh):
            self.new.deterministics.append(fresh)


def refers(value: Tensor, var: Tensor) -> bool:
    """Whether an intervention is written with the very variable that it is for."""
    return var in ancestors([value])


def _fitted(var: Tensor, value: Tensor, asked: Tensor) -> Tensor:
    """An expression that a variable is set to, of its shape and dtype; what these would change is refused."""
    have, want = value.type.shape, var.type.shape
    padded = (*(1,) * (len(want) - len(have)), *have)
    if len(have) > len(want) or any(
        None not in pair and pair[0] not in (1, pair[1]) for pair in zip(padded, want, strict=True)
    ):
        raise ShapeError(
            f'do: "{asked.name}" has shape {_told(want)}, and shall be set to an expression of shape {_told(have)}'
        )
    if var.dtype[0] != "f" and not np.can_cast(value.dtype, var.dtype, "same_kind"):
        raise TypeError(f'do: "{asked.name}" is {var.dtype}, and shall be set to an expression of {value.dtype}')
    spread = any(m == 1 and n != 1 for m, n in zip(padded, want, strict=True))
    value = tt.broadcast_to(value, var.shape) if spread else value
    return value if value.dtype == var.dtype else tt.cast(value, var.dtype)


def _told(shape: tuple[int | None, ...]) -> str:
    return str(shape).replace("None", "?")


def _intervention(var: Tensor, known: tuple[int | None, ...], value: Any) -> np.ndarray:
    """The value that a variable is set to, in its present shape and its dtype; what these would change is refused."""
    array = np.asarray(value)
    lengths = (*(1,) * (len(known) - array.ndim), *array.shape)
    fits = len(lengths) == len(known) and all(n is None or m in (1, n) for n, m in zip(known, lengths, strict=True))
    if not fits:
        follow = "" if known == var.type.shape else " Its shape follows from data: set these first, by set_data."
        text = f'do: "{var.name}" has shape {known}, and shall be set to a value of shape {array.shape}.{follow}'
        raise ShapeError(text)
    if var.dtype[0] != "f" and not np.array_equal(array, array.astype(var.dtype)):
        raise TypeError(f'do: "{var.name}" is {var.dtype}, and shall be set to {value!r}: give whole numbers')
    shape = [m if n is None else n for n, m in zip(known, lengths, strict=True)]
    return np.broadcast_to(array, shape).astype(var.dtype)


def rebuilt(
    model: Books,
    *,
    interventions: Mapping[Tensor, Any] | None = None,
    observations: Mapping[Tensor, Any] | None = None,
    transforms: Mapping[Tensor, Transform | None] | None = None,
    frozen: Sequence[str] = (),
    as_data_variables: bool = True,
    left_out: frozenset[str] = frozenset(),
) -> Model:
    """A new model like `model`, with some of its variables changed."""
    walk = _Rebuilding(model)
    done, seen, bent = interventions or {}, observations or {}, transforms or {}
    for var in model.data_vars:
        value = done.get(var)
        if var in done and not _is_expression(value):
            walk.intervene(var, value, as_data_variables and var.name not in frozen)
        elif var.name not in left_out and (var not in done or refers(value, var)):
            walk.data(var, var.name in frozen)
    walk.dimensions()
    for name in _order(model, done):
        var = model.named_vars[name]
        if name in left_out or (isinstance(var, Variable) and not _is_expression(done.get(var))):
            continue
        if var in done and not (_is_expression(done[var]) and refers(done[var], var)):
            walk.intervene(var, done[var], as_data_variables)
            continue
        if isinstance(var, Variable):
            pass  # entered with the data
        elif not isinstance(var, RandomVariable):
            if any(var is d for d in model.deterministics):
                walk.expression(var, walk.new.deterministics)
            elif any(var is p for p in model.potentials):
                walk.expression(var, walk.new.potentials)
            else:
                walk.fixed(var, name)
        elif var in seen:
            walk.observe(var, seen[var])
        elif any(var is rv for rv in model.observed_RVs):
            walk.observed(var)
        else:
            walk.free(var, bent.get(var, model.rvs_to_transforms[var]))
        if var in done:
            walk.intervene(var, done[var], as_data_variables)
    return walk.new


def _is_expression(value: Any) -> bool:
    return isinstance(value, Tensor) and not is_constant(value)


def _order(model: Books, interventions: Mapping[Tensor, Any]) -> list[str]:
    """The names of a model, each after those that it depends on, also by what it shall be set to."""
    order: dict[str, None] = {}
    behind = {v: ancestors([value]) for v, value in interventions.items() if _is_expression(value)}

    def enter(name: str, opened: tuple[str, ...]) -> None:
        if name in order:
            return
        var = model.named_vars[name]
        for other, v in model.named_vars.items() if var in behind else ():
            if v is not var and v in behind[var]:
                if other in opened or var in ancestors([v]):
                    raise ValueError(
                        f'do: "{name}" shall be set to an expression of "{other}", which depends on "{name}" itself'
                    )
                enter(other, (*opened, name))
        order[name] = None

    for name in model.named_vars:
        enter(name, ())
    return list(order)


def _variables(model: Books, chosen: Mapping[Any, Any], what: str) -> dict[Tensor, Any]:
    found: dict[Tensor, Any] = {}
    for key, value in chosen.items():
        var = model[key] if isinstance(key, str) else key
        if not any(var is each for each in model.named_vars.values()):
            raise ValueError(f"{what}: {var!r} is no variable of the model")
        found[var] = value
    return found


def do(
    model: Books,
    vars_to_interventions: Mapping[Any, Any],
    *,
    make_interventions_shared: bool = True,
    prune_vars: bool = False,
) -> Model:
    """The model in which some variables or data are set from outside: what they depended on has no influence on them
    any more. What is set to an expression of itself stays, and others use `do_` and its name in its place.

    Interventions become Data, or fixed values with `make_interventions_shared=False`; `prune_vars` leaves out variables
    that no observed variable and no potential needs.
    """
    chosen = _variables(model, vars_to_interventions, "do")
    for var in chosen:
        if any(var is p for p in model.potentials):
            raise ValueError(
                f"do: {var.name!r} is a potential; intervene on a random variable, a deterministic or data"
            )
    left_out: frozenset[str] = frozenset()
    if prune_vars:
        seen = [rv for rv in model.observed_RVs if rv not in chosen]
        needed = ancestors([*model.potentials, *seen, *(model.rvs_to_values[rv] for rv in seen)], blockers=chosen)
        needed |= ancestors([value for var, value in chosen.items() if var in needed and _is_expression(value)])
        left_out = frozenset(name for name, v in model.named_vars.items() if v not in needed)
    made = rebuilt(model, interventions=chosen, as_data_variables=make_interventions_shared, left_out=left_out)
    for var, value in chosen.items():
        if _is_expression(value) and refers(value, var):
            warnings.warn(
                f"Intervention expression references the variable that is being intervened: {var.name}. It is called "
                f"do_{var.name}, and {var.name} stays as it is.",
                UserWarning,
                stacklevel=2,
            )
    return made


def observe(model: Books, vars_to_observations: Mapping[Any, Any]) -> Model:
    """The model in which some free variables are observed."""
    chosen = _variables(model, vars_to_observations, "observe")
    for var in chosen:
        if not any(var is rv for rv in model.free_RVs):
            raise ValueError(f"observe: {var.name!r} is no free random variable of the model")
    return rebuilt(model, observations=chosen)


def clone_model(model: Books) -> Model:
    """A copy that shares nothing that can change."""
    return rebuilt(model)


def change_value_transforms(model: Books, vars_to_transforms: Mapping[Any, Transform | None]) -> Model:
    """The model with other transforms for some free variables; None for no transform."""
    return rebuilt(model, transforms=_variables(model, vars_to_transforms, "change_value_transforms"))


def remove_value_transforms(model: Books, vars: Sequence[Any] | None = None) -> Model:
    """The model whose free variables (all, or those given) have no transforms."""
    chosen = model.free_RVs if vars is None else vars
    return change_value_transforms(model, dict.fromkeys(chosen))


def freeze_dims_and_data(model: Books, dims: Sequence[str] | None = None, data: Sequence[str] | None = None) -> Model:
    """The model with Data as constants (all, or those named), so that all shapes are known; dimensions follow."""
    known = [v.name or "" for v in model.data_vars]
    for name in data or ():
        if name not in known:
            raise KeyError(f"the model has no Data {name!r}; it has {', '.join(known) or 'none'}")
    for name in dims or ():
        if name not in model.dim_lengths:
            raise KeyError(f"the model has no dimension {name!r}; it has {', '.join(model.dim_lengths) or 'none'}")
    return rebuilt(model, frozen=known if data is None else list(data))


Model.copy = clone_model  # a copy is a rebuilt model, and rebuilding needs the finished class
