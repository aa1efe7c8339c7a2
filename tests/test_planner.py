"""The planner never harms a model: what fails is left out and said, and every family passes through it."""

import numpy as np
import pytest

import ppl as pm
from ppl.rewrites import strict
from ppl.rewrites.elimination import planner


def test_a_theorem_that_fails_is_reported_and_left_out(monkeypatch):
    def broken(result, protected, reasons):
        raise RuntimeError("planted")

    monkeypatch.setitem(planner.THEOREMS, "conjugate", broken)
    monkeypatch.setattr(planner, "_reported", set())
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("count", rate, observed=[1, 2])
    with pytest.raises(RuntimeError, match="planted"):
        pm.explain(model)
    monkeypatch.setattr(strict, "on", False)
    with pytest.warns(UserWarning, match=r"'conjugate' failed \(RuntimeError: planted\) and is left out"):
        assert pm.explain(model).free == ("rate",)


@pytest.mark.parametrize("rows", [5, 400])
def test_a_censored_law_is_no_exponential_family_and_passes_through(rows):
    with pm.Model() as model:
        shape = pm.HalfNormal("shape", 3)
        pm.Censored("y", pm.Weibull.dist(shape, 2.0), lower=None, upper=4.0, observed=np.full(rows, 4.0))
    assert pm.explain(model).free == ("shape",)
    written, rewritten = model.compile_logp(), model.compile_logp(rewrite=True)
    points = [{"shape_log__": value} for value in (-1.0, 0.0, 1.0)]
    np.testing.assert_allclose([rewritten(p) for p in points], [written(p) for p in points], rtol=1e-12)
