"""The bridge from the real PyMC: its models as models of ppl, and ppl as a sampler of PyMC.

Called, `ppl.bridge(idata, model)` is bridge sampling (`ppl.scoring`).
"""

import sys

from ppl.bridge.evidence import BridgeSampling as BridgeSampling
from ppl.bridge.models import from_pymc as from_pymc
from ppl.bridge.sampler import register as register
from ppl.bridge.sampler import unregister as unregister

sys.modules[__name__].__class__ = BridgeSampling
