"""`ppl.bridge` is this part of the package, and by PyMC users' word for it a function: bridge sampling.

The part's modules are reached as `ppl.bridge.reading`; called, the part gives the evidence of a model from draws.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ppl.model.names.elsewhere import room


class BridgeSampling(ModuleType):
    """A module that can be called: `pm.bridge(idata, model)`."""

    def __call__(
        self, idata: Any, model: Any = None, *, method: str = "normal", rewrite: bool = True, random_seed: int = 0
    ) -> Any:
        """The evidence of a model from draws of its posterior, by bridge sampling, with a standard error (see
        `ppl.scoring.bridge`)."""
        return room("scoring").bridge(idata, model, method=method, rewrite=rewrite, random_seed=random_seed)
