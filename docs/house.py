"""The house as its imports draw it: folders, files, lines, arrows, circles.

python3 dev.py house              the rooms, the arrows between them and the circles, as text and as Mermaid
python3 dev.py house --follow     which files a model visits in pm.sample, as a run of it tells

Annotations count as imports: what is under `if TYPE_CHECKING:` has to be read by whoever reads the module.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T", bound=Hashable)


class Import(NamedTuple):
    """One imported module, and where."""

    file: str
    line: int
    source: str  # the importing module
    target: str  # the imported module
    hidden: bool  # inside a function or class
    typing_only: bool  # under `if TYPE_CHECKING:`

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


# Reading


def module_name(root: Path, file: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_files(root: Path) -> dict[str, Path]:
    return {module_name(root, file): file for file in sorted((root / "ppl").rglob("*.py"))}


def targets(node: ast.AST, source: str, is_package: bool, modules: Mapping[str, Path]) -> list[str]:
    """The modules that one statement imports, written out in full."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            above = source.split(".")[: len(source.split(".")) - level + is_package] if level else []
            base = ".".join([*above, *([module] if module else [])])
            return [f"{base}.{a.name}" if f"{base}.{a.name}" in modules else base for a in names]
        case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")) as call:
            match call.args:
                case [ast.Constant(value=str(name)), *_]:
                    return [name]
    return []


def imports_of(root: Path) -> list[Import]:
    """Every import statement of the product, `importlib.import_module("...")` included."""
    modules = source_files(root)
    found = []
    for source, file in modules.items():
        is_package = file.name == "__init__.py"
        pending: list[tuple[ast.AST, bool, bool]] = [(ast.parse(file.read_text()), False, False)]
        while pending:
            node, hidden, typing_only = pending.pop()
            for target in targets(node, source, is_package, modules):
                where = file.relative_to(root).as_posix()
                found.append(Import(where, node.lineno, source, target, hidden, typing_only))  # type: ignore[attr-defined]
            hidden |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            guards = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            body = node.body if guards and isinstance(node, ast.If) else []
            pending += [(child, hidden, typing_only or child in body) for child in ast.iter_child_nodes(node)]
    return sorted(found)


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "ppl"


def part(module: str) -> str:
    """`ppl.graph.node` belongs to `graph`, `ppl` to the roof."""
    names = module.split(".")
    return names[1] if len(names) > 1 else "ppl"


def folder(module: str, modules: Mapping[str, Path], root: Path = ROOT) -> str:
    """The folder that a module lies in, as `ppl/model/inference`."""
    return modules[module].parent.relative_to(root).as_posix()


# Circles


