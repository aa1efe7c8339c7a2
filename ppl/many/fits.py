"""What many fits give: a result for each item, and for those that failed what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class FitError(Exception):
    """A fit that failed: which item it was, the error in words, and the traceback as text where it happened."""

    def __init__(self, index: int, item: Any, error: str, traceback: str = "") -> None:
        super().__init__(f"fit {index} failed: {error}")
        self.index, self.item, self.error, self.traceback = index, item, error, traceback

    def __reduce__(self) -> Any:
        return FitError, (self.index, self.item, self.error, self.traceback)


class Fits(Sequence[Any]):
    """The results of `map_fits`, in the order of the items; a `FitError` stands where a fit failed.

    Examples
    --------
    >>> fits = pm.Fits([{"mean": 1.0}, pm.FitError(1, "second", "ValueError: no data")], seconds=0.1)
    >>> len(fits), fits.failed
    (2, {1: FitError('fit 1 failed: ValueError: no data')})
    """

    def __init__(self, results: Sequence[Any], seconds: float, interrupted: bool = False) -> None:
        self._results, self.seconds, self.interrupted = list(results), seconds, interrupted

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    @property
    def failed(self) -> dict[int, FitError]:
        """The errors of the fits that failed, by the number of the item."""
        return {i: result for i, result in enumerate(self._results) if isinstance(result, FitError)}

    @property
    def done(self) -> dict[int, Any]:
        """The results of the others."""
        return {i: result for i, result in enumerate(self._results) if not isinstance(result, FitError)}

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Fits: {len(self.done)} of {len(self)} done{failed}, {self.seconds:.1f} s>"
