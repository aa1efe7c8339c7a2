"""Facts about values, and how they flow through operations: each module declares those of its own operations.

Those of sums, products and draws stand where these are: `arithmetic`, `engine`.
"""

from ppl.rewrites.facts import of_arrays as of_arrays
from ppl.rewrites.facts import of_functions as of_functions
