"""Families of distributions: PyTensor's random variables as ppl's draws, one line a family.

The parameters are those of PyTensor's op, which are not always those of the constructor: a Gamma comes with a scale, a
NegativeBinomial with n and p, a MvNormal with a covariance whatever was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ppl.distributions as d
import ppl.tensor as tt
from ppl.bridge.custom import by_density
from ppl.bridge.elementwise import without_padding
from ppl.bridge.factors import factor_arguments
from ppl.bridge.reading import Application, Reader, converts, entry_for, is_a, sizes_of
from ppl.distributions import RandomVariable
from ppl.tensor.tensor import Tensor


class Parameters:
    """The parameters of a random variable, as PyTensor's variables and as tensors."""

    def __init__(self, reader: Reader, variables: Any) -> None:
        self.reader, self.variables = reader, [without_padding(v) for v in variables]

    def __getitem__(self, position: int) -> Tensor:
        return self.reader.tensor(self.variables[position])

    def __len__(self) -> int:
        return len(self.variables)

    def all(self) -> list[Tensor]:
        return [self[i] for i in range(len(self))]

    def inverse(self, position: int) -> Tensor:
        """One over a parameter: what it is the inverse of, where it was made so."""
        node = self.variables[position].owner
        if node is not None and type(getattr(node.op, "scalar_op", None)).__name__ == "Reciprocal":
            return self.reader.tensor(without_padding(node.inputs[0]))
        return tt.reciprocal(self[position])

    def is_constant(self, position: int, number: float) -> bool:
        value = self.reader.read(self.variables[position])
        return isinstance(value, np.ndarray) and bool(np.all(value == number))


class Law(NamedTuple):
    """A family and its arguments."""

    family: Any
    arguments: dict[str, Any]


def _plain(family: Any, *names: str) -> Callable[[Parameters], Law]:
    """A family whose parameters come in the order of these names."""
    return lambda p: Law(family, dict(zip(names, p.all(), strict=True)))


def _half_normal(p: Parameters) -> Law | None:
    return Law(d.HalfNormal, {"sigma": p[1]}) if p.is_constant(0, 0.0) else None


def _half_cauchy(p: Parameters) -> Law | None:
    return Law(d.HalfCauchy, {"beta": p[1]}) if p.is_constant(0, 0.0) else None


def _wald(p: Parameters) -> Law:
    return Law(d.Wald, {"mu": p[0], "lam": p[1], **({"alpha": p[2]} if len(p) > 2 else {})})


def _interpolated(p: Parameters) -> Law:
    return Law(d.Interpolated, {"x_points": p[0], "pdf_points": p[1]})


def _car(p: Parameters) -> Law:
    return Law(d.CAR, {"mu": p[0], "W": p[1], "alpha": p[2], "tau": p[3]})


def _mv_normal(p: Parameters) -> Law:
    return Law(d.MvNormal, {"mu": p[0], **factor_arguments(p.reader, p.variables[1])})


def _wishart(p: Parameters) -> Law:
    return Law(d.Wishart, {"nu": p[0], "V": p[1]})


def _matrix_normal(p: Parameters) -> Law:
    return Law(d.MatrixNormal, {"mu": p[0], "rowchol": p[1], "colchol": p[2]})


FAMILIES: dict[str, Callable[[Parameters], Law | None]] = {
    "NormalRV": _plain(d.Normal, "mu", "sigma"),
    "HalfNormalRV": _half_normal,
    "LogNormalRV": _plain(d.LogNormal, "mu", "sigma"),
    "TruncatedNormalRV": _plain(d.TruncatedNormal, "mu", "sigma", "lower", "upper"),
    "SkewNormalRV": _plain(d.SkewNormal, "mu", "sigma", "alpha"),
    "UniformRV": _plain(d.Uniform, "lower", "upper"),
    "FlatRV": _plain(d.Flat),
    "HalfFlatRV": _plain(d.HalfFlat),
    "ExponentialRV": lambda p: Law(d.Exponential, {"lam": p.inverse(0)}),
    "GammaRV": lambda p: Law(d.Gamma, {"alpha": p[0], "beta": p.inverse(1)}),
    "InvGammaRV": _plain(d.InverseGamma, "alpha", "beta"),
    "BetaRV": _plain(d.Beta, "alpha", "beta"),
    "CauchyRV": _plain(d.Cauchy, "alpha", "beta"),
    "HalfCauchyRV": _half_cauchy,
    "StudentTRV": _plain(d.StudentT, "nu", "mu", "sigma"),
    "SkewStudentTRV": _plain(d.SkewStudentT, "a", "b", "mu", "sigma"),
    "LaplaceRV": _plain(d.Laplace, "mu", "b"),
    "LogisticRV": _plain(d.Logistic, "mu", "s"),
    "GumbelRV": _plain(d.Gumbel, "mu", "beta"),
    "MoyalRV": _plain(d.Moyal, "mu", "sigma"),
    "ParetoRV": _plain(d.Pareto, "alpha", "m"),
    "RiceRV": lambda p: Law(d.Rice, {"b": p[0], "sigma": p[1]}),
    "TriangularRV": _plain(d.Triangular, "lower", "c", "upper"),
    "VonMisesRV": _plain(d.VonMises, "mu", "kappa"),
    "WaldRV": _wald,
    "InterpolatedRV": _interpolated,
    "PolyaGammaRV": _plain(d.PolyaGamma, "h", "z"),
    "BernoulliRV": _plain(d.Bernoulli, "p"),
    "BinomialRV": _plain(d.Binomial, "n", "p"),
    "BetaBinomialRV": _plain(d.BetaBinomial, "n", "alpha", "beta"),
    "CategoricalRV": _plain(d.Categorical, "p"),
    "DiscreteUniformRV": _plain(d.DiscreteUniform, "lower", "upper"),
    "GeometricRV": _plain(d.Geometric, "p"),
    "HyperGeometricRV": lambda p: Law(d.HyperGeometric, {"N": p[0] + p[1], "k": p[0], "n": p[2]}),
    "NegBinomialRV": _plain(d.NegativeBinomial, "n", "p"),
    "PoissonRV": _plain(d.Poisson, "mu"),
    "DirichletRV": _plain(d.Dirichlet, "a"),
    "MultinomialRV": _plain(d.Multinomial, "n", "p"),
    "MvNormalRV": _mv_normal,
    "MatrixNormalRV": _matrix_normal,
    "WishartRV": _wishart,
    "CARRV": _car,
    "ICARRV": _plain(d.ICAR, "W", "sigma", "zero_sum_stdev"),
    "StickBreakingWeightsRV": _plain(d.StickBreakingWeights, "alpha", "K"),
}


@converts("RandomVariable")
def random_variable(at: Application) -> Any:
    """A draw; PyTensor's op also gives the next state of its generator, which nothing here uses."""
    if is_a(at.op, "SimulatorRV"):
        raise at.refuse("whose data are simulated on the host and have no density. Sample it with pymc.sample_smc.")
    variables = at.variables
    entry = entry_for(at.op, FAMILIES)
    parameters = Parameters(at.reader, variables[2:])
    law = entry(parameters) if entry else None
    size = sizes_of(at.values[1])
    if law is None:
        return [at.values[0], by_density(at, variables[2:], size)]
    return [at.values[0], made(law, size)]


def made(law: Law, size: Any) -> RandomVariable:
    """The draw of a law, as many as `size` says."""
    return law.family.dist(**law.arguments, size=size)
