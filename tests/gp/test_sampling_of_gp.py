"""Processes in models that are sampled: what is integrated out, and what comes back."""

import numpy as np

import ppl as pm

X = np.linspace(0, 2, 8)[:, None]
Y = np.sin(3 * X[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=8)


def kernel():
    return pm.HalfNormal("eta") ** 2 * pm.gp.cov.Matern52(1, ls=pm.InverseGamma("ls", 3, 2))


def test_a_latent_process_under_normal_rows_is_integrated_out_and_comes_back():
    with pm.Model() as model:
        gp = pm.gp.Latent(cov_func=kernel(), mean_func=pm.gp.mean.Constant(0.1))
        f = gp.prior("f", X=X)
        pm.Normal("y", f, 0.2, observed=Y)
        new = gp.conditional("new", X[:2] + 0.05)
        results = pm.sample(60, tune=60, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False)
    plan = pm.explain(model)
    assert set(plan.free) == {"ls", "eta"}
    posterior = results.posterior
    assert {"f", "f_rotated_", "new", "ls", "eta"} <= set(posterior)
    at = {name: posterior[name].values[1, -1] for name in ("ls", "eta", "f_rotated_", "f", "new")}
    K = at["eta"] ** 2 * pm.gp.cov.Matern52(1, ls=at["ls"])(X).eval() + 1e-6 * np.eye(8)
    np.testing.assert_allclose(0.1 + np.linalg.cholesky(K) @ at["f_rotated_"], at["f"], rtol=1e-6)
    assert np.abs(posterior["f"].mean(("chain", "draw")).values - Y).max() < 0.4
    assert np.isfinite(posterior["new"].values).all() and new.type.shape == (2,)


def plan_of(build):
    with pm.Model() as model:
        pm.Normal("y", build(), pm.HalfNormal("sigma"), observed=Y)
    return pm.explain(model)


def test_sums_grids_and_vectors_of_processes_leave_their_parameters_only():
    latent = lambda name, cov: pm.gp.Latent(cov_func=cov).prior(name, X=X)
    two = plan_of(lambda: latent("f", kernel()) + latent("g", pm.gp.cov.Linear(1, c=0.3)))
    assert set(two.free) == {"ls", "eta", "sigma"}
    kinds = lambda: [kernel(), pm.gp.cov.ExpQuad(1, ls=0.5)]
    grid = plan_of(lambda: pm.gp.LatentKron(cov_funcs=kinds()).prior("f", Xs=[X[:4], X[:2]]))
    assert set(grid.free) == {"ls", "eta", "sigma"}
    vector = plan_of(lambda: pm.gp.Latent(cov_func=kernel()).prior("f", X=X, reparameterize=False))
    assert set(vector.free) == {"ls", "eta", "sigma"}


def test_rows_that_see_the_rotated_variables_too_leave_them_where_they_are():
    """f and v beside each other: v is no factor of f alone."""
    with pm.Model() as model:
        f = pm.gp.Latent(cov_func=kernel()).prior("f", X=X)
        pm.Poisson("y", pm.math.exp(f), observed=np.arange(8))
        pm.Normal("z", model["f_rotated_"], 1.0, observed=Y)
    assert "f_rotated_" in pm.explain(model).free


def test_what_was_added_to_a_covariance_of_prediction_is_told(caplog):
    """New points a billionth apart: their conditional covariance is singular to rounding."""
    Xnew = np.array([[0.5], [0.5 + 1e-9], [0.5 + 2e-9], [1.1], [1.1 + 1e-9]])
    with pm.Model():
        gp = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 20, 20)))
        f = gp.prior("f", X=X)
        pm.Poisson("y", pm.math.exp(f), observed=np.arange(8))
        draws = pm.sample(20, tune=30, chains=1, random_seed=1, quiet=True, compute_convergence_checks=False)
        gp.conditional("new", Xnew)
        with caplog.at_level("WARNING", logger="ppl"):
            found = pm.sample_posterior_predictive(draws, var_names=["new"], random_seed=1, progressbar=False)
    assert np.isfinite(found.posterior_predictive["new"].values).all()
    (told,) = [record.getMessage() for record in caplog.records if "positive definite" in record.getMessage()]
    assert 'The covariance of "new" is not positive definite to rounding at' in told and "of 20 draws" in told
    assert "1e-04 at most" in told


def test_nothing_is_told_where_nothing_was_added(caplog):
    with pm.Model():
        gp = pm.gp.Marginal(cov_func=pm.gp.cov.Matern32(1, ls=pm.Gamma("ls", 20, 20)))
        gp.marginal_likelihood("y", X=X, y=Y, sigma=0.3)
        draws = pm.sample(20, tune=30, chains=1, random_seed=1, quiet=True, compute_convergence_checks=False)
        gp.conditional("new", X + 0.1)
        with caplog.at_level("WARNING", logger="ppl"):
            pm.sample_posterior_predictive(draws, var_names=["new"], random_seed=1, progressbar=False)
    assert not [record for record in caplog.records if "positive definite" in record.getMessage()]
