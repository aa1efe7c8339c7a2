"""Links in the documentation lead somewhere."""

import re
import runpy
from pathlib import Path

import pytest

import ppl

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
site = runpy.run_path(str(ROOT / "docs/site/links.py"))


@pytest.mark.parametrize("page", site["pages"](), ids=str)
def test_links_lead_somewhere(page):
    assert site["broken_links"](ROOT, page) == []


def test_planted_broken_links_are_found(tmp_path):
    (tmp_path / "b.md").write_text("# Some heading")
    links = (
        "[a](b.md) [a](b.md#some-heading) [a](#own) [a](https://x.y)\n\n# Own\n\n[a](c.md) [a](b.md#other) [a](#none)"
    )
    (tmp_path / "a.md").write_text(links)
    faults = site["broken_links"](tmp_path, Path("a.md"))
    assert faults == ["a.md: no file c.md", "a.md: no heading b.md#other", "a.md: no heading #none"]


PAGES = [
    "README.md",
    "docs/approximations.md",
    "docs/differential_equations.md",
    "docs/from_pymc.md",
    "docs/gaussian_processes.md",
    "docs/learning.md",
    "docs/many_fits.md",
    "docs/named_dimensions.md",
    "docs/ppl_from_scratch.md",
    "docs/scaling.md",
    "docs/smc_and_abc.md",
    "docs/unmodified_programs.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run_and_print_what_they_say(page, capsys, monkeypatch, tmp_path, no_real_packages):
    """Python blocks of a page, one after the other; a comment after print(...) is what it prints, up to a colon."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)  # they save files
    for block in blocks:
        capsys.readouterr()
        exec(compile(block, page, "exec"), names)
        printed = capsys.readouterr().out
        for said in re.findall(r"^print\(.*?\) +# (.*)$", block, re.MULTILINE):
            assert said.split(": ")[0] in printed, f"{page} says {said!r}, got {printed!r}"


def test_the_readme_shows_the_plan_of_the_demo():
    """All but the milliseconds that planning took."""
    model = runpy.run_path(str(ROOT / "examples/demo.py"))["eight_schools"]()
    shown = re.search(r"dev.py demo` runs it and prints\n\n```text\n(.*?)\n\nMade", README, re.DOTALL)[1]
    said, found = (
        [line.rstrip() for line in re.sub(r"\(\d+ ms\)", "", text).splitlines()]
        for text in (shown, f"{model}\n\n{ppl.explain(model)}")
    )
    assert said == found
