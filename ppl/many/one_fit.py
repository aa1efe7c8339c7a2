"""One of many fits, where it runs: the model of an item is built, sampled, and reduced to what is to be kept."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.model.inference.sampling import sample
from ppl.model.output.results import group_names, group_of
from ppl.model.output.summary import summary

MODULE = "__main__"


class Work(NamedTuple):
    """What fits have in common."""

    build: Any  # a function, or one packed as bytes
    keep: Any
    options: Mapping[str, Any]  # of `sample`
    seed: int

    def to_send(self) -> Work:
        """The same for another process."""
        return self._replace(build=packed(self.build, "build"), keep=packed(self.keep, "keep"))


class Outcome(NamedTuple):
    """What comes back: the result, or an error as text, since not every exception can travel."""

    result: Any = None
    error: str = ""
    traceback: str = ""


def run(work: Work, index: int, item: Any) -> Outcome:
    """The fit of an item."""
    try:
        model = _opened(work.build)(item)
        if not hasattr(model, "free_RVs"):
            raise TypeError(f"build(item) returns a Model, got {model!r}")
        options: dict[str, Any] = {"progressbar": False, "quiet": True, **work.options}
        return Outcome(kept(model, work.seed, index, _opened(work.keep), options))
    except Exception as error:  # each fit has its own
        return Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc())


def kept(model: Any, seed: int, index: int, keep: Callable[[Any, Any], Any], options: Mapping[str, Any]) -> Any:
    """What is kept of the fit of a model; Ctrl-C ends all fits, and not this one alone."""
    result = sample(model=model, random_seed=seed_of_fit(seed, index), **options)
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


def _opened(f: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = pickle.loads(f) if isinstance(f, bytes) else f
    return found


def packed(f: Callable[..., Any], what: str) -> bytes:
    """A function as bytes, by cloudpickle where it is not importable by name."""
    try:
        if getattr(f, "__module__", "") != MODULE:  # what a script defines has another name elsewhere
            return pickle.dumps(f)
    except Exception:
        pass
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"{what} cannot be sent to other processes: define it at the top of a module that they can import, or "
            "install cloudpickle"
        ) from None
    found: bytes = cloudpickle.dumps(f)
    return found
