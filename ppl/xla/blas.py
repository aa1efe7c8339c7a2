"""How many threads linear algebra may take.

NumPy, SciPy and, through SciPy, the programs of JAX call OpenBLAS. It starts a thread a core for every product, and
its threads wait for each other by spinning. Where another thread wants one of the cores, the others wait for it: the
gradient of a Gaussian process with 300 points took 2 ms by one thread and 350 by two, and a product of two 100 x 100
matrices, while as many chains were sampling, seconds instead of half a millisecond. So chains share the cores: each
gets the threads that are left for it, and the host's work on a window one. What is called once, as a log-density by an
optimizer, takes one thread for matrices up to `LARGE`, where several were never faster in `benchmarks/blas_threads.py`.
The last that is done puts the number back. Where the library is another one (Accelerate, MKL) or cannot be asked,
nothing is changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ppl.xla.later import is_loaded, jax

_USERS = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas", "scipy.linalg._flapack")
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
          "openblas_{}_num_threads")  # fmt: skip
SMALL, LARGE = 48, 2000  # sides of matrices: below, OpenBLAS takes one thread by itself; beyond, it may take all
_LOCK = threading.Lock()
_asked: list[int] = []  # how many threads each of the blocks that run now allows
_before: list[tuple[Callable[[int], object], int]] = []  # what the first of them found
_allowed = 0  # what was set last

Number = tuple[Callable[[], int], Callable[[int], object]]  # gets and sets the number of threads


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Inside the block, and others that run at the same time, OpenBLAS uses at most so many threads."""
    begin(count)
    try:
        yield
    finally:
        end(count)


def begin(count: int = 1) -> None:
    """What `blas_threads` does first, without the time that a `with` block takes."""
    global _allowed
    with _LOCK:
        if not _asked:
            _allowed = count
            for get, put in _controls():
                usual = get()
                _before.append((put, usual))
                if usual > count:
                    put(count)
        elif count < _allowed:
            _allow(count)
        _asked.append(count)


def end(count: int = 1) -> None:
    """What `blas_threads` does last."""
    with _LOCK:
        _asked.remove(count)
        if not _asked:
            for put, usual in _before:
                if usual > _allowed:
                    put(usual)
            _before.clear()
        elif (least := min(_asked)) != _allowed:
            _allow(least)


def _allow(count: int) -> None:
    global _allowed
    _allowed = count
    for put, usual in _before:
        put(min(usual, count))


class InOneThread:
    """A program whose matrices are worked on by one thread; in all else it is that program."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run

    def __call__(self, *arguments: Any) -> Any:
        begin()
        try:
            results = self.run(*arguments)
            first = results[0] if type(results) is list else results  # a program's results come together
            try:
                first.block_until_ready()
            except AttributeError:  # a tuple or a dictionary, or not JAX's
                if is_loaded():
                    jax.block_until_ready(results)
            return results
        finally:
            end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)


def bounded(run: Callable[..., Any], side: int) -> Callable[..., Any]:
    """A program that calls LAPACK, its largest matrix with such a side: in one thread where that is the best."""
    return InOneThread(run) if SMALL <= side <= LARGE else run


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """`blas_threads(1)`."""
    return blas_threads(1)


def threads_beside(workers: int) -> int:
    """How many threads are left for each of so many workers, on the cores of this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // max(1, workers))


def _controls() -> list[Number]:
    """Those of each OpenBLAS that this process has loaded."""
    there = sys.modules
    return _of_libraries(_USERS[0] in there, _USERS[1] in there, _USERS[2] in there)


@cache
def _of_libraries(*loaded: bool) -> list[Number]:
    found: dict[int | None, Number] = {}
    for module in itertools.compress(_USERS, loaded):
        with contextlib.suppress(OSError, AttributeError, TypeError):
            # Symbols of a library that a loaded extension depends on are found through the extension itself.
            library = ctypes.PyDLL(sys.modules[module].__file__)
            name = next((n for n in _NAMES if hasattr(library, n.format("set"))), None)
            if name is not None:
                get, put = getattr(library, name.format("get")), getattr(library, name.format("set"))
                put.argtypes, put.restype = [ctypes.c_int], None
                found.setdefault(ctypes.cast(put, ctypes.c_void_p).value, (get, put))
    return list(found.values())
