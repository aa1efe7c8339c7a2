"""`from_arrow`: rows of files and tables that need not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.sources.readers import reader_of
from ppl.sources.source_rows import SourceRows

BLOCK = 131_072  # rows


def from_arrow(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    block: int = BLOCK,
    memory: bool = False,
    progressbar: bool = True,
) -> Any:
    """Rows of Parquet files, Arrow tables, DuckDB, polars or Zarr, as data of a model, whether they fit into memory or
    not.

    When a variable is observed to have a column as its values, the rows are read once, in blocks, and their sufficient
    statistics are kept: normal rows of a linear predictor by triangular factors of its design, rows of other
    exponential families by sums over those that have the same parameters, and all others by counts of equal rows.
    Where too many rows differ for that, an error says so.

    Parameters
    ----------
    source : path, list of paths, or table
        Parquet files or folders (also Feather, Arrow and CSV, by their suffix); an Arrow dataset, table or record-batch
        reader; a relation of DuckDB; a frame of polars, lazy or not; the path of a Zarr group, or the group, whose
        arrays are columns.
    columns : list of str, optional
        Which columns there are to be; all of them by default.
    block : int, default 131072
        How many rows are in memory at a time. It decides the last digits of the statistics.
    memory : bool, default False
        True reads all rows into memory, as a dict of arrays: data as any others.
    progressbar : bool, default True
        Whether a bar shows how many rows are read.

    Returns
    -------
    SourceRows or dict of arrays
        `rows["x"]` is a column, `rows[["x", "z"]]` a matrix of columns.

    Examples
    --------
    >>> import polars as pl
    >>> x = np.linspace(-1, 1, 1000)
    >>> rows = pm.from_arrow(pl.DataFrame({"x": x, "y": 1 + 2 * x}), progressbar=False)
    >>> with pm.Model() as model:
    ...     a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    ...     y = pm.Normal("y", a + b * rows["x"], 0.1, observed=rows["y"])
    >>> print(model.read_once["y"].partition(";")[0])
    1,000 rows of a linear predictor with 2 columns, by the triangular factor of their design
    >>> result = pm.sample(model=model, random_seed=1, progressbar=False, quiet=True)
    >>> round(float(result.posterior["b"].mean()), 2)
    2.0
    """
    if isinstance(block, bool) or not isinstance(block, int) or block < 2:
        raise ValueError(f"from_arrow: block is a number of rows from 2 on, got {block!r}")
    if isinstance(columns, str):
        raise TypeError(f"from_arrow: columns is a list of names, got {columns!r}. Write columns=[{columns!r}].")
    reader = reader_of(source)
    names = reader.columns if columns is None else list(columns)
    if unknown := [name for name in names if name not in reader.columns]:
        raise KeyError(f"from_arrow: {reader.what} has no columns {unknown}; it has {', '.join(reader.columns)}")
    if memory:
        batches = list(reader.read(names, block))
        return {name: np.concatenate([batch[name] for batch in batches]) for name in names}
    return SourceRows(reader, names, block, progressbar)
