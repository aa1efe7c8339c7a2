"""Products of kernels of separate columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.inputs import table
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


class Kron(Covariance):
    """The product of kernels, each of the next columns of the inputs, as many as its `input_dim` says."""

    def __init__(self, factor_list: Sequence[Covariance]) -> None:
        self.input_dims = [factor.input_dim for factor in factor_list]
        super().__init__(sum(self.input_dims))
        self._factor_list = factor_list

    def _split(self, X: Any) -> list[Tensor]:
        x = table("gp.cov.Kron", X)
        width, last = x.type.shape[1], np.cumsum(self.input_dims)
        if width is not None and width != self.input_dim:
            raise ValueError(f"gp.cov.Kron: the inputs have {width} columns, its kernels take {self.input_dims}")
        pairs = zip(last - self.input_dims, last, strict=True)
        return [as_tensor(value_of(x)[:, a:b]) if is_constant(x) else x[:, int(a) : int(b)] for a, b in pairs]

    def __call__(self, X: Any, Xs: Any = None, diag: bool = False) -> Tensor:
        left = self._split(X)
        right = [None] * len(left) if Xs is None else self._split(Xs)
        triples = zip(self._factor_list, left, right, strict=True)
        return as_tensor(reduce(mul, [cov(x, xs, diag) for cov, x, xs in triples]))
