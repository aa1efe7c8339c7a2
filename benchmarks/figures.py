"""Kept figures: a JSON file with the machine and the versions that they belong to."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any


def save(file: Path, found: dict[str, Any], packages: Sequence[str] = ()) -> None:
    """Write figures to `file`; parts that were not measured this time stay as they are there."""
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    kept["machine"] = {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 1),
    }
    kept["versions"] = {"python": platform.python_version()} | {
        name: version(name) for name in ("jax", "jaxlib", "numpy", *packages) if importlib.util.find_spec(name)
    }
    file.write_text(json.dumps(kept | found, indent=1) + "\n")
