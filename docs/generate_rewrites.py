"""Write docs/rewrites.md: the rules as theorems, and the checklist with what each row becomes."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from checklist_rewrites import CHECKLIST, HOLES, Item  # noqa: E402

from ppl.rewrites import everything, text  # noqa: E402
from ppl.rewrites.rule import Safety  # noqa: E402

PAGE = ROOT / "docs" / "rewrites.md"
INTRODUCTION = """# Rewriting

`ppl.simplify(expression)` gives the simplest form of an expression, `ppl.explain(expression)` the steps that led to it;
every compiled function goes through the same rules. A rule is an equation; what it needs to be known of its operands is
proved from constants, from supports and from `ppl.assume(x, positive=True)`, or the rule does not apply.

This page is written by `python docs/generate_rewrites.py`.
"""


def checklist() -> list[str]:
    """The forty rewrites most worth having; each row is a case of tests/test_rewrites_checklist.py."""
    return ["## The checklist", "", *_table(CHECKLIST, "test_row")]


def holes() -> list[str]:
    """What other systems leave as it is; each row is a case of the same test."""
    return ["## What PyTensor 2.38 leaves as it is", "", *_table(HOLES, "test_hole")]


def _table(items: list[Item], test: str) -> list[str]:
    lines = ["| | rewrite | before → after | | tests |", "|---|---|---|---|---|"]
    for item in items:
        forms = "<br>".join(f"`{_cell(text(before))}` → `{_cell(after)}`" for before, after in item.forms)
        by = [f"{test}[{item.number}]"] if item.forms else []
        ticked = "✓" if by or item.tests else ""
        tests = ", ".join([*by, *item.tests])
        lines.append(f"| {item.number} {ticked} | {_cell(item.title)} | {forms} | {_cell(item.note)} | {tests} |")
    return lines


def rules() -> list[str]:
    """Every rule as its theorem; all are checked by tests/laws/test_rules.py."""
    lines = ["## The rules", ""]
    for safety in Safety:
        chosen = [rule for rule in everything if rule.safety is safety]
        lines += [f"### {safety.name.replace('_', ' ')}: {safety.value}", "", "| rule | theorem |", "|---|---|"]
        lines += [f"| {rule.name} | {_cell(rule.doc)} |" for rule in chosen] + [""]
    return lines


def _cell(line: str) -> str:
    return line.replace("|", "∣")


def page() -> str:
    return "\n".join([INTRODUCTION, *checklist(), "", *holes(), "", *rules()]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
