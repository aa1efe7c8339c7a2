"""From a kernel to an executable: one loop that makes up to ``rows`` draws per dispatch, compiled once and kept.

The count of draws is an argument of the program, so that chunks of any length, warm-up and sampling, and every chain
share one executable. Draws land in buffers of fixed size. Programs are kept by the identity of the log-density (or a
key the caller vouches for), the shapes of the data, and what is fixed at compile time.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs import disk_cache, written_programs
from ppl.samplers.programs.damaged_programs import last_key
from ppl.samplers.programs.kernel import Data, Kernel
from ppl.samplers.programs.packing import Packed, Packing
from ppl.samplers.programs.work import work_of
from ppl.xla import backend, stacks
from ppl.xla.blas import bounded
from ppl.xla.later import Array, jax, jnp, lax

MARKS = 64  # diverging positions kept per dispatch
BUFFER_BYTES = 4 << 20
MOST_ROWS = 4096
KEPT_PROGRAMS = 64
MOST_TOLD = 256  # programs whose making is remembered
SMALL_GRADIENT = 3000  # numbers of vector operations (decision 015)
LITTLE = 1e8  # numbers of vector operations, about ten milliseconds, that are done sooner than polish is compiled


class Polish(NamedTuple):
    """How far XLA polishes a program for a CPU."""

    level: int = 3  # LLVM's level of optimization, 0 to 3
    emitters: bool = True  # XLA's newer way to write out fused operations
    whole: bool = False  # written as one module: a loop is one function, and parts of it only wait for each other
    threads: bool = True  # matrix products may be shared out among threads, by the number of which they are rounded


BEST = Polish()
DRAWS = Polish(level=2)  # compiles in half to nine tenths of the time of the best, runs a few per cent slower
# A loop in one kernel compiles in less time without emitters, and sums by group are not computed twice (decision 007).
LOOP = Polish(level=2, emitters=False, whole=True)
SMALL_LOOP = Polish(level=0, emitters=False, whole=True)
ONCE = Polish(level=0)  # compiles in less again, runs several times slower: for what runs once
QUICK = Polish(level=0, emitters=False)  # the soonest, where running takes next to nothing


def of_loop(work_of_gradient: float) -> Polish:
    """How far a sampler's loop is polished. It must follow from the model: with a clock, or with the draws that are
    asked for, draws would not be the same the next time, or not begin as those of a shorter run."""
    return SMALL_LOOP if work_of_gradient < SMALL_GRADIENT and jax.default_backend() == "cpu" else LOOP


class Buffers(NamedTuple):
    """The tables that a dispatch fills. The next one fills them again: fresh memory costs more than draws."""

    positions: Array
    gradients: Array
    stats: Array


class Chunk(NamedTuple):
    """The draws of one dispatch as the host gets them: as many rows of the buffers are filled as ``facts`` say."""

    positions: Array
    gradients: Array
    stats: Array
    marks: Array
    facts: Array  # draws, marks, whether the kernel asks for attention, and the rows of the marks: all whole numbers

    @property
    def buffers(self) -> Buffers:
        """What the next dispatch may fill, when nobody needs these draws any more."""
        return Buffers(self.positions, self.gradients, self.stats)


class Filling(NamedTuple):
    """The buffers of a dispatch while draws come in; of an ensemble, with one more axis in front."""

    drawn: Array
    positions: Array
    gradients: Array
    stats: Array
    marks: Array
    mark_rows: Array
    n_marks: Array

    def chunk(self, attention: Array) -> Chunk:
        """What the host gets."""
        counts = jnp.stack([self.drawn, self.n_marks, attention.astype(jnp.int64)], axis=-1)
        facts = jnp.concatenate([counts, self.mark_rows], axis=-1)
        return Chunk(self.positions, self.gradients, self.stats, self.marks, facts)


class Made(NamedTuple):
    """How a program came to be: what it is for, the seconds that JAX wrote it out, and those that XLA compiled it or,
    ``from_disk``, that it was read."""

    what: str
    writing: float
    compiling: float
    from_disk: bool


class Packs(NamedTuple):
    """How a kernel's plan and state are packed on their way to its program and back."""

    plan: Packing
    state: Packing


