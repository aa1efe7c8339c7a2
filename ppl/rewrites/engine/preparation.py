"""Rules made ready for the engine: patterns in normal form, also in the form that other rules leave them in.

A rule about log(1 + exp(x)) would be dead once another has made log1p(exp(x)) of it; so each left side is sent through
the rest of its book when the book is first used, and what comes out is looked for as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ppl.graph import Node
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, terms
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine, Entries, Entry, Variant, looked_for_beside
from ppl.rewrites.engine.measure import decreases
from ppl.rewrites.engine.pattern import HOLE, holes_of, operations, operations_below
from ppl.rewrites.engine.rule import Equation, Procedure, Rule, RuleError


def entries(book: Book) -> Entries:
    """The rules of a book as the engine looks them up: by the operation at their root, the more specific first."""
    known = _prepared.get(book.rules)
    if known is None:
        known = _prepared[book.rules] = _arranged(book.rules)
    return known


_prepared: dict[tuple[Rule, ...], Entries] = {}


def _arranged(rules: Iterable[Rule]) -> Entries:
    found: Entries = {}
    plain: list[Variant] = []
    for rule in rules:
        if isinstance(rule, Procedure):
            for op in rule.ops:
                found.setdefault(op, []).append(rule)
        elif isinstance(rule, Equation):
            plain.append(variant_of(rule))
    for variant in plain:
        found.setdefault(variant.left.op, []).append(variant)
    draft = {op: _sorted(rules) for op, rules in found.items()}
    beside = looked_for_beside(draft)
    for variant in plain:
        op = variant.left.op
        others = draft | {op: [e for e in draft[op] if not (isinstance(e, Variant) and e.rule is variant.rule)]}
        left = _normal(variant.rule, variant.rule.left, others, beside)
        kept = set(holes_of(variant.rule.right)) <= set(holes_of(left))
        if (
            left is not variant.left
            and left.inputs
            and kept
            and decreases(left, _normal(variant.rule, variant.right, {}))
        ):
            second = _variant(variant.rule, left)
            found.setdefault(second.left.op, []).append(second)
    return {op: _sorted(rules) for op, rules in found.items()}


def variant_of(rule: Equation) -> Variant:
    """An equation as it is looked for where no other rule has been."""
    if rule.variant is None:
        rule.variant = _variant(rule, _normal(rule, rule.left, {}))
    found: Variant = rule.variant
    return found


def _normal(rule: Equation, side: Node, others: Entries, beside: frozenset[Op] = frozenset()) -> Node:
    """A side as it will stand in a graph that other rules have already been through."""
    engine = Engine(others, beside=beside)
    for name, condition in rule.conditions.items():
        engine.facts.assume(rule.holes[name], condition.fact)
    return engine.run([side])[0]


def _variant(rule: Equation, left: Node) -> Variant:
    right: Any = rule.right
    parts, shift = terms(left)
    if left.op is SUM and len(parts) == 1 and not shift:
        left, right = parts[0][0], right / parts[0][1]
    if left.op is HOLE or not left.inputs:
        raise RuleError(f"rule {rule.name!r}: its left side is {rule.left!r}, which every expression fits")
    rule.check_measure(left, _normal(rule, right, {}))
    return Variant(rule, left, right, frozenset(operations(left)), frozenset(operations_below(left)))


def _sorted(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=_rank)


def _rank(entry: Entry) -> tuple[int, str]:
    if isinstance(entry, Procedure):
        return 0, entry.name
    return -_nodes(entry.left), entry.rule.name


def _nodes(pattern: Node) -> int:
    count, stack = 0, [pattern]
    while stack:
        node = stack.pop()
        count += node.op is not HOLE
        if node.op in (SUM, PRODUCT):
            count += sum(w != 1 for w in node.attrs["weights"]) + bool(node.attrs.get("shift"))
        stack.extend(node.inputs)
    return count
