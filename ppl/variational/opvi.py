"""PyMC's module of this name: approximations, groups, operators, and what can be wrong with them."""

from ppl.variational.approximations import Approximation as Approximation
from ppl.variational.errors import AEVBInferenceError as AEVBInferenceError
from ppl.variational.errors import ExplicitInferenceError as ExplicitInferenceError
from ppl.variational.errors import GroupError as GroupError
from ppl.variational.errors import NotImplementedInference as NotImplementedInference
from ppl.variational.errors import ParametrizationError as ParametrizationError
from ppl.variational.errors import VariationalInferenceError as VariationalInferenceError
from ppl.variational.groups import Group as Group
from ppl.variational.operators import Operator as Operator
from ppl.variational.test_functions import Kernel as TestFunction  # noqa: F401
