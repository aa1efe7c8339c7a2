"""Models of every class of processes, each written once for PyMC and for us.

An entry is a function of the package and its tensors, inside a model; it returns the process and new points.
"""

import numpy as np

_random = np.random.default_rng(8)
X = np.sort(_random.uniform(0, 3, 9))[:, None]
Y = np.sin(2 * X[:, 0]) + 0.1 * _random.normal(size=9)
COUNTS = np.array([1, 0, 2, 3, 1, 0, 4, 2, 1])
XNEW = np.array([[0.5], [1.7], [3.3]])
X1, X2 = np.linspace(0, 1, 3)[:, None], np.linspace(0, 2, 4)[:, None]
Y12 = _random.normal(size=12)
NEW12 = np.array([[0.3, 0.2], [0.9, 1.3]])


def parameters(pm):
    return pm.InverseGamma("ls", 3, 2), pm.HalfNormal("eta", 2.0), pm.HalfNormal("sigma", 1.0)


def marginal(pm):
    ls, eta, sigma = parameters(pm)
    gp = pm.gp.Marginal(mean_func=pm.gp.mean.Constant(0.4), cov_func=eta**2 * pm.gp.cov.Matern52(1, ls=ls))
    gp.marginal_likelihood("y", X=X, y=Y, sigma=sigma)
    return gp, XNEW


def marginal_with_own_noise(pm):
    ls, eta, sigma = parameters(pm)
    noise = pm.gp.cov.WhiteNoise(sigma) + pm.gp.cov.Matern32(1, ls=0.05) * 0.01
    mean = pm.gp.mean.Linear(coeffs=0.3, intercept=eta) + pm.gp.mean.Zero()
    gp = pm.gp.Marginal(mean_func=mean, cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
    gp.marginal_likelihood("y", X=X, y=Y, sigma=noise)
    return gp, XNEW


def additive(pm):
    ls, eta, sigma = parameters(pm)
    slow, fast = (pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=k * ls)) for k in (1.0, 0.3))
    both = slow + fast
    both.marginal_likelihood("y", X=X, y=Y, sigma=sigma)
    return both, XNEW


def approx(name):
    def build(pm):
        ls, eta, sigma = parameters(pm)
        gp = pm.gp.MarginalApprox(approx=name, cov_func=eta**2 * pm.gp.cov.Matern52(1, ls=ls))
        gp.marginal_likelihood("y", X=X, Xu=X[::3] + 0.01, y=Y, sigma=sigma)
        return gp, XNEW

    return build


def latent(pm):
    ls, eta, _ = parameters(pm)
    gp = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls), mean_func=pm.gp.mean.Constant(0.2))
    f = gp.prior("f", X=X)
    pm.Poisson("y", pm.math.exp(f), observed=COUNTS)
    return gp, XNEW


def latent_of_mv_normal(pm):
    ls, eta, _ = parameters(pm)
    gp = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
    f = gp.prior("f", X=X, reparameterize=False)
    pm.Poisson("y", pm.math.exp(f), observed=COUNTS)
    return gp, XNEW


def latent_of_two_outputs(pm):
    ls, eta, _ = parameters(pm)
    gp = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
    f = gp.prior("f", X=X, n_outputs=2)
    pm.Poisson("y", pm.math.exp(f), observed=np.stack([COUNTS, COUNTS[::-1]]))
    return gp, XNEW


def latent_on_grid(pm):
    ls, eta, _ = parameters(pm)
    kernels = [eta**2 * pm.gp.cov.ExpQuad(1, ls=ls), pm.gp.cov.Matern32(1, ls=0.7)]
    gp = pm.gp.LatentKron(cov_funcs=kernels)
    f = gp.prior("f", Xs=[X1, X2])
    pm.StudentT("y", nu=4, mu=f, sigma=0.3, observed=Y12)
    return gp, NEW12


def marginal_on_grid(pm):
    ls, eta, sigma = parameters(pm)
    kernels = [eta**2 * pm.gp.cov.ExpQuad(1, ls=ls), pm.gp.cov.Matern32(1, ls=0.7)]
    gp = pm.gp.MarginalKron(cov_funcs=kernels)
    gp.marginal_likelihood("y", Xs=[X1, X2], y=Y12, sigma=sigma)
    return gp, NEW12


def hilbert(parametrization, **options):
    def build(pm):
        ls, eta, sigma = parameters(pm)
        gp = pm.gp.HSGP(
            m=[6], parametrization=parametrization, cov_func=eta**2 * pm.gp.cov.Matern52(1, ls=ls), **options
        )
        f = gp.prior("f", X=X)
        pm.Normal("y", f, sigma, observed=Y)
        return gp, XNEW - 0.4

    return build


def hilbert_of_two(pm):
    _, eta, sigma = parameters(pm)
    cov = eta**2 * pm.gp.cov.ExpQuad(3, ls=[0.5, 0.8], active_dims=[2, 0])
    gp = pm.gp.HSGP(m=[3, 4], L=[4.0, 5.0], cov_func=cov)
    points = np.column_stack([X, X**2, X / 2])
    f = gp.prior("f", X=points)
    pm.Normal("y", f, sigma, observed=Y)
    return gp, points[:3]


PROCESSES = {
    "Marginal": marginal,
    "Marginal with own noise": marginal_with_own_noise,
    "sum of Marginals": additive,
    "FITC": approx("FITC"),
    "VFE": approx("VFE"),
    "DTC": approx("DTC"),
    "Latent": latent,
    "Latent as MvNormal": latent_of_mv_normal,
    "Latent of two outputs": latent_of_two_outputs,
    "LatentKron": latent_on_grid,
    "MarginalKron": marginal_on_grid,
    "HSGP": hilbert("noncentered", c=1.5),
    "HSGP centered": hilbert("centered", L=[3.0], drop_first=True),
    "HSGP of two inputs": hilbert_of_two,
}
