"""The law of an entry of a normal vector given all the others.

With the precision Q and the residual r, entry i is (Qr)_i / Q_ii above its conditional mean, with variance 1/Q_ii.
"""

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.tensor import log


def normal_given_others(pull, precision):
    """The log-density of each entry, from the entries of Qr and the diagonal of Q."""
    return 0.5 * (log(precision) - LOG_2PI - pull**2 / precision)
