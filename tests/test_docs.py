"""Links in the documentation lead somewhere."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
generate = runpy.run_path(str(ROOT / "docs/generate.py"))


@pytest.mark.parametrize("page", generate["pages"](), ids=str)
def test_links_lead_somewhere(page):
    assert generate["broken_links"](ROOT, page) == []


def test_planted_broken_links_are_found(tmp_path):
    (tmp_path / "b.md").write_text("# Some heading")
    links = (
        "[a](b.md) [a](b.md#some-heading) [a](#own) [a](https://x.y)\n\n# Own\n\n[a](c.md) [a](b.md#other) [a](#none)"
    )
    (tmp_path / "a.md").write_text(links)
    faults = generate["broken_links"](tmp_path, Path("a.md"))
    assert faults == ["a.md: no file c.md", "a.md: no heading b.md#other", "a.md: no heading #none"]
