"""What a family is made of: parameters, other parametrizations, conditions, and facts that are missing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ppl.distributions.declaration.domains import Domain


class Param:
    """A parameter: its domain, and a default where it has one."""

    def __init__(self, domain: Domain, default: Any = None) -> None:
        self.domain, self.default = domain, default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name  # a fact such as `scale_parameter = sigma` is no other name of it


def param(domain: Domain, default: Any = None) -> Any:
    """Declare a parameter of a family.

    >>> from ppl.distributions.declaration.domains import positive
    >>> ppl.distributions.param(positive, 1.0).default
    1.0
    """
    return Param(domain, default)


class Alternative:
    """Other parameters: a function from them to the declared ones they determine, and their domains."""

    def __init__(self, convert: Callable[..., Mapping[str, Any]], domains: Mapping[str, Domain]) -> None:
        self.convert, self.domains = convert, domains
        self.takes = tuple(inspect.signature(convert).parameters)


def alternative(convert: Callable[..., Mapping[str, Any]], **domains: Domain) -> Any:
    """Declare another parametrization: the function's parameters are the user's, its dict gives the family's.

    `domains` are those of the user's parameters, as in `alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)`.

    >>> from ppl.distributions.declaration.domains import positive
    >>> ppl.distributions.alternative(lambda tau: {"sigma": tau**-0.5}, tau=positive).takes
    ('tau',)
    """
    return Alternative(convert, domains)


class Requirement:
    """A condition on several parameters, the words that say it, and what to do where it does not hold."""

    def __init__(self, holds: Callable[..., Any], words: str, remedy: str) -> None:
        self.holds, self.words, self.remedy = holds, words, remedy
        self.takes = tuple(inspect.signature(holds).parameters)


def requires(holds: Callable[..., Any], words: str, remedy: str) -> Any:
    """Declare a condition on several parameters, as in `requires(lambda lower, upper: lower < upper, "...", "...")`.

    >>> ppl.distributions.requires(lambda a, b: a < b, "a must be below b", "exchange them").takes
    ('a', 'b')
    """
    return Requirement(holds, words, remedy)


class Limit:
    """What a law becomes as one of a user's parameters grows, by the others that stay the same."""

    def __init__(self, law: Callable[..., Any], parameter: str, words: str) -> None:
        self.law, self.parameter, self.words = law, parameter, words
        self.takes = tuple(inspect.signature(law).parameters)


def limit_of(law: Callable[..., Any], **words: str) -> Any:
    """Declare a limit, as in `limit_of(lambda mu, sigma: Normal.dist(mu, sigma), nu="the degrees of freedom")`."""
    ((parameter, called),) = words.items()
    return Limit(law, parameter, called)


class Missing:
    """A fact a family does not declare: calling it says so."""

    def __init__(self, family: str, fact: str) -> None:
        self.family, self.fact = family, fact

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.family} declares no {self.fact}")

    def __bool__(self) -> bool:
        return False
