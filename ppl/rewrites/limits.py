"""How far planning goes: the sizes from which on a rewrite is worth while, and up to which it is tried.

All are counts of things or of arithmetic, never of time, so that a model has the same plan on any machine. Tests change
them by `limited`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Limits:
    """Sizes that decide what planning does; each says of what it is a number."""

    # Which variables become one vector, and which steps a chain in time
    fewest_in_a_plate: int = 4  # variables, observations or terms that are worth a vector
    rounds_of_plates: int = 8  # in which variables are found that are used one by one, and then what uses these
    fewest_steps: int = 10  # steps that are worth a vector
    # Discrete latents
    values_of_a_latent: int = 10_000  # of one discrete latent
    values_together: int = 100_000  # of the discrete latents that an expression depends on
    copies_of_a_factor: int = 256  # one for each choice of values
    entries_of_a_table: int = 1_000_000  # numbers
    long_chain: int = 8  # latents from which a chain is worth a loop
    sites_without_a_chain: int = 400  # latents of a part that is no chain: each is some nodes of the graph
    chosen_rows: int = 10_000_000  # rows that are chosen one by one, over all choices
    cuts: int = 2_000  # places between which rows are summed
    combinations_of_codes: int = 16  # of states of codes
    steered_numbers: int = 10_000_000  # that stand for what discrete latents decide, over all their values
    # Gaussian blocks
    columns_of_a_group: int = 8  # coefficients of one group
    steps_back: int = 4  # steps that a chain may reach back
    products_at_once: int = 1_000_000  # products of coefficients
    # rows beside two for each number of the block, up to which they are not replaced by their statistics
    few_rows: int = 8
    residuals_together: int = 600  # numbers, of one that is written out
    regressions_written_out: int = 8  # entries of a normal vector up to which its regressions are written one by one
    least_for_eigenvectors: int = 9  # numbers whose covariance is worth the decomposition
    few_parents: int = 8  # numbers in the mean of a variable up to which it is measured from its mean
    fewest_standard_normal: int = 5  # numbers of a vector that moves by standard normal ones
    # Conjugate pairs
    logs_for_a_log_gamma: int = 16  # logarithms take no longer than a log-gamma function and its slope
    logs: int = 100_000  # of all log-gamma functions together
    # Sufficient statistics
    least_rows: int = 32  # fewer rows are not worth the statistics
    rows_a_cell: float = 2.0  # on average, of equal rows
    rows_looked_at_first: int = 2000  # rows looked at first: where nearly all differ, the rest will
    entries_of_a_design: int = 100_000_000  # of a design that is written out
    # Factors of the posterior that nothing joins
    most_of_the_arithmetic: float = 0.75  # a share: less cannot gain as much as a program of its own costs
    # operations of an evaluation: a run of 4 × 2,000 draws then takes as long as compiling
    much_arithmetic: float = 20_000.0
    # 3 ms each for 4 × 1,000 draws, a chain is slow to begin
    numbers_by_quadrature: int = 300


LIMITS = Limits()


@contextlib.contextmanager
def limited(**changes: float) -> Iterator[None]:
    """Other limits inside the block.

    >>> with limited(least_rows=4):
    ...     LIMITS.least_rows
    4
    >>> LIMITS.least_rows
    32
    """
    unknown = changes.keys() - vars(LIMITS).keys()
    if unknown:
        raise TypeError(f"no limit of planning is called {', '.join(sorted(unknown))}; see ppl/rewrites/limits.py")
    usual = {name: getattr(LIMITS, name) for name in changes}
    vars(LIMITS).update(changes)
    try:
        yield
    finally:
        vars(LIMITS).update(usual)
