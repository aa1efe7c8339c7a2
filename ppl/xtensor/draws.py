"""Draws with named axes: one mechanism for every family.

The arguments of a family are aligned by name. What `core_dims` names are axes of one value or of one parameter (the
categories of a probability vector, rows and columns of a covariance) and stand last; all others are independent
copies. So nothing has to be declared for a family: a draw with names is the family's draw of aligned parameters.

Which core dims one value has: those that are in no argument (the axes of a ZeroSumNormal), else those of the first
argument with as many as one value has axes (the mean of a MvNormal), else the first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.domains import a_distribution
from ppl.distributions.draws.draw import RandomVariable
from ppl.graph.records import record
from ppl.xtensor.alignment import aligned, common_dims
from ppl.xtensor.type import XTensorVariable, as_xtensor, is_labelled_array


@record
class Recipe:
    """A family, its arguments, the dims of one value or parameter, and the lengths of dims that arguments do not
    have."""

    family: Any
    arguments: dict[str, Any]
    core: tuple[str, ...]
    sizes: dict[str, Any]

    @property
    def batch(self) -> list[str]:
        """The dims of independent copies: those asked for, those of parameters, those of laws among the parameters."""
        laws = _within(self.arguments.values(), is_law)
        others = [x for x in _within(self.arguments.values()) if not any(x is law for law in laws)]
        of_laws = [d for law in laws for d in law.made_by.batch]
        first = [d for x in others for d in x.dims if d not in of_laws]
        return list(dict.fromkeys(d for d in (*self.extra, *first, *of_laws) if d not in self.core))

    @property
    def extra(self) -> list[str]:
        """The dims that no argument has."""
        held = {d for x in _within(self.arguments.values()) for d in x.dims}
        return [d for d in self.sizes if d not in held and d not in self.core]

    @property
    def own(self) -> list[str]:
        """The core dims that no argument has."""
        held = {d for x in _within(self.arguments.values()) for d in x.dims}
        return [d for d in self.core if d not in held]

    def length(self, dim: str) -> Any:
        """How long a dim is."""
        known = common_dims([x for x in _within(self.arguments.values()) if dim in x.dims]).get(dim)
        if known is not None:
            return known
        for x in _within(self.arguments.values()):
            if dim in x.dims:
                return self.sizes.get(dim, x.sizes[dim])
        if dim not in self.sizes:
            raise ValueError(
                f"{self.family.__name__}: the length of the dim {dim!r} is not known: no argument has it. Give it in "
                "dims, as a dimension of the model, or in dim_lengths={...}."
            )
        return self.sizes[dim]

    def call(self, batch: Sequence[str], whole: bool = True) -> dict[str, Any]:
        """The arguments of the family by position; an axis for each of `batch`, of length one where it has none."""
        self._check(batch)
        found = {key: self._aligned(value, batch, whole) for key, value in self.arguments.items()}
        if "n_zerosum_axes" in self.family.order:
            found |= _zero_sum(found, self.core)
        lengths = lambda dims: tuple(self.length(d) if d in self.batch or d in self.core else 1 for d in dims)
        if self.own:
            return found | {"shape": lengths([*batch, *self.own])}
        return found | ({"size": lengths(batch)} if self.extra else {})

    def _aligned(self, value: Any, batch: Sequence[str], whole: bool) -> Any:
        if isinstance(value, list | tuple):
            return [self._aligned(each, batch, whole) for each in value]
        if not isinstance(value, XTensorVariable):
            return value
        core = [d for d in self.core if d in value.dims]
        if is_law(value):
            return value.made_by.made([*batch, *core], whole=False)
        return aligned(value, [*batch, *core], keep=len(core) if whole else len(batch) + len(core))

    def _check(self, batch: Sequence[str]) -> None:
        common_dims(_within(self.arguments.values()))
        if set(batch) < set(self.batch):
            raise ValueError(f"{self.family.__name__} has the dims {self.batch}, asked for are {tuple(batch)}")

    def made(self, batch: Sequence[str], whole: bool = True) -> RandomVariable:
        """The draw by position."""
        return self.family.dist(**self.call(batch, whole))

    def check_core(self) -> None:
        """Raise where no core dims are given for a family of vectors, or of parameters that are vectors."""
        domains = [p.domain for p in self.family.params.values() if p.domain is not a_distribution]
        support = getattr(self.family.support, "ndim", 0)
        if not self.core and (support or any(domain.ndim for domain in domains)):
            raise self._lacking_core()

    def _lacking_core(self) -> ValueError:
        said = f"{self.core} are given" if self.core else "none are given"
        return ValueError(
            f"{self.family.__name__} requires core_dims to be specified, the dims of one value or of one parameter (of "
            f"a vector of probabilities, of the rows and columns of a matrix); {said}, for arguments with the dims "
            f"{[x.dims for x in _within(self.arguments.values())]}."
        )

    def event(self, draw: RandomVariable, batch: Sequence[str]) -> tuple[str, ...]:
        """The dims of one value of the draw."""
        n = draw.event_ndim
        if self.own:
            found = tuple(self.own)
        else:
            inner = [
                d for law in _within(self.arguments.values(), is_law) for d in law.dims if d not in law.made_by.batch
            ]
            cores = [[d for d in self.core if d in x.dims] for x in _within(self.arguments.values())]
            fitting = next((c for c in cores if len(c) == n), list(self.core[:n]))
            found = tuple(inner[:n] if len(inner) >= n > 0 else fitting) if n else ()
        if len(found) != n or len(batch) + n != draw.ndim:
            raise self._lacking_core()
        return found


def is_law(x: Any) -> bool:
    """Whether something is a labelled draw that can be made again for other dims."""
    return isinstance(x, XTensorVariable) and isinstance(x.made_by, Recipe) and x.name is None


def _within(values: Any, chosen: Callable[[Any], bool] = lambda x: True) -> list[XTensorVariable]:
    """The labelled tensors among arguments, also in lists of these."""
    flat = [y for x in values for y in (x if isinstance(x, list | tuple) else [x])]
    return [x for x in flat if isinstance(x, XTensorVariable) and chosen(x)]


def _zero_sum(arguments: dict[str, Any], core: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of a family that is told how many of its last axes sum to zero."""
    sigma = tt.as_tensor(arguments.get("sigma", 1.0))
    own = tt.expand_dims(sigma, tuple(range(-len(core), 0))) if sigma.ndim else sigma
    return {"sigma": own, "n_zerosum_axes": len(core)}


