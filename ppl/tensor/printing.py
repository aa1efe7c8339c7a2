"""Theano's module `theano.printing`: graphs as text, and `Print`, which shows values while a program runs."""

from ppl.graph.pictures import to_dot as to_dot
from ppl.graph.printing import debugprint as debugprint
from ppl.graph.printing import pp as pp
from ppl.graph.printing import pprint as pprint
from ppl.tensor.core.effects import Print as Print
