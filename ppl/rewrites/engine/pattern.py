"""Patterns: expressions over holes, and how they are found in a graph.

A pattern is built by calling the real operations on holes, and is in normal form like the graph it is compared with.
In a sum or a product the operands have no order, so there the match is a choice: operands of the pattern that are more
than a bare hole are each assigned to a different operand of the subject; the bare holes take what is left, the last
of them all of it. At the root of a rule operands may be left over: sin²x + cos²x = 1 is found inside y + sin²x + cos²x.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from ppl.graph import Attrs, Identity, Node
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Number, Weighted, factors, terms, weighted
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import CONSTANT, Tensor, TensorType, value_of

Binding = dict[Node, Node]
_SEARCHED = 8  # operands looked at one by one before a search begins
_WIDEST = 256  # operands a search looks through: beyond it sums and products are only matched as a whole


class _Hole(Op):
    name = "hole"

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return attrs["type"]


HOLE = _Hole()
FLOAT, BOOL = TensorType("float64"), TensorType("bool")
MATRIX = TensorType("float64", (7, 7))


def hole(name: str, type: TensorType = FLOAT) -> Tensor:
    """A place in a pattern that any tensor of its kind fits."""
    return Node(HOLE, (), Attrs(name=name, type=type, identity=Identity()))  # type: ignore[return-value]


def holes_of(pattern: Node) -> list[Node]:
    """The holes of a pattern, one for each place where it stands."""
    found, stack = [], [pattern]
    while stack:
        node = stack.pop()
        if node.op is HOLE:
            found.append(node)
        stack.extend(node.inputs)
    return found


class Builder(Protocol):
    """What a match needs of the engine: sums and products of normal forms, and a pattern filled in."""

    def total_like(self, parts: Weighted, shift: Number, like: Node) -> Node: ...
    def product_like(self, parts: Weighted, like: Node) -> Node: ...
    def fill(self, pattern: Node, binding: Binding, like: Node) -> Node: ...


class Match(NamedTuple):
    """What the holes stand for. The subject is `scale` times the pattern plus `rest` (of a product: a power, times)."""

    binding: Binding
    scale: Number
    rest: Weighted
    shift: Number


class _Outline(NamedTuple):
    """What is known of a pattern once and for all."""

    holes: frozenset[Node]
    operands: tuple[tuple[Node, Number], ...]  # of a sum or product, small patterns first
    needs: frozenset[Op]
    several: tuple[tuple[Op, int], ...]  # operations needed more than once
    firm: tuple[Node, ...]  # operands that are more than a hole
    combined: bool  # a sum or product of more than one part, which only its like can fit
    commutative: bool


_outlines: dict[Node, _Outline] = {}


def _outline(pattern: Node) -> _Outline:
    known = _outlines.get(pattern)
    if known is None:
        combination = pattern.op is SUM or pattern.op is PRODUCT
        parts = weighted(pattern) if combination else []
        known = _outlines[pattern] = _Outline(
            frozenset(holes_of(pattern)),
            tuple(sorted(parts, key=lambda part: _extent(part[0]))),
            frozenset(operations(pattern)),
            tuple((op, n) for op, n in Counter(x.op for x, _ in parts if x.op is not HOLE).items() if n > 1),
            tuple(x for x, _ in parts if x.op is not HOLE),
            combination and len(parts) + bool(pattern.attrs.get("shift")) > 1,
            isinstance(pattern.op, Elementwise) and pattern.op.facts.commutative and len(pattern.inputs) == 2,
        )
    return known


def _may_fit(pattern: Node, subject: Node) -> bool:
    """A look at operations only, which settles most cases."""
    if pattern.op is HOLE:
        return True
    outline = _outline(pattern)
    if pattern.op is SUM or pattern.op is PRODUCT:
        if not outline.firm and not outline.combined:  # a multiple of anything; a power only of such a power
            return pattern.op is SUM or _is_power(subject, pattern.attrs["weights"][0])
        if subject.op is not pattern.op or (pattern.attrs.get("shift") and not subject.attrs["shift"]):
            return False
        inputs = subject.inputs
        if not outline.needs <= {x.op for x in inputs}:
            return False
        if not all(op in (SUM, PRODUCT) or sum(x.op is op for x in inputs) >= n for op, n in outline.several):
            return False
        return len(inputs) > _SEARCHED or all(any(_may_fit(p, x) for x in inputs) for p in outline.firm)
    if pattern.op is not subject.op or len(pattern.inputs) != len(subject.inputs):
        return False
    return outline.commutative or all(map(_may_fit, pattern.inputs, subject.inputs))


def _is_power(subject: Node, power: Number) -> bool:
    """Whether every factor stands to a whole multiple of that power, as `_part` asks."""
    return power == 1 or all(float(p / power).is_integer() for _, p in factors(subject))


def matches(pattern: Node, subject: Node, build: Builder) -> Iterator[Match]:
    """All ways in which the pattern fits the subject, as a whole or (sums and products) as a part of it."""
    if not _may_fit(pattern, subject):
        return
    if pattern.op is SUM or pattern.op is PRODUCT:
        if len(subject.inputs) <= _WIDEST and subject.op is pattern.op:
            yield from _in_combination(pattern, subject, {}, build, whole=False)
        return
    for binding in _fits(pattern, subject, {}, build):
        yield Match(binding, 1, [], 0)


def _fits(pattern: Node, subject: Node, binding: Binding, build: Builder) -> Iterator[Binding]:
    if pattern.op is HOLE:
        bound = binding.get(pattern)
        if bound is None:
            if _same_kind(pattern, subject):
                yield {**binding, pattern: subject}
        elif bound is subject:
            yield binding
    elif pattern.op is CONSTANT:
        if subject.op is CONSTANT and not subject.type.shape and value_of(subject) == value_of(pattern):
            yield binding
    elif pattern.op is SUM or pattern.op is PRODUCT:
        for match in _in_combination(pattern, subject, binding, build, whole=True):
            yield match.binding
    elif pattern.op is subject.op and pattern.attrs == subject.attrs and len(pattern.inputs) == len(subject.inputs):
        yield from _each_input(pattern.inputs, subject.inputs, binding, build)
        if _outline(pattern).commutative:
            yield from _each_input(pattern.inputs, subject.inputs[::-1], binding, build)


def _same_kind(pattern: Node, subject: Node) -> bool:
    wanted, given = pattern.type, subject.type
    if not isinstance(given, TensorType) or (wanted.dtype == "bool") != (given.dtype == "bool"):
        return False
    return wanted.ndim == 0 or given.ndim >= wanted.ndim


def _each_input(
    patterns: tuple[Node, ...], subjects: tuple[Node, ...], binding: Binding, build: Builder
) -> Iterator[Binding]:
    if not patterns:
        yield binding
        return
    for extended in _fits(patterns[0], subjects[0], binding, build):
        yield from _each_input(patterns[1:], subjects[1:], extended, build)


def _in_combination(pattern: Node, subject: Node, binding: Binding, build: Builder, whole: bool) -> Iterator[Match]:
    """Matches of a sum or product pattern; with `whole` nothing may be left over and the scale is 1."""
    if pattern.op is SUM:
        operands, shift = terms(subject)
        wanted_shift = pattern.attrs["shift"]
    else:
        operands, shift, wanted_shift = factors(subject), 0, 0
    if len(operands) > _WIDEST:
        return
    bare: Weighted = []
    firm: Weighted = []
    for part in _outline(pattern).operands:
        (bare if part[0].op is HOLE and part[0] not in binding else firm).append(part)
    for extended, left, scale in _assigned(firm, operands, binding, build, 1 if whole else None, subject):
        remaining = _without_bound(bare, extended, left, scale or 1)
        if remaining is None:
            continue
        open_holes = [(p, w) for p, w in bare if p not in extended]
        yield from _left_over(
            pattern, subject, open_holes, extended, remaining, shift, wanted_shift, scale or 1, build, whole
        )


def _without_bound(bare: Weighted, binding: Binding, left: Weighted, scale: Number) -> Weighted | None:
    """What is left when the bare holes that other operands have bound take theirs; None where that is missing."""
    for target, weight in bare:
        if target not in binding:
            continue
        at = next((i for i, (x, w) in enumerate(left) if x is binding[target] and w == weight * scale), None)
        if at is None:
            return None
        left = left[:at] + left[at + 1 :]
    return left


def _extent(pattern: Node) -> int:
    """The order in which operands are looked for: small patterns first, which say what the holes of larger ones are."""
    count, stack = 0, [pattern]
    while stack:
        node = stack.pop()
        count += 1
        stack.extend(node.inputs)
    return count


def _assigned(
    firm: Weighted, operands: Weighted, binding: Binding, build: Builder, scale: Number | None, subject: Node
) -> Iterator[tuple[Binding, Weighted, Number | None]]:
    """Each firm operand of the pattern given to another operand of the subject, with weights in one proportion."""
    if not firm:
        yield binding, operands, scale
        return
    (pattern, weight), others = firm[0], firm[1:]
    if all(h in binding for h in _outline(pattern).holes):
        filled = build.fill(pattern, binding, subject)
        candidates = [i for i, (x, _) in enumerate(operands) if x is filled]
    else:
        loose = pattern.op is SUM or pattern.op is PRODUCT or pattern.op is HOLE
        candidates = [i for i, (x, _) in enumerate(operands) if loose or x.op is pattern.op]
        filled = None
    for i in candidates:
        operand, present = operands[i]
        factor = _proportion(present, weight, subject)
        if factor is None or (scale is not None and factor != scale):
            continue
        for extended in [binding] if filled is not None else _fits(pattern, operand, binding, build):
            yield from _assigned(others, operands[:i] + operands[i + 1 :], extended, build, factor, subject)


def _proportion(present: Number, weight: Number, subject: Node) -> Number | None:
    """How many times the pattern's weight the present one is; powers only in whole numbers."""
    if present == 0:
        return None
    factor = present / weight
    if factor * weight != present or (subject.op is PRODUCT and not float(factor).is_integer()):
        return None
    return int(factor) if float(factor).is_integer() else factor


