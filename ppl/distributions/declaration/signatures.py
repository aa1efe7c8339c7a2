"""What `inspect.signature` says of a family and of its `.dist`: the parameters by name, in the order of positions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from types import MethodType
from typing import Any

OF_DRAWS = ("shape", "size", "name")
OF_VARIABLES = ("dims", "observed", "initval", "total_size", "transform", "default_transform", "shape", "size")


def parameters_of(family: Any) -> list[Parameter]:
    """The parameters that a user gives; one that another can take the place of has the default None."""
    if family.accept:
        taken = inspect.signature(family.accept).parameters.values()
        return [p.replace(annotation=Parameter.empty) for p in taken if p.name != "shape"]
    single = not family.alternatives
    found = []
    for name in family.order:
        declared = family.params.get(name)
        needed = single and declared is not None and declared.default is None
        default = Parameter.empty if needed else declared.default if declared else None
        found.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return sorted(found, key=lambda p: p.default is not Parameter.empty)


def _with_options(parameters: list[Parameter], before: str, options: tuple[str, ...]) -> Signature:
    named = {p.name for p in parameters}
    first = [Parameter(before, Parameter.POSITIONAL_OR_KEYWORD)]
    by_name = [Parameter(each, Parameter.KEYWORD_ONLY, default=None) for each in options if each not in named]
    further = (
        [] if any(p.kind is Parameter.VAR_KEYWORD for p in parameters) else [Parameter("kwargs", Parameter.VAR_KEYWORD)]
    )
    place = next((i for i, p in enumerate(parameters) if p.kind is Parameter.VAR_KEYWORD), len(parameters))
    return Signature([*first, *parameters[:place], *by_name, *parameters[place:], *further])


class FamilySignature:
    """The signature of a family, worked out where it is asked for."""

    def __get__(self, instance: Any, family: Any) -> Signature | None:
        return _with_options(parameters_of(family), "name", OF_VARIABLES) if family.order else None


class DistMethod:
    """A class method whose signature names the parameters of the class."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__doc__, self.__name__ = function, function.__doc__, function.__name__

    def __get__(self, instance: Any, family: Any) -> MethodType:
        return MethodType(_Of(self, family), family)


class _Of:
    """The function behind the method of one class."""

    def __init__(self, method: DistMethod, family: Any) -> None:
        self._method, self._family = method, family
        self.__doc__, self.__name__ = method.__doc__, method.__name__

    def __call__(self, family: Any, *args: Any, **kwargs: Any) -> Any:
        return self._method.function(family, *args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        if not self._family.order:
            return inspect.signature(self._method.function)
        return _with_options(parameters_of(self._family), "cls", OF_DRAWS)
