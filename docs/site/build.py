"""Build the site into docs/build/html: `python3 dev.py docs` runs this, offline, from the repository alone.

Every Markdown page of the repository is in it because it is there: a new page of `docs/` needs no entry anywhere. What
is generated (the reference of names, a page a family) is written beside copies of these pages into docs/build/source,
and Sphinx turns that into HTML, with warnings as errors. `--quick` leaves the pages of families out.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import families
import reference
from links import BUILD, ROOT, broken_links, pages, targets

import ppl

SOURCE, HTML = BUILD / "source", BUILD / "html"
PARTS = [
    "docs/tutorials/index",
    "docs/gallery/index",
    "docs/guides",
    "docs/reference/index",
    "docs/lookups",
    "docs/decisions/index",
    "docs/project",
]
FIRST = (
    "first_mistakes",
    "ppl_from_scratch",
    "what_is_rewritten",
    "from_pymc",
    "use_with_pymc",
    "unmodified_programs",
    "checks",
)  # the rest by the alphabet
GALLERY_GROUPS = ("Regression", "Groups", "Hidden kinds", "Survival and counting", "Time", "Functions", "Decisions")
ABOUT_THE_GALLERY = """ of one shape: a question, data, a model, what `pm.explain` says, the posterior, a
picture, and what one learns. Each is a program that runs in less than a minute, and a test runs it. Texts, programs and
data are the project's own, under its licence; data are generated, but for the eight pairs of numbers of Rubin (1981).
`python benchmarks/gallery.py` runs them beside PyMC with nutpie ([what it printed](../speed.md#the-gallery))."""
LOOKED_UP = (
    "distributions",
    "rewrites",
    "glossary",
    "not_yet",
    "proof_models",
    "calibration",
    "speed",
    "supported_versions",
    "documentation_compared",
    "pymcs_own_tests",
)


def copy_pages() -> None:
    """The pages and what they link to, in the places that they have in the repository."""
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in targets(text):
            path = (ROOT / page).parent / target.partition("#")[0]
            if path.is_dir() and path != (ROOT / page).parent:
                text = to_folder(text, target, path)
            elif path.is_file() and path.suffix != ".md":
                copy(path.resolve())
        write(SOURCE / page, text)


def to_folder(text: str, target: str, folder: Path) -> str:
    """A link to a folder leads to its contents, where the site has a page of them, or is a name alone."""
    if list(folder.glob("*.md")):
        return text.replace(f"]({target})", f"]({target.rstrip('/')}/index.md)")
    return re.sub(rf"\[([^\]]+)\]\({re.escape(target)}\)", r"`\1`", text)


def copy(file: Path) -> None:
    if file.is_relative_to(ROOT):
        place = SOURCE / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)


def write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def tree(listed: list[str], depth: int = 1, hidden: bool = False) -> str:
    head = [":hidden:"] if hidden else []
    return "\n".join(["```{toctree}", f":maxdepth: {depth}", *head, "", *listed, "```", ""])


def contents() -> None:
    """The pages that lead to the others."""
    here = [p.stem for p in pages() if p.parent == Path("docs")]
    guides = [*[p for p in FIRST if p in here], *[p for p in here if p not in FIRST + LOOKED_UP]]
    lookups = [p for p in LOOKED_UP if p in here]
    tutorials = sorted(p.stem for p in pages() if p.parent == Path("docs/tutorials"))
    decisions = sorted(p.stem for p in pages() if p.parent == Path("docs/decisions"))
    introduction = (Path(__file__).parent / "index.txt").read_text(encoding="utf-8")
    write(
        SOURCE / "index.md",
        introduction + tree(PARTS, hidden=True),
    )
    write(SOURCE / "docs/project.md", "# Project\n\n" + tree([f"/{p.stem}" for p in pages() if p.parent == Path()]))
    write(
        SOURCE / "docs/tutorials/index.md",
        "# Tutorials\n\nEach is a program that runs in minutes; the tests run its code.\n\n" + tree(tutorials),
    )
    write(SOURCE / "docs/gallery/index.md", gallery())
    write(SOURCE / "docs/guides.md", "# Guides\n\n" + tree(guides))
    write(SOURCE / "docs/lookups.md", "# Tables\n\n" + tree(lookups))
    write(SOURCE / "docs/decisions/index.md", "# Decisions and their reasons\n\n" + tree(decisions))


def gallery() -> str:
    """The page of thumbnails. A case study says its group in its first line, its title in the second."""
    studies = [ROOT / page for page in pages() if page.parent == Path("docs/gallery")]
    parts = ["# Gallery", "", f"{len(studies)} case studies{ABOUT_THE_GALLERY}", ""]
    for group in GALLERY_GROUPS:
        parts += [f"## {group}", "", "::::{grid} 1 2 3 3", ":gutter: 3", ""]
        parts += [card(study) for study in studies if group_of_study(study) == group] + ["::::", ""]
    return "\n".join([*parts, tree([study.stem for study in studies], hidden=True)])


def group_of_study(study: Path) -> str:
    first = study.read_text(encoding="utf-8").partition("\n")[0]
    found = re.fullmatch(r"<!-- (.+) -->", first)
    if not found or found[1] not in GALLERY_GROUPS:
        raise ValueError(f"{study.name}: its first line must be <!-- GROUP -->, one of {', '.join(GALLERY_GROUPS)}")
    return found[1]


def card(study: Path) -> str:
    title = study.read_text(encoding="utf-8").split("\n")[1].removeprefix("# ")
    picture = f"../pictures/gallery/{study.stem}.png"
    options = [f":img-top: {picture}", f":img-alt: {title}", f":link: {study.stem}", ":link-type: doc"]
    return "\n".join([f":::{{grid-item-card}} {title}", *options, ":::", ""])


def generated(quick: bool) -> None:
    """The reference of names and families."""
    place = SOURCE / "docs/reference"
    known = {reference.group_of(name) for name in reference.public_names()}
    listed = []
    for slug, title, _ in reference.GROUPS:
        if slug in known:
            write(place / f"{slug}.md", reference.page(slug, title))
            listed.append(slug)
    for name in reference.modules():
        write(place / f"module_{name}.md", reference.module_page(name))
    names = sorted(ppl.FAMILIES) if not quick else ["Normal", "NegativeBinomial", "Dirichlet"]
    for name in names:
        write(place / "families" / f"{name}.md", family_page(name, place / "families/pictures"))
    rows = [f"| [{n}](families/{n}.md) | {families_line(n)} |" for n in names]
    write(
        place / "families.md",
        "\n".join(
            [
                "# Families of distributions",
                "",
                "| family | what it is |",
                "|---|---|",
                *rows,
                "",
                tree([f"families/{n}" for n in names]),
            ]
        ),
    )
    write(place / "modules.md", "# Modules\n\n" + tree([f"module_{name}" for name in reference.modules()]))
    write(
        place / "index.md",
        "# Reference\n\nEvery public name, from the docstrings and registries of the package.\n\n"
        + tree([*listed, "families", "modules"], depth=2),
    )


@functools.cache
def of_this_tree() -> Path:
    """Where pages of families are kept as long as neither the package nor the programs of the site change."""
    files = sorted([*(ROOT / "ppl").rglob("*.py"), *Path(__file__).parent.glob("*.py")])
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]
    kept = BUILD / "families"
    for other in kept.glob("*") if kept.is_dir() else ():
        if other.name != digest:
            shutil.rmtree(other)
    return kept / digest


