"""Every example runs to its end: its assertions hold, and its picture is there."""

import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SLOW = {"bayesian_network", "demo", "seasonal_process", "ten_models"}  # more than 15 s on two busy cores
OTHER_PICTURES = {"symjax_sgd", "theano_logistic_regression", "demo"}  # none, or several of other names


@pytest.mark.parametrize(
    "name",
    [pytest.param(p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in sorted(EXAMPLES.glob("*.py"))],
)
def test_an_example_runs(name, monkeypatch):
    picture = EXAMPLES / "output" / f"{name}.png"
    picture.unlink(missing_ok=True)
    picture.parent.mkdir(exist_ok=True)
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    matplotlib.pyplot.close("all")
    assert picture.exists() or name in OTHER_PICTURES
