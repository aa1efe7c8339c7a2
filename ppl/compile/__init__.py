"""From graphs to compiled programs."""

from ppl.compile.compiled import Function as Function
from ppl.compile.evaluation import evaluated as evaluated
from ppl.compile.evaluation import get as get
from ppl.compile.function import function as function
from ppl.compile.inputs import In as In
from ppl.compile.inputs import Out as Out
from ppl.compile.modes import Mode as Mode
from ppl.compile.modes import NanGuardMode as NanGuardMode
from ppl.compile.modes import get_mode as get_mode
from ppl.compile.modes import optimize as optimize
from ppl.compile.replacement import clone as clone
from ppl.compile.replacement import clone_replace as clone_replace
from ppl.compile.replacement import graph_replace as graph_replace
from ppl.compile.verify import verify_grad as verify_grad
