"""Random variables integrated out before sampling, and drawn again after it."""

from ppl.rewrites.marginalization.planning.planner import plan as plan
from ppl.rewrites.marginalization.planning.plans import Plan as Plan
from ppl.rewrites.marginalization.program import Observation as Observation
from ppl.rewrites.marginalization.program import Program as Program
from ppl.rewrites.marginalization.program import Recovery as Recovery
from ppl.rewrites.marginalization.program import Term as Term
