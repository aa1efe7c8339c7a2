r"""How a family of distributions is declared.

A family is a class whose body lists facts: parameters with their domains and defaults, the support, and functions of
(x, *parameters) without `self`, written in `ppl.tensor`, so that one line serves rewriting, gradients and XLA:

    class Normal(Distribution):
        mu, sigma = param(real, 0.0), param(positive, 1.0)
        support = real

        def logp(x, mu, sigma): ...

What may be declared: `logp`, `logcdf`, `logccdf`, `icdf`, `sample(key, shape, ...)`, `mean`, `variance`, `mode`,
`entropy`, `support_point`, and for exponential families `natural`, `statistics`, `log_normaliser`. A condition on
several parameters is declared by `requires`, other parameters by `alternative`, and `law = law_of(...)` says that the
family is the law of a function of another one's draw. Everything else is derived: checks, shapes, transforms, the
constructor inside a model, tests, documentation.

`shape` in `sample` is the shape of the whole result, the axes of one value last. Families of vectors may also declare
`event_shape(*parameters)`, whose entries may be symbols, and, where what the user gives is not simply the parameters,
`accept(...)`: its signature is the user's, its dict the parameters. A parameter of `accept` called `shape` receives the
shape of the whole value where one was asked for. A parameter whose domain is `a_distribution` is a draw made with
`.dist(...)`: it stands for its law, is never drawn itself and never has a value.

`result(draw, store, **options)` is declared where the user gets something else than the draw: `store(suffix, tensor)`
keeps a tensor under the draw's name with that suffix and returns it; the options are further arguments of the user.

A fact is only ever asked inside the support and for valid parameters; `log_density`, `log_cdf`, `log_ccdf` and
`inverse_cdf` put the checks around it and say what holds elsewhere.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import jax
import numpy as np

import ppl.tensor as tt
from ppl.distributions.domains import Domain, a_distribution, real, real_matrix, real_vector
from ppl.distributions.draw import RandomVariable, batch_shape, draw, draw_dtype
from ppl.distributions.law import Law
from ppl.distributions.probability import FORMS
from ppl.distributions.quantile import Number, quantile
from ppl.graph import Node
from ppl.tensor.evaluate import evaluate
from ppl.tensor.tensor import Dim, Tensor, TensorType, as_tensor, is_constant, value_of

FAMILIES: dict[str, type[Distribution]] = {}
FACTS = tuple(
    "logp logcdf logccdf icdf sample mean variance mode entropy support_point natural statistics log_normaliser "
    "event_shape accept result".split(" ")
)


class Param:
    """A parameter: its domain, and a default where it has one."""

    def __init__(self, domain: Domain, default: Any = None) -> None:
        self.domain, self.default = domain, default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


def param(domain: Domain, default: Any = None) -> Any:
    """Declare a parameter of a family."""
    return Param(domain, default)


class Alternative:
    """Other parameters: a function from them to the declared ones they determine, and their domains."""

    def __init__(self, convert: Callable[..., Mapping[str, Any]], domains: Mapping[str, Domain]) -> None:
        self.convert, self.domains = convert, domains
        self.takes = tuple(inspect.signature(convert).parameters)


def alternative(convert: Callable[..., Mapping[str, Any]], **domains: Domain) -> Any:
    """Declare another parametrisation: the function's parameters are the user's, its dict gives the family's.

    `domains` are those of the user's parameters, as in `alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)`.
    """
    return Alternative(convert, domains)


class Requirement:
    """A condition on several parameters, and the words that say it."""

    def __init__(self, holds: Callable[..., Any], words: str) -> None:
        self.holds, self.words = holds, words
        self.takes = tuple(inspect.signature(holds).parameters)


def requires(holds: Callable[..., Any], words: str) -> Any:
    """Declare a condition on several parameters, as in `requires(lambda lower, upper: lower < upper, "...")`."""
    return Requirement(holds, words)


class Missing:
    """A fact a family does not declare: calling it says so."""

    def __init__(self, family: str, fact: str) -> None:
        self.family, self.fact = family, fact

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.family} declares no {self.fact}")

    def __bool__(self) -> bool:
        return False


class Distribution:
    """A family of distributions; see the module for how one is declared."""

    params: ClassVar[dict[str, Param]] = {}
    alternatives: ClassVar[tuple[Alternative, ...]] = ()
    requirements: ClassVar[tuple[Requirement, ...]] = ()
    law: ClassVar[Law | None] = None
    fixed: ClassVar[
        tuple[str, ...]
    ] = ()  # parameters that must be known for the family to be exponential in the others
    order: ClassVar[tuple[str, ...]] = ()  # of positional arguments, where PyMC's differs from the declared one
    support: Any
    logp: Any
    logcdf: Any
    logccdf: Any
    icdf: Any
    sample: Any
    mean: Any
    variance: Any
    mode: Any
    entropy: Any
    support_point: Any
    natural: Any
    statistics: Any
    log_normaliser: Any
    event_shape: Any
    accept: Any
    result: Any

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = dict(vars(cls))
        declared = {name: value for name, value in own.items() if isinstance(value, Param)}
        cls.params = declared or cls.params
        found = tuple(value for value in own.values() if isinstance(value, Alternative))
        cls.alternatives = found or cls.alternatives
        cls.requirements = tuple(value for value in own.values() if isinstance(value, Requirement)) or cls.requirements
        if isinstance(own.get("law"), Law):
            own |= {fact: derived for fact, derived in own["law"].facts().items() if fact not in own}
        for fact in FACTS:
            if fact in own and inspect.isfunction(own[fact]):
                setattr(cls, fact, staticmethod(own[fact]))
            elif not hasattr(cls, fact) or isinstance(getattr(cls, fact), Missing):
                setattr(cls, fact, Missing(cls.__name__, fact))
        if inspect.isfunction(own.get("support")):
            cls.support = staticmethod(own["support"])
        if not abstract:
            names = [*cls.params, *(n for a in cls.alternatives for n in a.takes if n not in cls.params)]
            if cls.accept:
                names = [n for n in inspect.signature(cls.accept).parameters if n != "shape"]
            cls.order = own.get("order") or tuple(dict.fromkeys(names))
            FAMILIES[cls.__name__] = cls

    # --- making draws ---------------------------------------------------------------------------------------------
    def __new__(cls, name: str, *args: Any, **kwargs: Any) -> Any:
        """A random variable of the current model; `.dist(...)` makes one without a model."""
        if _registrar is None:
            raise TypeError(
                f"{cls.__name__}(name, ...) needs a model: use {cls.__name__}.dist(...) for a draw without one"
            )
        return _registrar(cls, name, args, kwargs)

    @classmethod
    def dist(cls, *args: Any, shape: Any = None, size: Any = None, name: str | None = None, **kwargs: Any) -> Any:
        """A draw without a model. `shape` is that of the whole value, `size` that of independent draws."""
        options = cls.take_options(kwargs)
        made = cls.make(*args, shape=shape, size=size, name=name, **kwargs)
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
            raise ValueError(f"{cls.__name__}: give shape or size, not both")
        dims = None
        if shape is not None:
            dims = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) or _is_vector(shape) else (shape,)
        taken = cls.accept and cls._as_parameters(cls._accepted(args, kwargs, dims))
        parameters = taken or cls.resolve(args, kwargs)
        cls.check_constants(parameters, name)
        if dims is not None:
            event = cls.event_ndim_of(parameters)
            if len(dims) < event:
                raise ValueError(f"{cls.__name__}: one value has {event} axes, but the shape {dims} has {len(dims)}")
            size = dims[: len(dims) - event]
        made = draw(cls, parameters, size, name)
        return made if dims is None else cls.check_shape(made, dims)

    @classmethod
    def check_shape(cls, made: RandomVariable, dims: tuple[Any, ...]) -> RandomVariable:
        """The draw, refused where the last axes of the shape asked for are not those of one value."""
        event = made.event_ndim
        for axis in range(-event, 0):
            wanted, known = dims[axis], made.type.shape[axis]
            if isinstance(wanted, int | np.integer) and known is not None and wanted != known:
                raise ValueError(
                    f"{cls.__name__}: one value has the shape {made.type.shape[-event:]} by its parameters, but the "
                    f"shape asked for, {dims}, ends in {dims[len(dims) - event :]}. Let it end in the former."
                )
        return made

    @classmethod
    def resolve(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """The declared parameters, from whichever parametrisation the user chose."""
        who = cls.__name__
        if cls.accept:
            return cls._as_parameters(cls._accepted(args, kwargs, None))
        if len(args) > len(cls.order):
            raise TypeError(
                f"{who} takes at most {len(cls.order)} parameters ({', '.join(cls.order)}), got {len(args)}"
            )
        given = dict(zip(cls.order, args, strict=False))
        for key, value in kwargs.items():
            if key not in cls.order:
                raise TypeError(_unknown(who, key, cls.order))
            if given.get(key) is not None and value is not None:
                raise TypeError(f"{who}: {key} is given twice")
            given[key] = value if value is not None else given.get(key)
        given = {key: value for key, value in given.items() if value is not None}
        values = {key: given.pop(key) for key in list(given) if key in cls.params}
        if given:
            values = cls._converted(given, values)
        for key, parameter in cls.params.items():
            if key not in values:
                if parameter.default is None:
                    raise TypeError(cls._lacking(key))
                values[key] = parameter.default
        return cls._as_parameters(values)

    @classmethod
    def _as_parameters(cls, values: Mapping[str, Any]) -> tuple[Tensor, ...]:
        return tuple(as_parameter(values[key], p.domain, f"{cls.__name__}: {key}") for key, p in cls.params.items())

    @classmethod
    def _accepted(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], shape: Any) -> Mapping[str, Any]:
        """The parameters that `accept` makes of the user's arguments."""
        signature = inspect.signature(cls.accept)
        for key in kwargs:
            if key not in cls.order:
                raise TypeError(_unknown(cls.__name__, key, cls.order))
        given = {**kwargs, "shape": shape} if "shape" in signature.parameters else kwargs
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}{str(signature).replace(', shape=None', '')}: {error}") from None
        return cls.accept(*bound.args, **bound.kwargs)

    @classmethod
    def _converted(cls, given: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        everything = {**given, **values}
        fitting = [a for a in cls.alternatives if set(given) <= set(a.takes) and set(a.takes) <= set(everything)]
        for each in sorted(fitting, key=lambda a: -len(a.takes)):
            tensors = {k: as_tensor(everything[k]) for k in each.takes}
            converted = dict(each.convert(**tensors))
            kept = {k: v for k, v in values.items() if k not in each.takes}
            if set(converted) & set(kept):
                continue
            for key, tensor in tensors.items():
                if is_constant(tensor):
                    require(value_of(tensor), each.domains.get(key, real), f"{cls.__name__}: {key}")
            if all(map(is_constant, tensors.values())):
                converted = {key: _folded(as_tensor(value)) for key, value in converted.items()}
            return {**kept, **converted}
        raise ValueError(f"{cls.__name__}: {cls._conflict(given, values)}")

    @classmethod
    def _conflict(cls, given: dict[str, Any], values: dict[str, Any]) -> str:
        """Why these parameters do not go together: two that say the same thing, or one that needs another."""
        everything = [*values, *given]
        for each in cls.alternatives:
            if not set(each.takes) <= set(everything):
                continue
            gives = each.convert(**{key: as_tensor({**values, **given}[key]) for key in each.takes})
            replaced = [key for key in gives if key in values and key not in each.takes]
            instead = [key for key in each.takes if key in given]
            if replaced and instead:
                return f"give {' and '.join(replaced)} or {' and '.join(instead)}, not both"
        ways = [", ".join(cls.params), *(", ".join(a.takes) for a in cls.alternatives)]
        verb = "do not go together" if len(everything) > 1 else "is not enough"
        return f"{', '.join(everything)} {verb}. Give one of: {'; '.join(dict.fromkeys(ways))}."

    @classmethod
    def _lacking(cls, key: str) -> str:
        ways = [a for a in cls.alternatives if key not in a.takes]
        instead = f", or {' or '.join(' and '.join(a.takes) for a in ways)}" if ways else ""
        return f"{cls.__name__} needs {key}{instead}"

    @classmethod
    def check_constants(cls, parameters: tuple[Tensor, ...], name: str | None) -> None:
        """Refuse constant parameters outside their domains: who, which parameter, its value, and what to do."""
        for parameter, value in zip(cls.params.values(), parameters, strict=False):
            if is_constant(value):
                domain = parameter.domain
                require(value_of(value), domain, f"{cls.who(name)}: {parameter.name}")
        for each in cls.requirements:
            values = cls._named(parameters, each.takes)
            if all(map(is_constant, values.values())):
                arrays = {key: value_of(value) for key, value in values.items()}
                if not np.all(each.holds(**arrays)):
                    shown = ", ".join(f"{key}={np.array2string(a, threshold=8)}" for key, a in arrays.items())
                    raise ValueError(f"{cls.who(name)}: {each.words}, got {shown}")

    @classmethod
    def who(cls, name: str | None) -> str:
        """How errors call a draw."""
        return f'{cls.__name__} "{name}"' if name else cls.__name__

    @classmethod
    def _named(cls, parameters: Any, names: tuple[str, ...]) -> dict[str, Any]:
        everything = dict(zip(cls.params, parameters, strict=False))
        return {name: everything[name] for name in names}

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
                    f"{cls.__name__}: {key} is {p.domain}, which has {p.domain.ndim} axes, got shape {value.type.shape}"
                )
        batch = batch_shape(cls.__name__, parameters, drops, list(cls.params), size)
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

    # --- densities --------------------------------------------------------------------------------------------------
    @classmethod
    def log_density(cls, x: Any, *parameters: Any, checked: bool = True) -> Tensor:
        """log p(x), -inf outside the support, at infinity, and for parameters outside their domains; nan for nan.

        With `checked=False` both are taken as given, as for values that come out of a transform.
        """
        domain = cls.support_for(parameters)
        x = _as_value(x, domain)
        valid, outside = cls.in_domains(parameters), as_tensor(-np.inf)
        if checked:
            inside, outside = _inside(x, domain), _log_of_nothing(x, domain)
            safe = tt.switch(_over_event(inside, domain.ndim), x, cls.safe_point(parameters, domain, x))
            valid = inside if valid is None else inside & valid
            x = safe
        density = cls.logp(x, *parameters)
        return density if valid is None else tt.switch(valid, density, outside)

    @classmethod
    def log_cdf(cls, x: Any, *parameters: Any) -> Tensor:
        """log P(X ≤ x): -inf below the support, 0 above it, -inf for parameters outside their domains."""
        return cls._log_tail(cls.logcdf, x, parameters, (-np.inf, 0.0))

    @classmethod
    def log_ccdf(cls, x: Any, *parameters: Any) -> Tensor:
        """log P(X > x); from the distribution function where the family does not say it better."""
        if not cls.logccdf and cls.logcdf:
            return tt.log1mexp(tt.minimum(cls.log_cdf(x, *parameters), 0.0))  # rounded, it may be above
        return cls._log_tail(cls.logccdf, x, parameters, (0.0, -np.inf))

    @classmethod
    def _log_tail(cls, fact: Any, x: Any, parameters: Any, ends: tuple[float, float]) -> Tensor:
        domain = cls.support_for(parameters)
        x = _as_value(x, domain)
        if domain.discrete:
            x = tt.floor(x)
        low, high = cls.number(parameters).limits
        below = x < low if domain.discrete or domain.atoms else x <= low
        below, above = below | tt.equal(x, -np.inf), x >= high
        point = cls.safe_point(parameters, domain, x)
        inner = fact(tt.switch(below | above, point, x), *parameters)
        value = tt.switch(below, ends[0], tt.switch(above, ends[1], inner))
        if not _surely_finite(x):
            value = tt.switch(tt.isnan(x), np.nan, value)
        valid = cls.in_domains(parameters)
        return value if valid is None else tt.switch(valid, value, -np.inf)

    @classmethod
    def inverse_cdf(cls, q: Any, *parameters: Any) -> Tensor:
        """The smallest x with P(X ≤ x) ≥ q; nan for q outside [0, 1] and for parameters outside their domains."""
        valid = cls.in_domains(parameters)
        value = quantile(cls.number(parameters), q)
        return value if valid is None else tt.switch(valid, value, np.nan)

    @classmethod
    def number(cls, parameters: Any) -> Number:
        """What quantiles are found from."""
        domain = cls.support_for(parameters)
        return Number(
            (lambda x: cls.log_cdf(x, *parameters)) if cls.logcdf else None,
            (lambda x: cls.log_ccdf(x, *parameters)) if cls.logcdf else None,
            (lambda q: cls.icdf(q, *parameters)) if cls.icdf else None,
            (domain.lower, domain.upper),
            domain.discrete,
        )

    @classmethod
    def has_quantile(cls, parameters: Any) -> bool:
        """Whether quantiles can be had: by a formula, or from the distribution function."""
        return bool(cls.icdf) or (bool(cls.logcdf) and cls.support_for(parameters).ndim == 0)

    @classmethod
    def safe_point(cls, parameters: Any, domain: Domain, x: Tensor) -> Tensor:
        """Some value inside the support, where the density is evaluated in place of a value outside."""
        return tt.stop_gradient(tt.cast(default_point(cls, parameters, domain), x.dtype))

    @classmethod
    def in_domains(cls, parameters: Any) -> Tensor | None:
        """Whether the parameters lie in their domains, as far as this is not known when the graph is built."""
        conditions = [
            as_tensor(p.domain.contains(value))
            for p, value in zip(cls.params.values(), parameters, strict=False)
            if not is_constant(value)
            and p.domain is not a_distribution
            and p.domain.name not in ("real", "a vector of reals", "a matrix of reals")
        ]
        for each in cls.requirements:
            values = cls._named(parameters, each.takes)
            if not all(map(is_constant, values.values())):
                conditions.append(as_tensor(each.holds(**values)))
        result: Tensor | None = None
        for condition in conditions:
            result = condition if result is None else result & condition
        return result


