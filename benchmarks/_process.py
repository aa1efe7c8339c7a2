"""What measured processes run in."""

from __future__ import annotations

import os


def environment(**more: str) -> dict[str, str]:
    """The variables of a process of its own. Byte code is kept, as Python keeps it unless told not to: otherwise
    compiling imports is what is timed."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | more