def circles(arrows: Iterable[tuple[T, T]]) -> list[list[T]]:
    """The largest sets of things each of which leads to all others, by Tarjan's algorithm without recursion."""
    after: dict[T, list[T]] = {}
    for source, target in arrows:
        after.setdefault(source, []).append(target)
        after.setdefault(target, [])
    index: dict[T, int] = {}
    low: dict[T, int] = {}
    stack: list[T] = []
    found: list[list[T]] = []
    for first in after:
        work = [(first, iter(after[first]))] if first not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
            for target in rest:
                if target not in index:
                    work.append((target, iter(after[target])))
                    break
                if target in stack:
                    low[node] = min(low[node], low[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(stack[at:])
                    del stack[at:]
    return found


def module_arrows(imports: Iterable[Import]) -> set[tuple[str, str]]:
    """Which module needs which, those that a function imports when it runs left out."""
    return {
        (i.source, i.target)
        for i in imports
        if is_ours(i.source) and is_ours(i.target) and not i.hidden and i.source != i.target
    }


def folder_arrows(
    imports: Iterable[Import], modules: Mapping[str, Path], root: Path = ROOT
) -> Counter[tuple[str, str]]:
    """How many imports lead from folder to folder. A front door, `__init__.py`, shows what lies behind it: left out."""
    inside = [i for i in imports if i.target in modules and i.source != i.target and i.source != "ppl"]
    inside = [i for i in inside if modules[i.source].name != "__init__.py"]
    return Counter((folder(i.source, modules, root), folder(i.target, modules, root)) for i in inside)


def circles_of_folders(root: Path = ROOT) -> list[list[str]]:
    """The largest sets of folders each of which needs all others."""
    return circles(sorted({(a, b) for a, b in folder_arrows(imports_of(root), source_files(root), root) if a != b}))


# Drawing


def drawn(root: Path = ROOT) -> Iterator[str]:
    """The house in words, a line each."""
    modules, imports = source_files(root), imports_of(root)
    ours = [i for i in imports if i.target in modules and i.source != i.target and i.source != "ppl"]
    files = Counter(folder(module, modules, root) for module in modules)
    lines: Counter[str] = Counter()
    for module, file in modules.items():
        lines[folder(module, modules, root)] += file.read_text().count("\n")
    between = folder_arrows(imports, modules, root)
    yield f"{'folder':44}{'files':>6}{'lines':>8}  imports of other folders of the same room"
    for name in sorted(files):
        room = "/".join(name.split("/")[:2])
        others = [
            f"{target.removeprefix(room).lstrip('/') or '.'} {n}"
            for (source, target), n in sorted(between.items())
            if source == name != target and (target == room or target.startswith(f"{room}/"))
        ]
        yield f"{name:44}{files[name]:6}{lines[name]:8}  {', '.join(others)}"
    yield f"{'':44}{sum(files.values()):6}{sum(lines.values()):8}"
    rooms = Counter((part(i.source), part(i.target)) for i in ours if part(i.source) != part(i.target))
    yield ""
    yield "Arrows between rooms, with the number of imports"
    for room in sorted({source for source, _ in rooms}):
        yield f"  {room} -> " + ", ".join(f"{b} {n}" for (a, b), n in rooms.most_common() if a == room)
    yield ""
    for what, rings in (
        ("modules", circles(sorted(module_arrows(imports)))),
        ("folders", circles_of_folders(root)),
    ):
        yield f"Circles of {what}: {len(rings) or 'none'}"
        yield from ("  " + ", ".join(sorted(ring)) for ring in rings)
    yield ""
    yield "```mermaid"
    yield "flowchart TD"
    yield from (f"  {a} -->|{n}| {b}" for (a, b), n in sorted(rooms.items()))
    yield "```"


# Following


def follow() -> Iterator[str]:
    """The files with functions that `pm.sample` gives the model or its posterior, or an object that holds one."""
    import logging
    import threading
    from types import FrameType

    import numpy as np

    import ppl as pm
    from ppl.model.posterior.rewriting import Posterior
    from ppl.model.registry.variable_registry import Books

    logging.getLogger("ppl").setLevel(logging.WARNING)
    place = str(ROOT / "ppl")
    found: dict[bool, dict[str, set[str]]] = {True: {}, False: {}}  # itself, or within an object

    def holds(value: object) -> bool:
        within = getattr(value, "__dict__", None)
        return isinstance(within, dict) and any(isinstance(each, Books | Posterior) for each in within.values())

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(place):
            return
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        itself = any(isinstance(each, Books | Posterior) for each in given)
        if itself or any(map(holds, given)):
            file = Path(code.co_filename).relative_to(ROOT).as_posix()
            found[itself].setdefault(file, set()).add(code.co_qualname)

    models = schools(pm, np), coin(pm, np)
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        for model in models:
            pm.sample(100, tune=100, chains=2, random_seed=1, model=model, progressbar=False, quiet=True)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    direct, within = found[True], {file: names for file, names in found[False].items() if file not in found[True]}
    width = max(map(len, [*direct, *within]))
    for files, what in ((direct, "the model, or its posterior"), (within, "an object that holds one of them")):
        yield f"{len(files)} files have functions that take {what}:"
        yield from (f"  {file:{width}}  {', '.join(sorted(files[file]))}" for file in sorted(files))


def schools(pm, np):  # type: ignore[no-untyped-def]
    """A model that NUTS moves."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.StudentT("y", 4, theta, 10.0, observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))
    return model


def coin(pm, np):  # type: ignore[no-untyped-def]
    """A model that is recovered from its data, without a chain."""
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Binomial("y", 10, p, observed=7)
    return model


def main(words: list[str]) -> int:
    if any(word != "--follow" for word in words):
        print(__doc__)
        return 2
    for line in follow() if words else drawn():
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
