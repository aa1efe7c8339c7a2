"""What a saved run is a run of: digests of the parts of a model, of its data and of how it is sampled, by names that an
error can show. Two runs with the same ones have the same law; the labels of coordinates count too, since the result
carries them. Functions of a user count by their names and code, not by what they read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import Node, ancestors, digest, rebuilt, substitute
from ppl.model.inference.steps import Assignment
from ppl.model.posterior.rewriting import Posterior
from ppl.model.registry.variable_registry import Books
from ppl.model.starting.start_points import Starts
from ppl.model.version import __version__
from ppl.tensor.tensor import Tensor, TensorType, placeholder
from ppl.tensor.variables import Variable
from ppl.xla.later import jax


def identity_of(posterior: Posterior, starts: Starts, methods: Assignment, asked: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each part, by its name in words; what was `asked` for counts by how it is written."""
    found: dict[str, str] = {f"the argument {name}": repr(value) for name, value in asked.items()}
    found |= {"the version of ppl": __version__, "the version of jax": jax.__version__}
    steps = [] if posterior.plan is None else [(step.rule, step.eliminated) for step in posterior.plan.steps]
    found["the plan"] = _hash(repr(steps).encode())
    found |= parts_of_model(posterior.model)
    for slot in starts.slots:
        points = np.stack([flat[slot.start : slot.stop] for flat in starts.points])
        found[f"the start of {slot.variable.name!r}"] = _of_array(points)
    found["what the sampler moves"] = repr([(s.variable.name, s.shape) for s in starts.slots])
    for i, method in enumerate(methods.methods):
        options = {k: _shown(v) for k, v in sorted(vars(method).items()) if k not in ("model", "vars")}
        moved = [v.name for v in method.vars]
        found[f"step method {i + 1}"] = _hash(f"{type(method).__name__} {moved} {options}".encode())
    return found


def parts_of_model(model: Books) -> dict[str, str]:
    """The digest of each variable of a model, of its data and of its coordinates."""
    found: dict[str, str] = {}
    by_name: dict[Node, Node] = {
        var: placeholder(TensorType(var.dtype, var.type.shape), name) for name, var in model.named_vars.items()
    }

    def of(graph: Node) -> str:
        unnamed = [v for v in ancestors(graph) if isinstance(v, Variable) and v not in by_name]
        values = [_of_array(v.value) for v in sorted(unnamed, key=lambda v: v.serial)]
        inside = rebuilt(graph, tuple(substitute(graph.inputs, by_name)))  # of the graph, never itself by its name
        return " ".join([digest(inside, _of_function), *values])

    for name, var in model.named_vars.items():
        if isinstance(var, Variable):
            found[f"the data {name!r}"] = _of_array(var.value)
        else:
            found[f"variable {name!r}"] = of(var)
        if name in model.named_vars_to_dims:
            found[f"the dims of {name!r}"] = repr(model.named_vars_to_dims[name])
    for rv in model.observed_RVs:
        found[f"the data of observed variable {rv.name!r}"] = of(model.rvs_to_values[rv])
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        if transform is not None and isinstance(rv, RandomVariable):
            found[f"the transform of {rv.name!r}"] = of(transform.backward(model.rvs_to_values[rv], *rv.parameters))
    for rv, total in model.rvs_to_total_sizes.items():
        found[f"the total_size of {rv.name!r}"] = of(total) if isinstance(total, Tensor) else repr(total)
    for dim, labels in model.coords.items():
        found[f"the coordinates of dimension {dim!r}"] = _hash(repr(labels).encode())
    return found


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if value is None or isinstance(value, bool | int | float | str | tuple | list | np.generic):
        return repr(value)
    return type(value).__name__ + repr({k: _shown(v) for k, v in sorted(getattr(value, "__dict__", {}).items())})


def _of_array(value: Any) -> str:
    array = np.ascontiguousarray(value)
    return _hash(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _of_function(value: Any) -> bytes:
    """A user's function, or an operation that holds one, the same in every process."""
    inner: Any = getattr(value, "function", value)
    inner = getattr(inner, "__wrapped__", inner)
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    if code is None:
        return f"{getattr(inner, '__module__', '')}.{name}".encode()
    cells = [_shown(cell.cell_contents) for cell in inner.__closure__ or ()]
    return f"{name} {_of_code(code)} {cells} {[_shown(d) for d in inner.__defaults__ or ()]}".encode()


def _of_code(code: Any) -> str:
    constants = [_of_code(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts]
    return _hash(repr((code.co_code, code.co_names, constants)).encode())
