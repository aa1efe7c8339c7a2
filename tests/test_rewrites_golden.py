"""The golden texts, reviewed as diffs."""

from golden_rewrites import FILE, written

from ppl.rewrites import strict


def test_golden_texts(monkeypatch):
    monkeypatch.setattr(strict, "on", True)
    assert written() == FILE.read_text(), "if the change is meant: python tests/golden_rewrites.py, and read the diff"
