"""Frozen dataclasses that are made when they are needed are what dataclasses are."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ppl.graph.records import record

ROOT = Path(__file__).resolve().parent.parent


def kinds():
    """A record, one that adds to it, and a plain class below; none of them made yet."""

    @record
    class Point:
        x: float
        y: float = 0.0

    @record
    class Named(Point):
        name: str = dataclasses.field(default="p", compare=False)

        def __post_init__(self):
            if not self.name:
                raise ValueError("a name is needed")

    class Below(Named):
        pass

    return Point, Named, Below


def is_made(cls):
    return isinstance(vars(cls).get("__dataclass_fields__"), dict)


def test_a_record_is_made_when_it_is_first_called():
    Point, Named, Below = kinds()
    assert not is_made(Point)
    assert repr(Point(1.0)).endswith("Point(x=1.0, y=0.0)") and Point(1.0) == Point(1.0, 0.0) != Point(2.0)
    assert is_made(Point) and not is_made(Named)
    assert Below(1.0) == Below(1.0, name="q") and hash(Below(1.0)) == hash(Below(1.0, name="q"))
    assert dataclasses.replace(Below(1.0), y=2.0) == Below(1.0, 2.0)
    with pytest.raises(ValueError, match="a name is needed"):
        Named(1.0, name="")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        kinds()[0]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1.0).x = 2.0


@pytest.mark.parametrize(
    "look",
    [
        lambda cls: [f.name for f in dataclasses.fields(cls)] == ["x", "y", "name"],
        lambda cls: list(inspect.signature(cls).parameters) == ["x", "y", "name"],
        dataclasses.is_dataclass,
        lambda cls: copy.deepcopy(cls(1.0)) == cls(1.0),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_who_looks_at_the_class_sees_a_dataclass(look, number):
    assert look(kinds()[number])


def test_a_record_that_comes_out_of_a_pickle_first_is_whole():
    """As one that was made in another process."""
    from ppl.distributions.declaration.sums import Along

    made = Along((3, 2), (0,))
    program = """
import pickle, sys
found = pickle.load(sys.stdin.buffer)
print(found == pickle.loads(pickle.dumps(found)), repr(found), sep="|")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, input=pickle.dumps(made), capture_output=True)
    assert done.stdout.decode().strip() == f"True|{made!r}", done.stderr


def test_what_has_methods_of_its_own_is_refused():
    class Own:
        x: int

        def __init__(self):
            pass

    with pytest.raises(TypeError, match=r"Own has __new__ or __init__ of its own"):
        record(Own)


def test_threads_that_make_the_first_instance_together_wait_for_the_class():
    for _ in range(20):
        Point, _, Below = kinds()
        found, ready = [], threading.Barrier(8)

        def first(cls, found=found, ready=ready):
            ready.wait()
            found.append(cls(1.0) == cls(1.0))

        threads = [threading.Thread(target=first, args=(cls,)) for cls in (Point, Below) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 8
