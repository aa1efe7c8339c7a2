"""Step methods by PyMC's names: what moves which variable."""

from ppl.model.inference.steps.assignment import Assignment as Assignment
from ppl.model.inference.steps.assignment import assign as assign
from ppl.model.inference.steps.methods import NUTS as NUTS
from ppl.model.inference.steps.methods import BinaryGibbsMetropolis as BinaryGibbsMetropolis
from ppl.model.inference.steps.methods import BinaryMetropolis as BinaryMetropolis
from ppl.model.inference.steps.methods import CategoricalGibbsMetropolis as CategoricalGibbsMetropolis
from ppl.model.inference.steps.methods import CompoundStep as CompoundStep
from ppl.model.inference.steps.methods import DEMetropolis as DEMetropolis
from ppl.model.inference.steps.methods import DEMetropolisZ as DEMetropolisZ
from ppl.model.inference.steps.methods import HamiltonianMC as HamiltonianMC
from ppl.model.inference.steps.methods import Metropolis as Metropolis
from ppl.model.inference.steps.methods import Slice as Slice
from ppl.model.inference.steps.methods import StepMethod as StepMethod
from ppl.model.inference.steps.proposals import CauchyProposal as CauchyProposal
from ppl.model.inference.steps.proposals import LaplaceProposal as LaplaceProposal
from ppl.model.inference.steps.proposals import MultivariateNormalProposal as MultivariateNormalProposal
from ppl.model.inference.steps.proposals import NormalProposal as NormalProposal
from ppl.model.inference.steps.proposals import PoissonProposal as PoissonProposal
from ppl.model.inference.steps.proposals import UniformProposal as UniformProposal
