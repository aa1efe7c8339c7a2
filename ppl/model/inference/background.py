"""Sampling that goes on in the background: `sample(..., blocking=False)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.samplers import Handle
from ppl.samplers.runs.progress import Display


class Sampling:
    """A run of chains: `wait` for its result, `inspect` what is finished, `pause` and `resume` it, or `abort` it."""

    def __init__(self, handle: Handle, finish: Callable[[Any, bool], Any]) -> None:
        self._handle, self._finish = handle, finish
        self._result: Any = None

    def wait(self, timeout: float | None = None, display: Display | None = None) -> Any:
        """The result when all draws are made; TimeoutError if that takes longer than `timeout` seconds."""
        if self._result is None:
            self._result = self._finish(self._handle.wait(timeout, display), True)
        return self._result

    def inspect(self) -> Any:
        """A result of the draws made so far."""
        return self._finish(self._handle.partial(), False)

    def pause(self) -> None:
        """Let the chains rest."""
        self._handle.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._handle.resume()

    def abort(self) -> Any:
        """Stop, and give the draws made so far."""
        if self._result is None:
            self._result = self._finish(self._handle.abort(), True)
        return self._result

    def cancel(self) -> None:
        """Stop, and forget the draws."""
        self._handle.abort()

    @property
    def is_finished(self) -> bool:
        """Whether all chains are done."""
        return not self._handle.running

    @property
    def progress(self) -> Any:
        """How far each chain is."""
        return self._handle.progress()

    @property
    def posterior(self) -> Any:
        """The draws made so far, as a Dataset."""
        return self.inspect().posterior

    def __repr__(self) -> str:
        chains = ", ".join(f"{c.done}/{c.total}" for c in self._handle.progress())
        return f"<Sampling: {self._handle.phase}, draws by chain {chains}>"

    def _repr_html_(self) -> str:
        return self._handle._repr_html_()
