"""The table of PyMC's own tests: what a run wrote, counted by area and by kind of failure."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
CAUSES = json.loads((BENCHMARKS / "pymc_tests_causes.json").read_text(encoding="utf-8"))


@pytest.fixture
def command(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("pymc_tests", BENCHMARKS / "pymc_tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("_process", None)


def test_outcomes_are_counted_by_area_and_kind(command, tmp_path):
    rows = [
        {"kind": "start", "node": "tests/gp/test_cov.py::a"},
        {"kind": "test", "node": "tests/gp/test_cov.py::a", "outcome": "passed"},
        {"kind": "test", "node": "tests/gp/test_cov.py::b", "outcome": "failed", "message": "it took too long"},
        {"kind": "test", "node": "tests/gp/test_cov.py::b", "outcome": "passed"},  # its teardown
        {"kind": "test", "node": "tests/test_math.py::c", "outcome": "failed", "message": "other words"},
        {"kind": "test", "node": "tests/test_math.py::d", "outcome": "skipped", "message": "no network"},
    ]
    out = tmp_path / "gp.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    causes = [{"class": "d", "what": "slow", "test": "", "message": "too long"}]
    lines = command.table(command.outcomes([out]), causes).splitlines()
    assert [line.split("|")[1:-1] for line in lines if re.match(r"\| (gp|others|\*)", line)] == [
        [" gp ", " 2 ", " 1 ", " 0 ", " 0 ", " 0 ", " 0 ", " 1 ", " 0 "],
        [" others ", " 1 ", " 0 ", " 0 ", " 0 ", " 0 ", " 0 ", " 0 ", " 1 "],
        [" **all** ", " 3 ", " 1 ", " 0 ", " 0 ", " 0 ", " 0 ", " 1 ", " 1 "],
    ]
    assert lines[-1] == "- other words (1)"


def test_causes_are_of_a_kind_and_can_be_looked_for(command):
    for cause in CAUSES:
        assert cause["class"] in command.KINDS and cause["what"], cause
        re.compile(cause["test"]), re.compile(cause["message"])
