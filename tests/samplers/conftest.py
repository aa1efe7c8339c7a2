"""The XLA flag must be set before the first computation, whichever test file comes first."""

from ppl.xla import flags

flags.apply()
