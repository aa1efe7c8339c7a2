"""Compiled functions: a graph with inputs, outputs and updates of variables as one XLA program."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ppl.compile.closed import closed_program
from ppl.compile.inputs import In, arranged, fitting
from ppl.compile.maker import Maker
from ppl.compile.modes import Mode, first_bad, get_mode, is_bad, optimize
from ppl.compile.outputs import Rebuild, flatten
from ppl.compile.padding import BucketedProgram
from ppl.graph import Node, ancestors, leaves, substitute
from ppl.graph.printing import debugprint
from ppl.tensor.ops import cast_to
from ppl.tensor.substitution import replaced
from ppl.tensor.tensor import INPUT, Tensor, TensorType, as_tensor
from ppl.tensor.variables import VARIABLE, Variable, fitting_update

_ARRAY, _X64 = np.ndarray, jax.enable_x64  # a call takes microseconds: no look-ups in modules
_as_array, _clock = np.asarray, time.perf_counter
_ON_DEVICE = 10_000  # bytes above which a variable's value is moved to the device once, not at every call


@dataclass(frozen=True)
class Plan:
    """All that is said of a function before it is compiled."""

    inputs: list[In]
    outputs: list[Tensor]
    rebuild: Rebuild
    updates: dict[Variable, Tensor]
    mode: Mode
    name: str | None = None
    allow_input_downcast: bool | None = None
    profile: bool = False
    trust_input: bool = False
    buckets: bool = False


@dataclass
class Profile:
    """How often a function was called and how long it took, the compilations included."""

    calls: int = 0
    seconds: float = 0.0

    def summary(self) -> str:
        """One line."""
        each = self.seconds / self.calls if self.calls else 0.0
        return f"{self.calls} calls in {self.seconds:.6f} s, {each * 1e6:.1f} µs each"


class Function:
    """A compiled function: call it with values for its inputs, by position or by name.

    Calls that change variables take turns, so that threads lose no update.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.name = plan, plan.name
        self.inputs = [each.variable for each in plan.inputs]
        self.updates = dict(plan.updates)
        self.trust_input = plan.trust_input
        self.profile = Profile() if plan.profile else None
        own = {at: each.update for at, each in enumerate(plan.inputs) if each.update is not None}
        wanted: list[Node] = [*plan.outputs, *self.updates.values(), *own.values()]
        self.graph_outputs = optimize(wanted, plan.mode)
        self.variables: list[Any] = [v for v in leaves(self.graph_outputs) if v.op is VARIABLE]
        self._program, constants = (
            (BucketedProgram(self.inputs, self.variables, self.graph_outputs), [])
            if plan.buckets
            else closed_program([*self.inputs, *self.variables], self.graph_outputs)
        )
        self._run = self._program.run
        with jax.enable_x64(True):
            self._constants = [jax.device_put(array) for array in constants]
        self._count = len(plan.outputs)
        self._own = list(own)
        self._defaults = [each.value for each in plan.inputs]
        self._arity = len(plan.inputs)
        self._checks = [_check(each) for each in plan.inputs]
        self._cells = [v.attrs["cell"] for v in self.variables]
        self._changed = [(v.attrs["cell"], self._count + i) for i, v in enumerate(self.updates)]  # and whose result
        ordered = sorted(self.updates, key=lambda v: v.serial)
        self._locks = [v.attrs["cell"].lock for v in ordered]
        self._rebuild, self._guards = plan.rebuild, plan.mode.guards()
        self._reads = bool(self._cells or self._constants)
        self._bare = len(self.graph_outputs) == 1  # then the program's result is no list
        self._one = isinstance(plan.rebuild([*range(self._count)]), int)

    @property
    def compilations(self) -> int:
        """How many programs have been compiled for this graph, one for each combination of sizes. Functions of one
        graph share them."""
        return self._program.compilations

    def __call__(self, *values: Any, device_get: bool = True, **named: Any) -> Any:
        """The outputs; as JAX's arrays, without waiting for them, where `device_get` is False."""
        if named or len(values) != self._arity:
            values = tuple(arranged(self._who, self.plan.inputs, self._defaults, values, named))
        elif not self.trust_input:
            for value, (dtype, shape, axes) in zip(values, self._checks):  # noqa: B905  (strict= costs time here)
                if type(value) is not _ARRAY or value.dtype is not dtype:
                    break
                if (value.ndim != axes) if shape is None else (value.shape != shape):
                    break
            else:
                return self._run_on(values, device_get)
        if not self.trust_input:
            values = tuple([self._fitting(i, v) for i, v in enumerate(values)])
        return self._run_on(values, device_get)

    def _run_on(self, values: tuple[Any, ...], device_get: bool) -> Any:
        start = _clock() if self.profile is not None else 0.0
        for lock in self._locks:
            lock.acquire()
        try:
            with _X64(True):
                if self._reads:
                    before = [_value(cell) for cell in self._cells]
                    results = self._run(*values, *before, *self._constants)
                else:
                    results = self._run(*values)
                if self._guards:
                    self._guard(values, before if self._reads else [], results)
            if self._bare:
                results = (results,)
            for cell, at in self._changed:
                cell.value = results[at]
            if self._own:
                for at, value in zip(self._own, results[self._count + len(self._changed) :], strict=True):
                    self._defaults[at] = value
            if self._one:
                answer = _as_array(results[0]) if device_get else results[0]
            else:
                shown = results[: self._count]
                answer = self._rebuild([_as_array(r) for r in shown] if device_get else list(shown))
        finally:
            for lock in self._locks:
                lock.release()
        if self.profile is not None:
            self.profile.calls += 1
            self.profile.seconds += _clock() - start
        return answer

    def _guard(self, values: Sequence[Any], before: Sequence[Any], results: Any) -> None:
        if not any(is_bad(result, self.plan.mode) for result in ([results] if self._bare else results)):
            return
        given = dict(zip([*self.inputs, *self.variables], [*values, *before], strict=True))
        found = first_bad(self.graph_outputs, given, self.plan.mode)
        if found is None:
            where = "an input or a variable is not finite to begin with"
        else:
            parts = ", ".join(f"{n!r} = {np.array2string(np.asarray(v), threshold=5)}" for n, v in
                              zip(found[0].inputs, found[1], strict=True))  # fmt: skip
            where = f"the first value that is not finite is that of {found[0]!r}, of {parts}"
        raise FloatingPointError(f"{self._who}: {where}")

    def _fitting(self, position: int, value: Any) -> Any:
        return fitting(self._who, position, self.plan.inputs[position], value, self.plan.allow_input_downcast)

    @property
    def _who(self) -> str:
        return f'function "{self.name}"' if self.name else "the function"

    # --- what it is made of -------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        taken = ", ".join(each.title or repr(each.variable.type) for each in self.plan.inputs)
        return f"<{self._who}({taken}), {self._count} outputs, {len(self.updates)} updates>"

    @property
    def maker(self) -> Maker:
        """The graph that was compiled, as `f.maker.fgraph` (Theano's name)."""
        return Maker.of([*self.inputs, *self.variables], self.graph_outputs)

    def dprint(self, **options: Any) -> str:
        """Print the graph that was compiled, as `debugprint` does."""
        return debugprint(self, **options)

    def get_shared(self) -> list[Variable]:
        """The variables that the function reads."""
        return list(self.variables)

    def _place(self, key: Any) -> int:
        for at, each in enumerate(self.plan.inputs):
            if each.variable is key or (isinstance(key, str) and each.title == key):
                return at
        raise KeyError(f"{self._who} has no input or variable {key!r}")

    def _variable(self, key: Any) -> Variable | None:
        known = [*self.variables, *[v for v in self.updates if v not in set(self.variables)]]
        return next((v for v in known if v is key or (isinstance(key, str) and v.name == key)), None)

    def __getitem__(self, key: Any) -> Any:
        """The value of a variable, or the default of an input, by the tensor or its name."""
        variable = self._variable(key)
        return self._defaults[self._place(key)] if variable is None else variable.get_value()

    def __setitem__(self, key: Any, value: Any) -> None:
        variable = self._variable(key)
        if variable is not None:
            variable.set_value(value)
        else:
            self._defaults[self._place(key)] = value

    def copy(
        self, share_memory: bool = False, swap: Mapping[Variable, Variable] | None = None, delete_updates: bool = False,
        name: str | None = None,
    ) -> Function:  # fmt: skip
        """The same function with other variables (`swap`), or without updates. Programs are shared whatever
        `share_memory` says, and values never are but in variables."""
        plan = self.plan
        updates = {} if delete_updates else dict(plan.updates)
        outputs = list(plan.outputs)
        if swap:
            lost = [v for v in swap if self._variable(v) is None]
            if lost:
                raise ValueError(f"{self._who} has no variable {lost[0]!r} to swap")
            outputs = substitute(outputs, swap)  # type: ignore[assignment]
            changed = substitute(list(updates.values()), swap)
            updates = {swap.get(v, v): new for v, new in zip(updates, changed, strict=True)}  # type: ignore[misc]
        inputs = [dataclasses.replace(each, update=None) if delete_updates else each for each in plan.inputs]
        return Function(
            dataclasses.replace(plan, inputs=inputs, outputs=outputs, updates=updates, name=name or plan.name)
        )


