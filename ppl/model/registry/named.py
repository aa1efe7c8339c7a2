"""Named expressions of a model: deterministics and potentials."""

from __future__ import annotations

from typing import Any

from ppl.model.context import modelcontext
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.names import named
from ppl.tensor.tensor import Tensor, as_tensor


def Deterministic(name: str, var: Any, model: Books | None = None, dims: Any = None) -> Tensor:
    """A named value that follows from others; results hold it."""
    model = modelcontext(model)
    result = named(as_tensor(var), model.check_name(name))
    model.add_named_variable(result, dims)
    model.deterministics.append(result)
    return result


def Potential(name: str, var: Any, model: Books | None = None, dims: Any = None) -> Tensor:
    """A named term that is added to the log-density."""
    model = modelcontext(model)
    result = named(as_tensor(var), model.check_name(name))
    model.add_named_variable(result, dims)
    model.potentials.append(result)
    return result
