"""Families that users define: by a density, by a function that draws, or by a random expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.arguments import tell_of_rng
from ppl.distributions.declaration.as_called import STATED
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, Param
from ppl.distributions.declaration.domains import Domain
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import RandomVariable, draw, is_draw
from ppl.distributions.draws.drawing import centered, expand_draws
from ppl.distributions.draws.operation import RandomOperation
from ppl.distributions.log_probability.evaluation import all_of
from ppl.distributions.log_probability.logprob import the_law
from ppl.distributions.log_probability.measure import Measure, NoDensityError, shown, sources
from ppl.graph import ancestors, substitute
from ppl.tensor.core.ops import broadcast_shape
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.core.sizes import sizes_of
from ppl.tensor.sampling.host_draw import host_draw
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, dtype_name, placeholder


class CustomDist(Distribution, abstract=True):
    """A distribution given by functions.

    `logp(value, *parameters)` and `logcdf` return tensors; `random(*parameters, rng, size)` draws with NumPy;
    `dist(*parameters, size)` returns a random expression, whose density and draws are then derived; a `logp` beside it
    is the density, where none follows or another form of it is better. `signature`, as
    "(n),(n,n)->(n)", tells how many axes each parameter and one value have; so do `ndims_params` and `ndim_supp`.
    `support_point(draw, size, *parameters)` is where sampling starts; `size` is the shape of independent draws.

    >>> import ppl.tensor as tt
    >>> with pm.Model() as model:
    ...     x = pm.CustomDist("x", 1.0, logp=lambda value, rate: tt.log(rate) - rate * value, observed=[0.5, 2.0])
    >>> round(float(model.compile_logp()({})), 3)
    -2.5
    """

    @classmethod
    def dist(  # type: ignore[override]
        cls,
        *dist_params: Any,
        dist: Callable[..., Any] | None = None,
        random: Callable[..., Any] | None = None,
        logp: Callable[..., Any] | None = None,
        logcdf: Callable[..., Any] | None = None,
        support_point: Callable[..., Any] | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        signature: str | None = None,
        dtype: Any = "floatX",
        class_name: str = "CustomDist",
        shape: Any = None,
        size: Any = None,
        name: str | None = None,
        rng: Any = None,
    ) -> RandomVariable:
        tell_of_rng(class_name, rng)
        if dist is not None and random is not None:
            raise TypeError(f"{class_name}: give dist, from which draws follow, or random, not both")
        for label, f in (("logp", logp), ("random", random), ("dist", dist), ("logcdf", logcdf)):
            if f is not None and not callable(f):
                raise TypeError(f"{class_name}: {label} is a function, got {f!r}")
        for p in dist_params:
            if callable(p) and not isinstance(p, Tensor):
                raise TypeError(f"{class_name}: parameters are numbers and tensors, got {p!r}. Is it logp= or dist=?")
        parameters = tuple(as_tensor(p) for p in dist_params)
        if signature is not None:
            ndims_params, ndim_supp = parsed(signature, class_name)
        axes = tuple(ndims_params) if ndims_params is not None else None
        if axes is not None and len(axes) != len(parameters):
            raise ValueError(f"{class_name}: {len(axes)} parameters are described, but {len(parameters)} are given")
        if shape is not None and size is not None:
            raise ValueError(f"{class_name}: give shape or size, not both")
        shape, size = (None if n is None else sizes_of(n) for n in (shape, size))
        if dist is not None:
            family, own = family_of_expression(class_name, axes, dist, ndim_supp, parameters, shape or size)
            if shape is None and size is None:
                if own is not None and None in own:
                    raise ValueError(f"{class_name}: the length of its values is known only from data: give shape=")
                size = own
            for fact, f in (("logp", logp), ("logcdf", logcdf)):  # the user's come before what follows from `dist`
                if f is not None:
                    setattr(family, STATED[fact], staticmethod(_as_function(f)))
            family.written_by_user = logp is not None
        else:
            axes = (0,) * len(parameters) if axes is None else axes
            family = family_of_functions(class_name, axes, ndim_supp or 0, dtype_name(dtype), logp, logcdf, random)
        if shape is not None:
            ndim = family.support.ndim
            size, family.event_shape = shape[: len(shape) - ndim], staticmethod(lambda *_: shape[len(shape) - ndim :])
        drawn = draw(family, parameters, size, name)
        if support_point is not None:
            batch = drawn.type.shape[: drawn.ndim - family.support.ndim] if size is None else tuple(size)
            family.support_point = staticmethod(partial(support_point, drawn, batch))
        return drawn


class DensityDist(CustomDist, abstract=True):
    """The older name of CustomDist."""


def parsed(signature: str, who: str) -> tuple[tuple[int, ...], int]:
    """How many axes the parameters and one value have, from "(n),(n,n)->(n)"; entries in brackets are left out."""
    match = re.fullmatch(r"(.*)->(.*)", signature.replace(" ", ""))
    groups = [re.findall(r"\(([^()]*)\)", side) for side in match.groups()] if match else [[], []]
    if len(groups[1]) != 1:
        raise ValueError(f'{who}: a signature is written as "(n),(n,n)->(n)", got {signature!r}')
    count = lambda group: len(group.split(",")) if group else 0
    return tuple(map(count, groups[0])), count(groups[1][0])


def anything(ndim: int, discrete: bool) -> Domain:
    entry = anything(0, discrete) if ndim else None
    return Domain("any value", lambda x: np.equal(x, x), ndim=ndim, discrete=discrete, entry=entry, examples=(0.0,))


class CustomDistRV(RandomOperation):
    """PyTensor's operations of laws given by a density or a function that draws."""


