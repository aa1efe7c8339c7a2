"""Which entries of discrete variables may move together: those that meet in no number of the density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram
from ppl.graph import Node, substitute
from ppl.rewrites import optimize
from ppl.rewrites.factorization.supports import Sites
from ppl.rewrites.marginalization.conjugate.conjugate import NoMatch
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.samplers.steps.sites import Colors
from ppl.tensor.tensor import Tensor, TensorType, placeholder
from ppl.xla.later import jnp

Shapes = Mapping[Tensor, tuple[int, ...]]  # those that values have now
MOST_SHARE = 0.5  # of colors among entries, above which moving them one by one is as good


class Colored:
    """The terms that some variables appear in, and the entries of these variables by color."""

    def __init__(self, variables: Sequence[Tensor], terms: Mapping[str, Tensor], shapes: Shapes) -> None:
        now = _of_present_shapes(shapes)
        sites = Sites(substitute(list(variables), now))  # type: ignore[arg-type]
        found = {term: sites.support(substitute(term, now)) for term in terms.values()}  # type: ignore[arg-type]
        self.terms = [term for term, support in found.items() if support is not None]
        rows = [support.reshape(-1, support.shape[-1]) for support in found.values() if support is not None]
        places = max((part.shape[1] for part in rows), default=0)
        support = np.full((sum(map(len, rows)), places), -1)
        support[:] = np.concatenate([np.pad(p, ((0, 0), (places - p.shape[1], 0)), constant_values=-1) for p in rows])
        self.color = _greedy(support, sites.count)
        shades = self.color.max(initial=-1) + 1
        self.owners = np.full((shades, len(support)), sites.count)
        row, place = np.nonzero(support >= 0)
        site = support[row, place]
        self.owners[self.color[site], row] = site


class Palette:
    """The colors of the stretches that several methods move, and the terms that these need."""

    def __init__(
        self, stretches: Sequence[Sequence[Tensor]], terms: Mapping[str, Tensor], shapes: Shapes | None = None
    ) -> None:
        found = {tuple(variables): colored(variables, terms, shapes) for variables in stretches}
        self._found = {variables: each for variables, each in found.items() if each is not None}
        needed = list(dict.fromkeys(term for each in self._found.values() for term in each.terms))
        self._place = {term: i for i, term in enumerate(needed)}
        self.terms: list[Tensor] = optimize(needed, once=is_data) if needed else []  # type: ignore[assignment]

    def on(self, program: FlatProgram) -> Callable[[Sequence[Tensor]], Colors | None]:
        """Colors by variables, for a program whose last outputs are `terms`."""

        def colors(variables: Sequence[Tensor]) -> Colors | None:
            each = self._found.get(tuple(variables))
            if each is None:
                return None
            places = [self._place[term] - len(self.terms) for term in each.terms]

            def terms(position: Any, *data: Any) -> Any:
                values = program(position, *data)
                return jnp.concatenate([jnp.ravel(values[i]) for i in places])

            return Colors(terms, each.owners, each.color)

        return colors


def _of_present_shapes(shapes: Shapes) -> dict[Node, Node]:
    """Values whose lengths follow from data, as values of the lengths that these have now."""
    open_ended = {value: shape for value, shape in shapes.items() if None in value.type.shape}
    return {v: placeholder(TensorType(v.dtype, shape), v.name) for v, shape in open_ended.items()}


def colored(variables: Sequence[Tensor], terms: Mapping[str, Tensor], shapes: Shapes | None = None) -> Colored | None:
    """The entries by color; None where moving them one by one is as good, or where too many depend on each other."""
    try:
        found = Colored(variables, terms, shapes or {})
    except NoMatch:
        return None
    return found if 0 < len(found.owners) <= MOST_SHARE * len(found.color) else None


def _greedy(support: np.ndarray, count: int) -> np.ndarray:
    """A color for each site, that no site has which it meets in a row: the first that is free, site by site."""
    met: list[set[int]] = [set() for _ in range(count)]
    for row in {tuple(row[row >= 0].tolist()) for row in support if (row >= 0).sum() > 1}:
        for site in row:
            met[site].update(row)
    color = np.full(count, -1)
    for site in range(count):
        taken = {color[other] for other in met[site]}
        color[site] = next(c for c in range(len(taken) + 1) if c not in taken)
    return color
