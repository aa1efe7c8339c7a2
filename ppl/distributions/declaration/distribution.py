r"""How a family of distributions is declared.

A family is a class whose body lists facts: parameters with their domains and defaults, the support, and functions of
(x, *parameters) without `self`, written in `ppl.tensor`, so that one line serves rewriting, gradients and XLA:

    class Normal(Distribution):
        mu, sigma = param(real, 0.0), param(positive, 1.0)
        support = real

        def logp(x, mu, sigma): ...

What may be declared: `logp`, `logcdf`, `logccdf`, `icdf`, `sample(key, shape, ...)`, `mean`, `variance`, `mode`,
`entropy`, `support_point`, and for exponential families `natural`, `statistics`, `log_normalizer`. A condition on
several parameters is declared by `requires`, other parameters by `alternative`, and `law = law_of(...)` says that the
family is the law of a function of another one's draw. Everything else is derived: checks, shapes, transforms, the
constructor inside a model, tests, documentation.

What theorems read is declared in the same way, as `location_scale = mu, sigma` or a function such as
`fisher_information`: `facts.py` names each of these facts with what it means.

`shape` in `sample` is the shape of the whole result, the axes of one value last. Families of vectors may also declare
`event_shape(*parameters)`, whose entries may be symbols, and, where what the user gives is not simply the parameters,
`accept(...)`: its signature is the user's, its dict the parameters. A parameter of `accept` called `shape` receives the
shape of the whole value where one was asked for. A parameter whose domain is `a_distribution` is a draw made with
`.dist(...)`: it stands for its law, is never drawn itself and never has a value.

`result(draw, store, **options)` is declared where the user gets something else than the draw: `store(suffix, tensor)`
keeps a tensor under the draw's name with that suffix and returns it; the options are further arguments of the user.

A fact is only ever asked inside the support and for valid parameters; `log_density`, `log_cdf`, `log_ccdf` and
`inverse_cdf` put the checks around it and say what holds elsewhere. The functions that a family declares are kept as
`stated_logp` and so on, for `Normal.logp(value, mu, sigma)` is PyMC's (`as_called.py`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ppl.distributions.declaration.arguments import as_parameter as as_parameter
from ppl.distributions.declaration.arguments import require as require
from ppl.distributions.declaration.arguments import tell_of_rng
from ppl.distributions.declaration.as_called import STATED, AsCalled
from ppl.distributions.declaration.declarations import Alternative, Missing, Requirement
from ppl.distributions.declaration.declarations import Param as Param
from ppl.distributions.declaration.declarations import alternative as alternative
from ppl.distributions.declaration.declarations import limit_of as limit_of
from ppl.distributions.declaration.declarations import param as param
from ppl.distributions.declaration.declarations import requires as requires
from ppl.distributions.declaration.domains import Domain, a_distribution
from ppl.distributions.declaration.facts import Facts
from ppl.distributions.declaration.law import Law
from ppl.distributions.declaration.parametrized import Parametrized
from ppl.distributions.declaration.signatures import DistMethod, FamilySignature
from ppl.distributions.draws.draw import RandomVariable, batch_shape, draw, draw_dtype, from_generator
from ppl.distributions.draws.operation import InPyTensor as InPyTensor
from ppl.distributions.draws.operation import OperationClass, OperationOfFamily
from ppl.distributions.log_probability.evaluation import Evaluated
from ppl.distributions.log_probability.evaluation import default_point as default_point
from ppl.graph import Node
from ppl.tensor.sampling.generators import moves_on
from ppl.tensor.tensor import Dim, Tensor, TensorType

FAMILIES: dict[str, type[Distribution]] = {}
FACTS = tuple(
    "logp logcdf logccdf icdf sample mean variance mode entropy support_point natural statistics log_normalizer "
    "event_shape accept result".split(" ")
)


class Distribution(Parametrized, Evaluated, Facts):
    """A family of distributions; see the module for how one is declared.

    >>> issubclass(pm.Normal, pm.Distribution), pm.Normal.support
    (True, real)
    """

    params: ClassVar[dict[str, Param]] = {}
    alternatives: ClassVar[tuple[Alternative, ...]] = ()
    requirements: ClassVar[tuple[Requirement, ...]] = ()
    law: ClassVar[Law | None] = None
    laws: ClassVar[int | None] = None  # how many of the parameters beyond the declared ones stand for their law only
    fixed: ClassVar[
        tuple[str, ...]
    ] = ()  # parameters that must be known for the family to be exponential in the others
    order: ClassVar[tuple[str, ...]] = ()  # of positional arguments, where PyMC's differs from the declared one
    written_by_user: ClassVar[bool] = False  # its log-density is a function of the user's, which may join rows
    in_pytensor: ClassVar[InPyTensor | None] = None  # where its name and parameters do not tell how PyTensor has it
    rv_type, rv_op = OperationClass(), OperationOfFamily()  # as programs written for PyMC ask
    __signature__ = FamilySignature()
    support: Any
    logp, logcdf, logccdf, icdf = AsCalled(), AsCalled(), AsCalled(), AsCalled()  # with PyTensor's parameters
    stated_logp: Any
    stated_logcdf: Any
    stated_logccdf: Any
    stated_icdf: Any
    sample: Any
    mean: Any
    variance: Any
    mode: Any
    entropy: Any
    support_point: Any
    natural: Any
    statistics: Any
    log_normalizer: Any
    event_shape: Any
    accept: Any
    result: Any

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = dict(vars(cls))
        declared = {name: value for name, value in own.items() if isinstance(value, Param) and value.name == name}
        cls.params = declared or cls.params
        found = tuple(value for value in own.values() if isinstance(value, Alternative))
        cls.alternatives = found or cls.alternatives
        cls.requirements = tuple(value for value in own.values() if isinstance(value, Requirement)) or cls.requirements
        if isinstance(own.get("law"), Law):
            own |= {fact: derived for fact, derived in own["law"].facts().items() if fact not in own}
            if own["law"].words:
                cls.change_of_variables = own["change_of_variables"] = own["law"].change_of_variables()
        cls._declare(own)
        for fact in FACTS:
            kept = STATED.get(fact, fact)
            if fact in own and (inspect.isfunction(own[fact]) or kept != fact):
                setattr(cls, kept, staticmethod(own[fact]) if inspect.isfunction(own[fact]) else own[fact])
                if kept != fact and fact in vars(cls):
                    delattr(cls, fact)
            elif not hasattr(cls, kept) or isinstance(getattr(cls, kept), Missing):
                setattr(cls, kept, Missing(cls.__name__, fact))
        if inspect.isfunction(own.get("support")):
            cls.support = staticmethod(own["support"])
        if not abstract:
            names = [*cls.params, *(n for a in cls.alternatives for n in a.takes if n not in cls.params)]
            if cls.accept:
                names = [n for n in inspect.signature(cls.accept).parameters if n != "shape"]
            cls.order = own.get("order") or tuple(dict.fromkeys(names))
            FAMILIES[cls.__name__] = cls

    @classmethod
    def params_are_users(cls) -> bool:
        """Whether a program has written the family, so that its parameters are those that it states."""
        return FAMILIES.get(cls.__name__) is not cls

    # --- making draws ---------------------------------------------------------------------------------------------
    def __new__(cls, name: str, *args: Any, **kwargs: Any) -> Any:
        """A random variable of the current model; `.dist(...)` makes one without a model."""
        if _registrar is None:
            raise TypeError(
                f"{cls.__name__}(name, ...) needs a model: use {cls.__name__}.dist(...) for a draw without one"
            )
        return _registrar(cls, name, args, kwargs)

    @DistMethod
    def dist(
        cls, *args: Any, shape: Any = None, size: Any = None, name: str | None = None, rng: Any = None, **kwargs: Any
    ) -> Any:
        """A draw without a model. `shape` is that of the whole value, `size` that of independent draws."""
        tell_of_rng(cls.__name__, rng)
        options = cls.take_options(kwargs)
        made = cls.make(*args, shape=shape, size=size, name=name, **kwargs)
        made = from_generator(made, rng) if moves_on(rng) else made
        return cls.result(made, lambda suffix, tensor: tensor, **options) if cls.result else made

    @classmethod
    def take_options(cls, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments meant for `result`, taken out of the user's."""
        names = list(inspect.signature(cls.result).parameters)[2:] if cls.result else []
        return {key: kwargs.pop(key) for key in names if key in kwargs}

    @classmethod
    def make(
        cls, *args: Any, shape: Any = None, size: Any = None, name: str | None = None, **kwargs: Any
    ) -> RandomVariable:
        """The draw itself, as `dist` makes it."""
        if shape is not None and size is not None:
            raise ValueError(
                f"{cls.__name__}: give shape, that of the whole, or size, that of independent draws, not both; got "
                f"shape={shape} and size={size}"
            )
        dims = None
        if shape is not None:
            dims = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) or _is_vector(shape) else (shape,)
        taken = cls.accept and cls._as_parameters(cls._accepted(args, kwargs, dims))
        parameters = taken or cls.resolve(args, kwargs)
        parameters = cls.admitted(parameters, name)
        if dims is not None:
            event = cls.event_ndim_of(parameters)
            if len(dims) < event:
                raise ValueError(
                    f"{cls.__name__}: one value has {event} axes, but the shape {dims} has {len(dims)}. Let it end "
                    f"in the shape of one value, {draw(cls, parameters).type.shape[-event:]}."
                )
            size = dims[: len(dims) - event]
        made = draw(cls, parameters, size, name)
        return made if dims is None else cls.check_shape(made, dims)

    @classmethod
    def check_shape(cls, made: RandomVariable, dims: tuple[Any, ...]) -> RandomVariable:
        """The draw, refused where the last axes of the shape asked for are not those of one value."""
        event = made.event_ndim
        known_as = ", ".join(
            f"{key} ({p.domain}) of shape {value.type.shape}"
            for (key, p), value in zip(cls.params.items(), made.parameters, strict=False)
        )
        for axis in range(-event, 0):
            wanted, known = dims[axis], made.type.shape[axis]
            if isinstance(wanted, int | np.integer) and known is not None and wanted != known:
                raise ValueError(
                    f"{cls.__name__}: one value has the shape {made.type.shape[-event:]} by its parameters, "
                    f"{known_as}, but the shape asked for, {dims}, ends in {dims[len(dims) - event :]}. Let it end in "
                    "the former."
                )
        return made

    # --- shapes -----------------------------------------------------------------------------------------------------
    @classmethod
    def event_ndim_of(cls, parameters: Any) -> int:
        """How many axes one value has."""
        return cls.support_for(parameters).ndim

    @classmethod
    def support_for(cls, parameters: Any) -> Domain:
        """The support, which may depend on the parameters."""
        return cls.support if isinstance(cls.support, Domain) else cls.support(*parameters)

    @classmethod
    def draw_type(cls, parameters: tuple[Node, ...], size: Any) -> TensorType:
        """The type of a draw."""
        domain = cls.support_for(parameters)
        drops = cls.event_axes(parameters)
        for (key, p), value in zip(cls.params.items(), parameters, strict=True):
            if value.type.ndim < p.domain.ndim:
                raise ValueError(
                    f"{cls.__name__}: {key} is {p.domain}, which has {p.domain.ndim} axes, got shape "
                    f"{value.type.shape}. Give it as many axes or more."
                )
        labels = [functools.partial("{} ({})".format, key, p.domain) for key, p in cls.params.items()]
        batch = batch_shape(cls.__name__, parameters, drops, labels, size)
        return TensorType(draw_dtype(domain.discrete), batch + cls.event_shape_of(parameters, domain))

    @classmethod
    def event_axes(cls, parameters: Any) -> list[int]:
        """How many of the last axes of each parameter belong to one value; the axes before them are of the batch."""
        return [
            value.attrs["event_ndim"] if p.domain is a_distribution else p.domain.ndim
            for p, value in zip(cls.params.values(), parameters, strict=True)
        ]

    @classmethod
    def event_shape_of(cls, parameters: Any, domain: Domain) -> tuple[Dim, ...]:
        if domain.ndim == 0:
            return ()
        if cls.event_shape:
            return tuple(None if isinstance(n, Tensor) else int(n) for n in cls.event_shape(*parameters))
        source = next(v for v, p in zip(parameters, cls.params.values(), strict=True) if p.domain.ndim >= domain.ndim)
        return source.type.shape[source.type.ndim - domain.ndim :]


def _is_vector(shape: Any) -> bool:
    return isinstance(shape, Tensor) and shape.ndim == 1


Registrar = Callable[[type[Distribution], str, tuple[Any, ...], dict[str, Any]], Any]
_registrar: Registrar | None = None


def set_registrar(registrar: Registrar) -> None:
    """The model layer says here what `Normal("x", ...)` does."""
    global _registrar
    _registrar = registrar