class CustomSymbolicDistRV(RandomOperation):
    """PyTensor's operations of laws given by a random expression."""


def new_family(
    class_name: str, axes: tuple[int, ...], domain: Domain, facts: dict[str, Any], in_pytensor: InPyTensor | None = None
) -> type[Distribution]:
    """A family with positional parameters; values are not checked, since only the user knows the support."""
    facts = facts | {"in_pytensor": in_pytensor or InPyTensor(class_name, kind=class_name, base=CustomDistRV)}
    names = [f"parameter_{i}" for i in range(len(axes))]
    body: dict[str, Any] = {n: Param(anything(a, False)) for n, a in zip(names, axes, strict=True)}
    family = type(Distribution)(class_name, (Custom,), {**body, **facts, "support": domain}, abstract=True)
    family.params = {n: body[n] for n in names}
    return family


class Custom(Distribution, abstract=True):
    """A family whose functions check the values themselves."""

    dtype: str | None = None

    @classmethod
    def draw_type(cls, parameters: Any, size: Any) -> TensorType:
        found = super().draw_type(parameters, size)
        return TensorType(cls.dtype or found.dtype, found.shape)

    @classmethod
    def log_density(cls, x: Any, *parameters: Any, checked: bool = True) -> Tensor:
        return as_tensor(cls.stated_logp(as_tensor(x), *parameters))

    @classmethod
    def log_cdf(cls, x: Any, *parameters: Any) -> Tensor:
        return as_tensor(cls.stated_logcdf(as_tensor(x), *parameters))

    @classmethod
    def log_ccdf(cls, x: Any, *parameters: Any) -> Tensor:
        return tt.log1mexp(tt.minimum(cls.log_cdf(x, *parameters), 0.0))

    @classmethod
    def inverse_cdf(cls, q: Any, *parameters: Any) -> Tensor:
        return (
            as_tensor(cls.stated_icdf(as_tensor(q), *parameters))
            if cls.stated_icdf
            else super().inverse_cdf(q, *parameters)
        )


def family_of_functions(
    class_name: str, axes: tuple[int, ...], ndim: int, dtype: str, logp: Any, logcdf: Any, random: Any
) -> type[Distribution]:
    """A family with the user's density and draws."""

    def unknown(what: str, remedy: str) -> Callable[..., Any]:
        def fail(*args: Any) -> Any:
            raise NotImplementedError(f"Attempted to run {what} on the {class_name}, but none was provided. {remedy}")

        return fail

    def sample(key: Any, shape: Any, *parameters: Any) -> Tensor:
        batch = len(shape) - ndim
        return host_draw(key.next(), _HostFunction(random, batch), parameters, shape, dtype)

    facts = {
        "logp": logp or unknown("logp", "Pass logp=, or dist= from which it follows."),
        "sample": sample if random else unknown("random", "Pass random=, or dist= from which draws follow."),
        "dtype": dtype,
        "written_by_user": True,
    }
    if logcdf is not None:
        facts["logcdf"] = logcdf
    facts = {key: _as_function(f) if callable(f) else f for key, f in facts.items()}
    return new_family(class_name, axes, anything(ndim, dtype[0] != "f"), facts)


def _as_function(f: Any) -> Callable[..., Any]:
    return lambda *args: f(*args)


class _HostFunction:
    """The user's `random(*parameters, rng, size)`, with the size of independent draws."""

    def __init__(self, random: Callable[..., Any], batch: int) -> None:
        self.random, self.batch = random, batch

    def __call__(self, rng: np.random.Generator, *parameters: np.ndarray, size: tuple[int, ...]) -> Any:
        return np.broadcast_to(self.random(*parameters, rng=rng, size=size[: self.batch]), size)

    def __hash__(self) -> int:
        return hash((self.random, self.batch))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HostFunction) and (self.random, self.batch) == (other.random, other.batch)


