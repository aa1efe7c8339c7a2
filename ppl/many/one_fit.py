"""One of many fits, where it runs: the model of an item is built, sampled, and reduced to what is to be kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.model.inference.sampling import sample
from ppl.model.output.results import group_names, group_of
from ppl.model.output.summary import summary

QUIETLY = {"progressbar": False, "quiet": True}


class Work(NamedTuple):
    """The fit of each item: its model is built, sampled, and reduced to what is to be kept."""

    build: Callable[[Any], Any]
    keep: Callable[[Any, Any], Any]
    options: Mapping[str, Any]  # of `sample`
    seed: int

    def __call__(self, index: int, item: Any) -> Any:
        return kept(built(self.build, item), self.seed, index, self.keep, self.options)


def built(build: Callable[[Any], Any], item: Any, said: str = "build(item)") -> Any:
    """The model of an item."""
    model = build(item)
    if not hasattr(model, "free_RVs"):
        raise TypeError(f"{said} returns a Model, got {model!r}")
    return model


def kept(model: Any, seed: int, index: int, keep: Callable[[Any, Any], Any], options: Mapping[str, Any]) -> Any:
    """What is kept of the fit of a model; Ctrl-C ends all fits, and not this one alone."""
    result = sample(model=model, random_seed=seed_of_fit(seed, index), **{**QUIETLY, **options})
    if hasattr(result, "posterior") and result.posterior.attrs.get("interrupted"):
        raise KeyboardInterrupt
    return keep(result, model)


def seed_of_fit(seed: int, index: int) -> int:
    """A seed that depends on the number of the item alone, not on where or when it is fitted."""
    (word,) = np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1, np.uint64)
    return int(word >> np.uint64(1))


class Summary:
    """Keep the table of means, standard deviations, intervals and diagnostics."""

    def __call__(self, result: Any, model: Any) -> Any:
        return summary(result, round_to="none")


class Groups:
    """Keep some groups of the result."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def __call__(self, result: Any, model: Any) -> Any:
        known = group_names(result)
        if missing := [name for name in self.names if name not in known]:
            raise ValueError(f"keep=: the result has no group {', '.join(missing)}; it has {', '.join(known)}")
        return {name: group_of(result, name) for name in self.names}


class Whole:
    """Keep all of the result."""

    def __call__(self, result: Any, model: Any) -> Any:
        return result
