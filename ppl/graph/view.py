"""A graph as a NetworkX graph, with everything NetworkX then offers: dominators, longest paths, cuts, drawing, export.

The keys are the nodes' serial numbers (inputs have smaller ones than their users), since `==` on tensors builds a
tensor. An input that is used twice keeps both its edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ppl.graph.body import Body, bodies
from ppl.graph.node import FrozenArray, Node
from ppl.graph.walk import Nodes, as_nodes, topological

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(outputs: Nodes) -> nx.MultiDiGraph:
    """The graph of `outputs`: edges run from input to user and carry the input's `position`.

    Each node has `op`, `type`, `name`, `scope`, `label`, `node` (the node itself), and `bodies`: the graphs of the
    loops, branches and derivatives inside it, each of the same form. The graph's own attribute `outputs` lists keys.

    >>> import networkx as nx
    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> graph = to_networkx(tt.exp(x) * x)
    >>> [graph.nodes[key]["label"] for key in nx.dag_longest_path(graph)]
    ['x', 'exp', 'multiply']
    """
    return _view(as_nodes(outputs), {})


def _view(outputs: list[Node], done: dict[Body, nx.MultiDiGraph]) -> nx.MultiDiGraph:
    import networkx as nx  # half as slow to import as JAX, so only where it is used

    graph = nx.MultiDiGraph(outputs=[node.serial for node in outputs])
    for node in topological(outputs):
        graph.add_node(
            node.serial,
            op=node.op.name,
            type=repr(node.type),
            name=name_of(node),
            scope=node.attrs.get("scope", "/"),
            label=label_of(node),
            bodies=[_view_of_body(body, done) for body in bodies(node)],
            node=node,
        )
        graph.add_edges_from((parent.serial, node.serial, {"position": at}) for at, parent in enumerate(node.inputs))
    return graph


def _view_of_body(body: Body, done: dict[Body, nx.MultiDiGraph]) -> nx.MultiDiGraph:
    if body not in done:
        done[body] = _view(list(body.outputs), done)
        done[body].graph["params"] = [param.serial for param in body.params]
    return done[body]


def flat_networkx(outputs: Nodes) -> nx.MultiDiGraph:
    """The same with all bodies spread out in one graph, for analyzes that should see inside loops and derivatives.

    Keys are paths of serial numbers: `(12,)` outside, `(12, 0, 7)` for node 7 in the first body of node 12. Edges of
    `kind` "enter" and "leave" join a body's first nodes and its outputs with the node that holds it.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> len(ppl.flat_networkx(tt.exp(x)))
    2
    """
    import networkx as nx

    whole = nx.MultiDiGraph()
    pending: list[tuple[tuple[int, ...], nx.MultiDiGraph]] = [((), to_networkx(outputs))]
    while pending:
        path, graph = pending.pop()
        for key, data in graph.nodes(data=True):
            here = (*path, key)
            whole.add_node(here, inside=path, **{k: v for k, v in data.items() if k != "bodies"})
            for position, body in enumerate(data["bodies"]):
                inner = (*here, position)
                pending.append((inner, body))
                whole.add_edges_from(((*inner, out), here, {"kind": "leave"}) for out in body.graph["outputs"])
                node = data["node"]
                whole.add_edges_from(
                    ((*path, parent.serial), (*inner, first), {"kind": "enter"})
                    for first in _sources(body)
                    for parent in dict.fromkeys(node.inputs)
                )
        whole.add_edges_from(
            ((*path, a), (*path, b), {"kind": "input", "position": data["position"]})
            for a, b, data in graph.edges(data=True)
        )
    whole.graph["outputs"] = [(node.serial,) for node in as_nodes(outputs)]
    return whole


def _sources(body: nx.MultiDiGraph) -> list[int]:
    return [key for key, degree in body.in_degree() if not degree and body.nodes[key]["op"] == "bound"]


def name_of(node: Node) -> str | None:
    """The node's name, if it has one."""
    return getattr(node, "name", None) or node.attrs.get("name")


def label_of(node: Node) -> str:
    """A few letters for the node: its name, the value of a small constant, or its operation."""
    value = node.attrs.get("value")
    if isinstance(value, FrozenArray):
        return repr(value.array.item()) if value.array.ndim == 0 else f"constant {node.type!r}"
    name = name_of(node)
    if name is not None:
        return name
    return {"bound": f"#{node.attrs.get('position')}"}.get(node.op.name, node.op.name)


def ordered_attrs(node: Node) -> list[tuple[str, Any]]:
    """The attributes that say something to a reader: no types, identities, names or values."""
    hidden = {"type", "identity", "name", "scope", "value", "cell", "trainable", "level"}
    return [(key, value) for key, value in node.attrs.items() if key not in hidden and not isinstance(value, Body)]
