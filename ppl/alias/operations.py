"""The classes of operations that PyMC and PyTensor have for their families, `NormalRV` and its like, by their names.

They stand in several modules there; here each name is found from the family that says it.
"""

from __future__ import annotations

from typing import Any

import ppl.distributions
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.draws.operation import NO_SIZE, NoneTypeT, RandomGeneratorType, RandomOperation
from ppl.distributions.families.custom_dist import CustomDistRV, CustomSymbolicDistRV
from ppl.distributions.families.simulator import SimulatorRV

RandomType = RandomGeneratorType
random_generator_type = RandomGeneratorType()
NoneConst = NO_SIZE
__all__ = [
    "CustomDistRV",
    "CustomSymbolicDistRV",
    "NoneConst",
    "NoneTypeT",
    "RandomGeneratorType",
    "RandomType",
    "SimulatorRV",
    "random_generator_type",
]


def classes() -> dict[str, type[RandomOperation]]:
    """The class of each family's operation, by its name."""
    families = [f for f in vars(ppl.distributions).values() if isinstance(f, type) and issubclass(f, Distribution)]
    found = [kind for family in families if (kind := getattr(family, "rv_type", None)) is not None]
    return {kind.__name__: kind for kind in found}


def __getattr__(name: str) -> Any:
    found = classes().get(name) if name.endswith("RV") else None
    if found is None:
        raise AttributeError(name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, *classes()])
