"""Data for learning: batches, shuffling, splitting, standardizing. All on NumPy arrays, all repeatable by a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


def _rows(who: str, arrays: tuple[Any, ...]) -> tuple[list[np.ndarray], int]:
    """The arrays, and the length of the first axis that they share."""
    found = [np.asarray(a) for a in arrays]
    if not found or any(a.ndim == 0 for a in found):
        raise ValueError(f"{who} takes arrays with a first axis of examples")
    lengths = [len(a) for a in found]
    if len(set(lengths)) > 1:
        raise ValueError(f"{who}: the arrays have different numbers of examples: {lengths}")
    return found, lengths[0]


def shuffled(*arrays: Any, seed: int = 0) -> list[np.ndarray]:
    """The arrays with their examples in one common random order."""
    found, n = _rows("shuffled", arrays)
    order = np.random.default_rng(seed).permutation(n)
    return [a[order] for a in found]


def batchify(
    *arrays: Any, batch_size: int, option: str = "continuous", seed: int = 0, drop_last: bool = True
) -> Iterator[Any]:
    """Batches of examples, as tuples where there are several arrays.

    `option` "continuous" goes through them in order, "random" in a random order, "random_see_all" being another name
    of it. With `drop_last`, examples that do not fill a batch are left out, so that all batches have one size and one
    compiled program serves them; another seed leaves out others.
    """
    found, n = _rows("batchify", arrays)
    if not 1 <= batch_size <= n:
        raise ValueError(f"batchify: a batch has between 1 and {n} examples, got {batch_size!r}")
    if option not in ("continuous", "random", "random_see_all"):
        raise ValueError(f"batchify: option is 'continuous' or 'random', got {option!r}")
    order = np.arange(n) if option == "continuous" else np.random.default_rng(seed).permutation(n)
    starts = range(0, n - batch_size + 1 if drop_last else n, batch_size)
    return (_batch(found, order[start : start + batch_size]) for start in starts)


def _batch(arrays: list[np.ndarray], rows: np.ndarray) -> Any:
    batch = tuple(a[rows] for a in arrays)
    return batch if len(batch) > 1 else batch[0]


def train_test_split(*arrays: Any, test_size: float = 0.25, seed: int = 0, stratify: Any = None) -> list[np.ndarray]:
    """Each array in two parts, train and test, with the examples drawn at random: `a, a_test, b, b_test`.

    `test_size` is a share. With `stratify`, one label an example, each kind is split by that share.
    """
    found, n = _rows("train_test_split", arrays if stratify is None else (*arrays, stratify))
    if not 0 < test_size < 1:
        raise ValueError(f"train_test_split: test_size is a share between 0 and 1, got {test_size!r}")
    rng = np.random.default_rng(seed)
    if stratify is None:
        groups = [rng.permutation(n)]
    else:
        labels = found.pop()
        groups = [rng.permutation(np.flatnonzero(labels == kind)) for kind in np.unique(labels)]
    cuts = [round(len(g) * test_size) for g in groups]
    test = np.concatenate([g[:c] for g, c in zip(groups, cuts, strict=True)])
    train = np.concatenate([g[c:] for g, c in zip(groups, cuts, strict=True)])
    if not len(train) or not len(test):
        raise ValueError(f"train_test_split: {n} examples and test_size={test_size} leave a part empty")
    return [part for a in found for part in (a[train], a[test])]


class Standardize(NamedTuple):
    """Mean 0 and deviation 1 a feature, by the moments of the data it was fitted to."""

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def fit(cls, x: Any, axis: Any = 0) -> Standardize:
        """The moments of data; features that never change are left at deviation 1."""
        x = np.asarray(x, np.float64)
        std = x.std(axis, keepdims=True)
        return cls(x.mean(axis, keepdims=True), np.where(std > 0, std, 1.0))

    def transform(self, x: Any) -> np.ndarray:
        """Data in deviations from the mean."""
        return (np.asarray(x) - self.mean) / self.std

    def inverse(self, x: Any) -> np.ndarray:
        """Back to the units of the data."""
        return np.asarray(x) * self.std + self.mean
