"""Draws outlive what is done with them: where no result can be built they are in the error, and in a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.model.errors import ResultError


def result_error(
    cause: BaseException, draws: Mapping[str, np.ndarray], stats: Mapping[str, np.ndarray], directory: Any
) -> ResultError:
    """The error of a result that could not be built, with the draws, and where they are saved."""
    path = saved(draws, stats, directory)
    where = f", and saved in {path} (numpy.load reads it)" if path else "; they could not be saved to a file"
    again = "" if directory is None else f" The same call with resume={os.fspath(directory)!r} samples nothing anew."
    return ResultError(
        f"All draws are made, but no result could be built from them: {type(cause).__name__}: {cause}\nThe draws are in"
        f" `.draws` and `.stats` of this error, by name{where}.{again}",
        dict(draws), dict(stats), path,
    )  # fmt: skip


def saved(draws: Mapping[str, np.ndarray], stats: Mapping[str, np.ndarray], directory: Any) -> str | None:
    """The file that draws are saved in: in the directory of the run, or where there is room; None if nowhere."""
    tables = {f"draws/{name}": value for name, value in draws.items()}
    tables |= {f"stats/{name}": value for name, value in stats.items()}
    for place in (directory, tempfile.gettempdir(), os.getcwd()):
        if place is None:
            continue
        path = ""
        try:
            with tempfile.NamedTemporaryFile(prefix="ppl-draws-", suffix=".npz", dir=place, delete=False) as file:
                path = file.name
                np.savez(file, **tables)  # type: ignore[arg-type]
        except OSError:
            if path and os.path.exists(path):
                os.unlink(path)
        else:
            return path
    return None
