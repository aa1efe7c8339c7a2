r"""Measures: the laws of random expressions, worked out from the operations between draws and the expression.

Vocabulary. The *sources* of an expression are all draws it is computed from, parameters of draws included. A
*measure* is what is known of its law: log-density, distribution function, quantile. `MEASURES` holds one rule for
each operation, from the node to its measure; a rule asks for the measures of the inputs, so compositions follow.

A draw may be consumed once only: `x + x`, or a sum and a maximum of the same draw, are dependent, and no rule
multiplies densities of dependent things. What has no rule raises `NoDensityError`, which says why and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.distributions.formulas.bounds import log_difference
from ppl.distributions.formulas.quantile import Number, quantile, upper_quantile
from ppl.graph import Node
from ppl.graph.records import record
from ppl.tensor.tensor import Tensor, as_tensor

Function = Callable[[Any], Tensor]


class NoDensityError(NotImplementedError):
    """A random expression has no density that follows from those of its parts."""


@record
class Measure:
    """What is known of the law of `node`; `ndim` is how many of the last axes of a value its density joins."""

    node: Tensor
    logp: Function
    logcdf: Function | None = None
    logccdf: Function | None = None
    icdf: Function | None = None
    ndim: int = 0
    discrete: bool = False
    positive: bool = False  # no values below zero
    independent: bool = True  # the entries are independent of each other

    def below(self, x: Any) -> Tensor:
        """log P(X ≤ x)."""
        if self.logcdf is None:
            raise NoDensityError(f"{shown(self.node)} has no distribution function in closed form (logcdf)")
        return self.logcdf(x)

    def above(self, x: Any) -> Tensor:
        """log P(X > x)."""
        return tt.log1mexp(tt.minimum(self.below(x), 0.0)) if self.logccdf is None else self.logccdf(x)

    def before(self, x: Any) -> Any:
        """The largest value under x for counts; x itself for continuous laws."""
        return tt.ceil(as_tensor(x)) - 1 if self.discrete else x

    def strictly_below(self, x: Any) -> Tensor:
        """log P(X < x)."""
        return self.below(self.before(x))

    def at_least(self, x: Any) -> Tensor:
        """log P(X ≥ x)."""
        return self.above(self.before(x))

    def between(self, a: Any, b: Any) -> Tensor:
        """log P(a < X ≤ b), from the tail in which both ends are small."""
        low, high = self.below(a), self.below(b)
        left = log_difference(high, low)
        if self.logccdf is None:
            return left
        return tt.switch(low > np.log(0.5), log_difference(self.logccdf(a), self.logccdf(b)), left)

    @property
    def has_quantile(self) -> bool:
        """Whether quantiles can be had: by a formula, or by a search among floats, or among whole numbers."""
        sought = self.logcdf is not None and not self.ndim and (self.node.dtype[0] != "f" or not self.discrete)
        return sought or self.icdf is not None

    def quantile(self, q: Any) -> Tensor:
        """The smallest x with P(X ≤ x) ≥ q."""
        return self.icdf(q) if self.icdf is not None else quantile(self.number(), q)

    def upper_quantile(self, q: Any) -> Tensor:
        """The largest x with P(X ≥ x) ≥ q."""
        return upper_quantile(self.number(), q)

    def number(self) -> Number:
        if not self.has_quantile:
            raise NoDensityError(
                f"{shown(self.node)} has no quantile (icdf), and no distribution function to find it in"
            )
        known = self.logcdf is not None
        ends = 0 if self.positive else None, None
        return Number(self.below if known else None, self.above if known else None, self.icdf, ends, self.discrete)


MEASURES: dict[str, Callable[[Tensor], Measure]] = {}  # by the name of the operation


def measures(*names: str) -> Callable[[Callable[[Tensor], Measure]], Callable[[Tensor], Measure]]:
    """Enter a rule for operations, given by their names."""

    def decorate(rule: Callable[[Tensor], Measure]) -> Callable[[Tensor], Measure]:
        for name in names:
            MEASURES[name] = rule
        return rule

    return decorate


def measure(node: Tensor) -> Measure:
    """The law of a random expression."""
    if isinstance(node, RandomVariable):
        return measure_of_draw(node)
    if not sources(node):
        return point_mass(node)
    rule = MEASURES.get(node.op.name)
    if rule is None:
        raise NoDensityError(
            f"No density for {shown(node)}: no rule leads through the operation {node.op.name!r}. Write the model with "
            "the distribution of the result, or mark the result as a Deterministic."
        )
    return rule(node)


def measure_of_draw(rv: RandomVariable) -> Measure:
    family, parameters = rv.family, rv.parameters
    domain = family.support_for(parameters)
    lower = domain.lower
    return Measure(
        rv,
        lambda x: family.log_density(x, *parameters),
        (lambda x: family.log_cdf(x, *parameters)) if family.logcdf else None,
        (lambda x: family.log_ccdf(x, *parameters)) if family.logccdf else None,
        (lambda q: family.inverse_cdf(q, *parameters)) if family.has_quantile(parameters) else None,
        ndim=domain.ndim,
        discrete=domain.discrete,
        positive=isinstance(lower, int | float) and lower >= 0,
    )


def point_mass(c: Tensor) -> Measure:
    """The law of something that is not random."""
    return Measure(
        c,
        lambda x: tt.switch(tt.equal(x, c), 0.0, -np.inf),
        lambda x: tt.switch(as_tensor(x) >= c, 0.0, -np.inf),
        lambda x: tt.switch(as_tensor(x) >= c, -np.inf, 0.0),
        lambda q: c + 0 * q,
        discrete=True,
    )


# --- dependence
def sources(
    nodes: Node | Iterable[Node], laws_of: Callable[[Node], tuple[RandomVariable, ...]] = laws_of
) -> set[RandomVariable]:
    """All draws that nodes are computed from; draws that stand for their laws only are not among them."""
    stack = [nodes] if isinstance(nodes, Node) else list(nodes)
    seen: set[Node] = set()
    found: set[RandomVariable] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if is_draw(node):
            found.add(node)  # type: ignore[arg-type]
        laws = set(laws_of(node))
        stack.extend(parent for parent in node.inputs if parent not in laws)
        for law in laws:
            stack.extend(_law_inputs(law, laws_of))
    return found


def _law_inputs(law: RandomVariable, laws_of: Callable[[Node], tuple[RandomVariable, ...]]) -> list[Node]:
    """The inputs of a law that are values: its own laws are looked through."""
    inner = set(laws_of(law))
    values = [parent for parent in law.inputs if parent not in inner]
    return values + [value for each in inner for value in _law_inputs(each, laws_of)]


def random_inputs(node: Tensor) -> list[int]:
    """The positions of the inputs that depend on draws."""
    return [i for i, parent in enumerate(node.inputs) if sources(parent)]


def only_random_input(node: Tensor) -> int:
    """The position of the one random input; an error where there are several."""
    positions = random_inputs(node)
    if len(positions) == 1:
        return positions[0]
    first, second = (node.inputs[p] for p in positions[:2])
    if first is second:
        raise NoDensityError(
            f"No density for {shown(node)}: {shown(first)} is used twice, so the operands are one and the same number. "
            "Write the result as a function of one operand, such as 2 * x for x + x."
        )
    common = sources(first) & sources(second)
    if common:
        raise dependent(node, first, second, common)
    raise NoDensityError(
        f"No density for {shown(node)}: {shown(first)} and {shown(second)} are both random, and the law of "
        "the result has "
        "no rule here. Give one of them a value first, or write the distribution of the result."
    )


def dependent(node: Any, first: Node, second: Node, common: Iterable[Node]) -> NoDensityError:
    names = " and ".join(sorted(shown(each) for each in common))
    what = f"No density for {shown(node)}" if isinstance(node, Node) else str(node)
    return NoDensityError(
        f"{what}: {shown(first)} and {shown(second)} are dependent (both use {names}), so their densities do not "
        f"multiply. Condition on {names} by giving it a value, or mark one result as a Deterministic."
    )


def require_disjoint(node: Any, parts: Iterable[Node]) -> None:
    """Refuse parts that share a draw, also where one part is there twice."""
    owner: dict[Node, Node] = {}
    for part in parts:
        drawn = sources(part)
        for each in drawn & owner.keys():
            raise dependent(node, owner[each], part, [each])
        owner.update(dict.fromkeys(drawn, part))


def require_same_shape(node: Tensor, parent: Node) -> None:
    """Refuse an operation that repeats the entries of its random input by broadcasting."""
    inner, outer = parent.type.shape, node.type.shape
    padded = (1,) * (len(outer) - len(inner)) + tuple(inner)
    if any(a == 1 and b != 1 for a, b in zip(padded, outer, strict=True)):
        raise NoDensityError(
            f"No density for {shown(node)} of shape {outer}: entries of {shown(parent)} of shape {inner} are "
            "repeated by "
            "broadcasting, so entries of the result are not independent. Give the draw the full shape."
        )


def shown(node: Node) -> str:
    """How an error calls a node."""
    name = getattr(node, "name", None)
    if name:
        return repr(name)
    if isinstance(node, RandomVariable):
        return f"{node.family.__name__} draw"
    if not node.inputs:
        return repr(node)
    operands = ", ".join(_brief(parent) for parent in node.inputs)
    return f"{node.op.name}({operands})"


def _brief(node: Node) -> str:
    name = getattr(node, "name", None)
    if name:
        return repr(name)
    if isinstance(node, RandomVariable):
        return f"{node.family.__name__} draw"
    return repr(node) if not node.inputs else f"{node.op.name}(...)"


def known_shape(node: Node) -> tuple[int, ...]:
    """The shape, which must be known."""
    shape = node.type.shape
    if None in shape:
        raise NoDensityError(
            f"No density for an operation on {shown(node)}: its shape {shape} must be known. Give a shape."
        )
    return shape


def whole_sum(terms: Tensor, axes: int) -> Tensor:
    """The sum over the last axes."""
    return tt.sum(terms, axis=tuple(range(-axes, 0))) if axes else terms
