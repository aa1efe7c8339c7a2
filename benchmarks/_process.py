"""What measured processes run in."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """The variables of a process of its own, which finds this checkout first. Byte code is kept, as Python keeps it
    unless told not to: otherwise compiling imports is what is timed."""
    known = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return known | {"PYTHONPATH": os.pathsep.join(paths)} | more
