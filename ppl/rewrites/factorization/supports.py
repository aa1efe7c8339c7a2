"""Which numbers an expression depends on, entry by entry.

Every entry of the variables in question is a *site* with a number of its own. The support of an expression is an array
of site numbers with one axis more than the expression, -1 where there are fewer sites than places. It says what is
read, not in which form, so that every operation has one; the form is the question of `marginalization.expressions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ppl.graph import Node, TupleType, topological
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, data_value, is_data, known_shape
from ppl.rewrites.marginalization.program import NoMatch
from ppl.tensor.core.ops import Elementwise

Support = np.ndarray


class Sites:
    """Numbers for the entries of some variables; one number may depend on `most` of them, if that is given."""

    def __init__(self, variables: Sequence[Any], most: int | None = None) -> None:
        self.most = most
        self.of: dict[Node, np.ndarray] = {}
        self.count = 0
        for rv in variables:
            shape = known_shape(rv)
            self.of[rv] = np.arange(self.count, self.count + prod(shape)).reshape(shape)
            self.count += prod(shape)
        self.owner = np.repeat(np.arange(len(self.of)), [numbers.size for numbers in self.of.values()])
        self.known: dict[Node, Support | None] = {}
        self.reached: dict[Node, bool] = dict.fromkeys(self.of, True)

    def owners(self, sites: np.ndarray) -> list[Any]:
        """The variables that some sites belong to."""
        variables = list(self.of)
        return [variables[i] for i in np.unique(self.owner[sites[sites >= 0]])]

    def support(self, e: Any) -> Support | None:
        """The sites of each entry of an expression, None without any; raises `NoMatch` where they are too many."""
        if e not in self.known:  # bottom up: an expression may be deeper than calls can be
            for n in topological([e], blockers=self.known):
                if n not in self.known:
                    self.known[n] = self._support(n)
        return self.known[e]

    def _reach(self, e: Any) -> bool:
        """Whether an expression depends on any site."""
        if e not in self.reached:
            for n in topological([e], blockers=self.reached):
                if n not in self.reached:
                    self.reached[n] = any(self.reached[i] for i in n.inputs)
        return self.reached[e]

    def _support(self, e: Any) -> Support | None:
        if e in self.of:
            return self.of[e][..., None]
        if not self._reach(e):
            return None
        if None in _shape(e):
            raise NoMatch(f"the shape of {e!r} is only known when the program runs")
        rule = RULES.get(e.op.name, _elementwise if isinstance(e.op, Elementwise) else _anywhere)
        return rule(self, e)


def merged(supports: Sequence[Support | None], shape: tuple[Any, ...], most: int | None = None) -> Support | None:
    """The sites of any of several expressions that broadcast to a shape."""
    given = [np.broadcast_to(s, (*shape, s.shape[-1])) for s in supports if s is not None]
    return _distinct(np.concatenate(given, axis=-1), most) if given else None


def _distinct(sites: np.ndarray, most: int | None) -> np.ndarray:
    """Each site once, in ascending order after the -1s; without places that no entry needs."""
    sites = np.sort(sites, axis=-1)
    again = sites[..., 1:] == sites[..., :-1]
    sites = sites.copy()
    sites[..., 1:][again] = -1
    sites = np.sort(sites, axis=-1)
    most = LIMITS.sites_of_an_entry if most is None else most
    needed = int((sites >= 0).sum(axis=-1).max(initial=0))
    if needed > most:
        raise NoMatch(f"one number depends on {needed} entries at once, more than {most}")
    return sites[..., sites.shape[-1] - needed :]


def collapsed(support: Support, axes: Sequence[int], most: int | None = None) -> Support:
    """The sites of all entries along some axes together."""
    kept = [a for a in range(support.ndim - 1) if a not in axes]
    moved = support.transpose(*kept, *axes, support.ndim - 1)
    shape = moved.shape[: len(kept)]
    return _distinct(moved.reshape(*shape, -1), most)


def over_last(support: Support | None, axes: int, most: int | None = None) -> Support | None:
    """The sites of what the last axes hold together."""
    if support is None or not axes:
        return support
    return collapsed(support, range(support.ndim - 1 - axes, support.ndim - 1), most)


def _elementwise(sites: Sites, e: Any) -> Support | None:
    return merged([sites.support(i) for i in e.inputs], e.type.shape, sites.most)


def _anywhere(sites: Sites, e: Any) -> Support | None:
    """An operation that may take any entry of its inputs to any of its result."""
    parts = [sites.support(i) for i in e.inputs]
    whole = [collapsed(s, range(s.ndim - 1), sites.most) for s in parts if s is not None]
    return merged(whole, _shape(e), sites.most)


def _shape(e: Any) -> tuple[Any, ...]:
    """Of several results no one: they count as one number."""
    return () if isinstance(e.type, TupleType) else e.type.shape


def _structural(sites: Sites, e: Any) -> Support | None:
    """Indexing by data, reshaping, transposing: the same on site numbers."""
    steered = any(sites.support(i) is not None for i in e.inputs[1:])
    if steered or not all(is_data(i) for i in e.inputs[1:]):
        return _indexed(sites, e)
    inner, move = sites.support(e.inputs[0]), HOST[e.op.name](e)
    assert inner is not None
    found = np.empty((*known_shape(e), inner.shape[-1]), int)
    for place in range(inner.shape[-1]):
        found[..., place] = move(inner[..., place])
    return found


def _indexed(sites: Sites, e: Any) -> Support | None:
    """A table without sites indexed by discrete latents: entries of the result follow the discrete latents."""
    plan = e.attrs["plan"]
    at = [i for i, part in enumerate(plan) if part[0] in ("array", "int")]
    together = at == list(range(at[0], at[-1] + 1))
    if sites.support(e.inputs[0]) is not None or any("in" in part for part in plan) or not together:
        return _anywhere(sites, e)
    indices = e.inputs[1:]
    common = np.broadcast_shapes(*[i.type.shape for i in indices])
    labels = merged([sites.support(i) for i in indices], common, sites.most)
    assert labels is not None
    after = e.type.ndim - at[0] - len(common)
    return np.broadcast_to(labels.reshape(*common, *(1,) * after, -1), (*e.type.shape, labels.shape[-1]))


def _along(sites: Sites, e: Any) -> Support | None:
    """An entry picked along an axis: it depends on what it is picked from, and on who picks."""
    x, index = e.inputs
    axis = e.attrs["axis"] % e.type.ndim
    source = sites.support(x)
    if source is not None:
        source = np.expand_dims(collapsed(source, [axis], sites.most), axis)
    return merged([source, sites.support(index)], e.type.shape, sites.most)


def _concatenated(sites: Sites, e: Any) -> Support | None:
    parts = [(sites.support(i), i.type.shape) for i in e.inputs]
    places = max(s.shape[-1] for s, _ in parts if s is not None)
    padded = []
    for s, shape in parts:
        part = np.full((*shape, places), -1)
        if s is not None:
            part[..., places - s.shape[-1] :] = s
        padded.append(part)
    return np.concatenate(padded, axis=e.attrs["axis"])


def _reduced(sites: Sites, e: Any) -> Support | None:
    inner = sites.support(e.inputs[0])
    assert inner is not None
    axes = e.attrs["axis"]
    axes = tuple(range(inner.ndim - 1)) if axes is None else tuple(np.atleast_1d(axes))
    result = collapsed(inner, [a % (inner.ndim - 1) for a in axes], sites.most)
    return result.reshape(*e.type.shape, result.shape[-1])


def _shared(sites: Sites, e: Any) -> Support | None:
    """An array of the same shape, in which entries along some axes depend on each other."""
    inner = sites.support(e.inputs[0])
    assert inner is not None
    axes = sorted(a % e.type.ndim for a in np.atleast_1d(e.attrs["axis"]))
    result = collapsed(inner, axes, sites.most)
    return np.broadcast_to(np.expand_dims(result, tuple(axes)), (*e.type.shape, result.shape[-1]))


def _by_group(sites: Sites, e: Any) -> Support | None:
    """Sums over groups of rows, by data that say which row belongs to which."""
    x, groups = e.inputs
    inner = sites.support(x)
    if inner is None or not is_data(groups):
        return _anywhere(sites, e)
    count, wide = e.attrs["count"], prod(e.type.shape[1:])
    group = data_value(groups)
    entry = np.broadcast_to((group[:, None] * wide + np.arange(wide)).reshape(*inner.shape[:-1], 1), inner.shape)
    counts = (inner >= 0) & (entry >= 0) & (entry < count * wide)
    entry, site = np.unique(np.stack([entry[counts], inner[counts]]), axis=1)
    place = np.arange(len(entry)) - np.searchsorted(entry, entry)
    found = np.full((count * wide, place.max(initial=-1) + 1), -1)
    found[entry, place] = site
    found = _distinct(found, sites.most)
    return found.reshape(*e.type.shape, found.shape[-1])


def _of_law(sites: Sites, rv: Any) -> Support | None:
    """A draw that stands for its law, among the parameters of another."""
    axes = rv.family.event_axes(rv.parameters)
    shape, event = known_shape(rv), rv.event_ndim
    each = merged(
        [over_last(sites.support(p), n, sites.most) for p, n in zip(rv.parameters, axes, strict=True)],
        shape[: len(shape) - event],
        sites.most,
    )
    if each is None or not event:
        return each
    lifted = each.reshape(*each.shape[:-1], *(1,) * event, each.shape[-1])
    return np.broadcast_to(lifted, (*shape, each.shape[-1]))


RULES: dict[str, Any] = {
    "named": _elementwise,
    "softmax": _shared,
    "log_softmax": _shared,
    "draw": _of_law,
    "concatenate": _concatenated,
    "take_along_axis": _along,
    "segment_sum": _by_group,
    **dict.fromkeys(("sum", "prod", "max", "min", "mean", "logsumexp", "all", "any"), _reduced),
    **dict.fromkeys(HOST, _structural),
}
