"""Random expressions over a few inputs, for the fuzzer."""

from __future__ import annotations

import itertools

import numpy as np

import ppl.tensor as tt
from ppl.graph import Attrs, Node
from ppl.rewrites.facts.facts import ASSUME, CONDITIONS, promised
from ppl.tensor.tensor import TensorType, placeholder

UNARY = [
    "exp", "log", "log1p", "expm1", "sigmoid", "softplus", "abs", "sqrt", "square", "sin", "cos", "tanh", "negative",
    "log1mexp", "erf", "erfc", "ndtr", "log_ndtr", "reciprocal", "sign", "cosh", "sinh", "gammaln",
]  # fmt: skip
BINARY = ["add", "subtract", "multiply", "true_divide", "maximum", "minimum", "logaddexp", "hypot"]
SHAPES = [(), (3,), (2, 3), (2, 1)]
_FEW = {shape for rank in range(3) for shape in itertools.product((1, 2, 3), repeat=rank)}  # few programs to compile


class Expressions:
    """Draws expressions and values of their inputs from one generator; `structured` ones also move, join and index
    arrays, multiply matrices, and take products, running sums and softmaxes. Of `open` ones some lengths are not
    known when they are built."""

    def __init__(
        self, rng: np.random.Generator, dtype: str = "float64", structured: bool = False, open: bool = False
    ) -> None:
        self.rng, self.structured, self.open = rng, structured, open
        self.inputs = {}
        self.leaves = []
        for i, shape in enumerate(SHAPES):
            for condition in (None, "positive", "finite", "probability"):
                if rng.random() < 0.4:
                    self._add_leaf(f"{condition or 'any'}{i}", TensorType(dtype, shape), condition)
        if not self.leaves:
            self._add_leaf("any0", TensorType(dtype, ()), None)

    def _add_leaf(self, name, type, condition):
        shape = tuple(None if self.open and self.rng.random() < 0.4 else n for n in type.shape)
        x = placeholder(TensorType(type.dtype, shape), name)
        low, high = {"positive": (0.2, 3.0), "probability": (0.05, 0.95)}.get(condition, (-2.5, 2.5))
        self.inputs[x] = np.asarray(self.rng.uniform(low, high, type.shape), type.dtype)
        promise = None if condition is None else promised(CONDITIONS[condition])
        self.leaves.append(x if promise is None else Node(ASSUME, (x,), Attrs(fact=promise)))

    def draw(self, size: int):
        """An expression of about `size` operations; subexpressions are used again now and then."""
        pool = list(self.leaves)
        for _ in range(size):
            try:
                pool.append(self._grown(pool))
            except ValueError:  # shapes that do not broadcast
                pool.append(tt.tanh(pool[-1]))
        return pool[-1]

    def _pick(self, pool):
        recent = self.rng.random() < 0.7
        return (
            pool[-1 - int(self.rng.integers(0, min(3, len(pool))))]
            if recent
            else pool[int(self.rng.integers(len(pool)))]
        )

    def _grown(self, pool):
        if self.structured and self.rng.random() < 0.35:
            return self._arranged(pool)
        kind, x = self.rng.random(), self._pick(pool)
        if kind < 0.35:
            return getattr(tt, self.rng.choice(UNARY))(x)
        if kind < 0.75:
            return getattr(tt, self.rng.choice(BINARY))(x, self._pick(pool))
        if kind < 0.85:
            number = float(self.rng.choice([1.0, 2.0, -1.0, 0.5, 3.0]))
            return [x * number, x + number, x**number][int(self.rng.integers(3))]
        if kind < 0.92 and x.ndim:
            axis = int(self.rng.integers(x.ndim)) if self.rng.random() < 0.5 else None
            return getattr(tt, self.rng.choice(["sum", "mean", "max", "logsumexp"]))(x, axis, self.rng.random() < 0.5)
        return tt.switch(self._pick(pool) > 0.3, x, self._pick(pool))

    def _arranged(self, pool):
        """One of the things that can be done with an array of this rank, or with two."""
        x, y = self._pick(pool), self._pick(pool)
        choices = [
            lambda: tt.switch(x > 0.3, y, self._pick(pool)),
            lambda: tt.broadcast_to(x, (2, *(n or x.shape[i] for i, n in enumerate(x.type.shape)))),
        ]
        if x.ndim:
            axis, at = int(self.rng.integers(x.ndim)), int(self.rng.integers(x.type.shape[0] or 1))
            choices += [
                lambda: x[at], lambda: x[at:], lambda: x[::-1], lambda: x[None], lambda: x.T, lambda: x.flatten(),
                lambda: x[np.array([0, at, 0])], lambda: tt.prod(x, axis), lambda: tt.cumsum(x, axis),
                lambda: tt.softmax(x, axis), lambda: tt.log_softmax(x, axis), lambda: tt.concatenate([x, y], axis),
                lambda: tt.set_subtensor(x[at], y), lambda: tt.expand_dims(x, axis)[..., 0],
            ]  # fmt: skip
        if x.ndim == 1 == y.ndim:
            choices += [lambda: tt.dot(x, y), lambda: tt.outer(x, y), lambda: tt.stack([x, y, x])]
        if x.ndim == 2:
            choices += [lambda: x @ y, lambda: x @ x.T, lambda: (x @ x.T) @ y, lambda: tt.diagonal(x)]
        if x.ndim == 2 and x.type.shape[0] == x.type.shape[1]:
            choices += [lambda: tt.trace(x), lambda: tt.tril(x), lambda: x @ x, lambda: tt.trace(x @ y)]
        made = choices[int(self.rng.integers(len(choices)))]()
        return made if tuple(n or 1 for n in made.type.shape) in _FEW else tt.sum(made)
