"""Names of tensors, scopes, and how a tensor shows itself.

Inputs and variables carry their name; a computed tensor gets one from `named(x, "mu")`, an operation that changes
nothing but is a boundary that rewriting respects. Assigning `x.name = "mu"` (as Theano programs do) only sets a label.
"""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NoReturn

from ppl.graph import Attrs, Node, NodeDict, pickling
from ppl.graph.node import living
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import CONSTANT, INPUT, Tensor, as_tensor, function, value_of

_labels: NodeDict[str] = NodeDict()


class _Scopes(threading.local):
    path: str = "/"
    asked: bool = False  # in the innermost block, see `first_in_scope`


_current = _Scopes()


class Scope:
    """Names made inside `with Scope("layer1"):` live under `/layer1/`; scopes nest.

    >>> with ppl.Scope("layer1"):
    ...     ppl.current_scope()
    '/layer1/'
    """

    def __init__(self, name: str) -> None:
        if not name or "*" in name:
            raise ValueError(f"a scope needs a name without '*', got {name!r}")
        self.name = name.strip("/")
        self._outer: list[tuple[str, bool]] = []

    def __enter__(self) -> Scope:
        self._outer.append((_current.path, _current.asked))
        _current.path, _current.asked = f"{_current.path}{self.name}/", False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.path, _current.asked = self._outer.pop()


def current_scope() -> str:
    """The path of the scope that new names get, "/" outside any.

    >>> ppl.current_scope()
    '/'
    """
    return _current.path


def flat_name(path: str) -> str:
    """A scope and a name as one name without slashes: "/net/Dense/W" is "net_Dense_W"."""
    return path.strip("/").replace("/", "_")


# Functions that list names in use here by others than variables: the model of a `with` block lists its own.
other_names: list[Callable[[], Iterable[str]]] = []


def first_in_scope() -> bool:
    """Whether this is asked for the first time in the block of a scope; always so outside any."""
    first = _current.path == "/" or not _current.asked
    _current.asked = True
    return first


class _Named(TensorOp):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type

    def __call__(self, x: Any, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"a name is a string, got {name!r}")
        x = x if isinstance(x, Node) else as_tensor(x)
        return Node(self, (x,), Attrs(name=name, scope=current_scope()))


NAMED = named = _Named("named", lambda x, name, scope: x)


@function()
def name_of(node: Node) -> str | None:
    """The label a node was given by `x.name = ...`, or else the name it was made with."""
    return _labels.get(node) or node.attrs.get("name")


def label_of(node: Node) -> str | None:
    """The label a node was given by `x.name = ...`."""
    return _labels.get(node)


@function()
def set_label(node: Node, label: Any) -> None:
    """Remember a label for printing and for giving values by name; None removes it."""
    if label is None:
        _labels.pop(node, None)
    elif isinstance(label, str):
        _labels[node] = label
    else:
        raise TypeError(f"a name is a string, got {label!r}")


pickling.labels.append((label_of, set_label))


@function()
def describe(node: Tensor) -> str:
    """One line: name, operation, shape, dtype and scope."""
    shape = ", ".join("?" if dim is None else str(dim) for dim in node.type.shape)
    if node.op is CONSTANT:
        value = value_of(node)
        return str(value.item()) if value.ndim == 0 else f"constant({node.type!r})"
    inner = node.inputs[0] if node.op is NAMED else node
    kind = {INPUT.name: "Input"}.get(inner.op.name, "Op" if inner.inputs else inner.op.name.capitalize())
    parts = [f"name={name_of(node)}"] if name_of(node) else []
    if kind == "Op":
        parts.append(f"fn={inner.op.name}")
    parts += [f"shape=({shape})", f"dtype={node.dtype}"]
    if node.scope != "/" or node.op is NAMED:
        parts.append(f"scope={node.scope}")
    return f"{kind}({', '.join(parts)})"


@function()
def plain(node: Node) -> Node:
    """The node under its names."""
    while node.op is NAMED:
        node = node.inputs[0]
    return node


# --- finding by name --------------------------------------------------------------------------------------------------
def matching(nodes: Iterable[Node], name: str, scope: str) -> list[Any]:
    """Those of the nodes whose name matches the glob, and whose scope matches its own or lies below.

    A name with slashes is a glob over scope and name together: "/layer*/w" looks in the scopes "/layer*/", "/Adam*"
    finds all that is in the scope "/Adam/".
    """
    if "/" in name:
        path = name if name.startswith("/") else "/" + name
        return [
            node
            for node in nodes
            if (own := name_of(node)) and fnmatch.fnmatchcase(f"{node.attrs.get('scope', '/')}{own}", path)
        ]
    pattern = (scope if scope.startswith("/") else "/" + scope).rstrip("/") + "/"
    return [
        node
        for node in nodes
        if fnmatch.fnmatchcase(name_of(node) or "", name)
        and (
            fnmatch.fnmatchcase(where := node.attrs.get("scope", "/"), pattern)
            or fnmatch.fnmatchcase(where, pattern + "*")
        )
    ]


def get_placeholders(name: str = "*", scope: str = "/") -> list[Tensor]:
    """Living inputs whose name and scope match the globs.

    >>> import ppl.tensor as tt
    >>> x = tt.Placeholder((2,), "float64", name="here_only")
    >>> [p.name for p in ppl.get_placeholders("here_only")]
    ['here_only']
    """
    return matching((node for node in living() if node.op is INPUT), name, scope)


def get_ops(name: str = "*", scope: str = "/") -> list[Tensor]:
    """Living computed tensors with a name, by globs over names and scopes.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> y = tt.exp(x)
    >>> isinstance(ppl.get_ops("*"), list)
    True
    """
    return matching((node for node in living() if node.inputs and name_of(node) is not None), name, scope)


def current_graph() -> NoReturn:
    """There is none: SymJAX's global graph kept every tensor alive and allowed one model at a time."""
    raise AttributeError(
        "there is no global graph: a tensor holds what it is computed from. Use to_networkx(tensor) for its graph, "
        "get_variables(), get_placeholders() and get_ops() to find tensors by name."
    )
