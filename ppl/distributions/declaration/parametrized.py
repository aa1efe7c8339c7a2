"""What a family makes of a user's arguments: its declared parameters, checked, whichever parametrization was chosen.

What is wrong is said with the family, the parameter, its domain, the value and the remedy.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.arguments import as_parameter, require, unknown, unproved
from ppl.distributions.declaration.declarations import Alternative
from ppl.distributions.declaration.domains import Domain, extended_real, real
from ppl.graph import Node
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.core.later import wide
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

# A parameter stays written as one of these functions of a number: its logarithm is exact (`formulas.probability`).
FORMS = frozenset({tt.exp, tt.sigmoid, tt.softmax, tt.share})


class Parametrized:
    """The part of a family that takes arguments."""

    params: Any
    alternatives: Any
    requirements: Any
    order: Any
    accept: Any
    _named: Any

    @classmethod
    def resolve(cls, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, ...]:
        """The declared parameters, from whichever parametrization the user chose."""
        who = cls.__name__
        if cls.accept:
            return cls._as_parameters(cls._accepted(args, kwargs, None))
        if len(args) > len(cls.order):
            raise TypeError(
                f"{who} takes at most {len(cls.order)} parameters ({cls._with_domains(cls.order)}), got {len(args)}: "
                f"{', '.join(map(repr, args))}"
            )
        given = dict(zip(cls.order, args, strict=False))
        for key, value in kwargs.items():
            if key == "dims":
                raise NotImplementedError(
                    f"{who}.dist: dims= is of variables of a model, as in {who}(name, ..., dims={value!r}). "
                    "A draw without a name has shape= or size=."
                )
            if key not in cls.order:
                raise TypeError(unknown(who, key, value, cls.order, cls._with_domains(cls.order)))
            if given.get(key) is not None and value is not None:
                raise TypeError(
                    f"{who}: {cls._with_domains([key])} is given twice, as {given[key]!r} by its place and as "
                    f"{value!r} by its name. Give it once."
                )
            given[key] = value if value is not None else given.get(key)
        for key in [key for key, value in given.items() if value is None]:
            cls._refuse_none(key)
            del given[key]
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
                raise TypeError(unknown(cls.__name__, key, kwargs[key], cls.order, cls._with_domains(cls.order)))
        given = {**kwargs, "shape": shape} if "shape" in signature.parameters else kwargs
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}{str(signature).replace(', shape=None', '')}: {error}") from None
        for key, value in bound.arguments.items():
            if value is None and (default := signature.parameters[key].default) is not None:
                raise TypeError(cls._none_given(key, default))
        return cls.accept(*bound.args, **bound.kwargs)

    @classmethod
    def _refuse_none(cls, key: str) -> None:
        """Refuse None for a parameter that has a default and no other way to be given: no bound, or sigma for tau."""
        declared = cls.params.get(key)
        if declared is None or declared.default is None or declared.domain is extended_real:
            return
        if not any(key in each.takes for each in cls.alternatives) and not cls._alternatives_giving(key):
            raise TypeError(cls._none_given(key, declared.default))

    @classmethod
    def _alternatives_giving(cls, key: str) -> list[Alternative]:
        """The parametrizations that determine a declared parameter which they do not take."""
        half = as_tensor(0.5)
        others = [each for each in cls.alternatives if key not in each.takes]
        return [each for each in others if key in each.convert(**dict.fromkeys(each.takes, half))]

    @classmethod
    def _none_given(cls, key: str, default: Any) -> str:
        rest = "Give it." if default is inspect.Parameter.empty else f"Leave it out for its default, {default!r}."
        domain = f" must be {cls.params[key].domain}, got" if key in cls.params else " is"
        return f"{cls.__name__}: {key}{domain} None. {rest}"

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
                cls._check_converted(tensors, converted)
            return {**kept, **converted}
        raise ValueError(f"{cls.__name__}: {cls._conflict(given, values)}")

    @classmethod
    def _check_converted(cls, given: Mapping[str, Tensor], converted: Mapping[str, Tensor]) -> None:
        """Refuse what gives a declared parameter outside its domain, though each given one is inside its own."""
        for key, value in converted.items():
            domain = cls.params[key].domain
            if is_constant(value) and not np.all(domain.contains(value_of(value))):
                shown = ", ".join(f"{name}={_shown(value_of(x))}" for name, x in given.items())
                raise ValueError(
                    f"{cls.__name__}: {shown} give {key}={_shown(value_of(value))}, but {key} must be {domain}. "
                    f"Give {' and '.join(given)} that go together, or {key} itself."
                )

    @classmethod
    def _with_domains(cls, names: Any) -> str:
        """The user's parameters, each with its domain in brackets where one is declared."""
        domains = {key: domain for each in cls.alternatives for key, domain in each.domains.items()}
        domains |= {key: p.domain for key, p in cls.params.items()}
        return ", ".join(f"{name} ({domains[name]})" if name in domains else name for name in names)

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
                shown = ", ".join(f"{key}={_shown({**values, **given}[key])}" for key in (*replaced, *instead))
                named = cls._with_domains([*replaced, *instead])
                choice = f"{' and '.join(replaced)} or {' and '.join(instead)}"
                return f"give {choice}, not both; got {shown}. They are {named}."
        ways = [", ".join(cls.params), *(", ".join(a.takes) for a in cls.alternatives)]
        verb = "do not go together" if len(everything) > 1 else "is not enough"
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in {**values, **given}.items())
        known = cls._with_domains(everything)
        return f"{known} {verb}, got {shown}. Give one of: {'; '.join(dict.fromkeys(ways))}."

    @classmethod
    def _lacking(cls, key: str) -> str:
        ways = cls._alternatives_giving(key)
        instead = f", or {' or '.join(' and '.join(a.takes) for a in ways)}" if ways else ""
        return f"{cls.__name__} needs {cls._with_domains([key])}{instead}"

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
                    shown = ", ".join(f"{key}={_shown(a)}" for key, a in arrays.items())
                    known = f" They are {cls._with_domains(arrays)}." if cls.params else ""
                    raise ValueError(f"{cls.who(name)}: {each.words}, got {shown}.{known} To mend it: {each.remedy}.")

    @classmethod
    def admitted(cls, parameters: tuple[Tensor, ...], name: str | None) -> tuple[Tensor, ...]:
        """The parameters of a new draw, with a warning for constants outside their domains. Such a constant stays, as a
        value of which nothing is proved: densities are -inf, as those of data outside are. Of a count with a fraction
        it is the whole part that counts, as in PyMC."""
        whole = [
            _cut(x, p.domain, f"{cls.who(name)}: {p.name}")
            for p, x in zip(cls.params.values(), parameters, strict=False)
        ]
        parameters = (*whole, *parameters[len(whole) :])
        try:
            cls.check_constants(parameters, name)
            return parameters
        except ValueError as error:
            if any(x.ndim < p.domain.ndim for p, x in zip(cls.params.values(), parameters, strict=False)):
                raise
            text = f"{str(error).rstrip('.')}. Its log-density is not finite."
        warnings.warn(text, UserWarning, stacklevel=7 if name else 5)
        return cls._unproved(parameters)

    @classmethod
    def doubt(cls, parameters: tuple[Tensor, ...], name: str | None) -> str | None:
        """What was told of constants outside their domains; None where there are none."""
        if not any(x.op is unproved for x in parameters):
            return None
        try:
            cls.check_constants(tuple([x.inputs[0] if x.op is unproved else x for x in parameters]), name)  # type: ignore[misc]
        except ValueError as error:
            return str(error)
        return None

    @classmethod
    def _unproved(cls, parameters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The parameters, those constants as unproved values that are outside their domains or do not go together."""
        constants = {p.name: x for p, x in zip(cls.params.values(), parameters, strict=False) if is_constant(x)}
        bad = {key for key, x in constants.items() if not _is_member(value_of(x), cls.params[key].domain)}
        if not bad:
            bad = {key for each in cls.requirements for key in each.takes if key in constants}
        named = [*cls.params, *[None] * len(parameters)]
        return tuple([unproved(x) if key in bad else x for key, x in zip(named, parameters, strict=False)])

    @classmethod
    def who(cls, name: str | None) -> str:
        """How errors call a draw."""
        return f'{cls.__name__} "{name}"' if name else cls.__name__


def _is_member(array: np.ndarray, domain: Domain) -> bool:
    """Whether numbers lie in a domain of parameters."""
    try:
        require(array, domain, "")
    except ValueError:
        return False
    return True


def _cut(x: Tensor, domain: Domain, who: str) -> Tensor:
    """The whole part of constant counts that have fractions, with a warning."""
    if not domain.discrete or not is_constant(x) or x.dtype[0] != "f":
        return x
    array = value_of(x)
    if not np.all(np.isfinite(array)):
        require(array, domain, who)  # no whole number stands for it: refused
    cut = np.trunc(array).astype(np.int64)
    if (cut != array).any():
        first = array[cut != array].flat[0]
        text = f"{who} must be {domain}, got {first.item()!r}: its whole part is taken, as in PyMC."
        warnings.warn(text, UserWarning, stacklevel=8)
    return as_tensor(cut)


def _folded(x: Tensor) -> Tensor:
    """The number that an expression of constants is; `sigmoid(a)` stays one of a number."""
    if x.op in FORMS:
        return Node(x.op, tuple([_folded(each) for each in x.inputs]), x.attrs)  # type: ignore[return-value,arg-type]
    with wide():
        return as_tensor(np.asarray(evaluate([x], {})[0]))


def _shown(value: Any) -> str:
    """A number or an array in short; what is only computed by its name."""
    if isinstance(value, Tensor) and not is_constant(value):
        return repr(value)
    array = np.asarray(value_of(value) if isinstance(value, Tensor) else value)
    return repr(array.item()) if array.ndim == 0 else np.array2string(array, threshold=8)
