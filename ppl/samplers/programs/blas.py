"""One thread for NumPy's and SciPy's linear algebra while chains hold the other cores.

OpenBLAS starts a thread a core for every product, and its threads wait for each other by spinning. While as many
chains are sampling, a product of two 100 x 100 matrices was seen to take seconds instead of half a millisecond. So
the host's work on a window is done with one thread; the last chain that does such work puts the number back. Where the
library is another one (Accelerate, MKL) or cannot be asked, nothing is changed.
"""

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache

_USERS = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas", "scipy.linalg._flapack")
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
          "openblas_{}_num_threads")  # fmt: skip
_LOCK = threading.Lock()
_inside = 0  # blocks that run now
_before: list[tuple[Callable[[int], object], int]] = []  # what they found


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside the block, and others that run at the same time, OpenBLAS uses one thread."""
    global _inside
    with _LOCK:
        if not _inside:
            _before[:] = [(put, get()) for get, put in _controls()]
            for put, _ in _before:
                put(1)
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                for put, count in _before:
                    put(count)


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
