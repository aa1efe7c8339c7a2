"""Graphs as files: readable JSON and plain arrays, in one .npz archive.

`graph.json` lists the nodes, inputs before users, one a line: `["multiply", [3, 5], {}]`; arrays of more than a few
entries lie beside it as .npy files. Reading looks names up in the registry of known operations and builds nodes, no
more: nothing in a file is ever imported, evaluated or unpickled, and sizes are checked before memory is asked for.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ppl.graph.body import BOUND, Body
from ppl.graph.digest import visiting
from ppl.graph.node import Attrs, FrozenArray, Identity, Node, Op
from ppl.graph.registry import CODECS, OPS
from ppl.graph.walk import ancestors

FORMAT, VERSION = "ppl graph", 1
MAX_BYTES = 2**31  # of a file's contents, unpacked
MAX_NODES = 5_000_000
MAX_DEPTH = 100  # of brackets in the JSON text
_INLINE = 16  # entries of arrays that are written into the text
_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
_MARKS = frozenset({"number", "tuple", "list", "dict", "node", "identity", "array", "body", "object", "function"})


class GraphFileError(ValueError):
    """A file that is no saved graph, or one that cannot be read here; the message says which and what to do."""


# --- writing ----------------------------------------------------------------------------------------------------------
def save(file: str | Path | BinaryIO, graph: Any, label_of: Callable[[Node], str | None] = lambda node: None) -> None:
    """Write a node, or a nested list, tuple or dict of nodes, to a file."""
    writer = _Writer(label_of)
    text = writer.document(graph)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("graph.json", text.encode("utf-8", "surrogatepass"))
        for number, array in enumerate(writer.arrays):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, array, allow_pickle=False)
            archive.writestr(f"array_{number}.npy", entry.getvalue())
    if isinstance(file, str | Path):
        Path(file).write_bytes(stream.getvalue())
    else:
        file.write(stream.getvalue())


class _Writer:
    def __init__(self, label_of: Callable[[Node], str | None]) -> None:
        self.label_of = label_of
        self.arrays: list[np.ndarray] = []
        self.functions: dict[str, Any] = {}
        self.numbers: dict[Node, int] = {}
        self.identities: dict[Identity, int] = {}
        self.objects: dict[Any, int] = {}
        self.array_numbers: dict[FrozenArray, int] = {}

    def document(self, graph: Any) -> str:
        lines: list[str] = []
        links: list[tuple[Any, list[Node | None]]] = []
        roots = list(_nodes_in(graph))
        while roots:
            for node in visiting(roots):
                if node in self.numbers:
                    continue
                for value in node.attrs.values():
                    codec = CODECS.get(type(value))
                    if codec is not None and codec.has_identity and value not in self.objects:
                        self.objects[value] = len(self.objects)
                        links.append((value, codec.nodes(value)))
                lines.append(json.dumps(self.node(node), ensure_ascii=False))
                self.numbers[node] = len(self.numbers)
            roots = [n for _, nodes in links for n in nodes if n is not None and n not in self.numbers]
        objects = []
        for value, nodes in links:
            codec = CODECS[type(value)]
            linked = [None if node is None else self.numbers[node] for node in nodes]
            objects.append([codec.mark, self.plain(codec.parts(value)), linked])
        head = {
            "format": FORMAT,
            "version": VERSION,
            "functions": sorted(self.functions),
            "output": self.plain(graph),
            "objects": objects,
        }
        return json.dumps(head, ensure_ascii=False)[:-1] + ', "nodes": [\n' + ",\n".join(lines) + "\n]}"

    def node(self, node: Node) -> list[Any]:
        name = node.op.name
        if OPS.get(name) is not node.op:
            name = "@" + self.function(name, node.op)
        attrs = {key: self.plain(value) for key, value in node.attrs.items()}
        label = self.label_of(node)
        return [name, [self.numbers[parent] for parent in node.inputs], attrs, *([label] if label is not None else [])]

    def function(self, name: str, function: Any) -> str:
        if self.functions.setdefault(name, function) is not function or name == "<lambda>":
            raise ValueError(
                f"a graph is saved with the names of the user's functions in it, so these must have distinct names: "
                f"{name!r} does not do. Give each function a name of its own."
            )
        return name

    def plain(self, value: Any) -> Any:
        """A value as JSON: itself, or `{mark: parts}`."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"number": ["float", repr(value)]}
        if isinstance(value, complex | np.generic):
            return {"number": [type(value).__name__, repr(value.item() if isinstance(value, np.generic) else value)]}
        if isinstance(value, Node):
            return {"node": self.numbers[value]}
        if type(value) in (tuple, list):
            return {type(value).__name__: [self.plain(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.plain(key), self.plain(item)] for key, item in value.items()]}
        if isinstance(value, Identity):
            return {"identity": self.identities.setdefault(value, len(self.identities))}
        if isinstance(value, FrozenArray):
            return {"array": self.array(value)}
        if isinstance(value, Body):
            return {"body": [[self.numbers[n] for n in nodes] for nodes in (value.params, value.outputs)]}
        if value in self.objects:
            return {"object": self.objects[value]}
        codec = CODECS.get(type(value))
        if codec is not None:
            return {codec.mark: self.plain(codec.parts(value))}
        if callable(value) and hasattr(value, "__name__"):
            return {"function": self.function(value.__name__, value)}
        raise TypeError(f"a graph with an attribute of type {type(value).__name__} cannot be saved: {value!r}")

    def array(self, value: FrozenArray) -> list[Any]:
        array = value.array
        if array.size <= _INLINE and array.dtype.kind in "biuf" and bool(np.all(np.isfinite(array))):
            return [array.dtype.name, list(array.shape), array.ravel().tolist()]
        if value not in self.array_numbers:
            self.array_numbers[value] = len(self.arrays)
            self.arrays.append(array)
        return [self.array_numbers[value]]


