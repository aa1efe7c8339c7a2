"""Families of distributions with named dims: PyMC's `pymc.dims.distributions`.

Every family of the registry is here, by one mechanism (`ppl.xtensor.draws`): `Normal("x", mu, sigma, dims=("city",))`
works out by name how its parameters stand to each other and enters the very draw that `pm.Normal` would. `core_dims`
names what belongs to one value or one parameter.
"""

from __future__ import annotations

import dataclasses
import inspect
from inspect import Parameter, Signature
from typing import Any, ClassVar

import ppl.distributions
from ppl.dims.transforms import DimTransform, log_odds_transform, log_transform
from ppl.dims.transforms import IntervalTransform as IntervalTransform
from ppl.dims.transforms import SimplexTransform as SimplexTransform
from ppl.dims.transforms import ZeroSumTransform as ZeroSumTransform
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.domains import open_unit, positive
from ppl.distributions.declaration.signatures import parameters_of
from ppl.model.context import current_model
from ppl.model.registry.register import register
from ppl.model.registry.variable_registry import UNSET as UNSET
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.labelled import LabelledDims
from ppl.tensor.tensor import is_constant, value_of
from ppl.xtensor.alignment import moved
from ppl.xtensor.draws import Recipe, as_argument, labelled_draw, recipe_for
from ppl.xtensor.type import XTensorVariable


class DimDistribution:
    """A family whose parameters and draws have named dims.

    >>> with pm.Model(coords={"city": ["Bern", "Graz"], "year": [1, 2, 3]}) as model:
    ...     level = ppl.dims.Normal("level", 0, 1, dims="city")
    ...     y = ppl.dims.Normal("y", level, 1, dims=("year", "city"))
    >>> y.dims, model["y"].values.shape
    (('year', 'city'), (3, 2))
    """

    family: ClassVar[Any]
    default_transform: ClassVar[DimTransform | None] = None

    def __new__(
        cls,
        name: str,
        *args: Any,
        dims: Any = None,
        core_dims: Any = None,
        initval: Any = None,
        observed: Any = None,
        total_size: Any = None,
        transform: Any = UNSET,
        default_transform: Any = UNSET,
        model: Books | None = None,
        **kwargs: Any,
    ) -> Any:
        """A random variable of the current model; `.dist(...)` makes one without a model."""
        if not isinstance(name, str):
            raise TypeError(f"Name needs to be a string but got: {name!r}")
        home = model or current_model()
        if home is None:
            raise TypeError(
                f"No model on context stack, which is needed to name {cls.__name__} {name!r}: write it inside a `with "
                f"pm.Model():` block, or use {cls.__name__}.dist(...) for a draw without a model."
            )
        asked = None if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)
        data = None if observed is None else as_argument(f'{cls.__name__} "{name}"', "observed", observed)
        core = (core_dims,) if isinstance(core_dims, str) else core_dims or ()
        sizes = _lengths(
            f'{cls.__name__} "{name}"', home, (*(asked or ()), *(d for d in core if d in home.coords)), data
        )
        recipe, final, core, shown = _laid_out(cls, name, cls.recipe(args, kwargs, core_dims, sizes), asked)
        _lengths(f'{cls.__name__} "{name}"', home, final, None)
        options = {"initval": initval, "total_size": total_size, "model": home}
        for key, given in (("transform", transform), ("default_transform", default_transform)):
            options[key] = _by_position(f'{cls.__name__} "{name}"', key, given, final, core)
        if observed is not None:
            options["observed"] = _observed(name, data, final)
        parameters = {
            k: v for k, v in recipe.call(final[: len(final) - len(core)]).items() if k not in ("size", "shape")
        }
        made = register(cls.family, name, (), {**parameters, **options, "dims": LabelledDims(final)})
        return XTensorVariable(made, final, made_by=None).transpose(*shown)

    @classmethod
    def dist(cls, *args: Any, dim_lengths: Any = None, core_dims: Any = None, **kwargs: Any) -> XTensorVariable:
        """A draw without a model. `dim_lengths` are the lengths of dims that no parameter has."""
        return labelled_draw(cls.recipe(args, kwargs, core_dims, dim_lengths))

    @classmethod
    def recipe(cls, args: Any, kwargs: Any, core_dims: Any, sizes: Any) -> Recipe:
        """What a user asks for."""
        if not hasattr(cls, "family"):
            raise TypeError(f"{cls.__name__} is no family: use one of those of ppl.dims, such as Normal")
        if "chol" in cls.family.order and kwargs.get("lower") is False and core_dims is not None:
            kwargs, core_dims = {k: v for k, v in kwargs.items() if k != "lower"}, tuple(core_dims)[::-1]
        return recipe_for(cls.family, args, kwargs, core_dims, sizes)


class VectorDimDistribution(DimDistribution):
    """A family whose values, or some of whose parameters, have dims of their own: it takes `core_dims`."""


class PositiveDimDistribution(DimDistribution):
    """A family of positive numbers."""

    default_transform = log_transform


