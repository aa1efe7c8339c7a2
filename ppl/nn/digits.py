"""Handwritten digits that come with the package, so that nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Scanned digits of 13 writers, as (images, labels): 1,797 images (8, 8) of ink from 0 to 1, and what was written.

    They are the test set of Alpaydin & Kaynak's "Optical Recognition of Handwritten Digits" (UCI Machine Learning
    Repository, 1998), under CC BY 4.0; `digits.txt` beside the data says more.

    >>> from ppl.nn.digits import digits
    >>> images, labels = digits()
    >>> images.shape, labels[:5].tolist()
    ((1797, 8, 8), [0, 1, 2, 3, 4])
    """
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as file:
        return file["images"] / 16.0, file["labels"].astype(np.int64)
