"""A table that is printed without importing pandas, and is a pandas DataFrame as soon as anybody does more with it.

pandas takes longer to import than a small model to sample, and most tables of a posterior are printed and no more. An
instance of `Table` turns into a DataFrame in place, for good, when anything but its class or its text is asked of it;
its class is DataFrame as soon as pandas is loaded. Its text is what pandas prints where a few numbers of
usual size are printed by plain Python; where pandas has more to decide, it is asked.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MOST_ROWS, ENDS = 60, 5  # of more rows pandas shows as many of the first and of the last
MOST_CHARACTERS = 50  # and the ends of labels beyond these
DIGITS = 6
GAP = " ..."  # in place of columns for which there is no room
# What Python asks a class for, not an object.
BY_CLASS = """abs add and array array_ufunc bool ceil contains copy dataframe deepcopy delattr
    delitem dir divmod eq finalize float floor floordiv format ge getitem getstate gt iadd iand ifloordiv imod imul int
    invert ior ipow isub iter itruediv ixor le len lt matmul mod mul ne neg nonzero or pos pow radd rand rdivmod reduce
    reduce_ex rfloordiv rmatmul rmod rmul ror round rpow rsub rtruediv rxor setattr setitem setstate sizeof sub truediv
    trunc xor""".split()

_set_class = vars(object)["__class__"].__set__
_turning = threading.RLock()


def table(values: np.ndarray, index: Sequence[Any], columns: Sequence[str]) -> Any:
    """Rows of numbers with labels, as a DataFrame or what becomes one."""
    if "pandas" in sys.modules:
        return _frame(values, index, columns)
    return Table(values, index, columns)


class Table:
    """Rows of numbers with labels, which are pandas' DataFrame as soon as anybody looks beyond their text."""

    def __init__(self, values: np.ndarray, index: Sequence[Any], columns: Sequence[str]) -> None:
        vars(self)["_made_of"] = values, index, columns

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """pandas' class where there can be anybody who compares with it. (`isinstance` would not see the class of an
        object that turned while it asked.)"""
        return sys.modules["pandas"].DataFrame if "pandas" in sys.modules else type(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        text = _text(*vars(self)["_made_of"])
        return text if text is not None else repr(turn_into_frame(self))

    def __str__(self) -> str:
        return repr(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(turn_into_frame(self), name)


def turn_into_frame(shown: Any) -> Any:
    """The same object, being a DataFrame from now on."""
    with _turning:
        if type(shown) is Table:
            frame = _frame(*vars(shown)["_made_of"])
            state = dict(vars(frame))
            vars(shown).clear()
            _set_class(shown, type(frame))
            vars(shown).update(state)
    return shown


def _frame(values: np.ndarray, index: Sequence[Any], columns: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(values, index, columns)


def _answered_by_pandas(name: str) -> Callable[..., Any]:
    def method(self: Table, *args: Any, **options: Any) -> Any:
        return getattr(turn_into_frame(self), name)(*args, **options)

    method.__name__ = name
    return method


for _name in BY_CLASS:
    setattr(Table, f"__{_name}__", _answered_by_pandas(f"__{_name}__"))


def _text(values: np.ndarray, index: Sequence[Any], columns: Sequence[str]) -> str | None:
    """What pandas prints of a table, as it comes; None where it is to be asked."""
    count, long = len(values), len(values) > MOST_ROWS
    if long:
        values, index = (np.concatenate([x[:ENDS], x[-ENDS:]]) for x in (values, np.asarray(index, object)))
    usual = (values == 0) | ((np.abs(values) >= 10.0**-DIGITS) & (np.abs(values) < 1e6))
    labels = [str(label) for label in index]
    plain = all(label.isascii() and label.isprintable() and len(label) <= MOST_CHARACTERS for label in labels)
    if "pandas" in sys.modules or "IPython" in sys.modules or not labels:
        return None
    if not (plain and usual.all()):
        return None
    shown = [_left(["", *labels])]
    shown += [_right([f" {name}", *_numbers(values[:, i])]) for i, name in enumerate(columns)]
    fitting = _fitting(shown)
    if long:
        fitting = [_with_dots(cells, first=i == 0) for i, cells in enumerate(fitting)]
    lines = "\n".join(" ".join(cells) for cells in zip(*fitting, strict=True))
    return lines if fitting is shown else f"{lines}\n\n[{count} rows x {len(columns)} columns]"


def _numbers(column: np.ndarray) -> list[str]:
    """Numbers with so many digits that none is longer than it needs, a place for the sign in front."""
    cells = [f"{value: .{DIGITS}f}" for value in column.tolist()]
    spare = min(min(len(cell) - len(cell.rstrip("0")) for cell in cells), DIGITS - 1)
    return [cell[: len(cell) - spare] for cell in cells]


def _fitting(shown: list[list[str]]) -> list[list[str]]:
    """The columns that the terminal has room for, those in the middle left out."""
    widths = [len(column[0]) for column in shown]
    over = sum(widths) + len(widths) - shutil.get_terminal_size().columns
    if over <= 0:
        return shown
    over += len(GAP) + 1
    while over > 0 and len(widths) > 1:
        over -= widths.pop(round(len(widths) / 2)) + 1
    kept = max(len(widths) - 1, 2)
    if kept >= len(shown) - 1:
        return list(shown)
    half = kept // 2
    return [*shown[: half + 1], [GAP] * len(shown[0]), *shown[-half:]]


def _with_dots(cells: list[str], first: bool) -> list[str]:
    """A column with dots in place of the rows that are left out, below its name and the first rows."""
    width = len(cells[0])
    dots = "..." if width > 3 else ".."
    return [*cells[: 1 + ENDS], dots.ljust(width) if first else dots.rjust(width), *cells[1 + ENDS :]]


def _left(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _right(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
