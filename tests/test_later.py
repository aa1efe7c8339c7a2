"""JAX that is loaded when it is needed: nothing that is declared before, or waits for it, may be lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ppl.xla import later

ROOT = Path(__file__).resolve().parent.parent


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


START = "import sys; from ppl.xla.later import *; assert 'jax' not in sys.modules\n"


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("with wide(): print(jnp.ones(1).dtype)\nprint(jnp.ones(1).dtype)", "float64\nfloat32"),
        ("with wide():\n    with wide(): pass\n    print(jnp.ones(1).dtype)", "float64"),
        ("with wide():\n    import jax\n    print(Functions('jax.numpy').ones(1).dtype)", "float64"),
        ("f = jit(lambda: jnp.ones(1).dtype)\nwith wide(): print(jit(lambda: jnp.ones(1))().dtype)", "float64"),
        ("with wide(): pass\nprint('jax' in sys.modules, isinstance(np.ones(1), Array))", "False False"),
        ("print(isinstance(jnp.ones(1), Array), is_loaded())", "True True"),
        ("when_loaded(lambda: print('now'))\nprint('before')\njnp.ones(1), jnp.ones(1)", "before\nnow"),
    ],
)  # fmt: skip
def test_before_and_while_jax_is_loaded(program, wanted):
    assert run(f"import numpy as np\n{START}{program}") == wanted


def test_a_block_waits_for_its_own_thread_alone():
    """Another thread that loads JAX neither gets this one's setting nor takes it from it."""
    program = """
import threading
found = {}
def other():
    found["other"] = str(jnp.ones(1).dtype)
with wide():
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    found["own"] = str(jnp.ones(1).dtype)
found["after"] = str(jnp.ones(1).dtype)
print(found)
"""
    assert run(START + program) == "{'other': 'float32', 'own': 'float64', 'after': 'float32'}"


def test_slopes_that_were_given_before_hold():
    program = """
@custom_jvp
def twice(x):
    "Its words."
    return 2 * x

@twice.defjvp
def _(given, moves):
    return twice(*given), 7 * moves[0]

assert "jax" not in sys.modules and twice.__doc__ == "Its words."
print(jax.grad(twice)(1.0), twice(3.0))
"""
    assert run(START + program) == "7.0 6.0"


def test_functions_of_a_module_have_their_names():
    f = later.Functions("jax.numpy").add
    assert f.__name__ == "add" and float(f(1.0, 2.0)) == 3.0
    with pytest.raises(AttributeError):
        later.module("jax.numpy").no_such_function  # noqa: B018
    assert np.asarray(later.module("jax.numpy").zeros(2)).tolist() == [0, 0]


def test_shapes_of_usual_matrices_and_lengths_of_data_do_without_jax(monkeypatch):
    """Models of PyMC are read before JAX is needed, whose import takes longer than reading them."""
    import ppl
    import ppl.tensor as tt
    from ppl.model.inputs import data_values
    from ppl.tensor.core import ops

    monkeypatch.setattr(ops, "_eval_shape", None)
    monkeypatch.setattr(data_values, "evaluate", None)
    v, m = tt.dvector("v"), tt.tensor("m", dtype="float64", shape=(4, 3, 3))
    shapes = [tt.alloc_diag(m[0], 1).type.shape, tt.diag(v).type.shape, tt.linalg.det(m).type.shape]
    assert [*shapes, tt.linalg.expm(m).type.shape] == [(4, 4, 3), (None, None), (4,), (4, 3, 3)]
    with ppl.Model():
        rows = ppl.Data("rows", np.zeros((5, 3)))[1:] @ tt.ones(3)
    assert data_values.value_now(tt.shape(rows)[0]) == 4


def test_rows_that_are_joined_by_factors_are_sampled_without_jax():
    """Their plan holds triangular factors, pseudo-inverses and eigenvectors, which JAX is not asked the types of."""
    program = """
import sys
import numpy as np
import ppl as pm
rng = np.random.default_rng(1)
x = rng.normal(size=(60, 3))
with pm.Model():
    sigma = pm.Exponential("sigma", 1)
    pm.Normal("y", x @ pm.Normal("b", shape=3), sigma, observed=rng.normal(size=60))
    pm.sample(draws=50, tune=50, progressbar=False)
print("jax" in sys.modules)
"""
    assert run(program) == "False"


NO_JAX = {
    "data of unknown length": """
with pm.Model():
    x = pm.Data("x", rng.normal(size=(40, 3)))
    sigma = pm.HalfNormal("sigma", 1)
    pm.Normal("y", x @ pm.Normal("b", shape=x.shape[1]), sigma, observed=rng.normal(size=40))
    pm.sample(draws=50, tune=50, progressbar=False)
""",
    "matrices without a factor far out": """
x = np.column_stack([np.ones(60), rng.normal(100, 10, 60), rng.integers(0, 2, 60)])
x = np.column_stack([x, x[:, 1] * x[:, 2]])
with pm.Model():
    b, sigma = pm.Flat("b", shape=4), pm.HalfCauchy("sigma", 2.5)
    pm.Normal("y", x @ b, sigma, observed=rng.normal(size=60))
    pm.sample(draws=50, tune=50, progressbar=False)
""",
    "groups": """
with pm.Model():
    scales = pm.HalfNormal("scales", 1, shape=3)
    a = pm.Normal("a", 0, scales[0], shape=30)
    b = pm.Normal("b", 0, scales[1], shape=30)
    group = np.repeat(np.arange(30), 5)
    pm.Normal("y", a[group] + b[group] * np.tile(np.arange(5) - 2.0, 30), scales[2], observed=rng.normal(size=150))
    result = pm.sample(draws=50, tune=50, progressbar=False)
str(pm.summary(result))
assert "pandas" not in sys.modules
""",
}


@pytest.mark.parametrize("model", NO_JAX)
def test_small_models_are_sampled_without_jax(model):
    start = "import sys\nimport numpy as np\nimport ppl as pm\nrng = np.random.default_rng(1)\n"
    assert run(f"{start}{NO_JAX[model]}print('jax' in sys.modules)") == "False"


def test_all_modules_are_listed():
    """Those that are found while the package opens, without looking through its folders."""
    from ppl.opening import files_below

    folder = ROOT / "ppl"
    files = {file for file, _ in files_below("ppl", str(folder)).values()}
    assert files == {str(path) for path in folder.rglob("*.py")}
    program = "import ppl, sys; ppl.Model; m = sys.modules['ppl.model']; print(m.__path__ == [m.__spec__.origin[:-12]])"
    assert run(program) == "True"


def test_who_watches_imports_sees_the_whole_package():
    """As programs do that change functions of a module as soon as it is imported."""
    program = """
import builtins
original = builtins.__import__
builtins.__import__ = lambda *given, **more: original(*given, **more)
import ppl
print("sample" in vars(ppl))
"""
    assert run(program) == "True"
    assert run("import ppl; print('sample' in vars(ppl))") == "False"
