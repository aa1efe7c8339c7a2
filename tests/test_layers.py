"""Arrows between the parts point down only. Each fault is reported with its file, its line and its arrow."""

import ast
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A part may import itself and the parts named beside it.
# `ppl/__init__.py` is the roof: it may import all of them, and none of them may import it. What it has is in `public`.
BELOW = {
    "xla": "",
    "graph": "",
    "tensor": "graph xla",
    "distributions": "tensor graph",
    "rewrites": "distributions tensor graph xla",
    "compile": "rewrites distributions tensor graph xla",
    "samplers": "xla",
    "nn": "compile distributions tensor graph",
    "dims": "xtensor model distributions tensor graph",
    "bridge": "xtensor model samplers compile rewrites distributions tensor graph xla",
    "xtensor": "distributions tensor graph",
    "sources": "rewrites distributions tensor graph",
    "model": "sources xtensor nn samplers compile rewrites distributions tensor graph xla",
    "ode": "model compile rewrites distributions tensor graph xla",
    "gp": "model compile rewrites distributions tensor graph",
    "variational": "model samplers compile rewrites distributions tensor graph xla",
    "extras": "variational model samplers compile rewrites distributions tensor graph xla",
    "smc": "model samplers compile rewrites distributions tensor graph xla",
    "scoring": "many model samplers compile rewrites distributions tensor graph xla smc",
    "distributed": "model xla",
    "many": "model samplers compile rewrites distributions tensor graph xla",
    "alias": "gp model nn samplers compile rewrites distributions tensor graph xla",
    "__main__": "alias",  # the command `python -m ppl`
    "opening": "public",  # when the package is opened
    # The public names, of all parts.
    "public": "alias bridge gp ode model nn samplers compile rewrites distributions tensor graph xla",
}
# Imported at the top of a module; all else third-party would make the first model wait or an extra necessary. JAX is
# loaded when a program is first traced or run: ppl/xla/later.py.
AT_THE_TOP = {"numpy"}
# Imported on first use, inside the function that needs them.
ON_FIRST_USE = set(
    "jax scipy arviz matplotlib graphviz rich networkx pandas polars xarray zarr h5netcdf "
    "pyarrow obstore fsspec optax nutpie numpyro blackjax IPython pytest joblib cloudpickle".split()
)
SLOW_OF_PYTHON = {"importlib.metadata", "urllib.parse", "urllib.request"}  # they bring parsers of mails and of archives
# The bridge alone reaches for these: the user has handed over a model of PyMC, or asked it to know ppl.
BY_THE_BRIDGE = {"pymc", "pytensor"}


house = runpy.run_path(str(ROOT / "docs/house.py"))
Import, source_files, imports_of = house["Import"], house["source_files"], house["imports_of"]
part, is_ours, circles, module_arrows = house["part"], house["is_ours"], house["circles"], house["module_arrows"]


# Judging


def arrows_turned_round(imports: list) -> Iterator[str]:
    for i in imports:
        if not is_ours(i.target) or part(i.source) in ("ppl", part(i.target)):
            continue
        if part(i.source) not in BELOW:
            yield f"{i}: the part {part(i.source)} has no row in the table of tests/test_layers.py"
        elif part(i.target) not in BELOW[part(i.source)].split():
            may = BELOW[part(i.source)] or "nothing of ours"
            yield f"{i}: {part(i.source)} -> {part(i.target)} is turned round; {part(i.source)} may import {may}"


def cycles(imports: list) -> Iterator[str]:
    """Modules that need each other in order to load or, by their annotations, in order to be understood."""
    for ring in circles(sorted(module_arrows(imports))):
        yield f"import cycle: {', '.join(sorted(ring))}"


def hidden_imports(imports: list) -> Iterator[str]:
    for i in imports:
        may = ON_FIRST_USE | (BY_THE_BRIDGE if part(i.source) == "bridge" else set())
        may |= {"ppl"} if part(i.source) == "opening" else set()  # which loads the package when it is asked for
        if i.hidden and i.target.split(".")[0] not in may and i.target not in SLOW_OF_PYTHON:
            yield f"{i}: {i.target} is imported inside a function; move it to the top of {i.source}"


def heavy_imports(imports: list) -> Iterator[str]:
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


# Folders

# How many folders of a room stand in circles: each of these needs all others of its circle. A number can only fall, and
# a room that is not named has none.
IN_CIRCLES = {"tensor": 6, "distributions": 6, "model": 12}


def folders_in_circles(root: Path) -> dict[str, int]:
    found = [each for ring in house["circles_of_folders"](root) for each in ring]
    return Counter(each.split("/")[1] for each in found)


def test_no_more_folders_stand_in_circles_than_stood():
    found = folders_in_circles(ROOT)
    more = {room: n for room, n in found.items() if n > IN_CIRCLES.get(room, 0)}
    assert not more, f"more folders in circles, which `python3 dev.py house` lists: {more}, so far {IN_CIRCLES}"
    assert found == IN_CIRCLES, f"fewer folders in circles: let IN_CIRCLES be {dict(found)}"


def test_a_planted_circle_of_folders_is_counted(tmp_path):
    plant(tmp_path, SOUND | {"graph/a/x.py": "from ppl.graph.b import y", "graph/b/y.py": "", "graph/b/z.py": ""})
    assert folders_in_circles(tmp_path) == {}
    plant(tmp_path, {"graph/b/z.py": "from ppl.graph.a.x import name"})
    assert folders_in_circles(tmp_path) == {"graph": 2}


