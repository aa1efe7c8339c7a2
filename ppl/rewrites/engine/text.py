"""Expressions as one line of mathematics, for traces and golden texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import GET, Node, topological
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM
from ppl.rewrites.engine.pattern import HOLE
from ppl.tensor.core.names import name_of
from ppl.tensor.tensor import CONSTANT, value_of

_INFIX = {
    "add": ("+", 1), "subtract": ("-", 1), "multiply": ("*", 2), "true_divide": ("/", 2), "matmul": ("@", 2),
    "less": ("<", 0), "less_equal": ("<=", 0), "greater": (">", 0), "greater_equal": (">=", 0), "equal": ("==", 0),
    "not_equal": ("!=", 0),
}  # fmt: skip
_ATOM = 9
_HIDDEN = {"keepdims": False}
_LONGEST = 400


def text(node: Node) -> str:
    """The expression in infix form; long ones are cut in the middle."""
    shown: dict[Node, tuple[str, int]] = {}
    for each in topological(node):
        line, rank = _line(each, [shown[x] for x in each.inputs])
        shown[each] = (_cut(line), rank)
    return shown[node][0]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def _line(node: Node, inputs: list[tuple[str, int]]) -> tuple[str, int]:
    name = node.op.name
    if node.op is CONSTANT:
        return _constant(node)
    if node.op is HOLE:
        return node.attrs["name"], _ATOM
    if not node.inputs:
        return name_of(node) or f"{name}{node.attrs.get('identity', '')}", _ATOM
    if node.op is GET:
        return f"{_wrapped(inputs[0], _ATOM)}.{node.attrs['position']}", _ATOM
    if name == "named":
        return node.attrs["name"], _ATOM
    if name == "assume":
        return inputs[0]
    if node.op is SUM:
        return _sum(node, inputs), 1
    if node.op is PRODUCT:
        return _product(node, inputs), 2
    if name in _INFIX and len(inputs) == 2:
        sign, rank = _INFIX[name]
        tight = rank + (name in ("subtract", "true_divide", "matmul"))
        return f"{_wrapped(inputs[0], rank)} {sign} {_wrapped(inputs[1], tight)}", rank
    if name == "negative":
        return f"-{_wrapped(inputs[0], 2)}", 1
    if name == "getitem":
        return f"{_wrapped(inputs[0], _ATOM)}[{_index(node, inputs[1:])}]", _ATOM
    attrs = [f"{key}={_short(value)}" for key, value in node.attrs.items() if _HIDDEN.get(key, ...) != value]
    if name in ("sum", "mean", "prod", "max", "min") and len(node.attrs["axis"]) == node.inputs[0].type.ndim:
        attrs = [a for a in attrs if not a.startswith("axis=")]
    return f"{name}({', '.join([line for line, _ in inputs] + attrs)})", _ATOM


def _short(value: Any) -> str:
    line = repr(value)
    return line if len(line) <= 40 else f"{line[:37]}..."


def _constant(node: Node) -> tuple[str, int]:
    value = value_of(node)
    if value.ndim:
        return f"constant{list(value.shape)}", _ATOM
    line = _number(value.item())
    return line, (1 if line.startswith("-") else _ATOM)


def _number(value: Any) -> str:
    if isinstance(value, float) and np.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _wrapped(part: tuple[str, int], rank: int) -> str:
    return part[0] if part[1] >= rank else f"({part[0]})"


def _sum(node: Node, inputs: list[tuple[str, int]]) -> str:
    line = ""
    for part, weight in zip(inputs, node.attrs["weights"], strict=True):
        size = abs(weight)
        shown = _wrapped(part, 2) if size == 1 else f"{_number(size)}*{_wrapped(part, 2)}"
        line += f"{' - ' if weight < 0 else ' + '}{shown}"
    shift = node.attrs["shift"]
    if shift:
        line += f"{' - ' if shift < 0 else ' + '}{_number(abs(shift))}"
    return line[3:] if line.startswith(" + ") else "-" + line[3:]


def _product(node: Node, inputs: list[tuple[str, int]]) -> str:
    over: list[str] = []
    under: list[str] = []
    for part, power in zip(inputs, node.attrs["weights"], strict=True):
        size = abs(power)
        shown = _wrapped(part, 3) if size == 1 else f"{_wrapped(part, _ATOM)}**{_number(size)}"
        (under if power < 0 else over).append(shown)
    line = "*".join(over) or "1"
    if not under:
        return line
    below = "*".join(under)
    return f"{line}/{f'({below})' if len(under) > 1 else below}"


def _index(node: Node, inputs: list[tuple[str, int]]) -> str:
    rest = iter(line for line, _ in inputs)
    shown = []
    for part in node.attrs["plan"]:
        if part[0] == "slice":
            ends = [next(rest) if n == "in" else ("" if n is None else str(n)) for n in part[1:]]
            shown.append(":".join(ends if ends[2] else ends[:2]))
        else:
            shown.append({"int": lambda: str(part[1]), "new": lambda: "None", "array": lambda: next(rest)}[part[0]]())  # noqa: B023
    return ", ".join(shown)
