"""Which rows are left out together: at random, by classes in equal shares, or whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np


def folds_of(rows: int, k: int, groups: Any, stratify: Any, seed: int) -> np.ndarray:
    """The number of the fold of each row, from 0 on."""
    rng = np.random.default_rng([seed, 3])
    if groups is not None and stratify is not None:
        raise ValueError("kfold: groups= keeps rows together and stratify= spreads them out: give one of them")
    if groups is not None:
        return _of_groups(_labels("groups", groups, rows), k, rng)
    classes = np.zeros(rows, int) if stratify is None else _labels("stratify", stratify, rows)
    if k > rows:
        raise ValueError(f"kfold: {rows} rows cannot be put into k={k} folds")
    dealt = np.lexsort((rng.random(rows), classes))  # at random within each class, one class after the other
    folds = np.empty(rows, int)
    folds[dealt] = np.arange(rows) % k
    return folds


def _of_groups(labels: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Whole groups, the largest first, each to the fold that has the fewest rows."""
    sizes = np.bincount(labels)
    if k > len(sizes):
        raise ValueError(f"kfold: {len(sizes)} groups cannot be put into k={k} folds")
    of_group, rows = np.empty(len(sizes), int), np.zeros(k, int)
    for group in np.lexsort((rng.random(len(sizes)), -sizes)):
        of_group[group] = fold = int(np.argmin(rows))
        rows[fold] += sizes[group]
    return of_group[labels]


def given_folds(folds: Any, rows: int) -> np.ndarray:
    """Folds that the user has chosen, numbered from 0 on."""
    labels = _labels("folds", folds, rows)
    if labels.max() == 0:
        raise ValueError("kfold: folds= puts all rows into one fold, so that none is left to fit")
    return labels


def _labels(name: str, given: Any, rows: int) -> np.ndarray:
    array = np.asarray(given)
    if array.shape != (rows,):
        raise ValueError(f"kfold: {name}= has one entry for each row, shape ({rows},); got shape {array.shape}")
    return np.unique(array, return_inverse=True)[1].reshape(-1)
