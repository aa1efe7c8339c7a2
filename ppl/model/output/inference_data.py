"""A result in the form of ArviZ 0.x, without importing ArviZ.

ArviZ 0.x takes longer to import than a small model to sample, and a result needs of it one class: `InferenceData`, a
mapping from names of groups to xarray Datasets. The class here is that mapping. A group that comes without xarray
(`group.py`) becomes a Dataset when it is asked for. An instance turns into ArviZ's own `InferenceData` in place, for
good, as soon as the difference could be seen: when it is asked for its class while ArviZ is loaded (`isinstance` asks,
and every function of ArviZ does), for a method that is not written here, or for a pickle or a copy.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ppl.model.output.group import Group, dataset_of

# The groups of ArviZ's schema, in its order; others follow in the order in which they came.
SCHEMA = (
    "posterior posterior_predictive predictions log_likelihood log_prior sample_stats prior prior_predictive"
    " sample_stats_prior observed_data constant_data predictions_constant_data"
).split()
ORDER = {name: place for place, name in enumerate([*SCHEMA, *(f"warmup_{name}" for name in SCHEMA)])}
# What a class answers itself, without looking for attributes of the object, or inherits from Mapping.
BY_CLASS = """__add__ __delattr__ __delitem__ __dir__ __eq__ __ne__ __reduce__ __reduce_ex__
    __repr__ __setitem__ __sizeof__ _repr_html_ get items keys values""".split()

HELD = "_held"  # the attribute with the groups
_set_class = vars(object)["__class__"].__set__
_turning = threading.RLock()


class InferenceData(Mapping[str, Any]):
    """Groups by name, which are ArviZ's InferenceData as soon as anybody looks."""

    def __init__(self, groups: Mapping[str, Any]) -> None:
        vars(self)[HELD] = {}
        self.add(groups)

    def add(self, groups: Mapping[str, Any]) -> None:
        """More groups; those without variables are left out, as ArviZ does."""
        vars(self)[HELD].update({name: group for name, group in groups.items() if _has_variables(group)})

    def held(self, name: str) -> Any:
        """A group as it is: a Dataset, or what becomes one."""
        return vars(self)[HELD].get(name)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """ArviZ's class where there can be anybody who compares with it."""
        if "arviz" in sys.modules:
            turn_into_arviz(self)
        return type(self)

    def groups(self) -> list[str]:
        """The names of all groups."""
        return sorted(vars(self)[HELD], key=lambda name: ORDER.get(name, len(ORDER)))

    def extend(self, other: Any, join: str = "left", warn_on_custom_groups: bool = False) -> None:
        """The groups of another result too; of a name that both have, the left one's is kept, or the right one's."""
        if type(other) is not InferenceData or join not in ("left", "right") or warn_on_custom_groups:
            turn_into_arviz(self).extend(other, join=join, warn_on_custom_groups=warn_on_custom_groups)
            return
        mine, theirs = vars(self)[HELD], vars(other)[HELD]
        self.add({name: theirs[name] for name in theirs if join == "right" or name not in mine})

    def __getitem__(self, name: str) -> Any:
        groups = vars(self)[HELD]
        if name not in groups:
            there = ", ".join(self.groups())
            raise KeyError(
                f"no group {name!r}: there are {there}. Draws of a variable are in one: .posterior[{name!r}]"
            )
        if isinstance(groups[name], Group):
            with _turning:
                groups[name] = dataset_of(groups[name])
        return groups[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)[HELD]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups())

    def __len__(self) -> int:
        return len(vars(self)[HELD])

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get(HELD, ()):
            return self[name]
        return getattr(turn_into_arviz(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(turn_into_arviz(self), name, value)


def _has_variables(group: Any) -> bool:
    variables = group.arrays if isinstance(group, Group) else group
    return variables is not None and len(variables) > 0


def turn_into_arviz(result: Any) -> Any:
    """The same object, being ArviZ's InferenceData from now on."""
    with _turning:
        if type(result) is InferenceData:
            true_class = arviz().InferenceData
            state = vars(true_class(**{name: result[name] for name in result}))
            _set_class(result, true_class)
            vars(result).clear()
            vars(result).update(state)
    return result


def arviz() -> Any:
    """ArviZ, or an error that says why it cannot be imported."""
    try:
        return importlib.import_module("arviz")
    except Exception as error:
        raise ImportError(
            f"This needs ArviZ, and importing it failed: {type(error).__name__}: {error}. Mend that (does `import"
            " arviz` work? It wants a home directory that can be written to: set HOME). The groups of a result are"
            ' to be had without it: result["posterior"] is an xarray Dataset.'
        ) from error


def _answered_by_arviz(name: str) -> Callable[..., Any]:
    def method(self: InferenceData, *args: Any, **options: Any) -> Any:
        return getattr(turn_into_arviz(self), name)(*args, **options)

    method.__name__ = name
    return method


for _name in BY_CLASS:
    setattr(InferenceData, _name, _answered_by_arviz(_name))
