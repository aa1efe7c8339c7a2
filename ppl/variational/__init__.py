"""Variational inference, Pathfinder and Laplace: approximations of a posterior, each with its diagnosis.

`fit` is the front door. What it works on is a `Problem`, the posterior as written or rewritten; what it returns an
`Approximation`, whose `report` says whether it has converged and how far it may be trusted. Kernels that know no model
are in `ppl.samplers.approximate`.
"""

from ppl.variational import approximations as approximations
from ppl.variational import callbacks as callbacks
from ppl.variational import inference as inference
from ppl.variational import operators as operators
from ppl.variational import opvi as opvi
from ppl.variational import stein as stein
from ppl.variational import test_functions as test_functions
from ppl.variational import updates as updates
from ppl.variational.approximations import Approximation as Approximation
from ppl.variational.approximations import Empirical as Empirical
from ppl.variational.approximations import FullRank as FullRank
from ppl.variational.approximations import MeanField as MeanField
from ppl.variational.approximations import Report as Report
from ppl.variational.approximations import sample_approx as sample_approx
from ppl.variational.groups import Group as Group
from ppl.variational.inference import ADVI as ADVI
from ppl.variational.inference import ASVGD as ASVGD
from ppl.variational.inference import SVGD as SVGD
from ppl.variational.inference import FullRankADVI as FullRankADVI
from ppl.variational.inference import ImplicitGradient as ImplicitGradient
from ppl.variational.inference import Inference as Inference
from ppl.variational.inference import KLqp as KLqp
from ppl.variational.inference import fit as fit
from ppl.variational.inference import fit_dadvi as fit_dadvi
from ppl.variational.laplace import fit_laplace as fit_laplace
from ppl.variational.pathfinder import fit_pathfinder as fit_pathfinder
from ppl.variational.stein import Stein as Stein
from ppl.variational.updates import adadelta as adadelta
from ppl.variational.updates import adagrad as adagrad
from ppl.variational.updates import adagrad_window as adagrad_window
from ppl.variational.updates import adam as adam
from ppl.variational.updates import adamax as adamax
from ppl.variational.updates import apply_momentum as apply_momentum
from ppl.variational.updates import apply_nesterov_momentum as apply_nesterov_momentum
from ppl.variational.updates import momentum as momentum
from ppl.variational.updates import nesterov_momentum as nesterov_momentum
from ppl.variational.updates import norm_constraint as norm_constraint
from ppl.variational.updates import rmsprop as rmsprop
from ppl.variational.updates import sgd as sgd
from ppl.variational.updates import total_norm_constraint as total_norm_constraint
