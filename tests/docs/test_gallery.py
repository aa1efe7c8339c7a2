"""Case studies of the gallery have one shape, run, and print what they show, numbers aside."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/site"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import build
import gallery
import programs

STUDIES = programs.pages(programs.GALLERY)
PARTS = ["Data", "Model", "Posterior", "Picture", "What one learns"]
NAMES = [pytest.param(page, id=page.stem) for page in STUDIES]


def faults_of_shape(name: str, text: str) -> list[str]:
    """What keeps a page from being a case study like the others."""
    model = text.partition("## Model")[2].partition("## Posterior")[0]
    wanted = {
        "its parts": re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS,
        "its group and title": re.match(r"<!-- .+ -->\n# \S", text) is not None,
        "what explain says": "pm.explain(" in model,
        "a seed of its data": "default_rng(" in text or "np.array(" in text,
        "a seed of its draws": re.search(r"\.sample\w*\(.*random_seed=1", text) is not None,
        "its picture": f'figure.savefig("{name}.png", dpi=90)' in text,
        "the picture shown": f"](../pictures/gallery/{name}.png)" in text,
        "a lesson after the last output": len(text.rpartition("```\n")[2].split()) > 10,
    }
    return [what for what, there in wanted.items() if not there]


@pytest.mark.parametrize("page", NAMES)
def test_a_case_study_has_the_shape_of_all(page):
    assert faults_of_shape(page.stem, page.read_text(encoding="utf-8")) == []
    assert build.group_of_study(page) in build.GALLERY_GROUPS
    assert (programs.pictures(page) / f"{page.stem}.png").is_file()


def test_a_page_of_another_shape_is_found():
    page = STUDIES[0]
    text = page.read_text(encoding="utf-8").replace("## Picture", "## Figure").replace("pm.explain(", "pm.graph(")
    assert faults_of_shape(page.stem, text) == ["its parts", "what explain says"]


def test_there_are_enough():
    assert len(STUDIES) >= 25
    groups = [build.group_of_study(page) for page in STUDIES]
    assert set(groups) == set(build.GALLERY_GROUPS)


def test_each_has_a_card():
    index = build.gallery()
    assert [page.stem for page in STUDIES if f":link: {page.stem}\n" not in index] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", NAMES)
@pytest.mark.filterwarnings("default")  # chains of some studies are told about, as they are to readers
def test_a_case_study_prints_what_it_shows(page, tmp_path, monkeypatch, no_real_packages):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    for block, shown, printed in programs.outputs(page.read_text(encoding="utf-8"), page.name):
        assert programs.words(printed) == programs.words(shown), block
    assert [picture.name for picture in tmp_path.glob("*.png")] == [f"{page.stem}.png"]


@pytest.mark.parametrize("page", NAMES)
def test_the_benchmark_takes_the_program_of_the_page(page):
    ours, theirs = gallery.program(page, "ppl"), gallery.program(page, "pymc")
    compile(ours, page.name, "exec")
    compile(theirs, page.name, "exec")
    assert "import pymc as pm" in theirs and "import ppl as pm" in ours
    assert "print(pm." not in ours and "eliminate" not in theirs
