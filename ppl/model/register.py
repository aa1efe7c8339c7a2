"""What `Normal("x", ...)` does inside a model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.distribution import Distribution, set_registrar
from ppl.distributions.draw import draw
from ppl.graph import leaves
from ppl.model import context
from ppl.model.books import UNSET, Books
from ppl.model.data_checks import check_indices, check_nan
from ppl.model.errors import DataError, ImputationWarning, ShapeError
from ppl.model.named import Deterministic
from ppl.model.observed import as_data, check_observed, check_support
from ppl.tensor.evaluate import evaluate
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

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
    if options.get("rng") is not None:
        raise TypeError(f"{family.__name__} {name!r}: draws take their keys from random_seed; rng= is not supported")
    full = model.check_name(name)
    if options.get("impute", "draw") not in ("draw", "raise"):
        raise ValueError(f'{family.__name__} "{full}": impute is "draw" or "raise", got {options["impute"]!r}')
    observed = None if options.get("observed") is None else as_data(options["observed"], full)
    shape, size = options.get("shape"), options.get("size")
    dims = options.get("dims")
    if isinstance(dims, str):
        dims = (dims,)
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
    if observed is None:
        model.add_free(
            rv,
            dims,
            options.get("transform", UNSET),
            options.get("default_transform", UNSET),
            options.get("initval"),
        )
        made: Tensor = rv
    else:
        check_nan(rv)
        made = observe_variable(model, rv, observed, dims, options.get("total_size"), options)
    if not family.result:
        return made
    keep = lambda suffix, tensor: Deterministic(f"{full}_{suffix}", tensor, model=model)
    result = family.result(rv, keep, **further)
    return made if result is rv else result


def _with_name(message: str, family: str, name: str) -> str:
    return (
        message
        if f"{name!r}" in message or f'"{name}"' in message
        else f'{family} "{name}": {message.removeprefix(family).lstrip(": ")}'
    )


def _shape_of(observed: Any) -> tuple[Any, ...]:
    return tuple(observed.shape)


def observe_variable(
    model: Books, rv: RandomVariable, observed: Any, dims: Any, total_size: Any, options: Mapping[str, Any]
) -> Tensor:
    """Enter a variable with its data; missing values become a free variable of their own."""
    name = rv.name or ""
    family = rv.family
    domain = family.support_for(rv.parameters)
    if isinstance(observed, Tensor):
        value = observed
        if value.dtype != rv.dtype:
            value = _converted_symbol(value, rv)
    elif isinstance(observed, np.ma.MaskedArray):
        return _imputed(model, rv, observed, dims, options)
    else:
        array = check_observed(observed, domain, family.__name__, name)
        _check_shapes(rv, array)
        inside = domain.contains(array)
        if isinstance(inside, Tensor):
            inside = known_value(inside)
            inside = np.True_ if inside is None else inside
        check_support(array, np.asarray(inside), domain, family.__name__, name)
        value = as_tensor(array.astype(rv.dtype))
    model.add_observed(rv, value, dims, _total_scale(total_size, value))
    return rv


def known_value(x: Tensor) -> np.ndarray | None:
    """The value of an expression of constants; None where it depends on anything else."""
    if any(not is_constant(leaf) for leaf in leaves([x])):
        return None
    with jax.enable_x64(True):
        return np.asarray(evaluate([x], {})[0])


def _converted_symbol(value: Tensor, rv: RandomVariable) -> Tensor:
    from_float = value.dtype[0] == "f" and rv.dtype[0] != "f"
    if from_float:
        held = value_of(value) if is_constant(value) else getattr(value, "value", None)
        if held is not None:
            check_observed(np.asarray(held), rv.family.support_for(rv.parameters), rv.family.__name__, rv.name or "")
    return tt.cast(value, rv.dtype)


def _check_shapes(rv: RandomVariable, array: np.ndarray) -> None:
    known = rv.type.shape
    if array.ndim != len(known) or any(n is not None and n != m for n, m in zip(known, array.shape, strict=True)):
        raise ShapeError(
            f'{rv.family.__name__} "{rv.name}" has shape {known}, but its observed data have shape {array.shape}'
        )


def _total_scale(total_size: Any, value: Tensor) -> Any:
    """How much the density of a minibatch counts."""
    if total_size is None:
        return None
    if isinstance(total_size, list | tuple):
        scale: Any = 1.0
        for total, n in zip(total_size, value.shape, strict=False):
            if total is not None and total is not Ellipsis:
                scale = scale * total / n
        return scale
    return total_size / (value.shape[0] if value.ndim else 1)


def _imputed(
    model: Books, rv: RandomVariable, observed: np.ma.MaskedArray, dims: Any, options: Mapping[str, Any]
) -> Tensor:
    """Missing entries as a free variable, the others observed, and both together under the variable's name."""
    name, family = rv.name or "", rv.family
    mask = np.ma.getmaskarray(observed)
    if options.get("impute", "draw") == "raise":
        raise DataError(
            f'{family.__name__} "{name}": {int(mask.sum())} of {mask.size} values are missing, and impute="raise" '
            "forbids that they become variables. Drop them, or leave impute= out."
        )
    if rv.event_ndim:
        raise NotImplementedError(
            f'{family.__name__} "{name}": {int(mask.sum())} values are missing, and a family whose values are vectors '
            "is not imputed. Drop the rows, or write the conditional model of the missing entries."
        )
    if mask.all():
        warnings.warn(
            f'"{name}": all observed values are missing: it is drawn from its prior', ImputationWarning, stacklevel=5
        )
    else:
        warnings.warn(
            f'Data in "{name}" contain missing values and will be automatically imputed from the sampling '
            "distribution.",
            ImputationWarning,
            stacklevel=5,
        )
    shape = rv.type.shape if None not in rv.type.shape else observed.shape
    parts = [tt.broadcast_to(p, shape) if p.ndim else p for p in rv.parameters]
    missing_at, seen_at = np.nonzero(mask), np.nonzero(~mask)

    def part(where: Any, label: str) -> RandomVariable:
        chosen = [p[where] if p.ndim else p for p in parts]
        return draw(family, chosen, (len(where[0]),), f"{name}_{label}")

    unobserved = part(missing_at, "unobserved")
    model.add_free(unobserved, None, options.get("transform", UNSET), options.get("default_transform", UNSET))
    whole = tt.zeros(observed.shape, dtype=rv.dtype)
    whole = tt.index_update(whole, unobserved, missing_at)
    if not mask.all():
        seen = part(seen_at, "observed")
        observe_variable(model, seen, np.asarray(observed.data[seen_at]), None, None, {})
        whole = tt.index_update(whole, seen, seen_at)
    return Deterministic(name, whole, model=model, dims=dims)


set_registrar(register)
