"""Hypergeometric draws: how many good ones come up when some are taken from an urn without putting back."""

from __future__ import annotations

import math
from typing import Any

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import proposed_count, until_accepted
from ppl.tensor.sampling.count_tables import by_table, worth_a_table
from ppl.tensor.sampling.count_weights import deviance, factor, rest
from ppl.tensor.sampling.draws import Draw
from ppl.xla.either import xp

_WIDTH, _EXTRA = 2 * (2 / math.e) ** 0.5, 3 - 2 * (3 / math.e) ** 0.5  # the hat of Stadlober (1990)


def _hypergeometric(key: Any, good: Any, bad: Any, taken: Any, *, shape: Any, dtype: Any) -> Any:
    """Ratio of uniforms (E. Stadlober, 1990), and a table for many draws of one law.

    By symmetry the rarer color is counted, among those taken or among those left, whichever are fewer.
    """
    shape = tuple(shape)
    urn = [x.astype("float64") for x in (good, bad, taken)]
    good, bad, taken = (xp.broadcast_to(x, shape) for x in urn) if any(x.ndim for x in urn) else urn
    total = good + bad
    rare, common, few = xp.minimum(good, bad), xp.maximum(good, bad), xp.minimum(taken, total - taken)
    valid = (good >= 0) & (bad >= 0) & (taken >= 0) & (taken <= total)
    open_ = valid & (rare > 0) & (few > 0)  # else the count is zero
    rare, common, few = (xp.where(open_, x, y) for x, y in ((rare, 1.0), (common, 1.0), (few, 1.0)))
    squares, rests = _less_likely(xp.floor((few + 1) * (rare + 1) / (rare + common + 2)), rare, common, few)
    at_mode = 0.5 * xp.log(squares) + rests

    def propose(words: Any, rare: Any, common: Any, few: Any, at_mode: Any) -> tuple[Any, Any]:
        total = rare + common
        share = rare / total
        spread = xp.sqrt((total - few) * few * share * (1 - share) / xp.maximum(total - 1, 1) + 0.5)
        side, u = map(standard.open_uniform_of, words)
        k = xp.floor(few * share + 0.5 + (_WIDTH * spread + _EXTRA) * (side - 0.5) / u)
        x = xp.clip(k, 0, xp.minimum(rare, few))
        squares, rests = _less_likely(x, rare, common, few)
        return x, (k == x) & (0.5 * standard.log(u**4 * squares) + rests <= at_mode)

    by_rejection = lambda: until_accepted(propose, key, shape, (rare, common, few, at_mode), open_, proposed_count)
    if worth_a_table(key, shape, (rare, common, few)):
        ratio = lambda k: (rare - k + 1) * (few - k + 1) / (k * (common - few + k))
        mean = few * (rare / (rare + common))
        x = by_table(key, shape, (0.0, xp.minimum(rare, few)), mean, ratio, by_rejection)
    else:
        x = by_rejection()
    x = xp.where(open_, x, 0.0)
    left = xp.minimum(taken, total - taken)
    x = xp.where(good > bad, left - x, x)
    return xp.where(valid, xp.where(left < taken, good - x, x), -1).astype(dtype)


def _less_likely(x: Any, rare: Any, common: Any, few: Any) -> tuple[Any, Any]:
    """Two numbers: half the logarithm of the first, plus the second, is -log P(x), but for what x does not change."""
    total = rare + common
    cells = (
        (x, rare, few),
        (few - x, common, few),
        (rare - x, rare, total - few),
        (common - few + x, common, total - few),
    )
    squares, rests = 1.0, 0.0
    for count, row, column in cells:
        squares, rests = squares * factor(count), rests + rest(count) + deviance(count, row * (column / total))
    return squares, rests


hypergeometric = Draw("random_hypergeometric", _hypergeometric, 3, "int", at_once=True)
