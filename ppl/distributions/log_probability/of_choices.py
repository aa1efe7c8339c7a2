"""Measures of random choices: one of several components by a random index, one of two by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.log_probability.measure import (
    Measure,
    NoDensityError,
    known_shape,
    measure,
    measures,
    point_mass,
    require_disjoint,
    require_same_shape,
    shown,
    sources,
    whole_sum,
)
from ppl.tensor.tensor import Tensor, as_tensor


def mixed_by_index(node: Tensor) -> Measure:
    """components[k] with k random: for one k, a mixture of whole components."""
    table: Tensor = node.inputs[0]  # type: ignore[assignment]
    plan, arrays = node.attrs["plan"], node.inputs[1:]
    whole = all(p == ("slice", None, None, None) for p in plan[1:])
    if len(arrays) != 1 or plan[0] != ("array",) or not whole or arrays[0].type.shape != ():
        raise NoDensityError(
            f"No density for {shown(node)}: a random index is understood for one index into the first axis. With "
            "one index "
            "for each place the places share components: write a Mixture."
        )
    index: Tensor = arrays[0]  # type: ignore[assignment]
    require_disjoint(node, (table, index))
    count = known_shape(table)[0]
    chosen, components = measure(index), components_of(table, count)
    laws = [measure(c) for c in components]
    log_w = [chosen.logp(as_tensor(k)) for k in range(count)]

    def mixed(fact: str) -> Callable[[Any], Tensor] | None:
        if any(getattr(law, fact) is None for law in laws) or (fact != "logp" and node.ndim):
            return None

        def f(x: Any) -> Tensor:
            terms = [
                w + whole_sum(getattr(law, fact)(x), node.ndim - law.ndim) for w, law in zip(log_w, laws, strict=True)
            ]
            return tt.logsumexp(tt.stack(terms), axis=0)

        return f

    atoms(node, laws)
    return Measure(
        node,
        mixed("logp"),  # type: ignore[arg-type]
        mixed("logcdf"),
        mixed("logccdf"),
        ndim=node.ndim,
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=node.ndim == 0,
    )


def components_of(table: Tensor, count: int) -> list[Tensor]:
    """The entries along the first axis: the parts that were stacked, or entries of one array of draws."""
    if table.op.name == "concatenate" and table.attrs["axis"] == 0 and len(table.inputs) == count:
        return [part.inputs[0] if part.op.name == "expand_dims" else part[0] for part in table.inputs]  # type: ignore[misc]
    return [table[k] for k in range(count)]


def atoms(node: Tensor, laws: list[Measure]) -> None:
    """Refuse mixtures of counts with continuous numbers."""
    if len({law.discrete for law in laws}) > 1:
        raise NoDensityError(
            f"No density for {shown(node)}: some components are continuous and some are not. A hurdle family has a "
            "probability at one value and a density elsewhere."
        )


# --- a choice between two
@measures("switch")
def choice(node: Tensor) -> Measure:
    """a where the condition holds, else b: entry by entry a mixture if the condition is random."""
    condition, a, b = node.inputs
    for part in (condition, a, b):
        if sources(part):
            require_same_shape(node, part)
    require_disjoint(node, (condition, a, b))
    laws = [measure(a) if sources(a) else point_mass(a), measure(b) if sources(b) else point_mass(b)]  # type: ignore[arg-type]
    if any(law.ndim or not law.independent for law in laws):
        raise NoDensityError(f"No density for {shown(node)}: its branches hold entries that belong together.")
    if sources(condition):
        law = measure(condition)  # type: ignore[arg-type]
        weights = law.logp(1), law.logp(0)
    else:
        weights = tt.switch(condition, 0.0, -np.inf), tt.switch(condition, -np.inf, 0.0)
    hits = [l for l in laws if not sources(l.node)]

    def logp(x: Any) -> Tensor:
        first, second = weights[0] + laws[0].logp(x), weights[1] + laws[1].logp(x)
        mixture = tt.logaddexp(first, second)
        if len(hits) == 1 and not all(law.discrete for law in laws):  # a probability at one value, a density elsewhere
            alone = first if laws[0] is hits[0] else second
            return tt.switch(tt.equal(x, hits[0].node), alone, mixture)
        return mixture

    def mixed(fact: str) -> Callable[[Any], Tensor] | None:
        if any(getattr(law, fact) is None for law in laws):
            return None
        return lambda x: tt.logaddexp(weights[0] + getattr(laws[0], fact)(x), weights[1] + getattr(laws[1], fact)(x))

    return Measure(
        node,
        logp,
        mixed("logcdf"),
        mixed("logccdf"),
        discrete=all(law.discrete for law in laws),
        positive=all(law.positive for law in laws),
        independent=not sources(condition) or measure(condition).independent,  # type: ignore[arg-type]
    )