def family_page(name: str, pictures: Path) -> str:
    """The page of a family with its picture: made once, since its example runs and its picture takes seconds."""
    page, picture = of_this_tree() / f"{name}.md", of_this_tree() / f"{name}.svg"
    if not page.is_file():
        page.parent.mkdir(parents=True, exist_ok=True)
        text = families.page(name, page.parent)
        page.write_text(text, encoding="utf-8")
    pictures.mkdir(parents=True, exist_ok=True)
    if picture.is_file():
        shutil.copyfile(picture, pictures / picture.name)
    return page.read_text(encoding="utf-8")


def families_line(name: str) -> str:
    doc = " ".join((ppl.FAMILIES[name].__doc__ or "").strip().partition("\n\n")[0].split())
    return reference.cell(doc)


def main(words: list[str]) -> int:
    start = time.monotonic()
    shutil.rmtree(SOURCE, ignore_errors=True)
    faults = [fault for page in pages() for fault in broken_links(ROOT, page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    copy_pages()
    contents()
    generated("--quick" in words)
    print(f"{len(list(SOURCE.rglob('*.md')))} pages written in {time.monotonic() - start:.0f} s", flush=True)
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        sys.exit("the site needs Sphinx: install the extra `docs`, or run `python3 dev.py docs`")
    options = [
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        str(Path(__file__).parent),
        "-d",
        str(BUILD / "doctrees"),
    ]
    failed = build_main([*options, str(SOURCE), str(HTML)])
    said = "NOT built" if failed else "built"
    print(f"{said}: docs/build/html/index.html, {time.monotonic() - start:.0f} s, {len(faults)} broken links")
    return 1 if failed or faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
