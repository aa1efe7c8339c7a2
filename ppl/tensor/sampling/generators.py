"""NumPy's generators of random numbers as keys: variables, inputs of functions, and what they become after a draw.

    rng = pytensor.shared(np.random.default_rng(1))
    next_rng, x = pt.random.normal(rng=rng).owner.outputs
    f = pytensor.function([], x, updates={rng: next_rng})

A generator is a key here, two numbers that are drawn from it. Draws from the same state of a generator are the same, as
they are in PyTensor.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ppl.graph import Attrs, Identity, Node
from ppl.tensor.sampling.draws import KEY_TYPE, key_fold_in
from ppl.tensor.sampling.keys import Key
from ppl.tensor.tensor import INPUT, Tensor, is_constant, value_of

NEXT, DRAW = 0, 1  # what the key of a generator is changed by


def is_generator(value: Any) -> bool:
    """Whether a value is a generator of NumPy."""
    return isinstance(value, np.random.Generator | np.random.RandomState)


def is_key(value: Any) -> bool:
    """Whether a value is a tensor that may be a key."""
    return isinstance(value, Tensor) and value.type == KEY_TYPE


def moves_on(value: Any) -> bool:
    """Whether a tensor stands for a generator, or for one after draws, and not for a key alone."""
    while is_key(value) and value.op is key_fold_in and is_constant(value.inputs[1]) and not value_of(value.inputs[1]):
        value = value.inputs[0]  # `NEXT` is 0
    return is_key(value) and bool(value.attrs.get("generator"))


def numbers_from(generator: Any, moves: bool = False) -> np.ndarray:
    """The two numbers that a generator is here. It moves on only if it is asked to; else a copy of it draws them."""
    source = generator if moves else copy.deepcopy(generator)
    if isinstance(source, np.random.RandomState):
        return source.randint(0, 2**32, 2, dtype=np.uint32)
    return source.integers(0, 2**32, 2, dtype=np.uint32)


def generator_input(name: str | None = None) -> Tensor:
    """An input of a function that takes a generator, or the two numbers of a key."""
    named = {} if name is None else {"name": name}
    return Node(INPUT, (), Attrs(type=KEY_TYPE, identity=Identity(), generator=True, **named))  # type: ignore[return-value]


def after(generator: Tensor) -> Tensor:
    """The state of a generator after a draw."""
    return key_fold_in(generator, NEXT)


def key_from(generator: Tensor) -> Key:
    """The key of a draw from a generator."""
    return Key(key_fold_in(generator, DRAW))
