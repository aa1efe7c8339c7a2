"""What can go wrong while sampling, each with a name to catch and what was saved."""

from typing import Any


class SamplingError(RuntimeError):
    """Sampling could not go on."""


class StartError(SamplingError):
    """No starting point with a finite log-density and gradient was found."""


class ChainError(SamplingError):
    """A chain failed; ``partial`` is the run with the finished draws of all chains."""

    def __init__(self, message: str, chain: int, partial: Any) -> None:
        super().__init__(message)
        self.chain = chain
        self.partial = partial


class StorageError(SamplingError):
    """A checkpoint could not be written or read; ``partial`` is the run so far, if there is one."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class UnresolvedError(SamplingError):
    """A density of one number that no sum of polynomials on panels follows; the text says what was found."""