def _nodes_in(graph: Any) -> Iterable[Node]:
    if isinstance(graph, Node):
        return [graph]
    if type(graph) is dict:
        graph = graph.values()
    elif type(graph) not in (list, tuple):
        raise TypeError(f"a graph to save is a node, or a list, tuple or dict of nodes, got {graph!r}")
    return [node for part in graph for node in _nodes_in(part)]


# --- reading ----------------------------------------------------------------------------------------------------------
def load(
    file: str | Path | BinaryIO,
    functions: Mapping[str, Any] | None = None,
    set_label: Callable[[Node, str], None] = lambda node, label: None,
) -> Any:
    """What `save` wrote: the same structure of nodes, over fresh inputs, draws and variables.

    `functions` gives back, by name, the user's own functions that the graph contains; they are never in the file.
    """
    try:
        text, arrays = _contents(file)
        document = _document(text)
        return _Reader(document, arrays, dict(functions or {}), set_label).output()
    except (GraphFileError, OSError):
        raise
    except RecursionError as error:
        raise GraphFileError("the file is nested too deeply for a saved graph") from error
    except Exception as error:  # whatever a hostile file provokes is one kind of error
        raise GraphFileError(f"the file is no valid saved graph: {type(error).__name__}: {error}") from error


def _contents(file: Any) -> tuple[str, dict[int, np.ndarray]]:
    arrays: dict[int, np.ndarray] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise GraphFileError(f"the file unpacks to more than {MAX_BYTES} bytes")
            names = {entry.filename for entry in entries}
            if "graph.json" not in names:
                raise GraphFileError(f"the file holds no graph.json, only {', '.join(sorted(names)[:5])}")
            text = archive.read("graph.json").decode("utf-8", "surrogatepass")
            for name in names:
                if name.startswith("array_") and name.endswith(".npy"):
                    arrays[int(name[6:-4])] = _array(archive.read(name))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, zipfile.LargeZipFile) as error:
        raise GraphFileError(f"the file is truncated, damaged or no saved graph: {error}") from error
    return text, arrays