def _left_over(
    pattern: Node,
    subject: Node,
    bare: Weighted,
    binding: Binding,
    left: Weighted,
    shift: Number,
    wanted_shift: Number,
    scale: Number,
    build: Builder,
    whole: bool,
) -> Iterator[Match]:
    if wanted_shift and shift != wanted_shift * scale:
        return
    free_shift = 0 if wanted_shift else shift
    if not bare:
        if not whole or (not left and not free_shift):
            yield Match(binding, scale, left, free_shift)
        return
    (target, weight), others = bare[0], bare[1:]
    if others:
        for i, (operand, present) in enumerate(left):
            for extended in _bound(
                target, _part(pattern, [(operand, present)], 0, weight * scale, build, subject), binding
            ):
                rest = left[:i] + left[i + 1 :]
                yield from _left_over(
                    pattern, subject, others, extended, rest, shift, wanted_shift, scale, build, whole
                )
    elif left or free_shift:
        for extended in _bound(target, _part(pattern, left, free_shift, weight * scale, build, subject), binding):
            yield Match(extended, scale, [], 0)


def _part(pattern: Node, parts: Weighted, shift: Number, weight: Number, build: Builder, subject: Node) -> Node | None:
    """What a bare hole stands for, so that `weight` times it (to that power) is the given part."""
    if pattern.op is SUM:
        scaled = [(x, _divided(w, weight)) for x, w in parts]
        return build.total_like(scaled, _divided(shift, weight), subject)
    if any(not float(p / weight).is_integer() and weight != 1 for _, p in parts):
        return None
    return build.product_like([(x, _divided(p, weight)) for x, p in parts], subject)


def _divided(a: Number, b: Number) -> Number:
    return a if b == 1 else -a if b == -1 else a / b


def _bound(target: Node, value: Node | None, binding: Binding) -> Iterator[Binding]:
    if value is not None and _same_kind(target, value):
        yield {**binding, target: value}


_FLUID = frozenset([HOLE, SUM, PRODUCT])  # what a hole or a combination of one operand fits need not be of its kind


def operations(pattern: Node) -> set[Any]:
    """The operations that a pattern needs among the operands of its root, for a quick look before matching."""
    return {x.op for x in pattern.inputs if x.op not in _FLUID}


def operations_below(pattern: Node) -> set[Any]:
    """The operations that a pattern needs inside the sums and products among the operands of its root."""
    combinations = [x for x in pattern.inputs if x.op in _FLUID and x.inputs and _outline(x).firm]
    return {y.op for x in combinations for y in x.inputs if y.op not in _FLUID}
