"""Running chains: one thread each on CPU, in dispatches of about 75 ms, with everything the host does in between.

XLA releases Python's lock while a program runs, so threads are as good as processes and share one executable. Between
dispatches a chain copies its draws out, reports, saves, and looks whether it should pause or stop. Nothing that
happens there reaches the random numbers: a chain's draws depend on its seed and number alone.
"""

import atexit
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from .chain import Chain, Layout
from .errors import ChainError, SamplingError, StartError, StorageError
from .kernel import Data, Kernel
from .programs import PROGRAMS, chunk_program, expand_program, rows_for
from .progress import ChainProgress, Display, Nothing, Report, as_html
from .randomness import chain_key, own_settings
from .rows import Rows, Shape
from .run import Run, assemble
from .start import Terms, describe_failure

REFRESH_SECONDS = 0.1
NEVER = -1e299  # a state whose log-density is lower was never at a point: there it is -inf or nan

Initial = Callable[[int, int], np.ndarray]  # (chain, attempt) -> position


Callback = Callable[[list[ChainProgress]], None]


class Store(Protocol):
    """Where chains keep their rows and states."""

    def rows(self, chain: int, name: str, shape: Shape) -> Rows:
        """A table of a chain."""

    def restore(self, chain: Chain, state: Any) -> bool:
        """Give a chain back what it had saved; ``state`` shows what a state looks like. False if it had nothing."""

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
    expand: Callable[..., Any] | None
    expand_key: Hashable
    names: Sequence[str] | None
    terms: Terms | None
    keep_warmup: bool
    callback: Callback | None
    store: Store
    settings: dict[str, Any]


