"""Distribution functions that have no closed form, as sums of the density."""

import numpy as np

from ppl.graph import leaves
from ppl.tensor import arange, expand_dims, logsumexp, switch
from ppl.tensor.tensor import as_tensor, is_constant

LONGEST = 1_000_000


def log_sum_below(family, x, largest, *parameters):
    """log P(X <= x) for a family on 0, 1, ..., as the sum of its density; `largest` bounds the values, or x does."""
    bounds = [
        int(np.max(each.eval(), initial=0))
        for each in (as_tensor(largest), as_tensor(x))
        if all(map(is_constant, leaves(each)))
    ]
    if not bounds or min(bounds) >= LONGEST:
        raise NotImplementedError(
            f"{family.__name__}: the logcdf is a sum of densities, whose length must be known when the graph is "
            f"built and below {LONGEST:,}. Give the value or the largest possible value as a constant."
        )
    counts = arange(min(bounds) + 1)
    terms = family.log_density(counts, *[expand_dims(p, -1) for p in parameters])
    return logsumexp(switch(counts <= expand_dims(as_tensor(x), -1), terms, -np.inf), axis=-1)
