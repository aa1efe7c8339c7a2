"""How many threads linear algebra may take while chains hold the cores.

NumPy, SciPy and, through SciPy, the programs of JAX call OpenBLAS. It starts a thread a core for every product, and
its threads wait for each other by spinning. While as many chains are sampling, a product of two 100 x 100 matrices was
seen to take seconds instead of half a millisecond, and the gradient of a Gaussian process with 100 points thirty times
as long. So chains share the cores: each gets the threads that are left for it, and the host's work on a window one.
The last that is done puts the number back. Where the library is another one (Accelerate, MKL) or cannot be asked,
nothing is changed.
"""

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache

_USERS = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas", "scipy.linalg._flapack")
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
          "openblas_{}_num_threads")  # fmt: skip
_LOCK = threading.Lock()
_asked: list[int] = []  # how many threads each of the blocks that run now allows
_before: list[tuple[Callable[[int], object], int]] = []  # what the first of them found


@contextlib.contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Inside the block, and others that run at the same time, OpenBLAS uses at most so many threads."""
    with _LOCK:
        if not _asked:
            _before[:] = [(put, get()) for get, put in _controls()]
        _asked.append(count)
        _apply()
    try:
        yield
    finally:
        with _LOCK:
            _asked.remove(count)
            _apply()


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """`blas_threads(1)`."""
    return blas_threads(1)


def threads_beside(workers: int) -> int:
    """How many threads are left for each of so many workers, on the cores of this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // max(1, workers))


def _apply() -> None:
    for put, usual in _before:
        put(min([usual, *_asked]))


def _controls() -> list[tuple[Callable[[], int], Callable[[int], object]]]:
    """Functions that get and set the number of threads of each OpenBLAS that this process has loaded."""
    return [found for module in _USERS if module in sys.modules and (found := _control(module)) is not None]


@cache
def _control(module: str) -> tuple[Callable[[], int], Callable[[int], object]] | None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        # Symbols of a library that a loaded extension depends on are found through the extension itself.
        library = ctypes.CDLL(sys.modules[module].__file__)
        name = next((n for n in _NAMES if hasattr(library, n.format("set"))), None)
        if name is not None:
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None
