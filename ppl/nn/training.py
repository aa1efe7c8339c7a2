"""A training loop for those who want none of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def fit(
    step: Callable[..., Any],
    batches: Callable[[int], Iterable[Any]],
    epochs: int,
    *,
    after_epoch: Callable[[int, float], Any] | None = None,
    progress: bool = True,
) -> np.ndarray:
    """The mean of what `step` returns, in each epoch.

    `step` is a compiled function whose first (or only) result is the loss, `batches(epoch)` gives the arguments of one
    call at a time. `after_epoch(epoch, loss)` may end the training by returning True. A loss that is not finite ends
    it with an error that says when.
    """
    if epochs < 1:
        raise ValueError(f"fit: the number of epochs is positive, got {epochs!r}")
    means: list[float] = []
    with _bar(epochs) if progress else contextlib.nullcontext() as show:
        for epoch in range(epochs):
            losses = [_loss(step(*(batch if isinstance(batch, tuple) else (batch,)))) for batch in batches(epoch)]
            if not losses:
                raise ValueError(f"fit: epoch {epoch} has no batches")
            means.append(float(np.mean(losses)))
            if not np.isfinite(means[-1]):
                raise FloatingPointError(f"fit: the loss is {means[-1]} in epoch {epoch}; try a smaller learning rate")
            if show is not None:
                show(means[-1])
            if after_epoch is not None and after_epoch(epoch, means[-1]) is True:
                break
    return np.array(means)


def _loss(result: Any) -> float:
    return float(result[0] if isinstance(result, list | tuple) else result)


@contextlib.contextmanager
def _bar(epochs: int) -> Any:
    """A line that shows how far the training is, and the last loss."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
    with Progress(*columns, TimeRemainingColumn()) as bar:
        task = bar.add_task("training", total=epochs, loss="")
        yield lambda loss: bar.update(task, advance=1, loss=f"loss {loss:.4g}")
