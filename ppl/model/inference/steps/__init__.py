"""Step methods by PyMC's names: what moves which variable."""

from ppl.model.inference.steps.assignment import Assignment as Assignment
from ppl.model.inference.steps.assignment import assign as assign
from ppl.model.inference.steps.by_density import DEMetropolis as DEMetropolis
from ppl.model.inference.steps.by_density import DEMetropolisZ as DEMetropolisZ
from ppl.model.inference.steps.by_density import Metropolis as Metropolis
from ppl.model.inference.steps.by_density import Slice as Slice
from ppl.model.inference.steps.by_gradients import NUTS as NUTS
from ppl.model.inference.steps.by_gradients import HamiltonianMC as HamiltonianMC
from ppl.model.inference.steps.methods import CompoundStep as CompoundStep
from ppl.model.inference.steps.of_categories import BinaryGibbsMetropolis as BinaryGibbsMetropolis
from ppl.model.inference.steps.of_categories import BinaryMetropolis as BinaryMetropolis
from ppl.model.inference.steps.of_categories import CategoricalGibbsMetropolis as CategoricalGibbsMetropolis
from ppl.model.inference.steps.proposals import CauchyProposal as CauchyProposal
from ppl.model.inference.steps.proposals import LaplaceProposal as LaplaceProposal
from ppl.model.inference.steps.proposals import MultivariateNormalProposal as MultivariateNormalProposal
from ppl.model.inference.steps.proposals import NormalProposal as NormalProposal
from ppl.model.inference.steps.proposals import PoissonProposal as PoissonProposal
from ppl.model.inference.steps.proposals import UniformProposal as UniformProposal
from ppl.model.inference.steps.step_method import StepMethod as StepMethod
