"""Several processes, on one machine or many, that go in step: `initialize` in each, or `python -m ppl.distributed`."""

from ppl.distributed.initializing import initialize as initialize