def _as_value(x: Any, domain: Domain) -> Tensor:
    """A value as a tensor, of floats where the support is continuous."""
    x = as_tensor(x)
    return x if domain.discrete or x.dtype[0] in "fc" else tt.cast(x, "floatX")


def _surely_finite(x: Tensor) -> bool:
    return x.dtype[0] != "f" or (is_constant(x) and bool(np.isfinite(value_of(x)).all()))


def _inside(x: Tensor, domain: Domain) -> Tensor:
    """Which values lie in a support; what is infinite lies in none."""
    inside = as_tensor(domain.contains(x))
    if _surely_finite(x) or (domain.lower is not None and domain.upper is not None):
        return inside
    finite = tt.all(tt.isfinite(x), axis=tuple(range(-domain.ndim, 0))) if domain.ndim else tt.isfinite(x)
    return finite if domain in (real, real_vector, real_matrix) else inside & finite


def _log_of_nothing(x: Tensor, domain: Domain) -> Tensor:
    """The log-density outside the support: -inf, and nan for nan."""
    if _surely_finite(x):
        return as_tensor(-np.inf)
    size = tt.abs(tt.stop_gradient(x))
    return -np.inf - (tt.sum(size, axis=tuple(range(-domain.ndim, 0))) if domain.ndim else size)


