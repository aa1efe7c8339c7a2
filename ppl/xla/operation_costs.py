"""What operations cost: the one table by which planning counts work.

Nothing is timed when a model is planned, so that the same model has the same plan on any machine. The unit is a
multiplication of one number in a long vector, about a sixth of a nanosecond. Measured once, as a part of a gradient in
the loop of a sampler, on an AMD EPYC with JAX 0.10.2, and rounded:

    python benchmarks/operations.py

A step of a loop that needs the step before it cannot be done in vectors: it costs tens of times what a number does.
"""

from __future__ import annotations

DEAR = 30  # for each number, from which on XLA had better not compute it again for every entry of an array

# For each number of an operation, where it is not one.
_EACH = [
    (3, "true_divide reciprocal"),
    (6, "sqrt rsqrt"),
    (10, "exp exp2 expm1 tanh sigmoid getitem"),
    (20, "log log2 log10"),
    (30, "log1p cumsum cumprod"),
    (40, "erf erfc"),
    (100, "softplus logaddexp sin cos tan power"),
    (200, "gammaln digamma polygamma"),
    (300, "log_ndtr ndtr ndtri ndtri_exp erfcx log_ndtr_between"),
    (1500, "sort"),
]
EACH: dict[str, int] = {name: cost for cost, names in _EACH for name in names.split()}

TURN = 50.0  # of a step of a loop that waits for the one before, beside what it computes
# Of a step of a chain whose blocks are numbers, and what is added for each entry of larger ones.
CHAINS = {"chain_factor": (75.0, 200.0), "chain_substitution": (80.0, 100.0), "chain_solution": (190.0, 55.0),
          "semiseparable_log_density": (200.0, 25.0)}  # fmt: skip

# Of a leapfrog step beside its gradient, and of a low-rank metric of so many columns: for all, and for each dimension
# (the numbers of `ppl.samplers.policy`, whose unit is a tenth of a nanosecond).
LEAPFROG, COLUMNS, MOST_COLUMNS = (300.0, 12.0), (2600.0, 15.0), 16


def cost_of_each(name: str) -> int:
    """What an operation costs for each number."""
    return EACH.get(name, 1)


def cost_of_chain(name: str, steps: float, width: int) -> float:
    """What an operation on a chain costs, of so many steps of blocks of some width."""
    number, entry = CHAINS[name]
    return steps * (number if width == 1 else number + entry * width**2)
