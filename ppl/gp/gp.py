"""Gaussian processes and Student's t processes, by PyMC's names."""

from ppl.gp.kronecker import LatentKron as LatentKron
from ppl.gp.kronecker import MarginalKron as MarginalKron
from ppl.gp.latent import Latent as Latent
from ppl.gp.marginal import Marginal as Marginal
from ppl.gp.marginal_approx import MarginalApprox as MarginalApprox
from ppl.gp.marginal_approx import MarginalSparse as MarginalSparse
from ppl.gp.process import Base as Base
from ppl.gp.student_t import TP as TP
