"""A model made anew from another: one walk over its named variables, in the order in which they were made, that enters
each, changed or not, into an empty model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

import ppl.tensor as tt
from ppl.distributions import DRAW, CustomDist, RandomVariable, is_draw
from ppl.distributions.draws.draw import draw
from ppl.distributions.transforms import Transform
from ppl.graph import Node, ancestors, substitute
from ppl.model.errors import ShapeError
from ppl.model.inputs.data_values import value_now
from ppl.model.inputs.observed import as_data
from ppl.model.inputs.observing import observe_variable
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.tensor.core.names import NAMED, named
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, known_as, value_of
from ppl.tensor.variables import Variable, shared

M = TypeVar("M", bound=Books)


class _Rebuilding:
    """The new model while it is made, and what stands for each node of the old one."""

    def __init__(self, old: Books, new: Books) -> None:
        self.old, self.new = old, new
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

    def set_from_data(self, var: Tensor) -> None:
        """What an earlier intervention set to an expression of data: it has a name, and is no Deterministic."""
        fresh: Tensor = Node(NAMED, (self.at(var.inputs[0]),), var.attrs)  # type: ignore[assignment]
        self.done[var] = fresh
        self._enter(fresh, var.name or "")

    def free(self, var: RandomVariable, transform: Transform | None) -> None:
        fresh, initval = self._draw(var), self.old.rvs_to_initial_values[var]
        initval = self.at(initval) if isinstance(initval, Tensor) else initval
        self.new.enter_free(fresh, transform, self.dims(var.name or ""), initval)

    def observed(self, var: RandomVariable) -> None:
        fresh = self._draw(var)
        self.new.add_observed(fresh, self.at(self.old.rvs_to_values[var]), self.dims(var.name or ""))
        if var in self.old.doubtful:
            self.new.doubtful.append(fresh)
        if var in self.old.processes:
            self.new.processes.append(fresh)
        if var in self.old.rvs_to_total_sizes:
            self.new.rvs_to_total_sizes[fresh] = self.old.rvs_to_total_sizes[var]

    def observe(self, var: RandomVariable, value: Any) -> None:
        name = var.name or ""
        data = as_data(value, name, var.family.__name__)
        self.done[var] = observe_variable(self.new, self._draw(var), data, self.dims(name), None, {})

    def observe_expression(self, var: Tensor, value: Any) -> None:
        """A deterministic that has draws of its own becomes a variable with their law, and is observed."""
        name, expression = var.name or "", self.at(var.inputs[0])
        law = law_of_expression(expression, [*self.new.basic_RVs, *self.new.data_vars])
        data, rv = as_data(value, name, "Deterministic"), Node(DRAW, law.inputs, law.attrs.but(name=name))
        self.done[var] = observe_variable(self.new, rv, data, self.dims(name), None, {})

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
        elif not is_constant(fresh) and (not is_expression(value) or _is_random(fresh)):
            self.new.deterministics.append(fresh)


def law_of_expression(expression: Tensor, variables: Sequence[Tensor]) -> RandomVariable:
    """A draw with the law that an expression has by its own draws, given the variables among those that it is of."""
    behind = ancestors([expression], blockers=set(variables))
    given = [each for each in variables if each in behind]
    return CustomDist.dist(*given, dist=lambda *new: substitute(expression, dict(zip(given, new[:-1], strict=True))))


def refers(value: Tensor, var: Tensor) -> bool:
    """Whether an intervention is written with the very variable that it is for."""
    return var in ancestors([value])


def _is_random(value: Tensor) -> bool:
    return any(is_draw(node) for node in ancestors([value]))


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
    empty: M,
    *,
    interventions: Mapping[Tensor, Any] | None = None,
    observations: Mapping[Tensor, Any] | None = None,
    transforms: Mapping[Tensor, Transform | None] | None = None,
    frozen: Sequence[str] = (),
    as_data_variables: bool = True,
    left_out: frozenset[str] = frozenset(),
) -> M:
    """A model like `model`, with some of its variables changed: `empty` with all of them entered."""
    walk = _Rebuilding(model, empty)
    done, seen, bent = interventions or {}, observations or {}, transforms or {}
    for var in model.data_vars:
        value = done.get(var)
        if var in done and not is_expression(value):
            walk.intervene(var, value, as_data_variables and var.name not in frozen)
        elif var.name not in left_out and (var not in done or refers(value, var)):
            walk.data(var, var.name in frozen)
    walk.dimensions()
    for name in _order(model, done):
        var = model.named_vars[name]
        if name in left_out or (isinstance(var, Variable) and not is_expression(done.get(var))):
            continue
        if var in done and not (is_expression(done[var]) and refers(done[var], var)):
            walk.intervene(var, done[var], as_data_variables)
            continue
        if isinstance(var, Variable):
            pass  # entered with the data
        elif not isinstance(var, RandomVariable):
            if var in seen:
                walk.observe_expression(var, seen[var])
            elif any(var is d for d in model.deterministics):
                walk.expression(var, walk.new.deterministics)
            elif any(var is p for p in model.potentials):
                walk.expression(var, walk.new.potentials)
            elif var.op is NAMED:
                walk.set_from_data(var)
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
    empty.read_once.update({name: words for name, words in model.read_once.items() if name in empty.named_vars})
    return empty


def is_expression(value: Any) -> bool:
    return isinstance(value, Tensor) and not is_constant(value)


def _order(model: Books, interventions: Mapping[Tensor, Any]) -> list[str]:
    """The names of a model, each after those that it depends on, also by what it shall be set to."""
    order: dict[str, None] = {}
    behind = {v: ancestors([value]) for v, value in interventions.items() if is_expression(value)}

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
