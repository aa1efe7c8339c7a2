"""A run and its handle: who works on which chain, how far it is, what went wrong, and what there is so far.

What is done with a chain between two dispatches stands in ``alone.py``, for chains in threads, and ``together.py``.
Nothing that happens there reaches the random numbers: a chain's draws depend on its seed and number alone.
"""

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ppl.samplers.programs.programs import PROGRAMS, Made
from ppl.samplers.programs.randomness import chain_key, own_settings
from ppl.samplers.runs import alone, on_mesh, together
from ppl.samplers.runs.chain import Chain, Layout
from ppl.samplers.runs.errors import ChainError, SamplingError, StartError, StorageError
from ppl.samplers.runs.interrupt import Presses, Termination
from ppl.samplers.runs.job import Compiled, Job, Signals
from ppl.samplers.runs.progress import ChainProgress, Display, Nothing, Report, as_html, preparation
from ppl.samplers.runs.run import Run, assemble
from ppl.xla.blas import blas_threads, threads_beside
from ppl.xla.later import jax
from ppl.xla.meshes import is_first

REFRESH_SECONDS = 0.1


class Handle:
    """A run in progress: ``pause``, ``resume``, ``abort``, ``wait``, and ``partial`` for what is finished."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._go = threading.Event()
        self._go.set()
        self._stop = threading.Event()
        self._done = threading.Event()
        self._leaving = threading.Event()
        self._lock = threading.Lock()
        self._report_lock = threading.Lock()
        self._error: BaseException | None = None
        self._compile_seconds = 0.0
        self._made: list[Made] = []
        self._began = time.perf_counter()
        self._seconds = 0.0
        expanded = None
        if job.expand is not None:
            with own_settings():
                expanded = jax.eval_shape(job.expand, np.empty(job.dim, job.dtype), *job.data)
        layout = self._layout = Layout(job.kernel, job.plan, job.dim, job.dtype, job.tune, job.draws, expanded)
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
        self.stop()
        self._thread.join()
        return self.partial()

    def stop(self) -> None:
        """Ask all chains to stop after their current dispatches, and do not wait for it."""
        self._stop.set()
        self._go.set()

    def wait(self, timeout: float | None = None, display: Display | None = None) -> Run:
        """The finished run; raises TimeoutError when it takes longer than ``timeout`` seconds."""
        end = time.monotonic() + (timeout if timeout is not None else float("inf"))
        self._show(display, lambda: end - time.monotonic())
        if not self._done.is_set():
            raise TimeoutError(f"Sampling is not finished after {timeout:g} s; `partial()` has the draws so far.")
        return self._result()

    def watch(self, display: Display | None = None) -> Run:
        """The finished run, or what there is of it when Ctrl-C is pressed.

        Where there is no draw yet, and when the key is pressed twice, KeyboardInterrupt is raised at once. Where the
        run is saved in a directory, SIGTERM ends the program by SystemExit, with all that is finished in its place.
        """
        place = self._job.store.place
        with Presses() as presses, Termination(place is not None) as termination:
            leaves = lambda: termination.asked or self._leaving.is_set()
            try:
                self._show(display, lambda: 0.0 if presses.count or leaves() else REFRESH_SECONDS)
                if leaves():
                    self._leave()
                if self._done.is_set():
                    return self._result()
            except KeyboardInterrupt:  # from a callback, or where Ctrl-C is not ours to count
                pass
            except BaseException:  # of the display: nobody waits any more
                self.stop()
                raise
            self.stop()
            if presses.count > 1 or not any(chain.done for chain in self._chains):
                raise KeyboardInterrupt  # a compiler cannot be stopped, but need not be waited for
            return self.abort()

    def _leave(self) -> NoReturn:
        """Save the run and end the program; what went wrong before that is raised instead."""
        self._leaving.set()
        self.stop()
        self._thread.join()
        if self._error is not None:
            self._raise()
        if is_first():
            place = self._job.store.place
            logging.getLogger("ppl").warning(
                "SIGTERM: the run is saved in %s; resume=%r goes on with it.", place, place
            )
        raise SystemExit(Termination.CODE)

    def _show(self, display: Display | None, seconds_left: Callable[[], float]) -> None:
        """Keep ``display`` up to date until the run is done or no time is left."""
        with display if display is not None else Nothing() as shown:
            while (left := seconds_left()) > 0 and not self._done.wait(min(REFRESH_SECONDS, left)):
                shown.show(self.report())
            shown.show(self.report())

    def _result(self) -> Run:
        self._thread.join()
        if self._error is not None:
            self._raise()
        return self.partial()

    def report(self) -> Report:
        """Phase, seconds, and how far each chain is."""
        seconds = self._seconds if self._done.is_set() else time.perf_counter() - self._began
        return Report(self.phase, seconds, self.progress(), preparation(self._made))

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

    def _way(self) -> Any:
        """What is done with chains between dispatches."""
        return on_mesh if self._job.mesh is not None else together if self._job.together else alone

    def _coordinate(self) -> None:
        try:
            with own_settings():
                began = time.perf_counter()
                with PROGRAMS.noted() as self._made:
                    compiled = self._way().compiled(self._job, self._layout)
                self._compile_seconds = time.perf_counter() - began
            self.phase = "sampling"
            one = self._way() is alone
            crews = [[chain] for chain in reversed(self._chains)] if one else [self._chains]
            workers = [
                threading.Thread(target=self._work, args=(crews, compiled), name=f"chains-{i}", daemon=True)
                for i in range(min(self._job.cores, len(crews)))
            ]
            with blas_threads(threads_beside(len(workers))):
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

    def _work(self, waiting: list[list[Chain]], compiled: Compiled) -> None:
        signals = Signals(self._go, self._stop, self._lock, self._report, self._leaving)
        with own_settings():
            while not self._stop.is_set():
                with self._lock:
                    if not waiting:
                        return
                    crew = waiting.pop()
                try:
                    way = self._way()
                    if way is alone:
                        alone.run(crew[0], self._job, compiled, signals)
                    else:
                        way.run(crew, self._job, compiled, signals)
                except BaseException as error:
                    self._failed(crew, error)

    def _failed(self, crew: list[Chain], error: BaseException) -> None:
        """A chain that fails leaves the others alone; a disk, a start or a callback that fails stops the run."""
        for chain in crew:
            chain.error = error
        with self._lock:
            if self._error is not None:
                return
            self._error = error
        if isinstance(error, OSError):
            self._error = error = StorageError(
                f"Draws of chain {crew[0].number} cannot be written: {error.strerror or error}. Make room on the disk;"
                " a checkpoint can be resumed from its last saved state."
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

    def _report(self) -> None:
        if self._job.callback is None:
            return
        with self._report_lock:
            try:
                self._job.callback(self.progress())
            except BaseException as error:
                raise _CallbackError(error) from error


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
