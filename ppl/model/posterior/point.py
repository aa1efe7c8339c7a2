"""Starting points: the support point of each variable, given its parents' points, unless the user says otherwise."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.pure import Program
from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.declaration.distribution import default_point
from ppl.distributions.draws.draw import draw
from ppl.distributions.draws.drawing import expanded
from ppl.distributions.transforms.images import is_own
from ppl.graph import Node, ancestors, substitute
from ppl.model.inputs.lengths_of_draws import shape_given
from ppl.model.posterior.starts import as_numbers, check_inside, check_shape
from ppl.model.posterior.values import of_data, values_of
from ppl.model.registry.variable_registry import Books
from ppl.rewrites import optimize
from ppl.rewrites.values.folding import on_host
from ppl.tensor.arrays.shaping import BROADCAST_TO
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, placeholder, value_of
from ppl.tensor.variables import VARIABLE

Point = dict[str, np.ndarray]
MOST_ON_HOST = 4096  # entries of a point; beyond, a program is as good as NumPy, step by step


def initial_point(model: Books, initvals: Mapping[Any, Any] | None = None, seed: Any = 0) -> Point:
    """A value for every unconstrained input of the density, by name; `seed` decides those with initval="prior"."""
    given = by_name(model, initvals or {})
    values: dict[Node, Node] = {}
    wanted: dict[str, Tensor] = {}
    for rv in sorted(model.basic_RVs, key=lambda rv: rv.serial):
        value_var = model.rvs_to_values[rv]
        if rv in model.observed_RVs_set():
            values[rv] = substitute(value_var, values)
            continue
        transform = model.rvs_to_transforms[rv]
        inputs = [substitute(p, values) for p in rv.parameters] if isinstance(rv, RandomVariable) else []
        start, unconstrained = _start(rv, inputs, given, model, values)
        values[rv] = transform.backward(start, *inputs) if unconstrained and transform else start
        raw = start if unconstrained or transform is None else transform.forward(start, *inputs)
        wanted[value_var.name or ""] = tt.cast(raw, value_var.dtype)
    found = map(np.array, evaluated(list(wanted.values()), seed))  # arrays of their own, which users may change
    return dict(zip(wanted, found, strict=True))


def starts_at_random(model: Books, initvals: Mapping[Any, Any] | None = None) -> bool:
    """Does a variable start at a draw from its prior?"""
    given = by_name(model, initvals or {})
    return any(_is_prior(given.get(rv.name or "", chosen)) for rv, chosen in model.rvs_to_initial_values.items())


def _is_prior(chosen: Any) -> bool:
    return isinstance(chosen, str) and chosen == "prior"


def evaluated(outputs: list[Tensor], seed: Any = 0) -> list[np.ndarray]:
    """The values of expressions that depend on data, and maybe draws, only.

    What follows from constants is computed as the graph is rewritten; a program is compiled for the rest, once for all
    expressions alike.
    """
    if any(map(is_draw, ancestors(outputs))):
        key = placeholder(KEY_TYPE, "key")
        given = [np.random.SeedSequence(seed).generate_state(2, np.uint32)]
        run = lambda wanted: values_of(Program([key], optimize(wanted)), given)  # type: ignore[arg-type]
        return [np.asarray(value) for value in expanded(outputs, key).values(run)]
    found = on_host(outputs, {})
    if found is not None:
        return found
    outputs = optimize(outputs)  # type: ignore[assignment]
    values = {x: _of_constants(x) for x in outputs}
    rest = [x for x, value in values.items() if value is None]
    if rest:
        values.update(zip(rest, of_data(Program([], rest)), strict=True))
    return [np.asarray(values[x]) for x in outputs]


def _of_constants(x: Tensor) -> np.ndarray | None:
    """The value of a constant, also where it is repeated; None of anything else."""
    if x.op is BROADCAST_TO and is_constant(x.inputs[0]) and None not in x.type.shape:
        return np.broadcast_to(value_of(x.inputs[0]), x.type.shape)
    return value_of(x) if is_constant(x) else None


def at_point(outputs: Sequence[Tensor], point: Mapping[Tensor, np.ndarray]) -> list[np.ndarray]:
    """The values of expressions at a point, on the host if they hold nothing but constants; else by one program, which
    serves all points.
    """
    if sum(np.size(x) for x in point.values()) <= MOST_ON_HOST and not any(
        n.op is VARIABLE for n in ancestors(outputs)
    ):
        found = on_host(outputs, point)
        if found is not None:
            return found
        values = [_of_constants(x) for x in optimize(substitute(outputs, {v: as_tensor(x) for v, x in point.items()}))]
        if all(value is not None for value in values):
            return [np.asarray(value) for value in values]
    return [np.asarray(x) for x in values_of(Program(list(point), list(outputs)), list(point.values()))]


def _start(rv: Tensor, inputs: Any, given: Mapping[str, Any], model: Books, values: Any) -> tuple[Tensor, bool]:
    """Where a variable starts, and whether that is an unconstrained value."""
    name, value_name = rv.name or "", model.rvs_to_values[rv].name or ""
    if value_name in given and value_name != name:
        check_shape(value_name, given[value_name], model.rvs_to_values[rv].type.shape)
        return as_tensor(given[value_name]), True
    chosen = given.get(name, model.rvs_to_initial_values.get(rv))
    assert isinstance(rv, RandomVariable)
    if _is_prior(chosen):
        start = draw(rv.family, inputs, shape_given(rv, values)[: rv.ndim - rv.event_ndim])
    elif chosen is not None and not isinstance(chosen, str):
        start = substitute(as_tensor(chosen), values) if isinstance(chosen, Tensor) else as_tensor(np.asarray(chosen))
    elif chosen in (None, "support_point", "moment"):
        start = as_tensor(default_point(rv.family, inputs, rv.family.support_for(inputs)))
    else:
        raise ValueError(f'"{name}": initval is a value, "support_point" or "prior", got {chosen!r}')
    if chosen is not None and not isinstance(chosen, str | Tensor):
        array = as_numbers(name, chosen)
        check_shape(name, array, rv.type.shape)
        domain = rv.family.support_for(inputs)
        inside = domain.contains(array)
        check_inside(rv, array, domain, evaluated([inside])[0] if isinstance(inside, Tensor) else inside)
    sized, transform = shape_given(rv, values), model.rvs_to_transforms[rv]
    start = tt.broadcast_to(tt.cast(start, rv.dtype), sized)
    if chosen is None and transform is not None and is_own(rv, transform):
        return _in_image(transform.forward(start, *inputs)), True
    return start, False


def _in_image(unconstrained: Tensor) -> Tensor:
    """A start in the image of a user's transform, where the support point has no unconstrained value."""
    return tt.switch(tt.isfinite(unconstrained), unconstrained, 0.0)


def by_name(model: Books, initvals: Mapping[Any, Any]) -> dict[str, Any]:
    """Starting values by name; keys may be variables. What is computed from variables, as in a result of `find_MAP`,
    starts where they do."""
    computed = {v.name for v in model.deterministics}
    known = {rv.name for rv in model.free_RVs} | {v.name for v in model.value_vars}
    result = {}
    for key, value in initvals.items():
        name = key.name if isinstance(key, Tensor) else key
        if name in computed - known:
            continue
        if name not in known:
            close = difflib.get_close_matches(str(name), [str(k) for k in known], 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise KeyError(
                f"initvals: the model has no free variable {name!r}.{hint} It has {', '.join(sorted(map(str, known)))}."
            )
        result[str(name)] = value
    return result
