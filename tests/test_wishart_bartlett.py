"""A Wishart matrix by Bartlett's decomposition: its law, its coordinates, what it refuses."""

import numpy as np
import pytest

import ppl as pm

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

S = np.array([[2.0, 0.6, -0.3], [0.6, 1.5, 0.2], [-0.3, 0.2, 0.8]])


def test_its_mean_and_variance_are_those_of_wishart():
    with pm.Model():
        matrix = pm.WishartBartlett("W", S, 6)
    draws = pm.draw(matrix, 20_000, random_seed=1)
    variance = 6 * (S**2 + np.outer(np.diag(S), np.diag(S)))
    error = np.sqrt(variance / 20_000)
    assert np.all(np.abs(draws.mean(0) - 6 * S) < 5 * error)
    assert np.all(np.abs(draws.var(0) / variance - 1) < 0.1)


def test_the_factor_squares_to_the_matrix_and_starts_where_asked():
    start = np.array([[3.0, 1.0, 0.2], [1.0, 2.0, 0.1], [0.2, 0.1, 4.0]])
    for is_cholesky, given in ((False, S), (True, np.linalg.cholesky(S))):
        with pm.Model() as model:
            root = pm.WishartBartlett("L", given, 4.5, is_cholesky, return_cholesky=True, initval=start)
        assert [v.name for v in model.free_RVs] == ["L_c", "L_z"]
        point = dict(zip(model.free_RVs, _initial(model), strict=True))
        found = root.eval(point)
        np.testing.assert_allclose(found, np.linalg.cholesky(start), rtol=1e-10, atol=1e-12)


def _initial(model):
    point = model.initial_point()
    return np.exp(point["L_c_log__"]), point["L_z"]


def test_it_refuses_too_few_degrees_of_freedom_and_what_is_no_covariance():
    with pm.Model():
        with pytest.raises(ValueError, match=r'WishartBartlett "W": nu must exceed 2, .* got 2'):
            pm.WishartBartlett("W", S, 2)
        with pytest.raises(ValueError, match='WishartBartlett "W": S must be positive definite'):
            pm.WishartBartlett("W", -S, 5)
