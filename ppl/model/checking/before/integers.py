"""Whole numbers beyond the range of their dtype, or at its end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.graph import Node, ancestors
from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.survey import Survey, constant_of
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.variables import Variable

KINDS = ("integer range", "integer overflow")

ENDS = {127: "int8", 255: "uint8", 32767: "int16", 65535: "uint16", 2147483647: "int32", 4294967295: "uint32"}
GROWING = frozenset("add subtract multiply power square negative abs sum prod cumsum cumprod matmul".split())
WIDE = 2**31 - 1
EXACT = 2**53  # whole numbers up to which floats hold each
TWICE = 2
LARGEST = 1_000_000  # entries that are computed again


def find(survey: Survey) -> Iterator[Finding]:
    """Whole numbers that overflow when data are computed, that end where a narrow dtype ends, or that floats round."""
    for rv, values in survey.values.items():
        if values.dtype.kind not in "iu" or not values.size:
            continue
        most = int(values.max())
        at_end = int(np.sum(values == most))
        if most in ENDS and at_end >= TWICE:
            yield Finding(
                "integer range", (rv.name or "",), "note",
                f'The largest observed value of "{rv.name}" is {most}, {at_end} times: that is where {ENDS[most]} '
                "ends, so that larger values may have been cut off or wrapped around.",
                f'Read the data of "{rv.name}" again as int64, or model the limit with pm.Censored.',
            )  # fmt: skip
        elif max(most, -int(values.min())) > EXACT:
            yield Finding(
                "integer range", (rv.name or "",), "warning",
                f'Observed values of "{rv.name}" are beyond 2**53 ({most}): densities are computed in floats, which '
                "round them.",
                f'Divide the data of "{rv.name}" by a unit, or model their logarithm.',
            )  # fmt: skip
        elif most > WIDE:
            yield Finding(
                "integer range", (rv.name or "",), "note",
                f'Observed values of "{rv.name}" are beyond the range of int32 (up to {most}): in single precision, '
                "and in programs with 32-bit integers, they are rounded or wrap around.",
                f'Keep the data of "{rv.name}" as int64 and floatX at float64, or count in thousands.',
            )  # fmt: skip
    yield from _overflows(survey)


def _overflows(survey: Survey) -> Iterator[Finding]:
    """Expressions of whole-number data whose value is not the one that wider numbers give."""
    ends = [*survey.now.basic_RVs, *survey.now.potentials, *survey.now.rvs_to_values.values()]
    for node in sorted(ancestors(ends), key=lambda node: node.serial):
        kind = getattr(node.type, "dtype", "")
        if kind[:1] not in ("i", "u") or node.op.name not in GROWING or not is_data(node):
            continue
        values = [constant_of(x) for x in node.inputs]
        if any(v is None or v.size > LARGEST for v in values):
            continue
        narrow, wide = constant_of(node), _wide(node, values)  # type: ignore[arg-type]
        if narrow is None or wide is None or np.allclose(narrow.astype(float), wide, rtol=1e-6, atol=0.5):
            continue
        at = np.unravel_index(int(np.argmax(np.abs(narrow.astype(float) - wide))), wide.shape)
        users = [rv.name or "" for rv, inputs in survey.laws if node in ancestors(inputs)]
        users += [rv.name or "" for rv in survey.observed if node in ancestors([survey.now.rvs_to_values[rv]])]
        names = tuple(dict.fromkeys(users)) or _names(node)
        yield Finding(
            "integer overflow", names, "error",
            f'Data that {quoted(names) if names else "the model"} depends on overflow {kind}: {node.op.name} gives '
            f"{narrow[at]} where the value is {wide[at]:.6g}.",
            f"Convert the data to floats before they are computed with, as x.astype(float), for {quoted(names)}."
            if names
            else "Convert the data to floats before they are computed with, as x.astype(float).",
        )  # fmt: skip


def _wide(node: Node, values: list[np.ndarray]) -> np.ndarray | None:
    """The value in floats."""
    numpy = {"power": np.power, "square": np.square}.get(node.op.name)
    floats = [v.astype(float) for v in values]
    if numpy is not None:
        return np.asarray(numpy(*floats))
    if node.op.name in ("sum", "prod"):
        keep = {"axis": node.attrs["axis"], "keepdims": node.attrs["keepdims"]}
        return np.asarray(getattr(np, node.op.name)(floats[0], **keep))
    if node.op.name in ("cumsum", "cumprod"):
        return np.asarray(getattr(np, node.op.name)(floats[0], axis=node.attrs["axis"]))
    function = getattr(np, node.op.name, None)
    return np.asarray(function(*floats)) if function is not None else None


def _names(node: Node) -> tuple[str, ...]:
    return tuple(n.name or "" for n in ancestors([node]) if isinstance(n, Variable) and n.name)
