"""Programs over many draws: vectorized in chunks of bounded memory, chains side by side.

A chunk has the same number of rows for every chain and is filled up at the end, so that one compiled program serves
all, and the values of a chain do not depend on how many chains there are.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ppl.compile.hoisting import DataFirst, Once
from ppl.compile.pure import Program
from ppl.model.bar import Bar
from ppl.model.posterior.at_once import LITTLE, AtOnce, at_once
from ppl.rewrites.sharing.columns import Columns
from ppl.samplers import DRAWS, PROGRAMS, turn
from ppl.tensor.tensor import Tensor
from ppl.xla.blas import blas_threads, threads_beside
from ppl.xla.either import of_numpy
from ppl.xla.host_errors import raise_original
from ppl.xla.later import jax, wide

# What a chunk takes, results and room to work in. On a CPU little enough to stay in its cache and in memory that is
# there already: fresh pages cost more than drawing what stands in them. Elsewhere enough to be worth a launch.
CHUNK_BYTES = {"cpu": 4 << 20, "elsewhere": 64 << 20}
FEW_BYTES = 4 << 20  # below it NumPy asks for no huge pages
QUICK = 2e-3  # seconds of work that are not worth threads
WORTH_THREADS = 1e6  # numbers that NumPy goes over, five milliseconds
_seconds: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # that a chunk of a program took last
_row_bytes: dict[Any, tuple[int, list[Any]]] = {}


class RowProgram:
    """Expressions of inputs, to be worked out for many draws; what depends on data alone is done by `once` before."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        once: Once | None = None,
        little: float = LITTLE,
        least: float = 0.0,
    ) -> None:
        self.inputs, self.outputs, self.columns = list(inputs), list(outputs), Columns(inputs, outputs)
        given = self.columns.inputs, self.columns.outputs
        self.inner = Program(*given) if once is None else DataFirst(*given, once=once)
        self._at_once: dict[int, AtOnce | None] = {}
        self._little, self._least = little, least  # numbers that NumPy goes over, up to which no program is compiled

    def at_once(self, rows: int) -> AtOnce | None:
        """The program by NumPy, if it does little work on so many rows."""
        if rows not in self._at_once:
            self._at_once[rows] = at_once(self.inner, rows, most=self._little, least=self._least)
        return self._at_once[rows]


class Chunks(NamedTuple):
    """A program for some rows at a time."""

    run: Any
    threads: int  # in which it may run at a time
    rows: int
    kinds: list[Any]  # shape and dtype of a row of each output
    data: tuple[Any, ...]


def over_draws(
    program: RowProgram,
    columns: Sequence[np.ndarray],
    chunk_bytes: int | None = None,
    shown: Bar | None = None,
) -> list[np.ndarray]:
    """The outputs for every draw. `columns` has one array an input, (chains, draws, ...); so have the results.

    Where a device has no memory for a chunk, smaller ones are tried, down to single draws.
    """
    given = program.columns.given(columns, axis=2)
    while True:
        try:
            with shown or Bar("", wanted=False) as bar:
                found = _in_chunks(_compiled(program, given, chunk_bytes), given, bar)
                return program.columns.taken(found, axis=2)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise_original(error)
            chunk_bytes = chunk_bytes or _usual_bytes()
            if chunk_bytes <= 1:
                raise MemoryError(f"the device has no memory for a single draw of these variables: {error}") from error
            chunk_bytes //= 8


def compiled(program: RowProgram, columns: Sequence[np.ndarray]) -> Chunks:
    """The program for columns of these shapes; what stands in them does not matter."""
    return _compiled(program, program.columns.given(columns, axis=2))


def prepared(program: RowProgram, draws: int) -> None:
    """Make what the program needs for so many draws of one chain, and compile it where it has to be compiled."""
    kinds = [x.type for x in program.inputs]
    if not any(None in kind.shape for kind in kinds):
        compiled(program, [np.broadcast_to(np.zeros((), kind.dtype), (1, draws, *kind.shape)) for kind in kinds])


