"""Laws of coordinates: whatever is moved, the variable keeps its law."""

import numpy as np
import pytest

import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import FAMILIES
from ppl.rewrites.elimination.coordinates import COORDINATES, PartiallyCentred

POINTS = (-7.0, -3.0, -0.5, 0.0, 0.4, 2.0, 4.0)
ALL = {**COORDINATES, "Normal": PartiallyCentred(np.array(0.3))}
each_coordinate = pytest.mark.parametrize("name", ALL)


def parameters(name):
    """Two settings of a family: its domains' example values."""
    examples = [p.domain.examples for p in FAMILIES[name].params.values()]
    if name == "Uniform":
        return [(-1.0, 3.0), (0.0, 0.5)]
    return [tuple(e[0] for e in examples), tuple(e[-1] for e in examples)]


@each_coordinate
def test_density_is_that_of_the_variable_times_the_slope(name):
    for given in parameters(name):
        fixed = [tt.as_tensor(float(p)) for p in given]
        z = tt.dscalar("z")
        x = ALL[name].backward(z, *fixed)
        whole = FAMILIES[name].logp(x, *fixed) + tt.log(tt.grad(x, z))
        f = function([z], [ALL[name].log_density(z, *fixed), whole])
        for at in POINTS[1:-1]:
            np.testing.assert_allclose(*f(at + 1e-3), rtol=1e-7, atol=1e-9)


@each_coordinate
def test_the_way_there_and_back(name):
    for given in parameters(name):
        fixed = [tt.as_tensor(float(p)) for p in given]
        z = tt.dscalar("z")
        f = function([z], ALL[name].forward(ALL[name].backward(z, *fixed), *fixed))
        for at in POINTS:
            np.testing.assert_allclose(f(at), at, rtol=1e-4, atol=1e-7)


@each_coordinate
def test_the_gradient_has_no_gap(name):
    fixed = [tt.as_tensor(float(p)) for p in parameters(name)[0]]
    z = tt.dscalar("z")
    slope = function([z], tt.grad(tt.log(tt.grad(ALL[name].backward(z, *fixed), z)) + 0.0 * z, z))
    for at in (-0.5, 0.0, 0.5):
        np.testing.assert_allclose(slope(at - 1e-7), slope(at + 1e-7), atol=1e-5)
