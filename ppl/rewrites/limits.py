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

    # The whole of planning
    nodes_gone_through: int = 200_000  # of graphs, after which no further variable is looked at
    points_around_the_start: int = 4  # at which rows are looked at that no formula is known for
    # Expressions
    kernel_summands: int = 16  # products of kernels that a covariance is a sum of
    highest_power_of_a_kernel: int = 4  # that is written out
    sites_of_an_entry: int = 12  # latents that one entry may depend on
    numbers_of_a_state: int = 8  # of a state of a chain, all of whose arithmetic is written out
    entries_picked_from: int = 8  # by a discrete latent, one branch each
    few_summands: int = 8  # terms of a sum that is written out
    products_of_a_row: int = 8  # products that one expression is a sum of
    terms_of_a_coefficient: int = 6  # products of a number and data
    # Which variables become one vector, and which steps a chain in time
    fewest_in_a_plate: int = 4  # variables, observations or terms that are worth a vector
    rounds_of_plates: int = 8  # in which variables are found that are used one by one, and then what uses these
    fewest_steps: int = 10  # steps that are worth a vector
    # Discrete latents
    branches: int = 100_000  # states of latents that meet in a row anyway, in one term
    copies_of_a_block: int = 64  # states of latents that nothing else joins
    many_values: int = 4  # of one latent, from which it is looked at what it steers
    many_values_together: int = 16  # of several
    values_of_a_code: int = 1_000_000  # of the latents that one code is made of
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
    unrolled_factor: int = 4  # rows of a matrix whose factorization is written out
    few_columns: int = 2  # of one matrix, up to which they are written out
    other_effects_a_row: float = 0.25  # beside a process: with more the rows, whitened, are more work than the block
    numbers_compared: int = 10_000_000  # of entries that rows of a block pick
    dense_columns: int = 600  # of a block
    numbers_of_a_block: int = 100_000_000  # in the design matrix of a block
    least_spread: float = 1e-3  # of the factor of a matrix that serves as measure: digits are lost by its inverse
    most_for_eigenvectors: int = 2000  # numbers, whose eigenvectors take some seconds
    columns_of_a_group: int = 8  # coefficients of one group
    steps_back: int = 4  # steps that a chain may reach back
    products_at_once: int = 1_000_000  # products of coefficients
    few_rows: int = 8  # beside two for each number of the block, which are not replaced by their statistics
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
    patterns_of_a_source: int = 1_000_000  # distinct rows that are kept of those that are read once
    # Factors of the posterior that nothing joins
    most_of_the_arithmetic: float = 0.75  # a share: less cannot gain as much as a program of its own costs
    much_arithmetic: float = 20_000.0  # operations: a run of 4 × 2,000 draws then takes as long as compiling
    numbers_by_quadrature: int = 300  # 3 ms each for 4 × 1,000 draws, a chain is slow to begin
    # Blocks of rows
    fewest_rows_by_block: int = 64  # that are shared out in blocks
    sums_over_rows: int = 8  # numbers, of sums that are no terms of the log-density: each has its slopes by itself
    few_numbers: int = 4  # that draws by rejection are tried for
    operations_of_rejection: float = 6e9  # of all evaluations together: some seconds, in which nothing is shown
    evaluations_of_a_draw: float = 16.0  # by a chain, of the log-density: steps times what a gradient costs
    operations_of_compiling: float = 5e8  # that are done while the program of a chain compiles
    # Costs
    steps_of_a_series: float = 6.0  # times as many as without it, where a series is left to the sampler
    share_of_quadrature: float = 0.05  # of the evaluations of a chain
    work_of_a_sum: float = 1e6  # operations, beyond which a sum must not be much more work than one state
    times_one_state: float = 100.0  # as many operations as those of one state: step methods are less work then
    # Coordinates
    rows_of_a_look: int = 4096  # of a design, to tell what its columns have in common
    heavy_tails: float = 5.0  # degrees of freedom, up to which tails hinder
    little_information: float = 0.25  # of rows, in units of the prior's scale
    same_information: float = 1.5  # the largest against the least of entries, up to which one number serves for all
    least_share_of_a_prior: float = 0.1  # in what is known of a variable, from which on its scale is taken out
    columns_alike: float = 4.0  # condition number of the precision, entries scaled, below which columns are alike
    coefficients_turned: int = 200  # of one regression
    low_scale: float = 0.25  # of that where sampling starts: where coefficients shrink and are hard to move
    entries_of_differences: int = 100_000  # of all rows; planning is to take milliseconds
    # Sharing
    largest_folded: int = 100_000  # entries of constant arrays that are added or multiplied
    largest_sum_of_squares: int = 1_000_000  # entries of data that are summed while planning
    kept_entries_of_a_loop: int = 10_000_000  # of all steps at once
    steps_where_unknown: int = 1000  # of a loop whose length is not known
    fewest_alike: int = 8  # terms that are worth a vector
    fewest_of_one: int = 100  # terms that are functions of one variable, whose slopes XLA has in one kernel anyway
    fewest_columns: int = 8  # nodes that are worth an array
    fewest_draws: int = 2  # draws that are worth an array
    largest_column: int = 4096  # entries of a node; draws of more go by other ways


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
