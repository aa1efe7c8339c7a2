"""Laws of random expressions: which family comes out of an operation on others."""

from ppl.rewrites.laws import closures as _closures  # noqa: F401  (importing fills the book)
from ppl.rewrites.laws.rule import BOOKS as BOOKS
from ppl.rewrites.laws.rule import Law as Law
from ppl.rewrites.laws.rule import equal_in_law as equal_in_law
from ppl.rewrites.laws.rule import in_law as in_law
