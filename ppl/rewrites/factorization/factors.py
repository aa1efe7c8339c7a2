r"""Parts of a posterior that nothing joins, and which of them are sampled apart.

A log-density is a sum. Variables that meet in a summand belong to one *part*; parts are independent:

.. math:: \log p(x) = \sum_k \log p_k(x_k)

A chain that moves several parts takes the steps of the most difficult one, and does the arithmetic of all for each. So
a part with most of the arithmetic gets a chain of its own. Numbers that depend on nothing else need no chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, prod
from operator import or_
from typing import NamedTuple

import ppl.tensor as tt
from ppl.graph import Node, ancestors, topological
from ppl.rewrites.factorization.independence import by_number
from ppl.rewrites.factorization.partition import Partition
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.costs import arithmetic
from ppl.rewrites.marginalization.expressions.summands import summands
from ppl.tensor.arrays.shaping import specify_shape
from ppl.tensor.tensor import Tensor


class Part(NamedTuple):
    """Some of the values, and the terms whose entries add up to their log-density."""

    values: tuple[Tensor, ...]
    terms: tuple[Tensor, ...]

    @property
    def cost(self) -> float:
        """The arithmetic of one evaluation."""
        return arithmetic([tt.sum(term) for term in self.terms], self.values)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(value.name or "" for value in self.values)


class Division(NamedTuple):
    """How a posterior is drawn from: a part by quadrature, and a chain for each of the others, the dearest last."""

    parts: tuple[Part, ...]  # that nothing joins
    numbers: Part | None
    chains: tuple[Part, ...]  # of one or more of them

    @property
    def whole(self) -> bool:
        """Whether one chain moves everything."""
        return self.numbers is None and len(self.chains) == 1

    @property
    def words(self) -> str:
        """What becomes of the parts, where there are several."""
        if not self.whole:
            return "the posterior factorizes into these parts, each sampled by itself unless NUTS is steered or watched"
        enough = sum(part.cost for part in self.parts) >= LIMITS.much_arithmetic
        why = (
            f"none is {LIMITS.most_of_the_arithmetic:.0%} of the arithmetic"
            if enough
            else "there is little arithmetic to save"
        )
        return f"the posterior factorizes into these parts, but one chain moves them all, since {why}"

    def told(self) -> list[tuple[Part, str]]:
        """The parts that are drawn by themselves, or those that share the only chain, and what is to say of each."""
        shown = self.parts if self.whole else self.chains
        costs = [part.cost for part in shown]
        chain = "" if self.whole else "by a chain" if len(shown) == 1 else "by a chain, with "
        share = lambda cost: f"{cost / max(sum(costs), 1.0):.1%} of the arithmetic" if len(shown) > 1 else ""
        found = [(part, chain + share(cost)) for part, cost in zip(shown, costs, strict=True)]
        return [*found, (self.numbers, "by quadrature")] if self.numbers is not None else found


def divided(terms: Sequence[Tensor], values: Sequence[Tensor]) -> Division:
    """How to draw from a posterior, by counted arithmetic alone: the same model is divided alike on every machine."""
    all_parts = parts(terms, values)
    numbers = [part for part in all_parts if _are_numbers(part)]
    if sum(_count(part) for part in numbers) > LIMITS.numbers_by_quadrature:
        numbers = []
    alone = {part.names for part in numbers}
    others = [part for part in all_parts if part.names not in alone]
    chains = tuple(_chains(others, values))
    return Division(tuple(all_parts), _joined(numbers, values) if numbers else None, chains)


def _chains(left: Sequence[Part], values: Sequence[Tensor]) -> list[Part]:
    """What chains move, the dearest last: a part that is most of what is left has its own, while that is much."""
    costs = {part.names: part.cost for part in left}
    by_cost = sorted(left, key=lambda part: costs[part.names])
    apart: list[Part] = []
    while len(by_cost) > 1:
        total = sum(costs[part.names] for part in by_cost)
        if total < LIMITS.much_arithmetic or costs[by_cost[-1].names] < LIMITS.most_of_the_arithmetic * total:
            break
        apart.insert(0, by_cost.pop())
    return [_joined(by_cost, values), *apart] if by_cost else []


def _joined(some: Sequence[Part], values: Sequence[Tensor]) -> Part:
    """Several parts as one, its values in their order."""
    mine = {value for part in some for value in part.values}
    return Part(tuple(v for v in values if v in mine), tuple(term for part in some for term in part.terms))


# --- numbers
def densities(part: Part) -> Tensor | None:
    """The log-densities of the entries of a part, one after the other, where none depends on another."""
    values = _shaped(part)
    return None if values is None else by_number(part.terms, values)


def _are_numbers(part: Part) -> bool:
    """Whether a part is made of a few numbers that do not depend on each other."""
    return 1 <= _count(part) <= LIMITS.numbers_by_quadrature and densities(part) is not None


def _count(part: Part) -> float:
    """How many numbers its values are; infinitely many where a length is not known."""
    shapes = [value.type.shape for value in _shaped(part) or part.values]
    return inf if any(None in shape for shape in shapes) else sum(map(prod, shapes))  # type: ignore[arg-type]


def _shaped(part: Part) -> list[Tensor] | None:
    """The values of a part, or what gives them lengths that they do not have of themselves; None where one is not
    known."""
    known = {node.inputs[0]: node for node in ancestors(part.terms) if node.op is specify_shape}
    values = [value if None not in value.type.shape else known.get(value, value) for value in part.values]
    raw = set(part.values).difference(values)
    if any(None in value.type.shape for value in values) or raw & ancestors(part.terms, blockers=values):
        return None
    return values  # type: ignore[return-value]


# --- what joins values
def parts(terms: Sequence[Tensor], values: Sequence[Tensor]) -> list[Part]:
    """The parts of a log-density, in the order of their values. What depends on none of them goes to the first.

    >>> from ppl.tensor.tensor import TensorType, placeholder
    >>> x, y, z = (placeholder(TensorType("float64", ()), name) for name in "xyz")
    >>> [part.names for part in parts([-(x**2) - z**2, -(y**2), -tt.exp(x - y)], [x, y, z])]
    [('x', 'y'), ('z',)]
    """
    if len(values) < 2:
        return [Part(tuple(values), tuple(terms))] if values else []
    met = Meetings(terms, values)
    own: dict[Tensor, list[Tensor]] = {value: [] for value in values}
    for term in terms:
        if met.one(term):
            own[met.first(term)].append(term)
            continue
        for x, weight in summands([term], met.values, whole=met.one):
            assert met.one(x), f"{x!r} depends on parts that were taken for independent"
            own[met.first(x)].append(weight * x)
    return [Part(tuple(each), tuple(own[each[0]])) for each in met.sets]


class Meetings:
    """Which values meet in summands of a log-density, over however many others."""

    def __init__(self, terms: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        self.values = frozenset(values)
        self._order = list(values)
        self._reached: dict[Node, int] = {value: 1 << i for i, value in enumerate(values)}  # sets of values, as bits
        joined: Partition[Tensor] = Partition()
        for term in terms:  # one by one: how far one spreads does not depend on others
            for x, _ in summands([term], self.values):
                if met := self._values(x):
                    joined.join(met)
        self.sets = list(joined.sets(values).values())
        self._set = {value: sum(self._reached[v] for v in each) for each in self.sets for value in each}

    def one(self, x: Node) -> bool:
        """Whether an expression depends on values of one set at most."""
        reached = self._reach(x)
        return not reached or not reached & ~self._set[self._order[_lowest(reached)]]

    def first(self, x: Node) -> Tensor:
        """The first value of the set that an expression depends on."""
        return self._order[_lowest(self._set[self._order[_lowest(self._reach(x) or 1)]])]

    def _values(self, x: Node) -> list[Tensor]:
        reached, found = self._reach(x), []
        while reached:
            found.append(self._order[_lowest(reached)])
            reached &= reached - 1
        return found

    def _reach(self, x: Node) -> int:
        if x not in self._reached:
            for node in topological([x], blockers=self._reached):
                if node not in self._reached:
                    self._reached[node] = reduce(or_, (self._reached[i] for i in node.inputs), 0)
        return self._reached[x]


def _lowest(bits: int) -> int:
    """The place of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1
