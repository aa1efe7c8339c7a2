r"""A variance that all rows of a block share goes with the block: the normal-inverse-gamma law.

With m rows more than dimensions and Q the least sum of squares at unit variance, the block's integral is
:math:`v^{-m/2} e^{-Q/2v}` times what it is at v = 1, whatever the structure of the block. So

.. math:: v \sim \mathrm{InverseGamma}(a, b) \;\Rightarrow\;
          \log p = \log p_1 + a \log b - \log Γ(a) + \log Γ(a + \tfrac m2) - (a + \tfrac m2) \log(b + \tfrac Q2)

and v comes back from InverseGamma(a + m/2, b + Q/2); a precision likewise from Gamma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import ppl.tensor as tt
from ppl.distributions import Gamma, InverseGamma, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import NotAffine, is_always, known_shape
from ppl.rewrites.marginalization.expressions.maps import Dense
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.gaussian.block import Marginal
from ppl.rewrites.marginalization.gaussian.residuals import Residual
from ppl.rewrites.marginalization.program import Factor, Program, children
from ppl.tensor.tensor import Tensor


def _power(rv: RandomVariable) -> float | None:
    """Of a variance with an inverse gamma law or a precision with a gamma law: the power in a standard deviation."""
    return 0.5 if rv.family is InverseGamma else -0.5 if rv.family is Gamma else None


@record
class CommonScale:
    """A variable with a power of which all scales of a block are multiples, and the residuals without it."""

    variable: RandomVariable
    residuals: list[Residual]

    @property
    def scale(self) -> Tensor:
        """The standard deviation at unit scale, a function of the variable."""
        return self.variable ** _power(self.variable)

    def posterior(self, marginal: Marginal) -> Tensor:
        """A draw of the variable, the block integrated out."""
        shape, rate = self._updated(marginal)
        return draw(self.variable.family, (shape, rate))

    def density(self, marginal: Marginal) -> Tensor:
        """The log of the integral over the block and the variable."""
        a, b = self.variable.parameters
        shape, rate = self._updated(marginal)
        return marginal.volume() + a * tt.log(b) - tt.gammaln(a) + tt.gammaln(shape) - shape * tt.log(rate)

    def _updated(self, marginal: Marginal) -> tuple[Tensor, Tensor]:
        a, b = self.variable.parameters
        return a + 0.5 * marginal.freedom, b + 0.5 * marginal.squares()


def common_scale(
    program: Program, factors: Sequence[Factor], residuals: Sequence[Residual], kept: frozenset[RandomVariable]
) -> CommonScale | None:
    """The variance or precision that all rows share, if nothing but the factors of the block depends on it."""
    mine = {id(f) for f in factors}
    for rv in program.free:
        power = _power(rv)
        if power is None or rv.ndim or rv in kept:
            continue
        found: list[Residual] = []
        for r in residuals:
            scale = _without(r.scale, rv)
            if scale is None or _moves(r, rv):
                break
            found.append(replace(r, scale=scale))
        if len(found) == len(residuals) and all(id(f) in mine for f in children(program, rv)):
            return CommonScale(rv, found)
    return None


def _moves(r: Residual, rv: RandomVariable) -> bool:
    """Whether the mean of a residual depends on a variable."""
    parts: list[Node] = [p.design if isinstance(p, Dense) else p.coefficient for p in r.map.parts]
    return rv in ancestors([r.map.offset, *parts])


def _without(scale: Tensor, rv: RandomVariable) -> Tensor | None:
    """What a scale is a power of a variable times; None where it is none, or another one."""
    try:
        found = picks(scale, rv, known_shape(scale))
    except NotAffine:
        return None
    return found.coefficient if found.power == _power(rv) and is_always(found.offset, 0.0) else None
