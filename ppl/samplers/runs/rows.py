"""Where the rows of a chain are kept while it grows: in memory, or in a .npy file that anyone can read."""

import shutil
import threading
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np

PARSING = threading.Lock()  # NumPy's headers are Python literals: Python 3.11 may fail to read two at a time


class Shape(NamedTuple):
    """What a table of rows looks like when it is full."""

    length: int
    row: tuple[int, ...]
    dtype: np.dtype

    @property
    def bytes_per_row(self) -> int:
        """The size of one row."""
        return int(np.prod(self.row, dtype=np.int64)) * self.dtype.itemsize

    def table(self, length: int) -> np.ndarray:
        """Room for ``length`` such rows, with whatever stands there."""
        return np.empty((length, *self.row), self.dtype)


class Rows(Protocol):
    """A table that is filled from the top."""

    def write(self, begin: int, values: np.ndarray) -> None:
        """Put ``values`` at rows ``begin``, ``begin`` + 1, ..."""

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows ``begin`` to ``end``."""


class MemoryRows:
    """Rows in memory; pages that are never written cost nothing."""

    def __init__(self, shape: Shape) -> None:
        self._values = shape.table(shape.length)

    def write(self, begin: int, values: np.ndarray) -> None:
        """Put ``values`` at rows ``begin``, ``begin`` + 1, ..."""
        self._values[begin : begin + len(values)] = values

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows ``begin`` to ``end``, without a copy."""
        return self._values[begin:end]


def _write_header(file: BinaryIO, shape: Shape) -> None:
    about = {
        "shape": (shape.length, *shape.row),
        "fortran_order": False,
        "descr": np.lib.format.dtype_to_descr(shape.dtype),
    }
    np.lib.format.write_array_header_1_0(file, about)


def _header(path: Path) -> tuple[tuple[int, ...], np.dtype, int]:
    """The shape and dtype of a table, and where its rows begin."""
    with PARSING, path.open("rb") as file:
        try:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        except Exception as error:  # damage fails in many ways: SyntaxError, TokenError, struct.error, ...
            raise ValueError(f"{path} is damaged: its header cannot be read") from error
        if not shape or dtype.hasobject:
            raise ValueError(f"{path} is damaged: it holds no rows")
        return shape, dtype, file.tell()


def _make_room(path: Path, shape: Shape, offset: int) -> int:
    """Let a table have more rows, for a run that goes on to more draws; where its rows begin now."""
    fresh = path.with_suffix(".new")
    with path.open("rb") as old, fresh.open("wb") as new:
        _write_header(new, shape)
        begin = new.tell()
        old.seek(offset)
        shutil.copyfileobj(old, new)
    fresh.replace(path)
    return begin


class FileRows:
    """Rows in a .npy file of the full size, sparse until written, with a checksum of what was written in order.

    Rows are written, not mapped: a full disk is then an error that can be caught, not the end of the process.
    """

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path, self.shape = path, shape
        self.checksum = 0
        self.rows_written = 0  # those in the checksum
        if not path.exists():
            with path.open("wb") as file:
                _write_header(file, shape)
        (length, *row), dtype, self._offset = _header(path)
        if tuple(row) != shape.row or dtype != shape.dtype:
            raise ValueError(f"{path} holds rows of {tuple(row)} {dtype}, not of {shape.row} {shape.dtype}")
        if length > shape.length and path.stat().st_size < self._offset + length * shape.bytes_per_row:
            raise ValueError(f"{path} is damaged: it is too short for {length} rows")
        if length < shape.length:
            self._offset = _make_room(path, shape, self._offset)
        self._file = path.open("r+b", buffering=0)
        self._file.truncate(self._offset + max(length, shape.length) * shape.bytes_per_row)

    def write(self, begin: int, values: np.ndarray) -> None:
        """Put ``values`` at rows ``begin``, ``begin`` + 1, ..."""
        data = memoryview(np.ascontiguousarray(values, self.shape.dtype)).cast("B") if values.size else memoryview(b"")
        self._file.seek(self._offset + begin * self.shape.bytes_per_row)
        left = data
        while left:
            left = left[self._file.write(left) :]
        if begin == self.rows_written:
            self.checksum = zlib.crc32(data, self.checksum)
            self.rows_written += len(values)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows ``begin`` to ``end``, mapped from the file."""
        if end <= begin or self.shape.bytes_per_row == 0:
            return np.empty((max(0, end - begin), *self.shape.row), self.shape.dtype)
        place = self._offset + begin * self.shape.bytes_per_row
        return np.memmap(self.path, self.shape.dtype, "r", place, (end - begin, *self.shape.row))

    def verified(self, count: int, checksum: int) -> bool:
        """Do the first ``count`` rows have this checksum? If so, writing goes on after them."""
        self._file.seek(self._offset)
        left, found = count * self.shape.bytes_per_row, 0
        while left:
            block = self._file.read(min(left, 1 << 20))
            if not block:
                return False
            found, left = zlib.crc32(block, found), left - len(block)
        self.checksum, self.rows_written = found, count
        return found == checksum

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