def _over_event(inside: Tensor, ndim: int) -> Tensor:
    return tt.expand_dims(inside, tuple(range(-ndim, 0))) if ndim else inside


def _folded(x: Tensor) -> Tensor:
    """The number that an expression of constants is; `sigmoid(a)` stays one of a number, for `probability.log_of`."""
    if x.op in FORMS:
        return Node(x.op, tuple([_folded(each) for each in x.inputs]), x.attrs)  # type: ignore[return-value,arg-type]
    with jax.enable_x64(True):
        return as_tensor(np.asarray(evaluate([x], {})[0]))


def default_point(family: type[Distribution], parameters: Any, domain: Domain) -> Any:
    """A point inside the support: the declared support point, the mean, or the middle of the bounds."""
    if family.support_point:
        return family.support_point(*parameters)
    if family.mean and not domain.discrete:
        return family.mean(*parameters)
    if family.mean:
        return tt.clip(tt.floor(family.mean(*parameters)), domain.lower, domain.upper)
    if domain.lower is not None and domain.upper is not None:
        return (domain.lower + domain.upper) / 2
    if domain.lower is not None:
        return domain.lower + 1.0
    return as_tensor(domain.examples[0])


def as_parameter(value: Any, domain: Domain, who: str) -> Tensor:
    """A parameter as a tensor."""
    if domain is a_distribution:
        if not isinstance(value, RandomVariable):
            raise TypeError(f"{who} must be {domain}, as Normal.dist(0, 1); got {value!r}")
        if value.name is not None:
            raise ValueError(f"{who}: {value.name!r} is a variable of a model; make one without a name by .dist(...)")
        return value
    try:
        tensor = as_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{who} must be {domain}, got {value!r}") from error
    if domain.discrete and is_constant(tensor) and tensor.dtype[0] == "f":
        array = value_of(tensor)
        if np.all(np.isfinite(array)) and np.all(array == np.floor(array)):
            tensor = as_tensor(array.astype(np.int64))
    return tensor


