"""Programs of little work by NumPy: the same results as by XLA, and XLA where NumPy declines or the work is more."""

from __future__ import annotations

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.compile.pure import Program
from ppl.model.inference.strategies import quadrature as by_quadrature
from ppl.model.inference.strategies import rejection as by_rejection
from ppl.model.posterior.at_once import at_once
from ppl.model.prediction import draw_rows
from ppl.model.prediction.draw_rows import RowProgram, over_draws
from ppl.samplers import PROGRAMS
from ppl.tensor.tensor import TensorType, placeholder

QUIET = {"progressbar": False, "compute_convergence_checks": False, "chains": 2, "draws": 300, "random_seed": 4}


def schools():
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, np.arange(9.0, 17.0), observed=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))


def change():
    when = pm.DiscreteUniform("when", 0, 39)
    early, late = pm.Exponential("early", 1), pm.Exponential("late", 1)
    counts = np.random.default_rng(1).poisson(np.repeat([4, 1], [25, 15]))
    pm.Poisson("y", tt.switch(when >= np.arange(40), early, late), observed=counts)


def regression():
    x = np.random.default_rng(2).normal(size=(200, 3))
    beta, sigma = pm.Normal("beta", 0, 1, shape=3), pm.HalfNormal("sigma", 1)
    pm.Normal("y", x @ beta, sigma, observed=x @ [1.0, -1.0, 0.5] + np.random.default_rng(3).normal(size=200))


@pytest.mark.parametrize("model", [schools, change, regression])
def test_posteriors_by_numpy_are_those_by_programs(model, monkeypatch):
    with pm.Model():
        model()
        before = PROGRAMS.compilations
        fast = pm.sample(**QUIET)
        assert PROGRAMS.compilations == before, "nothing was compiled"
    for module, name in ((draw_rows, "at_once"), (by_quadrature, "of_batches"), (by_rejection, "of_batches")):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    with pm.Model():
        model()
        slow = pm.sample(**QUIET)
        assert PROGRAMS.compilations > before
    for name in slow.posterior.data_vars:
        np.testing.assert_allclose(fast.posterior[name], slow.posterior[name], rtol=1e-8, atol=1e-10, err_msg=name)


ALONG_TIME_AND_IN_TABLES = {
    "AR": lambda: pm.AR.dist(pm.Normal.dist(0, 0.3, shape=2), sigma=0.5, shape=30, init_dist=pm.Normal.dist(0, 1)),
    "AR of stacks": lambda: pm.AR.dist([[0.5, 0.2], [0.1, -0.3]], sigma=0.5, shape=(2, 20), init_dist=pm.Normal.dist()),
    "GARCH11": lambda: pm.GARCH11.dist(omega=1.0, alpha_1=0.2, beta_1=pm.Beta.dist(2, 5), initial_vol=1.0, shape=30),
    "Interpolated": lambda: pm.Interpolated.dist([0.0, 1.0, 2.0, 4.0], [0.0, 2.0, 1.0, 0.5], shape=(3, 2)),
}


@pytest.mark.parametrize("draws", [1, 40])
@pytest.mark.parametrize("law", ALONG_TIME_AND_IN_TABLES)
def test_laws_along_time_and_in_tables_are_drawn_at_once(law, draws, monkeypatch):
    before = PROGRAMS.compilations
    fast = pm.draw(ALONG_TIME_AND_IN_TABLES[law](), draws=draws, random_seed=3)
    assert PROGRAMS.compilations == before, "nothing was compiled"
    monkeypatch.setattr(draw_rows, "at_once", lambda *_, **__: None)
    slow = pm.draw(ALONG_TIME_AND_IN_TABLES[law](), draws=draws, random_seed=3)
    assert PROGRAMS.compilations > before
    np.testing.assert_allclose(fast, slow, rtol=1e-10)


@pytest.mark.parametrize("model", [schools, change])
def test_chains_are_what_they_are_among_more(model):
    with pm.Model():
        model()
        two, three = pm.sample(**QUIET), pm.sample(**{**QUIET, "chains": 3})
    for name in two.posterior.data_vars:
        assert np.array_equal(two.posterior[name], three.posterior[name][:2])


def test_much_work_and_unknown_operations_are_left_to_programs():
    x = placeholder(TensorType("float64", (10,)), "x")
    assert at_once(Program([x], [tt.exp(x)]), 1000) is not None
    assert at_once(Program([x], [tt.exp(x)]), 10_000_000) is None
    assert at_once(Program([x], [tt.betaln(x, 2.0)]), 10) is None
    assert at_once(Program([x], [tt.exp(placeholder(TensorType("float64", (None,)), "y"))]), 10) is None


def test_where_numpy_declines_a_program_goes_on():
    """Whole numbers of what is none are as XLA has them."""
    x = tt.dscalar("x")
    program = RowProgram([x], [tt.cast(x, "int64"), x + 1])
    values = np.array([[1.0, 2.0, np.nan]])
    before = PROGRAMS.compilations
    whole, more = over_draws(program, [values])
    assert program.at_once(3) is not None and PROGRAMS.compilations == before + 1
    assert whole[0, :2].tolist() == [1, 2] and np.array_equal(more, values + 1, equal_nan=True)
    assert over_draws(program, [values[:, :2]])[0].tolist() == [[1, 2]] and PROGRAMS.compilations == before + 1
