"""`Key`: where randomness comes from. Stateless underneath: the object only counts how often it was asked.

A key is two numbers; a draw is a pure function of its key. So that two draws never share one, each call of a method
takes a subkey of its own, numbered by the order of the calls:

>>> key = Key.from_seed(1)
>>> x, y = key.normal((2,)), key.normal((2,))      # different draws
>>> Key.from_seed(1).normal((2,)) is x             # the first draw of the same key is the same draw
True

`shape` is always the shape of the result, so for a vector law (Dirichlet, multinomial) its last axis is the vector's.
Without it the result has the shape of the parameters.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ppl.tensor.arrays.reductions import cumsum, log_softmax, softmax
from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.elementwise import exp, floor, log1p, sigmoid
from ppl.tensor.core.elementwise import log as log_of
from ppl.tensor.core.ops import cast_to, normal_axis
from ppl.tensor.core.sizes import common_shape
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.sampling import draws
from ppl.tensor.sampling.binomial import binomial as binomial_draw
from ppl.tensor.sampling.binomial import multinomial as multinomial_draw
from ppl.tensor.sampling.gamma_draws import loggamma as log_gamma_draw
from ppl.tensor.sampling.negative_binomial import negative_binomial as negative_binomial_draw
from ppl.tensor.sampling.poisson import poisson as poisson_draw
from ppl.tensor.sampling.truncated_normal import truncated_normal as truncated_normal_draw
from ppl.tensor.tensor import Tensor, as_tensor, constant

_FIRST_DRAW = 2**31  # draws take the upper half of the numbers a key can be changed by, `fold_in` the lower


class Key:
    """A source of draws, and of further keys. Two with the same numbers give the same draws."""

    __slots__ = ("_draws", "node")

    def __init__(self, node: Any) -> None:
        self.node = draws.as_key(node)
        self._draws = 0

    @classmethod
    def from_seed(cls, seed: int | str, *names: int | str) -> Key:
        """The key of a seed and of what it is for; other names, other keys."""
        return cls(constant(numbers_of(seed, *names)))

    def __ppl_tensor__(self) -> Tensor:
        return self.node

    def __repr__(self) -> str:
        return f"Key({self.node!r}, draws={self._draws})"

    # --- keys from keys -----------------------------------------------------------------------------------------------
    def fold_in(self, data: Any) -> Key:
        """The key for number `data` (below 2**31) of a family; the draws of this key do not matter to it."""
        if isinstance(data, int | np.integer) and not 0 <= data < _FIRST_DRAW:
            raise ValueError(f"fold_in takes a number from 0 to 2**31 - 1, got {data}")
        return Key(draws.key_fold_in(self.node, data))

    def next(self) -> Tensor:
        """The subkey of the next draw."""
        self._draws += 1
        return draws.key_fold_in(self.node, _FIRST_DRAW + self._draws - 1)

    def split(self, n: int = 2) -> list[Key]:
        """`n` independent keys."""
        rows = draws.key_split(self.next(), n)
        return [Key(rows[i]) for i in range(n)]

    # --- standard laws ------------------------------------------------------------------------------------------------
    def bits(self, shape: Any = (), dtype: Any = "uint32") -> Tensor:
        """Uniform whole numbers over all of the dtype."""
        return draws.bits(self.next(), shape=shape, dtype=dtype)

    def uniform(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Uniform on [0, 1): 0 may come out, 1 never does."""
        return draws.uniform(self.next(), shape=shape, dtype=dtype)

    def normal(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Normal of mean 0 and variance 1."""
        return draws.normal(self.next(), shape=shape, dtype=dtype)

    def exponential(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Exponential of mean 1."""
        return draws.exponential(self.next(), shape=shape, dtype=dtype)

    def laplace(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Laplace of location 0 and scale 1: an exponential with a fair sign."""
        return draws.laplace(self.next(), shape=shape, dtype=dtype)

    def two_sided(self, share: Any, shape: Any = ()) -> Tensor:
        """Exponential of mean 1, with a minus sign in a share of the draws."""
        return draws.two_sided(self.next(), share, shape=shape)

    def logistic(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Logistic of location 0 and scale 1: the log odds of a uniform number."""
        return draws.logistic(self.next(), shape=shape, dtype=dtype)

    def gumbel(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Gumbel of location 0 and scale 1: minus the logarithm of an exponential."""
        return draws.gumbel(self.next(), shape=shape, dtype=dtype)

    def cauchy(self, shape: Any = (), dtype: Any = None) -> Tensor:
        """Cauchy of location 0 and scale 1: the ratio of two normals."""
        return self.normal(shape, dtype) / self.normal(shape, dtype)

    # --- with parameters ----------------------------------------------------------------------------------------------
    def loggamma(self, alpha: Any, shape: Any = None) -> Tensor:
        """The logarithm of Gamma(alpha, 1); for tiny alpha, where the draw itself underflows."""
        return log_gamma_draw(self.next(), alpha, shape=shape)

    def gamma(self, alpha: Any, shape: Any = None) -> Tensor:
        """Gamma of shape alpha and rate 1; differentiable in alpha."""
        return exp(self.loggamma(alpha, shape))

    def beta(self, a: Any, b: Any, shape: Any = None) -> Tensor:
        """Beta: the share of one gamma in the sum of two."""
        sizes = common_shape([a, b]) if shape is None else shape
        return sigmoid(self.loggamma(a, sizes) - self.loggamma(b, sizes))

    def dirichlet(self, alpha: Any, shape: Any = None) -> Tensor:
        """Dirichlet: the shares of gammas in their sum, along the last axis."""
        return softmax(self.loggamma(alpha, shape), axis=-1)

    def student_t(self, df: Any, shape: Any = None) -> Tensor:
        """Student's t: a normal over the root of a mean square, in logarithms, so that a small `df` divides by no 0."""
        df = as_tensor(df)
        sizes = common_shape([df]) if shape is None else shape
        return self.normal(sizes) * exp(-0.5 * (self.loggamma(df / 2, sizes) - log_of(df / 2)))

    def truncated_normal(self, low: Any, high: Any, shape: Any = None) -> Tensor:
        """Normal of mean 0 and variance 1, given that it lies between two bounds."""
        return truncated_normal_draw(self.next(), low, high, shape=shape)

    def poisson(self, lam: Any, shape: Any = None) -> Tensor:
        """Poisson counts."""
        return poisson_draw(self.next(), lam, shape=shape)

    def negative_binomial(self, n: Any, odds: Any, shape: Any = None) -> Tensor:
        """Failures before the n-th success, at these odds of failure: Poisson counts of mean odds × Gamma(n)."""
        return negative_binomial_draw(self.next(), n, odds, shape=shape)

    def binomial(self, n: Any, p: Any, shape: Any = None) -> Tensor:
        """How many of `n` trials succeed."""
        return binomial_draw(self.next(), n, p, shape=shape)

    def multinomial(self, n: Any, p: Any, shape: Any = None) -> Tensor:
        """How `n` trials fall on the categories of the last axis of `p`."""
        return multinomial_draw(self.next(), expand_dims(n, -1), p, shape=shape)

    def bernoulli(self, p: Any, shape: Any = None) -> Tensor:
        """True with probability `p`."""
        return self.uniform(common_shape([p]) if shape is None else shape) < p

    def geometric(self, p: Any, shape: Any = None) -> Tensor:
        """The number of the first trial that succeeds: 1, 2, ..."""
        p = as_tensor(p)
        waits = self.exponential(common_shape([p]) if shape is None else shape)
        return cast_to(1 + floor(waits / -log1p(-p)), "int64")

    def categorical(self, p: Any = None, shape: Any = None, *, logits: Any = None) -> Tensor:
        """A position along the last axis of `p` (or of `logits`), each as often as its share of the sum."""
        if (p is None) == (logits is None):
            raise TypeError("categorical takes probabilities or logits=, one of the two")
        weights = as_tensor(p) if logits is None else exp(log_softmax(logits, axis=-1))
        ends = cumsum(weights, axis=-1)
        sizes = shape_of(weights)[:-1] if shape is None else shape
        u = expand_dims(self.uniform(sizes), -1) * ends[..., -1:]
        return sum_along(ends <= u, axis=-1)

    def randint(self, low: Any, high: Any, shape: Any = None, dtype: Any = "int64") -> Tensor:
        """Uniform on low, ..., high - 1."""
        return draws.randint(self.next(), low, high, shape=shape, dtype=dtype)

    def permutation(self, x: Any, axis: int = 0) -> Tensor:
        """The array in random order along an axis; the numbers below `x` where it is one number."""
        if isinstance(x, int | np.integer):
            x = np.arange(x)
        x = as_tensor(x)
        return draws.permutation(self.next(), x, axis=normal_axis("permutation", x, axis))

    def choice(self, x: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Tensor:
        """Entries of `x` along an axis, with weights `p`, with or without replacement."""
        x = as_tensor(np.arange(x) if isinstance(x, int | np.integer) else x)
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        where = normal_axis("choice", x, axis)
        weights = () if p is None else (as_tensor(p),)
        return draws.choice(self.next(), x, *weights, shape=sizes, replace=bool(replace), axis=where)


def numbers_of(*parts: int | str) -> np.ndarray:
    """Two uint32 numbers from a seed and names, by BLAKE2: the same on every machine, unrelated for other names."""
    digest = hashlib.blake2b("\0".join(f"{type(p).__name__}:{p}" for p in map(_plain, parts)).encode(), digest_size=8)
    return np.frombuffer(digest.digest(), dtype="<u4").astype(np.uint32)


def _plain(part: Any) -> int | str:
    if isinstance(part, bool) or not isinstance(part, int | np.integer | str):
        raise TypeError(f"a seed is an integer or a string, got {part!r}")
    return part if isinstance(part, str) else int(part)
