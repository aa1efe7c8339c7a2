"""`ppl.function`: from a user's inputs, outputs, updates and givens to a compiled function."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.compiled import Function, Plan
from ppl.compile.inputs import In
from ppl.compile.modes import get_mode
from ppl.compile.outputs import flatten
from ppl.distributions.draws.draw import is_draw
from ppl.distributions.draws.drawing import expanded
from ppl.graph import ancestors, leaves
from ppl.tensor.core.effects import Assert
from ppl.tensor.core.labelled import takes_labelled
from ppl.tensor.core.ops import cast_to
from ppl.tensor.loops.substitution import replaced
from ppl.tensor.sampling.generators import after, key_from
from ppl.tensor.sampling.keys import numbers_of
from ppl.tensor.tensor import INPUT, Tensor, TensorType, as_tensor
from ppl.tensor.variables import Variable, fitting_update, shared

_THEANO = ("outputs", "mode", "updates", "givens", "no_default_updates")  # what may follow the inputs without a name


@takes_labelled
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
    flat, changes, wrapped = _with_draws(flat, changes, wrapped)
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


def _with_draws(
    flat: list[Tensor], changes: dict[Variable, Tensor], wrapped: list[In]
) -> tuple[list[Tensor], dict[Variable, Tensor], list[In]]:
    """Outputs and updates with their random variables drawn: anew by each call, together within one."""
    at = [i for i, w in enumerate(wrapped) if w.update is not None]
    graphs = [*flat, *changes.values(), *(wrapped[i].update for i in at)]
    if not any(is_draw(node) for node in ancestors(graphs)):
        return flat, changes, wrapped
    state = shared(numbers_of(int(np.random.SeedSequence().generate_state(1)[0]), "draws"), shape=(2,))
    state.default_update = after(state)
    drawn = expanded(graphs, key_from(state), generators=True)
    outputs = drawn.outputs
    for law, condition in drawn.conditions:
        check = Assert(f"{law.family.who(law.name)}: its parameters are outside their domains, so there are no draws")
        outputs = [check(x, condition) for x in outputs]
    left = iter(outputs[len(flat) + len(changes) :])
    wrapped = [dataclasses.replace(w, update=next(left)) if i in at else w for i, w in enumerate(wrapped)]
    return outputs[: len(flat)], dict(zip(changes, outputs[len(flat) :], strict=False)), wrapped


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
