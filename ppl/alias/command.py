"""`python -m ppl`: a program that was written for PyMC, run on ppl.

python -m ppl script.py [arguments]     the script, with `pymc` and `pytensor` being ppl
python -m ppl -m module [arguments]     a module, as `python -m` runs it
python -m ppl -c code [arguments]       a line of code
python -m ppl --pytest [arguments]      pytest, also with the worker processes of pytest-xdist
python -m ppl --version
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

from ppl.alias.switch import as_pymc
from ppl.model.version import __version__

PLUGIN = "ppl.alias.pytest_plugin"


class Argument(str):
    """The first of a program's arguments. A process that is spawned receives the arguments before it imports the
    program again, and switches the alias on as it does."""

    def __reduce__(self) -> Any:
        return _received, (str(self),)


def _received(argument: str) -> Argument:
    as_pymc()
    return Argument(argument)


def main(arguments: list[str]) -> Any:
    """Run what the command line asks for; the result is the process's exit status."""
    match arguments:
        case ["--version"]:
            print(f"ppl {__version__}")
        case ["-m", module, *rest]:
            _enter([module, *rest])
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            _enter(["-c", *rest])
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
        case ["--pytest", *rest]:
            return _pytest(rest)
        case [script, *rest] if not script.startswith("-"):
            if not Path(script).exists():
                sys.exit(f"python -m ppl: there is no file {script!r}")
            _enter([script, *rest])
            sys.path[0] = str(Path(script).resolve().parent)
            runpy.run_path(script, run_name="__main__")
        case ["--help" | "-h"]:
            print(__doc__)
        case _:
            sys.exit(__doc__)
    return 0


def _enter(arguments: list[str]) -> None:
    as_pymc()
    sys.argv[:] = [Argument(arguments[0]), *arguments[1:]]


def _pytest(arguments: list[str]) -> Any:
    """Pytest in this process; its workers switch the alias on by a plugin, which their environment names."""
    try:
        import pytest
    except ModuleNotFoundError:
        sys.exit("python -m ppl --pytest needs pytest: pip install pytest")
    named = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    os.environ["PYTEST_PLUGINS"] = ",".join([PLUGIN, *named])
    as_pymc()
    sys.argv[:] = ["pytest", *arguments]  # plain words: pytest-xdist refuses others
    return pytest.main(arguments)
