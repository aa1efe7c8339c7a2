"""Where inducing points start."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ppl.tensor.tensor import Tensor, is_constant, value_of


def kmeans_inducing_points(n_inducing: int, X: Any, **kmeans_kwargs: Any) -> np.ndarray:
    """The centers of `n_inducing` clusters of the rows of X, found by `scipy.cluster.vq.kmeans` on scaled columns."""
    from scipy.cluster.vq import kmeans

    if isinstance(X, Tensor) and is_constant(X):
        X = value_of(X)
    elif isinstance(X, np.ndarray | tuple | list):
        X = np.asarray(X)
    else:
        raise TypeError(
            "To use K-means initialization, please provide X as a type that can be cast to np.ndarray, instead of "
            f"{type(X)}"
        )
    spread = np.std(X, 0)
    spread = np.where(spread <= 1e-6, 1.0, spread)
    if kmeans_kwargs.pop("k_or_guess", None) is not None:
        warnings.warn("Use `n_inducing` to set the `k_or_guess` parameter instead.", UserWarning, stacklevel=2)
    return np.asarray(kmeans(X / spread, k_or_guess=n_inducing, **kmeans_kwargs)[0] * spread)
