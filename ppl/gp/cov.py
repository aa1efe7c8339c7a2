"""Covariance functions of Gaussian processes, by PyMC's names."""

from ppl.gp.covariances.circular import Circular as Circular
from ppl.gp.covariances.coregion import Coregion as Coregion
from ppl.gp.covariances.cosine import Cosine as Cosine
from ppl.gp.covariances.covariance import Add as Add
from ppl.gp.covariances.covariance import BaseCovariance as BaseCovariance
from ppl.gp.covariances.covariance import Combination as Combination
from ppl.gp.covariances.covariance import Constant as Constant
from ppl.gp.covariances.covariance import Covariance as Covariance
from ppl.gp.covariances.covariance import Exponentiated as Exponentiated
from ppl.gp.covariances.covariance import Prod as Prod
from ppl.gp.covariances.exp_quad import ExpQuad as ExpQuad
from ppl.gp.covariances.kron import Kron as Kron
from ppl.gp.covariances.linear import Linear as Linear
from ppl.gp.covariances.linear import Polynomial as Polynomial
from ppl.gp.covariances.matern import Exponential as Exponential
from ppl.gp.covariances.matern import Matern12 as Matern12
from ppl.gp.covariances.matern import Matern32 as Matern32
from ppl.gp.covariances.matern import Matern52 as Matern52
from ppl.gp.covariances.of_functions import Gibbs as Gibbs
from ppl.gp.covariances.of_functions import ScaledCov as ScaledCov
from ppl.gp.covariances.of_functions import WarpedInput as WarpedInput
from ppl.gp.covariances.periodic import Periodic as Periodic
from ppl.gp.covariances.periodic import WrappedPeriodic as WrappedPeriodic
from ppl.gp.covariances.rational_quadratic import RatQuad as RatQuad
from ppl.gp.covariances.stationary import Stationary as Stationary
from ppl.gp.covariances.white_noise import WhiteNoise as WhiteNoise
