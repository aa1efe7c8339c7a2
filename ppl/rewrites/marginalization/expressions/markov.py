r"""Covariances of one input that are those of Markov processes, as semiseparable matrices.

A sum of products of such kernels is a sum of polynomials times decaying exponentials and cosines of the distance,

.. math:: k(r) = \sum_t e^{-λ_t r} \cos(ω_t r) \sum_k c_{tk} (λ_t r)^k,

the Matérn covariance with ν = 3/2, say, (1 + λr) e^{-λr} with λ = √3/ℓ. A product multiplies the polynomials and adds
the rates, so it needs as many numbers of a state as its polynomial has coefficients (twice as many with a cosine). A
step from one input to the next multiplies the state by :math:`e^{-λr}` times a triangle with :math:`(λr)^{j-i}/(j-i)!`
in it, turned by ωr (Hartikainen and Särkkä 2010; Foreman-Mackey et al. 2017).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import factorial, pi, sqrt
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import MvNormal, RandomVariable
from ppl.graph import substitute, topological
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_read
from ppl.rewrites.marginalization.expressions.kernels import Kernel, Structure, Summand, Unstructured, structure_of
from ppl.tensor.linear_algebra.definite import normal_log_density
from ppl.tensor.linear_algebra.semiseparable import Generators, Place
from ppl.tensor.linear_algebra.semiseparable_density import semiseparable_log_density
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.xla.operation_costs import cost_of_chain

CALL = 500.0  # operations that a call of a library's factorization costs before it computes anything
NAMES = {"exp_quad": "a Gaussian", "rational_quadratic": "a rational quadratic"}  # covariances without finite states
POLYNOMIALS: dict[str, tuple[float, ...]] = {  # of λr, with λ = √(2k + 1)/ℓ for k + 1 coefficients
    "matern12": (1.0,),
    "matern32": (1.0, 1.0),
    "matern52": (1.0, 1.0, 1.0 / 3.0),
}


@record
class Wave:
    """e^{-λr} cos(ωr) Σ c_k (λr)^k, without decay or without a cosine where there is none."""

    rate: Tensor | None
    frequency: Tensor | None
    coefficients: tuple[Any, ...]

    @property
    def order(self) -> int:
        """The numbers of its state."""
        return len(self.coefficients) * (1 if self.frequency is None else 2)

    def times(self, other: Wave) -> list[Wave]:
        """The product, as one wave or as two, of the sum and of the difference of the frequencies."""
        if self.rate is None or other.rate is None:
            slow, fast = (self, other) if self.rate is None else (other, self)
            decay = replace(fast, coefficients=tuple(slow.coefficients[0] * c for c in fast.coefficients))
        else:
            rate = self.rate + other.rate
            a, b = (_in_units_of(rate, w) for w in (self, other))
            total: list[Any] = [0.0] * (len(a) + len(b) - 1)
            for i, x in enumerate(a):
                for j, y in enumerate(b):
                    total[i + j] = total[i + j] + x * y
            decay = Wave(rate, None, tuple(total))
        if self.frequency is None or other.frequency is None:
            return [replace(decay, frequency=other.frequency if self.frequency is None else self.frequency)]
        half = replace(decay, coefficients=tuple(0.5 * c for c in decay.coefficients))
        return [
            replace(half, frequency=f)
            for f in (self.frequency + other.frequency, self.frequency - other.frequency)
        ]  # fmt: skip


def _in_units_of(rate: Tensor, wave: Wave) -> list[Any]:
    return [c * (wave.rate / rate) ** k if k else c for k, c in enumerate(wave.coefficients)]


def _wave(kernel: Kernel) -> Wave:
    """A kernel of one input; raises `Unstructured` where it is no Markov covariance."""
    if kernel.period is not None:
        raise Unstructured("a periodic covariance has no finite state")
    length = abs(tt.reshape(kernel.ls, ()) if kernel.ls.ndim else kernel.ls)
    if kernel.correlation == "cosine_wave":
        return Wave(None, 2.0 * pi / length, (1.0,))
    found = POLYNOMIALS.get(kernel.correlation)
    if found is None:
        raise Unstructured(f"{NAMES.get(kernel.correlation, kernel.correlation)} covariance has no finite state")
    return Wave(sqrt(2 * len(found) - 1) / length, None, found)


def _waves(summand: Summand) -> list[Wave]:
    waves = [Wave(None, None, (1.0,))]
    for kernel in summand.kernels:
        one = _wave(kernel)
        waves = [product for wave in waves for product in wave.times(one)]
    return waves


@record
class Inputs:
    """Points in time: `table` (n, 1) as given, and the order in which they follow each other."""

    table: Tensor
    order: np.ndarray

    @classmethod
    def of(cls, table: Tensor) -> Inputs:
        if None in table.type.shape or table.type.shape[1] != 1:
            raise Unstructured(f"its inputs have the shape {table.type.shape}, not one column")
        if not is_read(table):
            raise Unstructured("its inputs are not data")
        values = np.asarray(data_value(table), float)[:, 0]
        if not np.isfinite(values).all():
            raise Unstructured("its inputs are not all finite")
        return cls(table, np.argsort(values, kind="stable"))

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.order)

    @functools.cached_property
    def in_order(self) -> bool:
        """Whether they are given as they follow each other."""
        return bool(np.array_equal(self.order, np.arange(self.size)))

    def sorted(self, x: Any) -> Tensor:
        """What points have, in their order; a number stays one."""
        x = as_tensor(x)
        return x if self.in_order or not x.ndim else x[self.order]

    def as_given(self, x: Tensor) -> Tensor:
        """What points have in their order, in the given one."""
        return x if self.in_order else x[np.argsort(self.order)]

    @functools.cached_property
    def gaps(self) -> Tensor:
        """The distances to the points before; one number where they are equal up to rounding. The first is not used."""
        values = np.asarray(data_value(self.table), float)[self.order, 0]
        apart = np.diff(values)
        if self.size > 1 and np.ptp(apart) <= 4 * np.finfo(float).eps * np.abs(values).max():
            return as_tensor((values[-1] - values[0]) / (self.size - 1))
        column = self.sorted(self.table[:, 0])
        return tt.concatenate([np.zeros(1), column[1:] - column[:-1]])


@record
class MarkovCovariance:
    """A covariance of points in time as a semiseparable matrix, all in the order of the points: generators, what
    stands on the diagonal, and how much of that is noise, which no other point shares."""

    inputs: Inputs
    generators: Generators
    diagonal: Tensor
    noise: Tensor
    kinds: tuple[str, ...]  # of its correlations

    @property
    def order(self) -> int:
        """The numbers of a state."""
        return len(self.generators.right)

    @property
    def pays(self) -> bool:
        """Whether going along the points takes less than a factor of the matrix."""
        n = self.inputs.size
        return cost_of_chain("semiseparable_log_density", float(n), self.order) < CALL + n**3 / 3

    def log_density(self, residual: Tensor) -> Tensor:
        """-½ (r'K⁻¹r + log |K|)."""
        column = self.inputs.sorted(residual)
        density: Tensor = semiseparable_log_density.on(column, self.diagonal, generators=self.generators)
        return density


def markov(structure: Structure) -> MarkovCovariance:
    """A covariance made of kernels as that of a Markov process; raises `Unstructured` with the reason."""
    kernels = [k for s in structure.summands for k in s.kernels]
    if not kernels:
        raise Unstructured("no kernel of inputs is in it")
    inputs = Inputs.of(kernels[0].x)
    for k in kernels:
        if not (same(k.x, inputs.table) and same(k.xs, inputs.table)):
            raise Unstructured("its kernels are of different inputs")
    waves = [(s.scale, wave) for s in structure.summands for wave in _waves(s)]
    if sum(wave.order for _, wave in waves) > LIMITS.numbers_of_a_state:
        raise Unstructured(f"the state of its process has more than {LIMITS.numbers_of_a_state} numbers")
    noise = inputs.sorted(structure.noise)
    total = functools.reduce(lambda a, b: a + b, [s.scale for s in structure.summands])
    diagonal = tt.broadcast_to(total + noise, (inputs.size,))
    kinds = tuple(dict.fromkeys(k.correlation for k in kernels))
    return MarkovCovariance(inputs, _generators(waves, inputs.gaps), diagonal, noise, kinds)


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tables of data are equal."""
    if a is b:
        return True
    return a.type.shape == b.type.shape and is_read(a) and is_read(b) and np.array_equal(data_value(a), data_value(b))


def _generators(waves: Sequence[tuple[Tensor, Wave]], gaps: Tensor) -> Generators:
    left: dict[int, Any] = {}
    right: list[Any] = []
    steps: dict[Place, Any] = {}
    for scale, wave in waves:
        start, width = len(right), 1 if wave.frequency is None else 2
        left[start] = as_tensor(1.0)
        for k, c in enumerate(wave.coefficients):
            right += [scale * c * float(factorial(k)), *[as_tensor(0.0)] * (width - 1)]
        for i, j, x in _decay(wave, gaps):
            for a, b, turn in _turn(wave, gaps):
                steps[start + i * width + a, start + j * width + b] = x if turn is None else x * turn
    return Generators(left, tuple(right), steps)


def _decay(wave: Wave, gaps: Tensor) -> Iterator[tuple[int, int, Tensor]]:
    if wave.rate is None:
        yield 0, 0, as_tensor(1.0)
        return
    x = wave.rate * gaps
    power = tt.exp(-x)
    for k in range(len(wave.coefficients)):
        if k:
            power = power * x / float(k)
        for i in range(len(wave.coefficients) - k):
            yield i, i + k, power


def _turn(wave: Wave, gaps: Tensor) -> list[tuple[int, int, Tensor | None]]:
    if wave.frequency is None:
        return [(0, 0, None)]
    c, s = tt.cos(wave.frequency * gaps), tt.sin(wave.frequency * gaps)
    return [(0, 0, c), (0, 1, -s), (1, 0, s), (1, 1, c)]


# --- densities
def markov_law(variable: RandomVariable) -> MarkovCovariance:
    """The covariance of a normal vector as that of a Markov process; raises `Unstructured` with the reason."""
    if variable.family is not MvNormal or variable.ndim != 1:
        raise Unstructured("it is no normal vector")
    chol = variable.parameters[1]
    if chol.op is not tt.cholesky or not chol.attrs["lower"]:
        raise Unstructured("its covariance is given by a factor")
    return paying(markov(structure_of(chol.inputs[0])))


def paying(found: MarkovCovariance) -> MarkovCovariance:
    """A covariance for which going along its points takes less than a factor; raises `Unstructured` for others."""
    if not found.pays:
        raise Unstructured(f"a factor of its {found.inputs.size} numbers takes less than going along them")
    return found


def along_inputs(density: Tensor, beyond: int = 0) -> Tensor:
    """A log-density in which those of normal vectors of more than so many numbers go along the inputs of their
    covariances, where these are Markov and that takes less."""
    found = {}
    for node in topological([density]):
        if node.op is normal_log_density and _is_vector(node.inputs[0], beyond):
            try:
                law = paying(markov(structure_of(node.inputs[1])))
            except Unstructured:
                continue
            found[node] = law.log_density(node.inputs[0])  # type: ignore[arg-type]
    return substitute(density, found) if found else density  # type: ignore[return-value]


def _is_vector(x: Any, beyond: int) -> bool:
    return x.type.ndim == 1 and x.type.shape[0] is not None and x.type.shape[0] > beyond
