"""Rows of a chain in a Zarr array: compressed, in chunks, readable by whatever reads Zarr (an extra: ``zarr``).

A chunk is written when it is full, and when the state is saved: what came in since waits in memory, no more than one
chunk of each table. The axes have names, so that xarray opens the group of a chain, also while the run goes on.
"""

import threading
import zlib
from typing import Any

import numpy as np

from ppl.samplers.runs.places import Place, as_of_a_disk
from ppl.samplers.runs.rows import Shape

CHUNK_BYTES, CHUNK_BYTES_AWAY = 1 << 20, 8 << 20  # in a folder, and where each object is a message
AXES = {  # by table; others are of the draws that are kept
    "positions": ("iteration", "position"), "gradients": ("tuning", "position"), "stats": ("iteration", "statistic"),
    "times": ("iteration", "time"),
}  # fmt: skip


class ZarrRows:
    """Rows in an array of a Zarr group, with a checksum of what was written in order."""

    def __init__(self, place: Place, chain: int, table: str, shape: Shape, away: bool) -> None:
        self.shape = shape
        self.checksum = 0
        self.rows_written = 0  # those in the checksum
        name, group = f"chain-{chain}/{table}", place.zarr("draws.zarr", "a")
        if name not in group:
            bytes_of_chunk = CHUNK_BYTES_AWAY if away else CHUNK_BYTES
            rows = max(1, min(shape.length, bytes_of_chunk // max(1, shape.bytes_per_row)))
            own = AXES.get(table, ("draw", *(f"{table}-axis-{i}" for i in range(len(shape.row)))))
            group.create_array(
                name,
                shape=(shape.length, *shape.row),
                chunks=(rows, *(max(1, n) for n in shape.row)),
                dtype=shape.dtype,
                dimension_names=own,
            )
        self._array: Any = group[name]
        length, *row = self._array.shape
        if tuple(row) != shape.row or self._array.dtype != shape.dtype:
            raise ValueError(f"{name} holds rows of {tuple(row)} {self._array.dtype}, not of {shape.row} {shape.dtype}")
        if length < shape.length:
            self._array.resize((shape.length, *shape.row))
        self._lock = threading.Lock()
        self._waiting = shape.table(self._array.chunks[0])
        self._begin = self._count = 0  # where the rows that wait belong, and how many these are

    def write(self, begin: int, values: np.ndarray) -> None:
        """Put ``values`` at rows ``begin``, ``begin`` + 1, ..."""
        values = np.ascontiguousarray(values, self.shape.dtype)
        if begin == self.rows_written:
            self.checksum = zlib.crc32(memoryview(values).cast("B") if values.size else b"", self.checksum)
            self.rows_written += len(values)
        with self._lock:
            if begin != self._begin + self._count:
                self._put()
                self._begin = begin
            while len(values):
                chunk = len(self._waiting)
                taken = min(len(values), chunk - (self._begin + self._count) % chunk)
                self._waiting[self._count : self._count + taken] = values[:taken]
                self._count, values = self._count + taken, values[taken:]
                if (self._begin + self._count) % chunk == 0:
                    self._put()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write(self._begin, self._count)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows ``begin`` to ``end``, in memory."""
        with self._lock:
            found = np.array(self._array[begin : max(begin, end)])
            first, last = max(begin, self._begin), min(end, self._begin + self._count)
            if first < last:
                found[first - begin : last - begin] = self._waiting[first - self._begin : last - self._begin]
        return found

    def verified(self, count: int, checksum: int) -> bool:
        """Do the first ``count`` rows have this checksum? If so, writing goes on after them."""
        found, step = 0, self._array.chunks[0]
        for begin in range(0, count, step):
            found = zlib.crc32(self.read(begin, min(begin + step, count)).tobytes(), found)
        self.checksum, self.rows_written = found, count
        return found == checksum

    def close(self) -> None:
        """Nothing is held open, and nothing waits."""
        self.flush()

    def _put(self) -> None:
        """Write what waits and begin anew after it."""
        begin, count = self._begin, self._count
        self._write(begin, count)
        self._begin, self._count = begin + count, 0

    def _write(self, begin: int, count: int) -> None:
        if count:
            with as_of_a_disk():
                self._array[begin : begin + count] = self._waiting[:count]
