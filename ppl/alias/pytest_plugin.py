"""The pytest plugin of `python -m ppl --pytest`: it is loaded before any conftest, in worker processes too."""

from ppl.alias.switch import as_pymc

as_pymc()
