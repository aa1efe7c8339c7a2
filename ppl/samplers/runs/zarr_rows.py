"""Rows of a chain in a Zarr array: compressed, in chunks, readable by whatever reads Zarr (an extra: ``zarr``)."""

import importlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ppl.samplers.runs.errors import StorageError
from ppl.samplers.runs.rows import Shape

CHUNK_BYTES = 1 << 20


class ZarrRows:
    """Rows in an array of a Zarr group, with a checksum of what was written in order."""

    def __init__(self, root: Path, name: str, shape: Shape) -> None:
        zarr, self.shape = zarr_package(), shape
        self.checksum = 0
        self.rows_written = 0  # those in the checksum
        group = zarr.open_group(root, mode="a")
        if name not in group:
            rows = max(1, min(shape.length, CHUNK_BYTES // max(1, shape.bytes_per_row)))
            group.create_array(
                name,
                shape=(shape.length, *shape.row),
                chunks=(rows, *(max(1, n) for n in shape.row)),
                dtype=shape.dtype,
            )
        self._array: Any = group[name]
        length, *row = self._array.shape
        if tuple(row) != shape.row or self._array.dtype != shape.dtype:
            raise ValueError(f"{name} of {root} holds rows of {tuple(row)} {self._array.dtype}, not of {shape}")
        if length < shape.length:
            self._array.resize((shape.length, *shape.row))

    def write(self, begin: int, values: np.ndarray) -> None:
        """Put ``values`` at rows ``begin``, ``begin`` + 1, ..."""
        values = np.ascontiguousarray(values, self.shape.dtype)
        self._array[begin : begin + len(values)] = values
        if begin == self.rows_written:
            self.checksum = zlib.crc32(values.tobytes(), self.checksum)
            self.rows_written += len(values)

    def read(self, begin: int, end: int) -> np.ndarray:
        """Rows ``begin`` to ``end``, in memory."""
        return np.asarray(self._array[begin : max(begin, end)])

    def verified(self, count: int, checksum: int) -> bool:
        """Do the first ``count`` rows have this checksum? If so, writing goes on after them."""
        found, step = 0, self._array.chunks[0]
        for begin in range(0, count, step):
            found = zlib.crc32(self.read(begin, min(begin + step, count)).tobytes(), found)
        self.checksum, self.rows_written = found, count
        return found == checksum

    def close(self) -> None:
        """Nothing is held open."""


def zarr_package() -> Any:
    """The package, or an error that says how to come by it."""
    try:
        zarr = importlib.import_module("zarr")
    except ImportError:
        zarr = None
    if zarr is None or int(zarr.__version__.split(".")[0]) < 3:
        raise StorageError(
            "storage='zarr' needs the package zarr, version 3 or later: install ppl-jax[zarr]. "
            "storage='npy' needs nothing."
        )
    return zarr
