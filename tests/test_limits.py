"""All sizes that decide a plan stand in one dataclass, and nothing that decides one is a time."""

import ast
from pathlib import Path

import pytest

from ppl.rewrites.limits import LIMITS, limited

REWRITES = Path(__file__).resolve().parent.parent / "ppl" / "rewrites"
SIZES = {"MOST", "LEAST", "FEW", "FEWEST", "MANY", "LARGEST", "LIMIT", "BUDGET", "ENOUGH", "LONG"}
ROOMS = ("marginalization", "reparameterization", "sufficient_statistics", "plates", "factorization", "sharing")
ELSEWHERE = {"MOST_NAMES"}  # that a sentence lists: nothing is decided by it


def sizes(text):
    """Numbers at the top of a module that are called as limits are."""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float())):
                if SIZES & set(name.strip("_").split("_")) and name not in ELSEWHERE:
                    yield name


def clocks(text):
    """Reads of a clock by which something is decided: the difference of two is only told, as milliseconds."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and "time." in ast.unparse(node):
            yield ast.unparse(node)


@pytest.mark.parametrize("find", [sizes, clocks])
def test_limits_stand_in_one_place_and_are_no_times(find):
    files = [f for room in ROOMS for f in (REWRITES / room).rglob("*.py")]
    found = {f"{f.name}: {x}" for f in files for x in find(f.read_text())}
    assert len(files) > 60
    assert not found


def test_what_is_looked_for_is_found():
    assert list(sizes("_MOST_ROWS = 8\nFEW = 2.0\nALMOST = 3")) == ["_MOST_ROWS", "FEW"]
    assert list(clocks("import time\nwhile time.perf_counter() < 3: pass")) == ["time.perf_counter() < 3"]


def test_an_unknown_limit_is_refused_and_known_ones_come_back():
    with (
        pytest.raises(TypeError, match=r"no limit of planning is called rows; see ppl/rewrites/limits\.py"),
        limited(rows=3),
    ):
        pass
    usual = LIMITS.least_rows
    with pytest.raises(ZeroDivisionError), limited(least_rows=4):
        assert LIMITS.least_rows == 4
        raise ZeroDivisionError
    assert usual == LIMITS.least_rows
