"""Samplers for any JAX log-density: nothing here knows of models.

``sample(logp, initial, data=...)`` is the front door. Its contract with callers:

* ``logp(position, *data) -> scalar`` is a pure JAX function of a flat vector; ``data`` are arrays passed as arguments,
  so that other data of the same shapes reuse the compiled program. A caller who rebuilds ``logp`` gives ``key=``, any
  hashable that stands for its content.
* ``initial`` is an array (chains, dim), or a function (chain, attempt) -> position with ``dim=`` given.
* ``expand(position, *data) -> pytree``: generated quantities of every draw.
* The result is a ``Run``; with ``blocking=False`` a ``Handle`` that can pause, resume, abort, wait.

A density of one number, or of numbers that do not depend on each other, needs no Markov chain:
``quadrature(logp, starts, data=...)`` gives independent draws.
"""

from .disk_cache import enable_disk_cache as enable_disk_cache
from .driver import Handle as Handle
from .errors import ChainError as ChainError
from .errors import SamplingError as SamplingError
from .errors import StartError as StartError
from .errors import StorageError as StorageError
from .errors import UnresolvedError as UnresolvedError
from .failures import NO_FAILURES as NO_FAILURES
from .failures import Failures as Failures
from .failures import failures as failures
from .programs import DRAWS as DRAWS
from .programs import ONCE as ONCE
from .programs import PROGRAMS as PROGRAMS
from .programs import turn as turn
from .progress import ChainProgress as ChainProgress
from .quadrature import quadrature as quadrature
from .run import Run as Run
from .sample import sample as sample
