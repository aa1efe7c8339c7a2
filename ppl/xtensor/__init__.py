"""Tensors whose axes have names: operations go by the names, and build the graph that it is without them."""

from ppl.xtensor import basic as basic
from ppl.xtensor import indexing as indexing
from ppl.xtensor import linalg as linalg
from ppl.xtensor import math as math
from ppl.xtensor import random as random
from ppl.xtensor import reduction as reduction
from ppl.xtensor import shape as shape
from ppl.xtensor import signal as signal
from ppl.xtensor import type as type
from ppl.xtensor import vectorization as vectorization
from ppl.xtensor.math import dot as dot
from ppl.xtensor.shape import broadcast as broadcast
from ppl.xtensor.shape import concat as concat
from ppl.xtensor.shape import full_like as full_like
from ppl.xtensor.shape import ones_like as ones_like
from ppl.xtensor.shape import zeros_like as zeros_like
from ppl.xtensor.type import XTensorType as XTensorType
from ppl.xtensor.type import XTensorVariable as XTensorVariable
from ppl.xtensor.type import as_xtensor as as_xtensor
from ppl.xtensor.type import xtensor as xtensor
from ppl.xtensor.type import xtensor_constant as xtensor_constant
