"""Families of distributions, one file each."""

from types import ModuleType as _ModuleType

from ppl.distributions import transforms as transforms
from ppl.distributions.declaration import files as _files  # noqa: F401  importing enters the families into files
from ppl.distributions.declaration.distribution import FAMILIES as FAMILIES
from ppl.distributions.declaration.distribution import Distribution as Distribution
from ppl.distributions.declaration.distribution import alternative as alternative
from ppl.distributions.declaration.distribution import param as param
from ppl.distributions.declaration.distribution import requires as requires
from ppl.distributions.declaration.law import law_of as law_of
from ppl.distributions.draws import draws_of_steps as _draws_of_steps  # noqa: F401  importing lets steps of loops draw
from ppl.distributions.draws import random_laws as _random_laws  # noqa: F401  importing gives pt.random densities
from ppl.distributions.draws.draw import DRAW as DRAW
from ppl.distributions.draws.draw import RandomVariable as RandomVariable
from ppl.distributions.draws.draw import is_draw as is_draw
from ppl.distributions.draws.drawing import expand_draws as expand_draws
from ppl.distributions.draws.drawing import sampler as sampler
from ppl.distributions.families.ar import AR as AR
from ppl.distributions.families.asymmetric_laplace import AsymmetricLaplace as AsymmetricLaplace
from ppl.distributions.families.bernoulli import Bernoulli as Bernoulli
from ppl.distributions.families.beta import Beta as Beta
from ppl.distributions.families.beta_binomial import BetaBinomial as BetaBinomial
from ppl.distributions.families.beta_negative_binomial import BetaNegativeBinomial as BetaNegativeBinomial
from ppl.distributions.families.beta_prime import BetaPrime as BetaPrime
from ppl.distributions.families.binomial import Binomial as Binomial
from ppl.distributions.families.burr_xii import BurrXII as BurrXII
from ppl.distributions.families.car import CAR as CAR
from ppl.distributions.families.categorical import Categorical as Categorical
from ppl.distributions.families.cauchy import Cauchy as Cauchy
from ppl.distributions.families.censored import Censored as Censored
from ppl.distributions.families.chi_squared import ChiSquared as ChiSquared
from ppl.distributions.families.custom_dist import CustomDist as CustomDist
from ppl.distributions.families.custom_dist import DensityDist as DensityDist
from ppl.distributions.families.dirac_delta import DiracDelta as DiracDelta
from ppl.distributions.families.dirichlet import Dirichlet as Dirichlet
from ppl.distributions.families.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from ppl.distributions.families.discrete_markov_chain import DiscreteMarkovChain as DiscreteMarkovChain
from ppl.distributions.families.discrete_uniform import DiscreteUniform as DiscreteUniform
from ppl.distributions.families.discrete_weibull import DiscreteWeibull as DiscreteWeibull
from ppl.distributions.families.euler_maruyama import EulerMaruyama as EulerMaruyama
from ppl.distributions.families.ex_gaussian import ExGaussian as ExGaussian
from ppl.distributions.families.exponential import Exponential as Exponential
from ppl.distributions.families.flat import Flat as Flat
from ppl.distributions.families.frechet import Frechet as Frechet
from ppl.distributions.families.gamma import Gamma as Gamma
from ppl.distributions.families.garch import GARCH11 as GARCH11
from ppl.distributions.families.geometric import Geometric as Geometric
from ppl.distributions.families.gumbel import Gumbel as Gumbel
from ppl.distributions.families.half_cauchy import HalfCauchy as HalfCauchy
from ppl.distributions.families.half_flat import HalfFlat as HalfFlat
from ppl.distributions.families.half_normal import HalfNormal as HalfNormal
from ppl.distributions.families.half_student_t import HalfStudentT as HalfStudentT
from ppl.distributions.families.hurdle_gamma import HurdleGamma as HurdleGamma
from ppl.distributions.families.hurdle_log_normal import HurdleLogNormal as HurdleLogNormal
from ppl.distributions.families.hurdle_negative_binomial import HurdleNegativeBinomial as HurdleNegativeBinomial
from ppl.distributions.families.hurdle_poisson import HurdlePoisson as HurdlePoisson
from ppl.distributions.families.hyper_geometric import HyperGeometric as HyperGeometric
from ppl.distributions.families.icar import ICAR as ICAR
from ppl.distributions.families.interpolated import Interpolated as Interpolated
from ppl.distributions.families.inverse_gamma import InverseGamma as InverseGamma
from ppl.distributions.families.kronecker_normal import KroneckerNormal as KroneckerNormal
from ppl.distributions.families.kumaraswamy import Kumaraswamy as Kumaraswamy
from ppl.distributions.families.laplace import Laplace as Laplace
from ppl.distributions.families.lkj_cholesky_cov import LKJCholeskyCov as LKJCholeskyCov
from ppl.distributions.families.lkj_corr import LKJCorr as LKJCorr
from ppl.distributions.families.log_logistic import LogLogistic as LogLogistic
from ppl.distributions.families.log_normal import LogNormal as LogNormal
from ppl.distributions.families.log_normal import Lognormal as Lognormal
from ppl.distributions.families.logistic import Logistic as Logistic
from ppl.distributions.families.logit_normal import LogitNormal as LogitNormal
from ppl.distributions.families.lomax import Lomax as Lomax
from ppl.distributions.families.matrix_normal import MatrixNormal as MatrixNormal
from ppl.distributions.families.mixture import Mixture as Mixture
from ppl.distributions.families.mixture import NormalMixture as NormalMixture
from ppl.distributions.families.moyal import Moyal as Moyal
from ppl.distributions.families.multinomial import Multinomial as Multinomial
from ppl.distributions.families.mv_normal import MvNormal as MvNormal
from ppl.distributions.families.mv_student_t import MvStudentT as MvStudentT
from ppl.distributions.families.negative_binomial import NegativeBinomial as NegativeBinomial
from ppl.distributions.families.normal import Normal as Normal
from ppl.distributions.families.ordered_logistic import OrderedLogistic as OrderedLogistic
from ppl.distributions.families.ordered_multinomial import OrderedMultinomial as OrderedMultinomial
from ppl.distributions.families.ordered_probit import OrderedProbit as OrderedProbit
from ppl.distributions.families.pareto import Pareto as Pareto
from ppl.distributions.families.poisson import Poisson as Poisson
from ppl.distributions.families.polya_gamma import PolyaGamma as PolyaGamma
from ppl.distributions.families.random_walk import GaussianRandomWalk as GaussianRandomWalk
from ppl.distributions.families.random_walk import MvGaussianRandomWalk as MvGaussianRandomWalk
from ppl.distributions.families.random_walk import MvStudentTRandomWalk as MvStudentTRandomWalk
from ppl.distributions.families.random_walk import RandomWalk as RandomWalk
from ppl.distributions.families.rayleigh import Rayleigh as Rayleigh
from ppl.distributions.families.rice import Rice as Rice
from ppl.distributions.families.simulator import Simulator as Simulator
from ppl.distributions.families.skellam import Skellam as Skellam
from ppl.distributions.families.skew_normal import SkewNormal as SkewNormal
from ppl.distributions.families.skew_student_t import SkewStudentT as SkewStudentT
from ppl.distributions.families.stick_breaking_weights import StickBreakingWeights as StickBreakingWeights
from ppl.distributions.families.student_t import StudentT as StudentT
from ppl.distributions.families.triangular import Triangular as Triangular
from ppl.distributions.families.truncated import Truncated as Truncated
from ppl.distributions.families.truncated_normal import TruncatedNormal as TruncatedNormal
from ppl.distributions.families.uniform import Uniform as Uniform
from ppl.distributions.families.von_mises import VonMises as VonMises
from ppl.distributions.families.wald import Wald as Wald
from ppl.distributions.families.weibull import Weibull as Weibull
from ppl.distributions.families.wishart import Wishart as Wishart
from ppl.distributions.families.zero_inflated_binomial import ZeroInflatedBinomial as ZeroInflatedBinomial
from ppl.distributions.families.zero_inflated_negative_binomial import (
    ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial,
)
from ppl.distributions.families.zero_inflated_poisson import ZeroInflatedPoisson as ZeroInflatedPoisson
from ppl.distributions.families.zero_sum_normal import ZeroSumNormal as ZeroSumNormal
from ppl.distributions.log_probability.logprob import conditional_logp as conditional_logp
from ppl.distributions.log_probability.logprob import icdf as icdf
from ppl.distributions.log_probability.logprob import logccdf as logccdf
from ppl.distributions.log_probability.logprob import logcdf as logcdf
from ppl.distributions.log_probability.logprob import logp as logp

__all__ = [  # every export above; the modules of this part are reached by their own names
    name for name, value in list(globals().items()) if name[0] != "_" and not isinstance(value, _ModuleType)
] + ["transforms"]