def require(array: np.ndarray, domain: Domain, who: str) -> None:
    """Refuse values outside a domain; `who` begins the message."""
    if array.ndim < domain.ndim:
        raise ValueError(f"{who} must be {domain}, which has {domain.ndim} axes, got shape {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        where = f" at position {tuple(int(i) for i in np.argwhere(np.isnan(array))[0])}" if array.ndim else ""
        raise ValueError(f"{who} is nan{where}")
    inside = np.asarray(domain.contains(array))
    if inside.all():
        return
    at = tuple(int(i) for i in np.argwhere(~inside)[0])
    if domain.entries is not None:
        at += tuple(int(i) for i in np.argwhere(~np.asarray(domain.entries(array[at])))[0])
    where = f" at position {at if len(at) > 1 else at[0]}" if at else ""
    remedy = f". To mend it: {domain.remedy}." if domain.remedy else ""
    found = repr(array[at].item()) if np.ndim(array[at]) == 0 else np.array2string(array[at], threshold=8)
    raise ValueError(f"{who} must be {domain}, got {found}{where}{remedy}")


def _unknown(who: str, key: str, known: tuple[str, ...]) -> str:
    old = {"sd": "sigma"}
    close = [old[key]] if old.get(key) in known else difflib.get_close_matches(key, known, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"{who} has no parameter {key!r}.{hint} It takes {', '.join(known)}."


def _is_vector(shape: Any) -> bool:
    return isinstance(shape, Tensor) and shape.ndim == 1


Registrar = Callable[[type[Distribution], str, tuple[Any, ...], dict[str, Any]], Any]
_registrar: Registrar | None = None


def set_registrar(registrar: Registrar) -> None:
    """The model layer says here what `Normal("x", ...)` does."""
    global _registrar
    _registrar = registrar
