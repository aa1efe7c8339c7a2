"""The pages of the documentation, and links that lead nowhere: what the tests and the site are built on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "docs/build"


def pages() -> list[Path]:
    """Every Markdown page, as a path from the root; a new page is found because it is there."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(p.relative_to(ROOT) for p in found if BUILD not in p.parents)


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts make it: `What it is` gets `what-it-is`."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def parse(text: str) -> list[Token]:
    """Markdown as tokens, headings with their anchors."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", slug(re.sub(r"[`*]", "", inline.content)))
    return tokens


def targets(text: str) -> Iterator[str]:
    """Where the links and pictures of a page lead, those into the web left out."""
    for token in parse(text):
        for child in token.children or []:
            if child.type in ("link_open", "image"):
                target = unquote(str(child.attrGet("href") or child.attrGet("src")))
                if not re.match(r"[a-z]+:", target):
                    yield target


def anchors(text: str) -> set[str]:
    return {str(t.attrGet("id")) for t in parse(text) if t.type == "heading_open"}


def broken_links(root: Path, page: Path) -> list[str]:
    """Links of a page to files or headings that are not there. Links into the web are not followed."""
    faults = []
    for target in targets((root / page).read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (root / page).parent / path if path else root / page
        if not file.exists():
            faults.append(f"{page}: no file {target}")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            faults.append(f"{page}: no heading {target}")
    return faults