def _check(each: In) -> tuple[Any, Any, int]:
    """The dtype, shape (None: any) and number of axes with which an array passes without a closer look."""
    type = each.variable.type
    return np.dtype(type.dtype), None if all(n is None for n in type.shape) else type.shape, type.ndim


def _value(cell: Any) -> Any:
    """The value of a variable, on the device where it is large."""
    value = cell.value
    if type(value) is np.ndarray and value.nbytes > _ON_DEVICE:
        with cell.lock:
            value = cell.value = jax.device_put(cell.value)
    return value


# --- making one -------------------------------------------------------------------------------------------------------
_THEANO = ("outputs", "mode", "updates", "givens", "no_default_updates")  # what may follow the inputs without a name


def function(
    *inputs: Any,
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: Any = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | None = None,
    on_unused_input: str | None = None,
    trust_input: bool = False,
    buckets: bool = False,
    **others: Any,
) -> Function:
    """Compile a graph, in Theano's form `function([x, y], z)` or SymJAX's `function(x, y, outputs=z)`.

    `updates` maps variables to what they become after a call, `givens` puts tensors in the place of others. `mode` says
    whether the graph is rewritten and checked (see ppl.compile.modes), `profile=True` counts and times the calls,
    `trust_input=True` leaves out the checks of the inputs' types. With `buckets=True` lengths along unknown dimensions
    are rounded up to powers of two, so that few programs are compiled; a graph whose results could depend on the
    padding is refused.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalars("x", "y")
    >>> function([x, y], x + y)(2.0, 3.0)
    array(5.)
    """
    said = dict(zip(_THEANO, (outputs, mode, updates, givens, no_default_updates), strict=True))
    given, said = _both_forms(inputs, others.pop("inputs", None), said)
    _refuse(others, accept_inplace)
    wrapped = [each if isinstance(each, In) else In(each) for each in given]
    _check_names(wrapped)
    flat, rebuild = flatten(said["outputs"])
    changes = _updates(said["updates"])
    replacements = _givens(said["givens"], rebuild_strict)
    wrapped = [dataclasses.replace(w, update=_own_update(w)) for w in wrapped]
    wrapped, replacements = _free_computed_inputs(wrapped, replacements)
    if replacements:
        flat = replaced(flat, replacements)  # type: ignore[assignment]
        changes = dict(zip(changes, replaced(list(changes.values()), replacements), strict=True))  # type: ignore[arg-type]
        wrapped = [w if w.update is None else dataclasses.replace(w, update=replaced([w.update], replacements)[0])
                   for w in wrapped]  # fmt: skip
    own = [w.update for w in wrapped if w.update is not None]
    changes.update(_default_updates([*flat, *changes.values(), *own], changes, said["no_default_updates"]))
    for variable, value in changes.items():
        changes[variable] = fitting_update(variable, value)
    _check_inputs([*flat, *changes.values(), *own], [w.variable for w in wrapped], on_unused_input or "raise")
    return Function(
        Plan(
            wrapped,
            flat,
            rebuild,
            changes,
            get_mode(said["mode"]),
            name,
            allow_input_downcast,
            bool(profile),
            trust_input,
            bool(buckets),
        )
    )


