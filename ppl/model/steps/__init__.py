"""Step methods by PyMC's names: what moves which variable."""

from ppl.model.steps.assignment import Assignment as Assignment
from ppl.model.steps.assignment import assign as assign
from ppl.model.steps.methods import NUTS as NUTS
from ppl.model.steps.methods import BinaryGibbsMetropolis as BinaryGibbsMetropolis
from ppl.model.steps.methods import BinaryMetropolis as BinaryMetropolis
from ppl.model.steps.methods import CategoricalGibbsMetropolis as CategoricalGibbsMetropolis
from ppl.model.steps.methods import CompoundStep as CompoundStep
from ppl.model.steps.methods import DEMetropolisZ as DEMetropolisZ
from ppl.model.steps.methods import HamiltonianMC as HamiltonianMC
from ppl.model.steps.methods import Metropolis as Metropolis
from ppl.model.steps.methods import Slice as Slice
from ppl.model.steps.methods import StepMethod as StepMethod
from ppl.model.steps.proposals import CauchyProposal as CauchyProposal
from ppl.model.steps.proposals import LaplaceProposal as LaplaceProposal
from ppl.model.steps.proposals import MultivariateNormalProposal as MultivariateNormalProposal
from ppl.model.steps.proposals import NormalProposal as NormalProposal
from ppl.model.steps.proposals import PoissonProposal as PoissonProposal
from ppl.model.steps.proposals import UniformProposal as UniformProposal
