"""Density, distribution functions and quantile of a family as programs call them, `pm.Gamma.logp(value, alpha, scale)`.

As in PyMC, they take PyTensor's parameters, in PyTensor's order, and hold everywhere: outside the support the density
is 0, and a distribution function 0 or 1. What a family states, `stated_logp(x, *parameters)` and its kin, takes the
family's own parameters and holds inside the support.
"""

from __future__ import annotations

from typing import Any

from ppl.tensor.tensor import Tensor, as_tensor

STATED = {fact: f"stated_{fact}" for fact in ("logp", "logcdf", "logccdf", "icdf")}
EVERYWHERE = {"logp": "log_density", "logcdf": "log_cdf", "logccdf": "log_ccdf", "icdf": "inverse_cdf"}


class AsCalled:
    """The fact of that name of the class that it is asked of."""

    def __set_name__(self, owner: Any, fact: str) -> None:
        self.fact = fact

    def __get__(self, instance: Any, family: Any) -> Call:
        return Call(family, self.fact)


class Call:
    """A fact of a family, to be called with a value and parameters; false where the family does not state it."""

    def __init__(self, family: Any, fact: str) -> None:
        self.family, self.fact = family, fact

    def __bool__(self) -> bool:
        return bool(getattr(self.family, STATED[self.fact]))

    def __call__(self, value: Any, *parameters: Any, **named: Any) -> Any:
        if self.family.params_are_users():
            return getattr(self.family, STATED[self.fact])(value, *parameters, **named)
        given = parameters_of(self.family, self.fact, parameters, named)
        return getattr(self.family, EVERYWHERE[self.fact])(as_tensor(value), *given)


def parameters_of(family: Any, fact: str, given: tuple[Any, ...], named: dict[str, Any]) -> list[Tensor]:
    """The parameters of a family, from those that PyTensor has."""
    in_pytensor = family.in_pytensor
    if in_pytensor is not None and in_pytensor.given is not None:
        return [as_tensor(p) for p in in_pytensor.given(*given, **named)]
    names = list(family.params)
    found = dict(zip(names, given, strict=False)) | named
    if len(given) > len(names) or set(found) != set(names) or set(names[: len(given)]) & set(named):
        raise TypeError(
            f"{family.__name__}.{fact}(value, {', '.join(names)}) got {len(given)} parameters by place"
            f"{' and ' + ', '.join(named) if named else ''}"
        )
    return [as_tensor(found[name]) for name in names]
