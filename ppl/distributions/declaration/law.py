r"""Families that are the law of a function of another family's draw.

    law = law_of(lambda mu, sigma: exp(Normal.dist(mu, sigma)))

The expression holds one draw Y under monotone operations, so it is inverted operation by operation: with y the value of
Y that leads to x,

.. math:: \log f_X(x) = \log f_Y(y) + \log |dy/dx|

and the distribution function, the quantile and the draws follow. Where the map is decreasing, say so: the tails change
sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.as_called import STATED
from ppl.distributions.declaration.change_of_variables import ChangeOfVariables
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.graph import Node, ancestors, substitute
from ppl.graph.parameters import parameter_names
from ppl.tensor.tensor import Tensor, TensorType, placeholder

Step = Callable[[Any, Any], tuple[Any, Any]]

# For `x = op(y, other)`, or `x = op(other, y)` under "...of": y, and log |dy/dx|, from x and the other operand.
INVERSES: dict[str, Step] = {
    "add": lambda x, c: (x - c, 0.0),
    "add of": lambda x, c: (x - c, 0.0),
    "subtract": lambda x, c: (x + c, 0.0),
    "subtract of": lambda x, c: (c - x, 0.0),
    "multiply": lambda x, c: (x / c, -tt.log(tt.abs(c))),
    "multiply of": lambda x, c: (x / c, -tt.log(tt.abs(c))),
    "true_divide": lambda x, c: (x * c, tt.log(tt.abs(c))),
    "true_divide of": lambda x, c: (c / x, tt.log(tt.abs(c)) - 2 * tt.log(tt.abs(x))),
    "power": lambda x, c: (x ** (1 / c), (1 / c - 1) * tt.log(x) - tt.log(tt.abs(c))),
    "negative": lambda x, _: (-x, 0.0),
    "reciprocal": lambda x, _: (1 / x, -2 * tt.log(tt.abs(x))),
    "exp": lambda x, _: (tt.log(x), -tt.log(x)),
    "log": lambda x, _: (tt.exp(x), x),
    "expm1": lambda x, _: (tt.log1p(x), -tt.log1p(x)),
    "log1p": lambda x, _: (tt.expm1(x), x),
    "sigmoid": lambda x, _: (tt.logit(x), -tt.log(x) - tt.log1p(-x)),
    "sqrt": lambda x, _: (x**2, np.log(2.0) + tt.log(x)),
}


class Law:
    """An expression with one draw in it, as a function of parameters."""

    def __init__(self, expression: Callable[..., Any], decreasing: bool, words: str) -> None:
        self.expression, self.decreasing, self.words = expression, decreasing, words
        names = parameter_names(expression)
        given = [placeholder(TensorType("float64", ()), name) for name in names]
        x, draw = self.of(*given)
        self.base = draw.family
        outside = ancestors(x, blockers=[draw])
        self.of_the_map = tuple(name for name, p in zip(names, given, strict=True) if p in outside)

    def of(self, *parameters: Any) -> tuple[Tensor, RandomVariable]:
        """The expression and the draw in it; the parameters may be draws too, or hold some."""
        x = self.expression(*parameters)
        given = {p for p in parameters if isinstance(p, Node)}
        draws = [node for node in ancestors(x, given) - given if is_draw(node)]
        assert len(draws) == 1, f"a law is that of one draw, {x!r} holds {len(draws)}"
        return x, draws[0]  # type: ignore[return-value]

    def facts(self) -> dict[str, Callable[..., Any]]:
        """Density, distribution functions, quantile and draws, as far as the base family has them."""
        below, above = ("logccdf", "logcdf") if self.decreasing else ("logcdf", "logccdf")
        derived = {
            "logp": (self.logp, "logp"),
            "logcdf": (self._tail(below), below),
            "logccdf": (self._tail(above), above),
            "icdf": (self.icdf, "icdf"),
            "sample": (self.sample, "sample"),
        }
        return {fact: _plain(f) for fact, (f, needs) in derived.items() if getattr(self.base, needs)}

    def backward(self, x: Any, *parameters: Any) -> tuple[Any, Any, RandomVariable]:
        """The draw's value that leads to x, the logarithm of the slope there, and the draw."""
        node, draw = self.of(*parameters)
        log_slope: Any = 0.0
        while node is not draw:
            at = next(i for i, each in enumerate(node.inputs) if each is draw or draw in set(ancestors(each)))
            step = INVERSES[node.op.name + (" of" if at else "")]
            x, slope = step(x, node.inputs[1 - at] if len(node.inputs) > 1 else None)
            log_slope = slope + log_slope
            node = node.inputs[at]  # type: ignore[assignment]
        return x, log_slope, draw

    def logp(self, x: Any, *parameters: Any) -> Any:
        y, log_slope, draw = self.backward(x, *parameters)
        return self.base.stated_logp(y, *draw.parameters) + log_slope

    def change_of_variables(self) -> ChangeOfVariables:
        """The family as the other one in what leads to the draw."""

        def of(x: Any, *parameters: Any) -> Any:
            y, log_slope, draw = self.backward(x, *parameters)
            return y, draw.parameters, log_slope

        return ChangeOfVariables(self.base, of, self.words, self.of_the_map, not self.decreasing)

    def _tail(self, fact: str) -> Callable[..., Any]:
        def tail(x: Any, *parameters: Any) -> Any:
            y, _, draw = self.backward(x, *parameters)
            return getattr(self.base, STATED[fact])(y, *draw.parameters)

        return tail

    def icdf(self, q: Any, *parameters: Any) -> Any:
        x, draw = self.of(*parameters)
        return substitute([x], {draw: self.base.stated_icdf(1 - q if self.decreasing else q, *draw.parameters)})[0]

    def sample(self, key: Any, shape: Any, *parameters: Any) -> Any:
        x, draw = self.of(*parameters)
        return substitute([x], {draw: self.base.sample(key, shape, *draw.parameters)})[0]


def law_of(expression: Callable[..., Any], decreasing: bool = False, words: str = "") -> Any:
    """Declare that the family is the law of an expression that holds one draw under monotone operations. With words for
    the draw, where {} stands for a value, observed values become those of the other family.

    >>> pm.Normal.law is None, pm.LogNormal.law is None  # LogNormal is declared as the law of exp(Normal)
    (True, False)
    """
    return Law(expression, decreasing, words)


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of a bound method, as the facts of a family are."""
    return lambda *args: f(*args)
