"""Write docs/glossary.md from the table of the words in which plans are told."""

from pathlib import Path

from ppl.rewrites.marginalization.words import OTHERS, RULES

PAGE = Path(__file__).parent / "glossary.md"
HEAD = """# Glossary

The words that `pm.explain(model)` uses, with their meaning and where to read about them. This page is written by
`python docs/generate_glossary.py`.

## What a step of a plan is called

| rule | what it means | reference |
|---|---|---|
"""
MIDDLE = """
## Other words

| word | what it means | reference |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    rows = lambda words: "".join(f"| {w.term} | {w.meaning} | {w.reference} |\n" for w in words)
    return HEAD + rows(RULES) + MIDDLE + rows(sorted(OTHERS, key=lambda w: w.term.lower()))


if __name__ == "__main__":
    PAGE.write_text(page())