def _compiled(rows_of: RowProgram, columns: Sequence[np.ndarray], chunk_bytes: int | None = None) -> Chunks:
    program = rows_of.inner
    data, key = program.data, program.key
    with wide():
        size, kinds = _size_of_row(key, program, columns, data)
        chains, draws = np.shape(columns[0])[:2]
        if not chains or not draws:
            return Chunks(None, 1, 1, kinds, data)
        by_numpy, rows = rows_of.at_once(draws), draws
        if by_numpy is None:
            rows = max(1, min(draws, (chunk_bytes or _usual_bytes()) // max(1, size)))
        chunk = [np.broadcast_to(np.zeros((), c.dtype), (rows, *c.shape[2:])) for c in columns]
        make = lambda: lambda chunk, arrays: jax.vmap(lambda values: program(values, *arrays))(chunk)
        compiled = lambda: PROGRAMS.get(("rows", key), make, (chunk, data), polish=DRAWS, runs=draws / rows)
        threads = min(os.cpu_count() or 1, 8)
        if by_numpy is None:
            return Chunks(compiled(), threads, rows, kinds, data)
        run = _or_compiled(by_numpy, compiled)
    return Chunks(run, threads if by_numpy.work > WORTH_THREADS else 1, rows, kinds, data)


def _or_compiled(by_numpy: AtOnce, compiled: Callable[[], Any]) -> Callable[..., Any]:
    """By NumPy, or by a program where NumPy declines."""

    def run(chunk: Sequence[np.ndarray], data: Sequence[Any]) -> Any:
        values = by_numpy(chunk, data)
        if values is not None:
            return values
        program = compiled()
        with turn(program):
            return jax.block_until_ready(program(chunk, data))

    return run


def _usual_bytes() -> int:
    return CHUNK_BYTES.get(jax.default_backend(), CHUNK_BYTES["elsewhere"])


def _in_chunks(chunks: Chunks, columns: Sequence[np.ndarray], bar: Bar) -> list[np.ndarray]:
    chains, draws = np.shape(columns[0])[:2]
    run, threads, rows, kinds, data = chunks
    results = [_room((chains, draws, *kind.shape), kind.dtype) for kind in kinds]
    starts = [(chain, start) for chain in range(chains) for start in range(0, draws, rows)]

    def one(place: tuple[int, int]) -> None:
        chain, start = place
        stop = min(start + rows, draws)
        with wide(), turn(run):
            began = time.perf_counter()
            values = run([_part(column, chain, start, rows) for column in columns], data)
            if not of_numpy(*values):
                jax.block_until_ready(values)
            _seconds[run] = time.perf_counter() - began
        for result, value in zip(results, values, strict=True):
            result[chain, start:stop] = np.asarray(value)[: stop - start]
        bar.advance(stop - start, chains * draws)

    workers = min(len(starts), threads)
    if workers <= 1 or len(starts) * _seconds.get(run, QUICK) < QUICK:
        for place in starts:
            one(place)
    else:
        with blas_threads(threads_beside(workers)), ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, starts))
    return results


def _room(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array to be filled, in ordinary pages.

    NumPy asks for huge ones. They save little where all is written once, and on a virtual machine that gets its memory
    only as it is touched, each takes milliseconds: 40 million draws took 1.0 s with them and 0.43 s without.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size < FEW_BYTES:
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, size, **({"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}))
    return np.frombuffer(memory, dtype).reshape(shape)


def _part(column: np.ndarray, chain: int, start: int, rows: int) -> np.ndarray:
    """Some rows of a chain, the last one repeated where there are no more."""
    part = column[chain, start : start + rows]
    if len(part) == rows:
        return np.ascontiguousarray(part)
    return np.concatenate([part, np.repeat(part[-1:], rows - len(part), axis=0)])


def _size_of_row(
    key: Any, program: Program | DataFirst, columns: Sequence[np.ndarray], data: Any
) -> tuple[int, list[Any]]:
    """Bytes that a row takes, inputs, results and some room to work in, and the kinds of the results."""
    shapes = tuple((np.shape(x)[2:], np.asarray(x).dtype.str) for x in columns), tuple(np.shape(d) for d in data)
    full = (key, shapes)
    if full not in _row_bytes:
        given = [_Kind(column.shape[2:], column.dtype) for column in columns]
        kinds = _known_kinds(program) or _traced_kinds(program, given, data)
        inputs = sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in given)
        outputs = sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in kinds)
        if len(_row_bytes) > 256:
            _row_bytes.clear()
        _row_bytes[full] = inputs + 4 * outputs + 64, kinds
    return _row_bytes[full]


def _known_kinds(program: Program | DataFirst) -> list[Any] | None:
    """Shapes and dtypes of the outputs, if they are known without tracing the program."""
    if any(None in node.type.shape for node in program.outputs):
        return None
    return [_Kind(node.type.shape, np.dtype(node.dtype)) for node in program.outputs]


def _traced_kinds(program: Program | DataFirst, given: Sequence[_Kind], data: Any) -> list[Any]:
    found = jax.eval_shape(program, [jax.ShapeDtypeStruct(*kind) for kind in given], *data)
    return [_Kind(x.shape, x.dtype) for x in found]


class _Kind(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype


def draw_keys(seed: int, purpose: str, chains: int, draws: int) -> np.ndarray:
    """A key for each draw of each chain, (chains, draws, 2); those of a chain depend on nothing but its number."""
    label = int.from_bytes(purpose.encode()[:7], "big")
    words = [
        np.random.SeedSequence(seed, spawn_key=(label, chain)).generate_state(2 * draws, np.uint32)
        for chain in range(chains)
    ]
    return np.stack(words).reshape(chains, draws, 2) if words else np.zeros((0, draws, 2), np.uint32)
