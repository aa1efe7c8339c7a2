"""ppl as a sampler of PyMC: `pymc.sample(nuts_sampler="ppl")`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ppl.model.inference.sampling import sample

WHERE, NAME = "pymc.sampling.mcmc", "_sample_external_nuts"  # the function that PyMC 5.28 and 6 look up at each call
USUAL_ACCEPTANCE = 0.8  # what PyMC passes where the user says nothing


class Registration:
    """That PyMC knows ppl as a sampler; `remove()`, or the end of a `with` block, makes it forget."""

    def __enter__(self) -> Registration:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """PyMC's own function is in its place again."""
        module = importlib.import_module(WHERE)
        found = getattr(module, NAME)
        if isinstance(found, _External):
            setattr(module, NAME, found.others)


def register() -> Registration:
    """Let `pymc.sample(nuts_sampler="ppl")` sample by ppl; nothing else of PyMC changes.

    `with ppl.register():` does so inside a block; `ppl.unregister()` takes it back. Arguments of `ppl.sample` are given
    by `nuts_sampler_kwargs`, as in `nuts_sampler_kwargs={"rewrite": False}`. PyMC asks for models that NUTS alone can
    sample; `ppl.sample(model)` takes those with discrete variables too.

    Returns
    -------
    Registration
        A context manager, whose end takes the registration back.
    """
    module = importlib.import_module(WHERE)
    found = getattr(module, NAME, None)
    if found is None:
        version = getattr(importlib.import_module("pymc"), "__version__", "unknown")
        raise NotImplementedError(
            f"register: PyMC {version} chooses samplers in another way than 5.28; use ppl.sample(model) instead."
        )
    if not isinstance(found, _External):
        setattr(module, NAME, _External(found))
    return Registration()


def unregister() -> None:
    """Take `register` back."""
    Registration().remove()


class _External:
    """PyMC's function for samplers of other packages, with ppl among them."""

    def __init__(self, others: Callable[..., Any]) -> None:
        self.others = others

    def __call__(self, sampler: str, *args: Any, **run: Any) -> Any:
        if sampler != "ppl":
            return self.others(sampler, *args, **run)
        own = {**(run.pop("nuts_kwargs", None) or {}), **(run.pop("nuts_sampler_kwargs", None) or {})}
        options = {**run, **own}
        if not options.get("compile_kwargs"):
            options.pop("compile_kwargs", None)
        if options.get("target_accept") == USUAL_ACCEPTANCE:
            del options["target_accept"]
        return sample(**{key: value for key, value in options.items() if value is not None})
