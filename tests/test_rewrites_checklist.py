"""Each row of the checklist, and that its documentation is up to date."""

import importlib.util
from pathlib import Path

import pytest
from checklist_rewrites import CHECKLIST, HOLES

from ppl.rewrites import simplify, strict, text

ROOT = Path(__file__).resolve().parent.parent
ROWS = [item for item in CHECKLIST if item.before is not None]


@pytest.mark.parametrize("item", ROWS, ids=[str(item.number) for item in ROWS])
def test_row(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    assert text(simplify(item.before)) == item.after


@pytest.mark.parametrize("item", HOLES, ids=[str(item.number) for item in HOLES])
def test_hole(item, monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    assert text(simplify(item.before)) == item.after


def test_the_documentation_is_up_to_date():
    spec = importlib.util.spec_from_file_location("generate_rewrites", ROOT / "docs" / "generate_rewrites.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.PAGE.read_text() == generate.page(), "run: python docs/generate_rewrites.py"
