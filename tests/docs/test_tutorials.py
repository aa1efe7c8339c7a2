"""Tutorials run, and print what they show, numbers aside."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))

import programs

FAST = ("first_mistakes", "01_first_model", "02_reading_explain", "12_when_not_to_trust_it")  # little is compiled there
CHAINS_AS_WRITTEN = "03_diagnosing"  # its findings are those of a chain that goes wrong, which differ by machine
PAGES = [
    pytest.param(page, id=page.stem, marks=[] if page.stem in FAST else [pytest.mark.slow])
    for page in [*programs.pages(programs.TUTORIALS), programs.MISTAKES]
]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, in ArviZ's comparison
def test_a_tutorial_prints_what_it_shows(page, tmp_path, monkeypatch, no_real_packages):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)  # its pictures
    text = page.read_text(encoding="utf-8")
    for block, shown, printed in programs.outputs(text, page.name):
        if shown and page.stem != CHAINS_AS_WRITTEN:
            assert programs.words(printed) == programs.words(shown), block
    for picture in tmp_path.iterdir():
        assert f"../pictures/tutorials/{picture.name}" in text
        assert (programs.pictures(page) / picture.name).is_file(), f"run docs/site/programs.py {page.stem}"


def test_a_page_that_shows_something_else_is_found():
    text = "```python\nprint('three', 3)\n```\n\n```text\nfour 4\n```\n"
    ((_, shown, printed),) = programs.outputs(text, "planted")
    assert programs.words(printed) == ["three"] != programs.words(shown)


def test_every_page_has_a_program():
    assert [page.name for page in programs.every_page() if "```python" not in page.read_text(encoding="utf-8")] == []
