"""Docstrings as Markdown: paragraphs, formulas, blocks of code, and the sections of NumPy's style."""

from __future__ import annotations

import re
from textwrap import dedent, indent

SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Warns", "Examples", "See Also", "Notes", "References")
WITH_ENTRIES = ("Parameters", "Returns", "Yields", "Raises", "Warns")
HEADING = re.compile(rf"^({'|'.join(SECTIONS)})\n-{{3,}}\n", re.MULTILINE)


def sections(doc: str) -> dict[str, str]:
    """The parts of a docstring by their headings; what stands before the first is under ""."""
    parts = HEADING.split(doc)
    return {
        "": parts[0].strip(),
        **{name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)},
    }


def entries(section: str) -> list[tuple[str, str, str]]:
    """The entries of a section as names, type and description."""
    found = []
    for head, body in re.findall(r"^(\S[^\n]*)\n?((?:(?:[ \t]+[^\n]*)?(?:\n|$))*)", section, re.MULTILINE):
        names, _, kind = head.partition(" : ")
        found.append((names.strip(), kind.strip(), dedent(body).strip()))
    return found


def documented_parameters(doc: str) -> list[str]:
    """The names under Parameters, without their stars."""
    listed = entries(sections(doc).get("Parameters", ""))
    return [name.strip().lstrip("*") for names, _, _ in listed for name in names.split(",")]


def examples(doc: str) -> list[str]:
    """The lines of a docstring that begin an example."""
    return re.findall(r"^\s*>>> .*$", doc, re.MULTILINE)


def markdown(doc: str) -> str:
    """A whole docstring as Markdown, each section under a bold heading."""
    parts = sections(doc)
    text = [blocks(parts.pop(""))]
    for name, body in parts.items():
        text.append(f"**{name}**")
        text.append("\n\n".join(map(_entry, entries(body))) if name in WITH_ENTRIES else blocks(dedent(body)))
    return "\n\n".join(part for part in text if part)


def _entry(entry: tuple[str, str, str]) -> str:
    names, kind, description = entry
    head = ", ".join(f"`{name.strip()}`" for name in names.split(","))
    body = indent(blocks(description) or "—", "  ").lstrip()
    return f"{head}{f' : {kind}' if kind else ''}\n: {body}"


def blocks(text: str) -> str:
    """Running text, with its formulas and its code in fences."""
    lines, out = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        if line.startswith(".. math::"):
            formula = [line.removeprefix(".. math::").strip(), *map(str.strip, _indented(lines))]
            out += ["", "```{math}", *[f for f in formula if f], "```", ""]
        elif line.startswith(">>> "):
            code = [line]
            while lines and lines[0].strip():
                code.append(lines.pop(0))
            out += ["", "```pycon", *code, "```", ""]
        elif line.endswith("::") and lines:
            out += [line[:-1], "", "```python", *dedent("\n".join(_indented(lines))).strip("\n").split("\n"), "```", ""]
        elif line.startswith("    ") and (not out or not out[-1].strip()):
            lines.insert(0, line)
            out += ["```text", *dedent("\n".join(_indented(lines))).strip("\n").split("\n"), "```", ""]
        else:
            out.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def _indented(lines: list[str]) -> list[str]:
    """The indented lines that follow, taken from the list."""
    taken = []
    while lines and (not lines[0].strip() or lines[0].startswith("    ")):
        taken.append(lines.pop(0))
    return taken
