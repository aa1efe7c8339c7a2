"""Seeds: from what users give as `random_seed` to one integer."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np


def seed_of(random_seed: Any) -> int:
    """One integer that stands for a seed: an int, None (another each time), ints, a Generator or a RandomState.

    A Generator is copied, as in PyMC: it gives the same draws each time, and does not move.
    """
    if random_seed is None:
        return int(np.random.SeedSequence().entropy) & (2**63 - 1)  # type: ignore[operator]
    if isinstance(random_seed, bool):
        raise TypeError(f"random_seed is an integer, an array of integers, a Generator or None, got {random_seed!r}")
    if isinstance(random_seed, int | np.integer):
        if random_seed < 0:
            raise ValueError(
                f"random_seed must not be negative, got {random_seed}. Pass None for another seed each time."
            )
        return int(random_seed)
    if isinstance(random_seed, np.random.RandomState):
        return int(copy.deepcopy(random_seed).randint(2**63 - 1, dtype=np.int64))
    if isinstance(random_seed, np.random.Generator | np.random.BitGenerator):
        generator = np.random.default_rng(copy.deepcopy(random_seed))
        return int(generator.integers(2**63))
    if isinstance(random_seed, list | tuple):
        warnings.warn(
            "A list of seeds does not give one seed to each chain: all its numbers together make one seed.",
            UserWarning,
            stacklevel=3,
        )
    return _combined(random_seed)


def _combined(numbers: Any) -> int:
    array = np.asarray(numbers)
    if array.dtype.kind not in "ui" or not array.size:
        raise TypeError(f"random_seed is an integer, an array of integers, a Generator or None, got {numbers!r}")
    if (array < 0).any():
        raise ValueError(f"random_seed must not be negative, got {array.min()}")
    words = np.random.SeedSequence([int(n) for n in array.ravel()]).generate_state(2, np.uint64)
    return int(words[0] >> np.uint64(1))
