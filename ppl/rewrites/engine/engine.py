"""The engine: from a graph to its normal form, bottom-up, each node once.

A node is built over inputs that are normal already; arithmetic goes to `arithmetic`, which collects sums and products;
anything else is looked up among the rules by its operation. What a rule gives is built the same way, so it is normal
too. Rules decrease a measure, so this ends; nodes are hash-consed and results remembered, so the work is linear.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ppl.graph import NO_ATTRS, Attrs, Body, Node, bodies, topological
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.arithmetic import HANDLERS, Arithmetic, is_arithmetic, is_product, is_sum
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Number, Weighted, number, weighted
from ppl.rewrites.engine.measure import size
from ppl.rewrites.engine.pattern import HOLE, Binding, Match, matches
from ppl.rewrites.engine.rule import Equation, Procedure, RuleError
from ppl.rewrites.engine.trace import Trace
from ppl.rewrites.facts.facts import ASSUME, Knowledge
from ppl.rewrites.values.folding import folded
from ppl.rewrites.values.sizes import Size, common_sizes, sizes
from ppl.rewrites.values.work import work
from ppl.tensor.arrays.shaping import EXPAND_DIMS, broadcast_to
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import Elementwise, Reduction, cast_to
from ppl.tensor.core.sizes import DIM, common_shape
from ppl.tensor.tensor import CONSTANT, value_of

_DEEPEST = 60  # rules that call for rules; beyond it a node stays as it is until the next round
_MOST_DEEP = 2_000  # times that a rule is applied far inside others, before that is taken for a circle


class Variant(NamedTuple):
    """An equation as the engine looks for it: both sides, the left one in normal form."""

    rule: Equation
    left: Node
    right: Node
    needs: frozenset[Op]  # operations among the inputs
    below: frozenset[Op]  # operations inside the sums and products among the inputs


Entry = Variant | Procedure
Entries = dict[Op, list[Entry]]


class _Strict:
    """Whether a rule that fails raises (in tests) or is reported once and left out."""

    on = False
    check_measure = False


strict = _Strict()
_reported: set[str] = set()


def _report(what: str, found: str, therefore: str, error: Exception | None = None) -> None:
    """A fault of a rule: raised where that is asked for, else told once."""
    if strict.on:
        raise RuleError(found) from error
    if what not in _reported:
        _reported.add(what)
        told = f"rewriting: {found}. The result is right but may be slower: {therefore}. Please report it."
        warnings.warn(told, stacklevel=2)


def never(node: Node) -> bool:
    """Of no node."""
    return False


def looked_for_beside(entries: Entries) -> frozenset[Op]:
    """The operations whose results rules find beside the node that they rewrite."""
    return frozenset(
        op for rules in entries.values() for rule in rules if isinstance(rule, Procedure) for op in rule.beside
    )


class Engine(Arithmetic):
    """One rewriting with one set of rules. `facts` answers what is known of a node, `once` whether it is computed once
    for many runs of the program, so that it costs nothing."""

    def __init__(
        self,
        entries: Entries,
        trace: Trace | None = None,
        once: Callable[[Node], bool] = never,
        beside: frozenset[Op] | None = None,
    ) -> None:
        super().__init__(Knowledge())
        self.entries, self.trace, self.once = entries, trace, once
        self._settled: dict[Node, Node] = {}
        self._fitting: dict[tuple[Op, frozenset[Op], frozenset[Op]], list[Entry]] = {}  # rules by operations to fit
        self.beside: dict[tuple[Op, Node], Node] = {}  # what the graph computes anyway, by operation and input
        self._beside = looked_for_beside(entries) if beside is None else beside
        self.known_sizes: dict[Node, tuple[Size, ...]] = {}
        self._depth, self._deepest = 0, _DEEPEST
        self._place: Node | None = None  # the node of the given graph that is being rewritten
        self.was_cut = False
        self._deep: Counter[str] = Counter()  # rules that were applied far inside others
        self._broken: set[str] = set()

    # --- the graph
    def run(self, outputs: Sequence[Node], keep: Collection[Node] = ()) -> list[Node]:
        """The normal forms of `outputs`. Names are looked through, but for the nodes in `keep`."""
        order = topological(outputs)
        if wanted := [node for node in order if node.op in self._beside]:
            first = dict.fromkeys(topological(wanted))  # so that they are known before any rule asks for them
            order = [*first, *[node for node in order if node not in first]]
        assumed: dict[Node, list[Node]] = {}
        uses: Counter[Node] = Counter(outputs)
        for node in order:
            for x in node.inputs:
                uses[x] = uses.get(x, 0) + 1
            if node.op is ASSUME:
                assumed.setdefault(_bare(node), []).append(node)
        inner = _interior(order, uses, set(outputs))
        done: dict[Node, Node] = {}
        for node in order:
            if node in inner:
                continue
            self._place = node
            normal = self._normal(node, done, inner, uses, keep)
            for promise in assumed.get(node, ()):
                self.facts.assume(normal, promise.attrs["fact"])
            done[node] = normal
            if node.op in self._beside:
                self.beside[node.op, done[node.inputs[0]]] = normal
        return [done[node] for node in outputs]

    def _normal(
        self, node: Node, done: dict[Node, Node], inner: set[Node], uses: Counter[Node], keep: Collection[Node]
    ) -> Node:
        if not node.inputs:
            return node
        if (node.op is NAMED and node not in keep) or node.op is ASSUME:
            return done[node.inputs[0]]
        if is_sum(node):
            return self.gathered_sum(node, done, inner, uses)
        if is_product(node):
            return self.gathered_product(node, done, inner, uses)
        inputs = tuple([done[x] for x in node.inputs])
        attrs = self._with_bodies(node, inputs) if bodies(node) else node.attrs
        return self.make(node.op, inputs, attrs)

    def _with_bodies(self, node: Node, inputs: tuple[Node, ...]) -> Attrs:
        """The attributes with the graphs inside rewritten too; what is known outside of an input holds inside."""
        changes: dict[str, Body] = {}
        for key, body in node.attrs.items():
            if isinstance(body, Body):
                engine = Engine(self.entries, self.trace)  # a body runs many times in one run
                if node.op.name in _SAME_INSIDE and len(inputs) == len(body.params):
                    for param, outer in zip(body.params, inputs, strict=True):
                        engine.facts.assume(param, self.facts(outer))
                changes[key] = Body(body.params, tuple(engine.run(body.outputs)))
        return node.attrs.but(**changes)

    @property
    def circles(self) -> bool:
        """Whether rules were seen to call for one another again and again."""
        return self._deepest < _DEEPEST

    def did_not_end(self) -> None:
        """Say so where rounds of rewriting were cut again and again."""
        names = [name for name, _ in self._deep.most_common(3)]
        found = f"rules called for rules without end: {', '.join(map(repr, names))}; does each decrease the measure?"
        _report(", ".join(names), found, "rewriting stopped there")

    # --- one node
    def make(self, op: Op, inputs: tuple[Node, ...], attrs: Attrs = NO_ATTRS) -> Node:
        """The normal form of an operation on normal inputs; axes that it keeps are new ones in the place of the old."""
        if isinstance(op, Reduction) and attrs["keepdims"]:
            shorter = self.make(op, inputs, attrs.but(keepdims=False))
            return self.make(EXPAND_DIMS, (shorter,), Attrs(axis=attrs["axis"]))
        handler = HANDLERS.get(op)
        if handler is not None and is_arithmetic(inputs):
            found = handler(self, inputs)
            if found is not None:
                return found
        return self.settle(Node(op, inputs, attrs))

    def on(self, node: Node, inputs: Sequence[Node]) -> Node:
        """The operation of a node on other inputs, in normal form."""
        if node.op is SUM:
            return self.total_of(node, inputs)
        if node.op is PRODUCT:
            return self.product([(x, p) for x, (_, p) in zip(inputs, weighted(node), strict=True)], inputs)
        return self.make(node.op, tuple(inputs), node.attrs)

    def call(self, op: Callable[..., Node], *inputs: object, **options: object) -> Node:
        """`op(*inputs)` as a user would write it, in normal form."""
        built = op(*inputs, **options)
        known = {x for x in inputs if isinstance(x, Node)}
        done: dict[Node, Node] = {x: x for x in known}
        for node in topological(built, blockers=known):
            if node not in done:
                done[node] = (
                    self.make(node.op, tuple([done[x] for x in node.inputs]), node.attrs) if node.inputs else node
                )
        return done[built]

    def settle(self, node: Node) -> Node:
        """What the rules make of a node that is normal but for its root."""
        known = self._settled.get(node)
        if known is not None:
            return known
        found = folded(node)
        if found is None:
            found = self._rewritten(node)
        self._settled[node] = found
        return found

    def _rewritten(self, node: Node) -> Node:
        candidates = self.entries.get(node.op)
        if candidates is None:
            return node
        if self._depth > self._deepest:
            self.was_cut = True
            return node
        present = frozenset([x.op for x in node.inputs])
        inside = frozenset([y.op for x in node.inputs if x.op is SUM or x.op is PRODUCT for y in x.inputs])
        looks = node.op, present, inside
        fitting = self._fitting.get(looks)
        if fitting is None:
            fitting = self._fitting[looks] = [entry for entry in candidates if _may_fit(entry, present, inside)]
        self._depth += 1
        try:
            for entry in fitting:
                after = self._tried(entry, node)
                if after is not None and after is not node:
                    return after
        finally:
            self._depth -= 1
        return node

    def _tried(self, entry: Entry, node: Node) -> Node | None:
        rule = entry if isinstance(entry, Procedure) else entry.rule
        if rule.name in self._broken:
            return None
        try:
            after = self._by_equation(entry, node) if isinstance(entry, Variant) else entry.rewrite(node, self)
            if after is None or after is node:
                return None
            fitted = self._fitted(after, node)
        except Exception as error:
            self._broken.add(rule.name)
            _report(rule.name, f"rule {rule.name!r} failed on {node!r}: {error}", "it is left out", error)
            return None
        if fitted is None:
            return None
        grows = work if rule.saves_work else size
        if strict.check_measure and grows(fitted) >= grows(node):
            raise RuleError(f"rule {rule.name!r} did not decrease the measure: {node!r} became {fitted!r}")
        if self._depth > _DEEPEST // 2:
            self._deep[rule.name] += 1
            if self._deep[rule.name] > _MOST_DEEP:
                self._deepest = 1
        if self.trace is not None:
            self.trace.add(rule.name, node, fitted, node if self._place is None else self._place)
        return fitted

    def _by_equation(self, entry: Variant, node: Node) -> Node | None:
        rule = entry.rule
        for match in matches(entry.left, node, self):
            proved = all(c.holds(self.facts(match.binding[rule.holes[name]])) for name, c in rule.conditions.items())
            if proved:
                return self._replaced(entry, node, match)
        return None

    def _replaced(self, entry: Variant, node: Node, match: Match) -> Node:
        right = self.fill(entry.right, match.binding, node)
        if entry.left.op is SUM:
            return self.total([(right, match.scale), *match.rest], match.shift, like=[node])
        if entry.left.op is PRODUCT:
            return self.product([(right, match.scale), *match.rest], like=[node])
        return right

    # --- patterns
    def fill(self, pattern: Node, binding: Binding, like: Node) -> Node:
        """The pattern with what its holes stand for, in normal form; numbers take the dtype of the holes."""
        done: dict[Node, Node] = dict(binding)
        dtype = next((x.type.dtype for h, x in binding.items() if h.type.dtype != "bool"), like.type.dtype)
        for node in topological(pattern, blockers=binding):
            if node in done:
                continue
            if node.op is CONSTANT:
                floating = node.type.dtype[0] == "f" and not node.type.shape
                done[node] = number(value_of(node).item(), dtype) if floating else node
            elif node.op is HOLE:
                raise RuleError(f"the hole {node.attrs['name']} stands for nothing")
            elif node.op is SUM:
                parts = [(done[x], w) for x, w in zip(node.inputs, node.attrs["weights"], strict=True)]
                done[node] = self.total(parts, node.attrs["shift"], like=[x for x, _ in parts])
            elif node.op is PRODUCT:
                parts = [(done[x], w) for x, w in zip(node.inputs, node.attrs["weights"], strict=True)]
                done[node] = self.product(parts, like=[x for x, _ in parts])
            else:
                done[node] = self.make(node.op, tuple([done[x] for x in node.inputs]), node.attrs)
        return done[pattern]

    def total_like(self, parts: Weighted, shift: Number, like: Node) -> Node:
        return self.total(parts, shift, like=[like], fit=False)

    def product_like(self, parts: Weighted, like: Node) -> Node:
        return self.product(parts, like=[like], fit=False)

    # --- shapes
    def same_size(self, a: Node, b: Node) -> bool:
        """Whether two nodes certainly have the same shape."""
        if None not in a.type.shape:
            return bool(a.type.shape == b.type.shape)
        return sizes(a, self.known_sizes) == sizes(b, self.known_sizes)

    def spread(self, node: Node, like: Sequence[Node]) -> Node:
        """The node at the common shape of others."""
        wanted = common_sizes([sizes(x, self.known_sizes) for x in like])
        if sizes(node, self.known_sizes) == wanted:
            return node
        sized = broadcast_to(node, common_shape(like))
        return self.settle(Node(sized.op, (node, *[self._size(x) for x in sized.inputs[1:]]), sized.attrs))

    def _size(self, node: Node) -> Node:
        """The normal form of a size, which is computed from lengths of normal nodes."""
        if not node.inputs:
            return node
        inputs = node.inputs if node.op is DIM else tuple(map(self._size, node.inputs))
        return self.make(node.op, inputs, node.attrs)

    def _fitted(self, after: Node, before: Node) -> Node | None:
        """What a rule gave, at the shape and dtype of what it replaces."""
        wanted, given = before.type, after.type
        if wanted == given and None not in getattr(wanted, "shape", ()):
            return after
        if not hasattr(wanted, "shape"):
            if wanted != given:
                raise RuleError(f"{before!r} of type {wanted!r} became {given!r}")
            return after
        if given.dtype != wanted.dtype:
            if after.op is not CONSTANT:
                raise RuleError(f"{before!r} of dtype {wanted.dtype} became {given.dtype}")
            after = cast_to(after, wanted.dtype)  # type: ignore[arg-type]
        if not isinstance(before.op, Elementwise) and before.op not in (SUM, PRODUCT):
            if len(given.shape) != len(wanted.shape) or any(
                None not in (n, m) and n != m for n, m in zip(wanted.shape, given.shape, strict=True)
            ):
                raise RuleError(f"{before!r} of shape {wanted.shape} became {given.shape}")
            return after
        if self.same_size(before, after):
            return after
        return self.spread(after, before.inputs)


def _may_fit(entry: Entry, present: frozenset[Op], inside: frozenset[Op]) -> bool:
    """Whether the operations that a rule asks for are there, among the inputs and in the sums and products there."""
    if isinstance(entry, Variant):
        return entry.needs <= present and entry.below <= inside
    return not entry.one_of or not entry.one_of.isdisjoint(present)


_SAME_INSIDE = frozenset(["value_and_grad_op", "jacobian_op"])


def _bare(node: Node) -> Node:
    """What assumptions and names are about."""
    while node.op is ASSUME or node.op is NAMED:
        node = node.inputs[0]
    return node


def _interior(order: list[Node], uses: Counter[Node], outputs: set[Node]) -> set[Node]:
    """Sums inside a sum, and products inside a product, that nothing else uses: their operands go to the outer one."""
    found: set[Node] = set()
    for node in order:
        kind = is_sum if is_sum(node) else is_product if is_product(node) else None
        if kind is not None:
            found.update(x for x in node.inputs if uses[x] == 1 and x not in outputs and kind(x))
    return found
