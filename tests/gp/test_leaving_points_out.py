"""The pointwise log-likelihood of data of a process: each point given all the others."""

import warnings

import arviz as az
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import ppl as pm

RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(0, 3, 12))[:, None]
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=12)
AXES = [np.linspace(0, 1, 3)[:, None], np.linspace(0, 2, 4)[:, None]]


def on_a_line():
    gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 2, 1)), mean_func=pm.gp.mean.Constant(0.3))
    gp.marginal_likelihood("y", X=X, y=Y, sigma=pm.HalfNormal("sigma", 1))
    return lambda ls, sigma: pm.gp.cov.ExpQuad(1, ls=ls)(X).eval() + (sigma**2 + 1e-6) * np.eye(12)


def as_a_chain():
    gp = pm.gp.Marginal(cov_func=pm.gp.cov.Matern32(1, ls=pm.Gamma("ls", 2, 1)), mean_func=pm.gp.mean.Constant(0.3))
    gp.marginal_likelihood("y", X=X, y=Y, sigma=pm.HalfNormal("sigma", 1))
    return lambda ls, sigma: pm.gp.cov.Matern32(1, ls=ls)(X).eval() + (sigma**2 + 1e-6) * np.eye(12)


def on_a_grid():
    kernels = lambda ls: [pm.gp.cov.ExpQuad(1, ls=ls), pm.gp.cov.Matern52(1, ls=0.7)]
    gp = pm.gp.MarginalKron(cov_funcs=kernels(pm.Gamma("ls", 2, 1)), mean_func=pm.gp.mean.Constant(0.3))
    gp.marginal_likelihood("y", Xs=AXES, y=Y, sigma=pm.HalfNormal("sigma", 1))
    whole = lambda ls: np.kron(*[k(x).eval() for k, x in zip(kernels(ls), AXES, strict=True)])
    return lambda ls, sigma: whole(ls) + sigma**2 * np.eye(12)


def left_out(covariance):
    """Each point given the others, by the definition."""
    found = []
    for i in range(len(Y)):
        rest = np.arange(len(Y)) != i
        weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, i])
        sd = np.sqrt(covariance[i, i] - weights @ covariance[rest, i])
        found.append(norm(0.3 + weights @ (Y[rest] - 0.3), sd).logpdf(Y[i]))
    return found


@pytest.mark.parametrize("build", [on_a_line, as_a_chain, on_a_grid])
def test_each_point_is_scored_given_the_others(build):
    with pm.Model() as model:
        covariance = build()
        draws = pm.sample(100, tune=200, chains=2, random_seed=1, quiet=True, compute_convergence_checks=False)
        pm.compute_log_likelihood(draws, progressbar=False)
    found = draws.log_likelihood["y"].values
    assert found.shape == (2, 100, 12)
    for chain, draw in ((0, 3), (1, 77)):
        at = {name: float(draws.posterior[name][chain, draw]) for name in ("ls", "sigma")}
        np.testing.assert_allclose(found[chain, draw], left_out(covariance(**at)), rtol=1e-6, atol=1e-8)
    clone = pm.do(model, {"sigma": 0.3})
    with clone:
        again = pm.compute_log_likelihood(draws, progressbar=False, extend_inferencedata=False)
    assert again["y"].shape == (2, 100, 12)


def test_loo_agrees_with_fits_that_leave_points_out():
    """The expected log density of a point that was left out, by importance and by fits without it."""
    with pm.Model():
        on_a_line()
        draws = pm.sample(1000, chains=2, random_seed=1, quiet=True, idata_kwargs={"log_likelihood": True})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loo = az.loo(draws, pointwise=True)
    assert loo.n_data_points == 12
    for i in (0, 3):  # whose Pareto k is below 0.5: beyond 0.7, as of point 6, importance ratios do not tell it
        assert loo.pareto_k[i] < 0.5
        rest = np.arange(12) != i
        with pm.Model():
            gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 2, 1)),
                                mean_func=pm.gp.mean.Constant(0.3))  # fmt: skip
            gp.marginal_likelihood("y", X=X[rest], y=Y[rest], sigma=pm.HalfNormal("sigma", 1))
            without = pm.sample(1000, chains=2, random_seed=2, quiet=True)
        densities = []
        for ls, sigma in without.posterior[["ls", "sigma"]].to_array().values.reshape(2, -1).T[::4]:
            covariance = np.exp(-0.5 * (X - X.T) ** 2 / ls**2) + (sigma**2 + 1e-6) * np.eye(12)
            weights = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, i])
            sd = np.sqrt(covariance[i, i] - weights @ covariance[rest, i])
            densities.append(norm(0.3 + weights @ (Y[rest] - 0.3), sd).pdf(Y[i]))
        assert abs(float(loo.loo_i[i]) - np.log(np.mean(densities))) < 0.15


def test_rows_of_a_latent_process_that_was_integrated_out_are_scored_one_by_one():
    with pm.Model():
        f = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.Gamma("ls", 2, 1))).prior("f", X=X)
        pm.Normal("y", f, pm.HalfNormal("sigma", 1), observed=Y)
        draws = pm.sample(50, tune=100, chains=2, random_seed=1, quiet=True, compute_convergence_checks=False,
                          idata_kwargs={"log_likelihood": True})  # fmt: skip
    at = draws.posterior.isel(chain=1, draw=7)
    assert draws.log_likelihood["y"].shape == (2, 50, 12)
    found = draws.log_likelihood["y"].values[1, 7]
    np.testing.assert_allclose(found, norm(at["f"].values, float(at["sigma"])).logpdf(Y), rtol=1e-9)


def test_vectors_that_are_no_process_keep_their_joint_density():
    with pm.Model():
        pm.MvNormal("y", pm.Normal("m"), np.eye(2), observed=np.array([0.1, 0.2]))
        draws = pm.sample(20, tune=20, chains=1, random_seed=1, quiet=True, idata_kwargs={"log_likelihood": True},
                          compute_convergence_checks=False)  # fmt: skip
    m = float(draws.posterior["m"][0, 0])
    expected = multivariate_normal([m, m], np.eye(2)).logpdf([0.1, 0.2])
    np.testing.assert_allclose(float(draws.log_likelihood["y"][0, 0]), expected)
