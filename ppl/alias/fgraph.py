"""PyTensor's graphs with inputs and outputs, rewriters of single operations, and graphs as operations.

Nodes of ppl do not change, so a replacement builds the outputs anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ppl.compile import graph_replace
from ppl.graph import Node, substitute, topological
from ppl.tensor.tensor import as_tensor


class FunctionGraph:
    """Inputs, and outputs that are computed from them."""

    def __init__(self, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), clone: bool = True, **_: Any) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)

    @property
    def variables(self) -> set[Node]:
        """Every node of the graph."""
        return set(topological(self.outputs))

    @property
    def apply_nodes(self) -> set[Node]:
        """The nodes that are computed."""
        return {node for node in self.variables if node.inputs}

    def toposort(self) -> list[Node]:
        """The nodes that are computed, each after those that it uses."""
        return [node for node in topological(self.outputs) if node.inputs]

    def replace(self, var: Any, new_var: Any, reason: Any = None, **_: Any) -> None:
        """Put another node in the place of one."""
        self.replace_all([(var, new_var)])

    def replace_all(self, pairs: Iterable[tuple[Any, Any]], reason: Any = None, **_: Any) -> None:
        """Put other nodes in the places of some, all at once."""
        self.outputs = substitute(self.outputs, {old: as_tensor(new) for old, new in pairs})

    def clone(self, **_: Any) -> FunctionGraph:
        return FunctionGraph(self.inputs, self.outputs)

    copy = clone


class NodeRewriter:
    """A function `(fgraph, node)` that gives a node's replacements, or None where it has none."""

    def __init__(self, function: Callable[..., Any], tracks: Sequence[Any] | None) -> None:
        self.function, self.tracked = function, tuple(tracks) if tracks else None
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def transform(self, fgraph: FunctionGraph, node: Node) -> Any:
        """The replacements of a node: a list, a dictionary, or None."""
        return self.function(fgraph, node) if self._concerns(node.op) else None

    __call__ = transform

    def rewrite(self, fgraph: FunctionGraph) -> None:
        """Replace what it finds, until it finds nothing more."""
        seen: set[Node] = set()
        while (found := self._first(fgraph, seen)) is not None:
            fgraph.replace_all(found)

    def rewritten(self, outputs: Sequence[Any]) -> list[Any]:
        """The outputs with everything replaced that it finds."""
        fgraph = FunctionGraph(outputs=outputs)
        self.rewrite(fgraph)
        return fgraph.outputs

    def _first(self, fgraph: FunctionGraph, seen: set[Node]) -> list[tuple[Any, Any]] | None:
        for node in fgraph.toposort():
            if node in seen:
                continue
            seen.add(node)
            new = self.transform(fgraph, node)
            pairs = list(new.items()) if isinstance(new, dict) else list(zip([node], new or (), strict=False))
            if pairs:
                return pairs
        return None

    def _concerns(self, op: Any) -> bool:
        return self.tracked is None or any(
            isinstance(op, each) if isinstance(each, type) else op is each for each in self.tracked
        )


def node_rewriter(tracks: Sequence[Any] | None = None, **_: Any) -> Callable[[Callable[..., Any]], NodeRewriter]:
    """A decorator: a function of a graph and a node as a rewriter; `tracks` names operations that it is asked about."""
    return lambda function: NodeRewriter(function, tracks)


def in2out(*rewriters: NodeRewriter, name: str | None = None, **_: Any) -> NodeRewriter:
    """Several rewriters as one, the first that has a replacement."""

    def first(fgraph: FunctionGraph, node: Node) -> Any:
        return next((new for each in rewriters if (new := each.transform(fgraph, node))), None)

    first.__name__ = name or "_".join(each.__name__ for each in rewriters)
    return NodeRewriter(first, None)


out2in = in2out


OWN_GRADIENTS = ("lop_overrides", "grad_overrides", "rop_overrides", "pullback")
# How PyTensor compiles and checks the inner graph: values do not depend on it.
OF_COMPILERS = ("inline", "strict", "on_unused_input", "connection_pattern", "destroy_map")


class OpFromGraph:
    """A graph as an operation: called, it is the graph with the arguments in the places of its inputs."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any], *, name: str | None = None, **options: Any):
        unknown = options.keys() - {*OWN_GRADIENTS, *OF_COMPILERS}
        if unknown:
            raise TypeError(f"OpFromGraph has no argument {', '.join(sorted(unknown))}")
        own = [key for key in OWN_GRADIENTS if options.get(key)]
        if own:
            raise NotImplementedError(
                f"OpFromGraph: {own[0]} is not there yet. An Op with perform and grad has a gradient of its own."
            )
        self.inner_inputs, self.inner_outputs, self.name = list(inputs), list(outputs), name

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self.inner_inputs):
            raise TypeError(f"OpFromGraph takes {len(self.inner_inputs)} inputs, got {len(arguments)}")
        changes = {old: as_tensor(new) for old, new in zip(self.inner_inputs, arguments, strict=True)}
        results = graph_replace(self.inner_outputs, changes, strict=False)
        return results[0] if len(results) == 1 else results


class RewriteDatabaseQuery:
    """Which rewriters of a database are meant, by their tags."""

    def __init__(self, include: Iterable[str | None] = (), require: Any = None, exclude: Any = None, **_: Any) -> None:
        self.include = list(include)
        self.require, self.exclude = list(require or ()), list(exclude or ())


class SequenceDB:
    """Rewriters by name and tags. They can be asked for; ppl's own rewriting does not use them."""

    def __init__(self, **_: Any) -> None:
        self.entries: dict[str, tuple[Any, frozenset[Any]]] = {}

    def register(self, name: str, rewriter: Any, *tags: Any, **_: Any) -> None:
        """Enter a rewriter under a name, with tags."""
        if name in self.entries:
            raise ValueError(f"the database has a rewriter {name!r} already")
        self.entries[name] = (rewriter, frozenset([name, *tags]))

    def query(self, *tags: Any, **_: Any) -> NodeRewriter:
        """The rewriters that have one of the tags, as one."""
        wanted = {tag.lstrip("+") for tag in tags if isinstance(tag, str)}
        wanted |= {tag for query in tags if isinstance(query, RewriteDatabaseQuery) for tag in query.include}
        return in2out(*[rewriter for rewriter, known in self.entries.values() if known & wanted])


class EquilibriumDB(SequenceDB):
    """The same; what it finds is applied until nothing changes."""


optdb = SequenceDB()  # PyTensor's own; ppl's rewrites have no tags of PyTensor's, so it begins empty
