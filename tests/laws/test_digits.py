"""Digits of rewritten densities: data a million standard deviations from zero are as good as data about zero.

Data are whole multiples of 1/8, so that they move by 2²⁰ without rounding, in single precision too; with them moves
whatever says where they are. The density of what is left, and its slopes, may not notice.
"""

from __future__ import annotations

import numpy as np
import pytest

import ppl as pm
import ppl.tensor as tt
from ppl.distributions.declaration.domains import real
from ppl.model.posterior.rewriting import rewritten

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(11)
FAR = 2.0**20
ROWS = 120
GROUP, OTHER = RNG.integers(0, 6, ROWS), RNG.integers(0, 4, ROWS)
GROUP[GROUP == 2] = 3  # an empty group
X = np.round(RNG.normal(size=(ROWS, 2)) * 16) / 16
Y = np.round((RNG.normal(size=6)[GROUP] + X @ [0.5, -1.0] + RNG.normal(size=ROWS)) * 8) / 8
ERRORS = np.array([0.5, 1.0, 1.5, 0.75, 1.25, 1.0])
WHERE = {"mu": 0.25}  # values that move with the data
SCALES = {"sigma_log__": np.log(0.9), "tau_log__": np.log(0.6)}


def data(values):
    return np.asarray(values, pm.config.floatX)


def rows(far):
    pm.Normal("y", pm.Flat("mu"), pm.HalfNormal("sigma", 1), observed=data(Y + far))


def rows_of_known_scales(far):
    scale = data(ERRORS)[GROUP] * pm.HalfNormal("sigma", 1)
    pm.Normal("y", pm.Flat("mu"), scale, observed=data(Y + far))


def levels_of_groups(far):
    mu = pm.Flat("mu")
    pm.Normal("y", (mu + pm.Normal("a", 0, 1, shape=6))[GROUP], pm.HalfNormal("sigma", 1), observed=data(Y + far))


def coefficients(far):
    mean = pm.Flat("mu") + pm.math.dot(data(X), pm.Normal("b", 0, 2, shape=2))
    pm.Normal("y", mean, pm.HalfNormal("sigma", 1), observed=data(Y + far))


def nested(far):
    theta = pm.Normal("theta", pm.Normal("mu", far, 8), pm.HalfNormal("tau", 1), shape=6)
    pm.Normal("y", theta[GROUP], pm.HalfNormal("sigma", 1), observed=data(Y + far))


def nested_under_a_wide_prior(far):
    theta = pm.Normal("theta", pm.Normal("mu", 0, FAR**2), pm.HalfNormal("tau", 1), shape=6)
    pm.Normal("y", theta[GROUP], pm.HalfNormal("sigma", 1), observed=data(Y + far))


def errors_known(far):
    theta = pm.Normal("theta", pm.Flat("mu"), pm.HalfNormal("tau", 1), shape=6)
    pm.Normal("y", theta, data(ERRORS), observed=data(Y[:6] + far))


def slopes_of_groups(far):
    a = pm.Normal("a", pm.Flat("mu"), pm.HalfNormal("tau", 1), shape=6)
    b = pm.Normal("b", 0, 0.5, shape=6)
    pm.Normal("y", a[GROUP] + b[GROUP] * data(X[:, 0]), pm.HalfNormal("sigma", 1), observed=data(Y + far))


def crossed(far):
    a, b = pm.Normal("a", far, pm.HalfNormal("tau", 1), shape=6), pm.Normal("b", 0, 0.5, shape=4)
    pm.Normal("y", a[GROUP] + b[OTHER], pm.HalfNormal("sigma", 1), observed=data(Y + far))


def walk(far):
    first = pm.Normal.dist(far, 4)
    level = pm.GaussianRandomWalk("level", sigma=pm.HalfNormal("tau", 1), init_dist=first, shape=40)
    pm.Normal("y", level, pm.HalfNormal("sigma", 1), observed=data(Y[:40] + far))


def shared_variance(far):
    v = pm.InverseGamma("v", 3.0, 2.0)
    mean = pm.Flat("mu") + pm.math.dot(data(X), pm.Normal("b", 0, pm.math.sqrt(v), shape=2))
    pm.Normal("y", mean, pm.math.sqrt(v), observed=data(Y + far))


COMPACTED = [rows, rows_of_known_scales, levels_of_groups, coefficients]
BLOCKS = [nested, nested_under_a_wide_prior, errors_known, slopes_of_groups, crossed, walk, shared_variance]
DIGITS = {"float64": 1e-9, "float32": 1e-4}


def density_and_slopes(written, far, protect):
    """At a point that moves with the data; the slope along the mean is compared in units of the rows' information."""
    with pm.Model() as model:
        written(far)
    where = [rv.name for rv in model.free_RVs if rv.family.support is real or rv.ndim]
    left = rewritten(model, protect=where if protect else (), eliminate=() if protect else where, moved=False)
    total = left.logp()
    f = model.compile_fn([total, *(tt.grad(total, v) for v in left.values)], inputs=left.values)
    point = {v.name: np.full([n or 0 for n in v.type.shape], SCALES.get(v.name, 0.25), v.dtype) for v in left.values}
    point |= {name: np.asarray(x + far, point[name].dtype) for name, x in WHERE.items() if name in point}
    return [np.asarray(x, float) for x in f(point)], str(left.plan)


@pytest.mark.parametrize("floatX", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("written", [*COMPACTED, *BLOCKS], ids=lambda f: f.__name__)
def test_digits_survive_a_million_standard_deviations_from_zero(written, floatX):
    compacted = written in COMPACTED
    with pm.config.change_flags(floatX=floatX):
        (near, told), (far, _) = (density_and_slopes(written, at, compacted) for at in (0.0, FAR))
    assert ("sufficient statistics" if compacted else "Gaussian block") in told, told
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(b, a, rtol=DIGITS[floatX], atol=DIGITS[floatX])
