"""Cases that take seconds each: some in every run, all in the full one."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def some_slow(cases: Iterable[Any], fast: Callable[[Any], bool]) -> list[Any]:
    """The cases for `pytest.mark.parametrize`, those that are not `fast` marked as slow."""
    return [_marked(case, fast(case)) for case in cases]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases for `pytest.mark.parametrize`, all but every so many of them marked as slow."""
    return [_marked(case, at % step == 0) for at, case in enumerate(cases)]


def _marked(case: Any, fast: bool) -> Any:
    values = case if type(case) is tuple else (case,)
    return pytest.param(*values, marks=[] if fast else pytest.mark.slow)
