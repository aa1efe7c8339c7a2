"""A compiled function: a graph with inputs, outputs and updates as one XLA program, and what a call of it does."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppl.compile.buckets import BucketedProgram
from ppl.compile.closed import closed_program
from ppl.compile.inputs import In, arranged, fitting, without_generators
from ppl.compile.maker import Maker
from ppl.compile.modes import Mode, first_bad, is_bad, optimize
from ppl.compile.outputs import Rebuild
from ppl.compile.sized import SizedProgram
from ppl.graph import Node, leaves, substitute
from ppl.graph.printing import debugprint
from ppl.graph.records import record
from ppl.tensor.core.sizing import deciding
from ppl.tensor.sampling.generators import is_key
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import VARIABLE, Cell, Variable
from ppl.xla import backend
from ppl.xla.host_errors import raise_original
from ppl.xla.later import jax
from ppl.xla.private import is_traced

# A call takes microseconds: no look-ups in modules.
_ARRAY, _as_array = np.ndarray, np.array  # np.array: users may write to results
_LARGE = 10_000  # bytes of a borrowed array above which it is moved to the device once, not at every call

# Contexts of 64 bits that nobody is inside of now. Making one costs a call 4 % of its time, so they are used again; one
# that two threads or a call within a call were in at once would restore the wrong setting, so each takes its own.
_spare: list[Any] = []


@record
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

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> f = ppl.function([x], x + 1)
    >>> isinstance(f, ppl.Function), f(1.0).item()
    (True, 2.0)
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
        self._program, constants = _compiled(plan, self.inputs, self.variables, self.graph_outputs)
        self._run = self._first
        self._count = len(plan.outputs)
        self._defaults = [each.value for each in plan.inputs]
        self._arity = len(plan.inputs)
        self._checks = [_check(each) for each in plan.inputs]
        self._from_generators = any(is_key(each) for each in self.inputs)
        self._read = [*[v.attrs["cell"] for v in self.variables], *map(_fixed, constants)]
        self._changed = [(v.attrs["cell"], self._count + i) for i, v in enumerate(self.updates)]  # and whose result
        self._own = [(at, self._count + len(self._changed) + i) for i, at in enumerate(own)]  # defaults that change
        ordered = sorted(self.updates, key=lambda v: v.serial)
        self._locks = [v.attrs["cell"].lock for v in ordered]
        self._rebuild = plan.rebuild
        self._bare = len(self.graph_outputs) == 1  # then the program's result is no list
        self._one = isinstance(plan.rebuild([*range(self._count)]), int)

    def __reduce__(self) -> Any:
        return Function, (self.plan,)  # what it was made from: where it is loaded, it compiles again

    @property
    def compilations(self) -> int:
        """How many programs have been compiled for this graph, one for each combination of sizes. Functions of one
        graph share them."""
        return self._program.compilations

    def __call__(self, *values: Any, device_get: bool = True, **named: Any) -> Any:
        """The outputs; as JAX's arrays, without waiting for them, where `device_get` is False."""
        if named or len(values) != self._arity:
            values = tuple(arranged(self._who, self.plan.inputs, self._defaults, values, named))
        if self._from_generators:
            values = tuple(without_generators(self.plan.inputs, values))
        if not self.trust_input:
            for value, (dtype, shape, axes) in zip(values, self._checks):  # noqa: B905  (strict= costs time here)
                if (
                    type(value) is not _ARRAY
                    or value.dtype is not dtype
                    or (value.ndim != axes if shape is None else value.shape != shape)
                ):
                    values = tuple([self._fitting(i, v) for i, v in enumerate(values)])
                    break
        if not backend.ready:
            backend.check()
        for lock in self._locks:
            lock.acquire()
        try:
            read = self._read and [v if type(v := cell.value) is not _ARRAY else _settled(cell) for cell in self._read]
            try:
                wide = _spare.pop()
            except IndexError:
                wide = jax.enable_x64(True)
            with wide:
                results = self._run(*values, *read) if read else self._run(*values)
            _spare.append(wide)
            every = (results,) if self._bare else results
            for _, at in self._changed:
                if is_traced(every[at]):
                    raise self._traced()
            for cell, at in self._changed:
                cell.value = every[at]
            for own, at in self._own:
                self._defaults[own] = every[at]
        except (RuntimeError, ValueError) as error:  # XLA has both for a Python function that raises
            raise_original(error)
        finally:
            for lock in self._locks:
                lock.release()
        try:
            if self._one:
                return _as_array(every[0]) if device_get else every[0]
            return self._rebuild([_as_array(r) if device_get else r for r in every[: self._count]])
        except (RuntimeError, ValueError) as error:  # what Python functions inside raise may come with the values
            raise_original(error)

    def _first(self, *arguments: Any) -> Any:
        results = self._watched(self._program.run)(*arguments)
        self._run = self._watched(self._program.run)  # found by now
        return results

    def _watched(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The program, its results checked and its time taken where the user asked for it."""
        profile = self.profile
        if not (self.plan.mode.guards() or profile):
            return run

        def watched(*arguments: Any) -> Any:
            start = time.perf_counter()
            results = jax.block_until_ready(run(*arguments))
            self._guard(arguments, results)
            if profile is not None:
                profile.calls += 1
                profile.seconds += time.perf_counter() - start
            return results

        return watched

    def _guard(self, arguments: Sequence[Any], results: Any) -> None:
        if not any(is_bad(result, self.plan.mode) for result in jax.tree.leaves(results)):
            return
        given = dict(zip([*self.inputs, *self.variables], arguments, strict=False))  # large constants come last
        found = first_bad(self.graph_outputs, given, self.plan.mode)
        if found is None:
            where = "an input or a variable is not finite to begin with"
        else:
            parts = ", ".join(f"{n!r} = {np.array2string(np.asarray(v), threshold=5)}" for n, v in
                              zip(found[0].inputs, found[1], strict=True))  # fmt: skip
            where = f"the first value that is not finite is that of {found[0]!r}, of {parts}"
        raise FloatingPointError(f"{self._who}: {where}")

    def _traced(self) -> TypeError:
        changed = ", ".join(map(repr, self.updates))
        return TypeError(
            f"{self._who} changes {changed}, and is called inside a transformation of JAX (jit, grad, vmap, scan), "
            "where nothing has a value that a variable could keep. Call it outside; or transform the pure function "
            "that ppl.to_jax([...], [...]) makes of the graph, with the variable's new value among the results."
        )

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


def _compiled(
    plan: Plan, inputs: list[Tensor], variables: list[Node], outputs: list[Node]
) -> tuple[Any, Sequence[Any]]:
    """The program of a graph, and the values of its further arguments."""
    found = deciding(outputs)
    if found.leaves or found.computed:
        return SizedProgram(
            inputs, variables, outputs, found, lambda *open: _compiled(plan, *open[:2], optimize(open[2], plan.mode))
        ), []
    if plan.buckets:
        return BucketedProgram(inputs, variables, outputs), []
    return closed_program([*inputs, *variables], outputs)


def _check(each: In) -> tuple[Any, Any, int]:
    """The dtype, shape (None: any) and number of axes with which an array passes without a closer look."""
    type = each.variable.type
    return np.dtype(type.dtype), None if all(n is None for n in type.shape) else type.shape, type.ndim


def _settled(cell: Cell) -> Any:
    """The value of a variable as an array on the device, where it stays; an array that the user lent is read as it is
    now, unless it is large."""
    with cell.lock:
        value = cell.value
        if type(value) is _ARRAY and (value.nbytes > _LARGE or not value.flags.writeable):
            with jax.enable_x64(True), jax.ensure_compile_time_eval():  # an array, also within a trace of JAX
                value = cell.value = jax.device_put(value)
    return value


def _fixed(constant: np.ndarray) -> Cell:
    """A large constant, read as variables are."""
    cell = Cell(constant, lambda: constant)
    _settled(cell)
    return cell