def _array(data: bytes) -> np.ndarray:
    """A .npy entry; its size must be what its header says."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise GraphFileError(f"an array of the unknown format {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = data[stream.tell() :]
    if dtype.name not in _DTYPES or prod(shape) * dtype.itemsize != len(rest):
        raise GraphFileError(f"an array of {dtype} and shape {shape} with {len(rest)} bytes")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if fortran else "C")


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphFileError(f"graph.json is truncated or damaged: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GraphFileError("the file is no saved graph: it does not say so")
    if type(document.get("version")) is not int or document["version"] > VERSION:
        raise GraphFileError(
            f"the file has version {document.get('version')!r} of the format, this ppl reads up to {VERSION}: "
            "read it with a newer ppl"
        )
    if len(document["nodes"]) > MAX_NODES:
        raise GraphFileError(f"the file has {len(document['nodes'])} nodes, more than {MAX_NODES}")
    return document


class _Reader:
    def __init__(
        self,
        document: dict[str, Any],
        arrays: Mapping[int, np.ndarray],
        functions: Mapping[str, Any],
        set_label: Callable[[Node, str], None],
    ) -> None:
        self.document, self.arrays, self.functions, self.set_label = document, arrays, functions, set_label
        self.codecs = {codec.mark: codec for codec in CODECS.values()}
        missing = [name for name in document["functions"] if name not in functions]
        if missing:
            shown = ", ".join(f"{name!r}: {name}" for name in map(str, missing))
            raise GraphFileError(
                "the graph contains functions of its author, which are never saved; give them back by name, as "
                f"load(file, functions={{{shown}}})"
            )
        self.nodes: list[Node] = []
        self.identities: dict[int, Identity] = {}
        self.frozen: dict[int, FrozenArray] = {}
        self.objects: list[Any] = []

    def output(self) -> Any:
        kept = self.document["objects"]
        for mark, parts, _ in kept:
            self.objects.append(self.codecs[mark].make(self.value(parts)))
        for number, record in enumerate(self.document["nodes"]):
            self.nodes.append(self.node(number, record))
        for value, (mark, _, links) in zip(self.objects, kept, strict=True):
            self.codecs[mark].link(value, [None if n is None else self.at(n) for n in links])
        return self.value(self.document["output"])

    def at(self, number: Any) -> Node:
        if type(number) is not int or not 0 <= number < len(self.nodes):
            raise GraphFileError(f"node {number!r} is used before it is defined")
        return self.nodes[number]

    def node(self, number: int, record: list[Any]) -> Node:
        name, inputs, attrs, *label = record
        op = self.op(number, name)
        parents = tuple([self.at(n) for n in inputs])
        try:
            node = Node(op, parents, Attrs(**{str(key): self.value(value) for key, value in attrs.items()}))
        except GraphFileError:
            raise
        except Exception as error:
            raise GraphFileError(f"node {number} ({name}) does not fit together: {error}") from error
        if label and label[0] is not None:
            self.set_label(node, str(label[0]))
        return node

    def op(self, number: int, name: str) -> Op:
        if name.startswith("@"):
            given = self.functions.get(name[1:])
            op = getattr(given, "op", given)
            if not isinstance(op, Op):
                raise GraphFileError(f"node {number} is the user's operation {name[1:]!r}, got {given!r} for it")
            return op
        if name not in OPS:
            raise GraphFileError(
                f"node {number} is the operation {name!r}, which this ppl does not know: it comes from a newer version "
                "or from a package that has to be imported first"
            )
        return OPS[name]

    def value(self, plain: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise GraphFileError("the file is nested too deeply for a saved graph")
        if not isinstance(plain, dict):
            if isinstance(plain, list):
                raise GraphFileError("a list without its mark")
            return plain
        if len(plain) != 1:
            raise GraphFileError(f"a value with {len(plain)} marks")
        ((mark, parts),) = plain.items()
        if mark in _MARKS:
            return getattr(self, f"_{mark}")(parts, depth + 1)
        if mark not in self.codecs:
            raise GraphFileError(f"a value of the unknown kind {mark!r}")
        return self.codecs[mark].make(self.value(parts, depth + 1))

    def _number(self, parts: Any, depth: int) -> Any:
        kind, text = parts
        plain = {"float": float, "complex": complex}.get(kind)
        if plain is not None:
            return plain(text)
        if kind.rstrip("_") not in _DTYPES:
            raise GraphFileError(f"a number of the unknown kind {kind!r}")
        number = text == "True" if kind == "bool" else complex(text) if kind.startswith("complex") else text
        return np.dtype(kind.rstrip("_")).type(number)

    def _tuple(self, parts: Any, depth: int) -> Any:
        return tuple([self.value(part, depth) for part in parts])

    def _list(self, parts: Any, depth: int) -> Any:
        return [self.value(part, depth) for part in parts]

    def _dict(self, parts: Any, depth: int) -> Any:
        return {self.value(key, depth): self.value(part, depth) for key, part in parts}

    def _node(self, parts: Any, depth: int) -> Any:
        return self.at(parts)

    def _identity(self, parts: Any, depth: int) -> Any:
        return self.identities.setdefault(int(parts), Identity())

    def _array(self, parts: Any, depth: int) -> FrozenArray:
        if len(parts) == 1:
            number = int(parts[0])
            if number not in self.frozen:
                self.frozen[number] = FrozenArray(self.arrays[number])
            return self.frozen[number]
        dtype, shape, entries = parts
        if dtype not in _DTYPES or prod(shape) != len(entries):
            raise GraphFileError(f"an array of {dtype!r} and shape {shape!r} with {len(entries)} entries")
        return FrozenArray(np.array(entries, dtype).reshape(shape))

    def _body(self, parts: Any, depth: int) -> Body:
        params, outputs = (tuple([self.at(n) for n in numbers]) for numbers in parts)
        if any(p.op is not BOUND or p.attrs["position"] != i for i, p in enumerate(params)):
            raise GraphFileError("a body whose parameters are not in order")
        own = set(params)
        loose = [n for n in ancestors(outputs) if not n.inputs and n.op is BOUND and n not in own]
        if loose:
            raise GraphFileError(f"a body that needs {loose[0]!r}, which is none of its parameters")
        return Body(params, outputs)

    def _object(self, parts: Any, depth: int) -> Any:
        return self.objects[int(parts)]

    def _function(self, parts: Any, depth: int) -> Any:
        return self.functions[parts]
