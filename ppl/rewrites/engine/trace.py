"""What was rewritten: which rule, where, what stood there before, and what stands there now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ppl.graph import Node, ancestors
from ppl.rewrites.engine.text import text


class Step(NamedTuple):
    """One application of a rule; `where` is the part of the expression as given that was being rewritten."""

    rule: str
    before: Node
    after: Node
    where: Node

    def __str__(self) -> str:
        before, where = text(self.before), text(self.where)
        place = "" if where == before else f"  in {where}"
        return f"{self.rule}: {before}  →  {text(self.after)}{place}"


class Trace:
    """The steps of one rewriting in their order, the expression before and what it became; prints as text."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.before: Node | None = None
        self.after: Node | None = None

    @property
    def nodes_before(self) -> int:
        return 0 if self.before is None else len(ancestors(self.before))

    @property
    def nodes(self) -> int:
        return 0 if self.after is None else len(ancestors(self.after))

    def add(self, rule: str, before: Node, after: Node, where: Node) -> None:
        self.steps.append(Step(rule, before, after, where))

    @property
    def rules(self) -> list[str]:
        """The names of the rules that were applied, each once, in order."""
        return list(dict.fromkeys(step.rule for step in self.steps))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        lines = [f"  {step}" for step in self.steps] or ["  nothing to rewrite"]
        if self.before is None or self.after is None:
            return "\n".join(line[2:] for line in lines)
        head = f"{text(self.before)}  →  {text(self.after)}  ({self.nodes_before} nodes, then {self.nodes})"
        return "\n".join([head, *lines])

    __repr__ = __str__
