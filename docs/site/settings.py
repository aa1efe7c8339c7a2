"""Parameters that show what each family can look like: for its picture, and the first of them for its example."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl as pm


class Written(str):
    """A value as its expression, where a draw stands for its law."""

    __slots__ = ()

    def value(self) -> Any:
        return eval(self, {"pm": pm, "np": np})


SQUARE = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]])
COVARIANCE = np.array([[1.0, 0.6], [0.6, 2.0]])
NORMAL = Written("pm.Normal.dist(0, 1)")
VECTOR = Written("pm.MvNormal.dist(np.zeros(2), np.eye(2))")


def given(**values: Any) -> dict[str, Any]:
    """Parameters by name."""
    return values


def each(**values: list[Any]) -> list[dict[str, Any]]:
    """`each(mu=[0, 1], sigma=[1, 2])` are two settings."""
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


NUMBERS: dict[str, list[dict[str, Any]]] = {
    "AsymmetricLaplace": each(kappa=[0.5, 1.0, 2.0], mu=[0.0, 0.0, 0.0], b=[1.0, 1.0, 1.0]),
    "Bernoulli": each(p=[0.2, 0.5, 0.9]),
    "Beta": each(alpha=[0.5, 2.0, 2.0, 5.0], beta=[0.5, 2.0, 5.0, 1.5]),
    "BetaBinomial": each(alpha=[0.5, 2.0, 6.0], beta=[0.5, 2.0, 2.0], n=[10, 10, 10]),
    "BetaNegativeBinomial": each(alpha=[3.0, 6.0, 6.0], beta=[2.0, 2.0, 4.0], n=[3, 3, 6]),
    "BetaPrime": each(alpha=[1.0, 2.0, 5.0], beta=[2.0, 3.0, 5.0]),
    "Binomial": each(n=[5, 10, 10], p=[0.5, 0.3, 0.8]),
    "BurrXII": each(c=[1.0, 2.0, 4.0], d=[2.0, 2.0, 1.0]),
    "Categorical": each(p=[np.array([0.1, 0.6, 0.3]), np.array([0.4, 0.1, 0.5])]),
    "Cauchy": each(alpha=[0.0, 0.0, -2.0], beta=[0.5, 1.0, 1.0]),
    "ChiSquared": each(nu=[1.0, 3.0, 9.0]),
    "DiscreteUniform": each(lower=[0, -2], upper=[5, 2]),
    "DiscreteWeibull": each(q=[0.5, 0.9, 0.9], beta=[0.7, 1.3, 2.0]),
    "ExGaussian": each(mu=[0.0, 0.0, -2.0], sigma=[1.0, 0.4, 0.4], nu=[1.0, 2.0, 0.5]),
    "Exponential": each(lam=[0.5, 1.0, 2.0]),
    "Frechet": each(alpha=[1.5, 3.0, 5.0], s=[1.0, 1.0, 2.0]),
    "Gamma": each(alpha=[1.0, 2.0, 7.5], beta=[0.5, 1.0, 1.0]),
    "Geometric": each(p=[0.1, 0.25, 0.6]),
    "Gumbel": each(mu=[0.0, 0.0, 2.0], beta=[0.5, 1.0, 2.0]),
    "HalfCauchy": each(beta=[0.5, 1.0, 2.0]),
    "HalfNormal": each(sigma=[0.5, 1.0, 2.0]),
    "HalfStudentT": each(nu=[1.0, 4.0, 30.0], sigma=[1.0, 1.0, 2.0]),
    "HurdleGamma": each(psi=[0.8, 0.5], alpha=[2.0, 4.0], beta=[1.0, 1.0]),
    "HurdleLogNormal": each(psi=[0.8, 0.5], mu=[0.0, 1.0], sigma=[0.5, 0.5]),
    "HurdleNegativeBinomial": each(psi=[0.8, 0.5], mu=[3.0, 6.0], alpha=[2.0, 5.0]),
    "HurdlePoisson": each(psi=[0.8, 0.5], mu=[2.0, 5.0]),
    "HyperGeometric": each(N=[50, 50, 50], k=[10, 25, 40], n=[10, 10, 20]),
    "Interpolated": each(x_points=[np.linspace(-2, 2, 41)], pdf_points=[np.exp(-np.abs(np.linspace(-2, 2, 41)))]),
    "InverseGamma": each(alpha=[1.0, 2.0, 3.0], beta=[1.0, 1.0, 2.0]),
    "Kumaraswamy": each(a=[0.5, 2.0, 5.0], b=[0.5, 3.0, 2.0]),
    "Laplace": each(mu=[0.0, 0.0, -2.0], b=[0.5, 1.0, 1.5]),
    "LogLogistic": each(alpha=[1.0, 1.0, 2.0], beta=[1.0, 3.0, 6.0]),
    "LogNormal": each(mu=[0.0, 0.0, 1.0], sigma=[0.25, 1.0, 0.5]),
    "Logistic": each(mu=[0.0, 0.0, -2.0], s=[0.4, 1.0, 1.5]),
    "LogitNormal": each(mu=[0.0, 0.0, 1.0], sigma=[0.3, 1.5, 0.7]),
    "Lomax": each(alpha=[1.0, 3.0, 5.0], m=[1.0, 1.0, 2.0]),
    "Moyal": each(mu=[0.0, 0.0, 2.0], sigma=[0.5, 1.0, 1.0]),
    "NegativeBinomial": each(mu=[3.0, 8.0, 8.0], alpha=[1.0, 2.0, 20.0]),
    "Normal": each(mu=[0.0, 0.0, -2.0], sigma=[1.0, 0.5, 2.0]),
    "OrderedLogistic": each(eta=[0.0, 1.5], cutpoints=[np.array([-1.0, 0.5, 2.0])] * 2),
    "OrderedProbit": each(eta=[0.0, 1.5], cutpoints=[np.array([-1.0, 0.5, 2.0])] * 2),
    "Pareto": each(alpha=[1.0, 3.0, 5.0], m=[1.0, 1.0, 2.0]),
    "Poisson": each(mu=[0.5, 3.0, 8.0]),
    "PolyaGamma": each(h=[1.0, 2.0, 2.0], z=[0.0, 0.0, 4.0]),
    "Rayleigh": each(sigma=[0.5, 1.0, 2.0]),
    "Rice": each(nu=[0.0, 1.0, 4.0], sigma=[1.0, 1.0, 1.0]),
    "Skellam": each(mu1=[2.0, 5.0, 1.0], mu2=[2.0, 1.0, 4.0]),
    "SkewNormal": each(alpha=[-6.0, 0.0, 3.0], mu=[0.0, 0.0, 0.0], sigma=[1.0, 1.0, 1.0]),
    "SkewStudentT": each(a=[1.0, 3.0, 6.0], b=[3.0, 3.0, 2.0], mu=[0.0] * 3, sigma=[1.0] * 3),
    "StudentT": each(nu=[1.0, 4.0, 30.0], mu=[0.0, 0.0, 0.0], sigma=[1.0, 1.0, 1.0]),
    "Triangular": each(lower=[0.0, 0.0], upper=[4.0, 4.0], c=[1.0, 3.0]),
    "TruncatedNormal": each(mu=[0.0, 2.0], sigma=[1.0, 1.0], lower=[-1.0, 0.0], upper=[3.0, 2.0]),
    "Uniform": each(lower=[0.0, -1.0], upper=[1.0, 2.0]),
    "VonMises": each(mu=[0.0, 0.0, 1.5], kappa=[0.5, 2.0, 8.0]),
    "Wald": each(mu=[1.0, 1.0, 2.0], lam=[1.0, 5.0, 5.0]),
    "Weibull": each(alpha=[0.7, 1.5, 4.0], beta=[1.0, 1.0, 1.5]),
    "ZeroInflatedBinomial": each(psi=[0.6, 0.9], n=[10, 10], p=[0.5, 0.3]),
    "ZeroInflatedNegativeBinomial": each(psi=[0.6, 0.9], mu=[4.0, 6.0], alpha=[2.0, 10.0]),
    "ZeroInflatedPoisson": each(psi=[0.6, 0.9], mu=[3.0, 5.0]),
    "DiracDelta": each(c=[3.0]),
}

WHOLE: dict[str, dict[str, Any]] = {  # families whose values have several numbers, and those that have no picture
    "AR": given(rho=[0.6, 0.2], sigma=1.0, init_dist=NORMAL, steps=4),
    "CAR": given(mu=np.zeros(4), W=SQUARE, alpha=0.5, tau=1.0),
    "Dirichlet": given(a=np.array([2.0, 3.0, 5.0])),
    "DirichletMultinomial": given(n=10, a=np.array([2.0, 3.0, 5.0])),
    "DiscreteMarkovChain": given(P=np.array([[0.9, 0.1], [0.3, 0.7]]), steps=4),
    "GARCH11": given(omega=0.2, alpha_1=0.3, beta_1=0.5, initial_vol=1.0, steps=4),
    "GaussianRandomWalk": given(mu=0.0, sigma=1.0, init_dist=NORMAL, steps=4),
    "ICAR": given(W=SQUARE, sigma=1.0),
    "KroneckerNormal": given(mu=np.zeros(4), covs=[COVARIANCE, COVARIANCE]),
    "LKJCholeskyCov": given(eta=2.0, n=2, sd_dist=Written("pm.Exponential.dist(1.0, shape=2)")),
    "LKJCorr": given(n=3, eta=2.0),
    "MatrixNormal": given(mu=np.zeros((2, 2)), rowcov=COVARIANCE, colcov=COVARIANCE),
    "Multinomial": given(n=10, p=np.array([0.2, 0.3, 0.5])),
    "MvGaussianRandomWalk": given(mu=np.zeros(2), cov=COVARIANCE, init_dist=VECTOR, steps=3),
    "MvNormal": given(mu=np.zeros(2), cov=COVARIANCE),
    "MvStudentT": given(nu=4.0, mu=np.zeros(2), scale=COVARIANCE),
    "MvStudentTRandomWalk": given(nu=4.0, mu=np.zeros(2), scale=COVARIANCE, init_dist=VECTOR, steps=3),
    "OrderedMultinomial": given(eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0]), n=10),
    "RandomWalk": given(
        init_dist=Written("pm.Normal.dist(0, 1)"), innovation_dist=Written("pm.Normal.dist(0, 0.5)"), steps=4
    ),
    "StickBreakingWeights": given(alpha=2.0, K=3),
    "Wishart": given(nu=5.0, V=COVARIANCE),
    "ZeroSumNormal": given(sigma=1.0, support_shape=4),
}


def first_of(name: str) -> dict[str, Any] | None:
    """The parameters of the example of a family, if there are some."""
    return WHOLE.get(name) or next(iter(NUMBERS.get(name, ())), None)