def rows_for(dim: int, itemsize: int) -> int:
    """How many draws fit a dispatch when its two buffers of vectors may take ``BUFFER_BYTES``."""
    return max(1, min(MOST_ROWS, BUFFER_BYTES // max(1, 2 * dim * itemsize)))


def chunk_program(kernel: Kernel, packs: Packs, rows: int) -> Callable[..., tuple[Packed, Chunk]]:
    """``advance(key, plan, data, state, buffers, n)``: at most ``n`` draws, fewer if the kernel asks for attention."""

    def advance(
        key: Array, packed_plan: Packed, data: Data, packed: Packed, buffers: Buffers, n: Array
    ) -> tuple[Packed, Chunk]:
        plan, state = packs.plan.unpack(packed_plan), packs.state.unpack(packed)
        dim, dtype = state.position.shape[0], state.position.dtype
        none, marks = jnp.zeros((), jnp.int64), min(rows, MARKS)
        filling = Filling(none, *buffers, jnp.zeros((marks, dim), dtype), jnp.zeros(marks, jnp.int64), none)

        def unfinished(carry: tuple[Any, Filling]) -> Array:
            state, filling = carry
            return (filling.drawn < n) & ~state.attention

        def one(carry: tuple[Any, Filling]) -> tuple[Any, Filling]:
            state, filling = carry
            state, outcome = kernel.step(key, plan, data, state)
            row = filling.drawn
            filling = filling._replace(
                drawn=row + outcome.counts,
                positions=_put(filling.positions, row, outcome.position),
                gradients=_put(filling.gradients, row, outcome.gradient),
                stats=_put(filling.stats, row, outcome.stats),
            )
            return state, lax.cond(
                outcome.marked & (filling.n_marks < marks), lambda f: _mark(f, row, outcome.mark), lambda f: f, filling
            )

        state = kernel.begin(state._replace(attention=jnp.zeros((), bool)))
        state, filling = lax.while_loop(unfinished, one, (state, filling))
        state = kernel.end(state)
        return packs.state.pack(state), filling.chunk(state.attention)

    return advance


def expand_program(expand: Callable[..., Any]) -> Callable[[Array, Data, Array, Array, Any], Any]:
    """``expanded(positions, data, begin, end, buffers)``: generated quantities of these rows, one after the other.

    Rows are not vectorized together: a row must come out the same to the last bit in whatever chunk it stands.
    """

    def expanded(positions: Array, data: Data, begin: Array, end: Array, buffers: Any) -> Any:
        def one(i: Array, buffers: Any) -> Any:
            values = expand(lax.dynamic_index_in_dim(positions, i, keepdims=False), *data)
            return jax.tree.map(lambda b, v: _put(b, i, v), buffers, values)

        return lax.fori_loop(begin, end, one, buffers)

    return expanded


def _put(buffer: Array, row: Array, value: Array) -> Array:
    start = (row, *[jnp.zeros_like(row)] * (buffer.ndim - 1))
    return lax.dynamic_update_slice(buffer, jnp.asarray(value, buffer.dtype)[None], start)


def _mark(filling: Filling, row: Array, position: Array) -> Filling:
    return filling._replace(
        marks=_put(filling.marks, filling.n_marks, position),
        mark_rows=_put(filling.mark_rows, filling.n_marks, row),
        n_marks=filling.n_marks + 1,
    )


class Programs:
    """Compiled programs by key, the least recently used dropped first, with a count of compilations.

    Threads compile different programs at the same time; one that asks for a program that is being compiled waits.
    """

    def __init__(self, most: int = KEPT_PROGRAMS) -> None:
        self.compilations = 0
        self.seconds = 0.0
        self.made: deque[Made] = deque(maxlen=MOST_TOLD)
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._pending: dict[Hashable, Future[Any]] = {}
        self._lock = threading.RLock()
        self._noting = threading.local()

    @contextlib.contextmanager
    def noted(self) -> Iterator[list[Made]]:
        """A list of what this thread compiles, or reads from disk, in the block."""
        before = getattr(self._noting, "made", None)
        made: list[Made] = []
        self._noting.made = made
        try:
            yield made
        finally:
            self._noting.made = before

    def get(
        self,
        key: Hashable,
        make: Callable[[], Callable[..., Any]],
        arguments: tuple[Any, ...],
        polish: Polish = BEST,
        donated: tuple[int, ...] = (),
        runs: float = math.inf,
    ) -> Any:
        """The executable for ``key`` and the shapes of ``arguments``; compiled now if it is new.

        It may use the memory of the ``donated`` arguments for its results: who calls it gives these away. Where it
        does little work in all its ``runs``, it is compiled as soon as can be in place of with ``polish``.
        """
        backend.check()
        leaves, structure = jax.tree.flatten(arguments)
        shapes = tuple((np.shape(leaf), _dtype(leaf)) for leaf in leaves)
        full = (key, structure, shapes, jax.default_backend())
        with self._lock:
            if full in self._kept:
                self._kept.move_to_end(full)
                return self._kept[full]
            awaited = self._pending.get(full)
            if awaited is None:
                mine = self._pending[full] = Future()
        if awaited is not None:
            return awaited.result()
        try:
            place = written_programs.place_of(key, str(structure), shapes, polish, donated, runs)
            found = self._read(_what(key), place)
            if found is None:
                found = self._compiled(_what(key), place, make, arguments, polish, donated, runs)
            mine.set_result(found)
        except BaseException as error:
            mine.set_exception(error)
        with self._lock:
            del self._pending[full]
            if mine.exception() is None:
                self._kept[full] = mine.result()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return mine.result()

    def _read(self, what: str, place: Path | None) -> Any:
        """A program that another process has compiled, if it is kept."""
        began = time.perf_counter()
        found = written_programs.read(place)
        if found is not None:
            self._count(Made(what, 0.0, time.perf_counter() - began, True))
        return found

    def _count(self, made: Made) -> None:
        with self._lock:
            self.compilations += 1
            self.seconds += made.writing + made.compiling
            self.made.append(made)
        noted = getattr(self._noting, "made", None)
        if noted is not None:
            noted.append(made)

    def _compiled(
        self,
        what: str,
        place: Path | None,
        make: Callable[[], Callable[..., Any]],
        arguments: tuple[Any, ...],
        polish: Polish,
        donated: tuple[int, ...],
        runs: float,
    ) -> Any:
        began = time.perf_counter()
        traced = stacks.in_turn(make(), arguments, donated)
        if runs < math.inf and runs * work_of(traced.jaxpr.jaxpr) < LITTLE:
            polish = QUICK
        side, lowered = stacks.side_of_largest(traced.jaxpr.jaxpr), traced.lower()
        written = time.perf_counter()
        with disk_cache.kept(), disk_cache.read() as read:
            options: dict[str, Any] = {}
            if polish.level < BEST.level:
                options["xla_backend_optimization_level"] = str(polish.level)
            if polish.whole and jax.default_backend() == "cpu":
                options["xla_cpu_parallel_codegen_split_count"] = 1
            if not polish.emitters and jax.default_backend() == "cpu":
                options["xla_cpu_use_fusion_emitters"] = False
            if not polish.threads and jax.default_backend() == "cpu":
                options["xla_cpu_multi_thread_eigen"] = False
            last_key()
            compiled = _compile(lowered, options)
        now = time.perf_counter()
        self._count(Made(what, written - began, now - written, bool(read)))
        if not side:
            written_programs.write(place, last_key(), _known(options), lowered, compiled)
        return bounded(compiled, side) if jax.default_backend() == "cpu" else compiled

    def clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._kept.clear()

    @contextlib.contextmanager
    def set_aside(self) -> Iterator[None]:
        """No program is known inside that was known before, and afterwards those are known too."""
        with self._lock:
            before = OrderedDict(self._kept)
            self._kept.clear()
        try:
            yield
        finally:
            with self._lock:
                self._kept.update(before)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)


def _dtype(leaf: Any) -> Any:
    return leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype


def _what(key: Hashable) -> str:
    """The word by which the key of a program begins."""
    first = key[0] if isinstance(key, tuple) and key else key
    return first if isinstance(first, str) else "program"


_unknown: set[str] = set()  # options that this version of XLA has not


def _compile(lowered: Any, options: dict[str, Any]) -> Any:
    """Compiled with those options that XLA knows; they come and go with its versions."""
    known = _known(options)
    try:
        return lowered.compile(known or None)
    except jax.errors.JaxRuntimeError as error:
        refused = {name for name in known if f"No such compile option: '{name}'" in str(error)}
        if not refused:
            raise
    _unknown.update(refused)
    return _compile(lowered, options)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _unknown}


PROGRAMS = Programs()

# A call of LAPACK for a stack of matrices: the first of its results has an axis in front of theirs.
_STACKED_LAPACK = re.compile(r"= \(?\w+\[\d+,\d+,\d+[^\n]*custom_call_target=\"lapack_")
_alone = threading.Lock()


def turn(executable: Any) -> contextlib.AbstractContextManager[Any]:
    """To be held while a program runs, until its results are there: some cannot run side by side.

    On a CPU, JAX shares the matrices of a stack out among XLA's threads, from one of these, which then waits for the
    others. As many such programs at a time as there are threads would wait for each other for ever.
    """
    known = hasattr(executable, "as_text")
    return _alone if known and _stacks_matrices(executable) else contextlib.nullcontext()


@functools.lru_cache(maxsize=KEPT_PROGRAMS)
def _stacks_matrices(executable: Any) -> bool:
    if jax.default_backend() != "cpu":
        return False
    return _STACKED_LAPACK.search(executable.as_text()) is not None
