"""Negative binomial draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.sampling.count_tables import by_table, worth_a_table
from ppl.tensor.sampling.draws import Draw
from ppl.tensor.sampling.gamma_draws import log_gamma
from ppl.tensor.sampling.poisson import poisson_counts
from ppl.xla import threefry
from ppl.xla.either import xp


def _negative_binomial(key: Any, n: Any, odds: Any, *, shape: Any, dtype: Any) -> Any:
    """Poisson counts of mean `odds` times Gamma(n); a table for many draws of one law; -1 where there is none."""
    shape, n, odds = tuple(shape), n.astype("float64"), odds.astype("float64")
    n, odds = (xp.broadcast_to(x, shape) if x.ndim else x for x in (n, odds))
    valid = (n > 0) & xp.isfinite(n) & (odds >= 0)
    n, odds = xp.where(valid, n, 1.0), xp.where(valid, odds, 1.0)
    gamma_key, count_key = threefry.split(key)

    def mixed() -> Any:
        return poisson_counts(count_key, shape, odds * xp.exp(log_gamma(shape, gamma_key, n)))

    if worth_a_table(count_key, shape, (n, odds)):
        failure = xp.maximum(odds / (1 + odds), 1e-300)
        ratio = lambda k: (k - 1 + n) / k * failure
        count = by_table(count_key, shape, (0.0, np.inf), n * odds, ratio, mixed)
    else:
        count = mixed()
    return xp.where(valid, count, -1).astype(dtype)


negative_binomial = Draw("random_negative_binomial", _negative_binomial, 2, "int", at_once=True)
