"""Run a benchmark, and keep what it prints in benchmarks/results/, under the machine and the versions it ran on.

    python benchmarks/_kept.py NAME [OPTION ...]      the options are the benchmark's own

What a run with other options printed is kept beside it, in a file of its own.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "arviz", "optax", "pymc", "pytensor", "nutpie", "numpyro", "blackjax")


def version_of(package: str) -> str | None:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The model of the processor, where the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def busy() -> str:
    """How much else the machine was doing."""
    return ", ".join(f"{load:.1f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def main(name: str, *options: str) -> int:
    head = [
        f"$ python benchmarks/{name}.py {' '.join(options)}".rstrip(),
        f"{datetime.date.today()}, {os.cpu_count()} cores of {processor()}, {platform.system()},"
        f" load before {busy()} (1, 5, 15 minutes)",
        f"Python {platform.python_version()}, {', '.join(filter(None, map(version_of, PACKAGES)))}",
    ]
    print(*head, "", sep="\n", flush=True)
    printed: list[str] = []
    command = [sys.executable, "-u", str(HERE / f"{name}.py"), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent) as run:
        for line in run.stdout or ():
            print(line, end="", flush=True)
            printed.append(line)
    if run.returncode == 0:
        told = "".join(f" {option.lstrip('-')}" for option in options).replace("/", "_")
        (HERE / "results" / f"{name}{told}.txt".replace(" ", "_")).write_text("\n".join([*head, "", "".join(printed)]))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else print(__doc__))