def as_argument(who: str, key: str, value: Any) -> Any:
    """An argument of a family with names for its axes; numbers, words and functions as they are."""
    if value is None or isinstance(value, str | bool | int | float | np.number) or callable(value):
        return value
    if isinstance(value, list | tuple) and any(isinstance(x, XTensorVariable) for x in value):
        return [as_argument(who, key, x) for x in value]
    try:
        return as_xtensor(value)
    except TypeError:
        raise ValueError(
            f"{who}: {key} must have dims associated with it, got {value!r}. Which axes belong together is never "
            "guessed: use as_xtensor(..., dims=(...)) to specify the dims explicitly."
        ) from None


def recipe_for(
    family: Any, args: Sequence[Any], kwargs: Mapping[str, Any], core_dims: Any, sizes: Mapping[str, Any] | None
) -> Recipe:
    """What a user asks for, arguments by their names."""
    who = family.__name__
    if len(args) > len(family.order):
        raise TypeError(
            f"{who} takes at most {len(family.order)} parameters, {', '.join(family.order)}; got {len(args)}"
        )
    given = dict(zip(family.order, args, strict=False))
    twice = sorted(set(given) & set(kwargs))
    if twice:
        raise TypeError(f"{who}: {', '.join(twice)} is given twice, by its place and by its name")
    for key in ("size", "shape", "dims"):
        if key in kwargs:
            raise TypeError(
                f"{who} with named dims does not accept {key}: dims and dim_lengths say how many there are."
            )
    core = () if core_dims is None else (core_dims,) if isinstance(core_dims, str) else tuple(core_dims)
    found = {key: as_argument(who, key, value) for key, value in {**given, **kwargs}.items()}
    ordered = {key: found.pop(key) for key in family.order if key in found} | found
    return Recipe(family, ordered, core, {k: as_length(n) for k, n in (sizes or {}).items()})


def as_length(n: Any) -> Any:
    """The length of a dim: a number, or a plain tensor."""
    return n.node if isinstance(n, XTensorVariable) else n


def labelled_draw(recipe: Recipe) -> XTensorVariable:
    """A draw without a model; its dims are those asked for, those of the parameters, those of one value."""
    if recipe.family.result:
        raise NotImplementedError(
            f"{recipe.family.__name__} gives more than its draw, and has no form with named dims: make it in pm, and "
            "name the axes of what it gives by as_xtensor(..., dims=(...))."
        )
    recipe.check_core()
    batch = recipe.batch
    draw = recipe.made(batch)
    return XTensorVariable(draw, (*batch, *recipe.event(draw, batch)), made_by=recipe)


def has_dims(x: Any) -> bool:
    """Whether a value brings names for its axes."""
    return isinstance(x, XTensorVariable) or is_labelled_array(x)
