"""Laws of random expressions: which family comes out of an operation on others."""

from ppl.rewrites.laws import counts as _counts  # noqa: F401  (importing these fills the book)
from ppl.rewrites.laws import extremes as _extremes  # noqa: F401
from ppl.rewrites.laws import hierarchies as _hierarchies  # noqa: F401
from ppl.rewrites.laws import normals as _normals  # noqa: F401
from ppl.rewrites.laws import waiting_times as _waiting_times  # noqa: F401
from ppl.rewrites.laws.rule import BOOKS as BOOKS
from ppl.rewrites.laws.rule import Law as Law
from ppl.rewrites.laws.rule import equal_in_law as equal_in_law
from ppl.rewrites.laws.rule import in_law as in_law
