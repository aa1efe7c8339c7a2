"""Theano's name for part of `ppl.tensor.linalg`."""

from ppl.tensor.linalg import *  # noqa: F403
