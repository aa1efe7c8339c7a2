"""The values of a model's data, for results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from ppl.compile.pure import Program
from ppl.tensor.ops import CAST
from ppl.tensor.tensor import is_constant, value_of
from ppl.tensor.variables import Variable

if TYPE_CHECKING:
    from ppl.model.model import Model


def observed_data(model: Model) -> dict[str, np.ndarray]:
    """What was observed, by variable."""
    values = {rv.name or "": model.rvs_to_values[rv] for rv in model.observed_RVs}
    known: dict[str, np.ndarray] = {}
    for name, value in values.items():
        if is_constant(value):
            known[name] = np.array(value_of(value))
        elif isinstance(value, Variable):
            known[name] = value.get_value()
        else:
            program = Program([], [value])
            with jax.enable_x64(True):
                known[name] = np.asarray(program([], *program.data)[0])
    return known


def constant_data(model: Model) -> dict[str, np.ndarray]:
    """Data that are not observed values of a variable."""
    observed = {
        source for value in model.rvs_to_values.values() for source in (value, *value.inputs[: value.op is CAST])
    }
    return {v.name or "": v.get_value() for v in model.data_vars if v not in observed}
