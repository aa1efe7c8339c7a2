"""What `Normal("x", ...)` does inside a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppl.distributions.declaration.arguments import tell_of_rng
from ppl.distributions.declaration.distribution import Distribution, set_registrar
from ppl.model import context
from ppl.model.inputs.data_checks import check_indices, tell_of_nan
from ppl.model.inputs.observed import as_data
from ppl.model.inputs.observing import observe_variable
from ppl.model.registry.dimensions import dims_of
from ppl.model.registry.named import Deterministic
from ppl.model.registry.variable_registry import UNSET
from ppl.tensor.tensor import Tensor

OPTIONS = (
    "dims",
    "initval",
    "observed",
    "impute",
    "total_size",
    "transform",
    "default_transform",
    "shape",
    "size",
    "rng",
    "model",
)


def register(family: type[Distribution], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
    """A new random variable of the current model."""
    options = {key: kwargs[key] for key in OPTIONS if key in kwargs}
    parameters = {key: value for key, value in kwargs.items() if key not in OPTIONS}
    model = options.get("model") or context.current_model()
    if model is None:
        raise TypeError(
            f"No model on context stack, which is needed to name {family.__name__} {name!r}: write it inside a "
            f"`with pm.Model():` block, or use {family.__name__}.dist(...) for a draw without a model."
        )
    tell_of_rng(f"{family.__name__} {name!r}", options.get("rng"))
    full = model.check_name(name)
    if options.get("impute", "draw") not in ("draw", "raise"):
        raise ValueError(f'{family.__name__} "{full}": impute is "draw" or "raise", got {options["impute"]!r}')
    observed = None if options.get("observed") is None else as_data(options["observed"], full, family.__name__)
    shape, size = options.get("shape"), options.get("size")
    dims = dims_of(f'{family.__name__} "{full}"', options.get("dims"))
    if shape is None and size is None:
        if dims is not None and all(d is not None for d in dims):
            shape = model.shape_from_dims(dims)
        elif observed is not None:
            shape = _shape_of(observed)
    try:
        further = family.take_options(parameters)
        make = family.make if family.result else family.dist
        rv = make(*args, shape=shape, size=size, name=full, **parameters)
    except (ValueError, TypeError) as error:
        raise type(error)(_with_name(str(error), family.__name__, full)) from error
    check_indices(rv.parameters)
    if options.get("shape") is not None or size is not None:
        model.add_dims_of(rv, dims)
    if observed is None:
        if options.get("total_size") is not None:
            raise ValueError(
                f'{family.__name__} "{full}": total_size says how much observed data count, and none are observed.'
            )
        model.add_free(
            rv,
            dims,
            options.get("transform", UNSET),
            options.get("default_transform", UNSET),
            options.get("initval"),
        )
        made: Tensor = rv
    else:
        unknown = tell_of_nan(rv)
        made = observe_variable(model, rv, observed, dims, options.get("total_size"), options)
        if unknown is not None:
            model.doubtful.append(made)
    if not family.result:
        return made
    keep = lambda suffix, tensor: Deterministic(f"{full}_{suffix}", tensor, model=model)
    result = family.result(rv, keep, **further)
    return made if result is rv else result


def _with_name(message: str, family: str, name: str) -> str:
    if f"{name!r}" in message or f'"{name}"' in message:
        return message
    if message.startswith(f"{family} "):  # a sentence about the family
        return f'{family} "{name}" {message.removeprefix(f"{family} ")}'
    return f'{family} "{name}": {message.removeprefix(family).lstrip(": ")}'


def _shape_of(observed: Any) -> tuple[Any, ...]:
    return tuple(observed.shape)


set_registrar(register)
