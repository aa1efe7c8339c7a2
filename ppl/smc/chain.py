"""A chain of stages: the particles of one run on their way from the prior to the posterior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ppl.smc.kernels import SMC_KERNEL


@dataclass
class ChainOfStages:
    """What a chain has so far."""

    kernel: SMC_KERNEL
    stats: dict[str, list[Any]] = field(default_factory=dict)
    error: float = np.nan  # of the log marginal likelihood

    @property
    def finished(self) -> bool:
        """Whether the particles are draws of the posterior."""
        return self.kernel.beta == 1

    @property
    def begun(self) -> bool:
        """Whether a stage is done."""
        return bool(self.stats)


def stage(chain: ChainOfStages) -> None:
    """One stage of a chain: the next temperature, then the moves of the particles there."""
    kernel = chain.kernel
    kernel.update_beta_and_weights()
    stats = kernel.step()
    if kernel.beta == 1:
        found = kernel.evidence
        kernel.log_marginal_likelihood, chain.error = found
        stats = {**stats, "log_marginal_likelihood": found.log_z}
    for name, value in stats.items():
        chain.stats.setdefault(name, []).append(value)
