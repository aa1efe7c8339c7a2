"""Graphs as text: `debugprint` draws the tree of nodes, `pprint` writes the mathematics.

Both take time in proportion to what they print. A tree that grows too deep for its indentation goes on below, at the
margin; a formula that grows too long ends in dots.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from ppl.graph.body import Body, bodies
from ppl.graph.node import FrozenArray, Node
from ppl.graph.view import label_of, name_of, ordered_attrs
from ppl.graph.walk import as_nodes

DEEPEST = 40  # levels of indentation after which a tree goes on at the margin


def debugprint(
    graph: Any,
    depth: int = -1,
    print_type: bool = False,
    file: TextIO | str | None = None,
    stop_on_name: bool = False,
) -> str:
    """The tree of a graph, of several, or of a compiled function; a node met again is marked and not repeated.

    `depth` limits the levels, `print_type` adds dtypes and shapes, `stop_on_name` shows nothing below named nodes.
    Printed to `file` (the standard output by default); `file="str"` only returns the text.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> text = debugprint(tt.exp(x) * x)
    multiply [id A]
     ├─ exp [id B]
     │   └─ x [id C]
     └─ x [id C]
    """
    text = "\n".join(_tree(graph_outputs(graph), depth, print_type, stop_on_name))
    if file != "str":
        print(text, file=file)  # type: ignore[arg-type]
    return text


dprint = debugprint


def graph_outputs(graph: Any) -> list[Node]:
    """The nodes of a node, of a (nested) collection of them, or of something that lists `graph_outputs`."""
    if isinstance(graph, Node):
        return [graph]
    if hasattr(graph, "graph_outputs"):
        return as_nodes(graph.graph_outputs)
    if isinstance(graph, dict):
        return [node for value in graph.values() for node in graph_outputs(value)]
    if isinstance(graph, Iterable) and not isinstance(graph, str):
        return [node for value in graph for node in graph_outputs(value)]
    raise TypeError(f"only graphs and compiled functions are printed, got {graph!r}")


def _tree(outputs: list[Node], depth: int, print_type: bool, stop_on_name: bool) -> Iterator[str]:
    names: dict[Node, str] = {}
    expanded: set[Node] = set()
    deferred: list[tuple[Node, int]] = []  # with the depth they stand at
    inner: dict[Body, Node] = {}

    def ident(node: Node) -> str:
        return names.setdefault(node, _letters(len(names)))

    def section(roots: list[tuple[Node, int]]) -> Iterator[str]:
        pending = [(node, level, "", "") for node, level in reversed(roots)]
        while pending:
            node, level, first, rest = pending.pop()
            for body in bodies(node):
                inner.setdefault(body, node)
            parents = node.inputs
            line = f"{first}{_title(node)} [id {ident(node)}]{f' <{node.type!r}>' if print_type else ''}"
            if stop_on_name and parents and name_of(node) is not None:
                yield line
            elif not parents or node in expanded:
                yield line + (" ···" if parents else "")
            elif level == depth:
                yield line + " (more below)"
            elif len(rest) >= 3 * DEEPEST:
                deferred.append((node, level))
                yield line + " (goes on at the margin)"
            else:
                expanded.add(node)
                yield line
                for position in reversed(range(len(parents))):
                    last = position == len(parents) - 1
                    branch = (f"{rest} └─ ", f"{rest}    ") if last else (f"{rest} ├─ ", f"{rest} │  ")
                    pending.append((parents[position], level + 1, *branch))

    yield from section([(node, 0) for node in outputs])
    shown: set[Body] = set()
    while deferred or len(shown) < len(inner):
        if deferred:
            yield ""
            yield from section([deferred.pop()])
            continue
        body = next(body for body in inner if body not in shown)
        shown.add(body)
        yield ""
        yield f"Inside {_title(inner[body])} [id {ident(inner[body])}], of {_count(len(body.params), 'parameter')}:"
        yield from section([(node, 0) for node in body.outputs])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def _title(node: Node) -> str:
    """The operation with its attributes, or what a leaf is called."""
    if not node.inputs and not bodies(node):
        return label_of(node) if name_of(node) or node.op.name != "input" else f"<{node.type!r}>"
    attrs = ", ".join(f"{key}={value!r}" for key, value in ordered_attrs(node))
    name = f" '{name_of(node)}'" if name_of(node) else ""
    return f"{node.op.name}{{{attrs}}}{name}" if attrs else f"{node.op.name}{name}"


def _letters(number: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


# --- mathematics ------------------------------------------------------------------------------------------------------
# How tightly signs bind, as in Python.
_INFIX: dict[str, tuple[str, int]] = {
    "logical_or": ("|", 3), "bitwise_or": ("|", 3), "bitwise_xor": ("^", 4), "logical_xor": ("^", 4),
    "logical_and": ("&", 5), "bitwise_and": ("&", 5), "left_shift": ("<<", 6), "right_shift": (">>", 6),
    "less": ("<", 2), "less_equal": ("<=", 2), "greater": (">", 2), "greater_equal": (">=", 2), "equal": ("==", 2),
    "not_equal": ("!=", 2), "add": ("+", 7), "subtract": ("-", 7), "multiply": ("*", 8), "true_divide": ("/", 8),
    "floor_divide": ("//", 8), "mod": ("%", 8), "matmul": ("@", 8), "power": ("**", 10),
}  # fmt: skip
_PREFIX = {"negative": ("-", 9), "invert": ("~", 9), "logical_not": ("~", 9)}
_TIGHT, _ATOM = 11, 12  # of a subscripted expression, and of what needs no brackets anywhere
_ASSOCIATIVE = frozenset({"add", "multiply", "logical_or", "logical_and", "bitwise_or", "bitwise_and", "bitwise_xor"})
_TRANSPARENT = frozenset({"cast", "broadcast_to"})

Token = str | tuple[Node, int]  # text, or a node and how tightly what stands around it binds


def pprint(graph: Any, max_length: int = 2000, expand_names: bool = False) -> str:
    """The formula of a graph, brackets only where they are needed; several formulas are joined by commas.

    Named results inside stand for themselves unless `expand_names`. What goes beyond `max_length` is shown as dots.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> pprint(tt.log(tt.exp(x) * tt.exp(4 + x)))
    'log(exp(x) * exp(4 + x))'
    """
    outputs = graph_outputs(graph)
    pending: list[Token] = []
    for at, node in enumerate(reversed(outputs)):
        pending += ([", "] if at else []) + [*reversed(_formula(_unnamed(node), 0, expand_names))]
    written: list[str] = []
    length = 0
    while pending:
        token = pending.pop()
        if isinstance(token, str):
            written.append(token)
            length += len(token)
        elif length > max_length:
            written.append("...")
        else:
            pending.extend(reversed(_formula(token[0], token[1], expand_names)))
    return "".join(written)


pp = pprint


def _unnamed(node: Node) -> Node:
    while node.op.name == "named":
        node = node.inputs[0]
    return node


def _formula(node: Node, around: int, expand_names: bool) -> list[Token]:
    """One level of the formula of `node` in a place that binds as tightly as `around`."""
    op, inputs = node.op.name, node.inputs
    if op == "named" and expand_names:
        return [(inputs[0], around)]
    if op in _TRANSPARENT and len(inputs) == 1:
        return [(inputs[0], around)]
    if op in _INFIX and len(inputs) == 2:
        sign, strength = _INFIX[op]
        left, right = (strength + 1, strength) if op == "power" else (strength, strength + (op not in _ASSOCIATIVE))
        if strength == 2:
            left = right = 3
        return _bracketed(strength < around, [(inputs[0], left), f" {sign} ", (inputs[1], right)])
    if op in _PREFIX:
        sign, strength = _PREFIX[op]
        return _bracketed(strength < around, [sign, (inputs[0], strength)])
    if not inputs or op == "named":
        text = _number(node) or (_title(node) if op != "named" else str(name_of(node)))
        return _bracketed(text.startswith("-") and around > 8, [text])
    special = _NOTATION.get(op)
    if special is not None:
        return special(node)
    attrs = [f"{key}={value!r}" for key, value in ordered_attrs(node)]
    return [op, *_inside(node), "(", *_joined([(parent, 0) for parent in inputs], attrs), ")"]


def _number(node: Node) -> str | None:
    """A whole float as a mathematician writes it: 4, not 4.0."""
    value = node.attrs.get("value")
    number = value.array.item() if isinstance(value, FrozenArray) and not value.array.ndim else None
    return str(int(number)) if isinstance(number, float) and number.is_integer() and abs(number) < 1e6 else None


def _bracketed(needed: bool, tokens: list[Token]) -> list[Token]:
    return ["(", *tokens, ")"] if needed else tokens


def _joined(parts: list[Token], more: list[str]) -> list[Token]:
    each = [*parts, *more]
    return list(itertools.chain.from_iterable([part, ", "] for part in each))[:-1]


def _inside(node: Node) -> list[Token]:
    tokens: list[Token] = []
    for body in bodies(node):
        params = ", ".join(label_of(param) for param in body.params)
        tokens += [f"{{{params} -> ", *_joined([(out, 0) for out in body.outputs], []), "}"]
    return tokens


def _getitem(node: Node) -> list[Token]:
    rest = iter(node.inputs[1:])
    tokens: list[Token] = [(node.inputs[0], _TIGHT), "["]
    for at, part in enumerate(node.attrs["plan"]):
        tokens += [", "] if at else []
        if part[0] == "slice":
            start, stop, step = ((next(rest), 0) if n == "in" else "" if n is None else str(n) for n in part[1:])
            tokens += [start, ":", stop] + ([":", step] if step != "" else [])
        else:
            tokens.append((next(rest), 0) if part[0] == "array" else "None" if part[0] == "new" else str(part[1]))
    return [*tokens, "]"]


def _transpose(node: Node) -> list[Token]:
    axes = node.attrs["axes"]
    if axes == tuple(reversed(range(len(axes)))):
        return [(node.inputs[0], _TIGHT), ".T"]
    return ["transpose(", (node.inputs[0], 0), f", {axes})"]


def _reduction(node: Node) -> list[Token]:
    """`sum(x)` over all axes, `sum(x, axis=0)` over some."""
    axis, ndim = node.attrs["axis"], node.inputs[0].type.ndim
    shown = [] if axis == tuple(range(ndim)) else [f"axis={axis[0] if len(axis) == 1 else axis}"]
    shown += ["keepdims=True"] if node.attrs.get("keepdims") else []
    return [node.op.name, "(", *_joined([(node.inputs[0], 0)], shown), ")"]


def _get(node: Node) -> list[Token]:
    """One of several results; of a gradient, `grad{#0 -> #0 ** 2}(x)`."""
    source, position = node.inputs[0], node.attrs["position"]
    if source.op.name != "value_and_grad_op" or position == 0:
        return [(source, _TIGHT), f"[{position}]"]
    tokens: list[Token] = ["grad", *_inside(source), "(", *_joined([(parent, 0) for parent in source.inputs], []), ")"]
    return tokens if source.attrs["count"] == 1 else [*tokens, f"[{position - 1}]"]


_NOTATION: dict[str, Callable[[Node], list[Token]]] = {
    "getitem": _getitem,
    "get": _get,
    "dim": lambda node: [(node.inputs[0], _TIGHT), f".shape[{node.attrs['axis']}]"],
    "transpose": _transpose,
    "switch": lambda node: ["switch(", *_joined([(parent, 0) for parent in node.inputs], []), ")"],
    **dict.fromkeys(["sum", "prod", "mean", "max", "min", "all", "any", "logsumexp"], _reduction),
}
