"""The theorems by which latent variables are integrated out, in the order in which the planner asks them.

Discrete latents go before most others, since no gradient moves them; what their sums would not leave as it is (counts
of counts, rows with latents of their own, blocks that few labels steer) goes before these. A new theorem is one line
here.
"""

from __future__ import annotations

from ppl.rewrites.marginalization import gaussian, no_descendants
from ppl.rewrites.marginalization.conjugate import compounds, conjugate, pareto, thinning, wishart
from ppl.rewrites.marginalization.discrete import enumeration
from ppl.rewrites.marginalization.gaussian import kronecker_process, markov_process, noisy_process, rotated_process
from ppl.rewrites.marginalization.planning import in_branches
from ppl.rewrites.marginalization.theorem import JointTheorem, Theorem

THEOREMS: tuple[Theorem | JointTheorem, ...] = (
    no_descendants.THEOREM,
    thinning.THEOREM,
    compounds.THEOREM,
    kronecker_process.LARGE,  # no other theorem takes these
    kronecker_process.SMALL,
    markov_process.THEOREM,  # of noisy processes, those that need no factor
    noisy_process.THEOREM,
    rotated_process.THEOREM,
    wishart.THEOREM,  # before means: no gradient moves a Wishart variable
    in_branches.BLOCKS,
    in_branches.STEERED,
    enumeration.THEOREM,
    gaussian.THEOREM,
    conjugate.THEOREM,
    pareto.THEOREM,
)