class UnitDimDistribution(DimDistribution):
    """A family of numbers between 0 and 1."""

    default_transform = log_odds_transform


def _lengths(who: str, model: Books, asked: Any, observed: Any) -> dict[str, Any]:
    """The lengths of dims by the model."""
    names = [d for d in dict.fromkeys(asked) if d is not Ellipsis]
    names += [d for d in getattr(observed, "dims", ()) if d not in names]
    unknown = [d for d in names if d not in model.coords]
    if unknown:
        raise ValueError(
            f"{who}: the dims {unknown} are not part of the model coords, which are {list(model.coords) or 'none'}. "
            "Add them at initialization time or use `model.add_coord` before defining the distribution."
        )
    return dict(zip(names, model.shape_from_dims(names), strict=True))


def _laid_out(cls: Any, name: str, recipe: Recipe, asked: Any) -> tuple[Recipe, tuple[str, ...], tuple[str, ...], Any]:
    """The dims of a variable: as it is kept, with those of one value last, and as it is shown."""
    trial = labelled_draw(recipe)
    if asked is not None and Ellipsis not in asked and set(asked) != set(trial.dims):
        raise ValueError(
            f'{cls.__name__} "{name}": Provided dims {asked} do not match the output dims {trial.dims}. '
            "Use ellipsis to specify all other dimensions."
        )
    shown = trial.dims if asked is None else trial.transpose(*asked).dims
    if recipe.own:
        order = [d for d in shown if d in recipe.core]
        recipe = dataclasses.replace(recipe, core=(*order, *(d for d in recipe.core if d not in order)))
    core = recipe.event(trial.node, recipe.batch)
    return recipe, (*(d for d in shown if d not in core), *core), core, shown


def _by_position(who: str, key: str, given: Any, dims: Any, core: Any) -> Any:
    if given is UNSET or given is None:
        return given
    if not isinstance(given, DimTransform):
        raise TypeError(f"{who}: {key} must be a DimTransform, from pymc.dims.transforms, but got {given!r}.")
    return given.by_position(dims, core)


def _observed(name: str, data: Any, dims: Any) -> Any:
    """The data with their axes in order, as an array where they are known."""
    if not isinstance(data, XTensorVariable):
        return data
    if set(data.dims) != set(dims):
        raise ValueError(f'"{name}" has the dims {tuple(dims)}, the observed data have {data.dims}: {data!r}')
    node = moved(data, dims)
    return value_of(node) if is_constant(node) else node


# --- the classes ------------------------------------------------------------------------------------------------------
class _FamilySignature:
    """The signature of a family with named dims: the family's parameters and the options of dims."""

    def __get__(self, instance: Any, cls: Any) -> Signature | None:
        return _signature(cls, "name", "dims core_dims initval observed total_size transform default_transform model")


def _signature(cls: Any, first: str, options: str) -> Signature | None:
    if "family" not in vars(cls):
        return None
    own = [p for p in parameters_of(cls.family) if p.kind is not Parameter.VAR_KEYWORD]
    names = {p.name for p in own}
    further = [Parameter(o, Parameter.KEYWORD_ONLY, default=None) for o in options.split() if o not in names]
    positional = [p for p in own if p.kind is not Parameter.KEYWORD_ONLY]
    by_name = [p for p in own if p.kind is Parameter.KEYWORD_ONLY]
    start = [Parameter(first, Parameter.POSITIONAL_OR_KEYWORD)] if first else []
    return Signature([*start, *positional, *by_name, *further])


def _registry(name: str) -> Any:
    """The family of a name that has a form with named dims; None for other names."""
    found = getattr(ppl.distributions, name, None) if name[:1].isupper() else None
    is_family = isinstance(found, type) and issubclass(found, Distribution) and found is not Distribution
    return found if is_family and not getattr(found, "result", None) else None


_made: dict[str, type[DimDistribution]] = {}


def _base(family: Any) -> type[DimDistribution]:
    if any(p.domain.ndim for p in family.params.values()) or getattr(family.support, "ndim", None):
        return VectorDimDistribution
    bases = {id(positive): PositiveDimDistribution, id(open_unit): UnitDimDistribution}
    return bases.get(id(family.support), DimDistribution)


def family_of(name: str) -> type[DimDistribution] | None:
    """The family of a name with named dims; None where there is none."""
    family = _registry(name)
    if family is not None and name not in _made:
        space = {"family": family, "__module__": __name__, "__signature__": _FamilySignature()}
        _made[name] = type(name, (_base(family),), {**space, "__doc__": inspect.getdoc(family)})
    return _made.get(name)


def __getattr__(name: str) -> Any:
    found = family_of(name)
    if found is None:
        raise AttributeError(f"module 'ppl.dims' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    shown = "DimDistribution VectorDimDistribution PositiveDimDistribution UnitDimDistribution IntervalTransform UNSET"
    return sorted({*shown.split(), "SimplexTransform", "ZeroSumTransform", *filter(_registry, dir(ppl.distributions))})
