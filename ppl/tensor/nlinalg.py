"""Theano's name for part of `ppl.tensor.linalg`."""

from ppl.tensor.linalg import *  # noqa: F403
from ppl.tensor.linalg import inv

matrix_inverse = inv
