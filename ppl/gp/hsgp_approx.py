"""Hilbert-space approximations of Gaussian processes, by PyMC's names."""

from ppl.gp.bases import approx_hsgp_hyperparams as approx_hsgp_hyperparams
from ppl.gp.bases import calc_basis_periodic as calc_basis_periodic
from ppl.gp.bases import calc_eigenvalues as calc_eigenvalues
from ppl.gp.bases import calc_eigenvectors as calc_eigenvectors
from ppl.gp.bases import hsgp_size as hsgp_size
from ppl.gp.bases import set_boundary as set_boundary
from ppl.gp.hsgp import HSGP as HSGP
from ppl.gp.hsgp_periodic import HSGPPeriodic as HSGPPeriodic
