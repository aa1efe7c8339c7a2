"""The cosine kernel."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.stationary import CorrelationOfDistance
from ppl.tensor.tensor import Tensor


class Cosine(CorrelationOfDistance):
    r"""A wave of one frequency: :math:`k = \cos 2πr`; its period is the length scale."""

    def _correlation(self, squares: Any) -> Tensor:
        return tt.cosine_wave(squares)
