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

from ppl.samplers.independent.quadrature import quadrature as quadrature
from ppl.samplers.programs.disk_cache import enable_disk_cache as enable_disk_cache
from ppl.samplers.programs.programs import DRAWS as DRAWS
from ppl.samplers.programs.programs import ONCE as ONCE
from ppl.samplers.programs.programs import PROGRAMS as PROGRAMS
from ppl.samplers.programs.programs import turn as turn
from ppl.samplers.runs.driver import Handle as Handle
from ppl.samplers.runs.errors import ChainError as ChainError
from ppl.samplers.runs.errors import SamplingError as SamplingError
from ppl.samplers.runs.errors import StartError as StartError
from ppl.samplers.runs.errors import StorageError as StorageError
from ppl.samplers.runs.errors import UnresolvedError as UnresolvedError
from ppl.samplers.runs.failures import NO_FAILURES as NO_FAILURES
from ppl.samplers.runs.failures import Failures as Failures
from ppl.samplers.runs.failures import failures as failures
from ppl.samplers.runs.progress import ChainProgress as ChainProgress
from ppl.samplers.runs.run import Run as Run
from ppl.samplers.sample import sample as sample
