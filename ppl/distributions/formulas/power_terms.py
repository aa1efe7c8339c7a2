r"""The terms of the Poisson and the binomial law with real numbers for counts, where no large logarithms cancel.

They are the densities of the gamma and the beta families but for a factor: see `stirling` and `deviance`."""

import numpy as np

from ppl.tensor import deviance, exp, log, stirling, switch


def log_poisson_term(a, m, log_m):
    r"""\log m^a e^{-m} / Γ(a + 1), given m and its logarithm."""
    return -stirling(a) - deviance(a, m, log_m)


def log_binomial_term(a, b, log_p, log_q):
    r"""\log p^a q^b Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)), given the logarithms of p and of q = 1 - p."""
    n = a + b
    ways = stirling(n) - stirling(a) - stirling(b)
    return ways - deviance(a, n * exp(log_p), log(n) + log_p) - deviance(b, n * exp(log_q), log(n) + log_q)


def log_density_at_end(shape, at_one):
    """The logarithm of a density that grows like distance^(shape - 1) from the end of its support, at that end."""
    return switch(shape < 1, np.inf, switch(shape > 1, -np.inf, at_one))
