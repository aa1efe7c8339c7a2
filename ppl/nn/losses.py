"""Losses, one number an example unless said otherwise: take the mean before optimizing.

Classification compares scores (logits, axis -1 the classes) with labels, regression values with values; the variational
autoencoder's parts are its reconstruction and its divergence.
"""

from __future__ import annotations

import math
from typing import Any

from ppl.tensor.arrays.creation import arange
from ppl.tensor.arrays.reductions import argmax, log_softmax
from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.core.elementwise import abs as absolute
from ppl.tensor.core.elementwise import exp, maximum, minimum, softplus, switch
from ppl.tensor.core.ops import cast_to
from ppl.tensor.tensor import Tensor, as_tensor


def _pair(who: str, first: Any, second: Any) -> tuple[Tensor, Tensor]:
    a, b = as_tensor(first), as_tensor(second)
    fits = a.ndim == b.ndim and all(None in (n, m) or n == m for n, m in zip(a.type.shape, b.type.shape, strict=True))
    if not fits:
        raise ValueError(f"{who}: shapes {a.type.shape} and {b.type.shape} differ, of {a!r} and {b!r}")
    return a, b


def _labels(who: str, labels: Any, logits: Any) -> tuple[Tensor, Tensor]:
    """Whole numbers with one axis less than the scores."""
    labels, logits = as_tensor(labels), as_tensor(logits)
    if labels.dtype[0] not in "iu":
        raise TypeError(f"{who}: labels are whole numbers, got {labels!r} of dtype {labels.dtype}")
    if labels.ndim != logits.ndim - 1:
        raise ValueError(
            f"{who}: labels have one axis less than scores, got {labels!r} of shape {labels.type.shape} for "
            f"{logits!r} of shape {logits.type.shape}"
        )
    return labels, logits


def _is_label(labels: Tensor, logits: Tensor) -> Tensor:
    return labels[..., None].__eq__(arange(logits.shape[-1]))


# --- classification ---------------------------------------------------------------------------------------------------
def sparse_softmax_crossentropy_logits(labels: Any, logits: Any) -> Tensor:
    """-log of the probability of the label, softmax of the scores being the probabilities."""
    labels, logits = _labels("sparse_softmax_crossentropy_logits", labels, logits)
    return -sum_along(switch(_is_label(labels, logits), log_softmax(logits, axis=-1), 0), axis=-1)


def softmax_crossentropy_logits(probabilities: Any, logits: Any) -> Tensor:
    """The cross-entropy of given probabilities and the softmax of the scores."""
    p, logits = _pair("softmax_crossentropy_logits", probabilities, logits)
    return -sum_along(p * log_softmax(logits, axis=-1), axis=-1)


def sigmoid_crossentropy_logits(probabilities: Any, logits: Any) -> Tensor:
    """The cross-entropy of a given probability (or 0, 1) and the sigmoid of the score, entry by entry."""
    p, logits = _pair("sigmoid_crossentropy_logits", probabilities, logits)
    return softplus(logits) - p * logits


def hinge(labels: Any, scores: Any) -> Tensor:
    """max(0, 1 - label · score), labels -1 and 1, entry by entry."""
    labels, scores = _pair("hinge", labels, scores)
    return maximum(1 - labels * scores, 0)


def multiclass_hinge(labels: Any, scores: Any, delta: float = 1.0) -> Tensor:
    """How much less than `delta` the label's score lies above the best other one."""
    labels, scores = _labels("multiclass_hinge", labels, scores)
    mine = _is_label(labels, scores)
    of_label = sum_along(switch(mine, scores, 0), axis=-1)
    best_other = switch(mine, -math.inf, scores).max(axis=-1)
    return maximum(best_other - of_label + delta, 0)


def accuracy(labels: Any, scores: Any) -> Tensor:
    """The share of examples whose largest score is the label's: one number."""
    labels, scores = _labels("accuracy", labels, scores)
    return cast_to(argmax(scores, axis=-1).__eq__(labels), "float64").mean()


# --- regression -------------------------------------------------------------------------------------------------------
def squared_differences(x: Any, y: Any) -> Tensor:
    """(x - y)², entry by entry."""
    x, y = _pair("squared_differences", x, y)
    return (x - y) ** 2


def huber(x: Any, y: Any, delta: float = 1.0) -> Tensor:
    """Half the square of the difference where it is small, linear beyond `delta` (Huber 1964), entry by entry."""
    x, y = _pair("huber", x, y)
    if not delta > 0:
        raise ValueError(f"huber: delta is positive, got {delta!r}")
    far = absolute(x - y)
    near = minimum(far, delta)
    return 0.5 * near**2 + delta * (far - near)


def explained_variance(y: Any, prediction: Any) -> Tensor:
    """1 minus the variance of the error over that of y, over all entries: one number."""
    y, prediction = _pair("explained_variance", y, prediction)
    return 1 - (y - prediction).var() / y.var()


# --- variational autoencoder ------------------------------------------------------------------------------------------
def normal_divergence(mu: Any, log_variance: Any) -> Tensor:
    """KL(N(μ, σ²) ‖ N(0, 1)), summed over the last axis."""
    mu, log_variance = _pair("normal_divergence", mu, log_variance)
    return 0.5 * sum_along(exp(log_variance) + mu**2 - 1 - log_variance, axis=-1)


def vae(x: Any, reconstruction: Any, mu: Any, log_variance: Any, beta: float = 1.0) -> Tensor:
    """Minus the evidence bound, up to a constant, of x ~ N(reconstruction, 1) with a code of mean μ (Kingma & Welling
    2014): half the squared error over the last axis, and `beta` times the divergence of the code from N(0, 1)."""
    x, reconstruction = _pair("vae", x, reconstruction)
    return 0.5 * sum_along((x - reconstruction) ** 2, axis=-1) + beta * normal_divergence(mu, log_variance)
