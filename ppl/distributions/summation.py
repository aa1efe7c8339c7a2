"""Distribution functions of counts that have no closed form, as sums of the density over the side with less of it."""

from ppl.tensor import expand_dims, log1mexp, minimum, switch
from ppl.tensor.log_sums import log_sum_to


def log_tails(family, x, middle, below, above, *parameters):
    """log P(X ≤ x) and log P(X > x). There are `below` terms up to x, of which none is left out, and `above` beyond."""
    left = x <= middle
    start, step = expand_dims(switch(left, x, x + 1), -1), expand_dims(switch(left, -1, 1), -1)
    rows = [expand_dims(p, -1) for p in parameters]
    term = lambda k: family.log_density(start + step * k, *rows)
    tail = minimum(log_sum_to(wanted(family, parameters, switch(left, below, above) - 1), term), 0.0)
    rest = log1mexp(minimum(tail, -1e-300))
    return switch(left, tail, rest), switch(left, rest, tail)


def log_sum_below(family, x, *parameters):
    """log P(X ≤ x) for a family on 0, 1, ..., as the sum of its density."""
    rows = [expand_dims(p, -1) for p in parameters]
    return minimum(log_sum_to(wanted(family, parameters, x), lambda counts: family.log_density(counts, *rows)), 0.0)


def wanted(family, parameters, last):
    """The last term, or none where the parameters are those of no law: there it may be any number, and a search for a
    quantile goes on to the largest."""
    valid = family.in_domains(parameters)
    return last if valid is None else switch(valid, last, -1)
