"""Distribution functions that have no closed form, as sums of the density."""

from ppl.tensor import expand_dims, minimum
from ppl.tensor.log_sums import log_sum_to


def log_sum_below(family, x, *parameters):
    """log P(X <= x) for a family on 0, 1, ..., as the sum of its density."""
    rows = [expand_dims(p, -1) for p in parameters]
    return minimum(log_sum_to(x, lambda counts: family.log_density(counts, *rows)), 0.0)
