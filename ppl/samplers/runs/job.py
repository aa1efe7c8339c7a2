"""What a run is asked for, and what its parts share while it goes on."""

import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ppl.samplers.programs.kernel import Data, Kernel
from ppl.samplers.programs.packing import Packed
from ppl.samplers.runs.chain import Chain
from ppl.samplers.runs.progress import ChainProgress
from ppl.samplers.runs.rows import Rows, Shape
from ppl.samplers.runs.start import Terms

Initial = Callable[[int, int], np.ndarray]  # (chain, attempt) -> position


Callback = Callable[[list[ChainProgress]], None]


class Store(Protocol):
    """Where chains keep their rows and states."""

    place: str | None  # the directory, where they outlive the process

    def rows(self, chain: int, name: str, shape: Shape) -> Rows:
        """A table of a chain."""

    def restore(self, chain: Chain) -> bool:
        """Give a chain back what it had saved. False if it had nothing."""

    def saved(self, chain: Chain, last: bool) -> None:
        """Called after rows were written, and once more when the chain stops."""

    def close(self) -> None:
        """Called when all chains have stopped; rows are still read afterwards."""


class Job(NamedTuple):
    """All that a run needs; everything in it is fixed before the first chain starts."""

    kernel: Kernel
    kernel_key: Hashable
    plan: Any
    data: Data
    initial: Initial
    attempts: int
    dim: int
    dtype: np.dtype
    chains: int
    cores: int
    tune: int
    draws: int
    seed: int
    store: Store
    settings: dict[str, Any]
    together: bool = False  # is this an ensemble kernel, that moves all chains at once?
    expand: Callable[..., Any] | None = None
    expand_key: Hashable = None
    names: Sequence[str] | None = None
    terms: Terms | None = None
    keep_warmup: bool = False
    callback: Callback | None = None
    work_of_gradient: Callable[[], float] = lambda: math.inf  # decides how far the loop is polished
    mesh: Any = None  # the devices that share chains and rows of data, where they do
    spread: int = 0  # how many of the data have an axis of blocks in front, which the devices share


class Compiled(NamedTuple):
    """The programs of a run, and what they are given each time, on the device."""

    advance: Any
    expanded: Any
    rows: int
    plan: Packed
    data: Data
    spare: list[tuple[Any, Any]]  # what finished chains filled with draws and with generated quantities, for others


class Signals(NamedTuple):
    """How the threads of a run and its handle speak to each other."""

    go: threading.Event
    stop: threading.Event
    lock: threading.Lock  # held while tables are written or read
    report: Callable[[], None]
    leaving: threading.Event  # set where the program shall end once the run is saved, as after SIGTERM
