"""What a trace says of the run that made it, by PyMC's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class SamplerReport(list[Any]):
    """The warnings of a run, with how much was drawn and how long it took."""

    def __init__(self, warnings: Iterable[Any], n_draws: int, n_tune: int, t_sampling: float) -> None:
        super().__init__(warnings)
        self.n_draws, self.n_tune, self.t_sampling = n_draws, n_tune, t_sampling

    @property
    def ok(self) -> bool:
        """Whether nothing worse than an information was said."""
        return all(each.level in ("info", "debug") for each in self)
