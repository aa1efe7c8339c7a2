"""Random variables integrated out before sampling, and drawn again after it."""

from ppl.rewrites.elimination.planner import plan as plan
from ppl.rewrites.elimination.plans import Plan as Plan
from ppl.rewrites.elimination.program import Observation as Observation
from ppl.rewrites.elimination.program import Program as Program
from ppl.rewrites.elimination.program import Recovery as Recovery
from ppl.rewrites.elimination.program import Term as Term
