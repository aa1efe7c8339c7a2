"""Columns of rows that lie elsewhere, as tensors of a model; and the rows themselves, block by block."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node, ancestors
from ppl.sources.readers import Batch, Reader
from ppl.tensor.tensor import Tensor, TensorType, placeholder

_columns: weakref.WeakKeyDictionary[Node, SourceRows] = weakref.WeakKeyDictionary()


class SourceRows:
    """Rows that are read when an observed variable is made of them.

    `rows["price"]` is a column, `rows[["price", "size"]]` a matrix of several. They can be used in the parameters and
    as the observed values of a variable, and nowhere else: only its statistics are kept.
    """

    def __init__(self, reader: Reader, names: Sequence[str], block: int, progressbar: bool) -> None:
        self._reader, self.columns, self.block, self.progressbar = reader, list(names), block, progressbar
        self._placeholders: dict[str, Tensor] = {}
        self._digest = ""
        self._was_read = False
        first = self._dtypes()
        self._kinds = {name: np.dtype(first.get(name, np.float64)) for name in self.columns}

    def __getitem__(self, names: Any) -> Tensor:
        if isinstance(names, str):
            return self._column(names)
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names) and names:
            return tt.stack([tt.cast(self._column(name), "float64") for name in names], axis=1)
        raise TypeError(f"a column is found by its name, and several by a list of names; got {names!r}")

    def __len__(self) -> int:
        if self._reader.count is None:
            raise TypeError(f"how many rows {self._reader.what} has is not known before they are read")
        return self._reader.count

    @property
    def digest(self) -> str:
        """What stands for the content of the columns that were read last; empty before."""
        return self._digest

    def __repr__(self) -> str:
        count = "" if self._reader.count is None else f"{self._reader.count:,} "
        return f"<{count}rows of {self._reader.what}: {', '.join(self.columns)}>"

    def names_of(self, nodes: Iterable[Node]) -> dict[str, Tensor]:
        """Those of its columns that are among some nodes."""
        found = set(nodes)
        return {name: node for name, node in self._placeholders.items() if node in found}

    def blocks(self, names: Sequence[str], bar: Any) -> Iterator[dict[str, np.ndarray]]:
        """Columns in blocks of `block` rows, the last one shorter; a digest of their content is taken."""
        if self._reader.once and self._was_read:
            raise ValueError(
                f"from_arrow: {self._reader.what} can be read once, and was: give a path, a dataset or a table where"
                " several variables are observed"
            )
        self._was_read = True
        content, done = hashlib.blake2b(repr(sorted(names)).encode(), digest_size=16), 0
        for block in recut(self._reader.read(names, self.block), self.block):
            for name in sorted(block):
                content.update(np.ascontiguousarray(block[name]))
            done += len(next(iter(block.values())))
            yield block
            bar.advance(len(next(iter(block.values()))), self._reader.count or done)
        self._digest = content.hexdigest()

    def _dtypes(self) -> Mapping[str, Any]:
        """The kinds of the columns, by a look at the first rows where the source can be read again."""
        if self._reader.once:
            return {}
        first = next(iter(self._reader.read(self.columns, min(self.block, 1024))), {})
        return {name: array.dtype for name, array in first.items()}

    def _column(self, name: str) -> Tensor:
        if name not in self.columns:
            raise KeyError(f'there is no column "{name}"; there are {", ".join(self.columns)}')
        if name not in self._placeholders:
            node = placeholder(TensorType(self._kinds[name].name, (None,)), name)
            self._placeholders[name] = node
            _columns[node] = self
        return self._placeholders[name]


def source_of(nodes: Sequence[Node]) -> SourceRows | None:
    """The source that expressions have columns of; None where they have none."""
    if not _columns:
        return None
    found = {id(_columns[node]): _columns[node] for node in ancestors(nodes) if node in _columns}
    if len(found) > 1:
        raise ValueError("from_arrow: columns of several sources meet in one variable; put them into one table")
    return next(iter(found.values()), None)


def columns_of(value: Any) -> Tensor | None:
    """Columns of a source, or all that it has: one of them as a vector, several as a matrix."""
    if isinstance(value, SourceRows):
        return value[value.columns if len(value.columns) > 1 else value.columns[0]]
    return value if isinstance(value, Tensor) and source_of([value]) is not None else None


def recut(batches: Iterator[Batch], rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Batches of any lengths as blocks of one length: borders are at fixed row numbers, whatever the source does."""
    waiting: list[Batch] = []
    count = 0
    for batch in batches:
        if not (length := len(next(iter(batch.values())))):
            continue
        waiting.append(batch)
        count += length
        while count >= rows:
            block, rest = _cut(waiting, rows)
            count -= rows
            waiting = [rest] if count else []
            yield block
    if count:
        yield _cut(waiting, count)[0]


def _cut(waiting: list[Batch], rows: int) -> tuple[dict[str, np.ndarray], Batch]:
    """The first rows of batches, and what is left."""
    whole = waiting[0] if len(waiting) == 1 else {
        name: np.concatenate([batch[name] for batch in waiting]) for name in waiting[0]
    }  # fmt: skip
    return {name: a[:rows] for name, a in whole.items()}, {name: a[rows:].copy() for name, a in whole.items()}
