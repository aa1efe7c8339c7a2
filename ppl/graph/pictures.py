"""Pictures of graphs: DOT and Mermaid as text, SVG by Graphviz. Names are escaped, so none can break out of a label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ppl.graph.body import bodies
from ppl.graph.node import Node
from ppl.graph.view import label_of, ordered_attrs
from ppl.graph.walk import Nodes, as_nodes, topological

# A picture is a list of boxes: the outermost first, one more for each body, each with its nodes and edges.
_LEAVES = frozenset({"input", "variable", "constant", "bound"})


def to_dot(outputs: Nodes) -> str:
    """The graph in Graphviz's language; bodies are boxes inside the picture.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> ppl.to_dot(tt.exp(x)).split()[0]
    'digraph'
    """
    lines = ["digraph {", '  rankdir="TB"; node [shape=ellipse, fontsize=11];']
    for depth, event in _events(as_nodes(outputs)):
        pad = "  " * (depth + 1)
        kind, *what = event
        if kind == "open":
            lines.append(f'{pad[2:]}subgraph "cluster_{what[0]}" {{ label="{_dot(what[1])}"; style=rounded;')
        elif kind == "close":
            lines.append(f"{pad[2:]}}}")
        elif kind == "node":
            key, node = what
            shape = ', shape=box, style="rounded"' if node.op.name in _LEAVES else ""
            lines.append(f'{pad}"{key}" [label="{_dot(label_of(node))}", tooltip="{_dot(_details(node))}"{shape}];')
        else:
            lines.append(f'{pad}"{what[0]}" -> "{what[1]}"{" [style=dashed]" if kind == "body" else ""};')
    return "\n".join([*lines, "}"])


def to_mermaid(outputs: Nodes) -> str:
    """The graph in Mermaid's language, which notebooks, GitHub and many editors draw.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> "exp" in ppl.to_mermaid(tt.exp(x))
    True
    """
    lines = ["flowchart TD"]
    for depth, event in _events(as_nodes(outputs)):
        pad = "  " * (depth + 1)
        kind, *what = event
        if kind == "open":
            lines.append(f'{pad[2:]}subgraph b{what[0]}["{_mermaid(what[1])}"]')
        elif kind == "close":
            lines.append(f"{pad[2:]}end")
        elif kind == "node":
            key, node = what
            left, right = ("[", "]") if node.op.name in _LEAVES else ("([", "])")
            lines.append(f'{pad}n{key}{left}"{_mermaid(label_of(node))}"{right}')
        else:
            lines.append(f"{pad}n{what[0]} {'-.->' if kind == 'body' else '-->'} n{what[1]}")
    return "\n".join(lines)


def to_svg(outputs: Nodes) -> str:
    """The graph as an SVG drawing. Needs the extra `viz` and Graphviz's program `dot`; `to_mermaid` needs neither.

    >>> x = ppl.tensor.dscalar("x")
    >>> ppl.to_svg(x**2)[:5]  # doctest: +SKIP
    '<?xml'
    """
    remedy = 'install `pip install "ppl-jax[viz]"` and Graphviz itself, or use to_mermaid(), which needs neither'
    try:
        import graphviz  # type: ignore[import-untyped]  # an optional extra
    except ImportError as error:
        raise ImportError(f"to_svg draws by the package graphviz, which is not here: {remedy}") from error
    try:
        return graphviz.Source(to_dot(outputs)).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise RuntimeError(f"to_svg draws by Graphviz's program `dot`, which is not here: {remedy}") from error


def _events(outputs: list[Node]) -> Iterator[tuple[int, Any]]:
    """What to draw, in order, with the depth of nesting. Keys say the path to a node: bodies are drawn where they are
    used, so a body used twice is drawn twice."""
    pending: list[tuple[int, Any, str, list[Node]]] = [(0, None, "", outputs)]
    while pending:
        depth, event, prefix, nodes = pending.pop()
        if event is not None:
            yield depth, event
            continue
        for node in topological(nodes):
            key = f"{prefix}{node.serial}"
            yield depth, ("node", key, node)
            for parent in node.inputs:
                yield depth, ("edge", f"{prefix}{parent.serial}", key)
            for position, body in enumerate(bodies(node)):
                inner = f"{key}_{position}_"
                edges = [("body", f"{inner}{out.serial}", key) for out in dict.fromkeys(body.outputs)]
                todo = [
                    (depth + 1, ("open", f"{key}_{position}", f"inside {label_of(node)}"), "", []),
                    (depth + 1, None, inner, list(body.outputs)),
                    (depth + 1, ("close",), "", []),
                    *[(depth, edge, "", []) for edge in edges],
                ]
                pending.extend(reversed(todo))


def _details(node: Node) -> str:
    shown = ", ".join(f"{key}={value!r}" for key, value in ordered_attrs(node))
    return f"{node.op.name} {node.type!r} {shown}".strip()


def _dot(text: str) -> str:
    return "".join({'"': '\\"', "\\": "\\\\", "\n": " ", "\r": " "}.get(c, c) for c in text)


def _mermaid(text: str) -> str:
    """Letters, digits and a few signs as they are, everything else as Mermaid's entity for its number."""
    return "".join(c if c.isalnum() or c in " _.,+*/=-" else f"#{ord(c)};" for c in text)
