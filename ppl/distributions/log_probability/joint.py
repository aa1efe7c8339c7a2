"""Joint densities of several random expressions with values: a factor each, given the values of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ppl.distributions.declaration.batches import over_parts
from ppl.distributions.log_probability.measure import NoDensityError, dependent, measure, shown, sources
from ppl.graph import Node, substitute
from ppl.tensor.arrays.shaping import EXPAND_DIMS, RESHAPE, SQUEEZE, TRANSPOSE
from ppl.tensor.core.names import NAMED
from ppl.tensor.tensor import FUNCTIONS, Tensor

cast = FUNCTIONS["cast"]


def joint_factors(pairs: Sequence[tuple[Node, Tensor]], whole: Tensor | None) -> list[Tensor]:
    """The log-density of each expression at its value, given the values of the others. `whole` is for the message."""
    cores = [core(rv, value) for rv, value in pairs]
    for i, (rv, _) in enumerate(cores):
        for other, _ in cores[:i]:
            if rv is other:
                what = shown(whole) if whole is not None else "the values"
                raise NoDensityError(
                    f"No density for {what}: {shown(rv)} is used twice, and has one value only. Use it once."
                )
    values = dict(cores)
    given = [_given_others(rv, values) for rv, _ in cores]
    what = whole if whole is not None else "No joint density"
    for i, rv in enumerate(given):
        if not sources(rv):
            others = ", ".join(shown(each) for each, _ in cores if each is not cores[i][0])
            raise NoDensityError(
                f"No joint density: {shown(cores[i][0])} is determined by {others}, so it can have no value of its "
                "own. "
                "Mark it as a Deterministic."
            )
        for j, other in enumerate(given[:i]):
            common = (sources(rv) & sources(other)) - set(values)
            if common:
                raise dependent(what, cores[i][0], cores[j][0], common)
    results = []
    for (original, _), (rv, value), new in zip(pairs, cores, given, strict=True):
        law = measure(new)
        factor = over_parts(law.logp(value), new, law.ndim)
        results.append(_reshaped(factor, original, rv))
    return results


def _given_others(rv: Node, values: Mapping[Node, Tensor]) -> Tensor:
    """The expression with the values of all the others in it."""
    others = {node: cast(value, node.dtype) for node, value in values.items() if node is not rv}  # type: ignore[attr-defined]
    return substitute(rv, others)  # type: ignore[return-value]


def core(rv: Node, value: Tensor) -> tuple[Tensor, Tensor]:
    """The expression under names and other shapes, and its value there."""
    while rv.op in (NAMED, EXPAND_DIMS, SQUEEZE, RESHAPE, TRANSPOSE) and None not in rv.type.shape:
        inner: Tensor = rv.inputs[0]  # type: ignore[assignment]
        if isinstance(inner, Tensor) and sources(inner) and measure_ndim(inner):
            break
        if rv.op is TRANSPOSE:
            axes = rv.attrs["axes"]
            value = FUNCTIONS["transpose"](value, sorted(range(len(axes)), key=lambda a: axes[a]))
        elif rv.op is not NAMED:
            value = FUNCTIONS["reshape"](value, inner.shape)
        rv = inner
    return rv, value  # type: ignore[return-value]


def measure_ndim(rv: Tensor) -> int:
    return measure(rv).ndim


def _reshaped(factor: Tensor, original: Node, inner: Node) -> Tensor:
    """The factor in the shape of the original expression."""
    if original is inner or original.type.shape == inner.type.shape:
        return factor
    ndim = measure_ndim(inner)  # type: ignore[arg-type]
    if ndim:
        return factor
    factor = FUNCTIONS["broadcast_to"](factor, inner.shape)  # type: ignore[attr-defined]
    return FUNCTIONS["reshape"](factor, original.shape)  # type: ignore[attr-defined]