class Handle:
    """A run in progress: ``pause``, ``resume``, ``abort``, ``wait``, and ``partial`` for what is finished."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._go = threading.Event()
        self._go.set()
        self._stop = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._report_lock = threading.Lock()
        self._error: BaseException | None = None
        self._compile_seconds = 0.0
        self._began = time.perf_counter()
        self._seconds = 0.0
        expanded = None
        if job.expand is not None:
            with own_settings():
                expanded = jax.eval_shape(job.expand, np.empty(job.dim, job.dtype), *job.data)
        layout = Layout(job.kernel, job.dim, job.dtype, job.tune, job.draws, expanded)
        try:
            self._chains = [
                Chain(c, chain_key(job.seed, c), layout, job.keep_warmup, job.store.rows) for c in range(job.chains)
            ]
        except BaseException:
            job.store.close()
            raise
        self.phase = "compiling"
        self._thread = threading.Thread(target=self._coordinate, name="sample", daemon=True)

    def start(self) -> "Handle":
        """Begin to compile and sample in the background."""
        _RUNNING.add(self)
        self._thread.start()
        return self

    def pause(self) -> None:
        """Let every chain rest after its current dispatch."""
        self._go.clear()

    def resume(self) -> None:
        """Go on after ``pause``."""
        self._go.set()

    def abort(self) -> Run:
        """Stop all chains after their current dispatches and return what is finished."""
        self._stop.set()
        self._go.set()
        self._thread.join()
        return self.partial()

    def wait(self, timeout: float | None = None, display: Display | None = None) -> Run:
        """The finished run; raises TimeoutError when it takes longer than ``timeout`` seconds."""
        end = time.monotonic() + (timeout if timeout is not None else float("inf"))
        with display if display is not None else Nothing() as shown:
            while not self._done.wait(min(REFRESH_SECONDS, max(0.0, end - time.monotonic()))):
                shown.show(self.report())
                if time.monotonic() >= end:
                    raise TimeoutError(
                        f"Sampling is not finished after {timeout:g} s; `partial()` has the draws so far."
                    )
            shown.show(self.report())
        self._thread.join()
        if self._error is not None:
            self._raise()
        return self.partial()

    def report(self) -> Report:
        """Phase, seconds, and how far each chain is."""
        seconds = self._seconds if self._done.is_set() else time.perf_counter() - self._began
        return Report(self.phase, seconds, self.progress())

    def _repr_html_(self) -> str:
        return as_html(self.report())

    @property
    def running(self) -> bool:
        """Is any chain still at work (or paused)?"""
        return not self._done.is_set()

    def partial(self) -> Run:
        """The draws that are finished now."""
        job = self._job
        with self._lock:
            records = [c.record() for c in self._chains]
            finished = all(c.finished for c in self._chains)
        seconds = self._seconds if self._done.is_set() else time.perf_counter() - self._began
        return assemble(
            records,
            compile_seconds=self._compile_seconds,
            sampling_seconds=seconds - self._compile_seconds,
            interrupted=not finished,
            settings=job.settings,
        )

    def progress(self) -> list[ChainProgress]:
        """How far each chain is."""
        return [
            ChainProgress(c.number, c.done, c.total, c.tune, c.n_diverging, c.step_size, c.n_gradients, c.elapsed)
            for c in self._chains
        ]

    def _coordinate(self) -> None:
        try:
            with own_settings():
                programs = self._compile()
            self.phase = "sampling"
            waiting = list(reversed(self._chains))
            workers = [
                threading.Thread(target=self._work, args=(waiting, programs), name=f"chains-{i}", daemon=True)
                for i in range(min(self._job.cores, self._job.chains))
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except BaseException as error:  # handed to whoever waits
            self._error = error
        self._job.store.close()
        self._seconds = time.perf_counter() - self._began
        self.phase = "done"
        self._done.set()

    def _compile(self) -> "_Programs":
        job = self._job
        rows = rows_for(job.dim, job.dtype.itemsize)
        before = PROGRAMS.seconds
        state = job.kernel.init(np.zeros(job.dim, job.dtype))
        advance = PROGRAMS.get(
            ("chunk", job.kernel_key, rows),
            lambda: chunk_program(job.kernel, rows),
            (chain_key(0, 0), job.plan, job.data, state, np.int64(0)),
        )
        expanded = None
        if job.expand is not None:
            expand = job.expand
            expanded = PROGRAMS.get(
                ("expand", job.expand_key, rows),
                lambda: expand_program(expand),
                (np.zeros((rows, job.dim), job.dtype), job.data, np.int64(0)),
            )
        self._compile_seconds = PROGRAMS.seconds - before
        return _Programs(advance, expanded, rows, jax.device_put(job.plan), jax.device_put(job.data))

    def _work(self, waiting: list[Chain], programs: "_Programs") -> None:
        with own_settings():
            while not self._stop.is_set():
                with self._lock:
                    if not waiting:
                        return
                    chain = waiting.pop()
                try:
                    self._run(chain, programs)
                except BaseException as error:
                    self._failed(chain, error)

    def _failed(self, chain: Chain, error: BaseException) -> None:
        """A chain that fails leaves the others alone; a disk, a start or a callback that fails stops the run."""
        chain.error = error
        with self._lock:
            if self._error is not None:
                return
            self._error = error
        if isinstance(error, OSError):
            self._error = error = StorageError(
                f"Draws of chain {chain.number} cannot be written: {error.strerror or error}. Make room on the disk; a"
                " checkpoint can be resumed from its last saved state."
            )
        if isinstance(error, StorageError | StartError | _CallbackError):
            self._stop.set()

    def _raise(self) -> None:
        """Raise what went wrong, with the finished draws where there are any."""
        error = self._error
        if isinstance(error, _CallbackError):
            raise error.cause
        if isinstance(error, StorageError):
            error.partial = self.partial()
        failed = [c for c in self._chains if c.error is not None]
        if not failed or isinstance(error, SamplingError) or not isinstance(error, Exception):
            raise error if error is not None else RuntimeError("no error")
        others = "" if len(failed) == 1 else f" (so did chains {', '.join(str(c.number) for c in failed[1:])})"
        raise ChainError(
            f"Chain {failed[0].number} failed after {failed[0].done} of {failed[0].total} draws{others}: {error}. All"
            " finished draws are in `.partial` of this error.",
            failed[0].number,
            self.partial(),
        ) from error

    def _run(self, chain: Chain, programs: "_Programs") -> None:
        job = self._job
        key, plan, data = jax.device_put(chain.key), programs.plan, programs.data
        restored = job.store.restore(chain, job.kernel.init(np.zeros(job.dim, job.dtype)))
        if not restored:
            chain.state = self._start(chain, key, plan, data, programs)
        while not chain.finished and not self._stop.is_set():
            self._go.wait()
            began, processor = time.perf_counter(), time.process_time()
            n = chain.next_dispatch(programs.rows)
            state, chunk = programs.advance(key, plan, data, chain.state, np.int64(n))
            chunk.facts.block_until_ready()
            lasted, processor = time.perf_counter() - began, time.process_time() - processor
            values = None
            if programs.expanded is not None and chain.done >= chain.tune:
                values = programs.expanded(chunk.positions, data, chunk.drawn)
            with self._lock:
                chain.take(job.plan, state, chunk, values, (began, lasted, processor))
            job.store.saved(chain, last=False)
            if job.callback is not None:
                self._report(job.callback)
        job.store.saved(chain, last=True)

    def _report(self, callback: Callback) -> None:
        with self._report_lock:
            try:
                callback(self.progress())
            except BaseException as error:
                raise _CallbackError(error) from error

    def _start(self, chain: Chain, key: Any, plan: Any, data: Data, programs: "_Programs") -> Any:
        """A state at a finite starting point: the kernel's first step does nothing but evaluate it."""
        job = self._job
        for attempt in range(job.attempts):
            position = np.asarray(job.initial(chain.number, attempt), job.dtype)
            state, _ = programs.advance(key, plan, data, job.kernel.init(position), np.int64(1))
            logp, gradient = float(state.logp), np.asarray(state.gradient)
            if logp <= NEVER:
                logp = float("-inf")
            if np.isfinite(logp) and np.all(np.isfinite(gradient)) and np.all(np.isfinite(position)):
                return state
        raise describe_failure(chain.number, job.attempts, position, logp, gradient, job.names, job.terms)


_RUNNING: weakref.WeakSet[Handle] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Let no thread outlive the interpreter: one that is inside XLA when Python goes away aborts the process."""
    for handle in list(_RUNNING):
        handle.abort()


class _CallbackError(Exception):
    """A callback failed with ``cause``."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Programs(NamedTuple):
    advance: Any
    expanded: Any
    rows: int
    plan: Any  # on the device, as are the data
    data: Data
