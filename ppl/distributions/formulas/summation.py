"""Distribution functions of counts that have no closed form, as sums of the density over the side with less of it."""

from ppl.tensor import any, cast, ceil, cond, expand_dims, log1mexp, maximum, minimum, sqrt, switch
from ppl.tensor.arrays.log_sums import log_sum_to

MOST = 10_000  # terms of a sum


def log_tails(family, x, middle, below, above, *parameters):
    """log P(X ≤ x) and log P(X > x). There are `below` terms up to x, of which none is left out, and `above` beyond."""
    left = x <= middle
    start, step = expand_dims(switch(left, x, x + 1), -1), expand_dims(switch(left, -1, 1), -1)
    rows = [expand_dims(p, -1) for p in parameters]
    term = lambda k: family.log_density(start + step * k, *rows)
    tail = minimum(log_sum_to(wanted(family, parameters, switch(left, below, above) - 1), term), 0.0)
    rest = log1mexp(minimum(tail, -1e-300))
    return switch(left, tail, rest), switch(left, rest, tail)


def falling_terms(family, x, mean, variance, *parameters):
    """How many terms of a log-concave density count, from x away from the mean, to exp(-40): from there on they fall
    ever faster, and the law falls no slower than a sum of independent numbers of 0 and 1 of that variance."""
    reach = 20 + sqrt(400 + 120 * variance)  # by Bernstein's inequality, for exp(-60)
    start, step = switch(x <= mean, x, x + 1), switch(x <= mean, -1, 1)
    fall = family.log_density(start, *parameters) - family.log_density(start + step, *parameters)
    return cast(ceil(minimum(40 / maximum(fall, 1e-9), 2 * reach)), "int64") + 1


def summed_where_few(terms, sums, integral):
    """What `sums` gives up to MOST terms, and elsewhere an integral, which takes as long as some thousands."""
    many = terms > MOST
    few = lambda: sums(switch(many, 0, terms))
    return cond(any(many), lambda: switch(many, integral(), few()), few)


def wanted(family, parameters, last):
    """The last term, or none where the parameters are those of no law: there it may be any number, and a search for a
    quantile goes on to the largest."""
    valid = family.in_domains(parameters)
    return last if valid is None else switch(valid, last, -1)