def _both_forms(inputs: tuple[Any, ...], keyword: Any, said: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The inputs, and the other arguments with those put in that came by position."""
    if keyword is not None:
        inputs = (keyword, *inputs)
    if not (inputs and isinstance(inputs[0], list | tuple)):
        return list(inputs), said
    following = inputs[1:]
    if len(following) > len(_THEANO):
        raise TypeError(f"after inputs, outputs, mode, updates and givens, arguments need names; got {len(inputs)}")
    for key, value in zip(_THEANO, following, strict=False):
        if said[key] is not None and said[key] is not False:
            raise TypeError(f"function() got two values for {key}")
        said[key] = value
    return list(inputs[0]), said


_REFUSED = {
    "device": "programs run on JAX's default device; choose it by jax.default_device(...)",
    "backend": "programs run on JAX's default backend; choose it by the environment variable JAX_PLATFORMS",
    "default_value": "SymJAX never implemented it; give an input a default by In(x, value=...)",
    "frozen": "randomness moves on by updates only; pass no_default_updates=True",
}


def _refuse(others: dict[str, Any], accept_inplace: bool) -> None:
    for key, value in others.items():
        if key not in _REFUSED:
            raise TypeError(f"function() has no argument {key!r}")
        if value not in (None, False):
            raise NotImplementedError(f"function({key}=...) is not supported: {_REFUSED[key]}")
    if accept_inplace:
        raise NotImplementedError("function(accept_inplace=True) is not supported: no operation works in place")


def _check_names(wrapped: Sequence[In]) -> None:
    for each in wrapped:
        if not isinstance(each.variable, Tensor):
            raise TypeError(f"the inputs of a function are tensors, got {each.variable!r}")
    if len({each.variable for each in wrapped}) < len(wrapped):
        raise ValueError("an input is listed twice")
    names = [each.title for each in wrapped if each.title]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two inputs are called {twice[0]!r}: rename one, as In(x, name='...') does")


def _own_update(each: In) -> Tensor | None:
    if each.update is None:
        return None
    update = as_tensor(each.update)
    if update.dtype != each.variable.dtype or update.ndim != each.variable.ndim:
        raise TypeError(f"the update of input {each.variable!r} is {update!r}, of another dtype or number of axes")
    return update


def _updates(updates: Any) -> dict[Variable, Tensor]:
    pairs = updates.items() if isinstance(updates, Mapping) else (updates or [])
    found: dict[Variable, Tensor] = {}
    for variable, value in pairs:
        if not isinstance(variable, Variable):
            raise TypeError(f"only shared variables are updated, got {variable!r}")
        if variable in found:
            raise ValueError(f"two updates for {variable!r}")
        found[variable] = fitting_update(variable, value)
    return found


def _givens(givens: Any, strict: bool) -> dict[Any, Any]:
    pairs = givens.items() if isinstance(givens, Mapping) else (givens or [])
    replacements: dict[Any, Any] = {}
    for old, value in pairs:
        if not isinstance(old, Tensor):
            raise TypeError(f"givens: only tensors are replaced, got {old!r}")
        new = as_tensor(value)
        if not strict and new.dtype != old.dtype:
            new = cast_to(new, old.dtype)
        if old.dtype != new.dtype or old.ndim != new.ndim:
            raise TypeError(
                f"givens: {old!r} is {old.type!r}, and its replacement {new!r} is {new.type!r}. "
                "rebuild_strict=False casts the dtype."
            )
        replacements[old] = new
    return replacements


def _free_computed_inputs(wrapped: list[In], replacements: dict[Any, Any]) -> tuple[list[In], dict[Any, Any]]:
    """An input that is computed, or a variable, gives way to a fresh one (SymJAX allows any tensor as an input)."""
    fresh: list[In] = []
    for each in wrapped:
        x = each.variable
        if x.op is not INPUT:
            x = TensorType(x.dtype, x.type.shape)(each.variable.name)
            replacements = {**replacements, each.variable: x}
        fresh.append(dataclasses.replace(each, variable=x))
    return fresh, replacements


def _default_updates(wanted: list[Tensor], changes: Mapping[Variable, Tensor], skipped: Any) -> dict[Variable, Tensor]:
    """Updates that variables bring along, also those of variables that these updates need."""
    if skipped is True:
        return {}
    left_out = set(skipped) if isinstance(skipped, list | tuple | set) else set()
    found: dict[Variable, Tensor] = {}
    reached = list(wanted)
    while reached:
        new: list[Tensor] = []
        for v in leaves(reached):
            if isinstance(v, Variable) and v.default_update is not None and not {v} & (left_out | {*changes, *found}):
                found[v] = v.default_update
                new.append(v.default_update)
        reached = new
    return found


def _check_inputs(wanted: list[Tensor], inputs: list[Tensor], on_unused_input: str) -> None:
    if on_unused_input not in ("raise", "warn", "ignore"):
        raise ValueError(f"on_unused_input is 'raise', 'warn' or 'ignore', got {on_unused_input!r}")
    reached = ancestors(wanted)
    given = set(inputs)
    missing = [x for x in reached if x.op is INPUT and x not in given]
    if missing:
        shown = ", ".join(repr(x) for x in sorted(missing, key=lambda x: x.serial))
        raise ValueError(f"the outputs need {shown}, which are not among the inputs: add them, or give them by givens=")
    unused = [x for x in inputs if x not in reached]
    if unused and on_unused_input != "ignore":
        text = f"inputs that nothing depends on: {', '.join(map(repr, unused))}"
        if on_unused_input == "raise":
            raise ValueError(f"{text}. Leave them out, or pass on_unused_input='ignore'.")
        warnings.warn(text, stacklevel=3)
