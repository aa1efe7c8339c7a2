"""Optimizers make PyMC's steps."""

import json
from pathlib import Path

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.variational import updates

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

NAMES = "sgd momentum nesterov_momentum adagrad adagrad_window rmsprop adadelta adam adamax".split()
KEPT = json.loads((Path(__file__).parents[1] / "golden/pymc_optimizers.json").read_text())


def after_fifty_steps(optimizer, slopes, module=None):
    """Where x ends, whose slopes are x plus the given ones."""
    x, g = tt.shared(np.linspace(-1, 1, 5), "x"), tt.dvector("g")
    step = pm.function([g], [], updates=optimizer([g + x], [x]))
    for row in slopes:
        step(row)
    return x.get_value()


@pytest.mark.parametrize("name", NAMES)
def test_fifty_steps_are_those_of_pymc(name):
    """Kept numbers are PyMC's own, through PyTensor."""
    found = after_fifty_steps(getattr(pm, name), np.array(KEPT["slopes"]))
    np.testing.assert_allclose(found, KEPT["after"][name], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_kept_numbers_are_those_of_pymc(name, pymc5):
    pytensor = pytest.importorskip("pytensor")
    x, g = pytensor.shared(np.linspace(-1, 1, 5)), pytensor.tensor.dvector("g")
    rule = getattr(pymc5, name)
    step = pytensor.function([g], [], updates=rule([g + x], [x]), mode="FAST_COMPILE")
    for row in np.array(KEPT["slopes"]):
        step(row)
    np.testing.assert_allclose(x.get_value(), KEPT["after"][name], rtol=0, atol=1e-12)


def test_settings_alone_give_the_optimizer_back():
    x = tt.shared(np.array([3.0]), "x")
    half = pm.sgd(learning_rate=0.25)
    step = pm.function([], [], updates=half(tt.sum(x**2), [x]))
    step()
    assert x.get_value() == pytest.approx([1.5])


@pytest.mark.parametrize("wrong, error, text", [
    (lambda x: pm.adam([x], None), ValueError, "provide both"),
    (lambda x: pm.adam([x, x], [x]), ValueError, "2 gradient expressions for 1 parameters"),
    (lambda x: pm.adam(tt.sum(x), [tt.dvector("y")]), ValueError, "shared variables only"),
    (lambda x: pm.norm_constraint(x, 1.0), ValueError, "Unsupported tensor dimensionality 1"),
])  # fmt: skip
def test_what_no_optimizer_can_do_is_refused(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong(tt.shared(np.ones(2), "x"))


def test_norms_are_bounded():
    matrix = tt.constant(np.array([[3.0, 0.1], [4.0, 0.1]]))
    found = pm.norm_constraint(matrix, 1.0).eval()
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), [1.0, np.hypot(0.1, 0.1)], rtol=1e-6)
    scaled, norm = pm.total_norm_constraint([tt.constant([3.0]), tt.constant([4.0])], 1.0, return_norm=True)
    assert norm.eval() == pytest.approx(5.0)
    np.testing.assert_allclose([s.eval()[0] for s in scaled], [0.6, 0.8], rtol=1e-6)


def test_every_optimizer_is_in_the_module_of_pymc():
    assert all(getattr(updates, name) is getattr(pm, name) for name in NAMES)
