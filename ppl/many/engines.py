"""Engines that run fits: processes of this machine, and whatever is or gives a `concurrent.futures.Executor`.

An engine is used for one thing: to submit a function with arguments, and to get a future. Scheduling, retries and
scaling are its own. What has no futures of that kind (Ray, joblib, submitit) is given them here.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

POLL = 0.2  # seconds between two looks at a job that cannot tell that it is done


@contextlib.contextmanager
def engine_of(executor: Any) -> Iterator[Executor | None]:
    """The engine that the argument `executor=` means; None for this process. What is started here is ended here."""
    if executor is None:
        yield None
    elif isinstance(executor, bool) or (isinstance(executor, int) and executor < 1):
        raise ValueError(f"executor= is a number of processes from 1 on, or an executor; got {executor!r}")
    elif isinstance(executor, int):
        with Workers(executor) as workers:
            yield workers
    elif isinstance(executor, Executor):
        yield executor
    elif hasattr(executor, "get_executor"):  # a Client of Dask
        yield executor.get_executor()
    elif getattr(executor, "__name__", "") == "ray":
        yield OfRay(executor)
    elif type(executor).__module__.partition(".")[0] == "joblib":
        with OfJoblib(executor) as adapted:
            yield adapted
    elif type(executor).__module__.partition(".")[0] == "submitit":
        yield OfJobs(executor)
    else:
        raise TypeError(
            "executor= is a number of processes, an Executor of concurrent.futures, a Client of Dask, the module ray, a"
            f" joblib.Parallel or an executor of submitit; got {executor!r}"
        )


class Workers(Executor):
    """So many processes of this machine, each of which does one thing at a time.

    Where a process dies, killed or out of memory, the future that it worked on has the error, the others do not notice,
    and another process takes its place. (A `ProcessPoolExecutor` with several processes loses all of its futures then.)
    """

    def __init__(self, processes: int) -> None:
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(processes)]
        self._left = False
        for thread in self._threads:
            thread.start()

    def submit(self, f: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        if self._left:
            raise RuntimeError("the workers have been shut down")
        future: Future[Any] = Future()
        self._waiting.put((future, f, args, options))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._left = True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    task = self._waiting.get_nowait()
                    if task is not None:
                        task[0].cancel()
        for _ in self._threads:
            self._waiting.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        process = one_process()
        try:
            while (task := self._waiting.get()) is not None:
                future, f, args, options = task
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    future.set_result(process.submit(f, *args, **options).result())
                except BaseException as error:  # the future hands it on
                    if getattr(process, "_broken", False):
                        process.shutdown(wait=False)
                        process = one_process()
                    future.set_exception(error)
        finally:
            process.shutdown()


def one_process() -> ProcessPoolExecutor:
    """A fresh process: a forked copy of one that has run JAX would wait for its threads for ever."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


class OfRay(Executor):
    """Tasks of Ray."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        if not ray.is_initialized():
            ray.init()

    def submit(self, f: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = self._ray.remote(f).remote(*args, **options).future()
        return future


class OfJobs(Executor):
    """Jobs of submitit, which SLURM runs: each is looked at until it is done."""

    def __init__(self, jobs: Any) -> None:
        self._jobs = jobs

    def submit(self, f: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        job, future = self._jobs.submit(f, *args, **options), Future[Any]()
        future.set_running_or_notify_cancel()

        def look() -> None:
            try:
                while not job.done():
                    time.sleep(POLL)
                future.set_result(job.result())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=look, daemon=True).start()
        return future


class OfJoblib(Executor):
    """What a `joblib.Parallel` of the user's runs, as it is set up: results come as it gives them, all together at the
    end unless it has `return_as="generator_unordered"`."""

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel
        self._submitted: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, f: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._submitted.put((future, f, args, options))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._submitted.put(None)
        if wait:
            self._thread.join()

    def _run(self) -> None:
        from joblib import delayed

        begun: list[Future[Any]] = []

        def tasks() -> Iterator[Any]:
            while (task := self._submitted.get()) is not None:
                future, f, args, options = task
                if future.set_running_or_notify_cancel():
                    begun.append(future)
                    yield delayed(_numbered)(len(begun) - 1, f, args, options)

        try:
            for number, result in self._parallel(tasks()):
                begun[number].set_result(result)
        except BaseException as error:  # a worker that died ends all of them
            for future in begun:
                if not future.done():
                    future.set_exception(error)


def _numbered(number: int, f: Callable[..., Any], args: Any, options: Any) -> tuple[int, Any]:
    return number, f(*args, **options)
