"""All step methods, and several of them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppl.model.inference.steps.by_density import DEMetropolis, DEMetropolisZ, Metropolis, Slice
from ppl.model.inference.steps.by_gradients import NUTS, HamiltonianMC
from ppl.model.inference.steps.of_categories import BinaryGibbsMetropolis, BinaryMetropolis, CategoricalGibbsMetropolis

STEP_METHODS = [
    NUTS, HamiltonianMC, BinaryGibbsMetropolis, BinaryMetropolis, CategoricalGibbsMetropolis, DEMetropolis,
    DEMetropolisZ, Metropolis, Slice,
]  # fmt: skip


class CompoundStep:
    """Several step methods, one after the other in each sweep.

    Parameters
    ----------
    methods : list of step methods
        In the order of the sweep.

    Examples
    --------
    >>> with pm.Model():
    ...     x, z = pm.Normal("x", 0, 1), pm.Bernoulli("z", 0.3)
    ...     both = pm.CompoundStep([pm.Slice([x]), pm.BinaryGibbsMetropolis([z])])
    >>> len(both.methods)
    2
    """

    def __init__(self, methods: Sequence[Any]) -> None:
        self.methods = list(methods)

    def __repr__(self) -> str:
        return f"CompoundStep: {self.methods}"
