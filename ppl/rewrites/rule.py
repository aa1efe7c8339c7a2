"""Rules. One is an equation, `return left, right` over its parameters, the holes:

    @equal(a=positive)
    def log_of_product(a, b):
        "The logarithm of a product is the sum of the logarithms."
        return log(a * b), log(a) + log(b)

The keywords of `equal` are the conditions: what must be proved of what a hole stands for. Where an equation needs more
than holes (axes, indices, any number of operands) the rule is a function from a node to its replacement, or None:

    @rewrites(log, example=lambda x: log(x**3))
    def log_of_power(node, engine): ...
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ppl.graph import Node, Op
from ppl.rewrites.facts import Condition
from ppl.rewrites.measure import decreases
from ppl.rewrites.pattern import BOOL, FLOAT, MATRIX, hole, holes_of
from ppl.tensor.tensor import Tensor, TensorType, as_tensor

if TYPE_CHECKING:
    from ppl.rewrites.engine import Engine


class Safety(enum.Enum):
    """How far the two sides of a rule may differ."""

    exact = "bit for bit the same value"
    rounding = "the same real number, rounded differently; overflow, and nan at infinity, may become a number"
    domain = "equal where its conditions are proved"
    nan_unsafe = "a nan may become a number; off unless asked for"


KINDS: dict[str, TensorType] = {"scalar": FLOAT, "bool": BOOL, "matrix": MATRIX}


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
                "its operations other weights in ppl/rewrites/measure.py."
            )

    def with_conditions(self, conditions: dict[str, Condition]) -> Equation:
        """The same equation under other conditions."""
        return Equation(self.name, self.doc, self.safety, self.holes, (self.left, self.right), conditions)

    def examples(self) -> list[Example]:
        return [Example(self.left, self.holes, self.conditions)]


Rewrite = Callable[[Node, "Engine"], Node | None]


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
    ) -> None:
        super().__init__(name, doc, safety)
        self.ops, self.rewrite, self._examples = tuple(ops), rewrite, examples
        self.one_of = frozenset(one_of)

    def examples(self) -> list[Example]:
        return self._examples()


def _example(expression: Callable[..., Any], kinds: dict[str, TensorType], conditions: dict[str, Condition]) -> Example:
    holes = {name: hole(name, kinds[name]) for name in inspect.signature(expression).parameters}
    return Example(as_tensor(expression(**holes)), holes, {k: v for k, v in conditions.items() if k in holes})


def _conditions(name: str, holes: Mapping[str, Any], given: dict[str, Any]) -> dict[str, Condition]:
    for key, condition in given.items():
        if key not in holes:
            raise RuleError(f"rule {name!r}: a condition on {key!r}, but its parameters are {', '.join(holes)}")
        if not isinstance(condition, Condition):
            raise RuleError(
                f"rule {name!r}: {condition!r} on {key!r} is no known fact; those of ppl.rewrites.facts are, such as "
                "positive"
            )
    return given


def _holes(f: Callable[..., Any], kinds: dict[str, str]) -> dict[str, Tensor]:
    return {name: hole(name, KINDS[kinds.get(name, "scalar")]) for name in inspect.signature(f).parameters}


def equal(
    function: Callable[..., Any] | None = None,
    *,
    safety: Safety | None = None,
    bools: Sequence[str] = (),
    matrices: Sequence[str] = (),
    **conditions: Any,
) -> Any:
    """Make a rule of a function that returns the two sides of an equation over its parameters.

    >>> from ppl.tensor import exp, log
    >>> @equal
    ... def log_of_exp(x):
    ...     "The logarithm undoes the exponential."
    ...     return log(exp(x)), x
    >>> log_of_exp.name
    'log_of_exp'
    """

    def make(f: Callable[..., Any]) -> Equation:
        name = f.__name__
        holes = _holes(f, {**dict.fromkeys(bools, "bool"), **dict.fromkeys(matrices, "matrix")})
        found = _conditions(name, holes, conditions)
        left, right = f(**holes)
        kind = safety or (Safety.domain if found else Safety.rounding)
        return Equation(name, f.__doc__ or "", kind, holes, (as_tensor(left), as_tensor(right)), found)

    return make if function is None else make(function)


def rewrites(
    *ops: Op,
    example: Callable[..., Any],
    safety: Safety = Safety.rounding,
    more: Sequence[Callable[..., Any]] = (),
    bools: Sequence[str] = (),
    types: dict[str, TensorType] | None = None,
    saves_work: bool = False,
    one_of: Collection[Op] = (),
    **conditions: Any,
) -> Callable[[Rewrite], Procedure]:
    """Make a rule of a function from a node (and the engine) to its replacement, or None where it does not apply.

    `example` and `more` are expressions that the rule rewrites, given facts of their parameters; `types` says which of
    these are no scalars. With `saves_work` the rule answers for less work, not for a smaller expression. `one_of` are
    operations: where none is among the inputs of a node, the function is not called.
    """

    def make(f: Rewrite) -> Procedure:
        name = f.__name__
        shown = (example, *more)
        parameters = {n: FLOAT for each in shown for n in inspect.signature(each).parameters}
        kinds = {**parameters, **dict.fromkeys(bools, BOOL), **(types or {})}
        found = _conditions(name, kinds, conditions)
        rule = Procedure(
            name, f.__doc__ or "", safety, ops, f, lambda: [_example(e, kinds, found) for e in shown], one_of
        )
        rule.saves_work = saves_work
        return rule

    return make
