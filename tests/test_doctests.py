"""Every example in a docstring runs and prints what it says. `ppl`, `pm` (the same) and `np` need no import there."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import ppl

PACKAGE = Path(ppl.__file__).parent
OPTIONAL = {"optax", "matplotlib", "graphviz", "polars", "zarr", "nutpie", "numpyro", "blackjax"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_names() -> list[str]:
    """All modules with an example in them, found in the text: collecting imports nothing."""
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if ">>> " in file.read_text()]
    parts = [file.relative_to(PACKAGE.parent).with_suffix("").parts for file in files]
    return [".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts]


def import_or_skip(name: str):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in OPTIONAL:
            pytest.skip(f"{name} needs the optional {error.name}")
        raise


def run_examples(module) -> tuple[int, str]:
    """Return how many examples ran, and the report of those that failed."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    tried = 0
    for test in doctest.DocTestFinder().find(module, extraglobs={"ppl": ppl, "pm": ppl, "np": np}):
        tried += runner.run(test, out=report.append).attempted
    return tried, "".join(report)


@pytest.mark.parametrize("name", module_names())
def test_examples_print_what_they_say(name):
    tried, report = run_examples(import_or_skip(name))
    assert tried, f"{name} has examples that doctest does not find"
    assert not report, report


def test_a_wrong_example_is_found():
    module = type(ppl)("planted")
    module.__doc__ = ">>> 1 + 1\n3\n"
    tried, report = run_examples(module)
    assert tried == 1
    assert "Expected:" in report