# Classes


def patched_classes(root: Path) -> Iterator[str]:
    """Attributes of classes of ours that a module sets from outside: whoever reads the class does not find them."""
    for file in source_files(root).values():
        tree = ast.parse(file.read_text())
        imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in (each for t in targets for each in (t.elts if isinstance(t, ast.Tuple) else [t])):
                match target:
                    case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in imported and name[0].isupper():
                        yield f"{file.relative_to(root).as_posix()}:{node.lineno}: {name}.{attr} is set from outside"


def test_no_class_is_patched():
    faults = list(patched_classes(ROOT))
    assert not faults, "\n" + "\n".join(faults)


def test_a_patched_class_is_named(tmp_path):
    plant(tmp_path, SOUND | {"model/copy.py": "from ppl.model.model import Model\nModel.copy, x = print, 1"})
    assert list(patched_classes(tmp_path)) == ["ppl/model/copy.py:2: Model.copy is set from outside"]


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
    (
        "samplers/kernels/nuts.py",
        "import ppl.model",
        "ppl/samplers/kernels/nuts.py:1: samplers -> model is turned round",
    ),
    (
        "tensor/core/ops.py",
        "def f():\n    import ppl.compile",
        "ppl/tensor/core/ops.py:2: tensor -> compile is turned round",
    ),
    ("attic/x.py", "import ppl.graph", "ppl/attic/x.py:1: the part attic has no row"),
    (
        "graph/node.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ppl.tensor import add",
        "ppl/graph/node.py:3: graph -> tensor is turned round",
    ),
    (
        "graph/node.py",
        "from ppl.graph.walk import walk",
        "import cycle: ppl.graph.node, ppl.graph.walk",
    ),
    (
        "graph/node.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ppl.graph.walk import walk",
        "import cycle: ppl.graph.node, ppl.graph.walk",
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
    "samplers/__init__.py": "import numpy.linalg as la\ndef f():\n    from scipy.special import erf",
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


def loaded_by(program: str) -> set[str]:
    """The modules, Python's own left out, that a program has loaded."""
    code = f"import sys\n{program}\nprint('\\n', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {m for m in done.stdout.splitlines()[-1].split() if m.split(".")[0] not in sys.stdlib_module_names}


BEFORE = loaded_by("")  # what this installation of Python loads by itself


def test_import_ppl_loads_these_modules():
    assert loaded_by("import ppl") - BEFORE == {
        "ppl", "ppl.opening", "ppl.xla", "ppl.xla.flags", "ppl.xla.later", "ppl.xla.private"
    }  # fmt: skip


HEAVY = {"jax", "jaxlib", "scipy", "networkx", "arviz", "matplotlib", "numba", "rich"} | BY_THE_BRIDGE
MODEL = """
import ppl as pm
with pm.Model():
    mu = pm.Normal("mu", 0, 10)
    pm.Normal("y", mu, 1, observed=[1.0, 2.0, 3.0])
"""
SAMPLED = """
    from ppl.model.output import results
    results.PATIENCE = 600  # on a machine that is busy with other work, too
    result = pm.sample(100, tune=10, random_seed=1, progressbar=False)
print(pm.summary(result))
"""


def test_a_model_is_built_by_numpy_alone():
    assert not loaded_by(MODEL) & (HEAVY | {"pandas", "xarray", "numpy.ma"})


def test_a_conjugate_model_is_sampled_and_its_table_printed_without_jax():
    assert not loaded_by(MODEL + SAMPLED) & (HEAVY | {"pandas", "xarray"})


@pytest.mark.parametrize("first", [
    "from ppl import *; Normal, Model, sample",
    "import ppl; assert {'Normal', 'sample', 'tensor'} <= set(dir(ppl))",
    "from ppl.distributions.timeseries import AR; from ppl.distributions import Normal; Normal('x')",
    "import ppl.tensor as tt, ppl; assert ppl.tensor is tt and tt.__spec__.loader.name == 'ppl.tensor'",
    "from ppl.rewrites import strict; import ppl; assert ppl.rewrites.engine.engine.strict is strict",
    "import ppl.model.model as m, ppl; assert ppl.Model is m.Model and ppl.model.model is m",
    "import pickle, ppl; assert pickle.loads(b'cppl.model.model\\nModel\\n.') is ppl.Model",
    "import ppl; assert not hasattr(ppl, 'no_such_name') and ppl.__version__",
    "import threading, ppl; t = [threading.Thread(target=lambda: ppl.Normal) for _ in range(8)]; "
    "[x.start() for x in t]; [x.join() for x in t]; ppl.Model",
])  # fmt: skip
def test_whatever_is_asked_for_first_opens_all_of_the_package(first):
    """A family that is reached by its module knows of models, which stand above it."""
    code = (
        f"try:\n    exec({first!r})\nexcept TypeError as error:\n    assert 'No model on context stack' in str(error)"
    )
    assert "ppl.model.registry.register" in loaded_by(code)


def test_garbage_is_collected_as_before_once_ppl_is_imported():
    code = "import gc; was = gc.get_threshold(); import ppl.model; print(gc.isenabled(), gc.get_threshold() == was)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
