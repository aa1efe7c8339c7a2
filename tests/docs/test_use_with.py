"""The sections of the pages on other packages are programs by themselves, and print what they say."""

import importlib.metadata
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs/use_with_others.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
NEEDS = {
    "Bambi": "bambi",
    "BlackJAX": "blackjax",
    "NumPyro": "numpyro",
    "pandas": "pandas",
    "polars": "polars",
    "Jupyter": "ppl",
}


def arviz_of(section: str) -> bool:
    return importlib.metadata.version("arviz").split(".")[0] == section.split()[1].split(".")[0]


def test_every_section_has_a_program_and_a_package():
    assert {name for name in SECTIONS if not name.startswith("ArviZ")} == set(NEEDS)
    assert [name for name, text in SECTIONS.items() if "```python" not in text] == []


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.filterwarnings("default")  # of other packages
def test_a_section_runs_and_prints_what_it_says(section, capsys, tmp_path, monkeypatch, no_real_packages):
    if section.startswith("ArviZ") and not arviz_of(section):
        pytest.skip("another ArviZ is installed")
    pytest.importorskip(NEEDS.get(section, "arviz"), reason=f"what {section} is about")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
    exec(compile(block, section, "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out
    for said in re.findall(r"^ *print\(.*?\) +# (.*)$", block, re.MULTILINE):
        assert said in printed, f"{section} says {said!r}, printed {printed!r}"
