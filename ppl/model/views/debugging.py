"""`model.debug()`: which variable makes a density infinite, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import RandomVariable
from ppl.graph import substitute
from ppl.model.posterior.density import Joint
from ppl.model.posterior.point import initial_point
from ppl.model.posterior.snapshot import naming_data
from ppl.model.registry.variable_registry import Books
from ppl.tensor.tensor import Tensor


def debug(
    self: Books,
    point: Mapping[str, Any] | None = None,
    fn: Literal["logp", "dlogp", "random"] = "logp",
    verbose: bool = False,
) -> None:
    """Print each variable whose density (gradient, draw) is not finite at a point, with its parameters and the rows at
    fault, or what the error says where they cannot be worked out.

    `verbose` prints all variables.
    """
    if fn not in ("logp", "dlogp", "random"):
        raise ValueError(f"fn is 'logp', 'dlogp' or 'random', got {fn!r}")
    at = initial_point(self) if point is None else point
    joint = Joint(self)
    print(f"point={dict(at)}")
    print()
    faults = 0
    for variable in [*joint.terms, *self.potentials]:
        with naming_data(self):
            faults += _report(self, joint, variable, at, fn, verbose)
    if not faults:
        print("No problems found")


def _report(model: Books, joint: Joint, variable: Tensor, at: Mapping[str, Any], fn: str, verbose: bool) -> bool:
    is_rv = isinstance(variable, RandomVariable)
    term = joint.logp(variable) if is_rv else joint.at_values(variable)
    parameters = list(joint.parameters(variable)) if isinstance(variable, RandomVariable) else []
    values = model.value_vars
    outputs: list[Any] = [term, *(value for _, _, value in parameters)]
    if is_rv:
        outputs.append(joint.values[variable])
    labels, wanted = [fn], [term]
    if fn == "dlogp":
        labels = [v.name or "" for v in model.continuous_value_vars]
        wanted = tt.grad(tt.sum(term), model.continuous_value_vars, disconnected_inputs="ignore")
    elif fn == "random" and is_rv:
        wanted = [substitute(variable, {rv: value for rv, value in joint.values.items() if rv is not variable})]
    try:
        results = function(values, [outputs, list(wanted)], on_unused_input="ignore", no_default_updates=True)(
            *[at[v.name or ""] for v in values]
        )
    except (AssertionError, ArithmeticError, RuntimeError) as error:  # of a check, or of a function inside
        print(f"The parameters of the variable {variable.name} cannot be evaluated: {error}\n")
        return True
    shown, checked = results
    bad = [~np.isfinite(np.asarray(x)) for x in checked]
    if not any(b.any() for b in bad) and not verbose:
        return False
    print(f"The variable {variable.name} has the following parameters:" if is_rv else f"The potential {variable.name}:")
    for (name, _, _), value in zip(parameters, shown[1:], strict=False):
        print(f"  {name} = {_short(value)}")
    if is_rv:
        print(f"  value = {_short(shown[-1])}")
    for label, x, b in zip(labels, checked, bad, strict=True):
        if b.any():
            at_fault = np.argwhere(b)[:5].tolist() if np.ndim(x) else []
            where = f" at positions {at_fault}" if at_fault else ""
            print(f"  {label} is not finite{where}: {np.asarray(x)[b][:5].tolist()}")
        else:
            print(f"  {label} = {_short(x)}")
    print()
    return any(b.any() for b in bad)


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value), threshold=10, precision=4)
