"""Arrows between the parts point down only. Each fault is reported with its file, its line and its arrow."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A part may import itself and the parts named beside it.
# `ppl/__init__.py` is the roof: it may import all of them, and none of them may import it.
BELOW = {
    "xla": "",
    "graph": "",
    "tensor": "graph xla",
    "distributions": "tensor graph",
    "rewrites": "distributions tensor graph xla",
    "compile": "rewrites distributions tensor graph xla",
    "samplers": "xla",
    "nn": "compile distributions tensor graph",
    "bridge": "model samplers compile rewrites distributions tensor graph xla",
    "model": "nn samplers compile rewrites distributions tensor graph xla",
}
# Imported at the top of a module; all else third-party would make `import ppl` slow or an extra necessary. SciPy's
# special functions alone add a sixth to the time of `import jax`, and jax.scipy brings them: see ppl/tensor/later.py.
AT_THE_TOP = {"jax", "jaxlib", "numpy"}
# Imported on first use, inside the function that needs them.
ON_FIRST_USE = set(
    "scipy arviz matplotlib graphviz rich networkx pandas polars xarray zarr h5netcdf "
    "optax nutpie numpyro blackjax IPython".split()
)
# The bridge alone reaches for these: the user has handed over a model of PyMC, or asked it to know ppl.
BY_THE_BRIDGE = {"pymc", "pytensor"}


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


def targets(node: ast.AST, source: str, is_package: bool, modules: dict[str, Path]) -> list[str]:
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


def part(module: str) -> str:
    """`ppl.graph.node` belongs to `graph`, `ppl` to the roof."""
    names = module.split(".")
    return names[1] if len(names) > 1 else "ppl"


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "ppl"


# Judging


def arrows_turned_round(imports: list[Import]) -> Iterator[str]:
    for i in imports:
        if not is_ours(i.target) or part(i.source) in ("ppl", part(i.target)):
            continue
        if part(i.source) not in BELOW:
            yield f"{i}: the part {part(i.source)} has no row in the table of tests/test_layers.py"
        elif part(i.target) not in BELOW[part(i.source)].split():
            may = BELOW[part(i.source)] or "nothing of ours"
            yield f"{i}: {part(i.source)} -> {part(i.target)} is turned round; {part(i.source)} may import {may}"


def cycles(imports: list[Import]) -> Iterator[str]:
    """Modules that need each other in order to load; the first such ring."""
    needs: dict[str, set[str]] = {}
    for i in imports:
        if is_ours(i.target) and not i.hidden and not i.typing_only and i.source != i.target:
            needs.setdefault(i.source, set()).add(i.target)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        yield "import cycle: " + " -> ".join(reversed(error.args[1]))


def hidden_imports(imports: list[Import]) -> Iterator[str]:
    for i in imports:
        may = ON_FIRST_USE | (BY_THE_BRIDGE if part(i.source) == "bridge" else set())
        if i.hidden and i.target.split(".")[0] not in may:
            yield f"{i}: {i.target} is imported inside a function; move it to the top of {i.source}"


def heavy_imports(imports: list[Import]) -> Iterator[str]:
    for i in imports:
        package, *rest = i.target.split(".")
        light = package in sys.stdlib_module_names or {package, ".".join([package, *rest[:1]])} & AT_THE_TOP
        if not (light or is_ours(i.target) or i.hidden or i.typing_only):
            yield f"{i}: {i.target} is imported at the top of {i.source}; import it on first use, inside the function"


CHECKS = [arrows_turned_round, cycles, hidden_imports, heavy_imports]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_house_has_no(check):
    faults = list(check(imports_of(ROOT)))
    assert not faults, "\n" + "\n".join(faults)


def test_every_part_stands_in_the_table():
    parts = {part(module) for module in source_files(ROOT)} - {"ppl"}
    assert parts <= BELOW.keys(), f"no row in tests/test_layers.py for {sorted(parts - BELOW.keys())}"


def test_the_table_itself_points_down():
    TopologicalSorter({name: below.split() for name, below in BELOW.items()}).prepare()


# The checks can fail: one planted fault each, found with its line and its name

PLANTED = [
    (
        "graph/node.py",
        "import numpy\nfrom ppl.tensor import add",
        "ppl/graph/node.py:2: graph -> tensor is turned round",
    ),
    ("graph/node.py", "from ..tensor import add", "ppl/graph/node.py:1: graph -> tensor is turned round"),
    ("graph/node.py", "from .. import tensor", "ppl/graph/node.py:1: graph -> tensor is turned round"),
    ("graph/__init__.py", "from .. import tensor", "ppl/graph/__init__.py:1: graph -> tensor is turned round"),
    ("graph/node.py", "import ppl", "ppl/graph/node.py:1: graph -> ppl is turned round"),
    ("graph/node.py", "from ppl import exp", "ppl/graph/node.py:1: graph -> ppl is turned round"),
    ("samplers/nuts.py", "import ppl.model", "ppl/samplers/nuts.py:1: samplers -> model is turned round"),
    ("tensor/ops.py", "def f():\n    import ppl.compile", "ppl/tensor/ops.py:2: tensor -> compile is turned round"),
    ("attic/x.py", "import ppl.graph", "ppl/attic/x.py:1: the part attic has no row"),
    (
        "graph/node.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ppl.tensor import add",
        "ppl/graph/node.py:3: graph -> tensor is turned round",
    ),
    (
        "graph/node.py",
        "from ppl.graph.walk import walk",
        "import cycle: ppl.graph.node -> ppl.graph.walk -> ppl.graph.node",
    ),
    ("graph/op.py", "def f():\n    from .walk import walk", "ppl/graph/op.py:2: ppl.graph.walk is imported inside"),
    (
        "graph/op.py",
        "def f():\n    __import__('ppl.graph.walk')",
        "ppl/graph/op.py:2: ppl.graph.walk is imported inside",
    ),
    (
        "tensor/op.py",
        "import importlib\nf = lambda: importlib.import_module('ppl.graph.walk')",
        "ppl/tensor/op.py:2: ppl.graph.walk is imported inside",
    ),
    (
        "model/sample.py",
        "import arviz as az",
        "ppl/model/sample.py:1: arviz is imported at the top of ppl.model.sample",
    ),
    ("model/sample.py", "import scipy.special", "ppl/model/sample.py:1: scipy.special is imported at the top"),
    ("model/sample.py", "def f():\n    import pymc", "ppl/model/sample.py:2: pymc is imported inside a function"),
]
SOUND = {
    "__init__.py": "from ppl.model import Model as Model",
    "graph/__init__.py": "",
    "graph/node.py": "import numpy as np",
    "graph/walk.py": "from .node import Node\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
    "tensor/__init__.py": "from ppl.graph import node, walk",
    "samplers/__init__.py": "import jax.numpy as jnp\ndef f():\n    from scipy.special import erf",
    "model/__init__.py": "from ppl import samplers, tensor\ndef summary():\n    import arviz",
}


def plant(root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        file = root / "ppl" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [fault for check in CHECKS for fault in check(imports_of(root))]


def test_a_sound_house_passes(tmp_path):
    assert plant(tmp_path, SOUND) == []


@pytest.mark.parametrize(("file", "text", "fault"), PLANTED)
def test_a_planted_fault_is_named(tmp_path, file, text, fault):
    faults = plant(tmp_path, SOUND | {file: text})
    assert any(found.startswith(fault) for found in faults), faults


# What the imports cost


def test_importing_ppl_stays_light():
    heavy = "scipy arviz matplotlib pandas xarray pymc nutpie numpyro blackjax jax.extend"
    code = f"import sys, ppl; print(*[m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_garbage_is_collected_as_before_once_ppl_is_imported():
    code = "import gc; before = gc.get_threshold(); import ppl; assert gc.get_threshold() == before and gc.isenabled()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
