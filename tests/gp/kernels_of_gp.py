"""Kernels at which the laws of covariance functions are tested, each written once for PyMC and for us.

An entry is a function of the module of kernels, the module of tensors, and a vector of three positive parameters.
"""

import numpy as np

import ppl as pm

W = np.array([[0.5, -0.4], [0.2, 0.9], [1.1, 0.3]])

KERNELS = {
    "ExpQuad": lambda cov, t, p: p[0] ** 2 * cov.ExpQuad(2, ls=p[1]),
    "ExpQuad of each column": lambda cov, t, p: cov.ExpQuad(2, ls=p[:2]),
    "ExpQuad of one column": lambda cov, t, p: cov.ExpQuad(2, ls_inv=p[1], active_dims=[1]) * p[2],
    "RatQuad": lambda cov, t, p: cov.RatQuad(2, alpha=p[0], ls=p[1]),
    "Matern12": lambda cov, t, p: cov.Matern12(2, ls=p[1]),
    "Matern32": lambda cov, t, p: cov.Matern32(2, ls=[0.7, 1.3]) + p[0],
    "Matern52": lambda cov, t, p: cov.Matern52(2, ls=p[1:]) * cov.ExpQuad(2, ls=p[0]),
    "Exponential": lambda cov, t, p: cov.Exponential(2, ls=p[1]),
    "Cosine": lambda cov, t, p: cov.Cosine(2, ls=3 * p[1], active_dims=[0]),
    "Periodic": lambda cov, t, p: cov.Periodic(2, period=p[0], ls=p[1]),
    "WrappedPeriodic": lambda cov, t, p: cov.WrappedPeriodic(cov.Matern52(2, ls=p[1]), period=p[0]),
    "Circular": lambda cov, t, p: cov.Circular(2, period=4.0 + p[0], tau=4 + p[1], active_dims=[0]),
    "Constant": lambda cov, t, p: cov.Constant(p[0]) + cov.Linear(2, c=p[1]),
    "WhiteNoise": lambda cov, t, p: cov.WhiteNoise(p[0]) + cov.Matern32(2, ls=p[1]),
    "Linear": lambda cov, t, p: cov.Linear(2, c=p[:2], active_dims=[0, 1]),
    "Polynomial": lambda cov, t, p: cov.Polynomial(2, c=p[0], d=2, offset=p[1]),
    "Gibbs": lambda cov, t, p: cov.Gibbs(2, lambda x, a: a + t.exp(x[:, 0]), args=p[0], active_dims=[1]),
    "ScaledCov": lambda cov, t, p: cov.ScaledCov(
        2, cov.Matern52(2, ls=p[1]), lambda x, a: t.exp(a * x[:, 0]), args=p[0]
    ),
    "WarpedInput": lambda cov, t, p: cov.WarpedInput(
        2, cov.Matern52(2, ls=p[1]), lambda x, a: t.tanh(a * x), args=(p[0],)
    ),
    "Coregion": lambda cov, t, p: (
        cov.Coregion(2, W=W * p[0], kappa=p, active_dims=[1]) * cov.ExpQuad(2, ls=p[1], active_dims=[0])
    ),
    "Kron": lambda cov, t, p: cov.Kron([cov.ExpQuad(1, ls=p[0]), cov.Matern32(1, ls=p[1])]),
    "Exponentiated": lambda cov, t, p: cov.ExpQuad(2, ls=p[1]) ** 2 + 2.0 * cov.Matern32(2, ls=p[0]),
    "Prod with an array": lambda cov, t, p: cov.ExpQuad(2, ls=p[1]) * np.full((1, 1), 2.0) * p[0] + 0.5,
}
OUTPUTS = {"Coregion"}  # whose second column holds the numbers of outputs
CORNERS = {"Exponential", "Matern12", "Cosine"}  # where PyMC's distance, the root of r² + 1e-12, is seen


def inputs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Seven points and four others."""
    random = np.random.default_rng(3)
    X, Xs = random.normal(size=(7, 2)), random.normal(size=(4, 2))
    if name in OUTPUTS:
        X[:, 1], Xs[:, 1] = np.arange(7) % 3, np.arange(4) % 3
    return X, Xs


def kernel(name: str, parameters: np.ndarray):
    """The kernel at numbers."""
    return KERNELS[name](pm.gp.cov, pm.tensor, pm.tensor.constant(parameters))
