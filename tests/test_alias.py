"""Programs that were written for PyMC run unmodified: `python -m ppl`, `ppl.as_pymc()`, `%load_ext ppl`."""

import contextlib
import importlib
import importlib.metadata
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ppl
from ppl.alias.facade import is_aliased
from ppl.alias.paths import FORMER, PATHS

ROOT = Path(__file__).resolve().parent.parent


pytestmark = pytest.mark.usefixtures("no_real_packages")


@pytest.fixture
def alias():
    with ppl.as_pymc():
        yield


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment(), capture_output=True, text=True, timeout=120
    )


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


# --- the switch


def test_inside_the_block_they_are_ppl_and_outside_they_are_not():
    before = dict(sys.modules)
    with ppl.as_pymc():
        import pymc as pm
        import pytensor.tensor as pt

        assert pm.Normal is ppl.Normal and pt.exp is ppl.tensor.exp
    assert not any(is_aliased(name) for name in sys.modules)
    assert {name for name in before if name not in sys.modules} == set()


def test_a_plain_call_stays_on_until_it_is_restored():
    door = ppl.as_pymc()
    assert importlib.import_module("pymc").Model is ppl.Model
    with ppl.as_pymc():  # on already: leaving this block changes nothing
        pass
    assert importlib.import_module("pymc").Model is ppl.Model
    door.restore()
    door.restore()
    assert "pymc" not in sys.modules


def test_packages_imported_on_top_of_it_leave_with_it(tmp_path, monkeypatch):
    (tmp_path / "models_of_mine").mkdir()
    (tmp_path / "models_of_mine/__init__.py").write_text("from models_of_mine.one import build\n")
    (tmp_path / "models_of_mine/one.py").write_text("import pymc as pm\ndef build(): return pm.Model()\n")
    (tmp_path / "on_top.py").write_text("import models_of_mine\n")
    (tmp_path / "apart.py").write_text("import json\n")
    monkeypatch.syspath_prepend(tmp_path)
    with ppl.as_pymc():
        import apart
        import on_top

        assert isinstance(on_top.models_of_mine.build(), ppl.Model)
    assert {"models_of_mine", "models_of_mine.one", "on_top"}.isdisjoint(sys.modules)
    assert sys.modules.pop("apart") is apart


def test_it_is_off_by_default():
    pytest.importorskip("pymc")
    done = run("-c", "import ppl, pymc; print(pymc.__file__)")
    assert "site-packages" in done.stdout


def test_a_real_pymc_that_is_there_already_is_an_error_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", sys)
    with pytest.raises(ImportError, match=r"pymc is imported already .* before the first import of pymc"):
        ppl.as_pymc()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", sys)
    with pytest.raises(ImportError, match="Restart the kernel"):
        ppl.load_ipython_extension(None)


def test_real_packages_inside_the_alias(alias, tmp_path, monkeypatch):
    (tmp_path / "pytensor.py").write_text("this_is = 'real'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import pytensor as mine

    with ppl.real():
        import pytensor as real

        assert real.this_is == "real"
    import pytensor

    assert pytensor is mine is not real
    with ppl.real():
        import pytensor

        assert pytensor is real


def test_the_extension_of_notebooks():
    ppl.load_ipython_extension(None)
    assert importlib.import_module("pymc").Normal is ppl.Normal
    ppl.unload_ipython_extension(None)
    assert "pymc" not in sys.modules


# --- names


@pytest.mark.parametrize("path", PATHS)
def test_every_row_of_the_table_holds_what_it_says(alias, path):
    try:
        module = importlib.import_module(path)
    except ImportError as error:
        assert "not in ppl yet" in str(error) and PATHS[path].split() == [f"*ppl.{path.partition('.')[2]}"]
        return
    for name in module._row.names:
        assert getattr(module, name) is not None
    assert set(module._row.names) <= set(dir(module))


@pytest.mark.parametrize(("former", "present"), FORMER.items())
def test_former_names_of_the_packages(alias, former, present):
    module = importlib.import_module(former)
    assert module.Model is importlib.import_module(present).Model
    assert importlib.metadata.version(former).endswith("+ppl")


def test_versions(alias):
    import pymc

    assert importlib.metadata.version("pymc") == pymc.__version__
    assert importlib.metadata.version("numpy") != importlib.metadata.version("pytensor")


@pytest.mark.parametrize(
    "statement",
    ["import pymc.no_such_thing", "from pymc import no_such_thing", "import pymc\npymc.distributions.no_such_thing"],
)
def test_what_is_missing_is_named(alias, statement):
    with pytest.raises((ImportError, AttributeError), match=r"no_such_thing is not in ppl yet"):
        exec(statement)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("pymc", "Normal sample Model math"),
        ("pymc.math", "logsumexp switch"),
        ("pymc.distributions", "Normal transforms"),
        ("pytensor.tensor", "dvector exp"),
    ],
)
def test_all_names_of_a_module_are_taken_by_a_star(alias, module, names):
    taken = {}
    exec(f"from {module} import *", taken)
    assert not set(names.split()) - taken.keys()


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("pytensor", "scan"),
        ("pytensor", "ifelse"),
        *[("pytensor.tensor", n) for n in "shape sort var reshape pad".split()],
    ],
)
def test_a_function_hides_the_module_of_its_name(alias, package, name):
    """As in PyTensor, whatever has been imported of the module before."""
    with contextlib.suppress(ImportError):
        importlib.import_module(f"{package}.{name}")
    assert callable(getattr(importlib.import_module(package), name))


def test_a_name_of_former_years_is_told_what_to_write_now(alias):
    with pytest.raises((ImportError, AttributeError), match=r"Bound is a name of PyMC 3 or 4; write Truncated\("):
        exec("from pymc import Bound")


# --- the command

PROGRAM = """
import sys
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import ordered

def level(x):
    return float(pm.draw(pm.Normal.dist(x, 1e-9)))

if __name__ == "__main__":
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Normal("y", pt.exp(a), 1, observed=[1.0, 2.0])
        trace = pm.sample(50, tune=50, chains=1, progressbar=False, random_seed=1)
    print(sys.argv[1:], trace.posterior["a"].shape, pm.__version__.endswith("+ppl"))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        print(round(pool.submit(level, 3.0).result()))
"""


def test_a_script_with_arguments_and_processes(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("-m", "ppl", "program.py", "--draws", "3", cwd=tmp_path)
    assert done.stdout == "['--draws', '3'] (1, 50) True\n3\n", done.stderr


def test_a_module_a_line_of_code_and_what_is_wrong(tmp_path):
    (tmp_path / "part.py").write_text("import sys, pymc\nprint(sys.argv[1:], pymc.__name__)\nsys.exit(3)\n")
    done = run("-m", "ppl", "-m", "part", "x", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("['x'] pymc\n", 3)
    assert run("-m", "ppl", "-c", "import pymc; print(pymc)").stdout == "<module 'pymc', for which ppl stands>\n"
    assert "there is no file 'absent.py'" in run("-m", "ppl", "absent.py").stderr
    assert "python -m ppl script.py" in run("-m", "ppl").stderr


def test_pytest_and_its_workers(tmp_path):
    (tmp_path / "conftest.py").write_text("import pymc\n")
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
        import pymc as pm
        def test_that_it_is_ppl():
            assert pm.__version__.endswith("+ppl")
        """)
    )
    done = run("-m", "ppl", "--pytest", "-q", "-n", "1", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
