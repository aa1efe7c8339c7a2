"""A covariance is read as the sum of products of kernels that it was written as, and is their dense matrix."""

import numpy as np
import pytest

import ppl.tensor as tt
from ppl.rewrites.marginalization.expressions.kernels import Structure, Unstructured, structure_of
from ppl.tensor.core.ops import OPS

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

X = np.random.default_rng(1).normal(size=(5, 2))
LS, ETA, ALPHA = np.array([0.7, 1.9]), tt.constant(1.3), tt.constant(0.8)
EYE = tt.eye(5)


def kernel(name, ls=LS, *parameters):
    return OPS[name](tt.squared_distance(X, X, ls), *parameters)


WRITTEN = {
    "scaled kernel and noise": lambda: ETA**2 * kernel("matern32") + 0.3 * EYE,
    "product over a number": lambda: kernel("matern52") * kernel("exp_quad", 0.9) / 3,
    "constant": lambda: kernel("matern12") + ETA * tt.ones((5, 5)),
    "number added": lambda: kernel("matern12") + ETA,
    "difference": lambda: 3 * kernel("cosine_wave") - kernel("rational_quadratic", 1.1, ALPHA),
    "noise by point": lambda: kernel("matern32") + tt.diag(tt.constant(np.arange(5.0))),
    "known noise": lambda: kernel("matern32") + np.diag(np.arange(5.0)),
    "square of a sum with noise": lambda: (kernel("matern32") + 0.4 * EYE + 0.2) ** 2,
    "product of sums with noise": lambda: (kernel("matern32") + 0.4 * EYE) * (ETA * kernel("exp_quad") + 0.1 * EYE),
    "quasi-periodic": lambda: kernel("exp_quad") * tt.exp_quad(tt.periodic_distance(X, X, LS, 3.0)),
}


def dense(found: Structure) -> np.ndarray:
    """The matrix of a structure, from what it says alone."""
    total = tt.diag(tt.broadcast_to(found.noise, (5,)))
    for summand in found.summands:
        product = summand.scale * tt.ones((5, 5))
        for k in summand.kernels:
            distance = tt.squared_distance if k.period is None else tt.periodic_distance
            scales = (k.ls,) if k.period is None else (k.ls, k.period)
            product = product * OPS[k.correlation](distance(k.x, k.xs, *scales), *k.parameters)
        total = total + product
    return total.eval()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_covariance_is_what_is_read_of_it(name):
    written = WRITTEN[name]()
    np.testing.assert_allclose(dense(structure_of(written)), written.eval(), rtol=1e-13)


UNREAD = {
    "a scaled row": lambda: kernel("matern32") * np.arange(5.0),
    "a matrix": lambda: kernel("matern32") + X @ X.T,
    "no whole power": lambda: kernel("matern32") ** 0.5,
    "a correlation of no distance": lambda: tt.matern32(tt.constant(X @ X.T)),
    "a row added": lambda: kernel("matern32") + np.arange(5.0),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_no_sum_of_kernels_is_refused_with_a_reason(name):
    with pytest.raises(Unstructured, match=r"\w+ "):
        structure_of(UNREAD[name]())


def test_a_constant_matrix_is_known_by_its_value():
    assert structure_of(2.0 * EYE).summands == ()
