"""Build docs/build/: every Markdown page as HTML, the public names as `api.html`, every link checked.

`python3 dev.py docs` runs this. It exits with 1, and a line for each, if a link leads nowhere.
"""

import html
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

import ppl

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "docs/build"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
body {{ max-width: 48rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
pre {{ padding: .8rem; background: #8881; overflow-x: auto; }} td, th {{ padding: .2rem .6rem; text-align: left; }}
</style></head><body><nav><a href="{home}README.html">ppl</a> · <a href="{home}api.html">names</a></nav>
{body}</body></html>
"""


def pages() -> list[Path]:
    """The pages, as paths from the root."""
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


def links(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from (child for child in token.children or [] if child.type in ("link_open", "image"))


def anchors(text: str) -> set[str]:
    return {str(t.attrGet("id")) for t in parse(text) if t.type == "heading_open"}


def broken_links(root: Path, page: Path) -> list[str]:
    """Links of a page to files or headings that are not there. Links into the web are not followed."""
    faults = []
    for link in links(parse((root / page).read_text())):
        target = unquote(str(link.attrGet("href") or link.attrGet("src")))
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (root / page).parent / path if path else root / page
        if not file.exists():
            faults.append(f"{page}: no file {target}")
        elif anchor and anchor not in anchors(file.read_text()):
            faults.append(f"{page}: no heading {target}")
    return faults


def render(page: Path) -> str:
    tokens = parse((ROOT / page).read_text())
    for link in links(tokens):
        href = link.attrGet("href")
        if href and not re.match(r"[a-z]+:", str(href)):
            link.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", str(href)))
    return MarkdownIt("commonmark").enable("table").renderer.render(tokens, MarkdownIt().options, {})


def public_names() -> list[str]:
    listed = getattr(ppl, "__all__", None) or [name for name in vars(ppl) if not name.startswith("_")]
    return sorted(name for name in listed if not inspect.ismodule(getattr(ppl, name)))


def signature(value: object) -> str:
    try:
        return str(inspect.signature(value)) if callable(value) else ""
    except (TypeError, ValueError):
        return ""


def api() -> str:
    """Each public name with its arguments and the first sentence of its docstring."""
    rows = []
    for name in public_names():
        value = getattr(ppl, name)
        first = (inspect.getdoc(value) or "").partition("\n\n")[0]
        call = html.escape(name + signature(value))
        rows.append(f"<dt id='{html.escape(name)}'><code>{call}</code></dt><dd>{html.escape(first)}</dd>")
    return "<h1>Public names</h1>" + (f"<dl>{''.join(rows)}</dl>" if rows else "<p>None yet.</p>")


def write(target: Path, title: str, body: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    home = "../" * (len(target.relative_to(BUILD).parts) - 1)
    target.write_text(PAGE.format(title=html.escape(title), home=home, body=body))


def main() -> int:
    shutil.rmtree(BUILD, ignore_errors=True)
    for page in pages():
        write(BUILD / page.with_suffix(".html"), page.stem, render(page))
    write(BUILD / "api.html", "Public names", api())
    faults = [fault for page in pages() for fault in broken_links(ROOT, page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(pages())} pages and {len(public_names())} public names in docs/build/, {len(faults)} broken links")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
