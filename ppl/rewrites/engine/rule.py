"""What a rule is: an equation, or a function from a node to its replacement; how safe it is, and where it applies."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ppl.graph import Node
from ppl.graph.node import Op
from ppl.rewrites.engine.measure import decreases
from ppl.rewrites.engine.pattern import holes_of
from ppl.rewrites.facts.facts import Condition
from ppl.tensor.tensor import Tensor


class Safety(enum.Enum):
    """How far the two sides of a rule may differ."""

    exact = "bit for bit the same value"
    rounding = "the same real number, rounded differently; overflow, and nan at infinity, may become a number"
    domain = "equal where its conditions are proved"
    nan_unsafe = "a nan may become a number; off unless asked for"


class RuleError(ValueError):
    """A rule that cannot be registered, or that failed."""


class Rule:
    """A named rewriting of one operation at the root of an expression.

    It decreases the measure of expressions (measure.py) or, with `saves_work`, the work of computing them (work.py).
    """

    saves_work = False

    def __init__(self, name: str, doc: str, safety: Safety) -> None:
        if not doc:
            raise RuleError(f"rule {name!r} has no docstring: say the theorem in one sentence")
        self.name, self.doc, self.safety = name, " ".join(doc.split()), safety

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def examples(self) -> list[Example]:
        """Expressions that the rule rewrites."""
        raise NotImplementedError


class Example:
    """An expression over named holes that a rule rewrites, with what must be known of the holes."""

    def __init__(self, expression: Node, holes: dict[str, Tensor], conditions: dict[str, Condition]) -> None:
        self.expression, self.holes, self.conditions = expression, holes, conditions


class Equation(Rule):
    """A rule given by its two sides."""

    def __init__(
        self,
        name: str,
        doc: str,
        safety: Safety,
        holes: dict[str, Tensor],
        sides: tuple[Node, Node],
        conditions: dict[str, Condition],
    ) -> None:
        super().__init__(name, doc, safety)
        self.holes, (self.left, self.right), self.conditions = holes, sides, conditions
        self.variant: Any = None  # as the engine looks for it
        self._check()

    def _check(self) -> None:
        on_left, on_right = set(holes_of(self.left)), set(holes_of(self.right))
        free = [name for name, h in self.holes.items() if h in on_right and h not in on_left]
        if free:
            raise RuleError(
                f"rule {self.name!r}: {', '.join(free)} is on the right but not on the left, so it stands for nothing"
            )
        unused = [name for name, h in self.holes.items() if h not in on_left]
        if unused:
            raise RuleError(f"rule {self.name!r}: the parameter {', '.join(unused)} does not occur in its left side")
        if self.left.type.dtype != self.right.type.dtype:
            raise RuleError(
                f"rule {self.name!r}: its sides have dtypes {self.left.type.dtype} and {self.right.type.dtype}"
            )

    def check_measure(self, left: Node, right: Node) -> None:
        """The rule must make expressions smaller by the measure, or rewriting might not end."""
        if not decreases(left, right):
            raise RuleError(
                f"rule {self.name!r} does not decrease the measure, so rewriting might not end. Turn it round, or give "
                "its operations other weights in ppl/rewrites/engine/measure.py."
            )

    def with_conditions(self, conditions: dict[str, Condition]) -> Equation:
        """The same equation under other conditions."""
        return Equation(self.name, self.doc, self.safety, self.holes, (self.left, self.right), conditions)

    def examples(self) -> list[Example]:
        return [Example(self.left, self.holes, self.conditions)]


Rewrite = Callable[[Node, Any], Node | None]  # of a node and the engine that rewrites it


class Procedure(Rule):
    """A rule given by a function of the node."""

    def __init__(
        self,
        name: str,
        doc: str,
        safety: Safety,
        ops: Sequence[Op],
        rewrite: Rewrite,
        examples: Callable[[], list[Example]],
        one_of: Collection[Op] = (),
        beside: Collection[Op] = (),
    ) -> None:
        super().__init__(name, doc, safety)
        self.ops, self.rewrite, self._examples = tuple(ops), rewrite, examples
        self.one_of, self.beside = frozenset(one_of), frozenset(beside)

    def examples(self) -> list[Example]:
        return self._examples()
