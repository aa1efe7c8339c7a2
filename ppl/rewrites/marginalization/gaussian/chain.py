r"""Block tridiagonal positive definite systems: a block Cholesky factor along the chain, and solutions with it.

With the blocks L_t on the diagonal of the factor and C_t below it,

.. math:: x = 𝓛^{-1} h: \; x_t = L_t^{-1} (h_t - C_t x_{t-1}), \qquad
          x = 𝓛'^{-1} h: \; x_t = L_t'^{-1} (h_t - C_{t+1}' x_{t+1})

are recurrences, forwards and backwards in time, with C_t = B_t L'_{t-1}⁻¹. This is the Kalman filter and smoother in
information form.

The blocks are sums of numbers times arrays, Σ a_i A_i, with few numbers that depend on parameters and arrays that are
data: so they are kept, and put together as whole stacks of blocks. Entry by entry they compile for seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

import ppl.tensor as tt
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.gaussian.spd import Column
from ppl.tensor.linear_algebra.block_chains import chain_path, chain_solution
from ppl.tensor.tensor import Tensor

Place = tuple[int, ...]


class Sums:
    """Σ number · data, of arrays (T, *shape) of which each place is an array (T, ...) of its own."""

    def __init__(self, shape: Place, zero: Tensor) -> None:
        self.shape, self.zero = shape, zero
        self.found: dict[Tensor, dict[Place, Tensor]] = {}

    def add(self, number: Tensor, place: Place, data: Tensor) -> None:
        """One more term at a place."""
        mine = self.found.setdefault(number, {})
        mine[place] = mine[place] + data if place in mine else data

    def total(self) -> Tensor:
        """The sum."""
        tables = {number: self._table(places) for number, places in self.found.items()}
        known = {number: table for number, table in tables.items() if is_data(table)}
        terms = [number * table for number, table in tables.items() if number not in known]
        if known:
            shape = next(iter(known.values())).type.shape
            together = tt.stack([table.reshape((prod(d or 1 for d in shape),)) for table in known.values()])
            terms.append(tt.dot(tt.stack(list(known)), together).reshape(shape))
        return sum(terms[1:], terms[0]) if terms else self._table({})

    def _table(self, places: Mapping[Place, Tensor]) -> Tensor:
        flat = tt.stack([places.get(at, self.zero) for at in product(*map(range, self.shape))], axis=1)
        return flat.reshape((flat.type.shape[0], *self.shape, *flat.type.shape[2:]))


class Chain:
    """M⁻¹ H and log |M| for some columns H (T, k, n), M with diagonal blocks D_t and blocks B_t between t and t - 1
    (rows t, columns t - 1)."""

    def __init__(self, diagonal: Tensor, below: Tensor, right: Tensor) -> None:
        self.blocks = (diagonal, tt.concatenate([tt.zeros_like(below[:1]), below[1:]], axis=0))
        self.right = right
        self.solution, self.log_det = chain_solution(*self.blocks, right, still=True)

    def draw(self, v: Tensor | None, noise: Column) -> Column:
        """M⁻¹ (h - C v) + 𝓛'⁻¹ noise for H = (h, C) and M = 𝓛 𝓛'."""
        h = self.right[:, :, :1]
        given = h if v is None else h - tt.expand_dims(tt.matmul(self.right[:, :, 1:], v), 2)
        x = chain_path(*self.blocks, given, tt.expand_dims(tt.stack(noise, axis=1), 2))
        return [x[:, i, 0] for i in range(len(noise))]
