"""Sources of rows as streams of columns: Parquet and Arrow files, Arrow tables and readers, DuckDB, polars, Zarr.

A reader gives, for names of columns, batches of arrays of whatever lengths suit the source; `SourceRows` cuts them into
blocks at fixed row numbers, so that neither files nor engines nor their threads reach the results.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "ipc", ".ipc": "ipc", ".csv": "csv"}

Batch = Mapping[str, np.ndarray]


class Reader(NamedTuple):
    """What a source is, which columns it has, and how they are read."""

    what: str  # in words
    columns: list[str]
    count: int | None  # rows, where that is known beforehand
    read: Callable[[Sequence[str], int], Iterator[Batch]]  # of names and about how many rows at a time
    once: bool = False  # whether it can be read a single time


def reader_of(source: Any) -> Reader:
    """How a source is read."""
    if isinstance(source, str | os.PathLike) and str(os.fspath(source)).rstrip("/").endswith(".zarr"):
        return _of_zarr(_package("zarr", "zarr").open_group(source, mode="r"), os.fspath(source))
    if isinstance(source, str | os.PathLike | list | tuple):
        return _of_files(source)
    if type(source).__module__.partition(".")[0] == "zarr":
        if not hasattr(source, "arrays"):
            raise TypeError("from_arrow: give the Zarr group, whose arrays are columns; a single array has no name")
        return _of_zarr(source, str(source.store_path))
    if type(source).__module__.partition(".")[0] == "polars" and hasattr(source, "collect_schema"):
        return _of_polars(source)
    if hasattr(source, "scanner") and hasattr(source, "count_rows"):
        return _of_dataset(source, "an Arrow dataset")
    if hasattr(source, "read_next_batch"):
        return Reader("an Arrow reader", list(source.schema.names), None, _batches_of(lambda: source), once=True)
    if hasattr(source, "fetch_arrow_reader") or hasattr(source, "to_arrow_reader"):
        return _of_duckdb(source)
    if hasattr(source, "__arrow_c_stream__"):
        return _of_stream(source)
    raise TypeError(
        "from_arrow: a source is a path of Parquet, Arrow or CSV files or of a Zarr group, an Arrow dataset, table or"
        f" reader, a relation of DuckDB or a frame of polars; got {type(source).__name__}"
    )


def _package(name: str, extra: str) -> Any:
    """An optional package, or an error that says how to come by it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"from_arrow needs the package {package}: install ppl-jax[{extra}]") from None


def _of_files(source: Any) -> Reader:
    """Files of one format, or folders of them."""
    dataset = _package("pyarrow.dataset", "arrow")
    paths = [os.fspath(each) for each in source] if isinstance(source, list | tuple) else os.fspath(source)
    first = str(paths[0] if isinstance(paths, list) else paths)
    kind = FORMATS.get(Path(first).suffix.lower(), "parquet")
    where = first if not isinstance(paths, list) else f"{len(paths)} files from {first}"
    return _of_dataset(dataset.dataset(paths, format=kind), where)


def _of_dataset(dataset: Any, what: str) -> Reader:
    arrow = _package("pyarrow", "arrow")

    def read(names: Sequence[str], rows: int) -> Iterator[Batch]:
        options: dict[str, Any] = {}
        if getattr(getattr(dataset, "format", None), "default_extname", "") == "parquet":
            parquet = _package("pyarrow.dataset", "arrow").ParquetFragmentScanOptions
            options["fragment_scan_options"] = parquet(use_buffered_stream=True, pre_buffer=False)
        batches = dataset.to_batches(  # one after the other: the reader holds no more than it must
            columns=list(names), batch_size=rows, batch_readahead=0, fragment_readahead=0, use_threads=False,
            memory_pool=arrow.system_memory_pool(), **options,
        )  # fmt: skip
        return map(_columns_of, batches)

    return Reader(what, list(dataset.schema.names), int(dataset.count_rows()), read)


def _batches_of(open: Callable[[], Any]) -> Callable[[Sequence[str], int], Iterator[Batch]]:
    """Batches of an Arrow reader."""

    def read(names: Sequence[str], rows: int) -> Iterator[Batch]:
        for batch in open():
            yield _columns_of(batch.select(list(names)))

    return read


def _of_duckdb(relation: Any) -> Reader:
    _package("pyarrow", "arrow")
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader

    def read(names: Sequence[str], rows: int) -> Iterator[Batch]:
        for batch in open_reader(rows):
            yield _columns_of(batch.select(list(names)))

    return Reader("a relation of DuckDB", list(relation.columns), None, read)


def _of_polars(frame: Any) -> Reader:
    """A frame, lazy or not, read in the order of its rows."""

    def read(names: Sequence[str], rows: int) -> Iterator[Batch]:
        lazy = frame.lazy().select(list(names))
        found = lazy.collect_batches(chunk_size=rows, maintain_order=True) if _is_lazy(frame) else [lazy.collect()]
        for part in found:
            yield {name: _plain(name, part[name].to_numpy(), part[name].null_count()) for name in names}

    what = "a lazy frame of polars" if _is_lazy(frame) else "a frame of polars"
    return Reader(what, list(frame.collect_schema().names()), None if _is_lazy(frame) else len(frame), read)


def _is_lazy(frame: Any) -> bool:
    return hasattr(frame, "collect_batches")


def _of_stream(source: Any) -> Reader:
    arrow = _package("pyarrow", "arrow")
    table = hasattr(source, "num_rows") or hasattr(source, "shape")
    open_stream = lambda: arrow.RecordBatchReader.from_stream(source)
    names = list(open_stream().schema.names) if table else None
    if names is None:
        stream = open_stream()
        return Reader("an Arrow stream", list(stream.schema.names), None, _batches_of(lambda: stream), once=True)
    count = getattr(source, "num_rows", None)
    return Reader(f"a {type(source).__name__} in memory", names, count or len(source), _batches_of(open_stream))


def _of_zarr(group: Any, what: str) -> Reader:
    """The arrays of a group with one axis, all as long as each other."""
    arrays = {name: array for name, array in group.arrays() if array.ndim == 1}
    lengths = {array.shape[0] for array in arrays.values()}
    if len(lengths) != 1:
        raise ValueError(
            f"from_arrow: columns are arrays with one axis and of one length, and those of {what} have the lengths"
            f" {sorted(lengths)}: put the columns into a group of their own"
        )
    (count,) = lengths

    def read(names: Sequence[str], rows: int) -> Iterator[Batch]:
        for begin in range(0, count, rows):
            yield {name: _plain(name, np.asarray(arrays[name][begin : begin + rows])) for name in names}

    return Reader(what, sorted(arrays), count, read)


def _columns_of(batch: Any) -> Batch:
    """The columns of an Arrow batch as arrays."""
    return {
        name: _plain(name, column.to_numpy(zero_copy_only=False), column.null_count)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


def _plain(name: str, array: np.ndarray, missing: int = 0) -> np.ndarray:
    """A column of numbers; what is missing, or is none, is refused."""
    if missing:
        raise ValueError(
            f'from_arrow: column "{name}" has missing values, which no statistics can take in: filter them out of the'
            " source, or fill them"
        )
    if array.dtype.kind not in "buif":
        raise TypeError(
            f'from_arrow: column "{name}" holds {array.dtype}, and columns are numbers: give categories codes from 0 on'
        )
    return array.astype({"f": np.float64, "b": np.bool_}.get(array.dtype.kind, np.int64), copy=False)
