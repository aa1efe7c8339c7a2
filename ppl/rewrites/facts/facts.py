"""Facts about values, and the conditions that rules state over them.

A fact is an interval with some further marks, and means: the value, unless it is nan, lies there. `finite` alone says
that it is a real number, neither nan nor infinite; it is meant mathematically, so exp of a finite number is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.graph.node import Op
from ppl.graph.registry import Codec, enter_codec
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import Tensor, as_tensor

INF = float("inf")


@dataclass(frozen=True, slots=True)
class Fact:
    """The interval from `low` to `high`; an end is left out where `above` or `below` is set."""

    low: float = -INF
    high: float = INF
    above: bool = False
    below: bool = False
    finite: bool = False
    integer: bool = False
    marks: frozenset[str] = frozenset()

    def meet(self, other: Fact) -> Fact:
        """Both facts at once."""
        low, above = max((self.low, self.above), (other.low, other.above))
        high, below = min((self.high, not self.below), (other.high, not other.below))
        return Fact(
            low, high, above, not below, self.finite or other.finite, self.integer or other.integer,
            self.marks | other.marks,
        )  # fmt: skip

    def join(self, other: Fact) -> Fact:
        """What holds if either fact does."""
        low, above = min((self.low, self.above), (other.low, other.above))
        high, not_below = max((self.high, not self.below), (other.high, not other.below))
        return Fact(
            low, high, above, not not_below, self.finite and other.finite, self.integer and other.integer,
            self.marks & other.marks,
        )  # fmt: skip

    def but(self, **changes: Any) -> Fact:
        return replace(self, **changes)


ANYTHING = Fact()


@dataclass(frozen=True, eq=False)
class Condition:
    """Something a rule asks of a hole: what it means as a fact, and numbers that have it and that do not, for tests."""

    name: str
    fact: Fact
    holds: Callable[[Fact], bool]
    members: tuple[float, ...] = ()
    outsiders: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return self.name


CONDITIONS: dict[str, Condition] = {}


def _condition(
    name: str,
    fact: Fact,
    holds: Callable[[Fact], bool],
    members: tuple[float, ...] = (),
    outsiders: tuple[float, ...] = (),
) -> Condition:
    CONDITIONS[name] = found = Condition(name, fact, holds, members, outsiders)
    return found


positive = _condition(
    "positive",
    Fact(low=0.0, above=True),
    lambda f: f.low > 0 or (f.low == 0 and f.above),
    (0.3, 1.0, 2.7),
    (-0.4, -1.3),
)
nonnegative = _condition("nonnegative", Fact(low=0.0), lambda f: f.low >= 0, (0.0, 0.4, 2.2), (-0.7, -1.0))
negative = _condition(
    "negative", Fact(high=0.0, below=True), lambda f: f.high < 0 or (f.high == 0 and f.below), (-0.2, -1.4), (0.5, 1.2)
)
nonpositive = _condition("nonpositive", Fact(high=0.0), lambda f: f.high <= 0, (0.0, -0.6, -2.0), (0.8, 3.0))
nonzero = _condition(
    "nonzero", Fact(marks=frozenset(["nonzero"])),
    lambda f: positive.holds(f) or negative.holds(f) or "nonzero" in f.marks, (0.9, -1.1, 2.0), (0.0,),
)  # fmt: skip
finite = _condition("finite", Fact(finite=True), lambda f: f.finite, (0.5, -1.5, 0.0), (INF, float("nan")))
integer = _condition("integer", Fact(integer=True), lambda f: f.integer, (0.0, 1.0, -2.0), (0.5, 1.7))
probability = _condition(
    "probability", Fact(low=0.0, high=1.0), lambda f: f.low >= 0 and f.high <= 1, (0.0, 0.3, 0.8, 1.0), (-0.5, 1.5)
)
at_most_one = _condition("at_most_one", Fact(high=1.0), lambda f: f.high <= 1, (0.6, 0.99, -0.5), (1.6, 3.0))
at_least_one = _condition("at_least_one", Fact(low=1.0), lambda f: f.low >= 1, (1.2, 3.0), (-2.0, 0.2))
within_one = _condition(
    "within_one", Fact(low=-1.0, high=1.0), lambda f: f.low >= -1 and f.high <= 1, (0.3, -0.8), (2.0,)
)
above_minus_one = _condition(
    "above_minus_one", Fact(low=-1.0, above=True), lambda f: f.low > -1 or (f.low == -1 and f.above),
    (-0.5, 2.0), (-1.5,),
)  # fmt: skip


at_least_minus_one = _condition("at_least_minus_one", Fact(low=-1.0), lambda f: f.low >= -1, (-1.0, 0.5), (-1.5, -3.0))


def _marked(name: str) -> Condition:
    return _condition(name, Fact(marks=frozenset([name])), lambda f: name in f.marks)


simplex = _marked("simplex")
symmetric = _marked("symmetric")
positive_definite = _marked("positive_definite")
lower_triangular = _marked("lower_triangular")
upper_triangular = _marked("upper_triangular")
diagonal = _marked("diagonal")
orthogonal = _marked("orthogonal")
unit_diagonal = _marked("unit_diagonal")


def both(*conditions: Condition) -> Condition:
    """All of several conditions at once."""
    fact = ANYTHING
    for each in conditions:
        fact = fact.meet(each.fact)
    members = tuple(v for v in conditions[0].members if all(_admits(c.fact, v) for c in conditions))
    return Condition(
        " and ".join(c.name for c in conditions),
        fact,
        lambda f: all(c.holds(f) for c in conditions),
        members,
        conditions[0].outsiders,
    )


def _admits(fact: Fact, value: float) -> bool:
    inside = fact.low <= value <= fact.high
    ends = (value == fact.low and fact.above) or (value == fact.high and fact.below)
    return (
        inside and not ends and not (value == 0 and "nonzero" in fact.marks) and (np.isfinite(value) or not fact.finite)
    )


def fact_of(assumptions: dict[str, bool], who: str) -> Fact:
    """Assumptions given by name as one fact; an unknown name is an error. What is said to lie somewhere is a number."""
    found = ANYTHING
    for name, wanted in assumptions.items():
        if name not in CONDITIONS:
            raise ValueError(f"{who}: no fact is called {name!r}; there are {', '.join(CONDITIONS)}")
        if wanted is not True:
            raise ValueError(f"{who}: {name} can only be assumed to be True, got {wanted!r}; leave it out")
        found = found.meet(promised(CONDITIONS[name]))
    return found


def promised(condition: Condition) -> Fact:
    """A condition as a promise about a value: what lies somewhere is a number."""
    fact = condition.fact
    somewhere = fact.low > -INF or fact.high < INF or fact.integer or "nonzero" in fact.marks
    return fact.but(finite=fact.finite or somewhere)


class _Assume(TensorOp):
    """The same value, of which the user promises something.

    >>> x = ppl.tensor.dscalar("x")
    >>> print(ppl.pprint(ppl.simplify(ppl.tensor.log(x**2))))
    2 * log(abs(x))
    >>> print(ppl.pprint(ppl.simplify(ppl.tensor.log(ppl.assume(x, positive=True) ** 2))))
    2 * log(x)
    """

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type

    def __call__(self, x: Any, **assumptions: bool) -> Tensor:
        if not assumptions:
            raise ValueError(
                f"assume: say what is assumed, as assume(x, positive=True); there are {', '.join(CONDITIONS)}"
            )
        return self.build((as_tensor(x),), {"fact": fact_of(assumptions, "assume")})


ASSUME = assume = _Assume("assume", lambda x, fact: x)


def _fact_parts(fact: Fact) -> tuple[Any, ...]:
    return fact.low, fact.high, fact.above, fact.below, fact.finite, fact.integer, tuple(sorted(fact.marks))


def _fact(parts: tuple[Any, ...]) -> Fact:
    low, high, *flags, marks = parts
    above, below, finite, integer = map(bool, flags)
    return Fact(float(low), float(high), above, below, finite, integer, frozenset(map(str, marks)))


enter_codec(Codec("fact", Fact, _fact_parts, _fact))

Inference = Callable[[Node, list[Fact]], Fact]
INFERENCES: dict[Op, Inference] = {}


def declare_facts(op: Op, infer: Inference) -> None:
    """Say what is known of the results of an operation, given the node and the facts of its inputs.

    Distributions declare the support of their draws here, and models that of the values of their variables.
    """
    if op in INFERENCES:
        raise ValueError(f"declare_facts: the facts of {op!r} are declared already, once is enough")
    INFERENCES[op] = infer


class Knowledge:
    """The facts of nodes during one rewriting: what was assumed, and what follows."""

    def __init__(self) -> None:
        self._facts: dict[Node, Fact] = {}
        self._assumed: dict[Node, Fact] = {}

    def assume(self, node: Node, fact: Fact) -> None:
        """Add what is known of a node from outside."""
        self._assumed[node] = self._assumed.get(node, ANYTHING).meet(fact)
        if node in self._facts:
            self._facts[node] = self._facts[node].meet(fact)

    def __call__(self, node: Node) -> Fact:
        known = self._facts.get(node)
        if known is not None:
            return known
        stack = [node]
        while stack:
            top = stack[-1]
            if top in self._facts:
                stack.pop()
                continue
            missing = [x for x in top.inputs if x not in self._facts]
            if missing:
                stack.extend(missing)
                continue
            fact = _inferred(top, [self._facts[x] for x in top.inputs])
            assumed = self._assumed.get(top)
            self._facts[top] = fact if assumed is None else fact.meet(assumed)
        return self._facts[node]

    def all(self, condition: Condition, nodes: Iterable[Node]) -> bool:
        """Whether all nodes meet the condition."""
        return all(condition.holds(self(node)) for node in nodes)


def _inferred(node: Node, facts: list[Fact]) -> Fact:
    infer = INFERENCES.get(node.op)
    fact = infer(node, facts) if infer is not None else _by_declaration(node, facts)
    dtype = getattr(node.type, "dtype", "")
    if dtype == "bool":
        return fact.meet(Fact(0.0, 1.0, finite=True, integer=True))
    if dtype[:1] in ("i", "u"):
        return fact.meet(Fact(low=0.0 if dtype[0] == "u" else -INF, finite=True, integer=True))
    return fact


def _by_declaration(node: Node, facts: list[Fact]) -> Fact:
    declared = getattr(node.op, "facts", None)
    if declared is None or declared.range is None:
        return ANYTHING
    return Fact(*declared.range)
