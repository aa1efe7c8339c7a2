"""The site builds without a warning, with every page that is there; what Sphinx reads is written without it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))

import build
import links


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Where this test builds."""
    for name in ("SOURCE", "HTML", "BUILD"):
        monkeypatch.setattr(build, name, tmp_path / name.lower())
    return tmp_path


def test_every_page_of_the_repository_is_written_and_listed(built):
    build.copy_pages()
    build.contents()
    for page in links.pages():
        assert (build.SOURCE / page).is_file()
    listed = "".join(p.read_text() for p in build.SOURCE.rglob("*.md") if "{toctree}" in p.read_text())
    missing = [page for page in links.pages() if page.stem not in listed]
    assert missing == []


def test_a_link_to_a_folder_leads_to_its_contents(tmp_path):
    (tmp_path / "with").mkdir()
    (tmp_path / "with/page.md").write_text("# A page")
    (tmp_path / "without").mkdir()
    assert build.to_folder("[a](with/)", "with/", tmp_path / "with") == "[a](with/index.md)"
    assert build.to_folder("[a](without/)", "without/", tmp_path / "without") == "`a`"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # deprecations within Sphinx are no fault of ours
def test_the_site_builds_without_a_warning(built):
    pytest.importorskip("sphinx", reason="Sphinx is in the extra `docs`")
    assert build.main(["--quick"]) == 0
    assert (build.HTML / "docs/reference/families/Normal.html").is_file()
    assert "<math" in (build.HTML / "docs/reference/families/Normal.html").read_text()
    assert (build.HTML / "objects.inv").is_file()
