"""Programs and packages that were written for PyMC and PyTensor, run unmodified on ppl.

While the alias is on, `import pymc` and `import pytensor` give ppl: by `python -m ppl script.py`, by `%load_ext ppl` in
a notebook, or by `with ppl.as_pymc():`. It is off by default, and nothing of the real packages is loaded or patched.
"""

from ppl.alias.missing import AliasError as AliasError
from ppl.alias.missing import NotHereYet as NotHereYet
from ppl.alias.switch import as_pymc as as_pymc
from ppl.alias.switch import load_ipython_extension as load_ipython_extension
from ppl.alias.switch import real as real
from ppl.alias.switch import unload_ipython_extension as unload_ipython_extension
