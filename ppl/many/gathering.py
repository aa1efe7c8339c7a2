"""What many calls of a job give, on whatever engine: results in the order of the items, errors in their place.

A job is a function of the number of an item and the item. It travels once for each batch; a process that has opened it
keeps it, with the model that it may hold and what was compiled for that.
"""

from __future__ import annotations

import functools
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from typing import Any, NamedTuple

from ppl.many.engines import OfJoblib, engine_of
from ppl.many.fits import FitError, Fits
from ppl.many.kept_fits import KeptFits
from ppl.model.bar import Bar

INTERRUPTED = "KeyboardInterrupt: the run was interrupted before this fit was done"
MODULE = "__main__"

Job = Callable[[int, Any], Any]
Batch = Sequence[tuple[int, Any]]  # items, with their numbers


class Outcome(NamedTuple):
    """What comes back: the result, or an error as text, since not every exception can travel."""

    result: Any = None
    error: str = ""
    traceback: str = ""


def gathered(
    job: Job,
    items: Sequence[Any],
    *,
    executor: Any = None,
    batches: Callable[[Sequence[int]], Sequence[Sequence[int]]] | None = None,
    store: KeptFits | None = None,
    on_error: str = "return",
    progressbar: bool = True,
    words: str = "Fits",
) -> Fits:
    """The result of a job for each item, or a FitError. `batches` says which numbers go to a worker together."""
    began, found = time.perf_counter(), {}
    if store is not None:
        found = {i: known[0] for i, item in enumerate(items) if (known := store.get(i, item))}
    left = [i for i in range(len(items)) if i not in found]
    together = [[i] for i in left] if batches is None else batches(left)
    sets = [[(i, items[i]) for i in batch] for batch in together]
    interrupted = False
    with engine_of(executor if left else None) as engine, Bar(words, progressbar) as bar:
        bar.advance(len(found), len(items))
        outcomes = _here(job, sets) if engine is None else _elsewhere(engine, packed(job, "the job"), sets)
        try:
            for i, outcome in outcomes:
                found[i] = FitError(i, items[i], outcome.error, outcome.traceback) if outcome.error else outcome.result
                bar.advance(1, len(items))
                if not isinstance(found[i], FitError):
                    if store is not None:
                        store.put(i, items[i], found[i])
                elif on_error == "raise":
                    raise found[i]
        except KeyboardInterrupt:
            interrupted = True
        finally:
            outcomes.close()
    results = [found[i] if i in found else FitError(i, item, INTERRUPTED) for i, item in enumerate(items)]
    return Fits(results, time.perf_counter() - began, interrupted)


def attempt(job: Job, index: int, item: Any) -> Outcome:
    """The job for one item; Ctrl-C ends all of them, and not this one alone."""
    try:
        return Outcome(job(index, item))
    except Exception as error:  # each has its own
        return Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc())


def work(sent: bytes, batch: Batch) -> list[Outcome]:
    """A batch, where it is done."""
    try:
        job = _opened(sent, threading.get_ident())
    except Exception as error:
        return [Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc()) for _ in batch]
    return [attempt(job, index, item) for index, item in batch]


@functools.lru_cache(maxsize=8)
def _opened(sent: bytes, thread: int) -> Job:
    """The job of a thread: its model is its own, for its data change from item to item."""
    found: Job = pickle.loads(sent)
    return found


def _here(job: Job, sets: Sequence[Batch]) -> Iterator[tuple[int, Outcome]]:
    for batch in sets:
        for index, item in batch:
            yield index, attempt(job, index, item)


def _elsewhere(engine: Executor, sent: bytes, sets: Sequence[Batch]) -> Iterator[tuple[int, Outcome]]:
    """The outcomes as they come in; what is waited for no longer is called off."""
    futures: dict[Future[Any], Batch] = {engine.submit(work, sent, batch): batch for batch in sets}
    if isinstance(engine, OfJoblib):
        engine.shutdown(wait=False)  # all is submitted
    try:
        for future in as_completed(futures):
            batch, error = futures[future], future.exception()
            outcomes = future.result() if error is None else [_lost(error)] * len(batch)
            for (index, _), outcome in zip(batch, outcomes, strict=True):
                yield index, outcome
    finally:
        for future in futures:
            future.cancel()


def _lost(error: BaseException) -> Outcome:
    """The outcome of a fit whose worker did not come back with one."""
    died = isinstance(error, BrokenExecutor)
    return Outcome(None, "its process died: killed, or out of memory" if died else f"{type(error).__name__}: {error}")


def in_batches(most: int, alike: Callable[[int], Any] = lambda i: None) -> Callable[[Sequence[int]], list[list[int]]]:
    """Numbers of items in batches of at most so many, those that are alike next to each other."""

    def batches(left: Sequence[int]) -> list[list[int]]:
        kinds: dict[Any, list[int]] = {}
        for i in left:
            kinds.setdefault(alike(i), []).append(i)
        order = [i for kind in kinds.values() for i in kind]
        return [order[at : at + most] for at in range(0, len(order), most)]

    return batches


class Sent:
    """A function that can be sent to other processes by what it holds: it is packed when it is pickled."""

    def __init__(self, f: Callable[..., Any], what: str) -> None:
        self.f, self.what = f, what

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)

    def __reduce__(self) -> Any:
        return _unpacked, (packed(self.f, self.what), self.what)


def _unpacked(content: bytes, what: str) -> Sent:
    return Sent(pickle.loads(content), what)


def packed(f: Any, what: str) -> bytes:
    """Something as bytes, by cloudpickle where it is not importable by name."""
    try:
        if getattr(f, "__module__", "") != MODULE:  # what a script defines has another name elsewhere
            found = pickle.dumps(f)
            if MODULE.encode() not in found:
                return found
    except Exception:
        pass
    try:
        import cloudpickle
    except ImportError:
        raise TypeError(
            f"{what} cannot be sent to other processes: define it at the top of a module that they can import, or "
            "install cloudpickle"
        ) from None
    by_value: bytes = cloudpickle.dumps(f)
    return by_value
