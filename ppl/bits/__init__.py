"""Random bits as a pure function of a key: the lowest part, below draws of tensors and below samplers."""

from ppl.bits.threefry import bits as bits
from ppl.bits.threefry import fold_in as fold_in
from ppl.bits.threefry import folded as folded
from ppl.bits.threefry import split as split
from ppl.bits.threefry import words as words
