r"""Gaussian blocks: normal variables with normal children, integrated out together.

Every factor of a block is a set of *residuals* that are affine in its variables and have independent normal errors: a
likelihood, or a prior with the variable moved to the right; a normal vector is as many regressions, each entry on those
before. Variables whose entries rows touch by one index map are the *groups* (:math:`u_j`, a few coefficients each); all
others are *dense* (:math:`v`). The precision of the groups is block diagonal, or block tridiagonal where rows link
neighbors (a walk in time); with the dense columns it is an arrow. Groups go first, what remains is small:

.. math:: r = e - Z u - X v, \quad A = Z'WZ, \quad Γ = A^{-1}Z'WX, \quad S = (X - ZΓ)'W(X - ZΓ), \qquad
          \log p = -\tfrac12\Big[\log|A| + \log|S| + \min_{u,v} r'Wr\Big] + \tfrac12\log|W| + \text{const}

Both S and the minimum are evaluated as sums of squares of residuals, so that nothing cancels. What does not depend on
parameters (Z'Z, Z'y, ...) is computed once for all evaluations, so the cost does not depend on the number of rows; data
are centered by a least-squares fit first, so that precision does not depend on their distance from zero. Many dense
columns without groups, with two scales, are turned once so that S is diagonal (`spectral`).
"""

from ppl.rewrites.marginalization.gaussian.in_branches import matches_given as matches_given
from ppl.rewrites.marginalization.gaussian.marginal import THEOREM as THEOREM
from ppl.rewrites.marginalization.gaussian.residuals import is_normal as is_normal
from ppl.rewrites.marginalization.gaussian.residuals import is_written_out as is_written_out
