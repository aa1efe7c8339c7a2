"""Pages that are programs: their Python blocks run one after the other, and a `text` block after one is what it prints.

`python docs/site/programs.py [PAGE ...]` runs tutorials and pages of the gallery, and writes what they print, and their
pictures, into the pages. The tests run the same blocks and compare, numbers aside.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS, GALLERY = ROOT / "docs/tutorials", ROOT / "docs/gallery"
MISTAKES = ROOT / "docs/first_mistakes.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def pages(*folders: Path) -> list[Path]:
    return sorted(page for folder in folders or (TUTORIALS, GALLERY) for page in folder.glob("*.md"))


def every_page() -> list[Path]:
    return [*pages(), MISTAKES]


def pictures(page: Path) -> Path:
    """The folder of the pictures of a page: a folder for each folder of pages."""
    return ROOT / "docs/pictures" / page.parent.name


def outputs(text: str, page: str) -> Iterator[tuple[str, str, str]]:
    """Each block with what the page shows after it, and what it prints when it is run after those before it."""
    names: dict[str, object] = {"__name__": page}
    for block, shown in BLOCK.findall(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)
        yield block, shown, printed.getvalue()


def words(text: str) -> list[str]:
    """A text without its numbers, rules and spaces, which differ from machine to machine."""
    return re.sub(r"[-+]?\d[\d_]*(\.\d+)?(e[-+]?\d+)?|nan|[-─━|]", "", text).split()


def renew(page: Path) -> None:
    """Write into a page what its blocks print."""
    text = page.read_text(encoding="utf-8")
    place = pictures(page) if "savefig" in text else ROOT
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(place):
        for block, shown, printed in outputs(text, page.name):
            if shown:
                old = f"```python\n{block}```\n\n```text\n{shown}```\n"
                text = text.replace(old, f"```python\n{block}```\n\n```text\n{clean(printed)}```\n", 1)
    page.write_text(text, encoding="utf-8")


def clean(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.strip("\n").split("\n")) + "\n"


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    wanted = {Path(name).stem for name in sys.argv[1:]}
    for each in [page for page in every_page() if not wanted or page.stem in wanted]:
        print(each.name, flush=True)
        renew(each)