def family_of_expression(
    class_name: str,
    axes: tuple[int, ...] | None,
    dist: Callable[..., Any],
    ndim: int | None,
    examples: tuple[Tensor, ...],
    wanted: tuple[Any, ...] | None = None,
) -> tuple[type[Distribution], tuple[Any, ...] | None]:
    """A family whose density and draws follow from a random expression of the parameters, and the shape of independent
    values where that is not the one of the parameters together, as of the steps of a loop."""

    def expression(parameters: Sequence[Tensor], size: Any) -> Tensor:
        x = dist(*parameters, size)
        if not isinstance(x, Tensor):
            raise TypeError(f"{class_name}: dist(*parameters, size) returns a random expression, got {x!r}")
        return x

    def law(parameters: Sequence[Tensor], size: Any = None) -> tuple[Measure, dict[Tensor, Tensor]]:
        """The measure over placeholders, so that random parameters do not count as randomness of the expression."""
        stand_ins = {placeholder(p.type): p for p in map(as_tensor, parameters)}
        return the_law(expression(list(stand_ins), size)), stand_ins

    def fact(method: str) -> Callable[..., Tensor]:
        def f(x: Any, *parameters: Any) -> Tensor:
            measured, stand_ins = law(parameters)
            point = placeholder(as_tensor(x).type)
            result = getattr(measured, method)(point)
            left = sources(result)
            if left:
                raise NoDensityError(
                    f"No density for {class_name}: inside it the draw {shown(next(iter(left)))} is a parameter of "
                    "another. "
                    "Make it a variable of its own, and a parameter here."
                )
            return substitute(result, {**stand_ins, point: as_tensor(x)})  # type: ignore[return-value]

        return f

    def sample(key: Any, shape: Any, *parameters: Any) -> Tensor:
        batch = tuple(shape)[: len(shape) - domain.ndim]
        return expand_draws([expression(parameters, batch)], key.fold_in(0))[0]

    def drawable(*parameters: Tensor) -> Tensor | None:
        """As far as it does not depend on what is drawn inside."""
        inside = [x for x in ancestors([expression(parameters, None)], blockers=parameters) if is_draw(x)]
        known = [x for x in inside if not sources([p for p in x.inputs if p not in laws_of(x)]) - sources(parameters)]
        return all_of([x.family.drawable(*x.parameters) for x in known])

    example = expression([placeholder(p.type) for p in examples], None)
    try:
        measured = the_law(example)
        domain = anything(measured.ndim if ndim is None else ndim, example.dtype[0] != "f")
        facts: dict[str, Any] = {"logp": fact("logp"), "sample": sample}
        for name, method in (("logcdf", "below"), ("icdf", "quantile")):
            if getattr(measured, name) is not None:
                facts[name] = fact(method)
    except NoDensityError:
        domain = anything(ndim or 0, example.dtype[0] != "f")
        facts = {"logp": fact("logp"), "sample": sample}
    batch, event = example.type.shape[: example.ndim - domain.ndim], example.type.shape[example.ndim - domain.ndim :]
    center = lambda *parameters: centered(expression(parameters, None), parameters)

    def event_shape(*parameters: Tensor) -> tuple[Any, ...]:
        """The shape of one value; where data decide it, as an expression of the parameters."""
        if None not in event:
            return event
        lengths = shape_of(expression(parameters, None))
        return tuple(lengths[len(lengths) - domain.ndim :])

    facts |= {
        "dtype": example.dtype,
        "event_shape": event_shape,
        "drawable": staticmethod(drawable),
        "support_point": center,
    }
    together = _together(examples, wanted)
    operation = InPyTensor(
        None, kind=class_name, inputs="size * rng", outputs="* rng", symbolic=True, base=CustomSymbolicDistRV
    )
    if axes is not None or batch == together or (None in batch and together is not None):
        return new_family(class_name, axes or (0,) * len(examples), domain, facts, operation), None
    return new_family(class_name, tuple(p.ndim for p in examples), domain, facts, operation), batch


def _together(parameters: Sequence[Tensor], wanted: tuple[Any, ...] | None) -> tuple[int | None, ...] | None:
    """The shape of parameters together, where the one that is asked for is another form of it; None where they have
    none, as they are not taken entry by entry."""
    if not parameters:
        return ()
    try:
        if wanted is not None and all(isinstance(n, int) for n in wanted):
            broadcast_shape("", (*parameters, tt.zeros(wanted)))
        return broadcast_shape("", tuple(parameters))
    except (ValueError, TypeError):
        return None
